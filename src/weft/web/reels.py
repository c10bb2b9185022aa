"""Where records come from: a file that may grow, one that is whole, a session of a store; each with its place."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from weft.errors import UsageError
from weft.jsontext import dumps, loads
from weft.store import Exchanges, FrameStore
from weft.trace import FileFollower, Place

__all__ = [
    "FileReel",
    "Line",
    "PackedReel",
    "Reel",
    "SessionReel",
    "WholeReel",
    "first_value",
    "open_regular",
    "whole_value",
]

_STEP = 1 << 20  # bytes taken in at once, so that others have their turn
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A record as it is written, and where."""

    data: bytes
    place: Place


class Reel(Protocol):
    """Records, in order."""

    is_live: bool
    journal: Path | None

    @property
    def problem(self) -> str:
        """What is wrong with the end of it, if anything is."""
        ...

    def more(self) -> tuple[list[Line], bool]:
        """Give some records that are new, and whether there are more at once."""
        ...

    def again(self, place: Place) -> Any:
        """Read one record again."""
        ...

    def was_replaced(self) -> bool:
        """Tell whether what was read is not what is there any more; the next records are from the beginning."""
        ...


def open_regular(path: Path) -> int:
    """Open a file for reading that is a file: a pipe or a device would be waited for for ever [W-06]."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror or problem}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path} is no file: pipes, folders and devices cannot be shown")
    return handle


class FileReel:
    """JSON Lines, followed while they grow. A line that is half there is waited for."""

    is_live = True
    problem = ""

    def __init__(self, path: Path) -> None:
        """Begin at the beginning."""
        self._path = path
        self.journal: Path | None = path.with_name(f"{path.name}.journal")
        self._at = self._line = 0
        self._identity: tuple[int, int] | None = None
        self._replaced = False

    def more(self) -> tuple[list[Line], bool]:
        """Give the next whole lines."""
        try:
            handle = open_regular(self._path)
        except UsageError:
            return [], False  # moved away; it may come back
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            identity = status.st_ino, status.st_dev
            if self._identity not in (None, identity) or status.st_size < self._at:
                self._at = self._line = 0
                self._replaced = True
            self._identity = identity
            if status.st_size == self._at:
                return [], False
            file.seek(self._at)
            data = file.read(_STEP)
            while b"\n" not in data and (piece := file.read(_STEP)):
                data += piece
        is_end = self._at + len(data) >= status.st_size
        return list(self._lines(data, is_end=is_end)), self._at < status.st_size and b"\n" in data

    def _lines(self, data: bytes, *, is_end: bool) -> Iterator[Line]:
        start = len(_BOM) if self._at == 0 and data.startswith(_BOM) else 0
        self._at += start  # a mark that some editors make; it is no part of a record
        while (end := data.find(b"\n", start)) >= 0:
            yield from self._one(data[start:end], end + 1 - start)
            start = end + 1
        rest = data[start:]
        if is_end and rest.rstrip().endswith(b"}") and _is_json(rest):
            yield from self._one(rest, len(rest))  # the last line of a file may lack its end

    def _one(self, line: bytes, size: int) -> Iterator[Line]:
        self._line += 1
        place = Place(self._path.name, self._line, self._at, len(line))
        self._at += size
        if line.strip():
            yield Line(line, place)

    def again(self, place: Place) -> Any:
        """Read a record again from its place."""
        with open(open_regular(self._path), "rb") as file:
            file.seek(place.offset)
            return loads(file.read(place.size))

    def was_replaced(self) -> bool:
        """Tell whether the file was cut or replaced since."""
        replaced, self._replaced = self._replaced, False
        return replaced


def _is_json(data: bytes) -> bool:
    try:
        loads(data)
    except ValueError:
        return False
    return True


class PackedReel:
    """JSON Lines in zstd; lines are kept, as there is no way back to one of them."""

    is_live = True

    def __init__(self, path: Path) -> None:
        """Begin at the beginning."""
        self._follower = FileFollower(path)
        self._name = path.name
        self.journal: Path | None = path.with_name(f"{path.name}.journal")
        self._kept: list[bytes] = []

    def more(self) -> tuple[list[Line], bool]:
        """Give the lines that are new."""
        lines = []
        for line in self._follower.poll():
            self._kept.append(line)
            lines.append(Line(line, Place(self._name, len(self._kept))))
        return lines, False

    @property
    def problem(self) -> str:
        """What is wrong with the end of the file."""
        return self._follower.problem

    def again(self, place: Place) -> Any:
        """Read a record again."""
        return loads(self._kept[place.line - 1])

    def was_replaced(self) -> bool:
        """Such files only grow."""
        return False


class WholeReel:
    """A JSON value that is one record, or a list of them [C-13]."""

    is_live = False
    problem = ""
    journal: Path | None = None

    def __init__(self, name: str, records: list[Any]) -> None:
        """Hold the records."""
        self._name, self._records = name, records
        self._given = 0

    def more(self) -> tuple[list[Line], bool]:
        """Give some of them."""
        start, self._given = self._given, min(self._given + 500, len(self._records))
        lines = [
            Line(dumps(record), Place(self._name, number))
            for number, record in enumerate(self._records[start : self._given], start + 1)
        ]
        return lines, self._given < len(self._records)

    def again(self, place: Place) -> Any:
        """Give a record again."""
        return self._records[place.line - 1]

    def was_replaced(self) -> bool:
        """What is held does not change."""
        return False


class SessionReel:
    """One session of a store's recordings."""

    is_live = True
    problem = ""

    def __init__(self, frames: FrameStore, number: int, name: str) -> None:
        """Begin before the first exchange."""
        self._exchanges = Exchanges(frames)
        self._number, self._name = number, name
        self._last = 0
        self.journal: Path | None = frames.folder / "recording" if frames.folder is not None else None

    def more(self) -> tuple[list[Line], bool]:
        """Give the exchanges that were kept since."""
        rows = self._exchanges.rows(self._number, after=self._last, limit=256)
        if rows:
            self._last = rows[-1].number
        lines = [
            Line(line, Place(self._name, row.number))
            for row, line in zip(rows, self._exchanges.lines(rows), strict=True)
        ]
        return lines, len(rows) == 256

    def again(self, place: Place) -> Any:
        """Read an exchange again."""
        rows = self._exchanges.numbered([place.line])
        if not rows:
            raise UsageError("the exchange is not kept any more")
        return loads(next(iter(self._exchanges.lines(rows))))

    def was_replaced(self) -> bool:
        """A session only grows."""
        return False


def whole_value(data: bytes) -> Any:
    """Read a file that is one JSON value; None if it is not."""
    try:
        return loads(data)
    except ValueError:
        return None


def first_value(data: bytes) -> Any:
    """Read the first line of JSON Lines; None if it is none."""
    try:
        return json.loads(data.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return None
