"""Chat Completions responses, both ways."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from tests.support.builders import assistant, text, thinking, tool_call
from tests.support.strategies import json_objects
from weft.blobs import InMemoryBlobStore
from weft.canon import Part, Reply, Usage
from weft.errors import WireError
from weft.wire.openai_chat import DIALECT


def answer(message: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **(message or {})}, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 9,
        "model": "gpt",
        "choices": [choice],
        **fields,
    }


def said_back(body: Any) -> Any:
    blobs = InMemoryBlobStore()
    encoded = DIALECT.encode_response(DIALECT.decode_response(body, blobs), blobs)
    assert encoded.losses == []
    return encoded.body


@pytest.mark.parametrize(
    "message",
    [
        {"content": "6.2 m", "annotations": [{"type": "url_citation"}], "executed_tools": []},
        {"content": ""},
        {"content": []},
        {"content": "a", "tool_calls": [], "graph_data": {"status": "done"}},
        {"refusal": "I will not."},
        {
            "content": "a",
            "refusal": "",
            "function_call": {"name": "", "arguments": ""},
            "audio": {"id": "", "data": ""},
        },
        {"audio": {"id": "audio_1", "data": "UklG", "expires_at": 9, "transcript": "6.2 m"}},
        {"audio": {"id": "audio_1", "data": "@"}},
        {"content": "a", "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,cA=="}}]},
        {"content": "a", "images": [{"type": "image_url", "image_url": {"url": "https://x/a.png"}}]},
        {"content": "a", "images": [{"type": "odd"}]},
        {"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,cA=="}}]},
        {"content": "a", "reasoning": "hm", "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
        {"content": "a", "reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln"}, "odd"]},
        {"content": "a", "reasoning": {"odd": 1}},
        {"function_call": {"name": "dig", "arguments": "{}"}},
    ],
)
def test_a_message_comes_back_as_it_was(message: dict[str, Any]) -> None:
    """L2: decode then encode is the same body."""
    body = answer(message, usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}, x_groq={"id": "r"})

    assert said_back(body) == body


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no such model", "code": 404}},
        {"error": {"message": "moved"}, "user_id": "u"},
        {"choices": [], "id": "x"},
        {"choices": None, "detail": "?"},
        {"choices": [{"index": 0, "finish_reason": "error"}, 5]},
    ],
)
def test_what_is_no_answer_comes_back_whole(body: dict[str, Any]) -> None:
    reply = DIALECT.decode_response(body)

    assert reply.messages == ()
    assert said_back(body) == body


def test_parts_come_in_the_order_of_the_model() -> None:
    """model.md, section 11: content, then one thinking part, then calls; M-54: the message has the response's id."""
    call = {"id": "c1", "type": "function", "function": {"name": "dig", "arguments": "{}"}}
    body = answer({"content": "a", "tool_calls": [call], "reasoning_content": "hm"}, usage={"prompt_tokens": 4, "x": 1})

    reply = DIALECT.decode_response(body, provider="deepseek")

    assert reply.message is not None
    assert [part.type for part in reply.message.parts] == ["text", "thinking", "tool_call"]
    assert (reply.message.id, reply.message.provider) == ("chatcmpl-1", "deepseek")
    assert (reply.id, reply.model, reply.finish_reason, reply.stop_reason) == ("chatcmpl-1", "gpt", "stop", "stop")
    assert reply.usage == Usage(4, None, None, {"prompt_tokens": 4, "x": 1})


@pytest.mark.parametrize(
    ("stop", "ours"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("eos", "stop"),
        (None, None),
    ],
)
def test_finish_reasons_are_in_our_words(stop: str | None, ours: str | None) -> None:
    body = answer({"content": "a"})
    body["choices"][0]["finish_reason"] = stop

    reply = DIALECT.decode_response(body)

    assert (reply.finish_reason, reply.stop_reason, reply.finished) == (ours, stop, stop is not None)


def test_every_choice_is_a_message() -> None:
    body = answer({"content": "a"})
    body["choices"].append({"index": 1, "message": {"role": "assistant", "content": "b"}, "finish_reason": "length"})

    reply = DIALECT.decode_response(body)

    assert [message.parts for message in reply.messages] == [(text("a"),), (text("b"),)]
    assert said_back(body) == body


def test_what_is_said_aloud_has_its_words_and_its_bytes() -> None:
    blobs = InMemoryBlobStore()
    body = answer({"audio": {"id": "audio_1", "data": "UklG", "transcript": "6.2 m"}})

    reply = DIALECT.decode_response(body, blobs)

    assert reply.message is not None
    (said,) = reply.message.parts
    assert (said.type, said.text, said.blob and blobs.get_blob(said.blob)) == ("audio", "6.2 m", b"RIF")
    request = DIALECT.encode_request(reply.messages, DIALECT.decode_request({"messages": []}).spec, blobs)
    assert request.body["messages"] == [{"role": "assistant", "content": None, "audio": {"id": "audio_1"}}]


def test_groqs_corner_is_read_for_usage() -> None:
    reply = DIALECT.decode_response(answer({"content": "a"}, x_groq={"usage": {"completion_tokens": 2}}))

    assert reply.usage == Usage(None, 2, None, {"completion_tokens": 2})


def test_a_reply_of_another_dialect_gets_a_new_envelope() -> None:
    said = assistant(
        thinking("hm"), "a", tool_call(args={"x": 1}, call_id="c1"), Part("provider", provider_raw={"type": "x"})
    )
    reply = Reply((said,), model="opus", finish_reason="tool_calls", usage=Usage(3, 4), raw={"type": "message"})

    encoded = DIALECT.encode_response(reply)

    assert encoded.body == {
        "id": "chatcmpl-weft",
        "object": "chat.completion",
        "created": 0,
        "model": "opus",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "a",
                    "refusal": None,
                    "reasoning_content": "hm",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "dig", "arguments": '{"x":1}'}}
                    ],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }
    assert [item.description for item in encoded.losses] == ["context.messages[0].parts[3]"]


def test_a_message_more_than_the_envelope_has_gets_a_choice() -> None:
    reply = Reply((assistant("a"), assistant("b")), finish_reason="stop", raw=answer())

    choices = DIALECT.encode_response(reply).body["choices"]

    assert [choice["message"]["content"] for choice in choices] == ["a", "b"]


def test_a_body_is_taken_from_an_sdks_object() -> None:
    """M-42."""

    class Dumps:
        def model_dump(self) -> dict[str, Any]:
            return answer({"content": "a"})

    assert DIALECT.decode_response(Dumps()).messages[0].parts == (text("a"),)


@given(json_objects())
def test_any_json_is_read_or_refused(value: dict[str, Any]) -> None:
    """L6."""
    for body in (
        value,
        {"choices": [value]},
        {"choices": [{"message": value}]},
        {"choices": [{"message": {"content": [value]}}]},
    ):
        with suppress(WireError):
            DIALECT.encode_response(DIALECT.decode_response(body))
