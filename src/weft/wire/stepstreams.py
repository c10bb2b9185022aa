"""Step streams: a provider's chunks as the events of message-codecs.md, section 6, and the same result in the end.

    stream = StepStream("openai")
    for chunk in chunks:
        for event in stream.feed(chunk): ...
    for event in stream.close(): ...
    stream.result                            # what decode_step gives for the whole response

`stream.read(chunks)` is that loop. The dialect's decoder does the reading; this is a view of its events: those of
weft's own (a part's end, usage, native events) are not in it, calls are wire calls, and the order is the chapter's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from weft.blobs import InMemoryBlobStore
from weft.canon import (
    ContentDelta,
    Event,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    RoleChange,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from weft.errors import ProviderError, WireError
from weft.wire.body import as_body
from weft.wire.codec import Json
from weft.wire.framing import parser_for
from weft.wire.messages import encode_call, encode_part, to_text
from weft.wire.steps import MADE_UP_ID, as_told, face_of, result_of
from weft.wire.stream import Speaker

__all__ = ["StepStream", "events"]

# The order within one chunk [W-29], and at the end [W-33].
ORDER: dict[type[Event], int] = {
    StreamStart: 0,
    RoleChange: 1,
    ContentDelta: 2,
    PartEnd: 2,
    ReasoningDelta: 3,
    RefusalDelta: 4,
    ToolCallStart: 5,
    ToolCallDelta: 5,
    StreamError: 6,
    ToolCallEnd: 7,
    StreamEnd: 8,
}
MEDIA = ("image", "audio", "video", "file")


class StepStream:
    """Reads one stream of a provider."""

    __slots__ = ("_blobs", "_decoder", "_name", "_parser", "_problem", "_raises", "_result", "_started", "_who")

    def __init__(self, dialect_name: str, *, raise_errors: bool = False) -> None:
        """Begin before the first chunk. With `raise_errors`, `read` raises at the end what broke the stream."""
        spoken, _ = face_of(dialect_name)
        self._name = spoken.name
        self._who = spoken.provider
        self._blobs = InMemoryBlobStore()
        self._decoder: Any = spoken.StreamDecoder(self._blobs)
        self._parser = parser_for(spoken.framing)
        self._raises = raise_errors
        self._problem: Exception | None = None
        self._started = False
        self._result: Json | None = None

    def feed(self, chunk: Any) -> list[Json]:
        """Take the next chunk: a parsed object, a frame, an SDK's object, or bytes as they came from the network."""
        if chunk.__class__ is dict or hasattr(chunk, "truncated"):
            return self._shown(self._decoder.feed(chunk))
        if isinstance(chunk, (bytes, bytearray, memoryview)):
            told = [self._shown(self._decoder.feed(frame)) for frame in self._parser.feed(bytes(chunk))]
            return [event for events in told for event in events]
        return self._shown(self._decoder.feed(dict(as_body(chunk, "chunk"))))

    def fail(self, problem: Exception) -> None:
        """Say that reading broke off; `close` then tells it, and ends with what arrived [W-34]."""
        self._problem = problem
        self._decoder.fail(str(problem) or type(problem).__name__)

    def close(self) -> list[Json]:
        """Say that nothing more comes; give the last events, `stream.end` the very last."""
        last: list[Event] = []
        try:
            for frame in self._parser.close():
                last += self._decoder.feed(frame)
        except WireError as problem:  # the framing itself is broken
            self.fail(problem)
        last += self._decoder.close()
        self._result = result_of(self._decoder.reply, self._name, self._blobs)
        return self._shown(last)

    def read(self, chunks: Iterable[Any]) -> Iterator[Json]:
        """Give the events of all chunks. What breaks the reading is told as `stream.error`, and raised if asked for."""
        try:
            for chunk in chunks:
                yield from self.feed(chunk)
        except Exception as problem:  # noqa: BLE001 - whatever it was, the caller gets what came before it
            self.fail(problem)
        yield from self.close()
        if self._raises and self._decoder.error is not None:
            raise self._problem or ProviderError(f"{self._who}: {self._decoder.error}", provider=self._who)

    @property
    def result(self) -> Json | None:
        """What was read, once closed: as `decode_step` gives it."""
        return self._result

    @property
    def error(self) -> str | None:
        """What broke the stream, or what the provider said went wrong."""
        error: str | None = self._decoder.error
        return error

    def _shown(self, told: list[Event]) -> list[Json]:
        if len(told) > 1:
            told.sort(key=_order)  # stable
        shown = [event for each in told if (event := self._view(each)) is not None]
        if shown and not self._started:
            self._started = True
            if shown[0]["type"] != "stream.start":  # a stream that lost its beginning
                shown.insert(0, {"type": "stream.start"})
        return shown

    def _view(self, event: Event) -> Json | None:
        match event:
            case ContentDelta(delta=delta) | ReasoningDelta(delta=delta) | RefusalDelta(delta=delta):
                return {"type": event.type, "delta": delta}
            case ToolCallDelta(index=index, delta=delta):
                return {"type": event.type, "index": index, "delta": delta}
            case PartEnd(part=part) if part.type in MEDIA:
                return {"type": ContentDelta.type, "delta": [encode_part(part, self._blobs)]}
            case ToolCallStart(id=call_id):
                shown = event.to_dict()
                if call_id is not None and call_id.startswith(MADE_UP_ID):
                    del shown["id"]
                return shown
            case ToolCallEnd(index=index, tool_call=part):
                return {"type": event.type, "index": index, "tool_call": encode_call(as_told(part, self._name))}
            case StreamStart() if self._started:
                return None
            case StreamStart() | RoleChange() | StreamError() | StreamEnd():
                return event.to_dict()
        return None


def _order(event: Event) -> int:
    return ORDER.get(event.__class__, 6)


def events(result: Mapping[str, Any]) -> Iterator[Json]:
    """Tell a finished result as a stream would have told it [W-35]: its first message, in one delta of each kind."""
    say = Speaker()
    metadata = result.get("metadata") or {}
    say.start(metadata.get("id"), metadata.get("model"))
    messages = result.get("messages") or [{"role": "", "content": ""}]
    message = messages[0]
    say.role(message["role"])
    if isinstance(message["content"], str):
        say.content(message["content"])
        parts = []
    else:
        parts = message["content"]
    yield from (event.to_dict() for event in say.hand_over())
    if parts:
        yield {"type": ContentDelta.type, "delta": parts}
    say.reasoning(to_text(message.get("reasoning")) or "")
    say.refusal(to_text(message.get("refusal")) or "")
    calls = message.get("tool_calls") or ()
    for index, call in enumerate(calls):
        say.call(index, call["name"], call.get("id"))
        say.arguments(index, call["arguments"])
    yield from (event.to_dict() for event in say.hand_over())
    for index, call in enumerate(calls):
        yield {"type": ToolCallEnd.type, "index": index, "tool_call": call}
    yield StreamEnd(result.get("finish_reason")).to_dict()
