"""Opening SQLite files: private from creation, at the right version, never a newer one.

Leaves what is in the tables to weft.store.sqlite and weft.store.sqlite_index, which both open their file here.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from weft.errors import StoreBusyError, StoreError

__all__ = ["Readers", "broken", "create_private", "migrate", "open_reader", "open_writer", "translated", "version_of"]

APPLICATION_ID = 0x77656674  # "weft": a file of another program is not touched
# What SQLite says when the disk, not the statement, is the trouble. The connection is not used again [D-08].
_BROKEN = {"SQLITE_IOERR", "SQLITE_FULL", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CANTOPEN", "SQLITE_PROTOCOL"}


def create_private(path: Path) -> None:
    """Make an empty file that only its owner can read, whatever the umask [K-05]; SQLite's own files take its mode."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a file for reading only; one that nobody can be writing to is read without its helper files."""
    connection = _connect(path, "mode=ro")
    try:
        _look(connection)
        connection.execute("PRAGMA query_only=1")
        # kB: a thread of 10,000 turns is read from memory the second time
        connection.execute("PRAGMA cache_size=-32000")
    except sqlite3.OperationalError:
        connection.close()
        # In a folder that cannot be written, a WAL file cannot be shared. Without a WAL, the file is all there is.
        wal = path.with_name(path.name + "-wal")
        if (wal.exists() and wal.stat().st_size > 0) or os.access(path.parent, os.W_OK):
            raise
        connection = _connect(path, "immutable=1")
    return connection


class Readers:
    """A connection for reading for each thread that asks; those of threads that have ended are closed.

    Every connection has a cache of its own, so a program that reads from one short thread after another must not
    keep them all.
    """

    def __init__(self, path: Path) -> None:
        """Open none yet."""
        self._path = path
        self._local = threading.local()
        self._opened: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._mutex = threading.Lock()

    def mine(self) -> sqlite3.Connection:
        """Give this thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = open_reader(self._path)
            with self._mutex:
                ended = [one for thread, one in self._opened if not thread.is_alive()]
                self._opened = [(thread, one) for thread, one in self._opened if thread.is_alive()]
                self._opened.append((threading.current_thread(), connection))
            self._local.connection = connection
            for one in ended:
                one.close()
        return connection

    def drop_mine(self) -> None:
        """Close this thread's connection, which cannot be trusted any more."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def close(self) -> None:
        """Close every connection."""
        with self._mutex:
            opened, self._opened = self._opened, []
            self._local = threading.local()
        for _, connection in opened:
            connection.close()


def open_writer(path: Path, *, synchronous: str, busy_seconds: float) -> sqlite3.Connection:
    """Open a file for writing, in WAL mode."""
    create_private(path)
    connection = _connect(path, "mode=rw", busy_seconds)
    try:
        _look(connection)
        connection.execute("PRAGMA journal_mode=WAL")
        if synchronous == "FULL":
            connection.execute("PRAGMA synchronous=FULL")
        else:
            connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")
        # A WAL that a reader made grow is cut back once it can be [D-14].
        connection.execute("PRAGMA journal_size_limit=67108864")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect(path: Path, how: str, busy_seconds: float = 30.0) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path))}?{how}"
    # Autocommit: transactions are begun by name. Threads are kept apart by whoever holds the connection.
    return sqlite3.connect(
        uri, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256
    )


def _look(connection: sqlite3.Connection) -> None:
    """Read the list of tables. SQLite quotes a damaged one in its complaint, and Python cannot read that as text."""
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    except UnicodeDecodeError as error:
        damaged = sqlite3.DatabaseError("the list of its tables cannot be read")
        damaged.sqlite_errorname = "SQLITE_CORRUPT"
        raise damaged from error


def version_of(connection: sqlite3.Connection, path: Path, known: int) -> int:
    """Read the version of a file; a newer one, or a foreign one, is refused before anything is written [D-16]."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
    if tables and owner != APPLICATION_ID:
        raise StoreError(f"{path} is a database of another program; choose another folder for the store")
    if version > known:
        raise StoreError(
            f"{path} was written by a newer weft (store version {version}, this one knows {known}); "
            "it is left untouched: upgrade weft to use it"
        )
    return version


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[Sequence[str]]) -> None:
    """Bring a file to the newest version, each step whole or not at all [D-15]."""
    for number in range(version_of(connection, path, len(steps)), len(steps)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have done this step while we waited.
            if int(connection.execute("PRAGMA user_version").fetchone()[0]) == number:
                for statement in steps[number]:
                    connection.execute(statement)
                # A pragma takes no parameters; both numbers are ours.
                connection.execute(f"PRAGMA user_version={number + 1:d}")
                connection.execute(f"PRAGMA application_id={APPLICATION_ID:d}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def broken(error: sqlite3.Error) -> bool:
    """Tell whether the connection should not be used again after this."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return any(name.startswith(prefix) for prefix in _BROKEN)


def translated(error: sqlite3.Error, path: Path) -> StoreError:
    """Say in one line what went wrong with a file, and what to do."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusyError(f"another program holds {path}; try again when it is done")
    if name.startswith("SQLITE_FULL"):
        return StoreError(f"the disk of {path} is full; nothing was written: free some space and try again")
    if name.startswith("SQLITE_READONLY"):
        return StoreError(f"{path} cannot be written (read-only); reading still works")
    if name.startswith("SQLITE_CANTOPEN"):
        return StoreError(f"{path} cannot be opened: is the folder there, and may it be written?")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreError(f"{path} is damaged ({error}); run `weft fsck`, and restore a backup")
    return StoreError(f"{path}: {error}")
