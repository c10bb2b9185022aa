"""Chat Completions streams: read, and written again."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import assistant, text, thinking, tool_call
from weft.blobs import InMemoryBlobStore
from weft.canon import (
    ContentDelta,
    Event,
    Part,
    RefusalDelta,
    Reply,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    Usage,
    fold,
    replay,
)
from weft.jsontext import dumps
from weft.wire.openai_chat import DIALECT
from weft.wire.sse import encode_sse
from weft.wire.stream import StreamReader

DONE = b"data: [DONE]\n\n"
HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 9, "model": "gpt"}


def chunk(delta: dict[str, Any] | None, stop: str | None = None, index: int = 0, **fields: Any) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": stop}
    return {**HEAD, "choices": [choice], **fields}


def wire(*chunks: Any, done: bool = True) -> bytes:
    return b"".join(encode_sse(dumps(each)) for each in chunks) + (DONE if done else b"")


def heard(data: bytes, blobs: InMemoryBlobStore | None = None) -> tuple[list[Event], Reply]:
    reader = StreamReader(DIALECT.StreamDecoder(blobs), "sse")
    events = reader.feed(data) + reader.close()
    assert reader.reply is not None
    return events, reader.reply


def deltas(events: list[Event], *kinds: str) -> list[dict[str, Any]]:
    return [event.to_dict() for event in events if not kinds or event.type in kinds]


def parts(reply: Reply) -> list[tuple[Part, ...]]:
    """Give the parts, with blobs told by their bytes and not by the id of one copy of them."""
    return [
        tuple(replace(part, blob=part.blob and replace(part.blob, id="")) for part in message.parts)
        for message in reply.messages
    ]


def again(data: bytes) -> None:
    """Law 2 and L3: written as a stream and read once more, an answer is the same."""
    blobs = InMemoryBlobStore()
    events, reply = heard(data, blobs)
    encoder = DIALECT.StreamEncoder(blobs)
    written = b"".join(encoder.feed(event) for event in events) + encoder.close()
    _, second = heard(written, blobs)

    assert (parts(second), second.finish_reason, second.usage) == (parts(reply), reply.finish_reason, reply.usage)
    assert parts(fold(events)) == parts(reply)


def call(
    index: int | None = None, call_id: str | None = None, name: str | None = None, args: Any = None, **more: Any
) -> Any:
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    place = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return {**place, "function": function, **more}


STREAMS = {
    "text": wire(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "6"}),
        chunk({"content": ".2"}),
        chunk({}, "stop"),
    ),
    "usage": wire(chunk({"content": "a"}), chunk({}, "length"), {**HEAD, "choices": [], "usage": {"prompt_tokens": 3}}),
    "empty": wire(chunk({"role": "assistant", "content": ""}), chunk({}, "stop")),
    "calls": wire(
        chunk({"role": "assistant", "content": None, "tool_calls": [call(0, "c0", "a", "", type="function")]}),
        chunk({"tool_calls": [call(0, args='{"x"')]}),
        chunk({"tool_calls": [call(0, args=":1}"), call(1, "c1", "b", "{}", type="function")]}),
        chunk({}, "tool_calls"),
    ),
    "custom": wire(
        chunk({"tool_calls": [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "custom": {"input": "select 1"}}]}),
        chunk({}, "tool_calls"),
    ),
    "old call": wire(
        chunk({"role": "assistant", "function_call": {"name": "dig", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"a":1}'}}),
        chunk({}, "function_call"),
    ),
    "late signature": wire(
        chunk({"tool_calls": [call(0, "c0", "a", "{}", type="function")]}),
        chunk({"tool_calls": [{"index": 0, "extra_content": {"google": {"thought_signature": "s"}}}]}),
        chunk({}, "tool_calls"),
    ),
    "reasoning_content": wire(
        chunk({"reasoning_content": "h"}), chunk({"reasoning_content": "m"}), chunk({"content": "a"}, "stop")
    ),
    "reasoning": wire(
        chunk({"reasoning": "hm", "channel": "analysis"}), chunk({"content": "a", "channel": "final"}, "stop")
    ),
    "both": wire(chunk({"reasoning": "hm", "reasoning_content": "hm"}), chunk({"content": "a"}, "stop")),
    "details": wire(
        chunk({"reasoning": "h", "reasoning_details": [{"type": "reasoning.text", "text": "h", "index": 0}]}),
        chunk({"reasoning": "m", "reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0}]}),
        chunk({"reasoning_details": [{"type": "reasoning.text", "signature": "c2ln", "index": 0}]}),
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 1}]}),
        chunk({"content": "a"}, "stop"),
    ),
    "details alone": wire(
        chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": "h"}]}),
        chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": "m"}]}),
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": "r1"}]}),
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "y", "id": "r2"}]}),
        chunk({"content": "a"}, "stop"),
    ),
    "thinking blocks": wire(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]}),
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m"}], "closed": True}]}),
        chunk({"content": "6"}),
        chunk({"content": [{"type": "text", "text": ".2"}, {"type": "reference", "reference_ids": [1]}]}),
        chunk({}, "stop"),
    ),
    "text then blocks": wire(
        chunk({"content": "a"}),
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]}),
        chunk({}, "stop"),
    ),
    "refusal": wire(chunk({"refusal": "I will"}), chunk({"refusal": " not."}), chunk({}, "stop")),
    "audio": wire(
        chunk({"audio": {"id": "audio_1", "transcript": "6"}}),
        chunk({"audio": {"data": "UklG"}}),
        chunk({"audio": {"transcript": ".2", "expires_at": 9}}, "stop"),
    ),
    "images": wire(
        chunk({"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,cA=="}}]}, "stop")
    ),
    "choices": wire(
        chunk({"content": "a"}),
        chunk({"content": "b", "tool_calls": [call(0, "c", "f", "{}")]}, index=1),
        chunk({}, "stop"),
        chunk({}, "length", index=1),
    ),
    "cut": wire(chunk({"content": "Hel"}), done=False),
    "done without a reason": wire(chunk({"content": "a"})),
    "nothing": b"",
    "arguments as an object": wire(chunk({"tool_calls": [call(0, "c", "f", {"x": 1})]}, "tool_calls")),
    "a call without a name": wire(chunk({"tool_calls": [call(0, "c", None, "{}")]}, "tool_calls")),
    "a name in pieces": wire(
        chunk({"tool_calls": [call(0, "c", "get_", "")]}),
        chunk({"tool_calls": [call(0, None, "tide", "{}")]}, "tool_calls"),
    ),
    "indexes from one": wire(chunk({"tool_calls": [call(1, "c", "f", "{}"), call(3, "d", "g", "{}")]}, "tool_calls")),
    "whole answer in one chunk": wire(
        {
            **HEAD,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}],
        }
    ),
    "logprobs": wire(
        {**HEAD, "choices": [{"index": 0, "delta": {"content": "a"}, "logprobs": {"content": [{"token": "a"}]}}]},
        {**HEAD, "choices": [{"index": 0, "delta": {"content": "b"}, "logprobs": {"content": [{"token": "b"}]}}]},
        chunk({}, "stop"),
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_written_again_says_the_same(name: str) -> None:
    again(STREAMS[name])


@pytest.mark.parametrize("name", STREAMS)
@given(cuts=st.lists(st.integers(0, 400), max_size=5))
def test_a_stream_split_anywhere_gives_the_same_events(name: str, cuts: list[int]) -> None:
    """S-02, law 3."""
    data = STREAMS[name]
    reader = StreamReader(DIALECT.StreamDecoder(), "sse")
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    events = [event for a, b in pairwise(places) for event in reader.feed(data[a:b])]
    kinds = ("content.delta", "reasoning.delta", "tool_call.start", "tool_call.delta", "stream.end")

    assert deltas(events + reader.close(), *kinds) == deltas(heard(data)[0], *kinds)


def test_events_come_in_their_order() -> None:
    """W-29 to W-33."""
    events, reply = heard(
        wire(
            chunk({"role": "assistant", "content": ""}),
            chunk({"tool_calls": [call(0, "c", "dig", '{"a"')], "content": "ok"}),
            chunk({"tool_calls": [call(0, args=":1}")]}, "tool_calls"),
            {**HEAD, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
        )
    )

    assert [event.type for event in events] == [
        "stream.start",
        "role",
        "content.delta",
        "tool_call.start",
        "tool_call.delta",
        "tool_call.delta",
        "tool_call.end",
        "part.end",
        "usage",
        "stream.end",
    ]
    assert events[0].to_dict() == {"type": "stream.start", "metadata": {"id": "chatcmpl-1", "model": "gpt"}}
    assert (reply.finish_reason, reply.finished, reply.notes) == ("tool_calls", True, ())
    assert reply.usage == Usage(1, 2, 3, {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3})


def test_a_stream_is_the_whole_response_it_describes() -> None:
    """L3: the same decoder reads both."""
    _, streamed = heard(STREAMS["calls"])
    calls = [
        {"id": "c0", "type": "function", "function": {"name": "a", "arguments": '{"x":1}'}},
        {"id": "c1", "type": "function", "function": {"name": "b", "arguments": "{}"}},
    ]
    choice = {"index": 0, "message": {"role": "assistant", "tool_calls": calls}, "finish_reason": "tool_calls"}
    whole = DIALECT.decode_response({**HEAD, "object": "chat.completion", "choices": [choice]})

    assert (parts(streamed), streamed.raw) == (parts(whole), whole.raw)


def test_calls_end_in_the_order_of_their_index() -> None:
    """message-codecs.md, section 10, case 5."""
    events, reply = heard(
        wire(chunk({"tool_calls": [call(1, "y", "b")]}), chunk({"tool_calls": [call(0, "x", "a")]}, "tool_calls"))
    )

    assert [event["index"] for event in deltas(events, "tool_call.end")] == [0, 1]
    assert [part.tool_name for part in reply.messages[0].parts] == ["a", "b"]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([call(0, "c", "dig", ""), call(0, "c", "dig", "{}")], [("c", "dig", "{}")]),
        ([call(0, "c", "dig", "{}"), call(0, "d", "dig", "{}")], [("c", "dig", "{}"), ("d", "dig", "{}")]),
        ([call(None, "c", "dig", "{}"), call(None, "d", "dig", "{}")], [("c", "dig", "{}"), ("d", "dig", "{}")]),
        ([call(None, "c", "dig", "{"), call(None, "c", None, "}")], [("c", "dig", "{}")]),
        (
            [call(None, None, "dig", "{}"), call(None, None, "drill", "{}")],
            [(None, "dig", "{}"), (None, "drill", "{}")],
        ),
        ([call(None, None, "dig", "{"), call(None, None, None, "}")], [(None, "dig", "{}")]),
        ([call(0, None, None, "{"), call(0, "c", "dig", "}")], [("c", "dig", "{}")]),
    ],
)
def test_odd_indexes_neither_merge_nor_double_calls(pieces: list[Any], calls: list[Any]) -> None:
    """S-09: missing and duplicate indexes, names told again."""
    _, reply = heard(wire(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, "tool_calls")))

    got = [
        (part.tool_call_id, part.tool_name, (part.provider_raw or {})["function"]["arguments"])
        for part in reply.messages[0].parts
    ]
    assert got == calls


def test_azures_first_chunk_is_no_beginning() -> None:
    first = {
        "id": "",
        "model": "",
        "object": "",
        "created": 0,
        "choices": [],
        "prompt_filter_results": [{"prompt_index": 0}],
    }

    events, reply = heard(wire(first, chunk({"content": "a"}, "stop")))

    assert events[0].to_dict() == {"type": "stream.start", "metadata": {"id": "chatcmpl-1", "model": "gpt"}}
    assert reply.raw["prompt_filter_results"] == ({"prompt_index": 0},)


def test_an_error_inside_the_stream_ends_it() -> None:
    """W-34: what arrived is kept, and no finish reason is made up."""
    events, reply = heard(wire(chunk({"content": "Hel"}), {"error": {"message": "overloaded"}}, done=False))

    assert [event.type for event in events][-3:] == ["stream.error", "part.end", "stream.end"]
    assert (parts(reply), reply.finished, reply.notes) == ([(text("Hel"),)], False, ("overloaded",))


def test_reasoning_is_told_from_one_field_only() -> None:
    events, reply = heard(STREAMS["both"])

    assert deltas(events, "reasoning.delta") == [{"type": "reasoning.delta", "delta": "hm"}]
    assert reply.messages[0].parts[1].provider_raw == {"reasoning": "hm", "reasoning_content": "hm"}


def test_details_are_put_together_by_type_and_place() -> None:
    _, reply = heard(STREAMS["details"])

    assert reply.messages[0].parts[1].provider_raw == {
        "reasoning": "hm",
        "reasoning_details": (
            {"type": "reasoning.text", "index": 0, "signature": "c2ln", "text": "hm"},
            {"type": "reasoning.encrypted", "index": 1, "data": "x"},
        ),
    }


def test_unknown_events_pass_and_odd_ones_are_noted() -> None:
    """S-08."""
    data = wire({"type": "ping"}, chunk({"content": 5}), {"choices": 7}, chunk({"content": "a"}, "stop"))

    events, reply = heard(b"data: {oops\n\n" + data)

    assert [event.type for event in events].count("native") == 4
    assert (parts(reply), len(reply.notes)) == ([(text("a"),)], 3)


def test_an_answer_of_another_dialect_is_told_in_chunks() -> None:
    said = assistant(thinking("hm"), "a", tool_call(args={}, call_id="c"))
    reply = Reply((said,), "msg_1", "opus", "tool_calls", "tool_use", Usage(3, 4, 7), {"type": "message"})
    encoder = DIALECT.StreamEncoder()

    written = b"".join(encoder.feed(event) for event in replay(reply)) + encoder.close()
    _, second = heard(written)

    assert (second.id, second.model, second.finish_reason, second.stop_reason) == (
        "msg_1",
        "opus",
        "tool_calls",
        "tool_calls",
    )
    assert [(part.type, part.text, part.tool_name, part.tool_args) for part in second.messages[0].parts] == [
        ("text", "a", None, None),
        ("thinking", "hm", None, None),
        ("tool_call", None, "dig", {}),
    ]
    assert second.usage is not None
    assert (second.usage.input_tokens, second.usage.total_tokens) == (3, 7)
    assert written.endswith(DONE)


def test_whole_parts_in_a_delta_are_written_as_they_are() -> None:
    encoder = DIALECT.StreamEncoder()
    events = [
        StreamStart(),
        ToolCallDelta(5, "{}"),
        ContentDelta((text("a"), Part("json", json={"b": 1}))),
        RefusalDelta("no"),
        StreamError("broke"),
        StreamEnd(),
    ]

    _, reply = heard(b"".join(encoder.feed(event) for event in events))

    assert [(part.type, part.text) for part in reply.messages[0].parts] == [
        ("text", 'a{"b":1}'),
        ("refusal", "no"),
    ]
    assert reply.notes == ("broke",)
