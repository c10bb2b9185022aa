"""What a Cohere message is made of: content blocks, tool calls, and a plan for using tools.

https://docs.cohere.com/reference/chat. `tool_plan` is the model's reasoning about its calls: a thinking part that
keeps the field in `provider_raw` as `{"tool_plan": ...}`. Citations belong to the message and stay beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Part, freeze, frozen_part, output_text, read_arguments, thaw, write_arguments
from weft.errors import UnsupportedFeatureError, WireError
from weft.wire.body import is_plain, listed, mapping_at, optional_text, origin, residue, unknown
from weft.wire.codec import Json, Policy
from weft.wire.dataurl import data_url, media_type_of, read_data_url

__all__ = [
    "NAME",
    "decode_block",
    "decode_call",
    "decode_content",
    "decode_plan",
    "encode_block",
    "encode_call",
    "made_by",
    "own_raw",
]

NAME = "cohere"
TYPES = ("text", "thinking", "image_url", "document")


def own_raw(part: Part, provider: str | None) -> Mapping[str, Any] | None:
    """Give a part's kept block if it is one of this dialect's: by its mark, or by shape and who spoke."""
    raw = part.provider_raw
    if raw is None:
        return None
    whose = part.json.get("dialect") if part.json is not None else None
    if whose is not None:
        return raw if whose == NAME else None
    known = (isinstance(raw.get("type"), str) and raw["type"] in TYPES) or isinstance(raw.get("function"), Mapping)
    return raw if known and provider in (None, NAME) else None


def made_by(provider: str | None, model: Any) -> Frozen:
    """Say who produced the thinking of a message."""
    return origin(provider or NAME, NAME, model if isinstance(model, str) else None)


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_block(part: Part, role: str, provider: str | None, blobs: BlobStore, policy: Policy) -> Json | str:
    """Write one part as a content block, or say in a few words why it cannot be."""
    raw = own_raw(part, provider)
    match part.type:
        case "text" | "refusal":
            if not part.text and raw is None and policy.tidy:
                return "empty text"
            block: Json = {"type": "text", "text": part.text or ""}
            return block if raw is None else {**thaw(raw), **block}
        case "image" if role == "user":
            return _image(part, raw, blobs)
        case "file" | "audio" | "video" if role == "user" and part.blob is not None:
            return _document(part, blobs, policy)
        case "json" if part.json is not None:
            return {"type": "text", "text": output_text(part.json)}
        case "provider" if raw is not None:
            return dict(thaw(raw))
        case _:
            return f"part type {part.type} is not supported for role {role} in cohere chat"


def _image(part: Part, raw: Mapping[str, Any] | None, blobs: BlobStore) -> Json | str:
    facts = {**(part.provider_raw or EMPTY), **(part.json or EMPTY)}
    if part.blob is not None:
        url = data_url(part.blob.media_type, blobs.get_blob(part.blob))
    elif isinstance(facts.get("url"), str):
        url = facts["url"]
    elif raw is not None:
        kept: Json = thaw(raw)
        return kept
    else:
        return "image without blob or URL"
    held: Json = {"url": url}
    if isinstance(facts.get("detail"), str):
        held["detail"] = facts["detail"]
    if raw is None:
        return {"type": "image_url", "image_url": held}
    kept = thaw(raw)
    inner = kept.get("image_url")
    return {**kept, "image_url": {**inner, **held} if isinstance(inner, dict) else held}


def _document(part: Part, blobs: BlobStore, policy: Policy) -> Json | str:
    """Write a stored document: Cohere takes pictures only, and text where the caller wants it inlined [T: 15]."""
    media_type = (part.blob.media_type if part.blob else None) or "application/octet-stream"
    is_text = media_type.startswith("text/") or media_type == "application/json"
    if policy.text_documents == "inline" and is_text and part.blob is not None:
        return {"type": "text", "text": blobs.get_blob(part.blob).decode("utf-8", "replace")}
    if policy.text_documents != "send":
        raise UnsupportedFeatureError(f"Cohere does not support document type: {media_type}")
    return f"a {part.type} of type {media_type} is not taken by cohere chat"


def encode_call(part: Part, provider: str | None, policy: Policy) -> Json | str:
    """Write a tool call, over the block it came in if that is Cohere's own."""
    raw = own_raw(part, provider)
    if raw is not None and not isinstance(raw.get("function"), Mapping):
        raw = None
    call_id = part.tool_call_id
    if (raw is None or policy.tidy) and not (call_id and part.tool_name) and policy.missing_ids != "empty":
        return "tool_call without id or name"
    if raw is None:
        function = {"name": part.tool_name or "", "arguments": write_arguments(part.tool_args)}
        return {"id": call_id or "", "type": "function", "function": function}
    block: Json = thaw(raw)
    if call_id is not None:
        block["id"] = call_id
    function = block["function"]
    if part.tool_name is not None:
        function["name"] = part.tool_name
    if read_arguments(function.get("arguments")) != (part.tool_args or EMPTY):
        function["arguments"] = write_arguments(part.tool_args)
    return block


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_content(content: Any, blobs: BlobStore, where: str, made: Frozen) -> list[Part]:
    """Read a message's content: a string, a list of blocks, or nothing."""
    if isinstance(content, str):
        return [frozen_part("text", content)]
    return [decode_block(block, blobs, f"{where}[{b}]", made) for b, block in enumerate(listed(content, where))]


def decode_block(value: Any, blobs: BlobStore, where: str, made: Frozen) -> Part:
    """Read one block. `made` says who produced it, for the parts that only they take back."""
    block = mapping_at(value, where)
    match block:
        case {"type": "text", "text": str(text)}:
            if is_plain(block, "type", "text"):
                return frozen_part("text", text)
            return frozen_part("text", text, json=freeze({"dialect": NAME}), provider_raw=freeze(block))
        case {"type": "thinking", "thinking": str(text)}:
            return frozen_part("thinking", text, json=made, provider_raw=freeze(block))
        case {"type": "image_url", "image_url": {"url": str(url)} as held}:
            return _decode_image(block, url, residue(held, "url"), blobs)
        case {"type": "text" | "thinking" as kind}:
            raise WireError(
                f"{kind} block lacks a field or has one of another type: {sorted(map(str, block))}", where=where
            )
    return unknown(block, dialect=NAME)


def _decode_image(block: Mapping[str, Any], url: str, more: Json, blobs: BlobStore) -> Part:
    attributes = {"detail": more["detail"]} if isinstance(more.get("detail"), str) else {}
    plain = is_plain(block, "type", "image_url") and is_plain(more, *attributes)
    before, payload = read_data_url(url)
    if payload is None:
        json = freeze({**attributes, "url": url})
        return frozen_part("image", json=json, provider_raw=None if plain else freeze(block))
    blob = blobs.put_blob(payload, media_type=media_type_of(before), kind="image")
    raw = None if plain else freeze({**block, "image_url": {**more, "url": before}})
    return frozen_part("image", json=freeze(attributes) or None, blob=blob, provider_raw=raw)


def decode_plan(plan: str, made: Frozen) -> Part:
    """Read the plan for using tools."""
    return frozen_part("thinking", plan, json=made, provider_raw=freeze({"tool_plan": plan}))


def decode_call(value: Any, where: str) -> Part:
    """Read one of the tool calls; the block is always kept."""
    block = mapping_at(value, where)
    function = mapping_at(block.get("function"), f"{where}.function")
    return frozen_part(
        "tool_call",
        tool_call_id=optional_text(block.get("id"), f"{where}.id"),
        tool_name=optional_text(function.get("name"), f"{where}.function.name"),
        tool_args=freeze(read_arguments(function.get("arguments"))),
        provider_raw=freeze(block),
    )
