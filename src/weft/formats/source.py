"""Where a format reads from: bytes that come in order, a name to guess by, and the first of them to look at.

Packed files (gzip, zstandard, zip) are opened as what is in them. Nothing here is read before it is asked for.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from weft import jsontext
from weft.blobs import InMemoryBlobStore
from weft.canon import NO_BLOBS
from weft.errors import CodecError, UsageError
from weft.formats.jsonfeed import JsonFeed, keys_of
from weft.formats.packed import CHUNK_BYTES, unpacked

__all__ = ["Head", "Shelf", "Source"]

HEAD_BYTES = 1 << 16
_BOM = b"\xef\xbb\xbf"


class Source:
    """A file to read a format from. `name` is what it is called; `path` is where it lies, if it lies anywhere."""

    __slots__ = ("_file", "_head", "bad_lines", "name", "path")

    def __init__(self, file: BinaryIO, name: str = "", path: Path | None = None) -> None:
        """Read from `file`, which is not closed here."""
        self.name = name
        self.bad_lines: list[CodecError] | None = None  # where lines that are no JSON go, if they are to be passed over
        self.path = path
        file, head = _begun(file)
        inner = unpacked(file, head, name)
        self._file, self._head = (file, head) if inner is None else _begun(inner)

    @classmethod
    def of(cls, given: bytes | str | os.PathLike[str] | BinaryIO | Source, name: str = "") -> Source:
        """Make a source of bytes, or of an open file; a text is the content, a path has to be opened (`open`)."""
        if isinstance(given, Source):
            return given
        if isinstance(given, str):
            given = given.encode("utf-8", "surrogatepass")
        if isinstance(given, (bytes, bytearray)):
            return cls(io.BytesIO(given), name)
        if isinstance(given, os.PathLike):
            raise UsageError(f"{os.fspath(given)} has to be opened: with Source.open(path) as source")
        return cls(given, name)

    @classmethod
    @contextmanager
    def open(cls, path: str | os.PathLike[str]) -> Iterator[Source]:
        """Open a file for as long as it is read."""
        place = Path(path)
        with place.open("rb", buffering=CHUNK_BYTES) as file:
            yield cls(file, place.name, place)

    @property
    def head(self) -> Head:
        """The first bytes, which stay to be read."""
        return Head(self._head, self.name)

    @property
    def size_bytes(self) -> int | None:
        """How large the file is, if that can be told; of a compressed one, how large it is on disk."""
        try:
            return os.fstat(self._file.fileno()).st_size if self.path is None else self.path.stat().st_size
        except (OSError, AttributeError, ValueError):  # a stand-in without a descriptor
            return len(self._file.getbuffer()) if isinstance(self._file, io.BytesIO) else None

    @property
    def can_rewind(self) -> bool:
        """Tell whether the bytes can be read a second time."""
        return self._file.seekable()

    def rewind(self) -> None:
        """Go back to the first byte, to read a second time."""
        self._file.seek(0)

    def chunks(self) -> Iterator[bytes]:
        """Give the bytes in pieces."""
        while chunk := self._file.read(CHUNK_BYTES):
            yield chunk

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Give the lines that are not blank with their numbers, counted from 1, blanks around them removed."""
        for number, line in self.raw_lines():
            yield number, line.strip()

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """Give the lines that are not blank with their numbers, as they are."""
        return ((number, line) for number, line in self.numbered() if not line.isspace())

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Give every line with its number, blank ones too."""
        first = self._file.readline().removeprefix(_BOM)
        return enumerate(chain((first,) if first else (), self._file), 1)

    def json_lines(self, loads: Callable[[bytes], Any] = jsontext.loads) -> Iterator[tuple[int, Any]]:
        """Give the JSON value on each line, decoded by `loads`; CodecError names the line that is none."""
        for number, line in self.raw_lines():
            try:
                yield number, loads(line)
            except ValueError as problem:
                self.bad_line(number, problem)

    def bad_line(self, number: int, problem: ValueError) -> None:
        """Note a line that is no JSON, if they are to be passed over; else it is an error."""
        error = CodecError(f"not JSON: {problem}", where=f"line {number}")
        if self.bad_lines is None:
            raise error from None
        self.bad_lines.append(error)

    def json_feed(self) -> JsonFeed:
        """Give the JSON value of the file to be read member by member."""
        return JsonFeed(self.chunks())

    def data(self) -> bytes:
        """Give everything at once."""
        return self._file.read()

    def text(self) -> str:
        """Give everything as text; CodecError names the line that is not UTF-8."""
        data = self.data().removeprefix(_BOM)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as problem:
            line = data.count(b"\n", 0, problem.start) + 1
            raise CodecError(f"not UTF-8 (byte {problem.start + 1})", where=f"line {line}") from None

    def json(self) -> Any:
        """Give the one JSON value of the file."""
        try:
            return jsontext.loads(self.data().removeprefix(_BOM))
        except ValueError as problem:
            raise CodecError(f"not JSON: {problem}", where=self.name or "the file") from None


class Head:
    """The first bytes of a file and its name: what a format is guessed by."""

    __slots__ = ("_first", "data", "name")

    def __init__(self, data: bytes, name: str = "") -> None:
        """Look at bytes that may be cut off anywhere."""
        self.data = data.removeprefix(_BOM)
        self.name = name.lower()
        self._first: dict[str, Any] | None = None

    @property
    def start(self) -> bytes:
        """The bytes without blanks before them."""
        return self.data.lstrip()

    @property
    def is_array(self) -> bool:
        """Tell whether it begins as a JSON array."""
        return self.start.startswith(b"[")

    @property
    def is_object(self) -> bool:
        """Tell whether it begins as a JSON object."""
        return self.start.startswith(b"{")

    @property
    def is_lines(self) -> bool:
        """Tell whether it looks like JSON Lines: the first line is an object, and so begins the second.

        Of a first line that is longer than this look, only the name tells.
        """
        first, newline, rest = self.start.partition(b"\n")
        if not first.startswith(b"{") or not newline:
            return first.startswith(b"{") and self.ends(".jsonl", ".ndjson")
        try:
            return isinstance(jsontext.loads(first), dict) and rest.lstrip()[:1] in (b"{", b"")
        except ValueError:
            return False

    @property
    def first(self) -> dict[str, Any]:
        """The first object, outermost or the first of an array, as far as it is there; a value cut off is None."""
        if self._first is None:
            start = self.start
            self._first = keys_of(start[1:] if start.startswith(b"[") else start)
        return self._first

    def ends(self, *extensions: str) -> bool:
        """Tell whether the name ends in one of these."""
        bare = self.name.removesuffix(".gz").removesuffix(".zst")
        return bare.endswith(extensions)


class Shelf:
    """Blob stores for entries: each has one of its own as soon as it has something to keep.

    So the bytes of an entry are gone when the entry is, however long the file. Ids are taken from the bytes: reading a
    file twice gives the same.
    """

    __slots__ = ("store",)

    def __init__(self) -> None:
        """Start with an empty store."""
        self.store = InMemoryBlobStore(hashed=True)

    def taken(self) -> InMemoryBlobStore:
        """Give the store of the entry that was just read, and put an empty one in its place if it was used."""
        store = self.store
        if not len(store):
            return NO_BLOBS
        self.store = InMemoryBlobStore(hashed=True)
        return store


def _begun(file: BinaryIO) -> tuple[BinaryIO, bytes]:
    """Read the first bytes and put them back."""
    if file.seekable():
        start = file.tell()
        head = _filled(file)
        file.seek(start)
        return file, head
    head = _filled(file)
    return io.BufferedReader(_Rewound(head, file), CHUNK_BYTES), head


def _filled(file: BinaryIO) -> bytes:
    head = b""
    while len(head) < HEAD_BYTES and (more := file.read(HEAD_BYTES - len(head))):
        head += more
    return head


class _Rewound(io.RawIOBase):
    """A stream with what was read of it put back in front."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            size = min(len(buffer), len(self._head))
            buffer[:size], self._head = self._head[:size], self._head[size:]
            return size
        data = self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
