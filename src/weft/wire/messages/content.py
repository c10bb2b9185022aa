"""Small tools for wire messages: their texts, their ids, their providers' entries.

Content is a string, or a list of parts; `None` is content that is absent. Everything here gives new values and
leaves what it was given alone, except `append` and `provider_entry`, whose purpose it is to add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.errors import CodecError
from weft.wire.body import to_base64
from weft.wire.codec import Json

__all__ = [
    "Content",
    "append",
    "concat",
    "map_ids",
    "map_text",
    "provider_entry",
    "strip_ids",
    "to_text",
    "to_text_list",
    "without_bytes",
]

Content = str | list[Json]


def to_text(content: Content | None) -> str | None:
    """Give the text of content: a string as it is, the texts of a list joined with nothing, None for None."""
    if content is None or isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def to_text_list(content: Content | None) -> list[str] | None:
    """Give the texts of content, one by one."""
    if content is None:
        return None
    return [content] if isinstance(content, str) else [part["text"] for part in content if part["type"] == "text"]


def concat(*contents: Content | None) -> Content:
    """Put contents together: into a string if all are strings, else into one list."""
    return append("", *contents)


def append(target: Content, *contents: Content | None) -> Content:
    """Put contents behind `target` and give it back; a list grows in place, a string becomes a list when it must."""
    given = [content for content in contents if content is not None]
    if isinstance(target, str):
        if all(isinstance(content, str) for content in given):
            return "".join([target, *given])  # type: ignore[list-item]  # all are strings
        target = _as_parts(target)
    for content in given:
        target.extend(_as_parts(content))
    return target


def _as_parts(content: Content) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def strip_ids(message: Mapping[str, Any]) -> Json:
    """Copy a message without its ids and those of its calls."""
    return _with_ids(message, lambda _: None)


def map_ids(message: Mapping[str, Any], table: Mapping[str, str]) -> Json:
    """Copy a message with its ids and those of its calls replaced; ids that are not in the table are kept."""
    return _with_ids(message, lambda old: table.get(old, old))


def _with_ids(message: Mapping[str, Any], new: Callable[[str], str | None]) -> Json:
    copied = _renamed(message, new)
    if copied.get("tool_calls"):
        copied["tool_calls"] = [_renamed(call, new) for call in copied["tool_calls"]]
    return copied


def _renamed(thing: Mapping[str, Any], new: Callable[[str], str | None]) -> Json:
    copied = dict(thing)
    for key in ("id", "call_id"):
        if copied.get(key) is not None:
            copied[key] = new(copied[key])
            if copied[key] is None:
                del copied[key]
    return copied


def map_text(content: Content, change: Callable[[str], str]) -> Content:
    """Copy content with its string, or each of its text parts, changed."""
    if isinstance(content, str):
        return change(content)
    return [{**part, "text": change(part["text"])} if part["type"] == "text" else part for part in content]


def provider_entry(message: Json, provider: str) -> Json:
    """Give what a message's `extra` holds for a provider, to read or to add to; it is made if it is not there."""
    extra = message.get("extra")
    if extra is None:
        extra = message["extra"] = {}
    if not isinstance(extra, dict):
        raise CodecError(f"must be an object to hold an entry for {provider}", where="extra")
    entry = extra.setdefault(provider, {})
    if not isinstance(entry, dict):
        raise CodecError("must be an object", where=f"extra.{provider}")
    return entry


def without_bytes(content: Content) -> Content:
    """Copy content with bytes written as base64, as every text format needs it [W-3]."""
    if isinstance(content, str):
        return content
    return [
        {**part, "data": to_base64(part["data"])} if isinstance(part.get("data"), bytes) else part for part in content
    ]
