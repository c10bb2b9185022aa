"""Where a body ends: by its length, by its last chunk, or with the connection (RFC 9112, 6).

Bytes pass as they are; a reader only finds the end, and cuts out the payload for the recording. `feed` takes bytes from
a place on, and gives the place it got to; `payload` has what the bytes carried.
"""

from __future__ import annotations

import re
from typing import Protocol

from weft.proxy.head import BadMessage

__all__ = ["Body", "ChunkedBody", "EndlessBody", "LengthBody"]

_CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
_LONGEST_LINE = 1 << 14


class Body(Protocol):
    """Finds the end of a body."""

    is_done: bool

    def feed(self, data: bytes, at: int, payload: list[bytes]) -> int:
        """Read from `at`; give where reading stopped, which is short of the end only when the body is done."""
        ...


class LengthBody:
    """A body of a known length."""

    __slots__ = ("_left", "is_done")

    def __init__(self, length: int) -> None:
        """Begin."""
        self._left = length
        self.is_done = length == 0

    def feed(self, data: bytes, at: int, payload: list[bytes]) -> int:
        """Take as much as belongs to the body."""
        end = min(len(data), at + self._left)
        if end > at:
            payload.append(data if at == 0 and end == len(data) else data[at:end])
        self._left -= end - at
        self.is_done = self._left == 0
        return end


class EndlessBody:
    """A body that ends with the connection."""

    __slots__ = ("is_done",)

    def __init__(self) -> None:
        """Begin."""
        self.is_done = False

    def feed(self, data: bytes, at: int, payload: list[bytes]) -> int:
        """Take everything."""
        payload.append(data[at:] if at else data)
        return len(data)


class ChunkedBody:
    """A body in chunks, with extensions and trailers."""

    __slots__ = ("_left", "_line", "_status", "_step", "is_done")

    def __init__(self, status: int) -> None:
        """Begin. `status` is what a malformed chunk is answered with."""
        self._status = status
        self._left = 0
        self._line = b""
        self._step = 0  # 0 size line, 1 data, 2 line end after data, 3 trailers
        self.is_done = False

    def feed(self, data: bytes, at: int, payload: list[bytes]) -> int:
        """Follow the chunks."""
        size = len(data)
        while at < size and not self.is_done:
            if self._step == 1:
                end = min(at + self._left, size)
                payload.append(data[at:end])
                self._left -= end - at
                at = end
                if not self._left:
                    self._step = 2
                continue
            end = data.find(b"\n", at) + 1
            if not end:
                self._line += data[at:]
                if len(self._line) > _LONGEST_LINE:
                    raise BadMessage(self._status, "a line between chunks is too long")
                return size
            line = data[at:end]
            if self._line:
                line, self._line = self._line + line, b""
            at = end
            self._take_line(line)
        return at

    def _take_line(self, line: bytes) -> None:
        if self._step == 2:
            if line != b"\r\n":
                raise BadMessage(self._status, "a chunk is longer than it says")
            self._step = 0
        elif self._step == 0:
            found = _CHUNK_LINE.fullmatch(line)
            if found is None:
                raise BadMessage(self._status, "the size of a chunk is malformed")
            self._left = int(found[1], 16)
            self._step = 1 if self._left else 3
        elif line == b"\r\n":
            self.is_done = True
        elif not line.endswith(b"\r\n") or len(line) > _LONGEST_LINE:
            raise BadMessage(self._status, "a trailer is malformed")
