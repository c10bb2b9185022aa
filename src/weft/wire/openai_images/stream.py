"""Image streams: partial images while they are drawn, then each image whole, with the account.

Partial images are native events: they are stand-ins that the whole replaces, and no part of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Event, Part, PartEnd, Reply, StreamEnd, StreamError, Usage, UsageUpdate, thaw
from weft.jsontext import dumps
from weft.wire.body import blobs_or_new
from weft.wire.codec import Json
from weft.wire.openai_images.response import NAME, decode_image, decode_response, encode_image
from weft.wire.sse import encode_sse
from weft.wire.stream import AssemblingDecoder

__all__ = ["StreamDecoder", "StreamEncoder"]

# What an event says of the whole response, by the event's name for it and the response's.
SHARED = {
    "created_at": "created",
    "background": "background",
    "output_format": "output_format",
    "quality": "quality",
    "size": "size",
    "usage": "usage",
}
IMAGE = ("b64_json", "url", "revised_prompt")


class StreamDecoder(AssemblingDecoder):
    """Reads image_generation.partial_image and .completed."""

    __slots__ = ("_data", "_response")
    dialect = NAME

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin with no image."""
        super().__init__(blobs, provider=provider)
        self._response: Json = {}
        self._data: list[Json] = []

    def take(self, event: Json) -> None:
        """Follow one event."""
        kind = event.get("type")
        if kind in ("image_generation.completed", "image_edit.completed"):
            self.say.start()
            self.say.role("assistant")
            self._response |= {ours: event[key] for key, ours in SHARED.items() if event.get(key) is not None}
            known = {"type", "sequence_number", *SHARED, *IMAGE}
            self._response |= {key: value for key, value in event.items() if key not in known and value is not None}
            self._data.append({key: event[key] for key in IMAGE if key in event})
            self.complete = True
            self.end_part(decode_image(self._data[-1], event.get("output_format"), self.blobs))
        elif kind == "error" or (kind is None and "error" in event):
            error = event.get("error") or event
            message = error.get("message") if isinstance(error, Mapping) else error
            self.fail(str(message or error))
            self.say.native(event)
        else:
            self.say.start()
            self.say.native(event)

    def assembled(self) -> Json:
        """Put the images into one response."""
        return {**self._response, "data": self._data}

    def decode(self, body: Json) -> Reply:
        """Read the assembled response; before the first image there is nothing to have ended."""
        reply = decode_response(body, self.blobs, provider=self.provider)
        return reply if self.complete else replace(reply, finish_reason=None)


class StreamEncoder:
    """Writes each image as image_generation.completed, once the account that goes with it is known."""

    __slots__ = ("_blobs", "_images", "_usage")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing to write."""
        self._blobs = blobs_or_new(blobs)
        self._images: list[Part] = []
        self._usage: Usage | None = None

    def feed(self, event: Event) -> bytes:
        """Take one event; images are written at the end."""
        match event:
            case PartEnd(part=part):
                self._images.append(part)
            case UsageUpdate(usage=usage):
                self._usage = usage
            case StreamError(error=error):
                return self._event({"type": "error", "error": {"message": error, "type": "server_error"}})
            case StreamEnd():
                return self._end(event)
            case _:
                pass
        return b""

    def close(self) -> bytes:
        """End; everything was written with the end of the stream."""
        return b""

    def _event(self, event: Json) -> bytes:
        return encode_sse(dumps(event), event=str(event["type"]))

    def _end(self, end: StreamEnd) -> bytes:
        raw: Mapping[str, Any] = end.reply.raw if end.reply is not None else {}
        shared = {key: thaw(raw[ours]) for key, ours in SHARED.items() if ours in raw}
        if "usage" not in shared:
            shared["usage"] = _counts(self._usage or Usage())
        shared.setdefault("created_at", 0)
        written = b""
        for part in self._images:
            entry = encode_image(part, self._blobs)
            if not isinstance(entry, str):
                written += self._event({"type": "image_generation.completed", **entry, **shared})
        return written


def _counts(usage: Usage) -> Json:
    names = ("input_tokens", "output_tokens", "total_tokens")
    return {name: getattr(usage, name) or 0 for name in names}
