"""Searching: from what people type to turns, with the words around each find."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from scru128 import Scru128Id

from weft.errors import UsageError
from weft.store import FrameStore, parse_query

__all__ = ["SearchHit", "search"]

_AROUND = 40  # characters shown on either side of a find


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A turn that was found, and the words around the first find."""

    id: str
    role: str
    bookmark: str | None
    snippet: str


def search(
    store: FrameStore,
    query: str,
    *,
    role: str | None = None,
    model: str | None = None,
    bookmark: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before: str | None = None,
    limit: int = 20,
) -> list[SearchHit]:
    """Find turns, newest first; `before` is the id of the last hit of the page before."""
    parsed = parse_query(
        query,
        role=role,
        model=model,
        bookmark=bookmark,
        since_id=None if since is None else _id_at(since, last=False),
        until_id=None if until is None else _id_at(until, last=True),
        before_id=before,
    )
    if not parsed.words and not parsed.phrases and role is None and model is None and bookmark is None:
        raise UsageError("there is nothing to search for: give a word, or a filter")
    words = [word.rstrip("*") for word in parsed.words] + [phrase[0] for phrase in parsed.phrases]
    return [SearchHit(hit.id, hit.role, hit.head, _snippet(hit.text, words)) for hit in store.search(parsed, limit)]


def _id_at(moment: datetime, *, last: bool) -> str:
    """Give the smallest, or greatest, id of a moment."""
    milliseconds = max(0, min(int(moment.timestamp() * 1000), (1 << 48) - 1))
    return str(Scru128Id((milliseconds << 80) + ((1 << 80) - 1 if last else 0))).lower()


def _snippet(text: str, words: list[str]) -> str:
    found = None
    for word in words:
        found = re.search(re.escape(word), text, re.IGNORECASE)
        if found is not None:
            break
    start = max(0, found.start() - _AROUND) if found is not None else 0
    end = (found.end() if found is not None else 0) + _AROUND
    piece = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{piece}{'…' if end < len(text) else ''}"
