"""One direction of an exchange on its way into the recording: decoded, cut at the limit, masked, in that order.

Bytes come in pieces and what comes out may be written at once: a secret that is cut in two by a piece's end is held
back until its other half is there.
"""

from __future__ import annotations

from weft.secrets import redact_text
from weft.trace.decoding import Decoding
from weft.trace.masking import Masker

__all__ = ["Strand"]

_LONGEST_LINE = 1 << 20  # what the finder of secrets waits for at most


class Strand:
    """Makes the bytes of one direction fit to be written."""

    __slots__ = ("_decoding", "_held", "_left", "_masker", "_redacts", "cut", "encoding", "size_bytes")

    def __init__(self, masker: Masker, encoding: str, limit_bytes: int, *, redacts: bool = False) -> None:
        """Begin. `redacts`: also take out what merely looks like a secret [K-03]."""
        self.encoding = encoding
        self.size_bytes = 0  # of what was kept
        self.cut = False
        self._decoding = Decoding(encoding, limit_bytes) if encoding else None
        self._masker = masker
        self._left = limit_bytes
        self._redacts = redacts
        self._held = b""

    @property
    def notes(self) -> list[str]:
        """Say what is not as it was on the wire."""
        notes = [self._decoding.note] if self._decoding is not None and self._decoding.note else []
        if self.cut:
            notes.append(f"only the first {self.size_bytes} bytes were recorded")
        return notes

    def feed(self, data: bytes, *, is_last: bool = False) -> bytes:
        """Give what may be written now."""
        if self._decoding is not None:
            data = self._decoding.feed(data)
        if len(data) > self._left:
            data = data[: self._left]
            self.cut = True
        self._left -= len(data)
        self.size_bytes += len(data)
        if self._held:
            data = self._held + data
            self._held = b""
        if self._redacts:
            data = self._redacted(data, is_last=is_last)
        if not self._masker:
            return data
        data = self._masker.mask(data)
        if not is_last and (held := self._masker.held_back(data)):
            self._held = data[-held:] + self._held
            return data[:-held]
        return data

    def _redacted(self, data: bytes, *, is_last: bool) -> bytes:
        """Take out what looks like a secret; such a look needs whole lines."""
        if not is_last:
            end = data.rfind(b"\n") + 1
            if not end and len(data) > _LONGEST_LINE:
                end = len(data)
            data, self._held = data[:end], data[end:]
        return redact_text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
