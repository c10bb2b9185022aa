"""The journal: what is under way, on disk, so that a killed process loses less than a second of it [X-06].

    <journal>/<pid>-<random>/lock       held for as long as the process lives
    <journal>/<pid>-<random>/<id>.part  one exchange, appended to as it goes on

A part is a row of entries: one byte of kind, four of length, the bytes. Everything in it is decoded and masked already.
It goes to the disk's cache at once, which outlives the process; a torn last entry is left out when it is read. Parts
are removed when their record is written. `recover` finds those of processes that are gone.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from weft.trace.capture import FRAME, REQUEST, RESPONSE, Capture, Meta
from weft.trace.masking import Masker
from weft.trace.record import is_recorded

if TYPE_CHECKING:
    from weft.trace.sink import Sink

__all__ = ["Journal", "read_part", "recover"]

_META, _END = 3, 4
_HEAD = struct.Struct(">BI")
_LARGEST_ENTRY = 1 << 30
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_MASK = Masker(())
_META_FIELDS = {one.name for one in fields(Meta)}


class Journal:
    """The journal of this process; its folder is made when the first part is."""

    __slots__ = ("_folder", "_lock", "_making", "_root", "_said")

    def __init__(self, root: Path) -> None:
        """Remember where; nothing is made yet."""
        self._root = root
        self._folder: Path | None = None
        self._lock = -1
        self._making = threading.Lock()
        self._said: dict[str, int | None] = {}  # of each part, the status its last meta entry told

    def append(self, capture: Capture, clean: list[tuple[int, Any]], *, is_last: bool = False) -> Path:
        """Add to the part of a capture. All or nothing: a failed write is taken back."""
        path = capture.part or self._home() / f"{capture.id}.part"
        entries: list[bytes] = []
        if is_last or self._said.get(capture.id, -1) != capture.meta.status:
            _add(entries, _META, orjson.dumps(asdict(capture.meta)))
        for kind, data in clean:
            _add(entries, kind, orjson.dumps(data) if kind == FRAME else data)
        if is_last:
            _add(entries, _END, b"")
        descriptor = os.open(path, _APPEND, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, b"".join(entries))
            except OSError:
                os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)
        self._said[capture.id] = capture.meta.status
        capture.part = path
        return path

    def drop(self, capture: Capture) -> None:
        """Remove a part: its record is written."""
        self._said.pop(capture.id, None)
        if capture.part is not None:
            with suppress(FileNotFoundError):
                capture.part.unlink()
            capture.part = None

    def forget(self, capture: Capture) -> None:
        """Leave a part to another process."""
        self._said.pop(capture.id, None)

    def close(self) -> None:
        """Let go; a folder with parts in it is left for `recover`."""
        if self._folder is not None:
            _remove_if_done(self._folder)
            os.close(self._lock)
            self._folder = None

    def _home(self) -> Path:
        with self._making:
            return self._folder or self._make()

    def _make(self) -> Path:
        # Under another name until the lock is held, so that nobody takes it for a dead one's.
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        fresh = self._root / f".new-{name}"
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.mkdir(mode=0o700)
        self._lock = os.open(fresh / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._folder = fresh.rename(self._root / name)
        return self._folder


def _add(entries: list[bytes], kind: int, data: bytes) -> None:
    entries += (_HEAD.pack(kind, len(data)), data)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_part(path: Path, *, limit_bytes: int = 1 << 40) -> Capture:
    """Read a part back as a capture, finished or not; one that is not is `incomplete: killed`."""
    meta: dict[str, Any] = {}
    bodies: dict[int, list[bytes]] = {REQUEST: [], RESPONSE: []}
    frames: list[Any] = []
    is_ended = False
    for kind, data in _entries(path.read_bytes()):
        if kind == _META:
            meta = orjson.loads(data)
        elif kind == FRAME:
            frames.append(orjson.loads(data))
        elif kind == _END:
            is_ended = True
        elif kind in bodies:
            bodies[kind].append(data)
    capture = Capture(
        Meta(**{key: value for key, value in meta.items() if key in _META_FIELDS}),
        _NO_MASK,
        None,
        limit_bytes=limit_bytes,
    )
    if not is_ended:
        capture.meta.reason = "killed"
        capture.meta.duration_ms = _lasted_ms(path, capture.meta.timestamp)
    capture.part = path
    capture.request_body = b"".join(bodies[REQUEST])
    capture.response_body = b"".join(bodies[RESPONSE])
    capture.frames = frames
    return capture


def _entries(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEAD.size <= len(data):
        kind, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if size > _LARGEST_ENTRY or at + size > len(data):
            return  # torn
        yield kind, data[at : at + size]
        at += size


def _lasted_ms(path: Path, timestamp: str) -> int:
    from datetime import datetime  # noqa: PLC0415

    try:
        began = datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return 0
    return max(0, int((path.stat().st_mtime - began) * 1000))


def recover(sink: Sink) -> int:
    """Write what killed processes left in the journal of a sink; give how many exchanges that were [X-06]."""
    count = 0
    if not sink.journal.is_dir():
        return 0
    for folder in sorted(sink.journal.iterdir()):
        if folder.name.startswith(".") or not folder.is_dir():
            continue
        try:
            lock = os.open(folder / "lock", os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue  # its owner lives
        try:
            count += _recover_folder(folder, sink)
        finally:
            os.close(lock)
    with suppress(OSError):
        sink.journal.rmdir()
    return count


def _recover_folder(folder: Path, sink: Sink) -> int:
    count = 0
    for path in sorted(folder.glob("*.part")):
        capture = read_part(path)  # one at a time: each may be large
        if is_recorded(capture.meta, capture.request_body, capture.frames):
            sink.write([capture])
            count += 1
        path.unlink()
    _remove_if_done(folder)
    return count


def _remove_if_done(folder: Path) -> None:
    if not any(folder.glob("*.part")):
        with suppress(OSError):
            (folder / "lock").unlink()
            folder.rmdir()
            folder.parent.rmdir()  # only if no other process has a folder there
