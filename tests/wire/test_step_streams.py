"""Step streams: chunks of three providers as one kind of events, with the result a whole response gives."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import ProviderError, UsageError
from weft.wire import parser_for
from weft.wire.steps import decode_step
from weft.wire.stepstreams import StepStream, events

if TYPE_CHECKING:
    from collections.abc import Iterator

PNG = "iVBORw=="


def told(dialect: str, *chunks: Any) -> list[dict[str, Any]]:
    return list(StepStream(dialect).read(chunks))


def read(dialect: str, *chunks: Any) -> tuple[list[dict[str, Any]], Any]:
    stream = StepStream(dialect)
    return list(stream.read(chunks)), stream.result


def chunk(stop: str | None = None, **delta: Any) -> dict[str, Any]:
    """One chunk of OpenAI's."""
    return {"id": "c1", "model": "gpt-x", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}


def piece(index: int, arguments: str = "", **fields: Any) -> dict[str, Any]:
    """A piece of a tool call of OpenAI's."""
    name = fields.pop("name", None)
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {"index": index, "function": function, **fields}


def candidate(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """One chunk of Gemini's."""
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **fields}], "modelVersion": "gemini-x"}


START = {"type": "stream.start", "metadata": {"id": "c1", "model": "gpt-x"}}
ROLE = {"type": "role", "role": "assistant"}
STOPPED = {"type": "stream.end", "finish_reason": "stop"}

CLAUDE = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 7, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "T"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "D"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "x"}},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "k", "name": "tide", "input": {}},
    },
    {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": '{"port":'}},
    {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": '"Oban"}'}},
    {"type": "content_block_stop", "index": 3},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]
CLAUDE_WHOLE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [
        {"type": "thinking", "thinking": "T", "signature": "sig"},
        {"type": "redacted_thinking", "data": "D"},
        {"type": "text", "text": "x"},
        {"type": "tool_use", "id": "k", "name": "tide", "input": {"port": "Oban"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 7, "output_tokens": 9},
}
OPENAI = [
    chunk(role="assistant", content=""),
    chunk(content="Hel", reasoning_content="h"),
    chunk(content="lo", reasoning_content="m"),
    chunk(tool_calls=[piece(0, "{}", name="tide", id="k")]),
    chunk("tool_calls"),
    {"id": "c1", "model": "gpt-x", "choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 3}},
]
OPENAI_WHOLE = {
    "id": "c1",
    "model": "gpt-x",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hello",
                "reasoning_content": "hm",
                "tool_calls": [{"id": "k", "type": "function", "function": {"name": "tide", "arguments": "{}"}}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 2, "completion_tokens": 3},
}
GEMINI = [
    candidate({"text": "h", "thought": True}),
    candidate({"text": "m", "thought": True}),
    candidate({"text": "He"}),
    candidate({"text": "llo"}, {"functionCall": {"name": "tide", "args": {"port": 1}}, "thoughtSignature": "s1"}),
    candidate({"functionCall": {"name": "dig", "args": {}, "id": "k"}, "thoughtSignature": "s2"}, finishReason="STOP"),
    {"usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 3}, "modelVersion": "gemini-x"},
]
GEMINI_WHOLE = {
    **candidate(
        {"text": "hm", "thought": True},
        {"text": "Hello"},
        {"functionCall": {"name": "tide", "args": {"port": 1}}, "thoughtSignature": "s1"},
        {"functionCall": {"name": "dig", "args": {}, "id": "k"}, "thoughtSignature": "s2"},
        finishReason="STOP",
    ),
    "usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 3},
}
EACH = [("claude", CLAUDE, CLAUDE_WHOLE), ("openai", OPENAI, OPENAI_WHOLE), ("gemini", GEMINI, GEMINI_WHOLE)]


def test_a_chunk_is_told_in_one_order() -> None:
    """W-29: role, content, reasoning, refusal, tool calls, however the chunk has them; empty deltas give no event."""
    first = chunk(tool_calls=[piece(0, "{", name="tide")], refusal="r", reasoning="h", content="a", role="assistant")

    assert told("openai", first, chunk(content="", refusal="", tool_calls=[piece(0, "")]), chunk("stop"))[:-2] == [
        START,
        ROLE,
        {"type": "content.delta", "delta": "a"},
        {"type": "reasoning.delta", "delta": "h"},
        {"type": "refusal.delta", "delta": "r"},
        {"type": "tool_call.start", "index": 0, "name": "tide"},
        {"type": "tool_call.delta", "index": 0, "delta": "{"},
    ]
    assert [event["type"] for event in told("gemini", candidate({"text": "h", "thought": True}, {"text": "a"}))] == [
        "stream.start",
        "role",
        "content.delta",
        "reasoning.delta",
        "stream.end",
    ]


def test_the_role_is_told_only_when_it_changes() -> None:
    """W-30."""
    same = [chunk(role="assistant", content=letter) for letter in "ab"]

    assert [event for event in told("openai", *same) if event["type"] == "role"] == [ROLE]


def test_argument_pieces_wait_for_the_name() -> None:
    """W-31: start once, as soon as a name is known, without an empty id; pieces before it are held back."""
    assert told(
        "openai",
        chunk(tool_calls=[piece(0, "{", id="")]),
        chunk(tool_calls=[piece(0, '"a":', name="tide")]),
        chunk(tool_calls=[piece(0, "1}", id="k")]),
        chunk("tool_calls"),
    ) == [
        START,
        {"type": "tool_call.start", "index": 0, "name": "tide"},
        {"type": "tool_call.delta", "index": 0, "delta": "{"},
        {"type": "tool_call.delta", "index": 0, "delta": '"a":'},
        {"type": "tool_call.delta", "index": 0, "delta": "1}"},
        {"type": "tool_call.end", "index": 0, "tool_call": {"name": "tide", "arguments": '{"a":1}', "id": "k"}},
        {"type": "stream.end", "finish_reason": "tool_calls"},
    ]


def test_calls_end_in_the_order_of_their_index() -> None:
    """W-32, acceptance case 5: so they stand in the message; without a role it is the assistant's."""
    shown, result = read(
        "openai",
        chunk(tool_calls=[piece(1, "{}", name="b")]),
        chunk(tool_calls=[piece(0, "{}", name="a")]),
        chunk("tool_calls"),
    )

    a, b = ({"name": name, "arguments": "{}"} for name in "ab")
    assert [event for event in shown if event["type"] == "tool_call.end"] == [
        {"type": "tool_call.end", "index": 0, "tool_call": a},
        {"type": "tool_call.end", "index": 1, "tool_call": b},
    ]
    assert result["messages"] == [{"role": "assistant", "content": "", "tool_calls": [a, b]}]


@pytest.mark.parametrize("dialect", ["claude", "openai", "gemini"])
def test_a_stream_of_nothing_has_a_start_and_an_end(dialect: str) -> None:
    """W-33: the start is told at the end if nothing arrived; no finish reason is made up."""
    shown, result = read(dialect)

    assert shown == [{"type": "stream.start"}, {"type": "stream.end"}]
    assert result["messages"] == []


def test_a_stream_that_lost_its_beginning_still_starts_once() -> None:
    """W-33: exactly one start, first, and exactly one end, last."""
    shown = told("claude", *CLAUDE[9:], *CLAUDE[:1])

    types = [event["type"] for event in shown]
    assert (types[0], types.count("stream.start")) == ("stream.start", 1)
    assert (types[-1], types.count("stream.end")) == ("stream.end", 1)


def breaking(problem: Exception) -> Iterator[dict[str, Any]]:
    yield chunk(role="assistant", content="Hel")
    yield chunk(tool_calls=[piece(0, '{"a', name="tide")])
    raise problem


def test_a_broken_stream_ends_with_what_arrived() -> None:
    """W-34, acceptance case 6: error, then the calls, then the end, without a finish reason."""
    stream = StepStream("openai")

    shown = list(stream.read(breaking(OSError("reset by peer"))))

    call = {"name": "tide", "arguments": '{"a'}
    assert shown[-3:] == [
        {"type": "stream.error", "error": "reset by peer"},
        {"type": "tool_call.end", "index": 0, "tool_call": call},
        {"type": "stream.end"},
    ]
    assert stream.result is not None
    assert stream.result["messages"] == [{"role": "assistant", "content": "Hel", "tool_calls": [call]}]
    assert "finish_reason" not in stream.result
    assert stream.error == "reset by peer"


def test_errors_are_raised_after_the_end_if_asked_for() -> None:
    """W-34: the very exception; or the provider's error, if it is theirs."""
    problem = OSError()
    shown: list[dict[str, Any]] = []
    with pytest.raises(OSError) as caught:  # noqa: PT011 - compared by identity
        shown.extend(StepStream("openai", raise_errors=True).read(breaking(problem)))

    assert caught.value is problem
    assert shown[-3] == {"type": "stream.error", "error": "OSError"}
    assert shown[-1] == {"type": "stream.end"}

    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ProviderError, match=r"^anthropic: Overloaded$"):
        list(StepStream("claude", raise_errors=True).read([CLAUDE[0], overloaded]))
    assert {"type": "stream.error", "error": "Overloaded"} in told("claude", CLAUDE[0], overloaded)


def test_a_chunk_that_is_none_breaks_the_stream_and_not_the_program() -> None:
    """W-34."""
    shown, _ = read("openai", chunk(content="a"), 7)

    assert [event["type"] for event in shown] == ["stream.start", "content.delta", "stream.error", "stream.end"]


@pytest.mark.parametrize(("dialect", "chunks", "whole"), EACH)
def test_a_stream_gives_the_result_of_the_whole_response(dialect: str, chunks: Any, whole: Any) -> None:
    """W-33: the same result a plain decode would."""
    _, result = read(dialect, *chunks)

    assert result == decode_step(dialect, whole)


@pytest.mark.parametrize(("dialect", "chunks", "whole"), EACH)
def test_a_finished_result_is_told_again(dialect: str, chunks: Any, whole: Any) -> None:
    """W-35: through the same machine; deltas joined, it is what the stream told."""
    shown = told(dialect, *chunks)

    again = list(events(decode_step(dialect, whole)))

    assert joined(again) == joined(shown)
    assert again[-1] == shown[-1]
    assert again[0] == shown[0]


def joined(shown: list[dict[str, Any]]) -> dict[Any, Any]:
    """The deltas of each kind put together, and the other events as they are."""
    whole: dict[Any, Any] = {}
    for event in shown:
        kind = (event["type"], event.get("index"))
        whole[kind] = whole.get(kind, "") + event["delta"] if "delta" in event else event
    return whole


def test_what_is_not_text_is_told_again_as_parts() -> None:
    """W-35: also a result without messages, and one of texts in a list."""
    picture = {"type": "image", "url": "https://example.org/quay.png"}
    message = {"role": "assistant", "content": [picture], "refusal": "no"}

    assert list(events({"messages": [message], "finish_reason": "stop"})) == [
        {"type": "stream.start"},
        ROLE,
        {"type": "content.delta", "delta": [picture]},
        {"type": "refusal.delta", "delta": "no"},
        STOPPED,
    ]
    assert list(events({"messages": []})) == [{"type": "stream.start"}, {"type": "stream.end"}]


def test_claude_numbers_its_calls_and_tells_neither_pings_nor_signatures() -> None:
    """W-31: `tool_use` blocks count from 0, whatever their block index."""
    assert told("claude", *CLAUDE) == [
        {"type": "stream.start", "metadata": {"id": "msg_1", "model": "claude-x"}},
        ROLE,
        {"type": "reasoning.delta", "delta": "T"},
        {"type": "content.delta", "delta": "x"},
        {"type": "tool_call.start", "index": 0, "name": "tide", "id": "k"},
        {"type": "tool_call.delta", "index": 0, "delta": '{"port":'},
        {"type": "tool_call.delta", "index": 0, "delta": '"Oban"}'},
        {"type": "tool_call.end", "index": 0, "tool_call": {"name": "tide", "arguments": '{"port":"Oban"}', "id": "k"}},
        {"type": "stream.end", "finish_reason": "tool_calls"},
    ]


def test_unfinished_thinking_of_claude_is_stored_at_the_end() -> None:
    """W-34: with what was said of it."""
    _, result = read("claude", *CLAUDE[:3])

    assert result["messages"] == [
        {
            "role": "assistant",
            "content": "",
            "reasoning": "T",
            "extra": {"claude": {"thinking_blocks": [{"type": "thinking", "thinking": "T", "signature": ""}]}},
        }
    ]


def test_gemini_goes_on_counting_over_its_chunks() -> None:
    """W-32: call indices and signatures continue; reasoning is joined without newlines; no id is made up."""
    shown, result = read("gemini", *GEMINI)

    assert [event for event in shown if event["type"].startswith("tool_call")] == [
        {"type": "tool_call.start", "index": 0, "name": "tide"},
        {"type": "tool_call.delta", "index": 0, "delta": '{"port":1}'},
        {"type": "tool_call.start", "index": 1, "name": "dig", "id": "k"},
        {"type": "tool_call.delta", "index": 1, "delta": "{}"},
        {"type": "tool_call.end", "index": 0, "tool_call": {"name": "tide", "arguments": '{"port":1}'}},
        {"type": "tool_call.end", "index": 1, "tool_call": {"name": "dig", "arguments": "{}", "id": "k"}},
    ]
    assert result["messages"][0]["reasoning"] == "hm"
    assert result["messages"][0]["extra"]["gemini"]["thought_signatures"] == ["s1", "s2"]


def test_a_chunk_of_gemini_without_candidates_starts_the_stream_and_gives_usage() -> None:
    """W-33."""
    shown, result = read("gemini", GEMINI[-1])

    assert shown == [{"type": "stream.start", "metadata": {"model": "gemini-x"}}, {"type": "stream.end"}]
    assert result["token_usage"] == {"input_tokens": 2, "output_tokens": 3}


def test_a_picture_in_a_stream_is_a_delta_of_parts() -> None:
    """W-29: `content.delta` is a string or parts."""
    shown, result = read("gemini", candidate({"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}))

    picture = {"type": "image", "url": f"data:image/png;base64,{PNG}"}
    assert [event["delta"] for event in shown if event["type"] == "content.delta"] == ["a", [picture]]
    assert result["messages"][0]["content"] == [{"type": "text", "text": "a"}, picture]


class Chunk:
    """An SDK's object."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data_ = data

    def model_dump(self) -> dict[str, Any]:
        return self.data_


SSE = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in OPENAI) + b"data: [DONE]\n\n"


def test_chunks_may_be_objects_frames_or_bytes() -> None:
    """W-33: by any of these ways the same events come."""
    parser = parser_for("sse")
    frames = [*parser.feed(SSE), *parser.close()]

    expected = told("openai", *OPENAI)

    assert told("openai", *map(Chunk, OPENAI)) == expected
    assert told("openai", *frames) == expected
    assert told("openai", SSE) == expected


@given(st.lists(st.integers(0, len(SSE)), max_size=8))
def test_bytes_cut_anywhere_give_the_same_events(cuts: list[int]) -> None:
    """W-33, S-02: only whole frames count."""
    places = [0, *sorted(cuts), len(SSE)]
    pieces = [SSE[start:end] for start, end in pairwise(places)]

    assert told("openai", *pieces) == told("openai", *OPENAI)


def test_bytes_that_end_in_the_middle_of_a_frame_are_a_cut_stream() -> None:
    """W-34: what arrived is kept, and no finish reason is made up."""
    shown, result = read("openai", SSE[:200])

    assert shown[-1] == {"type": "stream.end"}
    assert result["messages"] == [{"role": "assistant", "content": ""}]


def test_there_are_three_kinds_of_streams() -> None:
    with pytest.raises(UsageError, match="no step codec for ollama"):
        StepStream("ollama")
