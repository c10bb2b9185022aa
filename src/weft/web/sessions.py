"""The recordings of a store: one source a session."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath
from typing import Any

from weft.store import Exchanges
from weft.threads import Store
from weft.web.recordings import Pricing, RecordedSource
from weft.web.reels import SessionReel

__all__ = ["session_sources"]


def session_sources(
    prefix: str, store: Store, *, price: Pricing | None = None, known: Collection[str] = ()
) -> list[RecordedSource]:
    """Give a source for each session of a store, newest first; those that are `known` are left out."""
    sources: list[RecordedSource] = []
    for session in reversed(Exchanges(store.frames).sessions()):
        source_id = f"{prefix}-{session.id}"
        if source_id in known:
            continue
        reel = SessionReel(store.frames, session.number, session.id)
        source = RecordedSource(
            source_id,
            _name(session.meta, session.id),
            reel,
            price=price,
            kind="session",
            expected=session.exchanges,
        )
        source.is_wanted = not sources and not known  # the newest is looked at first; the others when they are chosen
        sources.append(source)
    return sources


def _name(meta: dict[str, Any], session_id: str) -> str:
    for key in ("name", "command", "file", "source", "target", "kind"):
        value = meta.get(key)
        if isinstance(value, list):
            value = " ".join(map(str, value))
        if isinstance(value, str) and value:
            if key in ("file", "source"):
                value = PurePath(value).name or value  # where it was is nobody's business, least of all an export's
            return f"{value[:80]} ({session_id[:10]})"
    return f"recording {session_id[:10]}"
