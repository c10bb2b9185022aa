"""What a format's reader kept of its own beside what weft understands, for its writer to give back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.canon import Part, thaw

__all__ = ["kept_beside", "own_block"]


def kept_beside(part: Part, name: str) -> dict[str, Any]:
    """Give the fields that the reader of format `name` kept with a part; none of a part that came otherwise."""
    kept = (part.provider_raw or {}).get(name)
    return dict(thaw(kept)) if isinstance(kept, Mapping) else {}


def own_block(part: Part, name: str) -> dict[str, Any] | None:
    """Give a block that only format `name` understands, as it came; None for every other part."""
    if part.type != "provider" or (part.json or {}).get("dialect") != name:
        return None
    return dict(thaw(part.provider_raw or {}))
