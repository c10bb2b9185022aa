"""Cohere streams: read, and written again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import assistant, text, thinking, tool_call
from weft.canon import ContentDelta, Event, Part, Reply, StreamEnd, StreamError, Usage, fold, replay
from weft.jsontext import dumps
from weft.wire.cohere import DIALECT
from weft.wire.sse import encode_sse
from weft.wire.stream import StreamReader

START: dict[str, Any] = {
    "type": "message-start",
    "id": "a1",
    "delta": {"message": {"role": "assistant", "content": [], "tool_plan": ""}},
}
END: dict[str, Any] = {
    "type": "message-end",
    "delta": {"finish_reason": "COMPLETE", "usage": {"billed_units": {"input_tokens": 3, "output_tokens": 4}}},
}


def event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {"type": kind, **place, **({"delta": {"message": message}} if message else {})}


def wire(*events: Any) -> bytes:
    return b"".join(encode_sse(dumps(each)) for each in events)


def heard(data: bytes) -> tuple[list[Event], Reply]:
    reader = StreamReader(DIALECT.StreamDecoder(), "sse")
    events = reader.feed(data) + reader.close()
    assert reader.reply is not None
    return events, reader.reply


def parts(reply: Reply) -> list[tuple[Part, ...]]:
    return [message.parts for message in reply.messages]


TEXT = [
    event("content-start", 0, content={"type": "text", "text": ""}),
    event("content-delta", 0, content={"text": "6"}),
    event("content-delta", 0, content={"text": ".2"}),
    event("content-end", 0),
]
THOUGHT = [
    event("content-start", 0, content={"type": "thinking", "thinking": "h"}),
    event("content-delta", 0, content={"thinking": "m"}),
    event("content-end", 0),
]
CALLS = [
    event(
        "tool-call-start", 0, tool_calls={"id": "c0", "type": "function", "function": {"name": "f", "arguments": ""}}
    ),
    event("tool-call-delta", 0, tool_calls={"function": {"arguments": '{"a":'}}),
    event("tool-call-delta", 0, tool_calls={"function": {"arguments": "1}"}}),
    event("tool-call-end", 0),
    event("tool-call-start", 1, tool_calls={"id": "c1", "type": "function", "function": {"name": "g"}}),
    event("tool-call-end", 1),
]
PLAN = [event("tool-plan-delta", tool_plan="I will"), event("tool-plan-delta", tool_plan=" dig.")]
CITED = [event("citation-start", 0, citations={"start": 0, "end": 1}), event("citation-end", 0)]
STREAMS = {
    "text": wire(START, *TEXT, *CITED, END, "[DONE]"),
    "thinking": wire(
        START, *THOUGHT, event("content-start", 1, content={"type": "text", "text": "a"}), event("content-end", 1), END
    ),
    "plan and calls": wire(START, *PLAN, *CALLS, END),
    "plan then thinking": wire(START, *PLAN, *THOUGHT, END),
    "cut": wire(START, *TEXT[:2]),
    "unopened": wire(
        START,
        event("content-delta", 0, content={"thinking": "hm"}),
        event("tool-call-delta", 0, tool_calls={"function": {"arguments": "{}"}}),
        END,
    ),
    "nothing": b"",
    "empty text": wire(
        START, event("content-start", 0, content={"type": "text", "text": ""}), event("content-end", 0), END
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_written_again_says_the_same(name: str) -> None:
    """L3."""
    events, reply = heard(STREAMS[name])
    encoder = DIALECT.StreamEncoder()
    _, second = heard(b"".join(encoder.feed(each) for each in events) + encoder.close())

    assert (parts(second), second.finish_reason, second.usage) == (parts(reply), reply.finish_reason, reply.usage)
    assert parts(fold(events)) == parts(reply)


def test_a_stream_is_the_whole_response_it_describes() -> None:
    _, streamed = heard(STREAMS["plan and calls"])
    calls = [
        {"id": "c0", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
        {"id": "c1", "type": "function", "function": {"name": "g"}},
    ]
    message = {"role": "assistant", "tool_plan": "I will dig.", "tool_calls": calls}
    whole = DIALECT.decode_response({"id": "a1", "message": message, **END["delta"]})

    assert (parts(streamed), streamed.raw) == (parts(whole), whole.raw)


def test_citations_stay_beside_the_message() -> None:
    _, reply = heard(STREAMS["text"])

    assert (parts(reply), reply.raw["message"]["citations"]) == ([(text("6.2"),)], ({"start": 0, "end": 1},))


def test_odd_events_are_noted_and_kept() -> None:
    """S-08, S-09."""
    twice = [*TEXT, event("content-start", 0, content={"type": "text", "text": "b"}), *CALLS[:1], *CALLS[:1]]

    events, reply = heard(wire(START, {"type": "debug", "prompt": "x"}, *twice, {"type": "content-delta"}, END))

    assert [part.text for part in reply.messages[0].parts if part.type == "text"] == ["6.2", "b"]
    assert [each.type for each in events].count("native") == 2
    assert len(reply.notes) == 3


def test_an_error_at_the_end_is_told() -> None:
    events, reply = heard(wire(START, {"type": "message-end", "delta": {"error": "overloaded"}}))

    assert (reply.finished, reply.notes) == (False, ("overloaded",))
    assert [each.type for each in events][-2:] == ["stream.error", "stream.end"]


def test_an_answer_of_another_dialect_is_told_in_events() -> None:
    said = assistant(thinking("hm"), "a", tool_call(args={"x": 1}, call_id="c"))
    reply = Reply((said,), "msg_1", "opus", "tool_calls", "tool_use", Usage(3, 4, 7), {"type": "message"})
    encoder = DIALECT.StreamEncoder()

    _, second = heard(b"".join(encoder.feed(each) for each in replay(reply)))

    assert [(part.type, part.text, part.tool_args) for part in second.messages[0].parts] == [
        ("thinking", "hm", None),
        ("text", "a", None),
        ("tool_call", None, {"x": 1}),
    ]
    assert (second.finish_reason, second.usage and second.usage.total_tokens) == ("tool_calls", 7)


def test_whole_parts_and_errors_are_written_too() -> None:
    encoder = DIALECT.StreamEncoder()
    events = [ContentDelta((text("a"),)), StreamError("broke"), StreamEnd()]

    _, reply = heard(b"".join(encoder.feed(each) for each in events))

    assert (parts(reply), reply.notes) == ([(text("a"),)], ("broke",))
