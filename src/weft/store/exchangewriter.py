"""Adding exchanges to a store: bodies cut into chunks, those that are there found, and lists written as differences."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from weft import jsontext
from weft.store.base import Flag, FrameStore
from weft.store.captures import stored_name
from weft.store.chunking import Cutter
from weft.store.chunks import Running, era_of, key_of
from weft.store.exchanges import DEEPEST
from weft.store.packing import pack
from weft.store.reflist import change

__all__ = ["ExchangeWriter", "NewExchange"]

_FILE_BYTES = 4 << 20  # a chunk still larger than this when packed is a file, where there is a folder
_KNOWN = 200_000  # chunks a writer remembers

_SESSION = "SELECT number, meta FROM sessions WHERE id = ?"
_ADD_SESSION = "INSERT INTO sessions (number, id, meta) VALUES (?, ?, ?)"
_NOTE_SESSION = "UPDATE sessions SET meta = ? WHERE number = ?"
_LAST_SESSION = "SELECT coalesce(max(number), 0) FROM sessions"
_TOKENS = "SELECT token FROM exchanges WHERE token IN ?LIST"
_LAST = "SELECT coalesce(max(number), 0) FROM exchanges"
_LAST_CHUNK = "SELECT coalesce(max(number), 0) FROM chunks"
_CHUNK_KEYS = "SELECT key, number, hash FROM chunks WHERE key IN ?LIST ORDER BY number"
_ADD_CHUNK = "INSERT INTO chunks (number, key, hash, size, flags, data) VALUES (?, ?, ?, ?, ?, ?)"
_ADD = """
    INSERT INTO exchanges (number, token, session, name, meta, base, depth, request, response, rest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class NewExchange(NamedTuple):
    """An exchange to add. `token` makes it the same one when it comes again; bodies are JSON text."""

    token: str
    name: str
    meta: Mapping[str, Any]
    request: bytes
    response: bytes | None
    rest: bytes | None = None


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
        self, writer: Running, batch: Sequence[NewExchange]
    ) -> tuple[dict[bytes, int], list[tuple[int, int, list[int]]], str, list[int | None]]:
        era = era_of(writer)
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

    def _session(self, writer: Running) -> int:
        found = writer.ask(_SESSION, (self.session_id,))
        if found:
            return int(found[0][0])
        number = int(writer.ask(_LAST_SESSION)[0][0]) + 1
        writer.run(_ADD_SESSION, (number, self.session_id, jsontext.dumps_text(self._meta)))
        return number


class _Adding:
    """Chunks on their way in, inside one write: those that are there are found, the others numbered."""

    def __init__(self, writer: Running, known: Mapping[bytes, int]) -> None:
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
        if depth + 1 >= DEEPEST:
            continue
        changed = change(listed, refs)
        if len(changed) < len(best[2]):
            best = number, depth + 1, changed
    return best


def _running(writer: Any) -> Running:
    running: Running = writer
    return running
