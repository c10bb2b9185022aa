"""Messages out of a stream of bytes, one a line: small ones in memory, great ones by way of a file [M-06, M-08].

A line beyond `message_bytes` is written to a temporary file, and there its long texts are taken out and kept, so that
what remains is a message again, with a token in the place of each text. Memory stays flat whatever a server prints.
"""

from __future__ import annotations

import codecs
import json
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

__all__ = ["Cut", "LineCutter", "Spilled", "TooLongError", "shrink"]

CHUNK = 1 << 20
_HALF_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")


class TooLongError(Exception):
    """A line is longer than even a file may hold."""


@dataclass(slots=True)
class Spilled:
    """A line that went to a file."""

    file: IO[bytes]
    size: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that was taken out of a message: how long it was, and what is said of where it is now."""

    token: str
    size: int
    kept: str


class LineCutter:
    """Cuts what arrives into lines."""

    def __init__(self, message_bytes: int, spill_bytes: int) -> None:
        """Hold up to `message_bytes` of a line in memory and up to `spill_bytes` on disk."""
        self._limit = message_bytes
        self._spill_limit = spill_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes | Spilled]:
        """Take bytes and give the lines they complete."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._add(chunk[start:end])
            yield self._take()
            start = end + 1
        if start < len(chunk):
            self._add(chunk[start:])

    def close(self) -> None:
        """Forget an unfinished line."""
        if self._file is not None:
            self._file.close()
        self._file, self._parts, self._size = None, [], 0

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._spill_limit:
            self.close()
            raise TooLongError(f"a message of more than {self._spill_limit} bytes")
        if self._file is None and self._size > self._limit:
            self._file = tempfile.TemporaryFile(prefix="weft-tool-")  # noqa: SIM115 - closed by whoever takes it
            self._file.writelines(self._parts)
            self._parts = []
        if self._file is not None:
            self._file.write(piece)
        else:
            self._parts.append(piece)

    def _take(self) -> bytes | Spilled:
        file, size, parts = self._file, self._size, self._parts
        self._file, self._size, self._parts = None, 0, []
        if file is None:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        file.seek(0)
        return Spilled(file, size)


def shrink(
    source: IO[bytes], *, head_chars: int, message_bytes: int, keep: Callable[[IO[bytes]], str]
) -> tuple[bytes, tuple[Cut, ...]]:
    """Rewrite a JSON value with its long texts cut to their beginnings; each whole text goes to `keep`, as UTF-8."""
    out = bytearray()
    cuts: list[Cut] = []
    longest = max(head_chars * 4, 4096)
    text: _Text | None = None
    carry = b""
    try:
        while chunk := source.read(CHUNK):
            buffer = carry + chunk
            carry = b"\\" if _ends_open(buffer) else b""
            buffer = buffer.removesuffix(carry)
            quotes = _plain_quotes(buffer)
            at = 0
            while at < len(buffer):
                end = quotes.find(b'"', at)
                stop = len(buffer) if end < 0 else end
                if text is None:
                    out += buffer[at : stop + 1]
                    text = _Text(longest) if end >= 0 else None
                else:
                    text.add(buffer[at:stop])
                    if end >= 0:
                        out += text.close(head_chars, keep, cuts) + b'"'
                        text = None
                at = stop + 1
                if len(out) > message_bytes:
                    raise TooLongError(f"a message of more than {message_bytes} bytes, its long texts aside")
    finally:
        if text is not None:
            text.discard()
    return bytes(out), tuple(cuts)


def _plain_quotes(buffer: bytes) -> bytes:
    """Blank escaped backslashes and quotes, so that every quote left begins or ends a text; lengths stay."""
    return buffer.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")


def _ends_open(buffer: bytes) -> bool:
    """Tell whether the last byte is a backslash whose other half is still to come."""
    return (len(buffer) - len(buffer.rstrip(b"\\"))) % 2 == 1


class _Text:
    """One JSON text as it goes by, still escaped: in memory while it is short, in a file from then on."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._raw = bytearray()
        self._file: IO[bytes] | None = None
        self._decode = _unescaper()
        self._head = ""

    def add(self, piece: bytes) -> None:
        self._raw += piece
        if self._file is None and len(self._raw) <= self._longest:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="weft-tool-")  # noqa: SIM115 - closed in close()
        self._flush(final=False)

    def close(self, head_chars: int, keep: Callable[[IO[bytes]], str], cuts: list[Cut]) -> bytes:
        """Give what stands in the message instead: the text itself, or its beginning and a token."""
        if self._file is None:
            return bytes(self._raw)
        with self._file:
            self._flush(final=True)
            size = self._file.tell()
            self._file.seek(0)
            # Nobody else can write this token, so nobody else can pretend that something was cut.
            cut = Cut(f"[weft-cut-{secrets.token_hex(16)}]", size, keep(self._file))
        cuts.append(cut)
        return json.dumps(self._head[:head_chars] + cut.token)[1:-1].encode("ascii")

    def discard(self) -> None:
        """Forget a text whose end never came."""
        if self._file is not None:
            self._file.close()

    def _flush(self, *, final: bool) -> None:
        text, rest = self._decode(bytes(self._raw), final)
        self._raw = bytearray(rest)
        if len(self._head) < self._longest:
            self._head += text[: self._longest]
        if self._file is not None:
            self._file.write(text.encode("utf-8", "replace"))


def _unescaper() -> Callable[[bytes, bool], tuple[str, bytes]]:
    """Make a function that unescapes JSON text piece by piece, giving back the bytes it must wait with."""
    utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    def decode(raw: bytes, final: bool) -> tuple[str, bytes]:
        end = len(raw)
        if not final:
            escapes = raw.replace(b"\\\\", b"  ")
            last = escapes.rfind(b"\\", max(0, end - 5))
            if last >= 0 and (raw[last + 1 : last + 2] or b"u") == b"u":  # not all of it is here
                end = last
            if escapes[max(0, end - 6) : end - 5] == b"\\" and _HALF_PAIR.fullmatch(raw, end - 6, end):
                end -= 6  # its other half makes it a character
        text = utf8.decode(raw[:end], final)
        try:
            return json.loads(f'"{text}"', strict=False), raw[end:]
        except ValueError:  # an escape that JSON does not know: better shown than lost
            return text, raw[end:]

    return decode
