"""Checking what an index found against the turns themselves; shared by both backends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft import jsontext
from weft.store.base import Flag, Hit, Query
from weft.store.columns import model_of
from weft.store.searchtext import facets_of, holds, plain_words, prepare, text_of_payload

__all__ = ["check_hits", "entry_text"]


def entry_text(role: str, head: str | None, flags: int, extra: str | None, data: bytes | None) -> str:
    """Give what is indexed of a turn: its words, and words that stand for its properties."""
    meta = jsontext.loads(extra) if extra else {}
    text = text_of_payload(flags, meta, data)
    return f"{prepare(text)} {facets_of(role, head, model_of(meta))}"


def check_hits(query: Query, rows: Iterable[tuple[Any, ...]], limit: int) -> list[Hit]:
    """Keep the turns that really fit; rows are id, role, head, flags, extra, payload."""
    hits: list[Hit] = []
    for turn_id, role, head, flags, extra, data in rows:
        if len(hits) == limit:
            break
        if query.role not in (None, role) or query.bookmark not in (None, head):
            continue
        if (query.since_id is not None and turn_id < query.since_id) or (
            query.until_id is not None and turn_id > query.until_id
        ):
            continue
        meta = jsontext.loads(extra) if extra else {}
        if query.model is not None and model_of(meta) != query.model:
            continue
        text = text_of_payload(flags & ~Flag.FILE, meta, data)
        if (query.words or query.phrases) and not holds(query, plain_words(text)):
            continue
        hits.append(Hit(turn_id, role, head, text))
    return hits
