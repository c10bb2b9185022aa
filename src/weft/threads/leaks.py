"""Secrets in what is kept: which turn has one, and where in it [K-03].

What a key looks like is `weft.secrets`'s affair; here is where to look. Nothing is changed: what is content stays
content, until its owner purges it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.store import Frame
from weft.threads.turn import Turn

if TYPE_CHECKING:
    from weft.secrets import Found
    from weft.threads.library import Store

__all__ = ["Leak", "leaks_in", "scan_secrets"]

PAGE = 200
# Frames of other kinds that may hold a key outright: providers as gpt2099 kept them.
_KEYED = "gpt.provider"


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret in a turn, or in another frame of the log: where it stands, and what it looks like."""

    id: str
    place: str
    found: Found


def scan_secrets(store: Store, turns: Iterable[Turn] | None = None) -> Iterator[Leak]:
    """Look through turns for secrets; without any named, through all of the store, newest first, and its keys."""
    if turns is not None:
        for turn in turns:
            yield from leaks_in(turn)
        return
    before: str | None = None
    while page := store.log(PAGE, before):
        for turn in page:
            yield from leaks_in(turn)
        before = page[-1].id
    for frame in store.frames.frames_of(_KEYED):
        yield from _key_of(frame)
    yield from _recorded(store)


def _recorded(store: Store) -> Iterator[Leak]:
    """Give the secrets in recorded requests and answers, each by the first request that has it."""
    from weft.secrets import find_secrets  # noqa: PLC0415
    from weft.store import recorded_texts  # noqa: PLC0415

    for name, text in recorded_texts(store.frames):
        yield from (Leak(name, "recorded", found) for found in find_secrets(text))


def leaks_in(turn: Turn) -> Iterator[Leak]:
    """Give the secrets of one turn: in its content, a document's text, and what is noted beside it."""
    from weft.secrets import find_secrets  # noqa: PLC0415  # most who open a store look for none

    for place, text in _texts(turn.content, "content"):
        yield from (Leak(turn.id, place, found) for found in find_secrets(text))
    for place, text in _texts({key: turn.meta[key] for key in turn.meta if key != "continues"}, "meta"):
        yield from (Leak(turn.id, place, found) for found in find_secrets(text))


def _key_of(frame: Frame) -> Iterator[Leak]:
    key = frame.meta.get("key")
    from weft.secrets import Found  # noqa: PLC0415

    if isinstance(key, str) and key:  # whatever it looks like: its name says what it is
        yield Leak(frame.id, "meta.key", Found("provider-key", 0, len(key), key))


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Go through every text inside a value, each with its place; what is base64 of a text is read as that text."""
    stack: list[tuple[str, Any]] = [(place, value)]
    while stack:
        at, one = stack.pop()
        match one:
            case str(text):
                yield at, text
            case {"type": "base64", "data": str(data), "media_type": str(kind)} if _is_text(kind):
                yield f"{at}.data", _decoded(data)
            case Mapping():
                stack += [(f"{at}.{key}", inner) for key, inner in reversed(list(one.items()))]
                stack += [(f"{at} (a key)", key) for key in one if isinstance(key, str) and len(key) > 20]
            case list() | tuple():
                stack += [(f"{at}[{number}]", inner) for number, inner in reversed(list(enumerate(one)))]


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or any(
        kind in media_type for kind in ("json", "xml", "yaml", "toml", "script")
    )


def _decoded(data: str) -> str:
    try:
        return base64.b64decode(data).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return data
