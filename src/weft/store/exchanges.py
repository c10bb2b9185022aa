"""Recorded exchanges in rows: sessions, and bodies as lists of chunks that are kept once.

A body's list is kept as its difference to the list of an earlier exchange of the session (`base`), so a session of n
requests costs what is new in them, lists included; every so often one is kept whole, so that reading one exchange reads
few others. Both databases run the same statements. What a record means is decided in `weft.trace`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from weft import jsontext
from weft.errors import StoreError
from weft.ids import new_id
from weft.store.base import Flag, FrameStore
from weft.store.captures import stored_name
from weft.store.chunking import Cutter
from weft.store.columns import is_storable
from weft.store.packing import pack
from weft.store.reflist import apply, change
from weft.store.rows import statement, verified

__all__ = ["ExchangeRow", "ExchangeWriter", "Exchanges", "NewExchange", "SessionRow"]

_DEEPEST = 24  # lists between an exchange and one that is kept whole
_FILE_BYTES = 4 << 20  # a chunk still larger than this when packed is a file, where there is a folder
_KNOWN = 200_000  # chunks a writer remembers
_BATCH = 400

_SESSIONS = """
    SELECT s.number, s.id, s.meta, count(e.number), coalesce(max(e.number), 0)
    FROM sessions s LEFT JOIN exchanges e ON e.session = s.number
    GROUP BY s.number, s.id, s.meta ORDER BY s.number
"""
_SESSION = "SELECT number, meta FROM sessions WHERE id = ?"
_ADD_SESSION = "INSERT INTO sessions (number, id, meta) VALUES (?, ?, ?)"
_NOTE_SESSION = "UPDATE sessions SET meta = ? WHERE number = ?"
_LAST_SESSION = "SELECT coalesce(max(number), 0) FROM sessions"
_COLUMNS = "SELECT number, session, name, meta, base, request, response, rest FROM exchanges"
_ALL_AFTER = statement(_COLUMNS, "WHERE number > ? ORDER BY number LIMIT ?")
_SESSION_AFTER = statement(_COLUMNS, "WHERE session = ? AND number > ? ORDER BY number LIMIT ?")
_ALL_LATEST = statement(_COLUMNS, "ORDER BY number DESC LIMIT ?")
_SESSION_LATEST = statement(_COLUMNS, "WHERE session = ? ORDER BY number DESC LIMIT ?")
_BY_NAME = statement(_COLUMNS, "WHERE name = ? ORDER BY number")
_BY_NUMBERS = statement(_COLUMNS, "WHERE number IN ?LIST ORDER BY number")
_NAMES_LIKE = "SELECT number FROM exchanges WHERE name >= ? AND name < ? ORDER BY number LIMIT ?"
_BASES = "SELECT number, base, request FROM exchanges WHERE number IN ?LIST"
_TOKENS = "SELECT token FROM exchanges WHERE token IN ?LIST"
_LAST = "SELECT coalesce(max(number), 0) FROM exchanges"
_LAST_CHUNK = "SELECT coalesce(max(number), 0) FROM chunks"
_CHUNK_KEYS = "SELECT key, number, hash FROM chunks WHERE key IN ?LIST ORDER BY number"
_CHUNKS = "SELECT number, hash, flags, data FROM chunks WHERE number IN ?LIST"
_ADD_CHUNK = "INSERT INTO chunks (number, key, hash, size, flags, data) VALUES (?, ?, ?, ?, ?, ?)"
_ADD = """
    INSERT INTO exchanges (number, token, session, name, meta, base, depth, request, response, rest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_FACT = "SELECT value FROM facts WHERE name = 'chunks'"
_COUNTS = """
    SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM exchanges), (SELECT count(*) FROM chunks),
        (SELECT coalesce(sum(size), 0) FROM chunks)
"""
_CAPTURES = "SELECT digest, turn FROM captures WHERE name = ? ORDER BY at DESC, turn DESC"


class _Asking(Protocol):
    """What a backend offers to this module, as a whole or inside a write."""

    def ask(self, sql: str, params: Sequence[Any] = ()) -> list[Any]: ...

    def listed(self, values: Sequence[Any]) -> Any: ...

    def file(self, digest: bytes) -> bytes: ...


class _Running(_Asking, Protocol):
    """The same inside a write."""

    def run(self, sql: str, params: Sequence[Any]) -> None: ...

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None: ...

    def keep_file(self, digest: bytes, data: bytes) -> bool: ...


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


class NewExchange(NamedTuple):
    """An exchange to add. `token` makes it the same one when it comes again; bodies are JSON text."""

    token: str
    name: str
    meta: Mapping[str, Any]
    request: bytes
    response: bytes | None
    rest: bytes | None = None


class Exchanges:
    """The exchanges of a store, to be read. Reading in order reads each chunk once, as far as memory allows."""

    def __init__(self, frames: FrameStore, *, memory_bytes: int = 64 << 20) -> None:
        """Look at the exchanges of a store."""
        self.frames = frames
        self._db: _Asking = frames  # type: ignore[assignment]  # every backend offers it to its own room
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
        era = _era(self._db)
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
            if len(chain) > 10 * _DEEPEST:
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


class ExchangeWriter:
    """Adds the exchanges of one session. Not for several threads at once; other processes may write too."""

    def __init__(self, frames: FrameStore, session_id: str, meta: Mapping[str, Any]) -> None:
        """Begin, or go on with, a session; it is stored with its first exchange."""
        self.frames = frames
        self.session_id, self._meta = session_id, dict(meta)
        self._cutter = Cutter()
        self._known: dict[bytes, int] = {}
        self._recent: list[tuple[int, int, list[int]]] = []  # number, depth, list
        self._era: str | None = None
        self._is_sound = True  # the cutter remembers nothing that is not on disk

    def add(self, batch: Sequence[NewExchange]) -> list[int | None]:
        """Keep exchanges, all or none; give their numbers, None for those that were there already."""
        # What an attempt finds out is believed when it is on disk.
        added, self._recent, self._era, numbers = self.frames.write(lambda tx: self._attempt(_running(tx), batch))
        if len(self._known) > _KNOWN:
            self._known.clear()
        self._known.update(added)
        self._is_sound = True
        return numbers

    def note(self, meta: Mapping[str, Any]) -> None:
        """Say something about the session as a whole, such as how it ended."""
        self._meta.update(meta)

        def work(writer: Any) -> None:
            found = writer.ask(_SESSION, (self.session_id,))
            if found:
                writer.run(_NOTE_SESSION, (jsontext.dumps_text(self._meta), found[0][0]))

        self.frames.write(work)

    def _attempt(
        self, writer: _Running, batch: Sequence[NewExchange]
    ) -> tuple[dict[bytes, int], list[tuple[int, int, list[int]]], str, list[int | None]]:
        era = _era(writer)
        if era != self._era:  # something was removed since: chunks are not where they were
            self._known, self._recent = {}, []
        if era != self._era or not self._is_sound:
            self._cutter.forget()
        self._is_sound = False
        there = {row[0] for row in writer.ask(_TOKENS, (writer.listed([one.token for one in batch]),))}
        fresh = [one for one in batch if one.token not in there]
        if not fresh:
            return {}, self._recent, era, [None] * len(batch)
        session = self._session(writer)
        adding = _Adding(writer, self._known)
        number = int(writer.ask(_LAST)[0][0])
        recent, rows, numbers = list(self._recent), [], list[int | None]()
        seen: set[str] = set(there)
        for one in batch:
            if one.token in seen:
                numbers.append(None)
                continue
            seen.add(one.token)
            number += 1
            refs = adding.refs(self._cutter.cut(one.request))
            self._cutter.remember(one.request, refs)
            base, depth, listed = _based(recent, refs)
            response = None if one.response is None else change((), adding.whole(one.response))
            rest = None if one.rest is None else change((), adding.whole(one.rest))
            meta = jsontext.dumps_text(dict(one.meta))
            name = stored_name(one.name)
            rows.append((number, one.token, session, name, meta, base, depth, listed, response, rest))
            recent.append((number, depth, refs))
            del recent[:-16]
            numbers.append(number)
        adding.finish()
        writer.run_many(_ADD, rows)
        return adding.added, recent, era, numbers

    def _session(self, writer: _Running) -> int:
        found = writer.ask(_SESSION, (self.session_id,))
        if found:
            return int(found[0][0])
        number = int(writer.ask(_LAST_SESSION)[0][0]) + 1
        writer.run(_ADD_SESSION, (number, self.session_id, jsontext.dumps_text(self._meta)))
        return number


class _Adding:
    """Chunks on their way in, inside one write: those that are there are found, the others numbered."""

    def __init__(self, writer: _Running, known: Mapping[bytes, int]) -> None:
        self._writer, self._known = writer, known
        self.added: dict[bytes, int] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._next = int(writer.ask(_LAST_CHUNK)[0][0]) + 1

    def refs(self, pieces: Sequence[bytes | int]) -> list[int]:
        """Give the numbers of pieces, new ones included."""
        digests = [hashlib.sha256(piece).digest() if isinstance(piece, bytes) else b"" for piece in pieces]
        self._find([one for one in dict.fromkeys(digests) if one and one not in self.added and one not in self._known])
        found: list[int] = []
        for piece, digest in zip(pieces, digests, strict=True):
            if isinstance(piece, int):
                found.append(piece)
                continue
            number = self.added.get(digest) or self._known.get(digest)
            found.append(self._add(digest, piece) if number is None else number)
        return found

    def whole(self, data: bytes) -> list[int]:
        """Give the numbers of the pieces of a body that nothing is known about."""
        return self.refs(Cutter().cut(data))

    def _find(self, digests: Sequence[bytes]) -> None:
        if not digests:
            return
        keys = {key_of(digest): digest for digest in digests}
        for key, number, digest in self._writer.ask(_CHUNK_KEYS, (self._writer.listed(list(keys)),)):
            if bytes(digest) == keys.get(key):  # one in 2**64 is not
                self.added.setdefault(bytes(digest), number)

    def _add(self, digest: bytes, data: bytes) -> int:
        number = self._next
        self._next += 1
        packed: bytes | None = pack(data)
        flags = 0
        if packed is not None and len(packed) > _FILE_BYTES and self._writer.keep_file(digest, data):
            packed, flags = None, Flag.FILE
        self._rows.append((number, key_of(digest), digest, len(data), flags, packed))
        self.added[digest] = number
        return number

    def finish(self) -> None:
        """Write what is new."""
        if self._rows:
            self._writer.run_many(_ADD_CHUNK, self._rows)


def _based(recent: Sequence[tuple[int, int, list[int]]], refs: list[int]) -> tuple[int | None, int, bytes]:
    """Write a list as its difference to the recent one that leaves least to say, or whole."""
    best: tuple[int | None, int, bytes] = (None, 0, change((), refs))
    for number, depth, listed in reversed(recent):
        if depth + 1 >= _DEEPEST:
            continue
        changed = change(listed, refs)
        if len(changed) < len(best[2]):
            best = number, depth + 1, changed
    return best


def read_chunks(db: _Asking, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Give chunks by number, each verified."""
    for number, digest, flags, data in db.ask(_CHUNKS, (db.listed(list(numbers)),)):
        yield number, verified(bytes(digest), db.file(bytes(digest)) if flags & Flag.FILE else data)


def key_of(digest: bytes) -> int:
    """Give the beginning of a digest as a number both databases can hold."""
    return int.from_bytes(digest[:8], "big", signed=True)


def line_of(meta: Mapping[str, Any], request: bytes, response: bytes | None, rest: bytes | None = None) -> bytes:
    """Write a record as one line of JSON, the six fields every reader knows first, the bodies as they are."""
    whole = {**meta, **jsontext.loads(rest)} if rest else meta
    dumps = jsontext.dumps
    front = b",".join(dumps(key) + b":" + dumps(whole[key]) for key in _FRONT if key in whole)
    behind = b"".join(b"," + dumps(key) + b":" + dumps(value) for key, value in whole.items() if key not in _FRONT)
    comma = b"," if front else b""
    return b"{" + front + comma + b'"request":' + request + b',"response":' + (response or b"null") + behind + b"}"


_FRONT = ("id", "timestamp", "duration_ms")


def bump_era(writer: Any) -> None:
    """Say that chunks or exchanges are no longer what they were: whoever remembers any forgets them."""
    writer.note("chunks", new_id())


def _row(row: Sequence[Any]) -> ExchangeRow:
    number, session, name, meta, base, request, response, rest = row
    try:
        about = jsontext.loads(meta)
    except ValueError as error:
        raise StoreError(f"the meta of exchange {name} cannot be read: {error}; run `weft fsck`") from error
    return ExchangeRow(number, session, name, about, base, bytes(request), _bytes(response), _bytes(rest))


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _era(db: _Asking) -> str:
    found = db.ask(_FACT)
    return str(found[0][0]) if found else ""


def _running(writer: Any) -> _Running:
    running: _Running = writer
    return running
