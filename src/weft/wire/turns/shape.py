"""A resolved thread as canonical messages, ready for one provider's dialect.

The dialect writes; here is what is decided before it does: what one message is, what of a block the provider takes,
and that blocks which only another provider understands stay behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from weft.blobs import BlobStore
from weft.canon import (
    EMPTY,
    ROLES,
    Message,
    Part,
    Role,
    blocks_provider,
    freeze,
    frozen_part,
    output_text,
    read_blocks,
    thaw,
    turn_messages,
)
from weft.errors import InvalidContentError, UnsupportedFeatureError
from weft.wire.body import annotation, is_failed
from weft.wire.codec import Json
from weft.wire.turns.provider import Provider

__all__ = ["Turn", "read_turns", "shape_turn"]

_ANTHROPICS = freeze({"provider": "anthropic", "dialect": "anthropic"})
_THEN = datetime(1970, 1, 1, tzinfo=UTC)  # a request tells no time, and making one asks no clock


class Turn(NamedTuple):
    """One message of the context, its blocks read."""

    role: Role
    parts: Sequence[Part]
    cache: bool
    made_by: str | None


# -- reading ---------------------------------------------------------------------------------------------------


def read_turns(context: Mapping[str, Any], blobs: BlobStore) -> list[Turn]:
    """Read the messages of a resolved context; results that lack their tool's name take it from their call."""
    turns: list[Turn] = []
    names: dict[str, str] = {}
    for m, message in enumerate(context.get("messages") or ()):
        where = f"messages[{m}]"
        if not isinstance(message, Mapping):
            raise InvalidContentError(f"{where} must be an object, not {type(message).__name__}")
        role = message.get("role", "user")
        if not isinstance(role, str) or role not in ROLES:
            raise InvalidContentError(f"{where}.role must be one of {', '.join(sorted(ROLES))}, not {role!r}")
        content = message.get("content")
        parts = [_named(part, names) for part in read_blocks(content, blobs, f"{where}.content")]
        turns.append(Turn(cast("Role", role), parts, message.get("cache") is True, blocks_provider(content)))
    return turns


def _named(part: Part, names: dict[str, str]) -> Part:
    if part.type == "tool_call" and part.tool_call_id and part.tool_name:
        names[part.tool_call_id] = part.tool_name
    elif part.type == "tool_result" and not part.tool_name and part.tool_call_id in names:
        return replace(part, tool_name=names[part.tool_call_id])
    return part


# -- shaping ---------------------------------------------------------------------------------------------------


def shape_turn(turn: Turn, who: Provider, blobs: BlobStore) -> list[Message]:
    """Give the messages that say a turn to this provider."""
    if who.dialect == "anthropic":
        return _in_place(turn._replace(parts=[_anthropic_part(part, blobs) for part in turn.parts]))
    parts = tuple(_foreign_part(part, who) for part in turn.parts)
    if who.dialect == "gemini":  # one content, in the order given, whatever is in it
        return [Message(turn.role, parts, provider=turn.made_by, timestamp=_THEN)]
    role = "assistant" if any(part.type == "tool_call" for part in parts) else turn.role
    return turn_messages(role, parts, provider=turn.made_by, timestamp=_THEN)


def _in_place(turn: Turn) -> list[Message]:
    """Cut a user's message where results and other content meet; the dialect joins it again in the same order."""
    runs: list[list[Part]] = [[]]
    for part in turn.parts:
        is_result = part.type == "tool_result"
        if runs[-1] and turn.role == "user" and (runs[-1][-1].type == "tool_result") != is_result:
            runs.append([])
        runs[-1].append(part)
    messages = []
    for r, run in enumerate(runs):
        marks: Json = {"joins": True} if r else {}
        if turn.cache and run is runs[-1]:
            marks["cache"] = True
        role: Role = "tool" if turn.role == "user" and run and run[0].type == "tool_result" else turn.role
        messages.append(Message(role, (*run, *annotation(marks)), provider=turn.made_by, timestamp=_THEN))
    return messages


def _anthropic_part(part: Part, blobs: BlobStore) -> Part:
    """Make text files text [T-79], and strip tool results down to what the API takes [T-80]; all else goes as it is."""
    if part.blob is not None:
        media_type = part.blob.media_type or ""
        if media_type.startswith("text/") or media_type == "application/json":
            return frozen_part("text", blobs.get_blob(part.blob).decode("utf-8", "replace"))
        return replace(part, provider_raw=None) if part.type == "image" else replace(part, type="file")
    if part.type != "tool_result":
        return part
    content = [_item(item) for item in _items(part.tool_output)]
    raw: Json = {"type": "tool_result", "content": content}
    if is_failed(part):
        raw["is_error"] = True
    is_text = len(content) == 1 and content[0]["type"] == "text"
    return replace(part, tool_output=content[0]["text"] if is_text else content, provider_raw=raw)


def _items(output: Any) -> Sequence[Any]:
    """Give a tool's output as the list of items it was."""
    if output is None:
        return ()
    return output if isinstance(output, tuple) else ({"type": "text", "text": output_text(output)},)


def _item(item: Any) -> Json:
    match item:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image", "data": str(data), "mimeType": str(media_type)}:  # as MCP servers give it
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case {"type": "image"}:
            passed: Json = thaw(item)
            return passed
    return {"type": "text", "text": output_text(item)}


def _foreign_part(part: Part, who: Provider) -> Part:
    """Say of an unmarked block whose it is, so that it stays behind; Gemini refuses kinds it does not know [T-85]."""
    if part.type == "provider" and who.dialect == "gemini" and (part.json or EMPTY).get("dialect") != "gemini":
        kind = (part.provider_raw or EMPTY).get("type")
        raise UnsupportedFeatureError(f"{who.title} does not support content block type: {kind}")
    if part.json is None and part.type in ("thinking", "provider"):
        return replace(part, json=_ANTHROPICS)
    return part
