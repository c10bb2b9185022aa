"""What the stream codecs of all dialects share: opening frames, keeping order, ending well.

A dialect's decoder does two things with each native event: it tells the deltas that are in it, and it adds the
event to the whole response it is assembling. At the end that response goes through the same `decode_response`
as one that came in a piece, so a stream and a whole answer cannot be read differently [R-4].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from weft.blobs import BlobStore
from weft.canon import (
    ContentDelta,
    Event,
    NativeEvent,
    Part,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    RoleChange,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from weft.errors import WireError
from weft.jsontext import loads
from weft.wire.body import blobs_or_new
from weft.wire.codec import Json
from weft.wire.frame import FrameParser
from weft.wire.framing import parser_for

__all__ = ["ODDITIES", "AssemblingDecoder", "Speaker", "StreamReader"]

COMPACT_EVERY = 1 << 20  # bytes of a stream
JOINED = 1 << 10  # letters; what a megabyte of the smallest events amounts to is longer
# What reading may raise when a field is of another type than the protocol's, or nested past all reason.
ODDITIES = (WireError, KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError)


class Speaker:
    """Tells events in the order the codecs promise [W-29 to W-33]. Decoders write to `out`; feed() hands it over.

    Empty deltas are not told, a role only when it changes, a call's start once its name is known and its argument
    pieces never before its start.
    """

    __slots__ = ("_held", "_role", "_started_calls", "out", "started")

    def __init__(self) -> None:
        """Begin silent."""
        self.out: list[Event] = []
        self.started = False
        self._role = ""
        self._started_calls: set[int] = set()
        self._held: dict[int, list[str]] = {}

    def start(self, id: Any = None, model: Any = None, raw: Mapping[str, Any] | None = None) -> None:
        """Say that the stream has begun, once."""
        if not self.started:
            self.started = True
            self.out.append(
                StreamStart(id if isinstance(id, str) else None, model if isinstance(model, str) else None, raw)
            )

    def role(self, role: str) -> None:
        """Say who speaks, if it is news."""
        if role and role != self._role:
            self._role = role
            self.out.append(RoleChange(role))

    def content(self, delta: str) -> None:
        """Say more of the answer."""
        if delta:
            self.out.append(ContentDelta(delta))

    def reasoning(self, delta: str) -> None:
        """Say more of the thinking."""
        if delta:
            self.out.append(ReasoningDelta(delta))

    def refusal(self, delta: str) -> None:
        """Say more of a refusal."""
        if delta:
            self.out.append(RefusalDelta(delta))

    def call(self, index: int, name: str | None, id: str | None = None, raw: Mapping[str, Any] | None = None) -> None:
        """Say that a call begins, as soon as it has a name; then what was held back for it."""
        if name and index not in self._started_calls:
            self._started_calls.add(index)
            self.out.append(ToolCallStart(index, name, id or None, raw))
            self.out.extend(ToolCallDelta(index, piece) for piece in self._held.pop(index, ()))

    def arguments(self, index: int, delta: str) -> None:
        """Say more of a call's arguments, or hold it until the call has begun."""
        if not delta:
            return
        if index in self._started_calls:
            self.out.append(ToolCallDelta(index, delta))
        else:
            self._held.setdefault(index, []).append(delta)

    def native(self, raw: Mapping[str, Any]) -> None:
        """Keep an event that says nothing in our words."""
        self.out.append(NativeEvent(raw))

    def hand_over(self) -> list[Event]:
        """Give what has been told since the last time."""
        told, self.out = self.out, []
        return told


class AssemblingDecoder(ABC):
    """The frame of every stream decoder. A dialect gives `take` (one native event) and `assembled` (the whole).

    Odd events are noted and kept, never fatal [S-08, S-09]; a broken stream ends with what arrived [W-34].
    """

    __slots__ = ("_parts_told", "_typed", "blobs", "complete", "error", "notes", "provider", "reply", "say")
    dialect: ClassVar[str]

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin with nothing heard. `provider` is who is speaking, where it is not the dialect's own."""
        self.blobs = blobs_or_new(blobs)
        self.provider = provider
        self.say = Speaker()
        self.notes: list[str] = []
        self.error: str | None = None
        self.complete = False  # set by the dialect at its terminal event
        self.reply: Reply | None = None
        self._parts_told = 0
        self._typed = type(self).open is not AssemblingDecoder.open

    # -- for a dialect to give -------------------------------------------------------------------------------

    @abstractmethod
    def take(self, event: Json) -> None:
        """Tell the deltas in one native event and add it to the whole."""

    @abstractmethod
    def assembled(self) -> Json:
        """Give the whole response as far as it came, in the dialect's own form."""

    @abstractmethod
    def decode(self, body: Json) -> Reply:
        """Read the assembled response: the dialect's `decode_response`."""

    def open(self, frame: Any) -> Any:
        """Give the native event inside a frame; a dialect with typed frames adds the type."""
        return loads(frame.data)

    def done(self) -> None:  # noqa: B027 - most have nothing to do here
        """Hear `[DONE]`; only a dialect that ends so needs to."""

    def growing(self) -> Iterable[list[str]]:
        """Give the lists of pieces that are only ever added to, and joined at the end."""
        return ()

    def call_number(self, position: int) -> int:
        """Give the number under which a call of the answer was told, by its position among the calls."""
        return position

    # -- what all share --------------------------------------------------------------------------------------

    def feed(self, frame: Any) -> list[Event]:
        """Take one frame, or a native event that is parsed already."""
        if frame.__class__ is not dict and hasattr(frame, "data"):
            self.accept(frame)
            return self.say.hand_over()
        try:
            self.take(frame)
        except ODDITIES as problem:
            self._odd(frame, problem)
        return self.say.hand_over()

    def accept(self, frame: Any) -> None:
        """Take one frame and hand nothing over yet: for a reader that has a chunk full of them."""
        data = frame.data
        if not data or data == b"[DONE]" or frame.truncated or frame.oversize:
            self._accept_odd(frame)
            return
        try:
            event = self.open(frame) if self._typed else loads(data)
        except ValueError as problem:
            self.notes.append(f"an event is not JSON: {problem}")
            self.say.native({"data": bytes(data).decode("utf-8", "replace")})
            return
        try:
            self.take(event)
        except ODDITIES as problem:
            self._odd(event, problem)

    def _accept_odd(self, frame: Any) -> None:
        if frame.truncated or frame.oversize:
            size = "was cut off" if frame.truncated else "is too large to be read"
            self.notes.append(f"an event {size}; it is kept in the record and was not applied")
        elif frame.data:
            self.done()

    def _odd(self, event: Any, problem: Exception) -> None:
        """Keep an event with a field of another type than the protocol's: it stays visible, and the answer goes on."""
        self.notes.append(f"an event could not be read: {problem}")
        self.say.native(event if isinstance(event, Mapping) else {"value": event})

    def compact(self) -> None:
        """Join pieces that have gathered: a piece of four letters takes sixty bytes of memory."""
        for pieces in self.growing():
            at = len(pieces)
            while at and len(pieces[at - 1]) < JOINED:  # longer ones have been joined already
                at -= 1
            if len(pieces) - at > 1:
                pieces[at:] = ["".join(pieces[at:])]

    def end_part(self, part: Part) -> None:
        """Say that a part other than a call is whole, before the end; parts must be ended in order."""
        self._parts_told += 1
        self.say.out.append(PartEnd(part))

    def fail(self, error: str) -> None:
        """Say that reading broke off; close() then ends with what arrived."""
        self.error = error

    def close(self) -> list[Event]:
        """End the stream: what is whole is told as parts, then usage, an error if there was one, and the end."""
        self.say.start()
        try:
            reply = self.decode(self.assembled())
        except ODDITIES as problem:
            self.notes.append(f"what arrived does not make a whole answer: {problem}")
            reply = Reply()
        notes = (*reply.notes, *self.notes, *((self.error,) if self.error else ()))
        finished = self.complete and self.error is None
        reply = replace(reply, finished=finished, notes=notes)
        self.reply = reply
        out = self.say.out
        if self.error is not None:
            out.append(StreamError(self.error))
        for position, part in enumerate(_calls(reply)):
            index = self.call_number(position)
            self.say.call(index, part.tool_name, part.tool_call_id)
            out.append(ToolCallEnd(index, part))
        out.extend(PartEnd(part) for part in _others(reply)[self._parts_told :])
        if reply.usage is not None:
            out.append(UsageUpdate(reply.usage))
        out.append(StreamEnd(reply.finish_reason if finished else None, reply.stop_reason, reply=reply))
        return self.say.hand_over()


def _calls(reply: Reply) -> list[Part]:
    return [part for part in reply.message.parts if part.type == "tool_call"] if reply.message else []


def _others(reply: Reply) -> list[Part]:
    return (
        [part for part in reply.message.parts if part.type not in ("tool_call", "annotation")] if reply.message else []
    )


class StreamReader:
    """Bytes in, events out: a framing parser and a dialect's decoder, driven together."""

    __slots__ = ("_decoder", "_parser", "_since")

    def __init__(self, decoder: Any, framing: str) -> None:
        """Read `framing` (a name or a content type) with `decoder`, an AssemblingDecoder."""
        self._decoder = decoder
        self._since = 0  # bytes since pieces were last joined
        self._parser: FrameParser = parser_for(framing)

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; give the events they complete. What a broken framing lets through is kept."""
        accept = self._decoder.accept
        try:
            for frame in self._parser.feed(chunk):
                accept(frame)
        except WireError as problem:
            self._decoder.fail(str(problem))
        self._since += len(chunk)
        if self._since > COMPACT_EVERY:
            self._since = 0
            self._decoder.compact()
        told: list[Event] = self._decoder.say.hand_over()
        return told

    def close(self) -> list[Event]:
        """End the stream; a framing that is broken is an error of the stream, not an exception."""
        try:
            for frame in self._parser.close():
                self._decoder.accept(frame)
        except WireError as problem:
            self._decoder.fail(str(problem))
        told: list[Event] = self._decoder.close()
        return told

    @property
    def reply(self) -> Reply | None:
        """What was read, once closed."""
        reply: Reply | None = self._decoder.reply
        return reply
