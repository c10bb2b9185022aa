"""Frames in SQLite: the default, one folder with everything in it.

    weft.db (-wal, -shm)   the log: acknowledged means on disk
    index.db               what is built from it to search and list; may be deleted
    content/               payloads above 100 kB, by digest
    weft.lock index.lock   held while writing

One writer at a time holds the lock and a connection of its own; readers have a connection per thread, read only,
and never wait. A connection that met an I/O error is closed and not used again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from weft import jsontext
from weft.errors import StoreError
from weft.store import sqlite_care
from weft.store.base import TURN, Flag, FrameWriter, Hit, Problem, Query, Spot, StoreStats, ThreadRow, TurnRow
from weft.store.content import ContentFolder
from weft.store.lock import FileLock
from weft.store.migrations import SQLITE
from weft.store.packing import pack, unpack
from weft.store.rows import TURN_COLUMNS, TURN_JOINS, Params, Rows, checked_turns, iter_turns, statement
from weft.store.searching import check_hits, entry_text
from weft.store.sqlite_files import Readers, broken, migrate, open_writer, translated, version_of
from weft.store.sqlite_index import BATCH, Entry, SqliteIndex
from weft.store.writing import FRAME_INSERT, End, Writing

__all__ = ["SqliteFrames"]

_T = TypeVar("_T")
# CROSS JOIN is SQLite's way of saying: in this order. LIMIT: a chain longer than it says is damaged, see `walk`.
_WALK_CHAIN = statement(
    """
    WITH RECURSIVE walk (seq) AS (
        SELECT ?
        UNION ALL
        SELECT f.parent FROM walk CROSS JOIN frames f ON f.seq = walk.seq WHERE f.parent IS NOT NULL
        LIMIT ?
    )""",
    TURN_COLUMNS,
    "FROM walk CROSS JOIN frames f ON f.seq = walk.seq",
    TURN_JOINS,
)
_REACH = """
    WITH RECURSIVE walk (seq) AS (
        SELECT value FROM json_each(?)
        UNION
        SELECT f.parent FROM walk CROSS JOIN frames f ON f.seq = walk.seq WHERE f.parent IS NOT NULL
        UNION
        SELECT e.parent FROM walk CROSS JOIN edges e ON e.child = walk.seq
    )"""
_WALK_ALL = statement(_REACH, TURN_COLUMNS, "FROM walk CROSS JOIN frames f ON f.seq = walk.seq", TURN_JOINS)
_COUNT_REACH = statement(_REACH, "SELECT count(*), total(f.size) FROM walk CROSS JOIN frames f ON f.seq = walk.seq")
_DESCENDS = """
    WITH RECURSIVE walk (seq) AS (
        SELECT value FROM json_each(?1)
        UNION
        SELECT f.parent FROM walk CROSS JOIN frames f ON f.seq = walk.seq WHERE f.parent IS NOT NULL
        UNION
        SELECT e.parent FROM walk CROSS JOIN edges e ON e.child = walk.seq
    ) SELECT 1 FROM walk WHERE seq = ?2 LIMIT 1
"""
_CHAIN = """
    WITH RECURSIVE chain (i, seq) AS (
        SELECT 0, ?1
        UNION ALL
        SELECT c.i + 1, (
            SELECT f.seq FROM frames f
            WHERE substr(f.hash, 1, 8) = substr(?2, c.i * 32 + 1, 8) AND f.hash = substr(?2, c.i * 32 + 1, 32)
                AND f.parent IS c.seq AND substr(f.role, 1, 1) = substr(?3, c.i + 1, 1)
                AND f.flags & ?4 = 0 AND f.options IS NULL AND f.topic = 'gpt.turn'
            ORDER BY f.seq LIMIT 1
        ) AS found
        FROM chain c WHERE c.i < ?5 AND (c.i = 0 OR c.seq IS NOT NULL)
    ) SELECT seq FROM chain WHERE i > 0 AND seq IS NOT NULL ORDER BY i
"""
_INSERT_EMPTY = statement(FRAME_INSERT, "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)")
# One statement: whoever has the same bytes is looked up on the way, and the bytes are stored only if nobody has.
# Asking twice is cheaper than a join.
_SAME = "(SELECT seq FROM frames WHERE substr(hash, 1, 8) = substr(?15, 1, 8) AND hash = ?15 AND owner IS NULL)"
_INSERT = statement(
    FRAME_INSERT,
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,",
    _SAME,
    ", iif(",
    _SAME,
    "IS NULL, ?16, NULL))",
)
_NOT_PLAIN = Flag.CACHE | Flag.DOCUMENT | Flag.MANY | Flag.BROKEN | Flag.VERBATIM
_LOG = """
    SELECT f.seq, f.topic, f.role, b.name, f.flags, f.extra, f.hash, coalesce(f.data, o.data), f.parent
    FROM frames f LEFT JOIN frames o ON o.seq = f.owner LEFT JOIN bookmarks b ON b.number = f.head
    WHERE f.seq > ? ORDER BY f.seq LIMIT ?
"""
_LOG_BY_SEQ = """
    SELECT f.seq, f.id, f.role, b.name, f.flags, f.extra, f.hash, coalesce(f.data, o.data)
    FROM json_each(?) j CROSS JOIN frames f ON f.seq = j.value
    LEFT JOIN frames o ON o.seq = f.owner LEFT JOIN bookmarks b ON b.number = f.head
    WHERE f.topic = 'gpt.turn'
"""
_EDGES_OF = "SELECT child, parent FROM edges WHERE child > ? AND child <= ?"
_THREADS = """
    SELECT f.id, r.id, f.depth, f.bytes, m.names, b.name
    FROM json_each(?) j CROSS JOIN frames f ON f.seq = j.value LEFT JOIN frames r ON r.seq = f.root
    LEFT JOIN bookmarks b ON b.number = f.head LEFT JOIN model_sets m ON m.number = f.models
    ORDER BY f.seq DESC
"""
_SEQ_OF = "SELECT seq FROM frames WHERE id = ?"
_SEQS_OF = "SELECT id, seq FROM frames WHERE id IN (SELECT value FROM json_each(?))"
_IDS_OF = "SELECT seq, id FROM frames WHERE seq IN (SELECT value FROM json_each(?))"
_EVERY_TURN = "SELECT seq, id, parent FROM frames WHERE topic = 'gpt.turn' ORDER BY seq"
_ERA = "SELECT value FROM facts WHERE name = 'era'"
_FIRST_FROM = "SELECT seq FROM frames WHERE id >= ? ORDER BY id LIMIT 1"
_OUT_OF_ORDER = "SELECT 1 FROM facts WHERE name = 'out_of_order'"
_NUDGE_EVERY = BATCH
_END = 1 << 62
_COUNTED = (1 << 64) - 1


class _SqliteRows(Rows):
    """What SQLite says in its own words, for reading and for writing."""

    def _list(self, values: Sequence[Any]) -> str:
        return jsontext.dumps_text(values)

    def descends(self, starts: Sequence[int], ancestor: int) -> bool:
        """Tell whether `ancestor` is one of the turns, or an ancestor of one."""
        return self._one(_DESCENDS, (self._list(starts), ancestor)) is not None

    def walk(self, starts: Sequence[Spot]) -> list[TurnRow]:
        """Fetch every turn reachable from `starts` with its payload, in one query and no particular order."""
        found: list[Any] | None = None
        if len(starts) == 1 and starts[0].flags & Flag.LINEAR:
            found = self._all(_WALK_CHAIN, (starts[0].seq, starts[0].depth + 1))
            if len(found) != starts[0].depth:
                found = None  # not the chain it was: walk with care, whoever asked will see what is wrong
        if found is None:
            found = self._all(_WALK_ALL, (self._list([spot.seq for spot in starts]),))
        return checked_turns(found, self._file)

    def matching_chain(self, parent: int | None, wanted: Sequence[tuple[str, bytes]]) -> list[int]:
        """Find turns already there that continue `parent` with these roles and contents, as far as they go."""
        digests = b"".join([digest for _, digest in wanted])
        roles = "".join([role[:1] for role, _ in wanted])
        return [row[0] for row in self._all(_CHAIN, (parent, digests, roles, _NOT_PLAIN, len(wanted)))]


class _Writer(_SqliteRows, Writing):
    """The store inside one write.

    The transaction begins with the first statement, and an insert waits for the next one: so a write that turns out
    to be a single insert is a single statement, which is its own transaction.
    """

    def __init__(self, connection: sqlite3.Connection, content: ContentFolder, end: End | None) -> None:
        super().__init__(end)
        self._execute = connection.execute
        self._content = content
        self._waiting: tuple[str, tuple[Any, ...]] | None = None
        self._begun = False

    def _begin(self) -> None:
        if not self._begun:
            self._execute("BEGIN IMMEDIATE")
            self._begun = True
        if self._waiting is not None:
            (sql, row), self._waiting = self._waiting, None
            self._execute(sql, row)

    def _all(self, sql: str, params: Params) -> list[Any]:
        self._begin()
        return self._execute(_spelled(sql), params).fetchall()

    def _one(self, sql: str, params: Params = ()) -> Any:
        self._begin()
        return self._execute(sql, params).fetchone()

    def _run(self, sql: str, params: Params) -> None:
        self._begin()
        self._execute(sql, params)

    def _insert(self, row: tuple[Any, ...], digest: bytes | None, payload: bytes | None) -> None:
        if self._waiting is not None:
            self._begin()
        if digest is None:
            self._waiting = _INSERT_EMPTY, row
        else:
            self._waiting = _INSERT, (*row, digest, None if payload is None else pack(payload))

    def finish(self) -> None:
        """Bring everything to disk."""
        if self._begun:
            self._begin()
            self._execute("COMMIT")
        elif self._waiting is not None:
            self._execute(*self._waiting)

    def _file(self, digest: bytes) -> bytes:
        return self._content.get(digest)

    def _keep_file(self, digest: bytes, data: bytes) -> bool:
        self._content.put(digest, data)
        return True

    def _reach(self, seqs: Sequence[int]) -> tuple[int, int]:
        count, total = self._one(_COUNT_REACH, (jsontext.dumps_text(seqs),))
        return count, int(total)


class SqliteFrames(_SqliteRows):
    """A store in a folder."""

    def __init__(self, folder: str | os.PathLike[str], *, busy_seconds: float = 30.0, read_only: bool = False) -> None:
        """Open the folder, making it private if it is new and bringing its tables up to date."""
        self.folder = Path(folder)
        self.url = f"sqlite:///{self.folder}"
        self.path = self.folder / "weft.db"
        self.busy_seconds = busy_seconds
        self._read_only = read_only
        self._content = ContentFolder(self.folder / "content")
        self._lock = FileLock(self.folder / "weft.lock")
        self._mutex = threading.RLock()
        self._readers = Readers(self.path)
        self._writer: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._since_nudge = 0
        self._end: tuple[int, End] | None = None  # with the number of writes it is true for
        self.index = SqliteIndex(self.folder, self._entries, self._era)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"SqliteFrames({str(self.folder)!r})"

    # -- connections -----------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        if self.path.exists():
            # Looked at before it is touched: a newer file stays as it is, a current one may be read only.
            with self.reading() as connection:
                current = version_of(connection, self.path, len(SQLITE)) == len(SQLITE)
            if current:
                return
        elif self._read_only:
            raise StoreError(f"there is no store in {self.folder}")
        self._folder_made()
        with self._mutex, self._lock.held(self.busy_seconds):
            self._open_writer()
        self._content.sweep_temporary()

    def _folder_made(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be made: {error.strerror}") from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend this thread's own read-only connection; what goes wrong with it leaves as a StoreError."""
        if self._process != os.getpid():
            self._forget_after_fork()
        try:
            yield self._readers.mine()
        except sqlite3.Error as error:
            if broken(error):
                self._readers.drop_mine()
            raise translated(error, self.path) from error

    def _all(self, sql: str, params: Params) -> list[Any]:
        with self.reading() as connection:
            return connection.execute(_spelled(sql), params).fetchall()

    def _file(self, digest: bytes) -> bytes:
        return self._content.get(digest)

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            try:
                connection = open_writer(self.path, synchronous="FULL", busy_seconds=self.busy_seconds)
            except sqlite3.Error as error:
                raise translated(error, self.path) from error
            try:
                migrate(connection, self.path, SQLITE)
            except sqlite3.Error as error:
                connection.close()
                raise translated(error, self.path) from error
            except BaseException:
                connection.close()
                raise
            self._writer = connection
        return self._writer

    def write(self, work: Callable[[FrameWriter], _T]) -> _T:
        """Run `work` alone in the store, all of it or nothing; when this returns, it is on disk."""
        if self._read_only:
            raise StoreError(f"{self.folder} was opened for reading only")
        if self._process != os.getpid():
            self._forget_after_fork()
        with self._mutex:
            try:
                self._lock.acquire(self.busy_seconds)
            except OSError as error:
                raise StoreError(f"{self.folder} cannot be written: {error.strerror}") from error
            try:
                connection = self._writer or self._open_writer()
                # As long as nobody else writes, the end of the log is where we left it.
                number, known, self._end = self._lock.writes[0], self._end, None
                end = known[1] if known is not None and known[0] == number else None
                try:
                    writer, result = self._attempt(connection, work, end)
                except sqlite3.IntegrityError as error:
                    if end is None:
                        raise self._given_up(connection, error) from error
                    # Someone wrote without weft's lock, so the end has moved: look, and try again.
                    self._roll_back(connection)
                    writer, result = self._attempt(connection, work, None)
                self._lock.writes[0] = number + 1 & _COUNTED
                if writer.end is not None:
                    self._end = number + 1 & _COUNTED, writer.end
            finally:
                self._lock.release()
            self._since_nudge += len(writer.appended)
        if writer.removed:
            self.index.forget(writer.removed)
        if self._since_nudge >= _NUDGE_EVERY:
            self._since_nudge = 0
            self.index.nudge()
        return result

    def _attempt(
        self, connection: sqlite3.Connection, work: Callable[[FrameWriter], _T], end: End | None
    ) -> tuple[_Writer, _T]:
        try:
            writer = _Writer(connection, self._content, end)
            result = work(writer)
            writer.finish()
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, OSError) as error:
            raise self._given_up(connection, error) from error
        except BaseException:
            self._roll_back(connection)
            raise
        return writer, result

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _given_up(self, connection: sqlite3.Connection, error: sqlite3.Error | OSError) -> StoreError:
        """Undo a write; after trouble with the disk, do not trust the connection again [D-08]."""
        self._roll_back(connection)
        if isinstance(error, OSError):
            return StoreError(f"{self.folder} cannot be written: {error.strerror or error}")
        if broken(error):
            self._drop_writer()
        return translated(error, self.path)

    def _drop_writer(self) -> None:
        self._end = None
        if self._writer is not None:
            with contextlib.suppress(sqlite3.Error):
                self._writer.close()
            self._writer = None

    def _forget_after_fork(self) -> None:
        """Leave the parent's connections to the parent: SQLite's must not cross a fork, not even to be closed."""
        self._process = os.getpid()
        _left_behind.append(self._readers)
        if self._writer is not None:
            _left_behind.append(self._writer)
        self._readers, self._writer, self._end = Readers(self.path), None, None
        self._mutex = threading.RLock()
        self._lock = FileLock(self.folder / "weft.lock")
        _left_behind.append(self.index)
        self.index = SqliteIndex(self.folder, self._entries, self._era)

    def close(self) -> None:
        """Let go of files and connections. The store may be used again and opens by itself."""
        self.index.close()
        with self._mutex:
            self._readers.close()
            if self._writer is not None:
                # The last connection to close checkpoints, so it closes under the lock [D-12].
                with contextlib.suppress(StoreError), self._lock.held(self.busy_seconds):
                    self._drop_writer()
                self._drop_writer()
            self._lock.close()

    def chain(self, spot: Spot) -> Iterator[TurnRow]:
        """Go through a plain chain from its end, a row at a time, so that only one payload is in memory."""
        with self.reading() as connection:
            rows = connection.execute(_WALK_CHAIN, (spot.seq, spot.depth + 1))
            yield from iter_turns(rows, self._file)

    def ask(self, sql: str, params: Params = ()) -> list[Any]:
        """Run a statement of this room that only reads."""
        return self._all(sql, params)

    def every_turn(self) -> Iterator[tuple[int, str, int | None]]:
        """Go through (seq, id, first parent) of all turns, oldest first."""
        yield from self._all(_EVERY_TURN, ())

    # -- what the index knows --------------------------------------------------------------------------------

    def _era(self) -> str:
        row = self._one(_ERA)
        return str(row[0]) if row else ""

    def _entries(self, after: int, limit: int) -> tuple[int, list[Entry]]:
        """Read the log for the index: the last sequence number read, and its turns."""
        rows = self._all(_LOG, (after, limit))
        if not rows:
            return after, []
        last = rows[-1][0]
        more: dict[int, list[int]] = {}
        if any(row[4] & Flag.MANY for row in rows):
            for child, parent in self._all(_EDGES_OF, (after, last)):
                more.setdefault(child, []).append(parent)
        entries = []
        for seq, topic, role, head, flags, extra, digest, data, parent in rows:
            if topic != TURN:
                continue
            parents = ([] if parent is None else [parent]) + more.get(seq, [])
            payload = None if data is None else unpack(data)
            if flags & Flag.FILE:
                with contextlib.suppress(StoreError):  # missing: `check` says so, the others can still be found
                    payload = self._file(digest)
            entries.append(Entry(seq, parents, entry_text(role, head, flags, extra, payload)))
        return last, entries

    def tips(self, before_id: str | None, limit: int) -> list[ThreadRow]:
        """List ends of threads (turns nobody continues), newest first."""
        before = self._seq_of(before_id)
        if self.index.catch_up():
            seqs = self.index.tips(before, limit)
        else:
            seqs = sqlite_care.tips_without_index(self, before, limit)
        rows = self._all(_THREADS, (jsontext.dumps_text(seqs),))
        return [
            ThreadRow(end, root or end, depth, size, tuple(jsontext.loads(models)) if models else (), head)
            for end, root, depth, size, models, head in rows
        ]

    def children(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """List (parent, child) pairs of ids for every turn that continues one of `ids`."""
        seqs = dict(self._all(_SEQS_OF, (jsontext.dumps_text(ids),)))
        if self.index.catch_up():
            pairs = self.index.children(jsontext.dumps_text(list(seqs.values())))
        else:
            pairs = sqlite_care.children_without_index(self, set(seqs.values()))
        known = sorted({seq for pair in pairs for seq in pair})
        names = dict(self._all(_IDS_OF, (jsontext.dumps_text(known),)))
        return [(names[parent], names[child]) for parent, child in pairs if parent in names and child in names]

    def search(self, query: Query, limit: int) -> list[Hit]:
        """Find turns by their text, tool arguments and tool results, newest first."""
        before, not_before = self._seq_of(query.before_id), 0
        if query.since_id is not None and self._one(_OUT_OF_ORDER) is None:
            first = self._one(_FIRST_FROM, (query.since_id,))
            not_before = first[0] if first else _END
        if not self.index.catch_up():
            return sqlite_care.search_without_index(self, query, before, limit)
        hits: list[Hit] = []
        page = limit * 2 if query.phrases else limit
        while len(hits) < limit:
            found = self.index.match(query, before, not_before, page)
            hits += check_hits(query, self.texts_of(found), limit - len(hits))
            if len(found) < page:
                break
            before, page = found[-1], min(page * 2, 1000)
        return hits

    def texts_of(self, seqs: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Read rows for checking hits: id, role, head, flags, extra, payload."""
        rows = self._all(_LOG_BY_SEQ, (jsontext.dumps_text(seqs),))
        for _, turn_id, role, head, flags, extra, digest, data in rows:
            payload = self._file(digest) if flags & Flag.FILE else None if data is None else unpack(data)
            yield turn_id, role, head, flags, extra, payload

    def _seq_of(self, turn_id: str | None) -> int:
        row = None if turn_id is None else self._one(_SEQ_OF, (turn_id,))
        return row[0] if row else _END

    # -- care ------------------------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """Look for damage in everything that is kept."""
        return sqlite_care.check(self, self._content)

    def sweep(self, *, dry_run: bool) -> tuple[int, int]:
        """Remove files no frame names; give how many and how many bytes."""
        with self._mutex, self._lock.held(self.busy_seconds):
            return sqlite_care.sweep(self, self._content, dry_run=dry_run)

    def scrub(self) -> None:
        """Leave nothing of removed content in free pages, logs and the search index."""
        with self._mutex, self._lock.held(self.busy_seconds):
            connection = self._open_writer()
            try:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                raise translated(error, self.path) from error
        self.index.scrub()

    def backup(self, target: Path) -> None:
        """Copy the whole store, as of one moment, to a new folder while others write."""
        sqlite_care.backup(self, self._content, Path(target))

    def stats(self) -> StoreStats:
        """Count what is kept."""
        return sqlite_care.stats(self, self.path, len(SQLITE))


_left_behind: list[object] = []  # connections of a parent process: never closed, never used


@lru_cache(maxsize=256)
def _spelled(sql: str) -> str:
    return sql.replace("IN ?LIST", "IN (SELECT value FROM json_each(?))")
