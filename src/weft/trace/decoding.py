"""Content codings undone for the recording: gzip, deflate, br, zstd, never beyond a limit [X-15, X-16].

What crosses the wire is not touched; this makes the readable copy. A coding that is unknown, or whose library is not
installed, leaves the bytes as they are and says so; so does one that is broken, with what could be read.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from weft.errors import UsageError

__all__ = ["ZSTD", "Decoding", "is_packed", "zstd_module"]

ZSTD = b"\x28\xb5\x2f\xfd"  # how a file in zstd begins

_PIECE = 1 << 20  # a bomb is met in pieces of this size


class _Step(Protocol):
    def feed(self, data: bytes, limit: int) -> bytes:
        """Give what the data decodes to, at most about `limit` bytes of it; keep the rest for the next call."""
        ...

    @property
    def has_more(self) -> bool:
        """Tell whether something is left that the limit held back."""
        ...


def zstd_module() -> Any:
    """Give the zstd of the standard library (3.14), or its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise UsageError("this Python has no zstd\n  install it: pip install 'weft[proxy]'")


def is_packed(path: Path) -> bool:
    """Tell whether a file is in zstd, or will be: by its name, or by what it begins with."""
    if path.name.endswith(".zst"):
        return True
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(ZSTD)) == ZSTD
    return False


class _Zlib:
    """gzip and deflate; deflate comes with and without its wrapper, and gzip may come in members."""

    def __init__(self, coding: str) -> None:
        self._bits = 47 if coding == "gzip" else 15
        self._object = zlib.decompressobj(self._bits)
        self._is_unsure = coding == "deflate"
        self._rest = b""

    @property
    def has_more(self) -> bool:
        return bool(self._rest) and not self._is_unsure

    def feed(self, data: bytes, limit: int) -> bytes:
        data = self._rest + data
        if self._is_unsure:
            if len(data) < 2:
                self._rest = data
                return b""
            if data[0] & 0x0F != 8 or (data[0] << 8 | data[1]) % 31:  # RFC 1950, 2.2
                self._object = zlib.decompressobj(-15)
            self._is_unsure = False
        out = self._object.decompress(data, limit)
        self._rest = self._object.unconsumed_tail
        if self._object.eof and self._object.unused_data and self._bits == 47:
            self._rest = self._object.unused_data
            self._object = zlib.decompressobj(self._bits)
        return out


class _Brotli:
    def __init__(self) -> None:
        self._object = import_module("brotli").Decompressor()
        self.has_more = False

    def feed(self, data: bytes, limit: int) -> bytes:
        out: bytes = self._object.process(data, output_buffer_limit=limit)
        self.has_more = not self._object.can_accept_more_data()
        return out


class _Zstd:
    def __init__(self) -> None:
        self._make = zstd_module().ZstdDecompressor
        self._object = self._make()
        self._rest = b""

    @property
    def has_more(self) -> bool:
        return bool(self._rest) or not (self._object.needs_input or self._object.eof)

    def feed(self, data: bytes, limit: int) -> bytes:
        data, self._rest = self._rest + data, b""
        if self._object.eof:
            if not data:
                return b""
            self._object = self._make()
        out: bytes = self._object.decompress(data, limit)
        if self._object.eof:
            self._rest = self._object.unused_data
        return out


class Decoding:
    """Undoes the codings of one body as it comes."""

    __slots__ = ("_left", "_raw", "_steps", "note")

    def __init__(self, codings: str, limit_bytes: int) -> None:
        """Read a content-encoding header; `limit_bytes` is all that will be given."""
        self.note = ""
        self._left = limit_bytes
        self._steps: list[_Step] = []
        names = [name for part in codings.lower().split(",") if (name := part.strip()) not in ("", "identity")]
        for name in reversed(names):
            try:
                self._steps.append(_step(name))
            except (LookupError, ImportError, UsageError):
                self.note = f"kept as it came: nothing here decodes {name}"
                self._steps = []
                break
        self._raw = not self._steps

    @property
    def decodes(self) -> bool:
        """Tell whether what comes out differs from what goes in."""
        return not self._raw

    def feed(self, data: bytes) -> bytes:
        """Give what these bytes decode to."""
        if self._raw:
            return data
        if self._left <= 0 or self.note:
            return b""
        pieces: list[bytes] = []
        try:
            self._run(data, 0, pieces)
        except Exception as problem:  # noqa: BLE001 - each library has its own, and none may end the recording
            self.note = f"decoded up to an error: {problem}"
        return b"".join(pieces)

    def _run(self, data: bytes, at: int, pieces: list[bytes]) -> None:
        if at == len(self._steps):
            pieces.append(data[: max(self._left, 0)])
            self._left -= len(data)
            if self._left <= 0:
                self.note = "decoded up to the limit of a recording; the rest was left out"
            return
        step = self._steps[at]
        given = data
        while self._left > 0:
            out = step.feed(given, _PIECE)
            given = b""
            if out:
                self._run(out, at + 1, pieces)
            if not step.has_more:
                return
            if not out:
                return


def _step(name: str) -> _Step:
    match name:
        case "gzip" | "x-gzip":
            return _Zlib("gzip")
        case "deflate":
            return _Zlib("deflate")
        case "br":
            return _Brotli()
        case "zstd":
            return _Zstd()
    raise LookupError(name)
