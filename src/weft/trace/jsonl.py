"""Traces as files: JSON Lines, plain or in zstd, appended to by any number of processes at once [C-4, X-10].

A batch is written whole under a lock of the file, or not at all: what a failed write left is cut off again. After a
kill the last batch may be torn; whoever appends next moves the torn piece to `<file>.torn` and goes on. A `.zst` file
gets one frame a batch, so that it can be read to its last whole batch at any time.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.blobs import FileBlobStore
from weft.trace.decoding import zstd_module

if TYPE_CHECKING:
    from weft.trace.capture import Capture

__all__ = ["JsonLinesSink"]

_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_LEVEL = 3


class JsonLinesSink:
    """A trace file. `blobs` beside it holds what no JSON text can."""

    def __init__(self, path: Path) -> None:
        """Open the file, made with its folders if it is not there; nobody else may read it."""
        self._path = path
        self._zstd = zstd_module() if path.name.endswith(".zst") else None
        self._blobs: FileBlobStore | None = None
        self._known_whole = 0  # of a .zst, how much has been found to be whole frames
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, _OPEN, 0o600)
        with _Locked(self._file):
            self._mend()

    @property
    def output(self) -> str:
        """Name the file."""
        return str(self._path)

    @property
    def journal(self) -> Path:
        """Give the folder of what is under way, beside the file."""
        return self._path.with_name(f"{self._path.name}.journal")

    def write(self, batch: Sequence[Capture]) -> None:
        """Append the captures as lines, and wait until the disk has them."""
        data = b"".join([capture.line(self._keep) for capture in batch])
        if self._zstd is not None:
            data = self._zstd.compress(data, _LEVEL)
        self._follow()
        with _Locked(self._file):
            before = self._mend()
            try:
                _write_all(self._file, data)
                os.fdatasync(self._file)
            except OSError:
                os.ftruncate(self._file, before)
                raise

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _keep(self, data: bytes, media_type: str) -> Mapping[str, Any]:
        if self._blobs is None:
            self._blobs = FileBlobStore(self._path.with_name(f"{self._path.name}.blobs"))
        kept = self._blobs.put_blob(data, media_type=media_type)
        return {"sha256": kept.sha256, "size_bytes": kept.size, "media_type": media_type, "id": kept.id}

    def _follow(self) -> None:
        """Open the file anew if it was moved or removed, as those who rotate logs do."""
        try:
            there = self._path.stat()
        except FileNotFoundError:
            there = None
        here = os.fstat(self._file)
        if there is None or (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = os.open(self._path, _OPEN, 0o600)
            os.close(self._file)
            self._file, self._known_whole = fresh, 0

    def _mend(self) -> int:
        """Move a torn end away; give the size. With the lock held, only a dead writer can have left one."""
        size = os.fstat(self._file).st_size
        whole = size if size == 0 else self._whole(size)
        if whole < size:
            with open(self._path.with_name(f"{self._path.name}.torn"), "ab", opener=_private) as torn:
                torn.write(os.pread(self._file, size - whole, whole) + b"\n")
            os.ftruncate(self._file, whole)
        return whole

    def _whole(self, size: int) -> int:
        """Give the size of what is whole."""
        if self._zstd is not None:
            return self._whole_frames(size)
        if os.pread(self._file, 1, size - 1) == b"\n":
            return size
        end = size
        while end > 0:
            start = max(0, end - (1 << 16))
            if (at := os.pread(self._file, end - start, start).rfind(b"\n")) >= 0:
                return self._after_last_line(start + at + 1, size)
            end = start
        return self._after_last_line(0, size)

    def _after_last_line(self, start: int, size: int) -> int:
        """Take a last line that merely lacks its end for what it is: other programs do not write it."""
        from weft.jsontext import loads  # noqa: PLC0415 - only after a mishap

        try:
            loads(os.pread(self._file, size - start, start))
        except ValueError:
            return start
        _write_all(self._file, b"\n")
        return size + 1

    def _whole_frames(self, size: int) -> int:
        whole = self._known_whole if self._known_whole <= size else 0  # only the new is looked at
        if whole == size:
            return size
        with mmap.mmap(self._file, size, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
            while whole < size:
                try:
                    with view[whole:] as rest:
                        length = self._zstd.get_frame_size(rest) if self._zstd is not None else 0
                except Exception:  # noqa: BLE001 - the backport's own error: a frame without its end
                    break
                if length <= 0 or whole + length > size:
                    break
                whole += length
        self._known_whole = whole
        return whole


class _Locked:
    """The lock of a file, between processes and between openings."""

    __slots__ = ("_file",)

    def __init__(self, file: int) -> None:
        self._file = file

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
