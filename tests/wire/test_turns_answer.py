"""Answers as a turn stores them: threads.md section 10, rules T-28, T-29, T-60, T-61."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from tests.support.turns import ask, assistant, context
from weft.errors import ProviderError
from weft.wire.turns import Aggregator, aggregate, normalise_response

ZEROS = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def numbered() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"made-{next(numbers)}"


# -- anthropic -------------------------------------------------------------------------------------------------


def claude(*events: dict[str, Any], **message: Any) -> list[dict[str, Any]]:
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mint-1", "content": [], **message}
    return [{"type": "message_start", "message": start}, *events]


def block(index: int, opening: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": opening},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def test_claudes_message_passes_through_with_all_it_says() -> None:
    """T-29: blocks by index, usage merged, ping ignored; thinking and server tools verbatim."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    events = claude(
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "h"},
            {"type": "thinking_delta", "thinking": "m"},
            {"type": "signature_delta", "signature": "c2ln"},
        ),
        *block(1, search, {"type": "input_json_delta", "partial_json": '{"query":"tides"}'}),
        *block(
            2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "06:"}, {"type": "text_delta", "text": "10"}
        ),
        *block(3, {"type": "tool_use", "id": "t1", "name": "f", "input": {}}),
        *block(
            4,
            {"type": "tool_use", "id": "t2", "name": "f", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"a":'},
            {"type": "input_json_delta", "partial_json": "1}"},
        ),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
        usage={"input_tokens": 12, "output_tokens": 1, "cache_read_input_tokens": 3},
    )

    assert aggregate("anthropic", events) == {
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "mint-1",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {**search, "input": {"query": "tides"}},
                {"type": "text", "text": "06:10"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
                {"type": "tool_use", "id": "t2", "name": "f", "input": {"a": 1}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 12, "output_tokens": 9, "cache_read_input_tokens": 3},
        }
    }


def test_arguments_that_are_not_json_are_kept_as_text() -> None:
    """T-61."""
    events = claude(
        *block(
            0,
            {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"a'},
        )
    )

    assert aggregate("anthropic", events)["message"]["content"] == [
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"_raw": '{"a'}}
    ]


def test_a_whole_response_gives_the_same_as_its_stream() -> None:
    """R-4."""
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "mint-1",
        "content": [{"type": "text", "text": "06:10", "citations": [{"url": "https://example.org"}]}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 12, "output_tokens": 4},
    }

    assert normalise_response("anthropic", body) == {"message": body}


def test_a_stream_that_says_it_failed_is_an_error() -> None:
    """T-56: and what arrived can still be had."""
    events = claude(
        *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "06:"}),
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    )

    with pytest.raises(ProviderError, match="anthropic: Overloaded"):
        aggregate("anthropic", events)

    heard = Aggregator("anthropic")
    for event in events:
        heard.feed(event)
    assert heard.close()["message"]["content"] == [{"type": "text", "text": "06:"}]
    assert (heard.error, heard.reply.finished) == ("Overloaded", False)


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ("openai", {"error": {"message": "Overloaded"}}),
        ("gemini", {"error": {"code": 503, "message": "Overloaded"}}),
    ],
)
def test_an_error_body_is_an_error(provider: str, body: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match=f"{provider}: Overloaded") as failed:
        normalise_response(provider, body)

    assert "Overloaded" in failed.value.body


# -- OpenAI and Cerebras ---------------------------------------------------------------------------------------


def chunk(delta: dict[str, Any], **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": fields.pop("finish_reason", None)}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "mint-1", "choices": [choice], **fields}


@pytest.mark.parametrize("provider", ["openai", "cerebras"])
def test_openais_chunks_become_one_message(provider: str) -> None:
    """T-60: text first and joined; calls by index, with the ids they came with; the usage that was reported."""
    events = [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Let me "}),
        chunk({"content": "see."}),
        chunk(
            {"tool_calls": [{"index": 0, "id": "t1", "type": "function", "function": {"name": "f", "arguments": ""}}]}
        ),
        chunk(
            {"tool_calls": [{"index": 1, "id": "t2", "type": "function", "function": {"name": "g", "arguments": ""}}]}
        ),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}),
        chunk({}, finish_reason="tool_calls"),
        {
            "id": "c1",
            "model": "mint-1",
            "choices": [],
            "usage": {
                "prompt_tokens": 12,
                "completion_tokens": 4,
                "total_tokens": 16,
                "prompt_tokens_details": {"cached_tokens": 8},
            },
        },
    ]

    assert aggregate(provider, events) == {
        "message": {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
            ],
            "model": "mint-1",
            "stop_reason": "tool_use",
            "usage": {**ZEROS, "input_tokens": 12, "output_tokens": 4, "cache_read_input_tokens": 8},
        }
    }


def test_usage_that_was_not_reported_is_all_zeros() -> None:
    assert aggregate("openai", [chunk({"content": "06:10"}, finish_reason="stop")])["message"]["usage"] == ZEROS


def test_usage_in_other_words_is_read_as_the_dialect_reads_it() -> None:
    """Servers that copied the API count in `input_tokens`, or not at all."""
    body = {"choices": [{"message": {"content": "06:10"}, "finish_reason": "stop"}], "usage": {"total_tokens": 16}}

    assert normalise_response("openai", body, model="mint-1")["message"]["usage"] == ZEROS


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end_turn"), (None, "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal")],
)
def test_openais_finish_is_said_as_a_stop_reason(finish: str | None, stop: str) -> None:
    """The table of section 10."""
    events = [chunk({"content": "06:10"}), chunk({}, finish_reason=finish)]

    assert aggregate("openai", events)["message"]["stop_reason"] == stop


def test_a_call_without_an_id_gets_one() -> None:
    """T-28, T-61: a UUID4, unless the caller makes them."""
    body = {
        "model": "mint-1",
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "tool_calls": [
                        {"type": "function", "function": {"name": "f", "arguments": "{broken"}},
                        {"type": "function", "function": {"name": "f", "arguments": ""}},
                    ],
                },
                "finish_reason": "stop",
            }
        ],
    }

    message = normalise_response("openai", body, new_id=numbered())["message"]

    assert message["content"] == [
        {"type": "tool_use", "id": "made-1", "name": "f", "input": {"_raw": "{broken"}},
        {"type": "tool_use", "id": "made-2", "name": "f", "input": {}},
    ]
    assert message["stop_reason"] == "tool_use"
    made = normalise_response("openai", body)["message"]["content"][0]["id"]
    assert UUID(made).version == 4


def test_reasoning_goes_back_to_where_it_came_from_and_nowhere_else() -> None:
    """T-29: stored as a thinking block that says whose it is."""
    events = [chunk({"reasoning_content": "hm"}), chunk({"content": "So."}, finish_reason="stop")]

    content = aggregate("openai", events)["message"]["content"]

    assert {block["type"] for block in content} == {"text", "thinking"}
    back = ask("openai", context(assistant(*content)))
    assert back == [{"role": "assistant", "content": "So.", "reasoning_content": "hm"}]
    assert ask("anthropic", context(assistant(*content))) == [
        {"role": "assistant", "content": [{"type": "text", "text": "So."}]}
    ]


def test_a_refusal_is_kept_as_one() -> None:
    message = aggregate("openai", [chunk({"refusal": "No."}, finish_reason="stop")])["message"]

    assert message["content"] == [{"type": "refusal", "refusal": "No."}]


# -- Cohere ----------------------------------------------------------------------------------------------------


def test_coheres_events_become_one_message() -> None:
    """T-60: every call is kept with its id; billed units are the usage; the model is the one asked for."""
    call = {"type": "function", "function": {"name": "f", "arguments": ""}}
    events = [
        {
            "type": "message-start",
            "id": "c1",
            "delta": {"message": {"role": "assistant", "content": [], "tool_calls": []}},
        },
        *(
            event
            for index in (0, 1)
            for event in (
                {
                    "type": "tool-call-start",
                    "index": index,
                    "delta": {"message": {"tool_calls": {**call, "id": f"t{index}"}}},
                },
                {
                    "type": "tool-call-delta",
                    "index": index,
                    "delta": {"message": {"tool_calls": {"function": {"arguments": '{"a": 1}'}}}},
                },
                {"type": "tool-call-end", "index": index},
            )
        ),
        {
            "type": "message-end",
            "delta": {
                "finish_reason": "TOOL_CALL",
                "usage": {
                    "billed_units": {"input_tokens": 12.0, "output_tokens": 4.0},
                    "tokens": {"input_tokens": 500.0, "output_tokens": 6.0},
                },
            },
        },
    ]

    assert aggregate("cohere", events, model="mint-r") == {
        "message": {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {"a": 1}} for n in (0, 1)],
            "model": "mint-r",
            "stop_reason": "tool_use",
            "usage": {**ZEROS, "input_tokens": 12, "output_tokens": 4},
        }
    }


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("COMPLETE", "end_turn"), ("MAX_TOKENS", "max_tokens"), ("ERROR_TOXIC", "refusal"), (None, "end_turn")],
)
def test_coheres_finish_is_said_as_a_stop_reason(finish: str | None, stop: str) -> None:
    """The table of section 10; text joined."""
    events = [
        {"type": "message-start", "id": "c1", "delta": {"message": {"role": "assistant"}}},
        {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "06:"}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "10"}}}},
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {} if finish is None else {"finish_reason": finish}},
    ]

    message = aggregate("cohere", events)["message"]

    assert (message["content"], message["stop_reason"]) == ([{"type": "text", "text": "06:10"}], stop)
    assert "usage" not in message


# -- Gemini ----------------------------------------------------------------------------------------------------


def candidate(*parts: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        said["finishReason"] = finish
    return {"candidates": [said], "modelVersion": "mint-pro", **fields}


def test_geminis_chunks_become_one_message() -> None:
    """T-60: texts joined without thoughts; every call is kept, with an id; the last usage counts."""
    events = [
        candidate({"text": "hm", "thought": True}),
        candidate({"text": "Let me "}, usageMetadata={"promptTokenCount": 12}),
        candidate(
            {"text": "see."},
            {"functionCall": {"name": "f", "args": {"a": 1}}},
            {"functionCall": {"name": "f", "args": {"a": 1}}},
            {"functionCall": {"id": "own", "name": "g"}},
        ),
        candidate(
            finish="STOP",
            usageMetadata={"promptTokenCount": 12, "cachedContentTokenCount": 2, "totalTokenCount": 12},
        ),
    ]

    message = aggregate("gemini", events, new_id=numbered())["message"]

    assert [block for block in message["content"] if block["type"] != "thinking"] == [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "made-1", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "made-2", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "own", "name": "g", "input": {}},
    ]
    assert [block["thinking"] for block in message["content"] if block["type"] == "thinking"] == ["hm"]
    assert {key: value for key, value in message.items() if key != "content"} == {
        "role": "assistant",
        "model": "mint-pro",
        "stop_reason": "tool_use",
        "usage": {**ZEROS, "input_tokens": 12, "cache_read_input_tokens": 2},
    }


def test_texts_around_a_call_are_one_text() -> None:
    body = candidate({"text": "a"}, {"functionCall": {"id": "t1", "name": "f"}}, {"text": "b"})

    assert normalise_response("gemini", body)["message"]["content"] == [
        {"type": "text", "text": "ab"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
    ]


def test_a_picture_is_a_document_block() -> None:
    """R-9: with nothing beside it, unless it came with more."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}

    body = candidate(picture, {**picture, "thoughtSignature": "c2ln"}, finish="STOP")
    plain, signed = normalise_response("gemini", body)["message"]["content"]

    assert plain == {
        "type": "document",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
    }
    assert signed == {**plain, "origin": {"provider": "google"}, "provider_raw": signed["provider_raw"]}
    assert signed["provider_raw"]["thoughtSignature"] == "c2ln"


def test_geminis_signatures_survive_being_stored() -> None:
    """T-29: the next request sends the parts back as they came."""
    parts: list[dict[str, Any]] = [
        {"text": "hm", "thought": True},
        {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
        {"text": "", "thoughtSignature": "bmFs"},
    ]

    content = normalise_response("gemini", candidate(*parts, finish="STOP"))["message"]["content"]

    assert ask("gemini", context(assistant(*content))) == [{"role": "model", "parts": parts}]


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("STOP", "end_turn"),
        (None, "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("SAFETY", "refusal"),
        ("RECITATION", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
    ],
)
def test_geminis_finish_is_said_as_a_stop_reason(finish: str | None, stop: str) -> None:
    """The table of section 10."""
    assert aggregate("gemini", [candidate({"text": "06:10"}, finish=finish)])["message"]["stop_reason"] == stop


def test_a_prompt_that_was_refused_is_an_answer_without_content() -> None:
    message = normalise_response("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, model="mint-pro")["message"]

    assert (message["content"], message["model"]) == ([], "mint-pro")
