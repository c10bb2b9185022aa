"""Ollama streams: lines of JSON, each a little of the message; the last one is `done` and counts.

Calls come whole, each in one line. An error is a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, Reply, StreamEnd, StreamStart, thaw
from weft.jsontext import dumps, dumps_text
from weft.wire.codec import FAITHFUL, Encoded, Json
from weft.wire.ndjson import encode_ndjson
from weft.wire.ollama.message import NAME, MessageWriter
from weft.wire.ollama.response import BEGINNING, STOP, decode_response, is_own_envelope, written_usage
from weft.wire.stream import AssemblingDecoder
from weft.wire.streamwriter import TellingEncoder

__all__ = ["StreamDecoder", "StreamEncoder"]

PIECED = ("content", "thinking")
LISTED = ("tool_calls", "images")


class StreamDecoder(AssemblingDecoder):
    """Reads lines until one is done."""

    __slots__ = ("_calls", "_envelope", "_lists", "_message", "_pieces")
    dialect = NAME

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin before the first line."""
        super().__init__(blobs, provider=provider)
        self._envelope: Json = {}
        self._message: Json = {}
        self._pieces: dict[str, list[str]] = {}
        self._lists: dict[str, list[Any]] = {}
        self._calls = 0

    def growing(self) -> Iterable[list[str]]:
        """Give every field that comes in pieces."""
        return self._pieces.values()

    def take(self, event: Json) -> None:
        """Follow one line."""
        message = event.get("message")
        if message is None:
            if event.get("error") is not None:
                self.fail(str(event["error"]))
                self._envelope["error"] = event["error"]
            self.say.native(event)
            return
        self._envelope.update(event)
        if not self.say.started:
            self.say.start(None, event.get("model"), {key: event[key] for key in event if key != "message"})
        for key, value in message.items():
            if value is None:
                continue
            if key in PIECED:
                if not isinstance(value, str):
                    raise TypeError(f"{key} must be a string, not {type(value).__name__}")
                self._pieces.setdefault(key, []).append(value)
            elif key in LISTED:
                self._lists.setdefault(key, []).extend(value)
            else:
                self._message[key] = value
        self._tell(message)
        if event.get("done") is True:
            self.complete = True

    def _tell(self, message: Json) -> None:
        say = self.say
        role = message.get("role")
        say.role(role if isinstance(role, str) else "")
        say.content(message.get("content") or "")
        say.reasoning(message.get("thinking") or "")
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            say.call(self._calls, function.get("name"), call.get("id"), call)
            arguments = function.get("arguments")
            say.arguments(self._calls, arguments if isinstance(arguments, str) else dumps_text(arguments or {}))
            self._calls += 1

    def assembled(self) -> Json:
        """Put the pieces into one message, in the envelope of the last line."""
        if not self._envelope:
            return {}
        message = {**self._message, **{key: "".join(pieces) for key, pieces in self._pieces.items()}, **self._lists}
        return {**self._envelope, "message": message} if "message" in self._envelope else self._envelope

    def decode(self, body: Json) -> Reply:
        """Read the assembled response."""
        return decode_response(body, self.blobs, provider=self.provider)


class StreamEncoder(TellingEncoder):
    """Writes events as lines. A call is written when it is whole, as Ollama does."""

    __slots__ = ("_envelope", "_said")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        super().__init__(blobs)
        self._envelope: Json = {"model": "", "created_at": BEGINNING}
        self._said: set[str] = set()  # part types whose deltas have been told and whose end is still to come

    def begin(self, start: StreamStart | None = None) -> bytes:
        """Keep what every line repeats; a stream has no opening mark."""
        if start is not None:
            if start.raw is not None and isinstance(start.raw.get("created_at"), str):
                self._envelope["created_at"] = start.raw["created_at"]
            self._envelope["model"] = start.model or ""
        return b""

    def text(self, piece: str) -> bytes:
        """Tell a piece of text."""
        self._said.add("text")
        return self._line({"content": piece})

    def refusal(self, piece: str) -> bytes:
        """Tell a piece of a refusal, as text."""
        self._said.add("refusal")
        return self._line({"content": piece})

    def thought(self, piece: str) -> bytes:
        """Tell a piece of thinking."""
        self._said.add("thinking")
        return self._line({"thinking": piece})

    def end_call(self, call: int, part: Part) -> bytes:  # noqa: ARG002 - calls have no number here
        """Tell a call, whole."""
        return self.whole(part)

    def end_part(self, part: Part) -> bytes:
        """Tell a part of which nothing was told."""
        if part.type in self._said:
            self._said.discard(part.type)
            return b""
        return self.whole(part)

    def _line(self, message: Json) -> bytes:
        line = {**self._envelope, "message": {"role": "assistant", **message}, "done": False}
        return encode_ndjson(dumps(line))

    def whole(self, part: Part) -> bytes:
        """Tell a part in one line."""
        writer = MessageWriter(Encoded(), self.blobs, FAITHFUL)
        fields = writer.fields(0, Message("assistant", (part,)))
        return self._line(fields) if fields else b""

    def failed(self, error: str) -> bytes:
        """Tell an error as a line of its own."""
        return encode_ndjson(dumps({"error": error}))

    def end(self, end: StreamEnd) -> bytes:
        """Write the line that is done, with the account."""
        reply = end.reply
        raw = thaw(reply.raw) if reply is not None and reply.messages and is_own_envelope(reply) else EMPTY
        if end.finish_reason is None and not (raw and raw.get("done")):
            return b""  # cut short: no stop is invented
        last: Json = {**self._envelope, **{key: value for key, value in raw.items() if key != "message"}}
        last |= {"message": {"role": "assistant"}, "done": True}
        if not raw:
            last["done_reason"] = STOP.get(end.finish_reason or "", "stop")
        return encode_ndjson(dumps(last | (written_usage(self.usage) if self.usage is not None else {})))
