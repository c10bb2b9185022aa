"""Ollama streams: read, and written again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import assistant, text, thinking, tool_call
from weft.canon import ContentDelta, Event, Part, RefusalDelta, Reply, StreamEnd, StreamError, Usage, fold, replay
from weft.jsontext import dumps
from weft.wire.ollama import DIALECT
from weft.wire.stream import StreamReader

HEAD = {"model": "q", "created_at": "2026-01-01T00:00:00Z"}
LAST = {"done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4}


def line(**message: Any) -> dict[str, Any]:
    return {**HEAD, "message": {"role": "assistant", **message}, "done": False}


def wire(*lines: Any) -> bytes:
    return b"".join(dumps(each) + b"\n" for each in lines)


def heard(data: bytes) -> tuple[list[Event], Reply]:
    reader = StreamReader(DIALECT.StreamDecoder(), "ndjson")
    events = reader.feed(data) + reader.close()
    assert reader.reply is not None
    return events, reader.reply


def parts(reply: Reply) -> list[tuple[Part, ...]]:
    return [message.parts for message in reply.messages]


END = {**line(content=""), **LAST}
CALL = {"id": "c", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}}
STREAMS = {
    "text": wire(line(content="6"), line(content=".2"), END),
    "thinking": wire(line(content="", thinking="h"), line(content="", thinking="m"), line(content="a"), END),
    "calls": wire(
        line(content="", tool_calls=[CALL]), line(tool_calls=[{"function": {"name": "g", "arguments": {}}}]), END
    ),
    "nothing said": wire(END),
    "cut": wire(line(content="Hel")),
    "nothing": b"",
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
    _, streamed = heard(STREAMS["thinking"])
    whole = DIALECT.decode_response(
        {**HEAD, "message": {"role": "assistant", "content": "a", "thinking": "hm"}, **LAST}
    )

    assert (parts(streamed), streamed.raw, streamed.usage) == (parts(whole), whole.raw, whole.usage)


def test_calls_are_told_whole() -> None:
    events, reply = heard(STREAMS["calls"])

    told = [each.to_dict() for each in events if each.type in ("tool_call.start", "tool_call.delta")]
    assert told == [
        {"type": "tool_call.start", "index": 0, "name": "f", "id": "c"},
        {"type": "tool_call.delta", "index": 0, "delta": '{"a":1}'},
        {"type": "tool_call.start", "index": 1, "name": "g"},
        {"type": "tool_call.delta", "index": 1, "delta": "{}"},
    ]
    assert reply.finish_reason == "tool_calls"


def test_an_error_ends_the_stream_with_what_arrived() -> None:
    """W-34."""
    _, reply = heard(wire(line(content="Hel"), {"error": "overloaded"}))

    assert (parts(reply), reply.finished, reply.notes) == ([(text("Hel"),)], False, ("overloaded",))


def test_odd_lines_are_noted_and_kept() -> None:
    """S-08."""
    events, reply = heard(wire(line(content=5), {"status": "pulling"}, line(content="a", done_thinking=True), END))

    assert [each.type for each in events].count("native") == 2
    assert (parts(reply), len(reply.notes)) == ([(text("a"),)], 1)


def test_an_answer_of_another_dialect_is_told_in_lines() -> None:
    said = assistant(thinking("hm"), "a", tool_call(args={"x": 1}, call_id="c"))
    reply = Reply((said,), "msg_1", "opus", "tool_calls", "tool_use", Usage(3, 4, 7), {"type": "message"})
    encoder = DIALECT.StreamEncoder()

    _, second = heard(b"".join(encoder.feed(each) for each in replay(reply)))

    assert [(part.type, part.text, part.tool_args) for part in second.messages[0].parts] == [
        ("text", "a", None),
        ("thinking", "hm", None),
        ("tool_call", None, {"x": 1}),
    ]
    assert (second.model, second.finish_reason, second.usage and second.usage.total_tokens) == ("opus", "tool_calls", 7)


def test_whole_parts_and_errors_are_written_too() -> None:
    encoder = DIALECT.StreamEncoder()
    events = [ContentDelta((text("a"), Part("file"))), RefusalDelta("no"), StreamError("broke"), StreamEnd()]

    _, reply = heard(b"".join(encoder.feed(each) for each in events))

    assert (parts(reply), reply.notes) == ([(text("ano"),)], ("broke",))
