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
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from weft import jsontext
from weft.errors import StoreBusyError, StoreError, UsageError
from weft.store import postgres_care
from weft.store.base import TURN, Draft, Flag, FrameWriter, Hit, Problem, Query, Spot, StoreStats, ThreadRow, TurnRow
from weft.store.migrations import POSTGRES
from weft.store.rows import TURN_COLUMNS, TURN_JOINS, Params, Rows, checked_turns, iter_turns, statement
from weft.store.searching import check_hits, entry_text
from weft.store.writing import FRAME_INSERT, OWNER, Writing

try:
    import psycopg
    from psycopg import errors as pg_errors
except ImportError as missing:  # pragma: no cover  # the extra is not installed
    raise UsageError("PostgreSQL needs the extra: pip install 'weft[postgres]'") from missing

__all__ = ["PostgresFrames"]

_T = TypeVar("_T")
_LOCK_KEY = 0x77656674  # "weft": one lock a database
_BEGIN_ALONE = "BEGIN; SELECT pg_advisory_xact_lock(2003134068)"  # that key, in one round trip
_PATIENCE = 10.0  # seconds a lost server is waited for [D-18]
_COMING_OR_GOING = ("starting up", "shutting down", "recovery mode")  # what a server says that will be there soon
_PART = 200_000  # characters of text in one tsvector, which holds 1 MB

_REACH = """
    WITH RECURSIVE walk (seq) AS (
        SELECT unnest(?::bigint[])
        UNION
        SELECT p.parent FROM walk JOIN LATERAL (
            SELECT f.parent FROM frames f WHERE f.seq = walk.seq AND f.parent IS NOT NULL
            UNION ALL
            SELECT e.parent FROM edges e WHERE e.child = walk.seq
        ) p ON true
    )"""
_WALK_CHAIN = statement(
    """
    WITH RECURSIVE walk (seq, n) AS (
        SELECT ?::bigint, 1
        UNION ALL
        SELECT f.parent, walk.n + 1 FROM walk JOIN frames f ON f.seq = walk.seq
        WHERE f.parent IS NOT NULL AND walk.n < ?
    )""",
    TURN_COLUMNS,
    "FROM walk JOIN frames f ON f.seq = walk.seq",
    TURN_JOINS,
    "ORDER BY walk.n",
)
_WALK_ALL = statement(_REACH, TURN_COLUMNS, "FROM walk JOIN frames f ON f.seq = walk.seq", TURN_JOINS)
_COUNT_REACH = statement(
    _REACH, "SELECT count(*), coalesce(sum(f.size), 0) FROM walk JOIN frames f ON f.seq = walk.seq"
)
_DESCENDS = statement(_REACH, "SELECT 1 FROM walk WHERE seq = ? LIMIT 1")
_CHAIN = """
    WITH RECURSIVE chain (i, seq) AS (
        SELECT 0, ?::bigint
        UNION ALL
        SELECT c.i + 1, (
            SELECT f.seq FROM frames f
            WHERE substr(f.hash, 1, 8) = substr(?::bytea, c.i * 32 + 1, 8)
                AND f.hash = substr(?::bytea, c.i * 32 + 1, 32)
                AND f.parent IS NOT DISTINCT FROM c.seq AND substr(f.role, 1, 1) = substr(?::text, c.i + 1, 1)
                AND f.flags & ? = 0 AND f.options IS NULL AND f.topic = 'gpt.turn'
            ORDER BY f.seq LIMIT 1
        )
        FROM chain c WHERE c.i < ? AND (c.i = 0 OR c.seq IS NOT NULL)
    ) SELECT seq FROM chain WHERE i > 0 AND seq IS NOT NULL ORDER BY i
"""
_NOT_PLAIN = Flag.CACHE | Flag.DOCUMENT | Flag.MANY | Flag.BROKEN | Flag.VERBATIM
_INSERT = statement(FRAME_INSERT, "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
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
    SELECT DISTINCT seq FROM words WHERE doc @@ to_tsquery('simple', ?) AND seq < ? ORDER BY seq DESC LIMIT ?
"""
_ROWS_AT = """
    SELECT f.seq, f.id, f.role, b.name, f.flags, f.extra, coalesce(f.data, o.data)
    FROM frames f LEFT JOIN frames o ON o.seq = f.owner LEFT JOIN bookmarks b ON b.number = f.head
    WHERE f.seq IN ?LIST ORDER BY f.seq DESC
"""
_SEQ_OF = "SELECT seq FROM frames WHERE id = ?"
_EVERY_TURN = "SELECT seq, id, parent FROM frames WHERE topic = 'gpt.turn' ORDER BY seq"
_IS_THERE = "SELECT 1 FROM frames WHERE id = ?"
_ADD_WORDS = """
    INSERT INTO words (seq, part, doc) VALUES (?, ?, to_tsvector('simple', ?))
    ON CONFLICT (seq, part) DO UPDATE SET doc = excluded.doc
"""
_ADD_TIP = "INSERT INTO tips (seq) VALUES (?)"
_DROP_TIPS = "DELETE FROM tips WHERE seq IN ?LIST"
_TIPS_AGAIN = """
    INSERT INTO tips (seq) SELECT p.seq FROM frames p WHERE p.seq IN ?LIST AND p.topic = 'gpt.turn'
        AND NOT EXISTS (SELECT 1 FROM frames f WHERE f.parent = p.seq)
        AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.parent = p.seq)
    ON CONFLICT DO NOTHING
"""
_PARENTS_OF = """
    SELECT parent FROM frames WHERE seq IN ?LIST AND parent IS NOT NULL
    UNION SELECT parent FROM edges WHERE child IN ?LIST
"""
_DROP_WORDS = "DELETE FROM words WHERE seq = ?"
_INDEXED_ROW = """
    SELECT f.role, b.name, f.flags, f.extra FROM frames f LEFT JOIN bookmarks b ON b.number = f.head WHERE f.seq = ?
"""
_END = (1 << 62) - 1
# What the server, or the network, says when it went away; the connection is gone with it.
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)


class _PostgresRows(Rows):
    """What PostgreSQL says in its own words, for reading and for writing."""

    def _list(self, values: Sequence[Any]) -> list[Any]:
        return list(values)

    def descends(self, starts: Sequence[int], ancestor: int) -> bool:
        """Tell whether `ancestor` is one of the turns, or an ancestor of one."""
        return self._one(_DESCENDS, (list(starts), ancestor)) is not None

    def walk(self, starts: Sequence[Spot]) -> list[TurnRow]:
        """Fetch every turn reachable from `starts` with its payload, in one query and no particular order."""
        found: list[Any] | None = None
        if len(starts) == 1 and starts[0].flags & Flag.LINEAR:
            found = self._all(_WALK_CHAIN, (starts[0].seq, starts[0].depth + 1))
            if len(found) != starts[0].depth:
                found = None
        if found is None:
            found = self._all(_WALK_ALL, ([spot.seq for spot in starts],))
        return checked_turns(found, self._file)

    def matching_chain(self, parent: int | None, wanted: Sequence[tuple[str, bytes]]) -> list[int]:
        """Find turns already there that continue `parent` with these roles and contents, as far as they go."""
        digests = b"".join([digest for _, digest in wanted])
        roles = "".join([role[:1] for role, _ in wanted])
        found = self._all(_CHAIN, (parent, digests, digests, roles, _NOT_PLAIN, len(wanted)))
        return [row[0] for row in found]


class _Writer(_PostgresRows, Writing):
    """The store inside one write."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        super().__init__(None)
        self._connection = connection

    def _all(self, sql: str, params: Params) -> list[Any]:
        return self._connection.execute(_spelled(sql), params, prepare=True).fetchall()

    def _run(self, sql: str, params: Params) -> None:
        self._connection.execute(_spelled(sql), params, prepare=True)

    def _insert(self, row: tuple[Any, ...], digest: bytes | None, payload: bytes | None) -> None:
        owner = None if digest is None else self._one(OWNER, (digest[:8], digest))
        self._run(_INSERT, (*row, digest, owner[0] if owner else None, None if owner else payload))
        if row[2] == TURN:
            self._index(row[0], row[5], row[4], row[13], payload, head=row[6])

    def append(self, draft: Draft) -> tuple[str, int, bytes | None]:
        """Add a frame, and what is built from it."""
        frame_id, seq, digest = super().append(draft)
        if draft.topic == TURN:
            if draft.parents:
                self._run(_DROP_TIPS, ([parent.seq for parent in draft.parents],))
            self._run(_ADD_TIP, (seq,))
        return frame_id, seq, digest

    def relink(self, link: Any) -> None:
        """Store where an unresolved entry leads now."""
        super().relink(link)
        self._run(_DROP_TIPS, ([link.parent],))

    def remove(self, seqs: Sequence[int]) -> None:
        """Take turns out of the log; those they continued may be ends of threads again."""
        parents = [row[0] for row in self._all(_PARENTS_OF, (list(seqs), list(seqs)))]
        super().remove(seqs)
        self._run(_TIPS_AGAIN, (parents,))

    def rewrite(self, seq: int, payload: bytes | None, meta: dict[str, Any]) -> None:
        """Put other content into a frame, and into the search."""
        super().rewrite(seq, payload, meta)
        self._run(_DROP_WORDS, (seq,))
        role, head, flags, extra = self._one(_INDEXED_ROW, (seq,))
        self._index(seq, role, flags, extra, payload, name=head)

    def _index(
        self,
        seq: int,
        role: str,
        flags: int,
        extra: str | None,
        payload: bytes | None,
        *,
        head: int | None = None,
        name: str | None = None,
    ) -> None:
        if head is not None:
            name = self._one("SELECT name FROM bookmarks WHERE number = ?", (head,))[0]
        for part, text in enumerate(_parts(entry_text(role, name, flags, extra, payload))):
            self._run(_ADD_WORDS, (seq, part, text))

    def _reach(self, seqs: Sequence[int]) -> tuple[int, int]:
        count, total = self._one(_COUNT_REACH, (list(seqs),))
        return count, int(total)


class PostgresFrames(_PostgresRows):
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
            connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{milliseconds}ms",))
            self._local.connection = connection
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

    def _all(self, sql: str, params: Params) -> list[Any]:
        return self._patiently(lambda: self._connect().execute(_spelled(sql), params, prepare=True).fetchall())

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
        self._patiently(lambda: postgres_care.migrate(self._connect(), POSTGRES, _LOCK_KEY))

    def write(self, work: Callable[[FrameWriter], _T]) -> _T:
        """Run `work` alone in the store, all of it or nothing; when this returns, it is on disk."""
        if self._read_only:
            raise StoreError(f"{postgres_care.without_password(self.url)} was opened for reading only")
        deadline = time.monotonic() + _PATIENCE
        while True:
            appended: list[str] = []
            result: Any = None
            is_committing = False
            try:
                connection = self._connect()
                connection.execute(_BEGIN_ALONE)
                writer = _Writer(connection)
                result = work(writer)
                appended = writer.appended
                is_committing = True
                connection.execute("COMMIT")
            except _LOST as error:
                self._roll_back()
                if isinstance(error, pg_errors.LockNotAvailable):
                    raise self._translated(error) from error
                self._lost(error, deadline)
                # The commit may have happened before its answer was lost; the log knows.
                if is_committing and appended and self._one(_IS_THERE, (appended[0],)) is not None:
                    return result  # type: ignore[no-any-return]  # what `work` gave
            except psycopg.Error as error:
                self._roll_back()
                raise self._translated(error) from error
            except BaseException:
                self._roll_back()
                raise
            else:
                return result  # type: ignore[no-any-return]  # what `work` gave

    def _roll_back(self) -> None:
        connection: psycopg.Connection[Any] | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            return
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self._drop()

    def close(self) -> None:
        """Let go of the connections. The store may be used again and connects by itself."""
        with self._mutex:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()

    # -- asking ----------------------------------------------------------------------------------------------

    def chain(self, spot: Spot) -> Iterator[TurnRow]:
        """Go through a plain chain from its end."""
        return iter_turns(self._all(_WALK_CHAIN, (spot.seq, spot.depth + 1)), self._file)

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
        before, hits = self._seq_of(query.before_id), list[Hit]()
        page = limit * 2 if query.phrases or query.since_id or query.until_id else limit
        wanted = postgres_care.query_text(query)
        while len(hits) < limit:
            found = [row[0] for row in self._all(_SEARCH, (wanted, before, page))]
            rows = (row[1:] for row in self._all(_ROWS_AT, (found,)))
            hits += check_hits(query, ((i, role, head, f, e, d) for i, role, head, f, e, d in rows), limit - len(hits))
            if len(found) < page:
                break
            before, page = found[-1], min(page * 2, 1000)
        return hits

    def _seq_of(self, turn_id: str | None) -> int:
        row = None if turn_id is None else self._one(_SEQ_OF, (turn_id,))
        return row[0] if row else _END

    # -- care ------------------------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """Look for damage in everything that is kept."""
        return postgres_care.check(self.ask)

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


@lru_cache(maxsize=256)
def _spelled(sql: str) -> Any:
    """Spell a statement as psycopg reads it."""
    return sql.replace("%", "%%").replace("IN ?LIST", "= ANY(%s)").replace("?", "%s").encode()


def _parts(text: str) -> Iterator[str]:
    """Cut a text for its tsvectors, between words."""
    start = 0
    while start < len(text):
        end = start + _PART
        if end < len(text):
            end = text.rfind(" ", start, end) + 1 or end
        yield postgres_care.words_of(text[start:end])
        start = end
