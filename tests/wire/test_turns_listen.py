"""What is shown while an answer comes in: threads.md section 10, rules T-57 to T-59."""

from __future__ import annotations

from typing import Any

import pytest

from weft.wire.turns import Streamer, show_events, sse_events, stream_event

# -- anthropic -------------------------------------------------------------------------------------------------


def opened(**block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": block}


def more(**delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


@pytest.mark.parametrize(
    ("native", "shown"),
    [
        (opened(type="text", text=""), [{"type": "text", "content": ""}]),
        (opened(type="tool_use", id="t1", name="f", input={}), [{"type": "tool_use", "name": "f"}]),
        (
            opened(type="server_tool_use", id="s1", name="web_search", input={}),
            [{"type": "server_tool_use", "name": "web_search"}],
        ),
        (opened(type="thinking", thinking="", signature=""), [{"type": "thinking", "content": ""}]),
        (opened(type="redacted_thinking", data="x"), []),
        (opened(type="hologram"), [{"type": "hologram"}]),
        (more(type="text_delta", text="06:"), [{"content": "06:"}]),
        (more(type="input_json_delta", partial_json='{"pi'), [{"content": '{"pi'}]),
        (more(type="thinking_delta", thinking="hm"), [{"type": "thinking", "content": "hm"}]),
        (more(type="citations_delta", citation={}), [{}]),
        (more(type="signature_delta", signature="c2ln"), []),
        ({"type": "message_start", "message": {}}, []),
        ({"type": "message_delta", "delta": {}}, []),
        ({"type": "message_stop"}, []),
        ({"type": "content_block_stop", "index": 0}, []),
        ({"type": "ping"}, []),
    ],
)
def test_anthropics_events_are_shown_as_the_table_says(native: dict[str, Any], shown: list[dict[str, Any]]) -> None:
    """The table of section 10, with thinking shown as weft fixes it."""
    assert stream_event("anthropic", native) == shown


def test_search_results_are_a_table_without_what_only_the_provider_reads() -> None:
    results = [
        {"type": "web_search_result", "title": "Tides, today", "url": "https://a.example", "encrypted_content": "x"},
        {"type": "web_search_result", "title": "Moon", "url": "https://b.example", "page_age": "1 day"},
    ]

    assert stream_event("anthropic", opened(type="web_search_tool_result", content=results)) == [
        {
            "type": "web_search_tool_result",
            "content": "type,title,url,page_age\n"
            'web_search_result,"Tides, today",https://a.example,\n'
            "web_search_result,Moon,https://b.example,1 day\n",
        }
    ]


def test_a_search_that_failed_shows_its_error() -> None:
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}

    assert stream_event("anthropic", opened(type="web_search_tool_result", content=error)) == [
        {
            "type": "web_search_tool_result",
            "content": '{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}',
        }
    ]


# -- OpenAI and Cerebras ---------------------------------------------------------------------------------------


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def call(index: int = 0, **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {"index": index, **fields, "function": function}


@pytest.mark.parametrize("provider", ["openai", "cerebras"])
@pytest.mark.parametrize(
    ("native", "shown"),
    [
        (chunk(role="assistant", content=""), []),
        (chunk(content="06:10"), [{"type": "text", "content": "06:10"}]),
        (
            chunk(tool_calls=[call(id="t1", type="function", name="f", arguments="")]),
            [{"type": "tool_use", "name": "f", "id": "t1"}],
        ),
        (chunk(tool_calls=[call(arguments='{"a')]), [{"content": '{"a'}]),
        (chunk(reasoning_content="hm"), [{"type": "thinking", "content": "hm"}]),
        (chunk(reasoning="hm"), [{"type": "thinking", "content": "hm"}]),
        (
            chunk(
                content=[
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "So."},
                ]
            ),
            [{"type": "thinking", "content": "hm"}, {"type": "text", "content": "So."}],
        ),
        (chunk(refusal="No."), [{"type": "refusal", "content": "No."}]),
        (chunk(tool_calls=["x", {"index": 0}]), []),
        ({"choices": [], "usage": {"prompt_tokens": 1}}, []),
    ],
)
def test_openais_events_are_shown_as_the_table_says(
    provider: str, native: dict[str, Any], shown: list[dict[str, Any]]
) -> None:
    """The table of section 10."""
    assert stream_event(provider, native) == shown


def test_a_chunk_that_says_several_things_shows_them_all() -> None:
    """Weft fixes: a whole call in one chunk, two calls, text beside them."""
    native = chunk(
        content="So: ",
        tool_calls=[call(0, id="t1", name="f", arguments='{"a":1}'), call(1, id="t2", name="g", arguments="{}")],
    )

    assert stream_event("cerebras", native) == [
        {"type": "text", "content": "So: "},
        {"type": "tool_use", "name": "f", "id": "t1"},
        {"content": '{"a":1}'},
        {"type": "tool_use", "name": "g", "id": "t2"},
        {"content": "{}"},
    ]


def test_only_the_first_of_several_answers_is_shown() -> None:
    """Their chunks come in any order, each with its index."""
    other = {"choices": [{"index": 1, "delta": {"content": "low"}}]}
    both = {"choices": [{"index": 1, "delta": {"content": "low"}}, {"index": 0, "delta": {"content": "high"}}]}

    assert stream_event("openai", other) == []
    assert stream_event("openai", both) == [{"type": "text", "content": "high"}]


def test_calls_that_come_in_turns_are_told_apart() -> None:
    """T-58: an event without a type belongs to the block before it, so each change of call is said."""
    streamer = Streamer("openai")
    for opening in (call(0, id="t1", name="f"), call(1, id="t2", name="g")):
        streamer.feed(chunk(tool_calls=[opening]))

    assert streamer.feed(chunk(tool_calls=[call(0, arguments="1"), call(1, arguments="2")])) == [
        {"type": "tool_use", "name": "f", "id": "t1"},
        {"content": "1"},
        {"type": "tool_use", "name": "g", "id": "t2"},
        {"content": "2"},
    ]


def test_a_name_said_with_every_piece_opens_one_call() -> None:
    """S-09."""
    streamer = Streamer("openai")
    pieces = [chunk(tool_calls=[call(id="t1", name="f", arguments=piece)]) for piece in ("{", "}")]

    assert [event for piece in pieces for event in streamer.feed(piece)] == [
        {"type": "tool_use", "name": "f", "id": "t1"},
        {"content": "{"},
        {"content": "}"},
    ]


# -- Cohere ----------------------------------------------------------------------------------------------------


def cohere(kind: str, **message: Any) -> dict[str, Any]:
    return {"type": kind, "index": 0, "delta": {"message": message}}


@pytest.mark.parametrize(
    ("native", "shown"),
    [
        (cohere("content-delta", content={"text": "06:10"}), [{"type": "text", "content": "06:10"}]),
        (cohere("content-delta", content={"thinking": "hm"}), [{"type": "thinking", "content": "hm"}]),
        (cohere("content-delta", content={"text": ""}), []),
        (cohere("tool-plan-delta", tool_plan="I will ask."), [{"type": "thinking", "content": "I will ask."}]),
        (
            cohere("tool-call-start", tool_calls={"id": "t1", "type": "function", "function": {"name": "f"}}),
            [{"type": "tool_use", "name": "f", "id": "t1"}],
        ),
        (cohere("tool-call-delta", tool_calls={"function": {"arguments": '{"a'}}), [{"content": '{"a'}]),
        ({"type": "tool-call-end", "index": 0}, []),
        ({"type": "message-start", "id": "x"}, []),
        ({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}, []),
    ],
)
def test_coheres_events_are_shown_as_the_table_says(native: dict[str, Any], shown: list[dict[str, Any]]) -> None:
    """The table of section 10, with thinking shown as weft fixes it."""
    assert stream_event("cohere", native) == shown


# -- Gemini ----------------------------------------------------------------------------------------------------


def gemini(*parts: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}}]}


@pytest.mark.parametrize(
    ("native", "shown"),
    [
        (gemini({"text": "06:10"}), [{"type": "text", "content": "06:10"}]),
        (
            gemini({"functionCall": {"name": "f", "args": {"a": 1}}}),
            [{"type": "tool_use", "name": "f", "content": {"a": 1}}],
        ),
        (
            gemini({"functionCall": {"name": "f", "id": "t1"}}),
            [{"type": "tool_use", "name": "f", "id": "t1", "content": {}}],
        ),
        (
            gemini({"text": "hm", "thought": True}, {"text": "So."}),
            [{"type": "thinking", "content": "hm"}, {"type": "text", "content": "So."}],
        ),
        (gemini(), []),
        ({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {}}, []),
        ({"usageMetadata": {}}, []),
    ],
)
def test_geminis_events_are_shown_as_the_table_says(native: dict[str, Any], shown: list[dict[str, Any]]) -> None:
    """The table of section 10; several parts give several events."""
    assert stream_event("gemini", native) == shown


# -- all -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "native"),
    [
        ("anthropic", {"type": "aurora"}),
        ("anthropic", {}),
        ("anthropic", more(type="aurora_delta")),
        ("anthropic", {"type": "content_block_start", "content_block": None}),
        ("openai", {"object": "aurora"}),
        ("cohere", {"type": "aurora"}),
        ("cohere", {"type": "tool-call-start", "delta": None}),
        ("gemini", {"aurora": 1}),
        ("gemini", gemini({"executableCode": {"code": "1"}}, 3)),
        ("gemini", "aurora"),
        ("openai", None),
    ],
)
def test_what_is_new_is_noted_and_passed_over(provider: str, native: Any) -> None:
    """S-08: never fatal."""
    streamer = Streamer(provider)

    assert streamer.feed(native) == []
    assert streamer.notes


def test_an_event_stream_is_read_event_by_event() -> None:
    """T-57: [DONE], blank lines and lines without data are skipped; a line that is not JSON stays visible."""
    stream = (
        b': hello\n\nevent: ping\ndata: {"type": "ping"}\n\ndata: {"a":1}\n\nretry: 5\n\ndata: {x\n\ndata: [DONE]\n\n'
    )

    for size in (1, 7, len(stream)):
        chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert list(sse_events(chunks)) == [{"type": "ping"}, {"a": 1}, {"data": "{x"}]


def test_a_new_block_begins_with_a_blank_line_and_its_type() -> None:
    """T-58, T-59: text has no heading; content alone goes on with the block that is open."""
    events: list[dict[str, Any]] = [
        {"type": "thinking", "content": "h"},
        {"type": "thinking", "content": "m"},
        {"type": "text", "content": ""},
        {"content": "Let me "},
        {"content": "see."},
        {},
        {"type": "tool_use", "name": "depth", "id": "t1"},
        {"content": '{"pier"'},
        {"content": ":4}"},
        {"type": "tool_use", "name": "depth", "id": "t2"},
        {"content": "{}"},
        {"type": "tool_use", "name": "tide", "content": {"at": "pier"}},
    ]

    assert show_events(events) == (
        'thinking:hm\n\nLet me see.\n\ntool_use(depth):{"pier":4}\n\ntool_use(depth):{}\n\ntool_use(tide):{"at":"pier"}'
    )


def test_text_alone_is_shown_as_it_is() -> None:
    """T-59."""
    assert show_events([{"type": "text", "content": "06"}, {"type": "text", "content": ":10"}]) == "06:10"
