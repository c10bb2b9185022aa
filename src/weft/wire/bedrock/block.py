"""Content blocks of the Converse API: one canonical part each, both ways.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html. A block is a union: an object
whose one member says what it is. Text under guard and text with citations are text parts that keep their block;
cache points, server tools and their results, search results and whatever comes next are `provider` parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Part, Role, freeze, frozen_part, output_text, read_arguments, thaw
from weft.errors import WireError
from weft.wire.bedrock.media import KINDS, as_policy, as_text, decode_media, encode_media
from weft.wire.body import is_failed, is_plain, listed, maker, mapping_at, need, origin, same, unknown
from weft.wire.codec import Json, Policy

__all__ = [
    "MEMBERS",
    "NAME",
    "SERVER_TOOL",
    "decode_block",
    "decode_content",
    "encode_part",
    "is_own_block",
    "made_by",
    "text_of",
]

NAME = "bedrock"
PROVIDERS = frozenset({"bedrock", "local"})  # who may have produced a text block with more to it than text

# The members that are objects; a kept block with one of them is recognised by it, whoever spoke.
MEMBERS = frozenset({*KINDS, "toolUse", "toolResult", "reasoningContent", "guardContent", "citationsContent"})
SERVER_TOOL = "server_tool_use"


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_part(part: Part, role: Role, provider: str | None, blobs: BlobStore, policy: Policy) -> Json | str | None:
    """Write one part as a block; or say in a few words why it cannot be; or None for what is not content."""
    raw = part.provider_raw if part.provider_raw is not None and is_own_block(part, provider) else None
    match part.type:
        case "text" | "refusal":
            if not part.text and raw is None and policy.merge:
                return "empty text"
            return _text(part.text or "", raw)
        case "tool_call":
            if role != "assistant" and policy.merge:
                return f"part type tool_call is not supported for role {role}"
            if not part.tool_call_id or not part.tool_name:
                return "tool_call without id or name"
            return _tool_use(part, raw)
        case "tool_result":
            if not part.tool_call_id:
                return "tool_result without id"
            return _tool_result(part) if raw is None else as_policy(_kept_result(part, raw), policy)
        case "thinking":
            return _thinking(part, raw, policy)
        case "image" | "file" | "audio" | "video":
            return encode_media(part, role, raw, blobs, policy)
        case "json" if part.json is not None:
            return {"text": output_text(part.json)}
        case "annotation":
            return None
        case "provider" if raw is not None:
            return as_policy(thaw(raw), policy)
        case _:
            return f"part type {part.type} is not supported for role {role}"


def is_own_block(part: Part, provider: str | None) -> bool:
    """Tell whether the block a part keeps is one of this dialect's, by its shape; for other parts, by their mark."""
    raw = part.provider_raw or EMPTY
    if part.type == "provider":
        return (part.json or EMPTY).get("dialect") == NAME
    for member in raw:
        if member in MEMBERS and isinstance(raw[member], Mapping):
            return "type" not in raw
    return isinstance(raw.get("text"), str) and provider in PROVIDERS


def _text(text: str, raw: Mapping[str, Any] | None) -> Json:
    if raw is None:
        return {"text": text}
    block: Json = thaw(raw)
    if text_of(block) == text:
        return block
    match block:
        case {"guardContent": {"text": {**guarded}}}:
            return {**block, "guardContent": {"text": {**guarded, "text": text}}}
        case {"citationsContent": {**cited}}:
            return {**block, "citationsContent": {**cited, "content": [{"text": text}]}}
    return {**block, "text": text}


def _tool_use(part: Part, raw: Mapping[str, Any] | None) -> Json:
    kept = raw.get("toolUse") if raw is not None else None
    if raw is None or not isinstance(kept, Mapping):
        arguments = thaw(part.tool_args or EMPTY)
        return {"toolUse": {"toolUseId": part.tool_call_id, "name": part.tool_name, "input": arguments}}
    block: Json = thaw(raw)
    tool = block["toolUse"]
    tool["toolUseId"] = part.tool_call_id
    tool["name"] = part.tool_name
    if part.tool_args is None or not same(_arguments(kept.get("input")), part.tool_args):
        tool["input"] = thaw(part.tool_args or EMPTY)
    return block


def _tool_result(part: Part) -> Json:
    content = [] if part.tool_output is None else [{"text": output_text(part.tool_output)}]
    status = "error" if is_failed(part) else "success"
    return {"toolResult": {"toolUseId": part.tool_call_id, "content": content, "status": status}}


def _kept_result(part: Part, raw: Mapping[str, Any]) -> Json:
    block: Json = {key: thaw(value) for key, value in raw.items() if key != "is_error"}
    kept = block.get("toolResult")
    if not isinstance(kept, dict):
        return _tool_result(part)
    kept["toolUseId"] = part.tool_call_id
    if "content" not in kept or not same(_output(raw["toolResult"]["content"]), part.tool_output):
        kept["content"] = _tool_result(part)["toolResult"]["content"]
    if is_failed(part):
        kept["status"] = "error"
    elif kept.get("status") == "error":
        kept["status"] = "success"  # it was mended since
    return block


def _thinking(part: Part, raw: Mapping[str, Any] | None, policy: Policy) -> Json | str:
    made = maker(part)
    if made.get("dialect", NAME) != NAME:
        if policy.foreign_thinking == "text" and part.text:
            return {"text": part.text}
        return f"thinking of {made.get('provider') or made['dialect']} carries no signature this endpoint accepts"
    if raw is not None and "reasoningContent" in raw:
        return as_policy(thaw(raw), policy)  # signed or sealed: to the byte, or it is refused
    if not part.text:
        return "thinking without provider block or text"
    if policy.unsigned_thinking == "drop":
        return "thinking without a signature is not accepted"
    return {"reasoningContent": {"reasoningText": {"text": part.text}}}


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_content(content: Any, blobs: BlobStore, where: str, made: Frozen, role: str) -> list[Part]:
    """Read a message's content: a list of blocks."""
    parts: list[Part] = []
    for b, block in enumerate(listed(content, where)):
        if block.__class__ is dict and len(block) == 1 and (text := block.get("text")).__class__ is str:
            parts.append(frozen_part("text", text))
        else:
            parts.append(decode_block(block, blobs, f"{where}[{b}]", made, role))
    return parts


def decode_block(value: Any, blobs: BlobStore, where: str, made: Frozen, role: str = "assistant") -> Part:
    """Read one block. `made` says who produced it, for the parts that only they take back."""
    block = mapping_at(value, where)
    members = [member for member, held in block.items() if held is not None]
    known = [member for member in members if member in MEMBERS or member == "text"]
    if len(known) != 1:
        return unknown(as_text(block), dialect=NAME)  # new kinds appear without notice; keep them whole
    member = known[0]
    if member == "text":
        if not isinstance(block["text"], str):
            raise WireError(f"must be a string, not {type(block['text']).__name__}", where=f"{where}.text")
        return frozen_part("text", block["text"], provider_raw=None if len(members) == 1 else freeze(block))
    inner = mapping_at(block[member], f"{where}.{member}")
    match member:
        case "toolUse":
            return _decode_tool_use(block, inner, where)
        case "toolResult":
            return _decode_tool_result(block, inner, where, role)
        case "reasoningContent":
            return _decode_thinking(block, inner, made)
        case "guardContent" if isinstance(inner.get("image"), Mapping):
            return decode_media(block, "image", blobs)
        case "guardContent" | "citationsContent":
            text = text_of(block)
            if text is None:
                return unknown(as_text(block), dialect=NAME)
            return frozen_part("text", text, provider_raw=freeze(block))
    return decode_media(block, member, blobs)


def _decode_tool_use(block: Mapping[str, Any], inner: Mapping[str, Any], where: str) -> Part:
    call_id = _name(inner, "toolUseId", f"{where}.toolUse")
    name = _name(inner, "name", f"{where}.toolUse")
    if inner.get("type") == SERVER_TOOL:
        return unknown(block, dialect=NAME)
    raw = freeze(block)
    arguments = _arguments(raw["toolUse"].get("input"))
    return frozen_part("tool_call", tool_call_id=call_id, tool_name=name, tool_args=arguments, provider_raw=raw)


def _arguments(frozen: Any) -> Any:
    return frozen if isinstance(frozen, Mapping) else read_arguments(frozen)


def _decode_tool_result(block: Mapping[str, Any], inner: Mapping[str, Any], where: str, role: str) -> Part:
    call_id = _name(inner, "toolUseId", f"{where}.toolResult")
    if role == "assistant":  # what a server tool answered: the provider's own business
        return unknown(as_text(block), dialect=NAME)
    block = as_text(block)
    raw = freeze({**block, "is_error": True} if inner.get("status") == "error" else block)
    content = raw["toolResult"].get("content")
    plain = is_plain(block, "toolResult") and is_plain(inner, "toolUseId", "content", "status")
    if plain and inner.get("status") == "success" and _is_text(content):
        raw = None
    return frozen_part("tool_result", tool_call_id=call_id, tool_output=_output(content), provider_raw=raw)


def _decode_thinking(block: Mapping[str, Any], inner: Mapping[str, Any], made: Frozen) -> Part:
    said = inner.get("reasoningText")
    text = said.get("text") if isinstance(said, Mapping) else None
    return frozen_part(
        "thinking", text if isinstance(text, str) else None, json=made, provider_raw=freeze(as_text(block))
    )


def _name(inner: Mapping[str, Any], key: str, where: str) -> str:
    value = need(inner, key, where)
    if isinstance(value, str):
        return value
    raise WireError(f"must be a string, not {type(value).__name__}", where=f"{where}.{key}")


def _is_text(content: Any) -> bool:
    """Tell whether a tool result's content is one text and nothing else."""
    match content:
        case [{"text": str()}] if len(content[0]) == 1:
            return True
    return False


def _output(content: Any) -> Any:
    """Give a tool result's content in our words: what is in it if it is one text or one JSON value, else the blocks."""
    match content:
        case [{"text": str(text)}] if len(content[0]) == 1:
            return text
        case [{"json": Mapping() as value}] if len(content[0]) == 1:
            return value
    return content


def text_of(block: Mapping[str, Any]) -> str | None:
    """Give the text that a block shows, plain, under guard or with citations; None if it is not only text."""
    match block:
        case {"text": str(text)} | {"guardContent": {"text": {"text": str(text)}}}:
            return text
        case {"citationsContent": {"content": [*items]}} if items:
            texts = [item.get("text") if isinstance(item, Mapping) else None for item in items]
            return "".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else None
    return None


def made_by(provider: str | None, model: Any) -> Frozen:
    """Say who produced the blocks of a message."""
    return origin(provider or NAME, NAME, model if isinstance(model, str) else None)
