"""Pictures and files that a record carries, where the cooked view has only `[image]`.

A message that stands for bytes is told apart by the digest of what held them (`Draft.hidden`); by that same digest they
are found again in the record. What is only named by an address is not in the record, and nobody is asked for it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from weft.trace.extract.draft import digest_of
from weft.trace.extract.streams import events_of

__all__ = ["Picture", "find_pictures", "names_in"]

_DIGEST = 32  # bytes of one in `Draft.hidden`, where there may be several
_EITHER = str.maketrans("-_", "+/")
_TYPES = ("media_type", "mimeType", "mime_type")


class Picture(NamedTuple):
    """Bytes, and what they are said to be; nothing, where only their place in a message says it."""

    media_type: str
    data: bytes


def names_in(hidden: bytes) -> list[bytes]:
    """Give what a message hides, one by one."""
    return [hidden[at : at + _DIGEST] for at in range(0, len(hidden) - _DIGEST + 1, _DIGEST)]


def find_pictures(record: Mapping[str, Any], wanted: Collection[bytes]) -> dict[bytes, Picture]:
    """Find pictures by name in what was asked and answered; those whose bytes are not there are left out."""
    found: dict[bytes, Picture] = {}
    todo: list[Any] = [record.get("request"), record.get("response"), *events_of(record.get("response"))]
    while todo and len(found) < len(wanted):
        value = todo.pop()
        if isinstance(value, dict):
            images = value.get("images")  # Ollama's: bare base64
            held = [value, *(images if isinstance(images, list) else ())]
            todo += value.values()
        elif isinstance(value, str):
            held = [value] if value.startswith("data:") else []
        else:
            todo += value if isinstance(value, list) else ()
            continue
        for one in held:
            picture = _read(one)
            if picture is not None and (name := digest_of(one)) in wanted:
                found[name] = picture
    return found


def _read(held: Any) -> Picture | None:
    """Read bytes in any of the forms in which dialects hold them."""
    match held:
        case {"data": str(data)} if kind := next((held[key] for key in _TYPES if isinstance(held.get(key), str)), None):
            return _picture(kind, data)
        case {"format": str(kind), "source": {"bytes": str(data)}}:  # Bedrock's
            return _picture(f"image/{kind}", data)
        case str() if held.startswith("data:"):
            before, _, data = held.partition(",")
            return _picture(before[5:].partition(";")[0], data) if before.endswith(";base64") else None
        case str():
            return _picture("", held)
    return None


def _picture(media_type: str, data: str) -> Picture | None:
    """Read base64 as providers do: in either alphabet, broken into lines or not, padded or not."""
    plain = "".join(data.split()).translate(_EITHER).rstrip("=")
    try:
        return Picture(media_type, base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None
