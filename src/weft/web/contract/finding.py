"""Finding a message by its words."""

from __future__ import annotations

from typing import TypedDict

from weft.web.contract.graph import Role

__all__ = [
    "SearchHit",
    "SearchPage",
]


class SearchHit(TypedDict):
    """A message that was found and a row that has it."""

    row_id: str
    row: int
    message_id: str
    role: Role
    model: str
    timestamp_ms: int
    snippet: str
    marks: list[tuple[int, int]]  # what to highlight, in UTF-16 units of the snippet


class SearchPage(TypedDict):
    """`GET /api/sources/{source}/search`: found so far. While `next` is set there may be more: ask on with it."""

    hits: list[SearchHit]
    next: str | None
    scanned: int
    total: int
