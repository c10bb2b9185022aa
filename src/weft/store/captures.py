"""Which turn a recorded request became; and turns that are there already, found by their place and what they say."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from weft.store.base import Flag
from weft.store.columns import is_storable
from weft.store.rows import statement

__all__ = [
    "Standing",
    "capture_of",
    "captures_like",
    "keep_capture",
    "payload_is_there",
    "silent",
    "standing",
    "stored_name",
]

_COLUMNS = "SELECT f.seq, f.id, f.options, f.extra FROM frames f"
_SAYING = "substr(f.hash, 1, 8) = ? AND f.hash = ? AND f.role = ? AND f.topic = 'gpt.turn' AND f.flags & ? = 0"
_BELOW = statement(_COLUMNS, "WHERE", _SAYING, "AND f.parent = ? ORDER BY f.seq")
_FIRST = statement(_COLUMNS, "WHERE", _SAYING, "AND f.parent IS NULL ORDER BY f.seq")
_SILENT = statement(_COLUMNS, "WHERE f.parent = ? AND f.hash IS NULL AND f.topic = 'gpt.turn' ORDER BY f.seq")
_KEEP = """
    INSERT INTO captures (name, digest, turn, at) VALUES (?, ?, ?, ?)
    ON CONFLICT (name, digest) DO UPDATE SET turn = excluded.turn, at = excluded.at
"""
_CAPTURE = """
    SELECT c.digest, c.turn FROM captures c JOIN frames f ON f.id = c.turn WHERE c.name = ?
    ORDER BY c.at DESC, c.turn DESC
"""
_LIKE = """
    SELECT DISTINCT c.name FROM captures c JOIN frames f ON f.id = c.turn WHERE c.name >= ? AND c.name < ?
    ORDER BY c.name LIMIT ?
"""
_PAYLOAD = "SELECT 1 FROM frames WHERE substr(hash, 1, 8) = ? AND hash = ? AND owner IS NULL LIMIT 1"
_LONGEST_NAME = 200
_ODD = Flag.CACHE | Flag.DOCUMENT | Flag.MANY | Flag.BROKEN | Flag.VERBATIM


class Standing(NamedTuple):
    """A turn that says what was looked for: its place, its own options, and what else its meta says, as JSON text."""

    seq: int
    id: str
    options: str | None
    extra: str | None


def standing(db: Any, parent: int | None, role: str, digest: bytes) -> list[Standing]:
    """Find turns that continue `parent` (or begin a thread) with this role and content, whatever their options."""
    said = (digest[:8], digest, role, int(_ODD))
    rows = db.ask(_FIRST, said) if parent is None else db.ask(_BELOW, (*said, parent))
    return [Standing._make(row) for row in rows]


def silent(db: Any, parent: int) -> list[Standing]:
    """Find turns without content below another; they only carry options."""
    return [Standing._make(row) for row in db.ask(_SILENT, (parent,))]


def keep_capture(writer: Any, name: str, digest: bytes, turn_id: str, at: int) -> None:
    """Keep which turn a request of this id, with this content, became."""
    writer.run(_KEEP, (stored_name(name), digest, turn_id, at))


def capture_of(db: Any, name: str) -> list[tuple[bytes, str]]:
    """Give (digest, turn id) of the requests of this id whose turns are there, newest first."""
    return [(bytes(row[0]), row[1]) for row in db.ask(_CAPTURE, (stored_name(name),))]


def captures_like(db: Any, prefix: str, limit: int) -> Sequence[str]:
    """List ids of imported requests that begin so."""
    return [row[0] for row in db.ask(_LIKE, (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1), limit))]


def payload_is_there(db: Any, digest: bytes) -> bool:
    """Tell whether some frame has this content."""
    return bool(db.ask(_PAYLOAD, (digest[:8], digest)))


def stored_name(name: str) -> str:
    """Give the name an exchange is found by; one that no column can hold is named by its hash."""
    if name and len(name) <= _LONGEST_NAME and is_storable(name):
        return name
    return "sha256:" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
