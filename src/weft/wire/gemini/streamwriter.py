"""Writing generateContent streams: every event as a chunk, and at the end one with the reason and the account."""

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
    Reply,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
    thaw,
)
from weft.errors import WireError
from weft.jsontext import dumps
from weft.wire.body import blobs_or_new
from weft.wire.codec import FAITHFUL, Json
from weft.wire.gemini.part import encode_part, is_own_part
from weft.wire.gemini.response import STOP, is_own_envelope, usage_metadata
from weft.wire.gemini.spelling import find, get
from weft.wire.gemini.way import way_of
from weft.wire.sse import encode_sse

__all__ = ["StreamEncoder"]

_FAITHFUL = way_of(FAITHFUL)


def _chunk(body: Json) -> bytes:
    try:
        return encode_sse(dumps(body))
    except ValueError as problem:
        raise WireError(str(problem), where="candidates") from problem


class StreamEncoder:
    """Writes events as chunks, each as it comes, and at the end one with the reason and the account."""

    __slots__ = ("_blobs", "_head", "_open", "_said", "_usage", "_written_calls")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        self._blobs = blobs_or_new(blobs)
        self._head: Json = {}  # what every chunk repeats
        self._open = ""  # the type of the text part that is being written
        self._said: list[str] = []  # types of text parts ended by the next one, whose part.end is still to come
        self._written_calls: set[int] = set()
        self._usage: Usage | None = None

    def feed(self, event: Event) -> bytes:
        """Write one event."""
        match event:
            case ContentDelta(delta=str(text)) | RefusalDelta(delta=text):
                return self._delta("text", {"text": text})
            case ContentDelta(delta=parts):
                return b"".join(self._whole(part) for part in parts if isinstance(part, Part))
            case ReasoningDelta(delta=text):
                return self._delta("thinking", {"text": text, "thought": True})
            case ToolCallStart(index=index, raw=raw):
                # Our own calls come whole; another dialect's are written when they are.
                if raw is None or not isinstance(get(raw, "functionCall"), Mapping):
                    return b""
                self._written_calls.add(index)
                self._close()
                return self._parts(thaw(raw))
            case ToolCallEnd(index=index, tool_call=part):
                return b"" if index in self._written_calls else self._whole(part)
            case PartEnd(part=part):
                return self._end_part(part)
            case StreamStart(id=reply_id, model=model):
                self._head = {"modelVersion": model} if model else {}
                if reply_id:
                    self._head["responseId"] = reply_id
            case UsageUpdate(usage=usage):
                self._usage = usage
            case StreamError(error=error):
                return _chunk({"error": {"code": 500, "message": error, "status": "INTERNAL"}})
            case StreamEnd():
                return self._end(event)
            case _:
                pass
        return b""

    def close(self) -> bytes:
        """End; a stream has no closing mark."""
        return b""

    def _parts(self, *parts: Json) -> bytes:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
        return _chunk({"candidates": [candidate], **self._head})

    def _delta(self, kind: str, part: Json) -> bytes:
        if self._open != kind:
            self._close()
            self._open = kind
        return self._parts(part)

    def _close(self) -> None:
        if self._open:
            self._said.append(self._open)
            self._open = ""

    def _end_part(self, part: Part) -> bytes:
        kind = "text" if part.type == "refusal" else part.type
        if kind == self._open:
            self._open = ""
            return self._rest(part)
        if kind in self._said:  # its deltas have been told, and something else has come since
            self._said.remove(kind)
            return b""
        return self._whole(part)

    def _rest(self, part: Part) -> bytes:
        """Tell what a part has beside its text: a signature."""
        raw = part.provider_raw
        if raw is None or not is_own_part(part, None):
            return b""
        if not any(key not in ("text", "thought") for key in raw):
            return b""
        return self._parts({**thaw(raw), "text": ""})

    def _whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas."""
        block = encode_part(part, "assistant", None, self._blobs, _FAITHFUL)
        if not isinstance(block, dict):
            return b""
        self._close()
        return self._parts(block)

    def _end(self, end: StreamEnd) -> bytes:
        raw = end.reply.raw if end.reply is not None and is_own_envelope(end.reply.raw) else EMPTY
        body: Json = {**self._head, **thaw(raw)}
        body.pop("error", None)  # told already
        key = find(body, "candidates")
        if key is not None:
            body[key] = self._last_candidates(body[key], end.reply)
        elif finish := STOP.get(end.finish_reason or "") if not raw else None:
            body["candidates"] = [{"content": {"role": "model"}, "finishReason": finish, "index": 0}]
        if self._usage is not None and find(body, "usageMetadata") is None:
            body["usageMetadata"] = usage_metadata(self._usage)
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
                    blocks = [encode_part(part, "assistant", None, self._blobs, _FAITHFUL) for part in message.parts]
                    content["parts"] = [block for block in blocks if isinstance(block, dict)]
            written.append({"index": c, **candidate})
        return written
