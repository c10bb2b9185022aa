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
from weft.store.captures import (
    Standing,
    capture_of,
    captures_like,
    keep_capture,
    payload_is_there,
    silent,
    standing,
)
from weft.store.chunking import cuts_of
from weft.store.columns import JSON_TYPE, is_storable, merge_options, meta_of, model_of
from weft.store.exchange_care import ExchangeHit, forget_text, remove_session, search_exchanges
from weft.store.exchanges import ExchangeRow, Exchanges, ExchangeWriter, NewExchange, SessionRow, line_of, stored_name
from weft.store.health import Finding, examine
from weft.store.holding import Hold, hold
from weft.store.opening import open_frames
from weft.store.rows import address_of
from weft.store.searchtext import parse_query, text_of_blocks

__all__ = [
    "JSON_TYPE",
    "TURN",
    "BookmarkRow",
    "Columns",
    "Draft",
    "ExchangeHit",
    "ExchangeRow",
    "ExchangeWriter",
    "Exchanges",
    "Finding",
    "Flag",
    "Frame",
    "FrameReader",
    "FrameStore",
    "FrameWriter",
    "Hit",
    "Hold",
    "Link",
    "NewExchange",
    "Problem",
    "Query",
    "SessionRow",
    "Spot",
    "Standing",
    "StoreStats",
    "ThreadRow",
    "TurnRow",
    "address_of",
    "capture_of",
    "captures_like",
    "cuts_of",
    "examine",
    "forget_text",
    "hold",
    "is_storable",
    "keep_capture",
    "line_of",
    "merge_options",
    "meta_of",
    "model_of",
    "open_frames",
    "parse_query",
    "payload_is_there",
    "remove_session",
    "search_exchanges",
    "silent",
    "standing",
    "stored_name",
    "text_of_blocks",
]
