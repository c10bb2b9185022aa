"""What tools showed, in pictures: each agent writes it another way, and as text a picture is a megabyte of nonsense."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from weft.canon import Part

__all__ = ["for_anthropic", "for_responses", "shown_by"]

_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
Shown = tuple[str, str]  # ("text", words) or ("image", url)


def shown_by(parts: Iterable[Part]) -> dict[str, list[Shown]]:
    """Give what the results among some parts show, by their calls; only those that show pictures."""
    found = {}
    for part in parts:
        if part.type == "tool_result" and part.tool_call_id is not None and isinstance(part.tool_output, (list, tuple)):
            shown = [_seen(block) for block in part.tool_output]
            whole = [each for each in shown if each is not None]
            if len(whole) == len(shown) and any(kind == "image" for kind, _ in whole):
                found[part.tool_call_id] = whole
    return found


def _seen(block: Any) -> Shown | None:
    if not isinstance(block, Mapping):
        return None
    match dict(block):
        case {"type": "text" | "input_text" | "output_text", "text": str(words)}:
            return "text", words
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return "image", f"data:{kind};base64,{data}"
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return "image", url
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return "image", f"data:{kind};base64,{data}"
        case {"type": "image", "base64": str(data), "mime_type": str(kind)}:
            return "image", f"data:{kind};base64,{data}"
        case {"type": "input_image", "image_url": str(url)} | {"type": "image_url", "image_url": {"url": str(url)}}:
            return "image", url
    return None


def for_responses(shown: Iterable[Shown]) -> list[dict[str, Any]]:
    """Write it as the Responses API has it."""
    return [
        {"type": "input_text", "text": given} if kind == "text" else {"type": "input_image", "image_url": given}
        for kind, given in shown
    ]


def for_anthropic(shown: Iterable[Shown]) -> list[dict[str, Any]]:
    """Write it as Anthropic has it."""
    said: list[dict[str, Any]] = []
    for kind, given in shown:
        if kind == "text":
            said.append({"type": "text", "text": given})
        elif found := _DATA_URL.fullmatch(given):
            source = {"type": "base64", "media_type": found[1], "data": found[2]}
            said.append({"type": "image", "source": source})
        else:
            said.append({"type": "image", "source": {"type": "url", "url": given}})
    return said
