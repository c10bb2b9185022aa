"""How a store is doing: versions and their risks, modes, room on the disk, and a first look for damage [C-10, D-12].

A look, not an inspection: it takes a second at most, whatever the size. `check` reads everything.
"""

from __future__ import annotations

import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from weft.errors import StoreError
from weft.store.base import FrameStore

if TYPE_CHECKING:
    from weft.store.sqlite import SqliteFrames

__all__ = ["Finding", "examine"]

Level = Literal["good", "note", "bad"]

_SAFE_SQLITE = (3, 51, 3)
_LOOK_SECONDS = 0.8
_STEPS = 20_000  # SQLite's virtual machine instructions between two looks at the clock
_LITTLE = 200_000_000  # bytes free below which a store that grows is a worry
_TOO_LITTLE = 20_000_000
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Finding(NamedTuple):
    """One thing that was looked at: good, worth a note, or bad."""

    name: str
    level: Level
    message: str


def examine(frames: FrameStore) -> list[Finding]:
    """Look at a store that could be opened."""
    # A sibling is loaded only when a store of its kind is there.
    from weft.store.sqlite import SqliteFrames  # noqa: PLC0415

    if isinstance(frames, SqliteFrames):
        return [*_sqlite(frames), *_places(frames.folder)]
    return list(_server(frames))


def _sqlite(frames: SqliteFrames) -> Iterator[Finding]:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= _SAFE_SQLITE:
        yield Finding("sqlite", "good", version)
    else:
        yield Finding(
            "sqlite",
            "note",
            f"{version}: before 3.51.3, a commit and a checkpoint of two programs at once can damage a database; "
            "weft keeps them apart with its own lock, so let no other program write to weft.db",
        )
    try:
        mode = str(frames.ask("PRAGMA journal_mode")[0][0]).lower()
        level: Level = "good" if mode == "wal" else "bad"
        yield Finding("journal", level, f"{mode}, synchronous full: what is acknowledged is on disk")
        yield _damage(frames)
    except StoreError as error:
        yield Finding("health", "bad", str(error))


def _damage(frames: SqliteFrames) -> Finding:
    """Run SQLite's quick check for as long as a person would wait."""
    deadline = time.monotonic() + _LOOK_SECONDS
    with frames.reading() as connection:
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
                raise
            return Finding("health", "note", "no damage so far; the store is too large for a quick look: weft fsck")
        finally:
            connection.set_progress_handler(None, 0)
    if found == ["ok"]:
        return Finding("health", "good", "no damage found; weft fsck looks at everything")
    return Finding("health", "bad", f"damaged: {'; '.join(found)}")


def _places(folder: Path) -> Iterator[Finding]:
    open_to_others = [
        path
        for path in (folder, folder / "weft.db", folder / "content")
        if path.exists() and path.stat().st_mode & _OTHERS
    ]
    if open_to_others:
        names = ", ".join(f"{path} ({stat.filemode(path.stat().st_mode)})" for path in open_to_others)
        yield Finding("modes", "note", f"others on this machine may read {names}: chmod go= to keep them out")
    else:
        yield Finding("modes", "good", "only you can read the store's files")
    free = shutil.disk_usage(folder).free
    level: Level = "good" if free >= _LITTLE else "note" if free >= _TOO_LITTLE else "bad"
    yield Finding("space", level, f"{free // 1_000_000:,} MB free")
    waiting = len(list((folder / "spool").glob("*"))) if (folder / "spool").is_dir() else 0
    if waiting:
        yield Finding("spool", "note", f"{waiting} turns wait to be added; the next command that writes adds them")


def _server(frames: FrameStore) -> Iterator[Finding]:
    try:
        counted = frames.stats()
    except StoreError as error:
        yield Finding("health", "bad", str(error))
        return
    yield Finding("postgresql", "good", str(counted.details.get("postgresql", "")))
    yield Finding("health", "good", "the server answers; weft fsck looks at everything")
