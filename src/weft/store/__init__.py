"""Rows on disk: frames, payloads, who continues whom; in SQLite or PostgreSQL, told apart by their address.

The front door of the room: `open_frames`, the protocol it gives back, and the values that cross it.
"""

from __future__ import annotations

from weft.store.base import (
    TURN,
    BookmarkRow,
    Columns,
    Draft,
    Flag,
    Frame,
    FrameReader,
    FrameStore,
    FrameWriter,
    Hit,
    Link,
    Problem,
    Query,
    Spot,
    StoreStats,
    ThreadRow,
    TurnRow,
)
from weft.store.columns import JSON_TYPE, is_storable, merge_options, meta_of, model_of
from weft.store.health import Finding, examine
from weft.store.opening import open_frames
from weft.store.rows import address_of
from weft.store.searchtext import parse_query, text_of_blocks

__all__ = [
    "JSON_TYPE",
    "TURN",
    "BookmarkRow",
    "Columns",
    "Draft",
    "Finding",
    "Flag",
    "Frame",
    "FrameReader",
    "FrameStore",
    "FrameWriter",
    "Hit",
    "Link",
    "Problem",
    "Query",
    "Spot",
    "StoreStats",
    "ThreadRow",
    "TurnRow",
    "address_of",
    "examine",
    "is_storable",
    "merge_options",
    "meta_of",
    "model_of",
    "open_frames",
    "parse_query",
    "text_of_blocks",
]
