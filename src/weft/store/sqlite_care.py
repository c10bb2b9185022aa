"""Looking after a SQLite store: checking, sweeping, copying, counting; and reading without an index."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import StoreError
from weft.store.base import Hit, Problem, Query, StoreStats
from weft.store.checking import check_rows
from weft.store.content import ContentFolder, sync_folder
from weft.store.searching import check_hits
from weft.store.sqlite_files import create_private

if TYPE_CHECKING:
    from weft.store.sqlite import SqliteFrames

__all__ = [
    "backup",
    "check",
    "children_without_index",
    "search_without_index",
    "stats",
    "sweep",
    "tips_without_index",
]

_FILES_NAMED = """
    SELECT DISTINCT hash FROM frames WHERE flags & 128 AND hash IS NOT NULL
    UNION SELECT hash FROM chunks WHERE flags & 128
"""
_YOUNG_SECONDS = 3600
_SEQS_DOWN = "SELECT seq, parent FROM frames WHERE topic = 'gpt.turn' ORDER BY seq DESC"
_ALL_EDGES = "SELECT child, parent FROM edges"
_COUNTS = """
    SELECT (SELECT count(*) FROM frames), (SELECT count(*) FROM frames WHERE topic = 'gpt.turn'),
        (SELECT count(*) FROM bookmarks WHERE seq IS NOT NULL),
        (SELECT count(*) FROM frames WHERE owner IS NULL AND hash IS NOT NULL),
        (SELECT coalesce(sum(size), 0) FROM frames WHERE owner IS NULL AND hash IS NOT NULL),
        (SELECT count(*) FROM frames WHERE topic = 'gpt.turn' AND root = seq)
"""


def tips_without_index(store: SqliteFrames, before: int, limit: int) -> list[int]:
    """List ends of threads where the index can neither be read nor made: by reading every link once."""
    continued = {parent for _, parent in store.ask(_ALL_EDGES)}
    found: list[int] = []
    for seq, parent in store.ask(_SEQS_DOWN):
        if seq not in continued and seq < before and len(found) < limit:
            found.append(seq)
        if parent is not None:
            continued.add(parent)
    return found


def children_without_index(store: SqliteFrames, seqs: set[int]) -> list[tuple[int, int]]:
    """List (parent, child) pairs by reading every link once."""
    pairs = [(parent, seq) for seq, parent in store.ask(_SEQS_DOWN) if parent in seqs]
    pairs += [(parent, child) for child, parent in store.ask(_ALL_EDGES) if parent in seqs]
    return sorted(pairs)


def search_without_index(store: SqliteFrames, query: Query, before: int, limit: int) -> list[Hit]:
    """Search by reading: what the index has is asked of it, what came after is read."""
    done = store.index.progress()
    newer = [seq for seq, _ in store.ask(_SEQS_DOWN) if done < seq < before]
    hits: list[Hit] = []
    for start in range(0, len(newer), 500):
        hits += check_hits(query, store.texts_of(newer[start : start + 500]), limit - len(hits))
    before = min(before, done + 1)
    while len(hits) < limit:
        found = store.index.match(query, before, 0, limit * 2)
        hits += check_hits(query, store.texts_of(found), limit - len(hits))
        if len(found) < limit * 2:
            break
        before = found[-1]
    return hits


def check(store: SqliteFrames, content: ContentFolder) -> list[Problem]:
    """Look for damage: in the file itself, in its rows, in the files beside it."""
    from weft.store.exchange_care import check_exchanges  # noqa: PLC0415  # only care needs it

    problems = []
    try:
        for (line,) in store.ask("PRAGMA integrity_check(20)"):
            if line != "ok":
                problems.append(Problem("database", str(store.path), f"{store.path}: {line}"))
        problems += check_rows(store.ask, content.get)
        problems += check_exchanges(store)
    except StoreError as error:
        problems.append(Problem("database", str(store.path), str(error)))
    if damage := store.index.damage():
        path = store.index.path
        problems.append(Problem("index", str(path), f"{path} is damaged ({damage}); delete it, and it is built again"))
    return problems


def sweep(store: SqliteFrames, content: ContentFolder, *, dry_run: bool) -> tuple[int, int]:
    """Remove files that no frame names. The caller holds the write lock, so no write is between file and row."""
    named = {row[0] for row in store.ask(_FILES_NAMED)}
    count = size = 0
    for digest, length, _ in content.names():
        if digest not in named:
            count, size = count + 1, size + length
            if not dry_run:
                content.remove(digest)
    if not dry_run:
        content.sweep_temporary()
    return count, size


def backup(store: SqliteFrames, content: ContentFolder, target: Path) -> None:
    """Copy the store to a new folder: the database as of one moment, then the files it names."""
    if target.exists() and any(target.iterdir()):
        raise StoreError(f"{target} is not empty; choose a new folder for the backup")
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = target / "weft.db"
    create_private(copy)
    destination = sqlite3.connect(copy)
    try:
        with store.reading() as source:
            source.backup(destination)
        destination.execute("PRAGMA journal_mode=WAL")
        named = [row[0] for row in destination.execute(_FILES_NAMED)]
    finally:
        destination.close()
    kept = ContentFolder(target / "content")
    for digest in named:
        kept.put(digest, content.get(digest))
    sync_folder(target)


def stats(store: SqliteFrames, path: Path, version: int) -> StoreStats:
    """Count what is kept, and what it takes."""
    from weft.store.exchanges import Exchanges  # noqa: PLC0415  # only care needs it

    frames, turns, bookmarks, payloads, payload_bytes, threads = store.ask(_COUNTS)[0]
    disk = sum(file.stat().st_size for file in store.folder.rglob("*") if file.is_file())
    details: dict[str, Any] = {"sqlite": sqlite3.sqlite_version, "path": str(path), **Exchanges(store).counts()}
    return StoreStats(frames, turns, threads, bookmarks, payloads, payload_bytes, disk, "sqlite", version, details)
