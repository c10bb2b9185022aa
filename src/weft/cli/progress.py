"""A bar for long work that someone watches: drawn on a terminal's stderr, and nowhere else."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

__all__ = ["progress", "watched_file"]

_WORTH_A_BAR = 8_000_000  # bytes; less is done before a bar is drawn
_STEP = 1 << 20


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Draw a bar over `total` bytes of work; the caller says how many it has done since it last said so."""
    if total < _WORTH_A_BAR or not sys.stderr.isatty():
        yield lambda _size: None
        return
    with click.progressbar(length=total, label=label, file=sys.stderr, show_pos=False) as bar:
        waiting = 0

        def advance(size: int) -> None:
            nonlocal waiting
            waiting += size
            if not 0 <= waiting < _STEP:
                bar.update(waiting)
                waiting = 0

        yield advance
        bar.update(waiting)


@contextmanager
def watched_file(path: Path, label: str, buffer_bytes: int = _STEP) -> Iterator[BinaryIO]:
    """Open a file to read, with a bar that follows the place it is read at; a file read twice begins anew.

    A pipe, such as the shell's `<(...)`, has no place and no size, and is read without a bar.
    """
    if not path.is_file():
        with path.open("rb", buffering=buffer_bytes) as stream:
            yield stream
        return
    with progress(label, path.stat().st_size) as advance, _Watched(path, advance) as file:
        yield io.BufferedReader(file, buffer_bytes)


class _Watched(io.FileIO):
    """A file that tells how far it was read."""

    def __init__(self, path: Path, advance: Callable[[int], None]) -> None:
        super().__init__(path, "rb")
        self._advance = advance
        self._told = 0

    def readinto(self, buffer: Any, /) -> int:
        count = super().readinto(buffer)
        self._tell()
        return count

    def readall(self) -> bytes:
        data = super().readall()
        self._tell()
        return data

    def _tell(self) -> None:
        place = self.tell()
        self._advance(place - self._told)
        self._told = place
