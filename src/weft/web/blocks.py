"""Blocks of a turn as messages of the page: one a block, with bytes beside it where there are any."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from weft.jsontext import dumps_text
from weft.web import contract
from weft.web.answers import RefusedError
from weft.web.values import Body, BodyCall

__all__ = ["IMAGES", "attachment", "blocks_from_bodies", "bodies_of", "bytes_in", "role_of_blocks"]

# What <img> may show: pixels and nothing else. SVG is a document with scripts, and only downloads [W-09].
IMAGES = frozenset({"image/avif", "image/gif", "image/jpeg", "image/png", "image/webp"})


def attachment(blob_id: str, name: str | None, media_type: str, size_bytes: int | None) -> contract.Attachment:
    """Describe bytes beside a message."""
    kind = media_type.partition(";")[0].strip().lower()
    return {
        "id": blob_id,
        "name": name,
        "media_type": media_type,
        "size_bytes": size_bytes,
        "is_image": kind in IMAGES,
    }


def role_of_blocks(role: contract.Role, blocks: Sequence[Any]) -> contract.Role:
    """Say what a turn is for a list: results of tools, calls of them, or what someone said."""
    kinds = {block.get("type") for block in blocks if isinstance(block, Mapping)}
    if kinds == {"tool_result"}:
        return "tool_result"
    return "tool_use" if role == "assistant" and "tool_use" in kinds else role


def bodies_of(blocks: Sequence[Any], role: contract.Role, stem: str) -> list[Body]:
    """Give the messages of a turn's blocks."""
    return [_body(block, role, f"{stem}.{number}") for number, block in enumerate(blocks)]


def _body(block: Any, role: contract.Role, message_id: str) -> Body:
    match block:
        case {"type": "text", "text": str(text)}:
            return Body(message_id, role, text)
        case {"type": "thinking", "thinking": str(text)}:
            return Body(message_id, "thinking", text)
        case {"type": "redacted_thinking"}:
            return Body(message_id, "thinking", "[redacted]")
        case {"type": "tool_use" | "server_tool_use", "name": str(name)}:
            call_id = block.get("id")
            arguments = dumps_text(block.get("input", {}))
            calls = (BodyCall(name, call_id if isinstance(call_id, str) else None, arguments),)
            return Body(message_id, "tool_use", "", calls)
        case {"type": "tool_result"}:
            answered = block.get("tool_use_id") or block.get("name")
            return Body(
                message_id,
                "tool_result",
                _result(block.get("content")),
                tool_use_id=answered if isinstance(answered, str) else None,
                is_error=block.get("is_error") is True,
                blobs=_inside(block.get("content"), message_id),
            )
    attached = _attached(block, message_id)
    if attached is not None:
        return Body(message_id, role, "", blobs=(attached,))
    return Body(message_id, role, dumps_text(block))


def bytes_in(blocks: Sequence[Any], place: str) -> bytes:
    """Give the bytes that a block holds; `place` is its number, and within the result of a tool a second one."""
    first, _, second = place.partition(".")
    block = blocks[int(first)]
    held = _held(block["content"][int(second)] if second else block)
    try:
        return base64.b64decode(held[1] if held is not None else "")
    except (binascii.Error, ValueError):
        raise RefusedError(404, "not_found", "what is kept here is not base64") from None


def _inside(content: Any, message_id: str) -> tuple[contract.Attachment, ...]:
    """Describe the pictures that a tool gave."""
    items = content if isinstance(content, list) else []
    found = (_attached(item, f"{message_id}.{number}") for number, item in enumerate(items))
    return tuple(each for each in found if each is not None)


def _attached(block: Any, blob_id: str) -> contract.Attachment | None:
    held = _held(block)
    if held is None:
        return None
    kind, data = held
    name = block.get("name") or block.get("title")
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return attachment(blob_id, name if isinstance(name, str) else None, kind, max(size, 0))


def _held(block: Any) -> tuple[str, str] | None:
    """Give the media type and the base64 of a block that holds bytes: one of ours, or as an MCP server gave it."""
    match block:
        case {"source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return kind, data
        case {"type": "image" | "audio", "mimeType": str(kind), "data": str(data)}:
            return kind, data
    return None


def _result(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else dumps_text(content)
    pieces = []
    for item in content:
        match item:
            case {"type": "text", "text": str(text)}:
                pieces.append(text)
            case {"type": "image" | "audio" as kind}:
                pieces.append(f"[{kind}]")
            case _:
                pieces.append(dumps_text(item))
    return "\n".join(pieces)


def blocks_from_bodies(bodies: Sequence[Body], loads: Any) -> list[dict[str, Any]]:
    """Make turns of cooked messages: records with role and content, neighbours of one speaker together."""
    records: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for body in bodies:
        speaker = {"tool_use": "assistant", "thinking": "assistant", "tool_result": "user"}.get(body.role, body.role)
        blocks: list[dict[str, Any]] = []
        if body.role == "tool_result":
            name = names.get(body.tool_use_id or "", body.tool_use_id or "tool")
            result = {"type": "tool_result", "name": name, "content": [{"type": "text", "text": body.content}]}
            blocks.append({**result, "tool_use_id": body.tool_use_id} if body.tool_use_id else result)
            if body.is_error:
                blocks[-1]["is_error"] = True
        elif body.role == "thinking":
            continue  # unsigned: no provider takes back thinking that it cannot check
        elif body.content:
            blocks.append({"type": "text", "text": body.content})
        for call in body.calls:
            made = {"type": "tool_use", "name": call.name, "input": loads(call.arguments)}
            blocks.append({**made, "id": call.id} if call.id else made)
            if call.id:
                names[call.id] = call.name
        if not blocks:
            continue
        if records and records[-1]["role"] == speaker:
            records[-1]["content"] += blocks
        else:
            records.append({"role": speaker, "content": blocks})
    return records
