"""Gemini responses: candidates, reasons, the account of tokens."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.support.builders import assistant, text, thinking, tool_call
from weft.blobs import InMemoryBlobStore
from weft.canon import Reply, Usage
from weft.errors import WireError
from weft.wire.gemini.response import decode_response, encode_response

PIXEL = base64.b64encode(b"\x89PNG pixel").decode()

ANSWER = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Look.", "thought": True, "thoughtSignature": "c2lnMQ=="},
                    {"text": "High water:"},
                    {"inlineData": {"mimeType": "image/png", "data": PIXEL}, "thoughtSignature": "c2lnMg=="},
                    {"functionCall": {"name": "tide", "args": {"port": "Oban"}}},
                ],
            },
            "finishReason": "STOP",
            "index": 0,
            "groundingMetadata": {"webSearchQueries": ["tide"]},
        },
        {"content": {"role": "model", "parts": [{"text": "06:10"}]}, "finishReason": "MAX_TOKENS", "index": 1},
        {"finishReason": "SAFETY", "index": 2},
        {"content": {"role": "model", "parts": []}, "index": 3},
    ],
    "usageMetadata": {
        "promptTokenCount": 10,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 35,
    },
    "modelVersion": "gemini-x",
    "responseId": "r1",
}


def written(body: Any) -> Any:
    blobs = InMemoryBlobStore()
    encoded = encode_response(decode_response(body, blobs), blobs)
    assert encoded.losses == []
    return encoded.body


def test_a_response_goes_back_as_it_came() -> None:
    """L2, with several candidates, some of them empty."""
    assert written(ANSWER) == ANSWER


def test_a_response_is_read_in_our_words() -> None:
    """M-53, M-54: every candidate with content is a message; the rest is the envelope."""
    reply = decode_response(ANSWER)

    assert [[part.type for part in message.parts] for message in reply.messages] == [
        ["thinking", "text", "image", "tool_call"],
        ["text"],
    ]
    assert (reply.id, reply.model, reply.stop_reason, reply.finish_reason) == ("r1", "gemini-x", "STOP", "tool_calls")
    assert reply.messages[0].id is None
    thought, said, picture, call = reply.messages[0].parts
    assert thought.json == {"provider": "google", "dialect": "gemini", "model": "gemini-x"}
    assert thought.provider_raw == {"text": "Look.", "thought": True, "thoughtSignature": "c2lnMQ=="}
    assert said.provider_raw is None
    assert picture.provider_raw == {"inlineData": {"mimeType": "image/png"}, "thoughtSignature": "c2lnMg=="}
    assert call.provider_raw == {"functionCall": {"name": "tide", "args": {"port": "Oban"}}}
    assert reply.raw["candidates"][0]["groundingMetadata"] == {"webSearchQueries": ("tide",)}


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}},
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}},
        {"candidates": [], "modelVersion": "gemini-x"},
        {"candidates": [{"content": {"role": "model"}, "finishReason": 2}]},
        {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finish_reason": "STOP"}], "model_version": "m"},
        {"something": "else"},
        {},
    ],
)
def test_unusual_responses_go_back_as_they_came(body: Any) -> None:
    assert written(body) == body


def test_an_error_is_a_reply_without_messages() -> None:
    reply = decode_response({"error": {"code": 429, "message": "wait", "status": "RESOURCE_EXHAUSTED"}})

    assert (reply.messages, reply.finished, reply.finish_reason) == ((), False, None)


def test_a_refused_prompt_is_finished_and_filtered() -> None:
    reply = decode_response({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})

    assert (reply.messages, reply.finished) == ((), True)
    assert (reply.finish_reason, reply.stop_reason) == ("content_filter", "PROHIBITED_CONTENT")


@pytest.mark.parametrize(
    ("given", "stop", "finish"),
    [
        ("STOP", "STOP", "stop"),
        ("MAX_TOKENS", "MAX_TOKENS", "length"),
        ("RECITATION", "RECITATION", "content_filter"),
        ("SPII", "SPII", "content_filter"),
        ("OTHER", "OTHER", "stop"),
        ("UNEXPECTED_TOOL_CALL", "UNEXPECTED_TOOL_CALL", "stop"),
        (1, "STOP", "stop"),
        (2, "MAX_TOKENS", "length"),
        (99, "FINISH_REASON_99", "stop"),
        (None, None, None),
        (True, None, None),
    ],
)
def test_finish_reasons_are_read_by_name_and_by_number(given: Any, stop: str | None, finish: str | None) -> None:
    """Message-codecs.md, section 2; numbers are those of the protobuf enumeration."""
    reply = decode_response({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": given}]})

    assert (reply.stop_reason, reply.finish_reason, reply.finished) == (stop, finish, stop is not None)


def test_a_call_of_the_second_candidate_is_not_the_firsts_reason() -> None:
    call = {"functionCall": {"name": "f"}}
    body = {"candidates": [{"finishReason": "STOP"}, {"content": {"parts": [call]}, "finishReason": "STOP"}]}

    assert decode_response(body).finish_reason == "stop"


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((10, 20, 5, None, 35), (10, 25, 35)),
        ((10, 20, 5, None, 30), (10, 20, 30)),
        ((10, 20, 5, 7, None), (17, 25, 42)),
        ((10, None, 5, None, 15), (10, 5, 15)),
        ((None, None, None, None, None), (None, None, None)),
        ((True, "x", None, None, 3), (None, None, 3)),
    ],
)
def test_usage_follows_the_reported_total(counts: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    """Model.md, acceptance case 8."""
    names = (
        "promptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "toolUsePromptTokenCount",
        "totalTokenCount",
    )

    usage = decode_response({"usageMetadata": dict(zip(names, counts, strict=True))}).usage

    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == expected


def test_usage_that_is_no_object_is_none() -> None:
    assert decode_response({"candidates": [], "usageMetadata": 3}).usage is None


class Sdk:
    """What the SDK returns, as far as it matters: bytes where JSON has base64, and nulls everywhere."""

    def model_dump(self) -> dict[str, Any]:
        call: dict[str, Any] = {"id": None, "name": "f", "args": {}, "partial_args": None}
        return {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": None, "function_call": call, "thought_signature": b"\xfb\xff"},
                            {"text": None, "inline_data": {"data": b"ab", "mime_type": "image/png"}},
                        ],
                    },
                    "finish_reason": "STOP",
                }
            ],
            "usage_metadata": {"prompt_token_count": 1, "candidates_token_count": 2, "total_token_count": 3},
        }


def test_the_sdks_objects_are_read() -> None:
    """M-42: snake_case, bytes and nulls."""
    blobs = InMemoryBlobStore()

    reply = decode_response(Sdk(), blobs)

    call, picture = reply.messages[0].parts
    assert call.provider_raw == {"function_call": {"name": "f", "args": {}}, "thought_signature": "+/8="}
    assert picture.blob is not None
    assert blobs.get_blob(picture.blob) == b"ab"
    assert reply.usage is not None
    assert reply.usage.total_tokens == 3


def test_a_foreign_reply_gets_an_envelope_of_this_dialect() -> None:
    message = assistant(text("06:10"), tool_call("tide", {"a": 1}, call_id="k1"), provider="openai")
    reply = Reply((message,), "x1", "m", "tool_calls", "tool_calls", Usage(1, 2, 3), {"object": "chat.completion"})

    assert encode_response(reply).body == {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"text": "06:10"}, {"functionCall": {"name": "tide", "args": {"a": 1}, "id": "k1"}}],
                },
                "index": 0,
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
        "modelVersion": "m",
        "responseId": "x1",
    }


def test_what_has_no_place_in_a_response_is_reported() -> None:
    bare = encode_response(Reply((assistant(thinking()),), finished=False))
    crowded = encode_response(Reply((assistant("a"),), raw={"candidates": [{"index": 0}]}))

    assert [loss.reason for loss in bare.losses] == ["thinking without provider block or text"]
    assert [loss.reason for loss in crowded.losses] == ["the envelope of this response has no candidate for it"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"candidates": 3}, "candidates"),
        ({"candidates": [3]}, "candidates[0]"),
        ({"candidates": [{"content": 3}]}, "candidates[0].content"),
        ({"candidates": [{"content": {"parts": 3}}]}, "candidates[0].content.parts"),
        ({"candidates": [{"content": {"parts": [3]}}]}, "candidates[0].content.parts[0]"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(body: Any, where: str) -> None:
    """L6."""
    with pytest.raises(WireError) as caught:
        decode_response(body)

    assert caught.value.where == where
