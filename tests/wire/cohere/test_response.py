"""Cohere responses, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import assistant, text, tool_call
from weft.canon import Reply, Usage
from weft.wire.cohere import DIALECT


def answer(**message: Any) -> dict[str, Any]:
    return {
        "id": "a1",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", **message},
        "usage": {"billed_units": {"input_tokens": 3, "output_tokens": 4.0}, "tokens": {"input_tokens": 9}},
    }


@pytest.mark.parametrize(
    "body",
    [
        answer(content=[{"type": "text", "text": "a"}], citations=[{"start": 0, "end": 1}]),
        answer(content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]),
        answer(
            content=[],
            tool_plan="p",
            tool_calls=[{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}],
        ),
        {"message": "model not found", "id": "e1"},
        {"id": "x", "message": {"content": [{"type": "text", "text": "a"}]}, "meta": {"tokens": {"input_tokens": 1}}},
        {"id": "x", "message": {}, "usage": {"cached_tokens": 1}},
    ],
)
def test_an_answer_comes_back_as_it_was(body: dict[str, Any]) -> None:
    """L2."""
    encoded = DIALECT.encode_response(DIALECT.decode_response(body))

    assert (encoded.body, encoded.losses) == (body, [])


def test_usage_is_what_was_billed() -> None:
    reply = DIALECT.decode_response(answer(content=[{"type": "text", "text": "a"}]))

    assert reply.messages[0].parts == (text("a"),)
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.total_tokens) == (3, 4, 7)
    assert (reply.id, reply.finish_reason, reply.stop_reason) == ("a1", "stop", "COMPLETE")


def test_a_reply_of_another_dialect_gets_a_new_envelope() -> None:
    said = assistant("a", tool_call(args={"x": 1}, call_id="c"))

    encoded = DIALECT.encode_response(Reply((said,), finish_reason="tool_calls", usage=Usage(1, 2)))

    counts = {"input_tokens": 1, "output_tokens": 2}
    assert encoded.body == {
        "id": "weft",
        "finish_reason": "TOOL_CALL",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "a"}],
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "dig", "arguments": '{"x":1}'}}],
        },
        "usage": {"billed_units": counts, "tokens": counts},
    }
