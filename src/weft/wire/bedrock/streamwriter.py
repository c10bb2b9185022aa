"""ConverseStream, written: any dialect's events as the frames AWS would have sent, each as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import (
    EMPTY,
    ContentDelta,
    Event,
    Part,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
    thaw,
    write_arguments,
)
from weft.jsontext import dumps
from weft.wire.bedrock.block import encode_part
from weft.wire.bedrock.response import STOP, is_own_envelope, write_usage
from weft.wire.body import blobs_or_new
from weft.wire.codec import FAITHFUL, Json
from weft.wire.eventstream import Frame, encode_frame

__all__ = ["StreamEncoder"]

METADATA = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")


class StreamEncoder:
    """Writes events as messageStart to metadata, each as it comes."""

    __slots__ = ("_blobs", "_calls", "_index", "_open", "_said", "_started", "_usage")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        self._blobs = blobs_or_new(blobs)
        self._started = False
        self._index = -1
        self._open = ""  # the type of the block that is open
        self._said: list[str] = []  # types of text blocks closed by the next one, whose part.end is still to come
        self._calls: dict[int, tuple[int, bool]] = {}  # where each call's block is, and whether arguments were told
        self._usage: Usage | None = None

    def feed(self, event: Event) -> bytes:
        """Write one event."""
        match event:
            case ContentDelta(delta=str(text)) | RefusalDelta(delta=text):
                return self._delta("text", {"text": text})
            case ContentDelta(delta=parts):
                return b"".join(self._whole(part) for part in parts if isinstance(part, Part))
            case ReasoningDelta(delta=text):
                return self._delta("thinking", {"reasoningContent": {"text": text}})
            case ToolCallStart():
                return self._open_call(event)
            case ToolCallDelta(index=index, delta=text):
                return self._arguments(index, text)
            case ToolCallEnd(index=index, tool_call=part):
                return self._end_call(index, part)
            case PartEnd(part=part):
                return self._end_part(part)
            case StreamStart():
                return self._begin()
            case UsageUpdate(usage=usage):
                self._usage = usage
            case StreamError(error=error):
                return self._begin() + self._close_block() + _frame("modelStreamErrorException", {"message": error})
            case StreamEnd():
                return self._end(event)
            case _:
                pass
        return b""

    def close(self) -> bytes:
        """End; messageStop and metadata were written with the end of the stream, or never, if there was none."""
        return b""

    def _begin(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        return _frame("messageStart", {"role": "assistant"})

    def _open_block(self, kind: str, start: Json | None = None) -> bytes:
        written = self._begin() + self._close_block()
        self._index += 1
        self._open = kind
        return written if start is None else written + self._event("contentBlockStart", start=start)

    def _event(self, kind: str, index: int | None = None, **fields: Any) -> bytes:
        return _frame(kind, {"contentBlockIndex": self._index if index is None else index, **fields})

    def _close_block(self) -> bytes:
        kind, self._open = self._open, ""
        if not kind:
            return b""
        if kind in ("text", "thinking"):
            self._said.append(kind)
        elif kind == "call" and any(at == self._index and not told for at, told in self._calls.values()):
            return b""  # its arguments come with its end
        return self._event("contentBlockStop")

    def _delta(self, kind: str, delta: Json) -> bytes:
        opened = b"" if self._open == kind else self._open_block(kind)
        return opened + self._event("contentBlockDelta", delta=delta)

    def _open_call(self, event: ToolCallStart) -> bytes:
        raw = event.raw.get("toolUse") if event.raw is not None else None
        tool: Json = thaw(raw) if isinstance(raw, Mapping) else {}
        tool |= {"toolUseId": event.id or "", "name": event.name}
        written = self._open_block("call", {"toolUse": tool})
        self._calls[event.index] = (self._index, False)
        return written

    def _arguments(self, call: int, text: str) -> bytes:
        index = self._calls.get(call, (self._index, False))[0]
        self._calls[call] = (index, True)
        return self._event("contentBlockDelta", index, delta={"toolUse": {"input": text}})

    def _end_call(self, call: int, part: Part) -> bytes:
        """Write the arguments of a call that told none, now that they are known."""
        index, told = self._calls.get(call, (-1, True))
        if told:
            return b""
        written = self._arguments(call, write_arguments(part.tool_args)) if part.tool_args else b""
        self._calls[call] = (index, True)
        if self._open == "call" and index == self._index:
            return written + self._close_block()
        return written + self._event("contentBlockStop", index)

    def _end_part(self, part: Part) -> bytes:
        kind = "text" if part.type == "refusal" else part.type
        if kind == self._open:
            return self._rest(part) + self._close_quietly()
        if kind in self._said:  # its deltas have been told, and the next block has closed it since
            self._said.remove(kind)
            return b""
        return self._whole(part)

    def _close_quietly(self) -> bytes:
        closed = self._close_block()
        self._said.pop()
        return closed

    def _rest(self, part: Part) -> bytes:
        """Tell what a part has beside its text: the signature, the citations."""
        match part.provider_raw:
            case {"reasoningContent": {"reasoningText": {"signature": str(signature)}}}:
                return self._event("contentBlockDelta", delta={"reasoningContent": {"signature": signature}})
            case {"citationsContent": {"citations": [*citations]}}:
                return b"".join(self._event("contentBlockDelta", delta={"citation": thaw(each)}) for each in citations)
        return b""

    def _whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas, in as many events as its kind takes."""
        block = encode_part(part, "assistant", None, self._blobs, FAITHFUL)
        if not isinstance(block, dict):
            return b""
        start, deltas = _told_whole(block)
        written = self._open_block("whole", start)
        written += b"".join(self._event("contentBlockDelta", delta=delta) for delta in deltas)
        return written + self._close_block()

    def _end(self, end: StreamEnd) -> bytes:
        written = self._begin() + self._close_block()
        raw = end.reply.raw if end.reply is not None and is_own_envelope(end.reply.raw) else EMPTY
        if end.finish_reason is not None or end.stop_reason is not None:  # cut short: no stop is invented
            stop: Json = {"stopReason": raw.get("stopReason") or STOP.get(end.finish_reason or "") or "end_turn"}
            if raw.get("additionalModelResponseFields") is not None:
                stop["additionalModelResponseFields"] = thaw(raw["additionalModelResponseFields"])
            written += _frame("messageStop", stop)
        about = {key: thaw(raw[key]) for key in METADATA if key in raw}
        if "usage" not in about and self._usage is not None:
            about = {"usage": write_usage(self._usage), "metrics": {"latencyMs": 0}, **about}
        return written + _frame("metadata", about) if about else written


def _told_whole(block: Json) -> tuple[Json | None, list[Json]]:
    """Give the start and the deltas that tell a block."""
    match block:
        case {"text": str(text)}:
            return None, [{"text": text}]
        case {"reasoningContent": {"reasoningText": {**said}}}:
            return None, [{"reasoningContent": {key: said[key]}} for key in ("text", "signature") if key in said]
        case {"reasoningContent": {**sealed}}:
            return None, [{"reasoningContent": sealed}]
        case {"citationsContent": cited}:
            about: Json = {"content": [], "citations": []} | thaw(cited)
            return None, [*about["content"], *({"citation": each} for each in about["citations"])]
        case {"toolUse": {"input": arguments, **tool}}:
            text = write_arguments(arguments) if isinstance(arguments, dict) else dumps(arguments).decode()
            return {"toolUse": tool}, [{"toolUse": {"input": text}}]
        case {"toolResult": {"content": [*items], **tool}}:
            return {"toolResult": tool}, [{"toolResult": items}]
        case {"image": {"source": source, **image}}:
            return {"image": image}, [{"image": {"source": source}}]
    return block, []


def _frame(kind: str, payload: Json) -> bytes:
    exception = kind.endswith("Exception")
    headers = {
        ":exception-type" if exception else ":event-type": kind,
        ":content-type": "application/json",
        ":message-type": "exception" if exception else "event",
    }
    return encode_frame(Frame(headers, dumps(payload)))
