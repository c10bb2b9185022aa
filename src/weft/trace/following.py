"""Following a recording while another process writes it: whole lines as they come, and what is still under way.

Nothing is locked and nothing is written: whoever records does not notice. A line that is half there is waited for; a
file that was moved, cut or replaced is begun anew. What is under way is read from the recorder's journal.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from weft.store import Exchanges, FrameStore
from weft.trace.decoding import is_packed, zstd_module
from weft.trace.journal import read_part

__all__ = ["FileFollower", "Follower", "StoreFollower", "UnderWay"]

_BLOCK = 1 << 20
_BOM = b"\xef\xbb\xbf"  # at the beginning of a file that some editors wrote
_PART_BYTES = 1 << 22  # of a part that is read to see whose it is


class UnderWay(NamedTuple):
    """An exchange that is not finished yet."""

    id: str
    path: str
    model: str
    seconds: float
    size_bytes: int


class Follower(Protocol):
    """Something that grows."""

    def last(self, count: int) -> list[bytes]:
        """Give the last lines there are; what comes after them is given by `poll`."""
        ...

    def poll(self) -> list[bytes]:
        """Give the lines that came since the last time."""
        ...

    def under_way(self) -> list[UnderWay]:
        """List what is not finished yet."""
        ...


class _Journal:
    """The parts of exchanges under way, in the folder of a recorder's journal."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, _About] = {}

    def under_way(self) -> list[UnderWay]:
        found, there = list[UnderWay](), set[Path]()
        for part in sorted(self._folder.glob("*/*.part")) if self._folder.is_dir() else ():
            with suppress(OSError):  # done in the meantime
                status = part.stat()
                if part not in self._known:
                    self._known[part] = _about(part)
                there.add(part)
                about = self._known[part]
                seconds = max(0.0, time.time() - (about.began or status.st_mtime))
                found.append(UnderWay(about.id, about.path, about.model, seconds, status.st_size))
        self._known = {part: about for part, about in self._known.items() if part in there}
        return found


class _About(NamedTuple):
    """What the beginning of a part says."""

    id: str
    path: str = ""
    model: str = ""
    began: float = 0.0


def _about(part: Path) -> _About:
    try:
        capture = read_part(part, limit_bytes=_PART_BYTES)
        from weft.jsontext import loads  # noqa: PLC0415

        body: Any = loads(capture.request_body) if capture.request_body else None
        began = datetime.fromisoformat(capture.meta.timestamp).timestamp()
    except (OSError, ValueError, TypeError):
        return _About(part.stem)
    model = body.get("model") if isinstance(body, dict) else None
    return _About(capture.id, capture.meta.path, model if isinstance(model, str) else "", began)


class FileFollower:
    """A trace file, plain or in zstd."""

    def __init__(self, path: Path) -> None:
        """Begin at the start of the file, which need not be there yet."""
        self._path = path
        self._at = 0
        self._identity: tuple[int, int] | None = None
        self._rest = b""
        self._zstd = zstd_module() if is_packed(path) else None
        self._frame: Any = None  # the frame that is being unpacked
        self.problem = ""  # what is wrong with the end of a packed file, or not yet right
        self._journal = _Journal(path.with_name(f"{path.name}.journal"))

    def last(self, count: int) -> list[bytes]:
        """Give the last lines; a long plain file is read from its end."""
        if self._zstd is None and count > 0 and self._path.is_file():
            self._skip(count)
        lines = deque(self._all(), maxlen=count) if count else deque[bytes]([*self._all()][:0])
        return list(lines)

    def poll(self) -> list[bytes]:
        """Give the lines that came since the last time."""
        return list(self._all())

    def under_way(self) -> list[UnderWay]:
        """List what is not finished yet."""
        return self._journal.under_way()

    def _skip(self, count: int) -> None:
        """Go to where the last lines begin."""
        with self._path.open("rb") as file:
            status = os.fstat(file.fileno())
            self._identity = status.st_ino, status.st_dev
            at, ends = status.st_size, 0
            while at > 0 and ends <= count:
                start = max(0, at - _BLOCK)
                file.seek(start)
                block = file.read(at - start)
                end = len(block)
                while ends <= count and (end := block.rfind(b"\n", 0, end)) >= 0:
                    ends += 1
                    if ends > count:
                        self._at = start + end + 1
                        return
                at = start
        self._at = 0

    def _all(self) -> Iterator[bytes]:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            status = os.fstat(file.fileno())
            identity = status.st_ino, status.st_dev
            if self._identity not in (None, identity) or status.st_size < self._at:
                self._at, self._rest, self._frame, self.problem = 0, b"", None, ""  # another file, or the same one cut
            self._identity = identity
            file.seek(self._at)
            while block := file.read(_BLOCK):
                self._at += len(block)
                for piece in (block,) if self._zstd is None else self._unpacked(block):
                    yield from self._lines(piece)
            if self._frame is not None and not self.problem.startswith("damaged"):
                self.problem = "" if self._frame.eof else "the packed file was cut off; what came before is read"

    def _lines(self, block: bytes) -> Iterator[bytes]:
        *lines, self._rest = (self._rest + block).split(b"\n")
        yield from (line.removeprefix(_BOM) for line in lines if line.strip())

    def _unpacked(self, block: bytes) -> Iterator[bytes]:
        """Unpack what is there, a piece at a time; behind damage nothing can be read any more."""
        zstd: Any = self._zstd
        while block and not self.problem.startswith("damaged"):
            if self._frame is None or self._frame.eof:
                self._frame = zstd.ZstdDecompressor()
            try:
                yield self._frame.decompress(block, _BLOCK)
                while not self._frame.needs_input and not self._frame.eof:
                    yield self._frame.decompress(b"", _BLOCK)
            except zstd.ZstdError as problem:
                self.problem = f"damaged: {problem}; what came before is read"
                return
            block = self._frame.unused_data if self._frame.eof else b""


class StoreFollower:
    """A session of a store, or everything that is recorded in it."""

    def __init__(self, frames: FrameStore, session: int | None = None) -> None:
        """Begin before the first exchange."""
        self._exchanges = Exchanges(frames)
        self._session = session
        self._last = 0
        folder = frames.folder
        self._journal = _Journal(folder / "recording" if folder is not None else Path(os.devnull))

    def last(self, count: int) -> list[bytes]:
        """Give the last lines there are."""
        rows = self._exchanges.latest(self._session, max(count, 1))
        if rows:
            self._last = rows[-1].number
        return list(self._exchanges.lines(rows)) if count else []

    def poll(self) -> list[bytes]:
        """Give the lines that came since the last time."""
        rows = self._exchanges.rows(self._session, after=self._last)
        if rows:
            self._last = rows[-1].number
        return list(self._exchanges.lines(rows))

    def under_way(self) -> list[UnderWay]:
        """List what is not finished yet; of a server's store, only what is recorded on this machine is known."""
        return self._journal.under_way()
