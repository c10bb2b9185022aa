"""From a headish to a turn: an id in either case, or a bookmark.

Beginnings of ids are for the command line only (`find_by_prefix`): in a program, a name that changes its meaning when
another turn is written would be a trap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from weft.errors import TurnNotFoundError, UnknownBookmarkError, UsageError
from weft.ids import is_turn_id, normal_id
from weft.store import FrameReader, Spot, capture_of, captures_like, is_storable

__all__ = ["Headish", "as_list", "check_bookmark_name", "find", "find_all", "find_by_prefix", "unknown"]

Headish = str
_LONGEST_NAME = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_PREFIX = re.compile(r"[0-9a-z]{4,24}")
_REQUEST_PREFIX = re.compile(r"[0-9A-Za-z_.-]{4,64}")


def find(store: FrameReader, headish: Headish) -> Spot:
    """Find the turn a headish names [T-9 to T-11]."""
    _check(headish)
    if is_turn_id(headish):
        return _found(store, headish, store.spots([normal_id(headish)])[0])
    return _found(store, headish, store.bookmark_spot(headish) or _captured(store, headish))


def _captured(store: FrameReader, name: str) -> Spot | None:
    """Find the turn that a recorded request of this id became."""
    found = capture_of(store, name)
    return store.spots([found[0][1]])[0] if found else None


def find_all(store: FrameReader, headishes: Sequence[Headish]) -> list[Spot]:
    """Find several turns, in order."""
    if len(headishes) == 1:
        return [find(store, headishes[0])]
    for value in headishes:
        _check(value)
    ids = [normal_id(value) for value in headishes if is_turn_id(value)]
    by_id = dict(zip(ids, store.spots(ids), strict=True)) if ids else {}
    return [
        _found(store, value, by_id[normal_id(value)]) if is_turn_id(value) else find(store, value)
        for value in headishes
    ]


def _check(value: object) -> None:
    if not isinstance(value, str):
        raise UsageError(f"a headish is a turn id or a bookmark, not {type(value).__name__} {value!r}")


def _found(store: FrameReader, value: Headish, spot: Spot | None) -> Spot:
    if spot is None:
        if is_turn_id(value):
            raise TurnNotFoundError(f"no turn has the id {value}")
        raise unknown(store, value)
    return spot


def unknown(store: FrameReader, value: str) -> UnknownBookmarkError:
    """Say that a value is no headish, and what comes near it."""
    shown = value if len(value) <= 80 else f"{value[:80]}…"
    message = f"{shown!r} is neither a turn id nor a known bookmark"
    near = get_close_matches(value[:80], [row.name for row in store.bookmarks()[:2000]], n=3)
    return UnknownBookmarkError(f"{message}\n  near it: {', '.join(near)}" if near else message)


def find_by_prefix(store: FrameReader, text: str) -> Spot:
    """Find a turn by headish, or by the beginning of its id (four characters or more) if only one begins so."""
    try:
        return find(store, text)
    except UnknownBookmarkError:
        prefix = text.lower()
        if not _REQUEST_PREFIX.fullmatch(text):
            raise
        found = store.ids_with_prefix(prefix, 6) if _PREFIX.fullmatch(prefix) else []
        found = found or list(captures_like(store, text, 6))
        if not found:
            raise
        if len(found) > 1:
            listed = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
            raise UnknownBookmarkError(f"{text!r} is the beginning of more than one turn id: {listed}") from None
        return find(store, found[0])


def as_list(headish: Headish | Sequence[Headish] | None) -> list[Headish]:
    """Take one headish, several, or none; anything else is invalid [T-13]."""
    if headish is None:
        return []
    if isinstance(headish, str):
        return [headish]
    if not isinstance(headish, (list, tuple)):
        raise UsageError(f"invalid: {type(headish).__name__}; a turn id, a bookmark, or a list of them is needed")
    return list(headish)


def check_bookmark_name(name: object) -> str:
    """Refuse a name that could not be told from an id, seen, or stored [T-12, G-06]."""
    if not isinstance(name, str):
        raise UsageError(f"a bookmark is a text, not {type(name).__name__}")
    if not name.strip():
        raise UsageError("a bookmark cannot be empty or blank")
    if is_turn_id(name):
        raise UsageError(f"{name!r} looks like a turn id (25 letters and digits) and cannot be a bookmark")
    if len(name) > _LONGEST_NAME:
        raise UsageError(f"a bookmark has {_LONGEST_NAME} characters at most; this one has {len(name)}")
    if _CONTROL.search(name) or not is_storable(name):
        raise UsageError(f"{name!r} has control characters or broken Unicode in it and cannot be a bookmark")
    return name
