"""What all stream decoders share: the order of events, odd frames, broken framings."""

from __future__ import annotations

from typing import Any

import pytest

from weft.canon import (
    ContentDelta,
    NativeEvent,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    RoleChange,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    ToolCallStart,
)
from weft.errors import WireError
from weft.jsontext import dumps
from weft.wire import StreamReader, dialect
from weft.wire.eventstream import Frame, encode_frame
from weft.wire.sse import SseParser, encode_sse
from weft.wire.stream import AssemblingDecoder, Speaker


class Parrot(AssemblingDecoder):
    """The smallest dialect: every event is a word."""

    __slots__ = ("heard",)
    dialect = "parrot"

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []

    def take(self, event: dict[str, Any]) -> None:
        self.heard.append(event["word"])
        self.say.content(event["word"])

    def done(self) -> None:
        self.complete = True

    def assembled(self) -> dict[str, Any]:
        return {"said": "".join(self.heard)}

    def decode(self, body: dict[str, Any]) -> Reply:
        return Reply(raw=body, finish_reason="stop")


# -- the speaker -----------------------------------------------------------------------------------------------


def test_nothing_is_told_that_is_not_news() -> None:
    """W-29 to W-33: one start, no empty deltas, a role only when it changes."""
    say = Speaker()

    say.start("m1", 5)
    say.start("again")
    for role in ("assistant", "assistant", "", "user"):
        say.role(role)
    for tell in (say.content, say.reasoning, say.refusal):
        tell("")
        tell("x")

    assert say.hand_over() == [
        StreamStart("m1"),
        RoleChange("assistant"),
        RoleChange("user"),
        ContentDelta("x"),
        ReasoningDelta("x"),
        RefusalDelta("x"),
    ]
    assert say.hand_over() == []


def test_arguments_wait_for_the_name_of_their_call() -> None:
    say = Speaker()

    say.arguments(0, '{"a"')
    say.arguments(0, "")
    say.call(0, None, "t1")
    say.arguments(0, ":1")
    say.call(0, "dig", "t1")
    say.call(0, "dig", "t1")
    say.arguments(0, "}")

    assert say.hand_over() == [
        ToolCallStart(0, "dig", "t1"),
        ToolCallDelta(0, '{"a"'),
        ToolCallDelta(0, ":1"),
        ToolCallDelta(0, "}"),
    ]


# -- the decoder -----------------------------------------------------------------------------------------------


def test_events_may_come_parsed_or_in_frames() -> None:
    decoder = Parrot()

    events = decoder.feed({"word": "a"})
    for frame in SseParser().feed(encode_sse(dumps({"word": "b"})) + b": a comment\n\n" + encode_sse(b"[DONE]")):
        events += decoder.feed(frame)
    events += decoder.close()

    assert decoder.reply == Reply(raw={"said": "ab"}, finish_reason="stop")
    assert events == [ContentDelta("a"), ContentDelta("b"), StreamStart(), StreamEnd("stop", reply=decoder.reply)]


@pytest.mark.parametrize("odd", [[], ["x"], "x", 5, None, {}, {"word": None}, {"word": 5}])
def test_an_odd_event_stays_visible_and_the_answer_goes_on(odd: Any) -> None:
    """S-08, S-09."""
    decoder = Parrot()

    told = decoder.feed(odd)
    decoder.feed({"word": "b"})
    decoder.close()

    assert all(isinstance(event, (NativeEvent, ContentDelta)) for event in told)
    assert decoder.reply is not None


def test_what_does_not_make_a_whole_answer_is_noted() -> None:
    decoder = Parrot()
    decoder.heard = ["a", 5]

    [_, end] = decoder.close()

    assert isinstance(end, StreamEnd)
    assert (end.finish_reason, decoder.reply) == (
        None,
        Reply(
            finished=False,
            notes=("what arrived does not make a whole answer: sequence item 1: expected str instance, int found",),
        ),
    )


def test_frames_that_are_cut_or_too_large_are_not_applied() -> None:
    """S-06, S-07."""
    parser = SseParser(max_event_bytes=64)
    decoder = Parrot()

    frames = [*parser.feed(b"data: " + b"x" * 100 + b"\n\n"), *parser.feed(b'data: {"word"'), *parser.close()]
    events = [event for frame in frames for event in decoder.feed(frame)]
    decoder.close()

    assert events == []
    assert decoder.reply is not None
    assert decoder.reply.notes == (
        "an event is too large to be read; it is kept in the record and was not applied",
        "an event was cut off; it is kept in the record and was not applied",
    )


def test_a_decoder_without_a_dialect_cannot_be_made() -> None:
    with pytest.raises(TypeError, match=r"abstract methods? assembled, decode, take"):
        AssemblingDecoder()  # type: ignore[abstract]


# -- the reader ------------------------------------------------------------------------------------------------


def test_bytes_become_events() -> None:
    reader = StreamReader(dialect("anthropic").StreamDecoder(), "text/event-stream; charset=utf-8")
    start = {"type": "message_start", "message": {"id": "m", "content": []}}

    events = reader.feed(encode_sse(dumps(start)))

    [end] = reader.close()
    assert events == [StreamStart("m", None, {"id": "m"})]
    assert isinstance(end, StreamEnd)
    assert (end.reply, end.reply and end.reply.id) == (reader.reply, "m")


def test_a_broken_framing_is_an_error_of_the_stream_not_an_exception() -> None:
    """X-32: what came before the break is kept."""
    good = _frame("messageStart", role="assistant")
    good += _frame("contentBlockDelta", contentBlockIndex=0, delta={"text": "Aye."})
    bad = bytearray(_frame("messageStop", stopReason="end_turn"))
    bad[-1] ^= 0xFF

    reader = StreamReader(dialect("bedrock").StreamDecoder(), "aws_eventstream")
    events = reader.feed(good + bytes(bad))
    events += reader.feed(b"more")
    events += reader.close()

    assert ContentDelta("Aye.") in events
    assert [event.error for event in events if isinstance(event, StreamError)] != []
    assert [event.part.text for event in events if isinstance(event, PartEnd)] == ["Aye."]
    assert reader.reply is not None
    assert not reader.reply.finished


def _frame(kind: str, **payload: Any) -> bytes:
    return encode_frame(Frame({":message-type": "event", ":event-type": kind}, dumps(payload)))


def test_a_framing_that_breaks_only_at_the_end_is_one_too() -> None:
    reader = StreamReader(dialect("gemini").StreamDecoder(), "json_array")
    reader.feed(b'[{"candidates": [{"content": {"parts": [{"text": "Aye."}]}}]}, ]')

    events = reader.close()

    assert isinstance(events[-1], StreamEnd)
    assert reader.reply is not None
    assert not reader.reply.finished


def test_a_framing_nobody_knows_is_refused_at_once() -> None:
    with pytest.raises(WireError, match="no framing is known for 'smoke'"):
        StreamReader(Parrot(), "smoke")
