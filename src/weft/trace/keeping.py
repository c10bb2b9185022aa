"""Exchanges in a store: records in, as their lines have them, and the very same lines out again.

A session is one run of a proxy, one recorded command or one imported file. How bodies are kept once is the store's
business (`weft.store.exchanges`); here a record is taken apart into what the store keeps, and named so that the same
one is not kept twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from weft import jsontext
from weft.errors import TraceFormatError, UnknownBookmarkError
from weft.ids import new_id
from weft.store import ExchangeRow, Exchanges, ExchangeWriter, FrameStore, NewExchange, SessionRow

__all__ = ["fields_of", "find_exchange", "find_session", "keep_lines", "new_exchange", "record_of", "records_of"]

_DECODER = json.JSONDecoder()
_WRONG = object()
_REQUEST = re.compile(rb'[{,]\s*"request"\s*:\s*')
_RESPONSE = re.compile(rb',\s*"response"\s*:\s*')
_ERROR = re.compile(rb',\s*"error"\s*:\s*')
_SPACE = " \t\n\r"
_LARGE_META = 2048  # bytes; what is longer is kept as chunks beside the bodies
_BATCH_BYTES = 8 << 20
_TRIES = 8  # places where a body may end that are tried before it is read word by word


def keep_lines(
    frames: FrameStore, lines: Iterable[bytes], meta: Mapping[str, Any], *, session_id: str | None = None
) -> tuple[str, int, int]:
    """Keep lines of a trace as a session; give its id, how many were new and how many were there already.

    A line that is no record raises a TraceFormatError with its place among `lines`.
    """
    writer = ExchangeWriter(frames, session_id or new_id(), meta)
    added = known = size = 0
    batch: list[NewExchange] = []
    for number, line in enumerate(lines, 1):
        batch.append(new_exchange(line, line_number=number))
        size += len(line)
        if size > _BATCH_BYTES:
            new = sum(one is not None for one in writer.add(batch))
            added, known, batch, size = added + new, known + len(batch) - new, [], 0
    if batch:
        new = sum(one is not None for one in writer.add(batch))
        added, known = added + new, known + len(batch) - new
    return writer.session_id, added, known


def new_exchange(line: bytes, *, token: str | None = None, line_number: int = 1) -> NewExchange:
    """Take a line of a trace apart. Without a `token`, equal lines are the same exchange."""
    try:
        parts = fields_of(line)
        meta = {key: jsontext.loads(value) for key, value in parts.items() if key not in ("request", "response")}
    except ValueError as error:
        raise TraceFormatError(f"not a record: {error}", line=line_number) from error
    large = {key: meta.pop(key) for key in [*meta] if len(parts[key]) > _LARGE_META and key not in _SMALL}
    response = parts.get("response", b"null")
    if token is None:
        token = "line:" + hashlib.sha256(b"\0".join(parts[key] for key in sorted(parts))).hexdigest()
    name = meta.get("id")
    return NewExchange(
        token,
        name if isinstance(name, str) else "" if name is None else str(name),
        meta,
        parts.get("request", b"null"),
        None if response == b"null" else response,
        jsontext.dumps(large) if large else None,
    )


_SMALL = ("id", "timestamp", "duration_ms")


def fields_of(line: bytes) -> dict[str, bytes]:
    """Give the fields of a JSON object as they are written; ValueError if it is none."""
    return _usual(line) or _any(line)


def _usual(line: bytes) -> dict[str, bytes] | None:
    """Take a record apart that has its six fields in their order, as nearly all do, at the cost of checking it.

    A body that is cut at a name inside it is no JSON, so the cut where everything is JSON is the right one.
    """
    begin = _REQUEST.search(line)
    if begin is None:
        return None
    before = _checked((line[: begin.start()] or b"{") + b"}")
    if not isinstance(before, dict):
        return None
    fields = {key: orjson.dumps(value) for key, value in before.items()}
    for middle in reversed(list(_RESPONSE.finditer(line, begin.end()))[-_TRIES:]):
        if _checked(request := line[begin.end() : middle.start()].rstrip()) is _WRONG:
            continue
        for behind in reversed(list(_ERROR.finditer(line, middle.end()))[-_TRIES:]):
            tail = _checked(b"{" + line[behind.start() + 1 :])
            if (
                isinstance(tail, dict)
                and _checked(response := line[middle.end() : behind.start()].rstrip()) is not _WRONG
            ):
                fields |= {"request": request, "response": response}
                return fields | {key: orjson.dumps(value) for key, value in tail.items()}
        return None
    return None


def _checked(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _WRONG


def _any(line: bytes) -> dict[str, bytes]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    fields: dict[str, bytes] = {}
    at = _after_space(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("a record is a JSON object")
    at = _after_space(text, at + 1)
    if text[at : at + 1] == "}":
        return _ended(text, at + 1, fields)
    while True:
        key, at = _value(text, at)
        if not isinstance(key, str):
            raise ValueError(f"a name is missing at character {at}")  # noqa: TRY004  # it is what was read that is wrong
        at = _after_space(text, at)
        if text[at : at + 1] != ":":
            raise ValueError(f"':' is missing at character {at}")
        start = _after_space(text, at + 1)
        _, at = _value(text, start)
        fields[key] = text[start:at].encode("utf-8", "surrogatepass")
        at = _after_space(text, at)
        mark = text[at : at + 1]
        if mark == "}":
            return _ended(text, at + 1, fields)
        if mark != ",":
            raise ValueError(f"',' is missing at character {at}")
        at = _after_space(text, at + 1)


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _SPACE:
        at += 1
    return at


def _ended(text: str, at: int, fields: dict[str, bytes]) -> dict[str, bytes]:
    if text[at:].strip(_SPACE):
        raise ValueError(f"there is more behind the record, at character {at}")
    return fields


# -- finding -----------------------------------------------------------------------------------------------------------


def find_session(exchanges: Exchanges, text: str | None = None) -> SessionRow:
    """Find a session by its id or the beginning of it; without one, the newest."""
    sessions = exchanges.sessions()
    if not sessions:
        raise UnknownBookmarkError("nothing is recorded in this store\n  record something: weft record -- COMMAND")
    if text is None:
        return sessions[-1]
    wanted = text.lower()
    found = [one for one in sessions if one.id == wanted] or [one for one in sessions if one.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    shown = text if len(text) <= 80 else f"{text[:80]}…"
    if found:
        raise UnknownBookmarkError(f"{shown!r} is the beginning of more than one session: {found[0].id}, {found[1].id}")
    raise UnknownBookmarkError(f"no session is called {shown!r}\n  see all: weft trace sessions")


def find_exchange(exchanges: Exchanges, text: str) -> ExchangeRow | None:
    """Find an exchange of any session by its id or the beginning of it; of several with one id, the newest."""
    found = exchanges.named(text)
    if found:
        return found[-1]
    if len(text) < 4:
        return None
    near = exchanges.with_prefix(text)
    names = {row.name for row in near}
    if len(names) > 1:
        listed = ", ".join(sorted(names)[:5])
        raise UnknownBookmarkError(f"{text!r} is the beginning of more than one recorded request: {listed}")
    return near[-1] if near else None


def record_of(exchanges: Exchanges, row: ExchangeRow) -> dict[str, Any]:
    """Give a kept exchange as a record."""
    record: dict[str, Any] = jsontext.loads(next(exchanges.lines([row])))
    return record


def records_of(exchanges: Exchanges, session: int | None = None, *, after: int = 0) -> Iterator[tuple[int, bytes]]:
    """Give (number, line) of the exchanges of a session, or of all, in the order they were kept."""
    last = after
    while rows := exchanges.rows(session, after=last, limit=256):
        for row, line in zip(rows, exchanges.lines(rows), strict=True):
            yield row.number, line
        last = rows[-1].number
