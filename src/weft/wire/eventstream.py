"""AWS event-stream frames (`application/vnd.amazon.eventstream`, Bedrock's streams): bytes to frames and back.

https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html gives the layout: a prelude of total
length, headers length and their CRC-32; headers; payload; the CRC-32 of all before it. Both sums are checked.
There is no mark to find the next frame by, so after a bad sum or length the stream cannot be read further: that is
a `WireError` saying at which byte. What the payloads mean is left to the Bedrock dialect.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID
from zlib import crc32

from weft.errors import UsageError, WireError
from weft.wire.frame import LateFailure

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Byte", "EventStreamParser", "Frame", "HeaderValue", "Long", "Short", "Timestamp", "encode_frame"]


class Byte(int):
    """A header value of 8 bits: an int that is written back as it was read."""

    __slots__ = ()


class Short(int):
    """A header value of 16 bits."""

    __slots__ = ()


class Long(int):
    """A header value of 64 bits; a plain int is one of 32 if it fits."""

    __slots__ = ()


class Timestamp(int):
    """A header value that is a time, in milliseconds since 1970."""

    __slots__ = ()


HeaderValue: TypeAlias = bool | int | bytes | str | UUID

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_LENGTH = struct.Struct(">H")
_FRAME_OVERHEAD = _PRELUDE.size + _CRC.size

# The limits AWS gives, and botocore keeps: https://github.com/boto/botocore/blob/develop/botocore/eventstream.py
_MAX_HEADERS_BYTES = 128 * 1024
_MAX_FRAME_BYTES = _FRAME_OVERHEAD + _MAX_HEADERS_BYTES + 24 * 1024 * 1024

# The value types by number; those of fixed size have a layout and a class, the rest are read by hand.
_TRUE, _FALSE, _BYTES, _STRING, _UUID = 0, 1, 6, 7, 9
_NUMBERS: dict[int, tuple[struct.Struct, type[int]]] = {
    2: (struct.Struct(">b"), Byte),
    3: (struct.Struct(">h"), Short),
    4: (struct.Struct(">i"), int),
    5: (struct.Struct(">q"), Long),
    8: (struct.Struct(">q"), Timestamp),
}
_NUMBER_OF = {cls: (number, layout) for number, (layout, cls) in _NUMBERS.items()}

# Which header names the event, by the kind of message.
_NAMED_BY = {"event": ":event-type", "exception": ":exception-type", "error": ":error-code"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of the stream."""

    headers: Mapping[str, HeaderValue] = field(default_factory=dict)
    payload: bytes = b""
    truncated: bool = False
    """The stream ended inside this frame; the payload is all that had arrived of it, prelude and headers too."""

    @property
    def event(self) -> str:
        """The type of the event, exception or error, as its header has it."""
        return str(self.headers.get(_NAMED_BY.get(str(self.headers.get(":message-type")), ":event-type"), ""))

    @property
    def data(self) -> bytes:
        """The payload, under the name every framing gives it."""
        return self.payload

    @property
    def oversize(self) -> bool:
        """A frame over the bound is an error here, since its prelude says its length before it comes."""
        return False


class EventStreamParser(LateFailure):
    """Reads frames piece by piece; however they are cut, the same frames come out."""

    __slots__ = ("_held", "_max", "_need", "_offset")

    def __init__(self, max_frame_bytes: int = _MAX_FRAME_BYTES) -> None:
        """Read frames of up to `max_frame_bytes`; a longer one is a `WireError`."""
        super().__init__()
        self._max = max_frame_bytes
        self._held = bytearray()
        self._need = _PRELUDE.size  # no use in looking before so many bytes are held
        self._offset = 0  # of the first held byte in the stream

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes; give the frames they complete."""
        self._check()
        self._held += chunk
        frames: list[Frame] = []
        at = 0
        try:
            while len(self._held) - at >= self._need:
                at = self._step(at, frames)
        except WireError as error:
            self._failure = error
        del self._held[:at]  # once for all frames of the chunk; a bytearray drops its front without moving the rest
        self._offset += at
        return self._settle(frames)

    def close(self) -> list[Frame]:
        """End the stream; give the frame it broke off in, if any, with all its bytes as payload."""
        self._check_untold()
        rest, self._held = bytes(self._held), bytearray()
        return [Frame({}, rest, truncated=True)] if rest and self._failure is None else []

    def _step(self, at: int, frames: list[Frame]) -> int:
        """Read the prelude at `at`, or, if that is done and the frame is all there, the frame; give where to go on."""
        total: int
        headers_bytes: int
        sum_: int
        total, headers_bytes, sum_ = _PRELUDE.unpack_from(self._held, at)
        if self._need == _PRELUDE.size:
            self._check_prelude(at, total, headers_bytes, sum_)
            self._need = total
            return at
        message = bytes(self._held[at : at + total])
        where = self._offset + at
        if crc32(message[: -_CRC.size]) != _CRC.unpack_from(message, total - _CRC.size)[0]:
            raise WireError("the checksum of the event-stream message is wrong", where=f"byte {where}")
        payload_at = _PRELUDE.size + headers_bytes
        headers = _read_headers(message[_PRELUDE.size : payload_at], where + _PRELUDE.size)
        frames.append(Frame(headers, message[payload_at : -_CRC.size]))
        self._need = _PRELUDE.size
        return at + total

    def _check_prelude(self, at: int, total: int, headers_bytes: int, sum_: int) -> None:
        where = f"byte {self._offset + at}"
        if crc32(self._held[at : at + _PRELUDE.size - _CRC.size]) != sum_:
            raise WireError("the checksum of the event-stream prelude is wrong", where=where)
        if total < _FRAME_OVERHEAD + headers_bytes:
            raise WireError(f"an event-stream message of {total} bytes cannot hold its headers", where=where)
        if headers_bytes > _MAX_HEADERS_BYTES or total > self._max:
            raise WireError(f"an event-stream message of {total} bytes is too long", where=where)


def _read_headers(raw: bytes, offset: int) -> dict[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    at = 0
    while at < len(raw):
        begin = at
        try:
            name_bytes, at = _take(raw, at + 1, raw[at])
            kind, at = _take(raw, at, 1)
            value, at = _read_value(raw, at, kind[0])
            name = name_bytes.decode("utf-8")
        except (EOFError, UnicodeDecodeError, struct.error, KeyError) as error:
            raise WireError("an event-stream header cannot be read", where=f"byte {offset + begin}") from error
        if name in headers:
            raise WireError(f"the event-stream header {name!r} comes twice", where=f"byte {offset + begin}")
        headers[name] = value
    return headers


def _read_value(raw: bytes, at: int, kind: int) -> tuple[HeaderValue, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _UUID:
        value, at = _take(raw, at, 16)
        return UUID(bytes=value), at
    if kind in (_BYTES, _STRING):
        value, at = _take(raw, at + _LENGTH.size, _LENGTH.unpack_from(raw, at)[0])
        return (value if kind == _BYTES else value.decode("utf-8")), at
    layout, cls = _NUMBERS[kind]
    return cls(layout.unpack_from(raw, at)[0]), at + layout.size


def _take(raw: bytes, at: int, size_bytes: int) -> tuple[bytes, int]:
    end = at + size_bytes
    if end > len(raw):
        raise EOFError
    return raw[at:end], end


def encode_frame(frame: Frame) -> bytes:
    """Write one frame, with its sums."""
    headers = b"".join(_write_header(name, value) for name, value in frame.headers.items())
    if len(headers) > _MAX_HEADERS_BYTES:
        raise UsageError(f"event-stream headers of {len(headers)} bytes: at most {_MAX_HEADERS_BYTES} are allowed")
    lengths = struct.pack(">II", _FRAME_OVERHEAD + len(headers) + len(frame.payload), len(headers))
    message = lengths + _CRC.pack(crc32(lengths)) + headers + frame.payload
    return message + _CRC.pack(crc32(message))


def _write_header(name: str, value: HeaderValue) -> bytes:
    name_bytes = name.encode("utf-8")
    try:
        return bytes((len(name_bytes),)) + name_bytes + _write_value(value)
    except (struct.error, ValueError) as error:
        raise UsageError(f"the event-stream header {name[:80]!r} does not fit its type") from error


def _write_value(value: HeaderValue) -> bytes:
    match value:
        case bool():
            return bytes((_TRUE if value else _FALSE,))
        case UUID():
            return bytes((_UUID,)) + value.bytes
        case bytes():
            return bytes((_BYTES,)) + _LENGTH.pack(len(value)) + value
        case str():
            text = value.encode("utf-8")
            return bytes((_STRING,)) + _LENGTH.pack(len(text)) + text
        case int():
            fits = type(value) is not int or -(2**31) <= value < 2**31
            number, layout = _NUMBER_OF[type(value) if fits else Long]
            return bytes((number,)) + layout.pack(value)
