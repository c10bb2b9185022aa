"""Rows on disk: frames, payloads, who continues whom; in SQLite or PostgreSQL, told apart by their address.

The front door of the room: `open_frames`, the protocol it gives back, and the values that cross it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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
    stored_name,
)
from weft.store.columns import JSON_TYPE, is_storable, merge_options, meta_of, model_of
from weft.store.health import Finding, examine
from weft.store.holding import Hold, hold
from weft.store.opening import open_frames
from weft.store.rows import address_of
from weft.store.searchtext import parse_query, text_of_blocks

if TYPE_CHECKING:
    from weft.store.chunking import cuts_of as cuts_of
    from weft.store.exchange_care import ExchangeHit as ExchangeHit
    from weft.store.exchange_care import forget_text as forget_text
    from weft.store.exchange_care import recorded_texts as recorded_texts
    from weft.store.exchange_care import remove_session as remove_session
    from weft.store.exchange_care import search_exchanges as search_exchanges
    from weft.store.exchanges import ExchangeRow as ExchangeRow
    from weft.store.exchanges import Exchanges as Exchanges
    from weft.store.exchanges import SessionRow as SessionRow
    from weft.store.exchanges import line_of as line_of
    from weft.store.exchangewriter import ExchangeWriter as ExchangeWriter
    from weft.store.exchangewriter import NewExchange as NewExchange

# Recordings: loaded when they are asked for, as most programs only want turns.
_LATE = {
    "ExchangeHit": "exchange_care",
    "ExchangeRow": "exchanges",
    "ExchangeWriter": "exchangewriter",
    "Exchanges": "exchanges",
    "NewExchange": "exchangewriter",
    "SessionRow": "exchanges",
    "cuts_of": "chunking",
    "forget_text": "exchange_care",
    "line_of": "exchanges",
    "recorded_texts": "exchange_care",
    "remove_session": "exchange_care",
    "search_exchanges": "exchange_care",
}

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
    "recorded_texts",
    "remove_session",
    "search_exchanges",
    "silent",
    "standing",
    "stored_name",
    "text_of_blocks",
]


def __getattr__(name: str) -> object:
    """Load a name of the recordings' modules."""
    if name not in _LATE:
        raise AttributeError(f"module 'weft.store' has no attribute {name!r}")
    value = getattr(import_module(f"weft.store.{_LATE[name]}"), name)
    globals()[name] = value
    return value
