"""Writing generateContent streams: every event as a chunk, and at the end one with the reason and the account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Part, Reply, StreamEnd, StreamStart, ToolCallStart, thaw
from weft.errors import WireError
from weft.jsontext import dumps
from weft.wire.codec import FAITHFUL, Json
from weft.wire.gemini.part import encode_part, is_own_part
from weft.wire.gemini.response import STOP, is_own_envelope, usage_metadata
from weft.wire.gemini.spelling import find, get
from weft.wire.gemini.way import way_of
from weft.wire.sse import encode_sse
from weft.wire.streamwriter import BlockEncoder

__all__ = ["StreamEncoder"]

_FAITHFUL = way_of(FAITHFUL)


def _chunk(body: Json) -> bytes:
    try:
        return encode_sse(dumps(body))
    except ValueError as problem:
        raise WireError(str(problem), where="candidates") from problem


class StreamEncoder(BlockEncoder):
    """Writes events as chunks, each as it comes, and at the end one with the reason and the account."""

    __slots__ = ("_head", "_written_calls")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        super().__init__(blobs)
        self._head: Json = {}  # what every chunk repeats
        self._written_calls: set[int] = set()

    def begin(self, start: StreamStart | None = None) -> bytes:
        """Keep what every chunk repeats; a stream has no opening mark."""
        if start is not None:
            self._head = {"modelVersion": start.model} if start.model else {}
            if start.id:
                self._head["responseId"] = start.id
        return b""

    def _parts(self, *parts: Json) -> bytes:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
        return _chunk({"candidates": [candidate], **self._head})

    def text(self, piece: str) -> bytes:
        """Tell a piece of text."""
        return self._delta("text", {"text": piece})

    def thought(self, piece: str) -> bytes:
        """Tell a piece of thinking; its signature comes when it ends."""
        return self._delta("thinking", {"text": piece, "thought": True})

    def _delta(self, kind: str, part: Json) -> bytes:
        if self.opened != kind:
            self.leave_block()
            self.opened = kind
        return self._parts(part)

    def close_block(self) -> bytes:
        """End the text that is being told; on the wire nothing marks it."""
        self.opened = ""
        return b""

    def open_call(self, start: ToolCallStart) -> bytes:
        """Tell a call of this dialect, which comes whole; another dialect's is told when it ends."""
        if start.raw is None or not isinstance(get(start.raw, "functionCall"), Mapping):
            return b""
        self._written_calls.add(start.index)
        self.leave_block()
        return self._parts(thaw(start.raw))

    def end_call(self, call: int, part: Part) -> bytes:
        """Tell a call that was not told when it began."""
        return b"" if call in self._written_calls else self.whole(part)

    def rest(self, part: Part) -> bytes:
        """Tell what a part has beside its text: a signature."""
        raw = part.provider_raw
        if raw is None or not is_own_part(part, None):
            return b""
        if not any(key not in ("text", "thought") for key in raw):
            return b""
        return self._parts({**thaw(raw), "text": ""})

    def whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas."""
        block = encode_part(part, "assistant", None, self.blobs, _FAITHFUL)
        if not isinstance(block, dict):
            return b""
        self.leave_block()
        return self._parts(block)

    def failed(self, error: str) -> bytes:
        """Tell an error as a chunk of its own."""
        return _chunk({"error": {"code": 500, "message": error, "status": "INTERNAL"}})

    def end(self, end: StreamEnd) -> bytes:
        """Tell the reason and the account in a last chunk."""
        raw = end.reply.raw if end.reply is not None and is_own_envelope(end.reply.raw) else EMPTY
        body: Json = {**self._head, **thaw(raw)}
        body.pop("error", None)  # told already
        key = find(body, "candidates")
        if key is not None:
            body[key] = self._last_candidates(body[key], end.reply)
        elif finish := STOP.get(end.finish_reason or "") if not raw else None:
            body["candidates"] = [{"content": {"role": "model"}, "finishReason": finish, "index": 0}]
        if self.usage is not None and find(body, "usageMetadata") is None:
            body["usageMetadata"] = usage_metadata(self.usage)
        return _chunk(body) if body.keys() - self._head.keys() else b""

    def _last_candidates(self, candidates: Any, reply: Reply | None) -> list[Json]:
        """Write what the candidates say beside their parts; and the parts of all but the first, never told before."""
        messages = iter(reply.messages if reply is not None else ())
        written: list[Json] = []
        for c, candidate in enumerate(candidates):
            content = candidate.get("content") or {}
            if content.get("parts", ()) is None:
                message = next(messages, None)
                del content["parts"]
                if c and message is not None:
                    blocks = [encode_part(part, "assistant", None, self.blobs, _FAITHFUL) for part in message.parts]
                    content["parts"] = [block for block in blocks if isinstance(block, dict)]
            written.append({"index": c, **candidate})
        return written
