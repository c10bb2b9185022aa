"""The content blocks of stored turns, as parts and back [T-28, T-29, R-6 to R-9].

A turn's payload is a list of blocks: `text`, `document`, `tool_use`, `tool_result`, and whatever a provider said that
only it understands, verbatim. Their shapes are Anthropic's, so its blocks are stored as they came. A part that carries
another provider's block (a Gemini signature, say) is stored with two keys of weft's own: `provider_raw`, that block,
and `origin`, whose it is.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from weft.blobs import BlobStore, media_kind
from weft.canon.arguments import output_text, read_arguments
from weft.canon.freezing import EMPTY, Frozen, freeze, thaw
from weft.canon.part import Message, Part, Role, frozen_part
from weft.canon.plan import ExcludedItem
from weft.errors import InvalidContentError

__all__ = ["blocks_provider", "read_block", "read_blocks", "turn_messages", "write_block", "write_blocks"]

Json = dict[str, Any]

THINKING = ("thinking", "redacted_thinking")
MEDIA = ("image", "audio", "video", "file")
SHAPED_LIKE = "anthropic"  # the dialect whose blocks are turn blocks already
REMOTE = {"url": "url", "file": "file_id"}  # sources that are not bytes, and the key that says where the bytes are


# -- blocks to parts -------------------------------------------------------------------------------------------


def read_blocks(content: Any, blobs: BlobStore, where: str = "content") -> list[Part]:
    """Read a turn's content: a list of blocks, or a string that stands for one text block."""
    if isinstance(content, str):
        return [frozen_part("text", content)]
    if not isinstance(content, (list, tuple)):
        raise InvalidContentError(f"{where} must be a list of blocks, not {type(content).__name__}")
    return [read_block(block, blobs, f"{where}[{b}]") for b, block in enumerate(content)]


def read_block(value: Any, blobs: BlobStore, where: str = "block") -> Part:
    """Read one block; one that is not of a known shape is kept whole, as a `provider` part."""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        raise InvalidContentError(f"{where} must be an object with a type")
    block: Frozen = freeze(value)
    raw = block["provider_raw"] if isinstance(block.get("provider_raw"), Mapping) else None
    match block:
        case {"type": "text", "text": str(text)}:
            if len(block) == 2:
                return frozen_part("text", text)
            return frozen_part("text", text, provider_raw=raw or block)
        case {"type": "refusal", "refusal": str(text)}:
            return frozen_part("refusal", text, provider_raw=raw)
        case {"type": "tool_use", "name": str(name)}:
            given = block.get("input")
            arguments: Any = given if isinstance(given, Mapping) else read_arguments(given)
            call_id = _text(block.get("id"))
            return frozen_part(
                "tool_call", tool_call_id=call_id, tool_name=name, tool_args=arguments, provider_raw=raw or block
            )
        case {"type": "tool_result"}:
            return frozen_part(
                "tool_result",
                tool_call_id=_text(block.get("tool_use_id")),
                tool_name=_text(block.get("name")),
                tool_output=_output(block.get("content")),
                provider_raw=raw or block,
            )
        case {"type": "document" | "image", "source": Mapping() as source}:
            return _read_media(block, source, blobs)
        case {"type": "thinking", "origin": Mapping() as origin}:
            return frozen_part("thinking", _text(block.get("thinking")), json=freeze(origin), provider_raw=raw)
        case {"type": "thinking", "thinking": str(text)}:
            return frozen_part("thinking", text, provider_raw=block)
        case {"type": "redacted_thinking"}:
            return frozen_part("thinking", provider_raw=block)
        case {"type": "compaction"}:
            return frozen_part("compaction", provider_raw=block)
        case {"type": "provider", "provider_raw": Mapping()}:
            return frozen_part("provider", json=block.get("origin") or None, provider_raw=raw)
    return frozen_part("provider", provider_raw=block)


def blocks_provider(content: Any) -> str | None:
    """Tell who made the blocks, where one of them says so: a turn's blocks are all of one provider."""
    for block in content if isinstance(content, (list, tuple)) else ():
        match block:
            case {"origin": {"provider": str(provider)}}:
                return provider
    return None


def turn_messages(
    role: Role,
    parts: Sequence[Part],
    *,
    cache: bool = False,
    provider: str | None = None,
    turn_id: str | None = None,
    timestamp: datetime | None = None,
) -> list[Message]:
    """Make a turn's parts into messages: one, or two if a user turn has tool results and more beside them [R-7]."""
    if role == "user":
        results = tuple(part for part in parts if part.type == "tool_result")
        others = tuple(part for part in parts if part.type != "tool_result")
        groups: list[tuple[Role, tuple[Part, ...]]] = [("tool", results)] if results else []
        if others or not results:
            groups.append(("user", others))
    else:
        groups = [(role, tuple(parts))]
    if cache:  # the mark belongs to the turn's last block [T-78]
        last, said = groups[-1]
        groups[-1] = (last, (*said, frozen_part("annotation", json=freeze({"cache": True}))))
    return [Message(role, said, provider=provider, turn_id=turn_id, timestamp=timestamp) for role, said in groups]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _output(content: Any) -> Any:
    """Give a tool result's content in our words: the text if it is one text block, else the blocks [R-8]."""
    if isinstance(content, tuple) and len(content) == 1:
        match content[0]:
            case {"type": "text", "text": str(text)}:
                return text
    return content


def _read_media(block: Frozen, source: Mapping[str, Any], blobs: BlobStore) -> Part:
    name = _text(block.get("name"))
    facts: Json = {} if name is None else {"name": name}
    media_type = _text(source.get("media_type"))
    payload = _bytes(source.get("data")) if source.get("type") == "base64" else None
    if payload is None:
        if (key := REMOTE.get(str(source.get("type")))) and isinstance(source.get(key), str):
            facts[key] = source[key]
        kind = "image" if block["type"] == "image" else media_kind(media_type)
        return frozen_part(kind, json=freeze(facts) if facts else None, provider_raw=block)
    kind = media_kind(media_type)
    rest = {key: value for key, value in block.items() if key not in ("source", "name")}
    raw: Mapping[str, Any] | None = None if rest == {"type": "document"} else rest
    if isinstance(block.get("provider_raw"), Mapping):
        raw = block["provider_raw"]
    elif raw is None and name is not None:
        raw = {"name": name}
    blob = blobs.put_blob(payload, media_type=media_type, kind=kind)
    return frozen_part(
        kind, json=freeze(facts) if facts else None, blob=blob, provider_raw=None if raw is None else freeze(raw)
    )


def _bytes(data: Any) -> bytes | None:
    """Read base64 that would be written back the same; None for anything else, which is kept as given [J-06]."""
    if not isinstance(data, str):
        return None
    try:
        payload = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return payload if base64.b64encode(payload).decode("ascii") == data else None


# -- parts to blocks -------------------------------------------------------------------------------------------


def write_blocks(
    parts: Iterable[Part], blobs: BlobStore, *, provider: str | None = None, where: str = "parts"
) -> tuple[list[Json], list[ExcludedItem]]:
    """Write parts as a turn's content, with the list of those that have no form there [R-9]."""
    blocks: list[Json] = []
    losses: list[ExcludedItem] = []
    for p, part in enumerate(parts):
        block = write_block(part, blobs, provider=provider)
        if isinstance(block, str):
            losses.append(ExcludedItem(f"{where}[{p}]", block))
        elif block is not None:
            blocks.append(block)
    return blocks, losses


def write_block(part: Part, blobs: BlobStore, *, provider: str | None = None) -> Json | str | None:
    """Write one part as a block; or say why it cannot be; or None for what is not content."""
    match part.type:
        case "text":
            block: Json = {"type": "text", "text": part.text or ""}
            return _over(part, block, provider)
        case "refusal":
            return _over(part, {"type": "refusal", "refusal": part.text or ""}, provider)
        case "tool_call":
            block = {"type": "tool_use", "name": part.tool_name or "", "input": thaw(part.tool_args or EMPTY)}
            if part.tool_call_id is not None:
                block["id"] = part.tool_call_id
            return _over(part, block, provider)
        case "tool_result":
            return _write_result(part)
        case "thinking":
            if part.provider_raw is not None and part.provider_raw.get("type") in THINKING and _is_shaped(part):
                return _thawed(part.provider_raw)
            if part.text is None and part.provider_raw is None:
                return "thinking without provider block or text"
            return _wrapped("thinking", part, {"thinking": part.text or ""})
        case "image" | "audio" | "video" | "file":
            return _write_media(part, blobs, provider)
        case "annotation":
            return None
    if part.provider_raw is not None:
        if isinstance(part.provider_raw.get("type"), str) and _is_shaped(part):
            return _thawed(part.provider_raw)
        return _wrapped("provider", part)
    if part.type == "json" and part.json is not None:
        return {"type": "text", "text": output_text(part.json)}
    return f"part type {part.type} has no form in a turn"


def _thawed(value: Mapping[str, Any]) -> Json:
    thawed: Json = thaw(value)
    return thawed


def _is_shaped(part: Part) -> bool:
    """Tell whether a part's provider block is a turn block as it stands."""
    made_by: str = (part.json or EMPTY).get("dialect", SHAPED_LIKE)
    return made_by == SHAPED_LIKE


def _over(part: Part, block: Json, provider: str | None) -> Json:
    """Lay what the part says over the block it came as; another provider's block goes beside it."""
    raw = part.provider_raw
    if raw is None:
        return block
    if raw.get("type") == block["type"]:
        return {**_thawed(raw), **block}
    return {**block, "origin": {} if provider is None else {"provider": provider}, "provider_raw": thaw(raw)}


def _wrapped(kind: str, part: Part, fields: Mapping[str, Any] = EMPTY) -> Json:
    block: Json = {"type": kind, **fields, "origin": thaw(part.json or EMPTY)}
    if part.provider_raw is not None:
        block["provider_raw"] = thaw(part.provider_raw)
    return block


def _write_result(part: Part) -> Json:
    raw = part.provider_raw or EMPTY
    block: Json = {"type": "tool_result", "name": part.tool_name or ""}
    if part.tool_call_id is not None:
        block["tool_use_id"] = part.tool_call_id
    if raw.get("type") == "tool_result":
        kept = _thawed(raw)
        if part.tool_name is None:
            del block["name"]
        if _output(raw.get("content")) == part.tool_output:
            return {**kept, **block}
        block = {**kept, **block}
    block["content"] = [{"type": "text", "text": output_text(part.tool_output)}] if part.tool_output is not None else []
    if raw.get("is_error") is True:
        block["is_error"] = True
    return block


def _write_media(part: Part, blobs: BlobStore, provider: str | None) -> Json | str:
    raw = part.provider_raw or EMPTY
    facts = {**raw, **(part.json or EMPTY)}
    kind = raw["type"] if raw.get("type") in ("document", "image") and _is_shaped(part) else None
    if part.blob is not None:
        data = base64.b64encode(blobs.get_blob(part.blob)).decode("ascii")
        media_type = part.blob.media_type or "application/octet-stream"
        source: Json = {"type": "base64", "media_type": media_type, "data": data}
    elif kind is not None and isinstance(raw.get("source"), Mapping):
        return _thawed(raw)
    else:
        place = next((place for place, key in REMOTE.items() if isinstance(facts.get(key), str)), None)
        if place is None:
            return _wrapped("provider", part) if raw else f"{part.type} without id, data or blob"
        source = {"type": place, REMOTE[place]: facts[REMOTE[place]]}
    block: Json = _thawed(raw) if kind is not None else {"type": "document"}
    if isinstance(facts.get("name"), str):
        block["name"] = facts["name"]
    block["source"] = source
    return block if kind is not None or raw.keys() <= {"name"} else _over(part, block, provider)
