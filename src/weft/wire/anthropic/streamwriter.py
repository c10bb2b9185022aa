"""Writing Messages API streams: events as message_start to message_stop, each as it comes.

The protocol has one block open at a time, so a block is closed by the next one that opens.
"""

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
from weft.wire.anthropic.block import encode_part
from weft.wire.anthropic.response import STOP, is_own_envelope
from weft.wire.body import blobs_or_new
from weft.wire.codec import FAITHFUL, Json
from weft.wire.sse import encode_sse

__all__ = ["StreamEncoder"]


class StreamEncoder:
    """Writes events as message_start to message_stop, each as it comes."""

    __slots__ = ("_blobs", "_calls", "_index", "_open", "_said", "_started", "_usage")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        self._blobs = blobs_or_new(blobs)
        self._started = False
        self._index = -1
        self._open = ""  # the type of the block that is open
        self._said: list[str] = []  # types of text blocks closed by the next one, whose part.end is still to come
        self._calls: dict[int, tuple[int, bool]] = {}  # by call: its block, and whether arguments were told
        self._usage: Usage | None = None

    def feed(self, event: Event) -> bytes:
        """Write one event."""
        match event:
            case ContentDelta(delta=str(text)):
                return self._delta("text", {"type": "text", "text": ""}, {"type": "text_delta", "text": text})
            case ContentDelta(delta=parts):
                return b"".join(self._whole(part) for part in parts if isinstance(part, Part))
            case RefusalDelta(delta=text):
                return self._delta("text", {"type": "text", "text": ""}, {"type": "text_delta", "text": text})
            case ReasoningDelta(delta=text):
                thought = {"type": "thinking", "thinking": "", "signature": ""}
                return self._delta("thinking", thought, {"type": "thinking_delta", "thinking": text})
            case ToolCallStart():
                return self._open_call(event)
            case ToolCallDelta(index=call, delta=text):
                return self._arguments(call, text)
            case ToolCallEnd(index=call, tool_call=part):
                return self._end_call(call, part)
            case PartEnd(part=part):
                return self._end_part(part)
            case StreamStart():
                return self._begin(event)
            case UsageUpdate(usage=usage):
                self._usage = usage
            case StreamError(error=error):
                return self._begin() + self._event("error", error={"type": "api_error", "message": error})
            case StreamEnd():
                return self._end(event)
            case _:
                pass
        return b""

    def close(self) -> bytes:
        """End; message_stop was written with the end of the stream, or never, if there was none."""
        return b""

    def _event(self, kind: str, **fields: Any) -> bytes:
        return encode_sse(dumps({"type": kind, **fields}), event=kind)

    def _begin(self, start: StreamStart | None = None) -> bytes:
        if self._started:
            return b""
        self._started = True
        raw = start.raw if start is not None and start.raw is not None and is_own_envelope(start.raw) else None
        if raw is not None:
            message = {**thaw(raw), "content": [], "stop_reason": None, "stop_sequence": None}
        else:
            message = {
                "id": (start.id if start else None) or "msg_weft",
                "type": "message",
                "role": "assistant",
                "model": (start.model if start else None) or "",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }
        return self._event("message_start", message=message)

    def _open_block(self, kind: str, block: Json) -> bytes:
        closing = self._close_block()
        self._index += 1
        self._open = kind
        return closing + self._event("content_block_start", index=self._index, content_block=block)

    def _close_block(self) -> bytes:
        if not self._open:
            return b""
        if self._open in ("text", "thinking"):
            self._said.append(self._open)
        self._open = ""
        return self._event("content_block_stop", index=self._index)

    def _open_call(self, start: ToolCallStart) -> bytes:
        raw = start.raw
        opening: Json = thaw(raw) if raw is not None and raw.get("type") == "tool_use" else {}
        opening |= {"type": "tool_use", "id": start.id or "", "name": start.name, "input": {}}
        written = self._begin() + self._open_block("tool_use", opening)
        self._calls[start.index] = (self._index, False)
        return written

    def _arguments(self, call: int, text: str) -> bytes:
        """Tell a piece of arguments; where calls take turns, the call's block may be an earlier one."""
        block = self._calls.get(call, (self._index, False))[0]
        self._calls[call] = (block, True)
        return self._event("content_block_delta", index=block, delta={"type": "input_json_delta", "partial_json": text})

    def _end_call(self, call: int, part: Part) -> bytes:
        """Tell the arguments that came only with the whole call."""
        written = (
            b""
            if call in self._calls
            else self._open_call(ToolCallStart(call, part.tool_name or "", part.tool_call_id, part.provider_raw))
        )
        told = self._calls[call][1]
        return (
            written if told or not part.tool_args else written + self._arguments(call, write_arguments(part.tool_args))
        )

    def _delta(self, kind: str, opening: Json, delta: Json) -> bytes:
        opened = b"" if self._open == kind else self._begin() + self._open_block(kind, opening)
        return opened + self._event("content_block_delta", index=self._index, delta=delta)

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
        written = b""
        raw = part.provider_raw or EMPTY
        if part.type == "thinking" and isinstance(raw.get("signature"), str):
            delta = {"type": "signature_delta", "signature": raw["signature"]}
            written += self._event("content_block_delta", index=self._index, delta=delta)
        for citation in raw.get("citations") or () if part.type == "text" else ():
            delta = {"type": "citations_delta", "citation": thaw(citation)}
            written += self._event("content_block_delta", index=self._index, delta=delta)
        return written

    def _whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas: it opens with all it has."""
        block = encode_part(part, "assistant", None, self._blobs, FAITHFUL)
        if not isinstance(block, dict):
            return b""
        written = self._begin() + self._open_block("whole", block)
        return written + self._close_block()

    def _end(self, end: StreamEnd) -> bytes:
        written = self._begin() + self._close_block()
        raw = end.reply.raw if end.reply is not None and is_own_envelope(end.reply.raw) else EMPTY
        stop = _stop(end, raw)
        if stop is None:
            return written  # cut short: no stop is invented
        usage = thaw(raw.get("usage")) if raw.get("usage") is not None else self._counts()
        delta = {"stop_reason": stop, "stop_sequence": raw.get("stop_sequence")}
        delta |= {key: thaw(raw[key]) for key in ("stop_details", "container") if key in raw}
        more = {key: thaw(raw[key]) for key in ("context_management",) if key in raw}
        written += self._event("message_delta", delta=delta, usage=usage, **more)
        return written if end.finish_reason is None else written + self._event("message_stop")

    def _counts(self) -> Json:
        usage = self._usage or Usage()
        return {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}


def _stop(end: StreamEnd, raw: Mapping[str, Any]) -> str | None:
    """Give the stop reason in this dialect's words: its own, or the one ours stands for."""
    own = raw.get("stop_reason")
    if isinstance(own, str):
        return own
    return None if end.finish_reason is None else STOP.get(end.finish_reason, "end_turn")
