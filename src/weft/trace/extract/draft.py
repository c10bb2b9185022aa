"""A message or tool before it has an id, and the few things all dialects do alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from weft.jsontext import dumps, dumps_text, loads

__all__ = [
    "Draft",
    "ToolDraft",
    "call",
    "digest_of",
    "image_text",
    "json_of",
    "mappings",
    "server_tool",
    "text_of",
    "tool_calls",
    "tool_uses",
]

Calls = list[dict[str, Any]]


class Draft(NamedTuple):
    """A message to be. `hidden` tells apart what the text does not show: two images are two messages [G-10].

    `loose`: reasoning that its client may not send back [C-28].
    """

    role: str
    content: str
    tool_calls: Calls | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    hidden: bytes = b""
    loose: bool = False


class ToolDraft(NamedTuple):
    """A tool to be."""

    name: str
    description: str = ""
    parameters: Any = None
    is_server_side: bool = False


def json_of(value: Any) -> str:
    """Write a value as text, as the published cook does."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return dumps_text(value)


def text_of(value: Any) -> str:
    """Give a text; nothing for null, JSON for anything else."""
    if isinstance(value, str):
        return value
    return "" if value is None else json_of(value)


def digest_of(value: Any) -> bytes:
    """Give what tells a value apart from others, where the text does not show it."""
    return sha256(dumps(value)).digest()


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Give the objects of a list; nothing for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, (list, tuple)) else []


def call(name: Any, arguments: Any, id: Any = None) -> dict[str, Any]:
    """Give a tool call: argument text is read, what is no object is kept as `raw`, no id is invented [C-25, C-37]."""
    made: dict[str, Any] = {"name": name if isinstance(name, str) else "", "arguments": _arguments(arguments)}
    if id is not None and id != "":
        made["id"] = id if isinstance(id, str) else json_of(id)
    return made


def _arguments(given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    if given is None or given == "":
        return {}
    if not isinstance(given, str):
        return {"raw": json_of(given)}
    try:
        read = loads(given)
    except ValueError:
        return {"raw": given}
    return read if isinstance(read, dict) else {"raw": given}


def tool_calls(message: Mapping[str, Any]) -> Calls:
    """Give the calls of a message in OpenAI's way, the old `function_call` and free-text tools too."""
    calls = []
    for each in mappings(message.get("tool_calls")):
        held = each.get("function")
        if isinstance(held, dict):
            calls.append(call(held.get("name"), held.get("arguments"), each.get("id")))
        elif isinstance(held := each.get("custom"), dict):
            calls.append(call(held.get("name"), {"raw": text_of(held.get("input"))}, each.get("id")))
        else:
            calls.append(call(each.get("name"), each.get("arguments"), each.get("id")))
    old = message.get("function_call")
    if isinstance(old, dict):
        calls.append(call(old.get("name"), old.get("arguments")))
    return calls


def tool_uses(calls: Sequence[dict[str, Any]]) -> list[Draft]:
    """Give the one message that holds calls without a text."""
    return [Draft("tool_use", "", list(calls))] if calls else []


def image_text(url: Any) -> tuple[str, bytes]:
    """Give what an image is shown as, and what tells it apart."""
    if isinstance(url, str) and not url.startswith("data:"):
        return f"[image: {url}]", b""
    return "[image: base64 data]", digest_of(url)


def server_tool(tool: Mapping[str, Any], drop: Iterable[str] = ()) -> ToolDraft:
    """Give a tool that the provider runs: what it is called, and the rest as its parameters [C-40]."""
    name = tool.get("name") or tool.get("type")
    left = {key: value for key, value in tool.items() if key not in ("name", "type", "description", *drop)}
    if "name" in tool and "type" in tool:
        left = {"type": tool["type"], **left}
    return ToolDraft(name if isinstance(name, str) else "", text_of(tool.get("description")), left, is_server_side=True)
