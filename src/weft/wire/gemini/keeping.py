"""Parts as they came: kept in `provider_raw`, opened again to lay what canon says over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.canon import Frozen, freeze, thaw
from weft.wire.body import to_base64
from weft.wire.codec import Json
from weft.wire.gemini.spelling import find, get, snaked
from weft.wire.gemini.way import Way

__all__ = ["kept", "native", "opened", "signature_of"]


def kept(part: Mapping[str, Any], key: str = "", held: Mapping[str, Any] | None = None) -> Frozen:
    """Keep a part: without nulls, and signatures as the text they are on the wire (the SDK's objects have bytes)."""
    block = {name: item for name, item in part.items() if item is not None}
    for name in ("thoughtSignature", "thought_signature"):
        if isinstance(block.get(name), bytes):
            block[name] = to_base64(block[name])
    if held is not None:
        block[key] = {name: item for name, item in held.items() if item is not None}
    frozen: Frozen = freeze(block)
    return frozen


def native(raw: Mapping[str, Any] | None, way: Way) -> Json:
    """Give a kept part back, in the spelling wanted; nothing for none."""
    if raw is None:
        return {}
    thawed: Json = thaw(raw)
    return snaked(thawed) if way.snake else thawed


def opened(raw: Mapping[str, Any] | None, name: str, way: Way) -> tuple[Json, str, Json]:
    """Open a kept part, or a new one: the part, the key of its data field, and what is in it."""
    block = native(raw, way)
    key = find(block, name) or way.spell(name)
    held = block.get(key)
    return block, key, held if isinstance(held, dict) else {}


def signature_of(raw: Mapping[str, Any] | None) -> str | None:
    """Give the thought signature of a kept part."""
    signature = None if raw is None else get(raw, "thoughtSignature")
    return signature if isinstance(signature, str) else None
