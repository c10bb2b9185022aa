"""Looking after recorded exchanges: checking, forgetting, removing, searching. The statements are both databases'."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from weft import jsontext
from weft.errors import StoreError
from weft.store.base import Flag, FrameStore, Problem, Query
from weft.store.chunks import bump_era, key_of, read_chunks
from weft.store.exchanges import ExchangeRow, Exchanges
from weft.store.packing import pack, unpack
from weft.store.searchtext import holds, plain_words

__all__ = ["ExchangeHit", "check_exchanges", "forget_text", "recorded_texts", "remove_session", "search_exchanges"]

_CHUNKS = "SELECT number, hash, size, flags, data FROM chunks WHERE number > ? ORDER BY number LIMIT 500"
_EXCHANGES = """
    SELECT e.number, e.name, e.meta, e.base, s.number, e.request, e.response, e.rest
    FROM exchanges e LEFT JOIN sessions s ON s.number = e.session WHERE e.number > ? ORDER BY e.number LIMIT 500
"""
_SET_CHUNK = "UPDATE chunks SET key = ?, hash = ?, size = ?, flags = ?, data = ? WHERE number = ?"
_SET_META = "UPDATE exchanges SET meta = ? WHERE number = ?"
_SESSIONS = "SELECT number, meta FROM sessions"
_SET_SESSION = "UPDATE sessions SET meta = ? WHERE number = ?"
_DROP_CHUNK = "DELETE FROM chunks WHERE number = ?"
_DROP_EXCHANGES = "DELETE FROM exchanges WHERE session = ?"
_DROP_SESSION = "DELETE FROM sessions WHERE number = ?"

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NAMED = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*+:)?', re.DOTALL)  # a string, and whether it is a name
_TEXT_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_EVENT_TEXTS = re.compile(
    r'"(text|thinking|partial_json|content|arguments|delta|reasoning_content|signature|refusal)"\s*:\s*'
    r'("(?:[^"\\]++|\\.)*+")'
)
_NESTED = 3  # JSON in JSON in JSON: an argument inside an event inside a record


# -- checking ----------------------------------------------------------------------------------------------------------


def check_exchanges(frames: FrameStore) -> list[Problem]:
    """Go through every chunk and every exchange once and name what is wrong."""
    db: Any = frames
    problems: list[Problem] = []
    chunks: set[int] = set()
    last = 0
    while rows := db.ask(_CHUNKS, (last,)):
        for number, digest, size, flags, data in rows:
            chunks.add(number)
            problems += _chunk_problems(db, number, bytes(digest), size, flags, data)
        last = rows[-1][0]
    lists = Exchanges(frames)
    last = 0
    while rows := db.ask(_EXCHANGES, (last,)):
        for number, name, meta, base, session, request, response, rest in rows:
            row = ExchangeRow(number, session or 0, name, {}, base, bytes(request), _bytes(response), _bytes(rest))
            problems += _exchange_problems(lists, row, meta, session, chunks)
        last = rows[-1][0]
    return problems


def _chunk_problems(db: Any, number: int, digest: bytes, size: int, flags: int, data: Any) -> list[Problem]:
    subject = f"chunk {number}"
    try:
        content = db.file(digest) if flags & Flag.FILE else None if data is None else unpack(bytes(data))
    except StoreError as error:
        return [Problem("chunk", subject, f"{subject}: {error}")]
    if content is None:
        return [Problem("chunk", subject, f"{subject}: its bytes are missing")]
    if hashlib.sha256(content).digest() != digest or len(content) != size:
        return [Problem("chunk", subject, f"{subject}: its bytes are not those of its hash")]
    return []


def _exchange_problems(
    lists: Exchanges, row: ExchangeRow, meta: str, session: int | None, chunks: set[int]
) -> list[Problem]:
    found = []
    try:
        jsontext.loads(meta)
    except ValueError as error:
        found.append(Problem("meta", row.name, f"exchange {row.name}: its meta cannot be read ({error})"))
    if session is None:
        found.append(Problem("session", row.name, f"exchange {row.name} belongs to a session that is not there"))
    if row.base is not None and row.base >= row.number:
        found.append(Problem("exchange", row.name, f"exchange {row.name} is based on one that came after it"))
        return found
    try:
        refs = lists.every_ref(row)
    except StoreError as error:
        return [*found, Problem("exchange", row.name, str(error))]
    if gone := [ref for ref in refs if ref not in chunks]:
        found.append(Problem("chunk", row.name, f"exchange {row.name}: chunk {gone[0]} of its bodies is missing"))
    return found


# -- forgetting --------------------------------------------------------------------------------------------------------


def forget_text(writer: Any, secret: str, mark: str) -> list[str]:
    """Take a text out of every recorded body, inside a write; give the names of what was changed."""
    cleaner = _Cleaner(secret, mark)
    changed: set[int] = set()
    last = 0
    while rows := writer.ask(_CHUNKS, (last,)):
        for number, digest, _, flags, data in rows:
            content = writer.file(bytes(digest)) if flags & Flag.FILE else unpack(bytes(data))
            clean = cleaner.chunk(content)
            if clean != content:
                new, packed, new_flags = hashlib.sha256(clean).digest(), pack(clean), 0
                writer.run(_SET_CHUNK, (key_of(new), new, len(clean), new_flags, packed, number))
                changed.add(number)
        last = rows[-1][0]
    names = _forget_in_rows(writer, cleaner, changed)
    for number, meta in writer.ask(_SESSIONS):
        if (clean_meta := cleaner.text(meta)) != meta:
            writer.run(_SET_SESSION, (clean_meta, number))
    if changed or names:
        bump_era(writer)
    return names


def _forget_in_rows(writer: Any, cleaner: _Cleaner, changed: set[int]) -> list[str]:
    names, last = [], 0
    lists = Exchanges(writer)
    while rows := writer.ask(_EXCHANGES, (last,)):
        for number, name, meta, base, session, request, response, rest in rows:
            row = ExchangeRow(number, session or 0, name, {}, base, bytes(request), _bytes(response), _bytes(rest))
            clean = cleaner.text(meta)
            if clean != meta:
                writer.run(_SET_META, (clean, number))
            if clean != meta or not changed.isdisjoint(lists.every_ref(row)):
                names.append(name)
        last = rows[-1][0]
    return names


class _Cleaner:
    """Takes a text out of others: as it is, behind JSON's escapes, and put together from the pieces of a stream."""

    def __init__(self, secret: str, mark: str) -> None:
        self._secret, self._mark = secret, mark
        forms = {secret}
        for _ in range(_NESTED):
            forms |= {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in forms for ascii_only in (True, False)}
        self._forms = sorted(forms, key=len, reverse=True)
        self._bytes = [form.encode("utf-8", "surrogatepass") for form in self._forms]

    def chunk(self, data: bytes) -> bytes:
        mark = self._mark.encode()
        for form in self._bytes:
            if form in data:
                data = data.replace(form, mark)
        if b"\\" not in data:
            return data
        data = _STRING.sub(self._literal, data)
        if b"sse_lines" in data and self._is_streamed(data):
            # Said in pieces, the text is in no one place; what remains is that there was a stream.
            return b'{"stream":true,"sse_lines":[],"purged":true}'
        return data

    def text(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, self._mark)
        return text

    def _literal(self, match: re.Match[bytes]) -> bytes:
        token = match[0]
        if b"\\" not in token:
            return token
        try:
            value = json.loads(token)
        except ValueError:
            return token
        clean = self._unescaped(value, _NESTED)
        return token if clean == value else jsontext.dumps(clean)

    def _unescaped(self, value: str, depth: int) -> str:
        value = value.replace(self._secret, self._mark)
        if depth == 0 or "\\" not in value:
            return value

        def inner(match: re.Match[str]) -> str:
            try:
                decoded = json.loads(match[0])
            except ValueError:
                return match[0]
            clean = self._unescaped(decoded, depth - 1)
            return match[0] if clean == decoded else json.dumps(clean, ensure_ascii=False)

        return _TEXT_STRING.sub(inner, value)

    def _is_streamed(self, data: bytes) -> bool:
        try:
            body = jsontext.loads(data)
        except ValueError:
            return False
        lines = body.get("sse_lines") if isinstance(body, dict) else None
        said: dict[str, list[str]] = {}
        for line in lines if isinstance(lines, list) else ():
            for key, token in _EVENT_TEXTS.findall(line) if isinstance(line, str) else ():
                try:
                    said.setdefault(key, []).append(json.loads(token))
                except ValueError:
                    continue
        joined = ["".join(pieces) for pieces in said.values()]
        return any(form in text for text in joined for form in self._forms)


# -- removing ----------------------------------------------------------------------------------------------------------


def remove_session(frames: FrameStore, session: int) -> int:
    """Take a session out of the store, with every chunk that only it had; give how many exchanges went."""

    def work(writer: Any) -> int:
        lists = Exchanges(writer)
        going: set[int] = set()
        kept: set[int] = set()
        count, last = 0, 0
        while rows := lists.rows(after=last, limit=500):
            for row in rows:
                count += row.session == session
                (going if row.session == session else kept).update(lists.every_ref(row))
            last = rows[-1].number
        writer.run(_DROP_EXCHANGES, (session,))
        writer.run(_DROP_SESSION, (session,))
        writer.run_many(_DROP_CHUNK, [(number,) for number in sorted(going - kept)])
        bump_era(writer)
        return count

    return frames.write(work)


# -- searching ---------------------------------------------------------------------------------------------------------


class ExchangeHit(NamedTuple):
    """A piece of a recorded body that a search found, and the first exchange that has it."""

    exchange: ExchangeRow
    text: str


def search_exchanges(frames: FrameStore, query: Query, limit: int) -> list[ExchangeHit]:
    """Find what was said in recorded bodies, newest first. Each distinct piece is read once; there is no index."""
    texts = {number: text for number, text in _texts(frames, query) if holds(query, plain_words(text))}
    if not texts:
        return []
    wanted, found = set(texts), list[ExchangeHit]()
    exchanges = Exchanges(frames)
    last = 0
    while wanted and (rows := exchanges.rows(after=last, limit=500)):
        for row in rows:
            for ref in wanted.intersection(exchanges.every_ref(row)):
                wanted.discard(ref)
                found.append(ExchangeHit(row, texts[ref]))
        last = rows[-1].number
    return found[::-1][:limit]


def _texts(frames: FrameStore, query: Query) -> Iterator[tuple[int, str]]:
    """Give the text of chunks that may fit: what JSON escapes is read, what it is made of is left out."""
    db: Any = frames
    words = [*query.words, *(word for phrase in query.phrases for word in phrase)]
    plain = [word.rstrip("*").encode() for word in words if word.isascii()]
    last = 0
    while rows := db.ask(_CHUNKS, (last,)):
        for number, digest, _, flags, data in rows:
            content = db.file(bytes(digest)) if flags & Flag.FILE else unpack(bytes(data))
            # Accents, escapes and streams hide words from a look at the bytes; the rest need not be read.
            hides = not content.isascii() or b"\\" in content or b"data:" in content
            if hides or all(word in content.lower() for word in plain):
                yield number, text_of_chunk(content)
        last = rows[-1][0]


def recorded_texts(frames: FrameStore) -> Iterator[tuple[str, str]]:
    """Go through what recorded bodies say, each piece once, with the name of the first exchange that has it."""
    exchanges, seen = Exchanges(frames), set[int]()
    last = 0
    while rows := exchanges.rows(after=last, limit=100):
        for row in rows:
            new = [ref for ref in dict.fromkeys(exchanges.every_ref(row)) if ref not in seen]
            seen.update(new)
            for start in range(0, len(new), 200):
                for _, data in read_chunks(frames, new[start : start + 200]):  # type: ignore[arg-type]  # offers it
                    yield row.name, text_of_chunk(data)
        last = rows[-1].number


def text_of_chunk(data: bytes) -> str:
    """Give what a chunk says: the strings in it, unescaped; of a stream, its pieces put together."""
    texts: list[str] = []
    for token, is_name in _NAMED.findall(data):
        if is_name:
            continue
        try:
            value = json.loads(token)
        except ValueError:
            continue
        if value.startswith(("data:", "event:")):
            texts += ["".join(_piece(part) for _, part in _EVENT_TEXTS.findall(value))]
        else:
            texts.append(f"{value}\n")
    return "".join(texts)


def _piece(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return ""


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
