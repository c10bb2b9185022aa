"""Converse responses: read, written back, and written anew for a reply of another provider."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import assistant, text, tool_call
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Part, Reply, Usage, thaw
from weft.errors import WireError
from weft.wire.bedrock import DIALECT

ANSWER: dict[str, Any] = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Ask.", "signature": "c2ln"}}},
                {"text": "One moment."},
                {"toolUse": {"toolUseId": "t1", "name": "sonar", "input": {"pier": 4}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 9, "outputTokens": 4, "totalTokens": 13, "cacheReadInputTokens": 2},
    "metrics": {"latencyMs": 310},
    "trace": {"promptRouter": {"invokedModelId": "arn:aws:bedrock:::foundation-model/x"}},
}


def test_an_answer_is_read_with_its_reason_and_its_cost() -> None:
    """M-53: calls and thinking keep their blocks; the envelope is everything but the content."""
    reply = DIALECT.decode_response(ANSWER)
    blocks = ANSWER["output"]["message"]["content"]
    model = "arn:aws:bedrock:::foundation-model/x"

    assert reply.message is not None
    assert reply.message.parts == (
        Part(
            "thinking",
            text="Ask.",
            json={"provider": "bedrock", "dialect": "bedrock", "model": model},
            provider_raw=blocks[0],
        ),
        text("One moment."),
        Part("tool_call", tool_call_id="t1", tool_name="sonar", tool_args={"pier": 4}, provider_raw=blocks[2]),
    )
    assert (reply.finish_reason, reply.stop_reason, reply.model, reply.id, reply.finished) == (
        "tool_calls",
        "tool_use",
        model,
        None,
        True,
    )
    assert reply.usage == Usage(9, 4, 13, ANSWER["usage"])
    assert thaw(reply.raw) == {**ANSWER, "output": {"message": {"role": "assistant"}}}


@pytest.mark.parametrize(
    "body",
    [
        ANSWER,
        {"message": "The security token included in the request is invalid."},
        {"Message": "denied", "__type": "AccessDenied"},
        {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn"},
        {"output": {"message": {"role": "assistant", "content": []}, "later": 1}},
        {"output": {}, "stopReason": "end_turn"},
        {},
    ],
)
def test_an_answer_or_an_error_comes_back_as_it_was(body: dict[str, Any]) -> None:
    blobs = InMemoryBlobStore()

    encoded = DIALECT.encode_response(DIALECT.decode_response(body, blobs), blobs)

    assert encoded.losses == []
    if body:
        assert encoded.body == body


def test_an_error_is_a_reply_without_a_message() -> None:
    reply = DIALECT.decode_response({"message": "no"})

    assert (reply.messages, reply.finished, thaw(reply.raw)) == ((), False, {"message": "no"})


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("what_comes_next", "stop"),
    ],
)
def test_every_stop_reason_has_a_word_of_ours(stop: str, finish: str) -> None:
    assert DIALECT.decode_response({**ANSWER, "stopReason": stop}).finish_reason == finish


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"inputTokens": 2, "outputTokens": 3}, Usage(2, 3, 5, {"inputTokens": 2, "outputTokens": 3})),
        ({"inputTokens": "2"}, Usage(None, None, None, {"inputTokens": "2"})),
        (None, None),
        ([], None),
    ],
)
def test_counts_that_are_missing_are_summed_or_none(usage: Any, read: Usage | None) -> None:
    """M-57 and section 11: total or the sum; what is no integer counts as None."""
    assert DIALECT.decode_response({**ANSWER, "usage": usage}).usage == read


def test_a_reply_of_another_provider_gets_an_envelope() -> None:
    foreign = Part("thinking", text="hm", json={"provider": "openai", "dialect": "openai_responses"})
    reply = Reply(
        messages=(assistant(foreign, "Hello.", tool_call(), provider="openai"),),
        finish_reason="tool_calls",
        usage=Usage(1, 2, None),
        raw={"object": "response", "output": []},
    )

    encoded = DIALECT.encode_response(reply)

    assert encoded.body == {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"text": "Hello."}, {"toolUse": {"toolUseId": "t1", "name": "dig", "input": {}}}],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
        "metrics": {"latencyMs": 0},
    }
    assert encoded.losses == [
        ExcludedItem("context.messages[0].parts[0]", "thinking of openai carries no signature this endpoint accepts")
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"error": {"message": "slow down", "type": "rate_limit"}}, "slow down"),
        ({"error": "slow down"}, "slow down"),
        ({"type": "error", "code": 7}, '{"type":"error","code":7}'),
    ],
)
def test_an_error_of_another_provider_is_its_message(raw: dict[str, Any], message: str) -> None:
    assert DIALECT.encode_response(Reply(raw=raw, finished=False)).body == {"message": message}


def test_a_broken_block_is_refused_with_its_place() -> None:
    body = {"output": {"message": {"role": "assistant", "content": [{"text": None, "toolUse": []}]}}}

    with pytest.raises(WireError) as refused:
        DIALECT.decode_response(body)

    assert refused.value.where == "output.message.content[0].toolUse"
