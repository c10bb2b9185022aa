"""Questions as PostgreSQL answers them: the recursive walk above all; for reading and for writing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from weft.store.base import Flag, Spot, TurnRow
from weft.store.rows import TURN_COLUMNS, TURN_JOINS, Rows, checked_turns, statement

__all__ = ["REACH", "WALK_CHAIN", "PostgresRows", "spelled"]

REACH = """
    WITH RECURSIVE walk (seq) AS (
        SELECT unnest(?::bigint[])
        UNION
        SELECT p.parent FROM walk JOIN LATERAL (
            SELECT f.parent FROM frames f WHERE f.seq = walk.seq AND f.parent IS NOT NULL
            UNION ALL
            SELECT e.parent FROM edges e WHERE e.child = walk.seq
        ) p ON true
    )"""
WALK_CHAIN = statement(
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
_WALK_ALL = statement(REACH, TURN_COLUMNS, "FROM walk JOIN frames f ON f.seq = walk.seq", TURN_JOINS)
_DESCENDS = statement(REACH, "SELECT 1 FROM walk WHERE seq = ? LIMIT 1")
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


class PostgresRows(Rows):
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
            found = self._all(WALK_CHAIN, (starts[0].seq, starts[0].depth + 1))
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


@lru_cache(maxsize=256)
def spelled(sql: str) -> Any:
    """Spell a statement as psycopg reads it."""
    return sql.replace("%", "%%").replace("IN ?LIST", "= ANY(%s)").replace("?", "%s").encode()
