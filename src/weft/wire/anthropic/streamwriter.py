"""Writing Messages API streams: events as message_start to message_stop, each as it comes.

The protocol has one block open at a time, so a block is closed by the next one that opens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Part, StreamEnd, StreamStart, ToolCallStart, Usage, thaw, write_arguments
from weft.jsontext import dumps
from weft.wire.anthropic.block import encode_part
from weft.wire.anthropic.response import STOP, is_own_envelope
from weft.wire.codec import FAITHFUL, Json
from weft.wire.sse import encode_sse
from weft.wire.streamwriter import BlockEncoder

__all__ = ["StreamEncoder"]


class StreamEncoder(BlockEncoder):
    """Writes events as message_start to message_stop, each as it comes."""

    __slots__ = ("_calls", "_index", "_started")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        super().__init__(blobs)
        self._started = False
        self._index = -1
        self._calls: dict[int, tuple[int, bool]] = {}  # by call: its block, and whether arguments were told

    def _event(self, kind: str, **fields: Any) -> bytes:
        return encode_sse(dumps({"type": kind, **fields}), event=kind)

    def begin(self, start: StreamStart | None = None) -> bytes:
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
        written = self.begin() + self.leave_block()
        self._index += 1
        self.opened = kind
        return written + self._event("content_block_start", index=self._index, content_block=block)

    def close_block(self) -> bytes:
        """Say that the open block is complete."""
        if not self.opened:
            return b""
        self.opened = ""
        return self._event("content_block_stop", index=self._index)

    def text(self, piece: str) -> bytes:
        """Tell a piece of text, in a block of its own if none is open."""
        return self._delta("text", {"type": "text", "text": ""}, {"type": "text_delta", "text": piece})

    def thought(self, piece: str) -> bytes:
        """Tell a piece of thinking; its signature comes when it ends."""
        opening = {"type": "thinking", "thinking": "", "signature": ""}
        return self._delta("thinking", opening, {"type": "thinking_delta", "thinking": piece})

    def _delta(self, kind: str, opening: Json, delta: Json) -> bytes:
        opened = b"" if self.opened == kind else self._open_block(kind, opening)
        return opened + self._event("content_block_delta", index=self._index, delta=delta)

    def open_call(self, start: ToolCallStart) -> bytes:
        """Open the call's block, without its arguments."""
        raw = start.raw
        opening: Json = thaw(raw) if raw is not None and raw.get("type") == "tool_use" else {}
        opening |= {"type": "tool_use", "id": start.id or "", "name": start.name, "input": {}}
        written = self._open_block("tool_use", opening)
        self._calls[start.index] = (self._index, False)
        return written

    def arguments(self, call: int, piece: str) -> bytes:
        """Tell a piece of arguments; where calls take turns, the call's block may be an earlier one."""
        block = self._calls.get(call, (self._index, False))[0]
        self._calls[call] = (block, True)
        return self._event(
            "content_block_delta", index=block, delta={"type": "input_json_delta", "partial_json": piece}
        )

    def end_call(self, call: int, part: Part) -> bytes:
        """Tell the arguments that came only with the whole call."""
        written = (
            b""
            if call in self._calls
            else self.open_call(ToolCallStart(call, part.tool_name or "", part.tool_call_id, part.provider_raw))
        )
        told = self._calls[call][1]
        return (
            written if told or not part.tool_args else written + self.arguments(call, write_arguments(part.tool_args))
        )

    def rest(self, part: Part) -> bytes:
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

    def whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas: it opens with all it has."""
        block = encode_part(part, "assistant", None, self.blobs, FAITHFUL)
        if not isinstance(block, dict):
            return b""
        return self._open_block("whole", block) + self.close_block()

    def failed(self, error: str) -> bytes:
        """Tell an error as the API does, in the middle of the stream."""
        return self.begin() + self._event("error", error={"type": "api_error", "message": error})

    def end(self, end: StreamEnd) -> bytes:
        """Tell why it stopped and what it used, then message_stop."""
        written = self.begin() + self.leave_block()
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
        usage = self.usage or Usage()
        return {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}


def _stop(end: StreamEnd, raw: Mapping[str, Any]) -> str | None:
    """Give the stop reason in this dialect's words: its own, or the one ours stands for."""
    own = raw.get("stop_reason")
    if isinstance(own, str):
        return own
    return None if end.finish_reason is None else STOP.get(end.finish_reason, "end_turn")
