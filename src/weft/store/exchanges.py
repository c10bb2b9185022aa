"""Recorded exchanges in rows: sessions, and bodies as lists of chunks that are kept once.

A body's list is kept as its difference to the list of an earlier exchange of the session (`base`), so a session of n
requests costs what is new in them, lists included; every so often one is kept whole, so that reading one exchange reads
few others. Both databases run the same statements. What a record means is decided in `weft.trace`.
They are added by `exchangewriter`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from weft import jsontext
from weft.errors import StoreError
from weft.store.base import FrameStore
from weft.store.captures import stored_name
from weft.store.chunks import Asking, era_of, read_chunks
from weft.store.columns import is_storable
from weft.store.reflist import apply
from weft.store.rows import statement

__all__ = ["DEEPEST", "ExchangeRow", "Exchanges", "SessionRow", "line_of"]

DEEPEST = 24  # lists between an exchange and one that is kept whole
_BATCH = 400
_FRONT = ("id", "timestamp", "duration_ms")

_SESSIONS = """
    SELECT s.number, s.id, s.meta, count(e.number), coalesce(max(e.number), 0)
    FROM sessions s LEFT JOIN exchanges e ON e.session = s.number
    GROUP BY s.number, s.id, s.meta ORDER BY s.number
"""
_COLUMNS = "SELECT number, session, name, meta, base, request, response, rest FROM exchanges"
_ALL_AFTER = statement(_COLUMNS, "WHERE number > ? ORDER BY number LIMIT ?")
_SESSION_AFTER = statement(_COLUMNS, "WHERE session = ? AND number > ? ORDER BY number LIMIT ?")
_ALL_LATEST = statement(_COLUMNS, "ORDER BY number DESC LIMIT ?")
_SESSION_LATEST = statement(_COLUMNS, "WHERE session = ? ORDER BY number DESC LIMIT ?")
_BY_NAME = statement(_COLUMNS, "WHERE name = ? ORDER BY number")
_BY_NUMBERS = statement(_COLUMNS, "WHERE number IN ?LIST ORDER BY number")
_NAMES_LIKE = "SELECT number FROM exchanges WHERE name >= ? AND name < ? ORDER BY number LIMIT ?"
_BASES = "SELECT number, base, request FROM exchanges WHERE number IN ?LIST"
_LAST = "SELECT coalesce(max(number), 0) FROM exchanges"
_COUNTS = """
    SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM exchanges), (SELECT count(*) FROM chunks),
        (SELECT coalesce(sum(size), 0) FROM chunks)
"""
_CAPTURES = "SELECT digest, turn FROM captures WHERE name = ? ORDER BY at DESC, turn DESC"


class SessionRow(NamedTuple):
    """One run of a proxy, one recorded command or one imported file."""

    number: int
    id: str
    meta: dict[str, Any]
    exchanges: int
    last: int  # number of its last exchange


class ExchangeRow(NamedTuple):
    """One exchange without its bodies; `meta` is its record less `request` and `response`."""

    number: int
    session: int
    name: str
    meta: dict[str, Any]
    base: int | None
    request: bytes  # lists of chunks, see reflist
    response: bytes | None
    rest: bytes | None


class Exchanges:
    """The exchanges of a store, to be read. Reading in order reads each chunk once, as far as memory allows."""

    def __init__(self, frames: FrameStore, *, memory_bytes: int = 64 << 20) -> None:
        """Look at the exchanges of a store."""
        self.frames = frames
        self._db: Asking = frames  # type: ignore[assignment]  # every backend offers it to its own room
        self._lists: dict[int, list[int]] = {}
        self._chunks: dict[int, bytes] = {}
        self._held = 0
        self._memory = memory_bytes
        self._era: str | None = None

    # -- sessions and rows -----------------------------------------------------------------------------------

    def sessions(self) -> list[SessionRow]:
        """List the sessions, oldest first."""
        return [
            SessionRow(number, session_id, jsontext.loads(meta), count, last)
            for number, session_id, meta, count, last in self._db.ask(_SESSIONS)
        ]

    def rows(self, session: int | None = None, *, after: int = 0, limit: int = 1 << 62) -> list[ExchangeRow]:
        """List exchanges in the order they were kept, of one session or of all."""
        if session is None:
            return self._rows(_ALL_AFTER, (after, limit))
        return self._rows(_SESSION_AFTER, (session, after, limit))

    def latest(self, session: int | None, limit: int) -> list[ExchangeRow]:
        """List the last exchanges there are, oldest first."""
        if session is None:
            return self._rows(_ALL_LATEST, (limit,))[::-1]
        return self._rows(_SESSION_LATEST, (session, limit))[::-1]

    def named(self, name: str) -> list[ExchangeRow]:
        """Find exchanges by the id in their record, oldest first."""
        return self._rows(_BY_NAME, (stored_name(name),))

    def with_prefix(self, prefix: str, limit: int = 6) -> list[ExchangeRow]:
        """Find exchanges whose id begins so."""
        if not prefix or not is_storable(prefix):
            return []
        after = prefix[:-1] + chr(min(ord(prefix[-1]) + 1, 0x10FFFF))
        numbers = [row[0] for row in self._db.ask(_NAMES_LIKE, (prefix, after, limit))]
        return self.numbered(numbers)

    def numbered(self, numbers: Sequence[int]) -> list[ExchangeRow]:
        """Give exchanges by number; those that are not there are left out."""
        return self._rows(_BY_NUMBERS, (self._db.listed(list(numbers)),)) if numbers else []

    def last(self) -> int:
        """Give the number of the newest exchange."""
        return int(self._db.ask(_LAST)[0][0])

    def counts(self) -> dict[str, int]:
        """Count sessions, exchanges, chunks and their bytes."""
        names = ("sessions", "exchanges", "chunks", "chunk_bytes")
        return {name: int(count) for name, count in zip(names, self._db.ask(_COUNTS)[0], strict=True)}

    def _rows(self, sql: str, params: Sequence[Any]) -> list[ExchangeRow]:
        return [_row(row) for row in self._db.ask(sql, params)]

    # -- bodies ----------------------------------------------------------------------------------------------

    def lines(self, rows: Sequence[ExchangeRow]) -> Iterator[bytes]:
        """Give records as lines of JSON, the bodies byte for byte as they were kept."""
        for row, request, response, rest in self.bodies(rows):
            yield line_of(row.meta, request, response, rest)

    def bodies(self, rows: Sequence[ExchangeRow]) -> Iterator[tuple[ExchangeRow, bytes, bytes | None, bytes | None]]:
        """Give each exchange with its request, its response and its rest."""
        era = era_of(self._db)
        if era != self._era:
            self._lists.clear()
            self._chunks.clear()
            self._held, self._era = 0, era
        for start in range(0, len(rows), 64):
            part = rows[start : start + 64]
            lists = [
                (
                    row,
                    self._list_of(row),
                    None if row.response is None else self._plain(row, row.response),
                    None if row.rest is None else self._plain(row, row.rest),
                )
                for row in part
            ]
            for row, request, response, rest in lists:
                self._fetch([*request, *(response or ()), *(rest or ())], row)
                yield (
                    row,
                    self._joined(request),
                    None if response is None else self._joined(response),
                    None if rest is None else self._joined(rest),
                )

    def refs(self, row: ExchangeRow) -> list[int]:
        """Give the chunks a request is made of: two requests share a beginning as far as these are equal."""
        return self._list_of(row)

    def every_ref(self, row: ExchangeRow) -> list[int]:
        """Give the chunks of everything an exchange has."""
        refs = list(self._list_of(row))
        for packed in (row.response, row.rest):
            if packed is not None:
                refs += self._plain(row, packed)
        return refs

    def _list_of(self, row: ExchangeRow) -> list[int]:
        found = self._lists.get(row.number)
        if found is not None:
            return found
        chain: list[tuple[int, bytes]] = [(row.number, row.request)]
        base = row.base
        while base is not None and base not in self._lists:
            if len(chain) > 10 * DEEPEST:
                raise StoreError(f"exchange {row.name}: its list of chunks leads round in a circle; run `weft fsck`")
            above = self._db.ask(_BASES, (self._db.listed([base]),))
            if not above:
                raise StoreError(f"exchange {row.name}: the one it is based on is missing; run `weft fsck`")
            chain.append((base, above[0][2]))
            base = above[0][1]
        refs = self._lists[base] if base is not None else []
        if len(self._lists) > 2000:
            self._lists.clear()
        for number, changed in reversed(chain):
            try:
                refs = apply(refs, changed)
            except ValueError as error:
                raise StoreError(f"exchange {row.name}: {error}; run `weft fsck`") from error
            self._lists[number] = refs
        return refs

    def _plain(self, row: ExchangeRow, packed: bytes) -> list[int]:
        try:
            return apply((), packed)
        except ValueError as error:
            raise StoreError(f"exchange {row.name}: {error}; run `weft fsck`") from error

    def _joined(self, refs: Sequence[int]) -> bytes:
        chunks = self._chunks
        return b"".join([chunks[ref] for ref in refs])

    def _fetch(self, refs: Sequence[int], row: ExchangeRow) -> None:
        missing = sorted({ref for ref in refs if ref not in self._chunks})
        if not missing:
            return
        if self._held > self._memory:
            self._chunks.clear()
            self._held = 0
            missing = sorted(set(refs))
        for start in range(0, len(missing), _BATCH):
            wanted = missing[start : start + _BATCH]
            for number, data in read_chunks(self._db, wanted):
                self._chunks[number] = data
                self._held += len(data)
        gone = [ref for ref in missing if ref not in self._chunks]
        if gone:
            raise StoreError(f"exchange {row.name}: {len(gone)} of its chunks are missing; run `weft fsck`")

    # -- what came of them -----------------------------------------------------------------------------------

    def captured(self, name: str) -> list[tuple[bytes, str]]:
        """Give (digest, turn id) of the turns an exchange of this id became, newest import first."""
        return [(bytes(row[0]), row[1]) for row in self._db.ask(_CAPTURES, (stored_name(name),))]


def line_of(meta: Mapping[str, Any], request: bytes, response: bytes | None, rest: bytes | None = None) -> bytes:
    """Write a record as one line of JSON, the six fields every reader knows first, the bodies as they are."""
    whole = {**meta, **jsontext.loads(rest)} if rest else meta
    dumps = jsontext.dumps
    front = b",".join(dumps(key) + b":" + dumps(whole[key]) for key in _FRONT if key in whole)
    behind = b"".join(b"," + dumps(key) + b":" + dumps(value) for key, value in whole.items() if key not in _FRONT)
    comma = b"," if front else b""
    return b"{" + front + comma + b'"request":' + request + b',"response":' + (response or b"null") + behind + b"}"


def _row(row: Sequence[Any]) -> ExchangeRow:
    number, session, name, meta, base, request, response, rest = row
    try:
        about = jsontext.loads(meta)
    except ValueError as error:
        raise StoreError(f"the meta of exchange {name} cannot be read: {error}; run `weft fsck`") from error
    return ExchangeRow(number, session, name, about, base, bytes(request), _bytes(response), _bytes(rest))


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
