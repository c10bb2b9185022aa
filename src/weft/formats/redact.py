"""Secrets taken out of a conversation before it leaves the house: every text that is written, wherever it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weft.canon import (
    Closing,
    Entry,
    Opening,
    Piece,
    Session,
    Stray,
    entry_from_dict,
    entry_to_dict,
    session_from_dict,
    session_to_dict,
)
from weft.secrets import find_secrets, redact_text

__all__ = ["Hidden", "redacted"]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A secret that was taken out: where it stood, what kind it is, and what may be shown of it."""

    place: str
    kind: str
    masked: str


def redacted(pieces: Iterable[Piece], hidden: list[Hidden]) -> Iterator[Piece]:
    """Pass pieces on without the secrets in them; add to `hidden` what was taken out."""
    number = 0
    for piece in pieces:
        match piece:
            case Entry():
                yield _entry(piece, f"entries[{number}]", hidden)
                number += 1
            case Opening(session):
                number = 0
                yield Opening(_session(session, hidden))
            case Closing(heads, current, session) if session is not None:
                yield Closing(heads, current, _session(session, hidden))
            case Stray(name, text, at):
                yield Stray(name, _text(text, "strays", hidden), at)
            case _:
                yield piece


def _entry(entry: Entry, place: str, hidden: list[Hidden]) -> Entry:
    before = len(hidden)
    said = _walked(entry_to_dict(entry), place, hidden)
    if len(hidden) == before:
        return entry
    clean = entry_from_dict(said)
    return Entry(
        clean.id,
        clean.message,
        clean.parent_ids,
        clean.model,
        clean.finish_reason,
        clean.usage,
        clean.extras,
        entry.blobs,
    )


def _session(session: Session, hidden: list[Hidden]) -> Session:
    return session_from_dict(_walked(session_to_dict(session), "session", hidden))


def _walked(value: Any, place: str, hidden: list[Hidden]) -> Any:
    if isinstance(value, str):
        return _text(value, place, hidden)
    if isinstance(value, Mapping):
        return {_text(key, place, hidden): _walked(item, f"{place}.{key}", hidden) for key, item in value.items()}
    if isinstance(value, list):
        return [_walked(item, f"{place}[{index}]", hidden) for index, item in enumerate(value)]
    return value


def _text(text: str, place: str, hidden: list[Hidden]) -> str:
    if len(text) < 8 or not (found := find_secrets(text)):
        return text
    hidden += [Hidden(place, each.kind, each.masked) for each in found]
    return redact_text(text)
