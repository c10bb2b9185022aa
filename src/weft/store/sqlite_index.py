"""What is built from the log to find things in it: words, ends of threads, who continues a turn. SQLite only.

It lives in a file of its own, `index.db`, and is brought up to date in batches: by a short-lived thread while the
program waits for the disk anyway, and by whoever is about to read it. So an append pays nothing for it, a reader never
sees an old state, and if the file is lost it is simply built again. Words are kept without positions, which takes a
tenth of the text's size instead of a third; phrases are checked against the text.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from weft.errors import StoreBusyError, StoreError
from weft.store.base import Query
from weft.store.lock import FileLock
from weft.store.searchtext import facet
from weft.store.sqlite_files import Readers, broken, migrate, open_writer, translated

__all__ = ["BATCH", "Entry", "SqliteIndex"]

BATCH = 512
_PATIENCE = 60.0

_STEPS = (
    (
        """
        CREATE TABLE progress (
            one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, era TEXT NOT NULL
        ) STRICT
        """,
        "INSERT INTO progress VALUES (1, 0, '')",
        """
        CREATE TABLE links (
            parent INTEGER NOT NULL, child INTEGER NOT NULL, PRIMARY KEY (parent, child)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX links_by_child ON links (child)",
        "CREATE TABLE tips (seq INTEGER PRIMARY KEY) STRICT",
        """
        CREATE VIRTUAL TABLE words USING fts5 (
            text, content='', detail=none, columnsize=0, tokenize='unicode61 remove_diacritics 0'
        )
        """,
    ),
)
_PROGRESS = "SELECT seq, era FROM progress"
_ADVANCE = "UPDATE progress SET seq = ?"
_ADD_TIP = "INSERT OR IGNORE INTO tips SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM links WHERE parent = ?1)"
_DROP_TIP = "DELETE FROM tips WHERE seq = ?"
_ADD_LINK = "INSERT OR IGNORE INTO links VALUES (?, ?)"
_ADD_WORDS = "INSERT INTO words (rowid, text) VALUES (?, ?)"
_TIPS = "SELECT seq FROM tips WHERE seq < ? ORDER BY seq DESC LIMIT ?"
_PARENTS_OF = "SELECT parent FROM links WHERE child = ?"
_CHILDREN = "SELECT parent, child FROM links WHERE parent IN (SELECT value FROM json_each(?)) ORDER BY parent, child"
_MATCH = "SELECT rowid FROM words WHERE words MATCH ? AND rowid < ? AND rowid >= ? ORDER BY rowid DESC LIMIT ?"
_CHECK_WORDS = "INSERT INTO words (words) VALUES ('integrity-check')"  # which FTS5 answers by failing, or not
_FORGET_ALL = (
    "DELETE FROM links",
    "DELETE FROM tips",
    "INSERT INTO words (words) VALUES ('delete-all')",
    "UPDATE progress SET seq = 0",
)


class Entry(NamedTuple):
    """What the index takes in of one turn."""

    seq: int
    parents: Sequence[int]
    text: str


class SqliteIndex:
    """The index of one store. `entries(after, limit)` reads the log in order; `era` changes when turns were removed."""

    def __init__(
        self, folder: Path, entries: Callable[[int, int], tuple[int, list[Entry]]], era: Callable[[], str]
    ) -> None:
        """Name the files; they are made when first needed."""
        self.path = folder / "index.db"
        self._entries = entries
        self._era = era
        self._lock = FileLock(folder / "index.lock")
        self._mutex = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._readers = Readers(self.path)
        self._worker: threading.Thread | None = None

    # -- keeping up ------------------------------------------------------------------------------------------

    def nudge(self) -> None:
        """Catch up in a thread of its own, if none is at it."""
        worker = self._worker
        if worker is not None and worker.is_alive():
            return
        self._worker = threading.Thread(target=self._catch_up_quietly, name="weft-index", daemon=False)
        self._worker.start()

    def _catch_up_quietly(self) -> None:
        # What goes wrong here is met again, and reported, by the next reader.
        with contextlib.suppress(StoreError, sqlite3.Error, OSError):
            self.catch_up()

    def catch_up(self) -> bool:
        """Take in every turn the log has and the index has not; False where that is not allowed."""
        with self._mutex:
            try:
                with self._lock.held(_PATIENCE):
                    self._catch_up_locked()
            except (StoreBusyError, PermissionError):
                return False
            except OSError as error:
                if error.errno in _READ_ONLY:
                    return False
                raise
            except sqlite3.Error as error:
                self._drop_writer()
                if (getattr(error, "sqlite_errorname", "") or "").startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
                    return False
                raise translated(error, self.path) from error
        return True

    def _catch_up_locked(self) -> None:
        try:
            self._follow_the_log()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._throw_away()  # built again from the log
            self._follow_the_log()

    def _follow_the_log(self) -> None:
        connection = self._open_writer()
        seq, era = connection.execute(_PROGRESS).fetchone()
        now = self._era()
        if era != now:
            self._rebuild_locked(connection, now)
            seq = 0
        while True:
            last, entries = self._entries(seq, BATCH)
            if last == seq:
                return
            self._take_in(connection, entries, last)
            seq = last

    def _take_in(self, connection: sqlite3.Connection, entries: Sequence[Entry], last: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            links = [(parent, entry.seq) for entry in entries for parent in entry.parents]
            connection.executemany(_ADD_LINK, links)
            connection.executemany(_ADD_TIP, [(entry.seq,) for entry in entries])
            connection.executemany(_DROP_TIP, [(parent,) for parent, _ in links])
            connection.executemany(_ADD_WORDS, ((entry.seq, entry.text) for entry in entries))
            connection.execute(_ADVANCE, (last,))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _rebuild_locked(self, connection: sqlite3.Connection, era: str) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _FORGET_ALL:
            connection.execute(statement)
        connection.execute("UPDATE progress SET era = ?", (era,))
        connection.execute("COMMIT")

    def forget(self, seqs: Sequence[int]) -> None:
        """Take turns out that were removed from the log; those they continued may be ends of threads again.

        Their words stay until the index is built again: a find is checked against the log, which has no such turn.
        """
        with self._mutex, self._lock.held(_PATIENCE):
            connection = self._open_writer()
            gone = [(seq,) for seq in seqs]
            above = [row[0] for seq in seqs for row in connection.execute(_PARENTS_OF, (seq,))]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("DELETE FROM links WHERE child = ?", gone)
            connection.executemany("DELETE FROM links WHERE parent = ?", gone)
            connection.executemany(_DROP_TIP, gone)
            connection.executemany(_ADD_TIP, [(seq,) for seq in above if seq not in set(seqs)])
            connection.execute("COMMIT")

    def progress(self) -> int:
        """Give the sequence number up to which the log is taken in."""
        rows = self._read(_PROGRESS, ())
        return int(rows[0][0]) if rows else 0

    def scrub(self) -> None:
        """Forget everything, pages included; the next reader builds it again."""
        with self._mutex, self._lock.held(_PATIENCE):
            self._throw_away()

    # -- asking ----------------------------------------------------------------------------------------------

    def tips(self, before: int, limit: int) -> list[int]:
        """List ends of threads, newest first."""
        return [row[0] for row in self._read(_TIPS, (before, limit))]

    def children(self, seqs_json: str) -> list[tuple[int, int]]:
        """List (parent, child) pairs."""
        return [(row[0], row[1]) for row in self._read(_CHILDREN, (seqs_json,))]

    def match(self, query: Query, before: int, not_before: int, limit: int) -> list[int]:
        """List turns that hold all words of a query, newest first; phrases are still to be checked."""
        return [row[0] for row in self._read(_MATCH, (match_text(query), before, not_before, limit))]

    def _read(self, sql: str, params: Sequence[Any]) -> list[Any]:
        if not self.path.exists():
            return []
        try:
            return self._readers.mine().execute(sql, params).fetchall()
        except sqlite3.DatabaseError as error:
            self._readers.drop_mine()
            if not _is_damage(error):
                raise translated(error, self.path) from error
        self.scrub()
        return self._readers.mine().execute(sql, params).fetchall() if self.catch_up() else []

    def damage(self) -> str | None:
        """Say what is wrong with the file, if anything is; it may be thrown away."""
        if not self.path.exists():
            return None
        try:
            with self._mutex, self._lock.held(_PATIENCE):
                connection = self._open_writer()
                (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                connection.execute(_CHECK_WORDS)
        except (StoreBusyError, OSError):
            return None  # someone else's to look after
        except sqlite3.DatabaseError as error:
            self._drop_writer()
            return str(error) if _is_damage(error) else None
        return None if said == "ok" else str(said)

    # -- files -----------------------------------------------------------------------------------------------

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            connection = open_writer(self.path, synchronous="NORMAL", busy_seconds=_PATIENCE)
            try:
                migrate(connection, self.path, _STEPS)
                connection.execute("PRAGMA cache_size=-16000")
            except BaseException:
                connection.close()
                raise
            self._writer = connection
        return self._writer

    def _drop_writer(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(sqlite3.Error):
                self._writer.close()
            self._writer = None

    def _throw_away(self) -> None:
        self._drop_writer()
        self._readers.close()
        for ending in ("", "-wal", "-shm"):
            path = self.path.with_name(self.path.name + ending)
            with contextlib.suppress(FileNotFoundError):
                if not ending:
                    _overwrite(path)
                path.unlink()

    def close(self) -> None:
        """Wait for the thread and let go of the files."""
        worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join()
        with self._mutex:
            self._readers.close()
            # Last, and under the lock: the last connection to close copies the WAL back, and readers may not.
            with contextlib.suppress(StoreError, OSError), self._lock.held(_PATIENCE):
                self._drop_writer()
            self._lock.close()


_READ_ONLY = {1, 13, 30}  # EPERM, EACCES, EROFS


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Tell damage from a disk that is full or away."""
    return broken(error) and not isinstance(error, sqlite3.OperationalError)


def match_text(query: Query) -> str:
    """Write a query as FTS5 reads it; every word is quoted, so none is an operator."""
    words = [*query.words, *(word for phrase in query.phrases for word in phrase)]
    if query.role is not None:
        words.append(facet("r", query.role))
    if query.model is not None:
        words.append(facet("m", query.model))
    if query.bookmark is not None:
        words.append(facet("h", query.bookmark))
    return " AND ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    return f'"{word[:-1]}"*' if word.endswith("*") else f'"{word}"'


def _overwrite(path: Path) -> None:
    with path.open("r+b", buffering=0) as file:
        left = path.stat().st_size
        while left > 0:
            left -= file.write(b"\0" * min(left, 1 << 20))
