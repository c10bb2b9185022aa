"""Secrets in what is kept: which turn has one, and where in it [K-03].

What a key looks like is `weft.secrets`'s affair; here is where to look: in what turns say, in the long results of tools
that are kept beside them, in recorded bodies, and behind base64 wherever that hides a text. Nothing is changed: what is
content stays content, until its owner purges it.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.store import Frame
from weft.threads.overflow import named_in
from weft.threads.turn import Turn

if TYPE_CHECKING:
    from weft.secrets import Found
    from weft.threads.library import Store

__all__ = ["Leak", "found_in_pieces", "leaks_in", "scan_secrets"]

PAGE = 200
# Frames of other kinds that may hold a key outright: providers as gpt2099 kept them.
_KEYED = "gpt.provider"
# Frames that hold recorded bytes no JSON text can: uploads, forms, audio.
_RECORDED_BYTES = "weft.blob"
# A long text is read in pieces; each piece again with the end of the one before, so that no secret falls between two.
_LONGEST = 1 << 15  # letters; no shape of `weft.secrets` is longer
_BESIDE = 1 << 9  # what stands before a secret and says that it is one
# A word of base64 that is long enough to hold a key, as a data: URL or by itself.
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_=-])(?:data:[^,\s]{0,200};base64,)?([A-Za-z0-9+/]{24,}={0,2})(?![A-Za-z0-9+/_=-])"
)
_LONGEST_BASE64 = 32 << 20


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret in a turn, or in another frame of the log: where it stands, and what it looks like."""

    id: str
    place: str
    found: Found


def scan_secrets(store: Store, turns: Iterable[Turn] | None = None) -> Iterator[Leak]:
    """Look through turns for secrets; without any named, through all of the store, newest first, and its keys."""
    blobs = _Blobs(store)
    if turns is not None:
        for turn in turns:
            yield from leaks_in(turn)
            yield from blobs.named_by(turn)
        return
    before: str | None = None
    while page := store.log(PAGE, before):
        for turn in page:
            yield from leaks_in(turn)
            yield from blobs.named_by(turn)
        before = page[-1].id
    yield from blobs.left_over()
    for frame in store.frames.frames_of(_KEYED):
        yield from _key_of(frame)
    yield from _recorded(store)


class _Blobs:
    """What tools gave that was too long for a turn, each blob read once however many turns name it."""

    def __init__(self, store: Store) -> None:
        self._unread = store.overflow.contents()
        self._read: dict[str, list[Found]] = {}

    def named_by(self, turn: Turn) -> Iterator[Leak]:
        for name in sorted(named_in(turn.content)):
            yield from (Leak(turn.id, f"blob {name}", found) for found in self._secrets(name))

    def left_over(self) -> Iterator[Leak]:
        """Give those of blobs that no turn names: their turn is gone, or has not been written yet."""
        for name in list(self._unread):
            yield from (Leak(name, "a blob that no turn names", found) for found in self._secrets(name))

    def _secrets(self, name: str) -> list[Found]:
        if name in self._unread:
            self._read[name] = list(found_in_pieces(self._unread.pop(name)))
        return self._read.get(name, [])


def found_in_pieces(pieces: Iterable[bytes]) -> Iterator[Found]:
    """Give the secrets of a text that is read piece by piece; where they stand is counted from the last piece."""
    from weft.secrets import find_secrets  # noqa: PLC0415

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    held, told = "", 0  # what has been read and may go on; how much of it has been looked at as a beginning
    for piece in pieces:
        held += decoder.decode(piece)
        if len(held) <= told + _LONGEST:
            continue
        settled = len(held) - _LONGEST  # what begins before this has its end in what is held
        yield from (found for found in find_secrets(held) if told <= found.start < settled)
        kept = max(0, settled - _BESIDE)
        held, told = held[kept:], settled - kept
    yield from (found for found in find_secrets(held + decoder.decode(b"", final=True)) if found.start >= told)


def _recorded(store: Store) -> Iterator[Leak]:
    """Give the secrets in recorded requests and answers, each by the first request that has it."""
    from weft.store import recorded_texts  # noqa: PLC0415

    for name, text in recorded_texts(store.frames):
        yield from (Leak(name, "recorded", found) for found in _found_in(text))
    for frame in store.frames.frames_of(_RECORDED_BYTES):
        if frame.hash is not None:
            payload = store.frames.payload(frame.hash)
            yield from (Leak(frame.id, "recorded bytes", found) for found in found_in_pieces([payload]))


def leaks_in(turn: Turn) -> Iterator[Leak]:
    """Give the secrets of one turn: in its content, a document's text, and what is noted beside it."""
    for place, text in _texts(turn.content, "content"):
        yield from (Leak(turn.id, place, found) for found in _found_in(text))
    for place, text in _texts({key: turn.meta[key] for key in turn.meta if key != "continues"}, "meta"):
        yield from (Leak(turn.id, place, found) for found in _found_in(text))


def _found_in(text: str) -> Iterator[Found]:
    """Give the secrets of a text, and of the texts that it has as base64."""
    from weft.secrets import find_secrets  # noqa: PLC0415  # most who open a store look for none

    yield from find_secrets(text)
    for hidden in _behind_base64(text):
        yield from find_secrets(hidden)


def _behind_base64(text: str) -> Iterator[str]:
    """Give what words of base64 say, if that is text; a picture is none, and is told by its first letters."""
    for word in _BASE64.finditer(text):
        data = word[1]
        if len(data) > _LONGEST_BASE64 or _plain(data[:32]) is None:
            continue
        if said := _plain(data):
            yield said


def _plain(data: str) -> str | None:
    """Read base64 as text; None for what is none. Cut anywhere, a letter of UTF-8 may be missing at its end."""
    try:
        said = base64.b64decode(data[: len(data) - len(data) % 4])
        text = codecs.getincrementaldecoder("utf-8")().decode(said)
    except (binascii.Error, ValueError):
        return None
    return text if not re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]", text) else None


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
