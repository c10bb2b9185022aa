"""Messages API responses, both ways."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.support.builders import assistant, text, thinking, tool_call
from tests.support.mutations import depth_of, mutated, nested
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Part, Reply, Usage
from weft.errors import WireError
from weft.wire.anthropic import DIALECT

Json = dict[str, Any]
SIGNED: Json = {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"}
CALL: Json = {"type": "tool_use", "id": "toolu_1", "name": "depth", "input": {"pier": 4}}
ANSWER: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [SIGNED, {"type": "text", "text": "One moment."}, CALL],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 12, "output_tokens": 7, "cache_read_input_tokens": 3, "service_tier": "standard"},
    "container": {"id": "c1"},
}
ERROR: Json = {
    "type": "error",
    "error": {"type": "overloaded_error", "message": "Overloaded"},
    "request_id": "req_1",
}


def there_and_back(body: Json) -> Json:
    store = InMemoryBlobStore()
    encoded = DIALECT.encode_response(DIALECT.decode_response(body, store), store)
    assert encoded.losses == []
    return encoded.body


def test_an_answer_is_read() -> None:
    """M-53, M-57: parts keep their block; why it stopped and who answered are the reply's, not the message's."""
    reply = DIALECT.decode_response(ANSWER)

    made = {"provider": "anthropic", "dialect": "anthropic", "model": "claude-opus-4-5"}
    assert reply == Reply(
        messages=(
            assistant(
                Part("thinking", "Ask the sonar.", json=made, provider_raw=SIGNED),
                text("One moment."),
                Part("tool_call", tool_call_id="toolu_1", tool_name="depth", tool_args={"pier": 4}, provider_raw=CALL),
                id="msg_1",
                provider="anthropic",
                at=reply.messages[0].timestamp,
            ),
        ),
        id="msg_1",
        model="claude-opus-4-5",
        finish_reason="tool_calls",
        stop_reason="tool_use",
        usage=Usage(12, 7, 19, ANSWER["usage"]),
        raw={key: value for key, value in ANSWER.items() if key != "content"},
    )


def test_the_provider_is_who_was_asked() -> None:
    reply = DIALECT.decode_response(ANSWER, provider="bedrock")

    assert reply.message is not None
    assert (reply.message.provider, dict(reply.message.parts[0].json or {})) == (
        "bedrock",
        {"provider": "bedrock", "dialect": "anthropic", "model": "claude-opus-4-5"},
    )


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("something_new", "stop"),
        (None, None),
        (5, None),
    ],
)
def test_stop_reasons_are_said_in_our_words(stop: Any, finish: str | None) -> None:
    """README section 2, stop reasons; one that is missing is not made up."""
    reply = DIALECT.decode_response({**ANSWER, "stop_reason": stop})

    assert (reply.finish_reason, reply.finished) == (finish, finish is not None)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"input_tokens": 3, "output_tokens": 4}, (3, 4, 7)),
        ({"input_tokens": 3, "output_tokens": 4, "total_tokens": 9}, (3, 4, 9)),
        (
            {"input_tokens": 0, "output_tokens": 4, "iterations": [{"input_tokens": 5}, {"input_tokens": 6}]},
            (11, 4, 15),
        ),
        (
            {
                "iterations": [
                    {"input_tokens": 5, "output_tokens": 1},
                    {"output_tokens": 2},
                    "odd",
                    {"input_tokens": "x"},
                ]
            },
            (5, 3, 8),
        ),
        ({"input_tokens": 0, "output_tokens": 0, "iterations": []}, (0, 0, 0)),
        ({"input_tokens": "3", "output_tokens": 4}, (None, 4, None)),
        ({"input_tokens": True, "output_tokens": 1.5}, (None, None, None)),
    ],
)
def test_usage_is_counted(usage: Json, counts: tuple[int | None, ...]) -> None:
    """model.md section 11: missing or zero counts are summed over iterations; non-integers count as None."""
    read = DIALECT.decode_response({**ANSWER, "usage": usage}).usage

    assert read is not None
    assert (read.input_tokens, read.output_tokens, read.total_tokens) == counts
    assert read == Usage(*counts, usage)


def test_without_usage_there_is_none() -> None:
    assert DIALECT.decode_response({**ANSWER, "usage": None}).usage is None


def test_sealed_blocks_are_kept_and_compaction_is_a_blob() -> None:
    """model.md section 11; M-56: unknown blocks are kept whole, and not lost."""
    store = InMemoryBlobStore()
    content = [
        {"type": "redacted_thinking", "data": "EmQ="},
        {"type": "compaction", "content": None, "encrypted_content": "c2VhbGVk"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    ]

    reply = DIALECT.decode_response({**ANSWER, "content": content}, store)

    assert reply.message is not None
    hidden, compacted, server = reply.message.parts
    assert (hidden.type, hidden.text, hidden.provider_raw) == ("thinking", None, content[0])
    assert compacted.blob is not None
    assert (compacted.type, compacted.blob.kind, store.get_blob(compacted.blob)) == (
        "compaction",
        "compaction",
        b"c2VhbGVk",
    )
    assert (server.type, server.provider_raw) == ("provider", content[2])


@pytest.mark.parametrize(
    "body",
    [
        ERROR,
        {"error": {"message": "no such model"}},
        {"message": "Forbidden"},
        {"type": "message"},
        {"content": None},
        {},
    ],
)
def test_an_error_is_a_reply_without_messages_and_goes_back_as_it_came(body: Json) -> None:
    reply = DIALECT.decode_response(body)

    assert reply == Reply(raw=body, finished=False)
    if body:
        assert there_and_back(body) == body


@pytest.mark.parametrize(
    "body",
    [
        ANSWER,
        {**ANSWER, "content": []},
        {**ANSWER, "content": [SIGNED, {"type": "new", "x": [1]}, {"x": 1}], "new_field": {"a": 1}},
        {**ANSWER, "stop_reason": None, "usage": {"input_tokens": None}, "role": "robot", "id": 5},
    ],
)
def test_what_is_read_is_written_back(body: Json) -> None:
    """L2."""
    assert there_and_back(body) == body


def test_a_string_comes_back_as_the_block_it_stands_for() -> None:
    assert there_and_back({**ANSWER, "content": "hi"})["content"] == [{"type": "text", "text": "hi"}]


def test_an_answer_from_elsewhere_gets_an_envelope() -> None:
    reply = Reply(
        (assistant(Part("thinking", "hm", json={"dialect": "gemini", "provider": "google"}), "Aye.", tool_call()),),
        finish_reason="length",
        usage=Usage(3, 4),
        raw={"object": "chat.completion"},
    )

    encoded = DIALECT.encode_response(reply)

    assert encoded.body == {
        "id": "msg_weft",
        "type": "message",
        "role": "assistant",
        "model": "",
        "content": [
            {"type": "text", "text": "Aye."},
            {"type": "tool_use", "id": "t1", "name": "dig", "input": {}},
        ],
        "stop_reason": "max_tokens",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    assert encoded.losses == [
        ExcludedItem("context.messages[0].parts[0]", "thinking of google carries no signature this endpoint accepts")
    ]


def test_a_second_choice_is_reported() -> None:
    """Nothing vanishes: this endpoint gives one answer."""
    encoded = DIALECT.encode_response(Reply((assistant("a"), assistant("b", thinking("c")))))

    assert encoded.body["content"] == [{"type": "text", "text": "a"}]
    assert encoded.losses == [ExcludedItem("messages[1]", "messages.create gives one answer, not several choices")]


def test_nothing_said_is_an_empty_message() -> None:
    assert DIALECT.encode_response(Reply()).body["content"] == []


@pytest.mark.parametrize(
    ("body", "where"),
    [({"content": [{"type": "text"}]}, "content[0]"), ({"content": ["x"]}, "content[0]")],
)
def test_a_block_that_does_not_fit_is_an_error_with_its_place(body: Json, where: str) -> None:
    with pytest.raises(WireError) as problem:
        DIALECT.decode_response(body)

    assert problem.value.where == where


def test_nesting_past_pythons_stack_is_carried() -> None:
    body = {**ANSWER, "content": [{**CALL, "input": nested(1_000)}], "usage": nested(1_000), "new": nested(1_000)}

    assert depth_of(there_and_back(body)) == depth_of(body)


@given(body=mutated([ANSWER, ERROR]))
def test_whatever_arrives_is_read_or_refused_with_its_place(body: Any) -> None:
    """L6."""
    if not isinstance(body, dict):
        return
    try:
        there_and_back(body)
    except WireError as problem:
        assert problem.where  # noqa: PT017 - the error is one of two right answers
