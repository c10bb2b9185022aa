"""Ollama responses, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import assistant, tool_call
from weft.canon import Reply, Usage
from weft.wire.ollama import DIALECT

COUNTS = {"prompt_eval_count": 3, "eval_count": 4, "total_duration": 9}


def answer(**message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "a", **message}
    return {
        "model": "q",
        "created_at": "2026-01-01T00:00:00Z",
        "message": said,
        "done": True,
        "done_reason": "stop",
        **COUNTS,
    }


@pytest.mark.parametrize(
    "body",
    [
        answer(thinking="hm", logprobs=[1]),
        answer(tool_calls=[{"function": {"name": "f", "arguments": {"a": 1}}}]),
        {**answer(), "done": False},
        {"error": "model not found"},
    ],
)
def test_an_answer_comes_back_as_it_was(body: dict[str, Any]) -> None:
    """L2."""
    encoded = DIALECT.encode_response(DIALECT.decode_response(body))

    assert (encoded.body, encoded.losses) == (body, [])


@pytest.mark.parametrize(
    ("fields", "finish"),
    [({}, "stop"), ({"done_reason": "length"}, "length"), ({"done_reason": None}, "stop"), ({"done": False}, None)],
)
def test_why_it_stopped_is_in_our_words(fields: dict[str, Any], finish: str | None) -> None:
    assert DIALECT.decode_response({**answer(), **fields}).finish_reason == finish


def test_a_call_is_why_it_stopped() -> None:
    reply = DIALECT.decode_response(answer(tool_calls=[{"function": {"name": "f"}}]))

    assert (reply.finish_reason, reply.stop_reason) == ("tool_calls", "stop")
    assert reply.usage == Usage(3, 4, 7, COUNTS)


def test_a_reply_of_another_dialect_gets_a_new_envelope() -> None:
    reply = Reply(
        (assistant(tool_call(args={"x": 1}, call_id="c")),),
        model="opus",
        finish_reason="tool_calls",
        usage=Usage(1, None),
    )

    assert DIALECT.encode_response(reply).body == {
        "model": "opus",
        "created_at": "1970-01-01T00:00:00Z",
        "message": {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "dig", "arguments": {"x": 1}}}],
        },
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 1,
    }
