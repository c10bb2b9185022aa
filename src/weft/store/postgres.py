"""Frames in PostgreSQL: one store for many people or machines.

The same tables and the same promises as SQLite's; everything is in the database, search included. Writes take turns
with an advisory lock held until they are committed, so ids grow across all clients. When the server goes away, a write
is tried again on a new connection, unless its commit may have happened: then the log is asked first [D-18].
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from weft import jsontext
from weft.errors import StoreBusyError, StoreError, UsageError, WeftError
from weft.store import postgres_care
from weft.store.base import FrameWriter, Hit, Problem, Query, Spot, StoreStats, ThreadRow, TurnRow
from weft.store.migrations import POSTGRES
from weft.store.postgres_rows import WALK_CHAIN, PostgresRows, spelled
from weft.store.rows import Params, iter_turns
from weft.store.searching import check_hits
from weft.store.writing import End

try:
    import psycopg
    from psycopg import errors as pg_errors
    from psycopg.pq import TransactionStatus

    from weft.store.postgres_index import PostgresIndex
    from weft.store.postgres_writing import LOCK_KEY, Moved, PostgresWriter
except ImportError as missing:  # pragma: no cover  # the extra is not installed
    raise UsageError("PostgreSQL needs the extra: pip install 'weft[postgres]'") from missing

__all__ = ["PostgresFrames"]

_T = TypeVar("_T")
_PATIENCE = 10.0  # seconds a lost server is waited for [D-18]
_COMING_OR_GOING = ("starting up", "shutting down", "recovery mode")  # what a server says that will be there soon

# Acknowledged means on disk, and each statement sees what was committed before it, whatever the server's own settings.
# And everything is found by an index, row by row: a plan that reads or joins whole tables, or compiles itself first,
# comes of missing statistics (a store just loaded).
_SETTINGS = """
    SELECT set_config('lock_timeout', %s, false), set_config('default_transaction_isolation', 'read committed', false),
        set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false),
        set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false),
        set_config('enable_mergejoin', 'off', false), set_config('jit', 'off', false)
"""
_ANALYSE_AFTER = 5000  # turns of one's own, if they are a fifth of the store: then its statistics are out of date
_TIPS = """
    SELECT f.id, r.id, f.depth, f.bytes, m.names, b.name
    FROM tips t JOIN frames f ON f.seq = t.seq LEFT JOIN frames r ON r.seq = f.root
    LEFT JOIN bookmarks b ON b.number = f.head LEFT JOIN model_sets m ON m.number = f.models
    WHERE t.seq < ? ORDER BY t.seq DESC LIMIT ?
"""
_CHILDREN = """
    SELECT p.id, c.id FROM frames p JOIN LATERAL (
        SELECT f.seq FROM frames f WHERE f.parent = p.seq UNION SELECT e.child FROM edges e WHERE e.parent = p.seq
    ) l ON true JOIN frames c ON c.seq = l.seq WHERE p.id IN ?LIST ORDER BY p.seq, c.seq
"""
_SEARCH = """
    SELECT DISTINCT seq FROM words WHERE doc @@ ?::tsquery AND seq < ? ORDER BY seq DESC LIMIT ?
"""
_ROWS_AT = """
    SELECT f.seq, f.id, f.role, b.name, f.flags, f.extra, coalesce(f.data, o.data)
    FROM frames f LEFT JOIN frames o ON o.seq = f.owner LEFT JOIN bookmarks b ON b.number = f.head
    WHERE f.seq IN ?LIST ORDER BY f.seq DESC
"""
_ROWS_FROM = """
    SELECT f.seq, f.id, f.role, b.name, f.flags, f.extra, coalesce(f.data, o.data)
    FROM frames f LEFT JOIN frames o ON o.seq = f.owner LEFT JOIN bookmarks b ON b.number = f.head
    WHERE f.seq > ? AND f.seq < ? AND f.topic = 'gpt.turn' ORDER BY f.seq DESC
"""
_SEQ_OF = "SELECT seq FROM frames WHERE id = ?"
_EVERY_TURN = "SELECT seq, id, parent FROM frames WHERE topic = 'gpt.turn' ORDER BY seq"
_END = (1 << 62) - 1
# What the server, or the network, says when it went away; the connection is gone with it.
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)
_NOT_ALLOWED = (pg_errors.InsufficientPrivilege, pg_errors.ReadOnlySqlTransaction, pg_errors.LockNotAvailable)


class _Known:
    """What a connection's last write left behind: where the log ended then, and the numbers of bookmarks."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self.cursor = cursor
        self.numbers: dict[str, int] = {}
        self._end: End | None = None
        self._seq: int | None = None

    def take_end(self) -> End | None:
        """Give the end of the log if it is likely to be there still; a write changes it, so it is gone from here."""
        end, self._end = self._end, None
        return end

    def keep(self, writer: PostgresWriter) -> None:
        """Remember what a write that is on disk knew; where others have written in between, they will again."""
        self.numbers |= writer.learned
        is_alone = writer.found_seq is None or self._seq in (None, writer.found_seq)
        self._end = writer.end if is_alone else None
        self._seq = None if writer.end is None else writer.end.seq


class PostgresFrames(PostgresRows):
    """A store in a PostgreSQL database."""

    folder: Path | None = None

    def __init__(self, url: str, *, busy_seconds: float = 30.0, read_only: bool = False) -> None:
        """Connect, and bring the tables up to date."""
        self.url = url
        self.busy_seconds = busy_seconds
        self._read_only = read_only
        self._local = threading.local()
        self._connections: list[psycopg.Connection[Any]] = []
        self._mutex = threading.Lock()
        self._process = os.getpid()
        self._since_analysed = 0
        self._index = PostgresIndex(self._connect, self._drop)
        self._reached = False  # a server that was never reached is a wrong address, not one to wait for
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"PostgresFrames({postgres_care.without_password(self.url)!r})"

    # -- connections -----------------------------------------------------------------------------------------

    def _connect(self) -> psycopg.Connection[Any]:
        if self._process != os.getpid():  # a connection must not cross a fork
            self._process, self._local, self._connections = os.getpid(), threading.local(), []
        connection: psycopg.Connection[Any] | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            try:
                connection = psycopg.connect(self.url, autocommit=True, connect_timeout=10, application_name="weft")
            except UnicodeError as error:
                raise UsageError(f"not a usable address: {error}") from error
            milliseconds = max(1, int(self.busy_seconds * 1000))
            connection.execute(_SETTINGS, (f"{milliseconds}ms",))
            self._local.connection, self._local.known = connection, _Known(connection.cursor())
            self._reached = True
            with self._mutex:
                self._connections.append(connection)
        return connection

    def _drop(self) -> None:
        connection: psycopg.Connection[Any] | None = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()
            with self._mutex:
                if connection in self._connections:
                    self._connections.remove(connection)

    def _all(self, sql: str, params: Params, *, prepare: bool = True) -> list[Any]:
        return self._patiently(lambda: self._connect().execute(spelled(sql), params, prepare=prepare).fetchall())

    def _patiently(self, work: Callable[[], _T]) -> _T:
        """Try again for a while when the server goes away: reading twice does no harm."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return work()
            except _LOST as error:
                self._lost(error, deadline)
            except psycopg.Error as error:
                raise self._translated(error) from error

    def _lost(self, error: psycopg.Error, deadline: float) -> None:
        """Wait a little before the next try, or give up with a reason."""
        if isinstance(error, (pg_errors.InsufficientPrivilege, pg_errors.ReadOnlySqlTransaction)):
            raise self._translated(error) from error
        self._drop()
        is_there = self._reached or any(words in str(error) for words in _COMING_OR_GOING)
        if not is_there or time.monotonic() > deadline:
            raise self._translated(error) from error
        time.sleep(0.1)

    def _translated(self, error: psycopg.Error) -> StoreError:
        where = postgres_care.without_password(self.url)
        said = " ".join(str(error).split())
        if isinstance(error, pg_errors.LockNotAvailable):
            return StoreBusyError(f"another client is writing to {where}")
        if isinstance(error, (pg_errors.ReadOnlySqlTransaction, pg_errors.InsufficientPrivilege)):
            return StoreError(f"{where} cannot be written: {said}")
        return StoreError(f"{where}: {said}")

    def _migrate(self) -> None:
        known = len(POSTGRES)
        version = self._patiently(lambda: postgres_care.version(self._connect()))
        if version > known:
            raise StoreError(
                f"{postgres_care.without_password(self.url)} was written by a newer weft (store version {version}, "
                f"this one knows {known}); it is left untouched: upgrade weft to use it"
            )
        if version == known:
            return
        if self._read_only:
            raise StoreError(f"there is no current store in {postgres_care.without_password(self.url)}")
        self._patiently(lambda: postgres_care.migrate(self._connect(), POSTGRES, LOCK_KEY))

    def write(self, work: Callable[[FrameWriter], _T]) -> _T:
        """Run `work` alone in the store, all of it or nothing; when this returns, it is on disk."""
        if self._read_only:
            raise StoreError(f"{postgres_care.without_password(self.url)} was opened for reading only")
        deadline = time.monotonic() + _PATIENCE
        is_guessing = True
        in_doubt: str | None = None  # a frame whose commit was not answered
        result: Any = None
        while True:
            writer: PostgresWriter | None = None
            is_committing = False
            try:
                self._connect()
                known: _Known = self._local.known
                writer = PostgresWriter(known.cursor, known.take_end() if is_guessing else None, known.numbers)
                if not writer.is_guess:
                    writer.begin()  # alone from here on, whatever `work` looks at
                if in_doubt is not None and writer.is_there(in_doubt):
                    self._roll_back()
                    return result  # type: ignore[no-any-return]  # what `work` gave
                result = work(writer)
                is_committing = True
                writer.finish()
            except Moved:
                self._roll_back()
            except _LOST as error:
                self._roll_back()
                if isinstance(error, pg_errors.LockNotAvailable):
                    raise self._translated(error) from error
                # The commit may have happened before its answer was lost; the log knows, once we are alone in it.
                if is_committing and writer is not None and writer.appended:
                    in_doubt = writer.appended[0]
                self._lost(error, deadline)
            except psycopg.Error as error:
                self._roll_back()
                raise self._translated(error) from error
            except BaseException as error:
                self._roll_back()
                if not (isinstance(error, WeftError) and writer is not None and writer.is_guess):
                    raise
                # What was refused on old knowledge may be right: ask.
            else:
                known.keep(writer)
                self._count(len(writer.appended), writer.end)
                return result  # type: ignore[no-any-return]  # what `work` gave
            is_guessing = False

    def _count(self, appended: int, end: End | None) -> None:
        """After much was written, have its words taken in, and the server's statistics brought up to date.

        The server would do the latter by itself a minute later.
        """
        self._index.count(appended)
        self._since_analysed += appended
        if self._since_analysed >= _ANALYSE_AFTER and end is not None and self._since_analysed * 5 >= end.seq:
            self._since_analysed = 0
            with suppress(psycopg.Error):  # the turns are on disk; a server that is slow, or refuses, does it later
                self._connect().execute("ANALYZE frames, words, tips")

    def _roll_back(self) -> None:
        connection: psycopg.Connection[Any] | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed or connection.info.transaction_status == TransactionStatus.IDLE:
            return
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self._drop()

    def close(self) -> None:
        """Let go of the connections. The store may be used again and connects by itself."""
        self._index.join()
        with self._mutex:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()

    # -- asking ----------------------------------------------------------------------------------------------

    def chain(self, spot: Spot) -> Iterator[TurnRow]:
        """Go through a plain chain from its end."""
        return iter_turns(self._all(WALK_CHAIN, (spot.seq, spot.depth + 1)), self._file)

    def ask(self, sql: str, params: Params = ()) -> list[Any]:
        """Run a statement of this room that only reads."""
        return self._all(sql, params)

    def every_turn(self) -> Iterator[tuple[int, str, int | None]]:
        """Go through (seq, id, first parent) of all turns, oldest first."""
        yield from self._all(_EVERY_TURN, ())

    def tips(self, before_id: str | None, limit: int) -> list[ThreadRow]:
        """List ends of threads (turns nobody continues), newest first."""
        return [
            ThreadRow(end, root or end, depth, size, tuple(jsontext.loads(models)) if models else (), head)
            for end, root, depth, size, models, head in self._all(_TIPS, (self._seq_of(before_id), limit))
        ]

    def children(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """List (parent, child) pairs of ids for every turn that continues one of `ids`."""
        return [(row[0], row[1]) for row in self._all(_CHILDREN, (list(ids),))]

    def search(self, query: Query, limit: int) -> list[Hit]:
        """Find turns by their text, tool arguments and tool results, newest first."""
        before = self._seq_of(query.before_id)
        done, hits = self._caught_up(), list[Hit]()
        if done is not None:  # what has no words yet is read
            hits += check_hits(query, (row[1:] for row in self._all(_ROWS_FROM, (done, before))), limit)
            before = min(before, done + 1)
        page = limit * 2 if query.phrases or query.since_id or query.until_id else limit
        wanted = postgres_care.query_text(query)
        while len(hits) < limit:
            # Planned anew each time: the way to a rare word is not the way to a common one.
            found = [row[0] for row in self._all(_SEARCH, (wanted, before, page), prepare=False)]
            rows = (row[1:] for row in self._all(_ROWS_AT, (found,)))
            hits += check_hits(query, ((i, role, head, f, e, d) for i, role, head, f, e, d in rows), limit - len(hits))
            if len(found) < page:
                break
            before, page = found[-1], min(page * 2, 1000)
        return hits

    def _caught_up(self) -> int | None:
        """Have all words taken in; where that is not allowed, give the number up to which they are."""
        if not self._read_only:
            try:
                self._patiently(self._index.catch_up)
            except StoreError as error:
                if not isinstance(error.__cause__, _NOT_ALLOWED):
                    raise
            else:
                return None
        done, last = self._patiently(self._index.lag)
        return None if done >= last else done

    def _seq_of(self, turn_id: str | None) -> int:
        row = None if turn_id is None else self._one(_SEQ_OF, (turn_id,))
        return row[0] if row else _END

    # -- care ------------------------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """Look for damage in everything that is kept."""
        from weft.store.exchange_care import check_exchanges  # noqa: PLC0415  # only care needs it

        return [*postgres_care.check(self.ask), *check_exchanges(self)]

    def sweep(self, *, dry_run: bool) -> tuple[int, int]:
        """There are no files beside the database."""
        del dry_run
        return 0, 0

    def scrub(self) -> None:
        """Leave nothing of removed content in the tables' files."""
        self._patiently(lambda: postgres_care.scrub(self._connect()))

    def backup(self, target: Path) -> None:
        """Copy the whole store, as of one moment, to a SQLite folder."""
        raise UsageError(
            f"a PostgreSQL store is backed up with its own tools: pg_dump {postgres_care.without_password(self.url)} "
            f"> {target}"
        )

    def stats(self) -> StoreStats:
        """Count what is kept."""
        return postgres_care.stats(self, len(POSTGRES))
