"""Writing Cohere v2 streams: events as message-start to message-end, each as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, StreamEnd, StreamStart, ToolCallStart, thaw
from weft.jsontext import dumps
from weft.wire.codec import FAITHFUL, Encoded, Json
from weft.wire.cohere.message import MessageWriter
from weft.wire.cohere.response import STOP, is_own_envelope, written_usage
from weft.wire.sse import encode_sse
from weft.wire.streamwriter import BlockEncoder

__all__ = ["StreamEncoder"]


class StreamEncoder(BlockEncoder):
    """Writes events as message-start to message-end, each as it comes."""

    __slots__ = ("_calls", "_index", "_planned", "_planning", "_started")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        super().__init__(blobs)
        self._started = False
        self._index = -1
        self._calls: set[int] = set()
        self._planning = False  # whether reasoning is written as the plan, or as thinking blocks
        self._planned = False

    def _event(self, kind: str, index: int | None, message: Json | None = None) -> bytes:
        event: Json = {"type": kind}
        if index is not None:
            event["index"] = index
        if message is not None:
            event["delta"] = {"message": message}
        return _line(event)

    def begin(self, start: StreamStart | None = None) -> bytes:
        """Open the message."""
        if self._started:
            return b""
        self._started = True
        message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        reply_id = (start.id if start else None) or "weft"
        return _line({"id": reply_id, "type": "message-start", "delta": {"message": message}})

    # -- content

    def text(self, piece: str) -> bytes:
        """Tell a piece of text."""
        return self._delta("text", piece)

    def thought(self, piece: str) -> bytes:
        """Tell a piece of thinking: as a block, or as the plan if the stream had one."""
        return self._tell_plan(piece) if self._planning else self._delta("thinking", piece)

    def learn(self, raw: Mapping[str, Any]) -> None:
        """See whether the reasoning that follows is the plan."""
        self._planning = raw.get("type") == "tool-plan-delta"

    def _delta(self, kind: str, piece: str) -> bytes:
        opened = b"" if self.opened == kind else self._open_block({"type": kind, kind: ""})
        return opened + self._event("content-delta", self._index, {"content": {kind: piece}})

    def _open_block(self, block: Json) -> bytes:
        written = self.begin() + self.leave_block()
        self._index += 1
        self.opened = str(block.get("type"))
        return written + self._event("content-start", self._index, {"content": block})

    def close_block(self) -> bytes:
        """Say that the open block is complete."""
        if not self.opened:
            return b""
        self.opened = ""
        return self._event("content-end", self._index)

    def end_part(self, part: Part) -> bytes:
        """Close the part's block; a plan has none."""
        if self._planned and "tool_plan" in (part.provider_raw or EMPTY):
            return b""
        return super().end_part(part)

    def rest(self, part: Part) -> bytes:  # noqa: ARG002 - citations follow all text
        """Tell nothing: a part is its text alone."""
        return b""

    def whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas: a plan as it is, a block that opens with all it has."""
        fields = self._fields(part)
        if "tool_plan" in fields:
            return self._tell_plan(fields["tool_plan"])
        content = fields.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        return b"".join(self._open_block(block) + self.close_block() for block in blocks)

    def _tell_plan(self, text: str) -> bytes:
        self._planned = True
        return self.begin() + self.leave_block() + self._event("tool-plan-delta", None, {"tool_plan": text})

    def _fields(self, part: Part) -> Json:
        return MessageWriter(Encoded(), self.blobs, FAITHFUL).assistant(0, Message("assistant", (part,)))

    # -- calls

    def open_call(self, start: ToolCallStart) -> bytes:
        """Open a call, with what its own dialect said of it."""
        raw = start.raw
        opening: Json = thaw(raw) if raw is not None and isinstance(raw.get("function"), Mapping) else {}
        inner = opening.get("function", {})
        given = {"arguments": ""} if not opening or isinstance(inner.get("arguments"), str) else {}
        opening |= {"id": start.id or "", "type": "function", "function": {**inner, "name": start.name, **given}}
        return self._start_call(start.index, opening)

    def _start_call(self, index: int, call: Json) -> bytes:
        self._calls.add(index)
        return self.begin() + self.leave_block() + self._event("tool-call-start", index, {"tool_calls": call})

    def arguments(self, call: int, piece: str) -> bytes:
        """Tell a piece of a call's arguments."""
        return self._event("tool-call-delta", call, {"tool_calls": {"function": {"arguments": piece}}})

    def end_call(self, call: int, part: Part) -> bytes:
        """Close a call; one that was not opened is told whole."""
        written = b""
        if call not in self._calls:
            for whole in self._fields(part).get("tool_calls", ()):
                written += self._start_call(call, whole)
        return written + self._event("tool-call-end", call)

    # -- the end

    def failed(self, error: str) -> bytes:
        """Tell an error as the message's end."""
        return self.begin() + self.leave_block() + _line({"type": "message-end", "delta": {"error": error}})

    def end(self, end: StreamEnd) -> bytes:
        """Tell the citations, then why it stopped and what it used."""
        written = self.begin() + self.leave_block()
        own = end.reply is not None and is_own_envelope(end.reply)
        raw = end.reply.raw if end.reply is not None and own else EMPTY
        citations = raw["message"].get("citations") if isinstance(raw.get("message"), Mapping) else None
        for number, citation in enumerate(citations if isinstance(citations, tuple) else ()):
            written += self._event("citation-start", number, {"citations": thaw(citation)})
            written += self._event("citation-end", number)
        stop = raw.get("finish_reason") or (STOP.get(end.finish_reason) if end.finish_reason else None)
        if stop is None:
            return written  # cut short: no stop is invented
        delta: Json = {"finish_reason": stop}
        if self.usage is not None:
            delta["usage"] = written_usage(self.usage)
        return written + _line({"type": "message-end", "delta": delta})


def _line(event: Json) -> bytes:
    return encode_sse(dumps(event), event=event["type"])
