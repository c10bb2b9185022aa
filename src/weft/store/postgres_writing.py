"""One write to PostgreSQL, in as few round trips as it can be.

Every write adds a frame under the next sequence number, so a client that was the last to write knows where the log
ends without asking, and the unique index on that number tells it if it was wrong. A turn that continues one of its
last turns is therefore a single statement, which is its own transaction: it takes the lock, and does nothing if the
number is taken (`Moved`: then the write is done again, asking first). Anything else begins a transaction, takes the
lock and reads where the log ends in its first round trip, and writes and commits in its last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.types.numeric import Int8

from weft.errors import StoreError
from weft.store.base import TURN, Draft
from weft.store.postgres_index import ADD_WORDS, HOLD, word_parts
from weft.store.postgres_rows import REACH, PostgresRows, spelled
from weft.store.rows import Params, statement
from weft.store.searching import entry_text
from weft.store.writing import FRAME_INSERT, End, Writing

__all__ = ["LOCK_KEY", "Moved", "PostgresWriter"]

LOCK_KEY = 0x77656674  # "weft", 2003134068: one lock a database
_BATCH = 200  # frames on their way at once

_END = """
    SELECT (SELECT max(seq) FROM frames), f.id, CASE f.topic WHEN 'gpt.turn' THEN f.seq ELSE f.root END
    FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT seq, id, topic, root FROM frames ORDER BY id DESC LIMIT 1) f ON true
"""
_BEGIN_ALONE = statement("BEGIN; SELECT pg_advisory_xact_lock(2003134068);", _END)
# The bytes are stored only if no frame has the same. What the statement sees is older than the lock it takes; that is
# of no harm, because nothing is written unless the log is still the one the client knows.
_ADD_FRAME = statement(
    """
    WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock(2003134068)),
    same AS MATERIALIZED (
        SELECT seq FROM frames
        WHERE substr(hash, 1, 8) = substr(%(hash)s::bytea, 1, 8) AND hash = %(hash)s::bytea AND owner IS NULL LIMIT 1
    ),
    added AS (""",
    FRAME_INSERT,
    """
        SELECT %(seq)s::bigint, %(id)s::text, %(topic)s::text, %(parent)s::bigint, %(flags)s::integer, %(role)s::text,
            %(head)s::integer, %(root)s::bigint, %(depth)s::bigint, %(size)s::bigint, %(bytes)s::bigint,
            %(models)s::integer, %(options)s::text, %(extra)s::text, %(hash)s::bytea, (SELECT seq FROM same),
            CASE WHEN EXISTS (SELECT FROM same) THEN NULL ELSE %(data)s::bytea END
        FROM alone
        ON CONFLICT (seq) DO NOTHING RETURNING seq
    )""",
)
# A turn is the end of a thread, and the one it continues no longer is; it takes its bookmark along.
_ADD_TURN = statement(
    _ADD_FRAME,
    """,
    begun AS (DELETE FROM tips WHERE seq = %(parent)s::bigint AND EXISTS (SELECT FROM added)),
    ended AS (INSERT INTO tips (seq) SELECT seq FROM added),
    moved AS (UPDATE bookmarks SET seq = added.seq FROM added WHERE number = %(carried)s::integer)
    SELECT seq FROM added""",
).encode()
_ADD_OTHER = statement(_ADD_FRAME, "SELECT seq FROM added").encode()
_NAMES = ("seq", "id", "topic", "parent", "flags", "role", "head", "root", "depth", "size", "bytes", "models")
_COUNT_REACH = statement(REACH, "SELECT count(*), coalesce(sum(f.size), 0) FROM walk JOIN frames f ON f.seq = walk.seq")
_IS_THERE = "SELECT 1 FROM frames WHERE id = ?"
_DROP_WORDS = "DELETE FROM words WHERE seq = ?"
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
_INDEXED_ROW = """
    SELECT f.role, b.name, f.flags, f.extra FROM frames f LEFT JOIN bookmarks b ON b.number = f.head WHERE f.seq = ?
"""


class Moved(Exception):  # noqa: N818  # not an error: the write is done again
    """Somebody else has written since, so what was known of the log's end is not true any more."""


class PostgresWriter(PostgresRows, Writing):
    """The store inside one write. `end` is what is believed of the log's end, or None to ask."""

    def __init__(self, cursor: psycopg.Cursor[Any], end: End | None, numbers: dict[str, int]) -> None:
        """Begin with what is believed; `numbers` are those of bookmarks, which never change."""
        super().__init__(end)
        self.learned: dict[str, int] = {}  # numbers of bookmarks, true once this is committed
        self.found_seq: int | None = None  # the last number of the log, if it was asked for
        self._cursor = cursor
        self._connection = cursor.connection
        self._believed = None if end is None else end.seq
        self._numbers = numbers
        self._carried: int | None = None
        self._waiting: list[tuple[bytes, dict[str, Any]]] = []

    @property
    def is_guess(self) -> bool:
        """Tell whether everything so far rests on what was believed."""
        return self._believed is not None and self.found_seq is None

    # -- statements ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin alone and see where the log ends, in one round trip; then write what was waiting."""
        if self.found_seq is None:
            cursor = self._connection.execute(_BEGIN_ALONE.encode())
            while cursor.nextset():
                pass
            end = _end_of(cursor.fetchone())
            self.found_seq = end.seq
            if self._believed is None:
                self.end = end
            elif self._believed != end.seq:
                raise Moved
        if self._waiting:
            self._flush()

    def _flush(self, *, commit: bool = False) -> None:
        """Send the frames that wait, and the end of the transaction, in one round trip."""
        waiting, self._waiting = self._waiting, []
        with self._connection.pipeline():
            added = [self._connection.execute(sql, row, prepare=True) for sql, row in waiting]
            if commit:
                self._connection.execute(b"COMMIT")
        if not all(cursor.fetchone() for cursor in added):
            raise StoreError("a sequence number of the log was taken by a program that does not keep weft's lock")

    def _all(self, sql: str, params: Params) -> list[Any]:
        self.begin()
        return self._connection.execute(spelled(sql), params, prepare=True).fetchall()

    def _run(self, sql: str, params: Params) -> None:
        self.begin()
        self._connection.execute(spelled(sql), params, prepare=True)

    def run_many(self, sql: str, rows: Sequence[Params]) -> None:
        """Run a statement for each of many rows, without waiting for each."""
        self.begin()
        with self._connection.cursor() as cursor:
            cursor.executemany(spelled(sql), rows)

    def _read_end(self) -> End:
        if self.found_seq is None:
            self.begin()
            if self.end is not None:
                return self.end
        return _end_of(self._one(_END))

    def finish(self) -> None:
        """Bring everything to disk; Moved if that cannot be, because of others."""
        if self.found_seq is not None:
            self._flush(commit=True)
        elif len(self._waiting) == 1:
            sql, row = self._waiting[0]
            if self._cursor.execute(sql, row, prepare=True).fetchone() is None:
                raise Moved
        elif self._waiting:
            self.begin()
            self._flush(commit=True)
        elif self._believed is not None:
            raise Moved  # only looked, at what may be old

    def is_there(self, frame_id: str) -> bool:
        """Tell whether a frame is in the log: also one whose commit was not answered, since we are alone now."""
        return self._one(_IS_THERE, (frame_id,)) is not None

    # -- frames ----------------------------------------------------------------------------------------------

    def _insert(self, row: tuple[Any, ...], digest: bytes | None, payload: bytes | None) -> None:
        # Int8: a statement is prepared once for each combination of types, and small numbers have smaller types.
        named = {
            name: Int8(value) if value.__class__ is int else value for name, value in zip(_NAMES, row, strict=False)
        }
        named |= {"options": row[12], "extra": row[13], "hash": digest, "data": payload}
        if row[2] != TURN:
            self._waiting.append((_ADD_OTHER, named))
        else:
            carried, self._carried = self._carried, None
            named["carried"] = None if carried is None else Int8(carried)
            self._waiting.append((_ADD_TURN, named))
        if len(self._waiting) >= _BATCH:
            self.begin()

    def _carry(self, name: str, seq: int, frame_id: str, *, is_native: bool) -> int:
        number = self._numbers.get(name) or self.learned.get(name)
        if number is not None and is_native:
            self._carried = number  # moved with the insert
        else:
            number = self.learned[name] = super()._carry(name, seq, frame_id, is_native=is_native)
        return number

    def append(self, draft: Draft) -> tuple[str, int, bytes | None]:
        """Add a frame, and what is built from it."""
        done = super().append(draft)
        if len(draft.parents) > 1:
            self._run(_DROP_TIPS, ([parent.seq for parent in draft.parents[1:]],))
        return done

    def relink(self, link: Any) -> None:
        """Store where an unresolved entry leads now."""
        super().relink(link)
        self._run(_DROP_TIPS, ([link.parent],))

    def remove(self, seqs: Sequence[int]) -> None:
        """Take turns out of the log; those they continued may be ends of threads again."""
        self._run(HOLD, ())  # nobody takes in words of what goes
        parents = [row[0] for row in self._all(_PARENTS_OF, (list(seqs), list(seqs)))]
        super().remove(seqs)
        self._run(_DROP_TIPS, (list(seqs),))
        self._run(_TIPS_AGAIN, (parents,))

    def rewrite(self, seq: int, payload: bytes | None, meta: dict[str, Any]) -> None:
        """Put other content into a frame, and into the search."""
        self._run(HOLD, ())  # nobody takes in words of what goes
        super().rewrite(seq, payload, meta)
        self._run(_DROP_WORDS, (seq,))
        role, head, flags, extra = self._one(_INDEXED_ROW, (seq,))
        for part, words in enumerate(word_parts(entry_text(role, head, flags, extra, payload))):
            self._run(ADD_WORDS, (seq, part, words))

    def _reach(self, seqs: Sequence[int]) -> tuple[int, int]:
        count, total = self._one(_COUNT_REACH, (list(seqs),))
        return count, int(total)


def _end_of(row: Any) -> End:
    seq, newest_id, newest_turn = row
    return End(seq or 0, newest_id, newest_turn)
