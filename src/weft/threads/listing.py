"""Turns for lists: one line each, with the names that point at them, and ids cut as short as they can be.

What a list shows is decided here, so that a terminal and a page show the same; how it looks is theirs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from weft import jsontext
from weft.errors import InvalidContentError
from weft.store import Flag, ThreadRow, TurnRow, model_of
from weft.threads.blocks import blocks_of, extra_of
from weft.threads.turn import first_words

if TYPE_CHECKING:
    from weft.threads.library import Store

__all__ = ["LogEntry", "ThreadEntry", "entries_of", "gist_of_blocks", "log_of", "short_length", "threads_of"]

_GIST = 200  # characters: more than a terminal's line shows
_LOOKED_UP = 64  # up to so many ids are looked up one by one
_STEPWISE = 200  # up to so many turns are fetched one by one; more, and the whole thread is read at once
_LEAST = 10  # digits of a short id: those of the time, nearly; two turns a person makes differ by then
_WHOLE = 25
_PAGE = 500


class LogEntry(NamedTuple):
    """One turn of a list. `bookmarks` are the names that point at it now."""

    id: str
    role: str
    gist: str
    model: str | None
    bookmarks: tuple[str, ...]


class ThreadEntry(NamedTuple):
    """One end of a thread in a list: what it is about and how much of it there is."""

    id: str
    title: str
    turns: int
    size_bytes: int
    models: tuple[str, ...]
    bookmarks: tuple[str, ...]


def log_of(store: Store, headish: str | None, limit: int | None) -> tuple[list[str], bool]:
    """Give the ids of a thread, newest first, `limit` at most; and whether there are more.

    The first page of a long thread does not read all of it.
    """
    start = store.latest() if headish is None else store.turn(headish)
    if start is None:
        return [], False
    if limit is not None and limit <= _STEPWISE:
        found = _stepwise(store, start.id, limit + 1)
        if found is not None:
            return found[:limit], len(found) > limit
    ids = [row.id for row in reversed(store.thread(start.id, on_gap="mark").walk.turns)]
    return (ids, False) if limit is None else (ids[:limit], len(ids) > limit)


def _stepwise(store: Store, start: str, count: int) -> list[str] | None:
    """Go from the newest turn to its parents; None where a thread needs to be seen whole to be put in order."""
    waiting = [(-int(start, 36), start)]
    seen = {start}
    found: list[str] = []
    while waiting and len(found) < count:
        _, turn_id = heapq.heappop(waiting)
        found.append(turn_id)
        for parent in store.parent_ids(turn_id):
            if parent >= turn_id:
                return None  # imported: an id says nothing about the order
            if parent not in seen:
                seen.add(parent)
                heapq.heappush(waiting, (-int(parent, 36), parent))
    return found


def entries_of(store: Store, ids: Sequence[str]) -> Iterable[LogEntry]:
    """Give what a list shows of turns, in the order asked for."""
    names = _names(store)
    for start in range(0, len(ids), _PAGE):
        for row in store.frames.rows(ids[start : start + _PAGE]):
            yield LogEntry(row.id, row.role, _gist(row), _model(row), names.get(row.id, ()))


def threads_of(store: Store, limit: int, before: str | None = None) -> list[ThreadEntry]:
    """List ends of threads, newest first, with their titles."""
    rows = store.threads(limit, before)
    names, titles = _names(store), _titles(store, rows)
    return [
        ThreadEntry(row.id, titles[row.id], row.turns, row.size_bytes, row.models, names.get(row.id, ()))
        for row in rows
    ]


def _titles(store: Store, rows: Sequence[ThreadRow]) -> dict[str, str]:
    # A thread is called by what the user said first. That is nearly always its first turn, read for all at once.
    roots = list(dict.fromkeys(row.root_id for row in rows))
    firsts = {root.id: _gist(root) for root in store.frames.rows(roots) if root.role == "user" and root.data}
    return {row.id: firsts.get(row.root_id) or store.thread(row.id, on_gap="mark").title for row in rows}


def short_length(store: Store, ids: Sequence[str]) -> int:
    """Tell how many first characters of these ids are enough to tell each from every other turn of the store."""
    length = _LEAST
    if len(ids) <= _LOOKED_UP:
        for turn_id in ids:
            while length < _WHOLE and len(store.frames.ids_with_prefix(turn_id[:length], 2)) > 1:
                length += 1
        return length
    every = sorted(turn_id for _, turn_id, _ in store.frames.every_turn())
    wanted = set(ids)
    for mine, other in pairwise(every):
        while mine[:length] == other[:length] and length < _WHOLE and (mine in wanted or other in wanted):
            length += 1
    return length


def _names(store: Store) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for row in store.bookmarks():
        names[row.id] = (*names.get(row.id, ()), row.name)
    return names


def _model(row: TurnRow) -> str | None:
    return model_of(extra_of(row)) if row.extra else None


def _gist(row: TurnRow) -> str:
    if row.flags & Flag.DOCUMENT:
        extra = extra_of(row)
        return f"[document {extra.get('document_name')}, {extra.get('content_type')}]"
    try:
        blocks = blocks_of(row)
    except InvalidContentError:
        return "[damaged content]"
    if not blocks:
        return "[joins threads]" if row.flags & Flag.MANY else "[no content]"
    return gist_of_blocks(blocks)


def gist_of_blocks(blocks: Sequence[Any], width: int = _GIST) -> str:
    """Say on one line what blocks hold: the first text, else all that was called or answered."""
    calls: list[str] = []
    results: list[str] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)} if text.strip():
                return first_words(text, width)
            case {"type": "tool_use" | "server_tool_use", "name": name, **rest}:
                calls.append(f"{name}({_arguments(rest.get('input'))})")
            case {"type": "tool_result", **rest}:
                outcome = "failed" if rest.get("is_error") is True else "answered"
                said = rest.get("content")
                text = gist_of_blocks(said, width) if isinstance(said, list) and said else str(said or "")
                results.append(f"{rest.get('name') or 'tool'} {outcome}: {text}")
    told = [*([f"calls {', '.join(calls)}"] if calls else []), *results]
    if told:
        return first_words("; ".join(told), width)
    kinds = dict.fromkeys(str(block.get("type")) if isinstance(block, Mapping) else "?" for block in blocks)
    return "[empty text]" if list(kinds) == ["text"] else f"[{', '.join(kinds)}]"


def _arguments(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "" if value is None else jsontext.dumps_text(value)
    return ", ".join(
        f"{key}={item if isinstance(item, str) else jsontext.dumps_text(item)}" for key, item in value.items()
    )
