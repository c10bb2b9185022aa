"""One writer at a time, across processes.

SQLite has its own locks, but before 3.51.3 a commit and a checkpoint in two processes at the wrong moment could
damage a database in WAL mode (https://sqlite.org/wal.html#walresetbug). A lock of weft's own, held from before BEGIN
until after the checkpoint that a commit may bring, keeps them apart whatever the version [D-12]. The system lets go of
it when a process dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path

from weft.errors import StoreBusyError

__all__ = ["FileLock"]

_FIRST_NAP = 0.0002
_LONGEST_NAP = 0.005


class FileLock:
    """An exclusive lock on a file, with a time limit. Not for several threads at once."""

    def __init__(self, path: Path) -> None:
        """Name the file; it is made when first locked."""
        self._path = path
        self._descriptor = -1
        self._map: mmap.mmap | None = None
        self.writes = memoryview(bytearray(8)).cast("Q")  # how often was written; shared by all who lock this file

    @contextlib.contextmanager
    def held(self, timeout: float) -> Iterator[None]:
        """Hold the lock; StoreBusyError when it cannot be had in time."""
        self.acquire(timeout)
        try:
            yield
        finally:
            self.release()

    def acquire(self, timeout: float) -> None:
        """Take the lock, waiting for it."""
        if self._descriptor < 0:
            self._open()
        nap, deadline = _FIRST_NAP, 0.0
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                now = time.monotonic()
                deadline = deadline or now + timeout
                if now >= deadline:
                    raise StoreBusyError(f"another process is writing to {self._path.parent}") from None
            time.sleep(min(nap, max(0.0, deadline - now)))
            nap = min(nap * 1.5, _LONGEST_NAP)

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        if os.fstat(self._descriptor).st_size < 8:
            os.ftruncate(self._descriptor, 8)
        self._map = mmap.mmap(self._descriptor, 8)
        self.writes = memoryview(self._map).cast("Q")

    def release(self) -> None:
        """Let go of the lock."""
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Forget the file."""
        if self._descriptor >= 0:
            self.writes.release()
            if self._map is not None:
                self._map.close()
            os.close(self._descriptor)
            self._descriptor = -1
