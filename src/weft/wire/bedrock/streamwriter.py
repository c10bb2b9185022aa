"""ConverseStream, written: any dialect's events as the frames AWS would have sent, each as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Part, StreamEnd, StreamStart, ToolCallStart, thaw, write_arguments
from weft.jsontext import dumps
from weft.wire.bedrock.block import encode_part
from weft.wire.bedrock.response import STOP, is_own_envelope, write_usage
from weft.wire.codec import FAITHFUL, Json
from weft.wire.eventstream import Frame, encode_frame
from weft.wire.streamwriter import BlockEncoder

__all__ = ["StreamEncoder"]

METADATA = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")


class StreamEncoder(BlockEncoder):
    """Writes events as messageStart to metadata, each as it comes."""

    __slots__ = ("_calls", "_index", "_late", "_started")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        super().__init__(blobs)
        self._started = False
        self._index = -1
        self._calls: dict[int, tuple[int, bool]] = {}  # by call: its block, and whether arguments were told
        self._late: set[int] = set()  # blocks of calls that others have followed before any arguments came

    def begin(self, start: StreamStart | None = None) -> bytes:  # noqa: ARG002 - a stream says neither id nor model
        """Say who speaks."""
        if self._started:
            return b""
        self._started = True
        return _frame("messageStart", {"role": "assistant"})

    def _open_block(self, kind: str, start: Json | None = None) -> bytes:
        written = self.begin() + self.leave_block()
        self._index += 1
        self.opened = kind
        return written if start is None else written + self._event("contentBlockStart", start=start)

    def _event(self, kind: str, index: int | None = None, **fields: Any) -> bytes:
        return _frame(kind, {"contentBlockIndex": self._index if index is None else index, **fields})

    def close_block(self) -> bytes:
        """Say that the open block is complete; of a call, once its arguments have come."""
        kind, self.opened = self.opened, ""
        if not kind:
            return b""
        if kind == "call" and any(at == self._index and not told for at, told in self._calls.values()):
            self._late.add(self._index)
            return b""  # its arguments are still to come
        return self._event("contentBlockStop")

    def text(self, piece: str) -> bytes:
        """Tell a piece of text, in a block of its own if none is open."""
        return self._delta("text", {"text": piece})

    def thought(self, piece: str) -> bytes:
        """Tell a piece of thinking; its signature comes when it ends."""
        return self._delta("thinking", {"reasoningContent": {"text": piece}})

    def _delta(self, kind: str, delta: Json) -> bytes:
        opened = b"" if self.opened == kind else self._open_block(kind)
        return opened + self._event("contentBlockDelta", delta=delta)

    def open_call(self, start: ToolCallStart) -> bytes:
        """Open the call's block, without its arguments."""
        raw = start.raw.get("toolUse") if start.raw is not None else None
        tool: Json = thaw(raw) if isinstance(raw, Mapping) else {}
        tool |= {"toolUseId": start.id or "", "name": start.name}
        written = self._open_block("call", {"toolUse": tool})
        self._calls[start.index] = (self._index, False)
        return written

    def arguments(self, call: int, piece: str) -> bytes:
        """Tell a piece of arguments; where calls take turns, the call's block may be an earlier one."""
        index = self._calls.get(call, (self._index, False))[0]
        self._calls[call] = (index, True)
        return self._event("contentBlockDelta", index, delta={"toolUse": {"input": piece}})

    def end_call(self, call: int, part: Part) -> bytes:
        """Close the call's block, with arguments that came only now; one that was not opened is told whole."""
        if call not in self._calls:
            return self.whole(part)
        index, told = self._calls[call]
        written = self.arguments(call, write_arguments(part.tool_args)) if part.tool_args and not told else b""
        self._calls[call] = (index, True)
        if self.opened == "call" and index == self._index:
            return written + self.close_block()
        if index in self._late:
            self._late.discard(index)
            written += self._event("contentBlockStop", index)
        return written

    def rest(self, part: Part) -> bytes:
        """Tell what a part has beside its text: the signature, the citations."""
        match part.provider_raw:
            case {"reasoningContent": {"reasoningText": {"signature": str(signature)}}}:
                return self._event("contentBlockDelta", delta={"reasoningContent": {"signature": signature}})
            case {"citationsContent": {"citations": [*citations]}}:
                return b"".join(self._event("contentBlockDelta", delta={"citation": thaw(each)}) for each in citations)
        return b""

    def whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas, in as many events as its kind takes."""
        block = encode_part(part, "assistant", None, self.blobs, FAITHFUL)
        if not isinstance(block, dict):
            return b""
        start, deltas = _told_whole(block)
        written = self._open_block("whole", start)
        written += b"".join(self._event("contentBlockDelta", delta=delta) for delta in deltas)
        return written + self.close_block()

    def failed(self, error: str) -> bytes:
        """Tell an error as AWS does: a frame of its own kind."""
        return self.begin() + self.leave_block() + _frame("modelStreamErrorException", {"message": error})

    def end(self, end: StreamEnd) -> bytes:
        """Tell why it stopped, then what it used."""
        written = self.begin() + self.leave_block()
        raw = end.reply.raw if end.reply is not None and is_own_envelope(end.reply.raw) else EMPTY
        if end.finish_reason is not None or end.stop_reason is not None:  # cut short: no stop is invented
            stop: Json = {"stopReason": raw.get("stopReason") or STOP.get(end.finish_reason or "") or "end_turn"}
            if raw.get("additionalModelResponseFields") is not None:
                stop["additionalModelResponseFields"] = thaw(raw["additionalModelResponseFields"])
            written += _frame("messageStop", stop)
        about = {key: thaw(raw[key]) for key in METADATA if key in raw}
        if "usage" not in about and self.usage is not None:
            about = {"usage": write_usage(self.usage), "metrics": {"latencyMs": 0}, **about}
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
