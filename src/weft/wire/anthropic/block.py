"""Content blocks of the Messages API: one canonical part each, both ways.

https://docs.claude.com/en/api/messages. A block that says more than canon has a field for (a citation, a cache
mark) is kept in `provider_raw`, and what canon does have is laid over it when it is written back. Blocks that are
the provider's own business (server tools and their results, containers) are `provider` parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from weft.blobs import BlobReference, BlobStore
from weft.canon import EMPTY, Frozen, Part, Role, call_arguments, freeze, frozen_part, output_text, read_arguments, thaw
from weft.errors import WireError
from weft.wire.body import is_failed, is_plain, listed, mapping_at, media_part, origin, same, to_base64, unknown
from weft.wire.codec import Json, Policy

__all__ = [
    "INSTRUCTING",
    "NAME",
    "PROVIDERS",
    "THINKING",
    "decode_block",
    "decode_content",
    "encode_part",
    "is_own_block",
    "made_by",
    "text_of_blocks",
]

NAME = "anthropic"
PROVIDERS = frozenset({"anthropic", "bedrock", "vertex", "local"})  # who may have produced a block of this dialect

INSTRUCTING = ("system", "developer")
THINKING = ("thinking", "redacted_thinking")
# The types of block a part of ours may have come from. Other dialects' blocks have a type too, but not these.
OWN_TYPES: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "refusal": ("text",),
    "tool_call": ("tool_use",),
    "tool_result": ("tool_result",),
    "thinking": THINKING,
    "image": ("image",),
    "file": ("document",),
    "audio": ("document",),
    "video": ("document",),
    "compaction": ("compaction",),
}
TEXTUAL = frozenset({"text", "refusal", "json", "annotation"})  # what can be part of a joined system text
RESULT_KEYS = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})  # all the API takes
# Sources that are not bytes: the key that says where the bytes are, here and in our words.
REMOTE = {"url": ("url", "url"), "file": ("file_id", "file_id")}


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_part(part: Part, role: Role, provider: str | None, blobs: BlobStore, policy: Policy) -> Json | str | None:
    """Write one part as a block; or say in a few words why it cannot be; or None for what is not content."""
    raw = part.provider_raw
    if raw is not None and not is_own_block(part, raw, provider):
        raw = None
    if role in INSTRUCTING and policy.joiner is not None and part.type not in TEXTUAL:
        return f"part type {part.type} is not supported for role {role}"
    match part.type:
        case "text" | "refusal":
            return _text(part, raw, policy)
        case "tool_call":
            return _tool_use(part, role, raw, policy)
        case "tool_result":
            return _tool_result(part, role, raw, policy)
        case "thinking":
            return _thinking(part, raw, policy)
        case "image" | "file" | "audio" | "video" if raw is not None or part.type in ("image", "file"):
            if policy.typed and raw is None and (kind := _untaken(part)):
                return f"a file of type {kind} is not taken by messages.create"
            if role == "assistant" and part.type != "image" and policy.merge:
                return f"part type {part.type} is not supported for role assistant"
            return _media(part, raw, provider, blobs)
        case "compaction":
            return _compaction(part, raw, blobs)
        case "json" if part.json is not None:
            return {"type": "text", "text": output_text(part.json)}
        case "annotation":
            return None
        case "provider" if raw is not None:
            return _thawed(raw)
        case _:
            return f"part type {part.type} is not supported for role {role}"


def is_own_block(part: Part, raw: Mapping[str, Any], provider: str | None) -> bool:
    """Tell whether a kept block is one of this dialect's, by its shape and by who spoke."""
    dialect = None if part.json is None else part.json.get("dialect")
    if dialect is None and provider is not None and provider not in PROVIDERS:
        return False
    if dialect is not None and dialect != NAME:
        return False
    types = OWN_TYPES.get(part.type)
    if types is None:
        return dialect is not None or isinstance(raw.get("type"), str)
    return raw.get("type") in types


def _over(raw: Mapping[str, Any] | None, block: Json) -> Json:
    """Lay what canon says over the block that was kept."""
    return block if raw is None else {**_thawed(raw), **block}


def _thawed(raw: Mapping[str, Any]) -> Json:
    thawed: Json = thaw(raw)
    return thawed


def _text(part: Part, raw: Mapping[str, Any] | None, policy: Policy) -> Json | str:
    text = part.text or ""
    if policy.tidy and (not text or text.isspace()):
        return "empty text"  # refused by the API, whitespace too
    if policy.merge and not text and raw is None:
        return "empty text"
    return _over(raw, {"type": "text", "text": text})


def _tool_use(part: Part, role: Role, raw: Mapping[str, Any] | None, policy: Policy) -> Json | str:
    if role != "assistant" and policy.merge:
        return f"part type tool_call is not supported for role {role}"
    is_odd = not (part.tool_call_id and part.tool_name)
    if is_odd and (raw is None or policy.tidy) and policy.missing_ids != "empty":
        return "tool_call without id or name"
    block = {
        "type": "tool_use",
        "id": part.tool_call_id or "",
        "name": part.tool_name or "",
        "input": call_arguments(part),
    }
    if raw is not None and len(raw) > len(block):  # it says more than a call does: who may make it, a cache mark
        block |= {key: thaw(value) for key, value in raw.items() if key not in block}
    return block


def _tool_result(part: Part, role: Role, raw: Mapping[str, Any] | None, policy: Policy) -> Json | str:
    if role != "tool" and policy.tidy:
        return f"part type tool_result is not supported for role {role}"
    if not part.tool_call_id and (part.provider_raw is None or policy.tidy) and policy.missing_ids != "empty":
        return "tool_result without id"
    block: Json = {"type": "tool_result", "tool_use_id": part.tool_call_id or ""}
    if part.provider_raw is None and part.tool_output.__class__ is str:
        block["content"] = part.tool_output
        return block
    if raw is not None:
        kept = _thawed(raw)
        if policy.tidy:  # stored turns keep the tool's name beside the result
            kept = {key: value for key, value in kept.items() if key in RESULT_KEYS}
        block = {**kept, **block}
        if same(_output(raw.get("content")), part.tool_output):
            if policy.tidy and (text := text_of_blocks(block.get("content"))) is not None:
                block["content"] = text
            return block
    if part.tool_output is not None:
        block["content"] = output_text(part.tool_output)
    if is_failed(part):
        block["is_error"] = True
    return block


def _thinking(part: Part, raw: Mapping[str, Any] | None, policy: Policy) -> Json | str:
    made_by = part.json or EMPTY
    if made_by.get("dialect", NAME) != NAME:
        if policy.foreign_thinking == "text" and part.text:
            return {"type": "text", "text": part.text}
        return f"thinking of {made_by.get('provider') or made_by['dialect']} carries no signature this endpoint accepts"
    if raw is not None:
        return _thawed(raw)  # signed or sealed: to the byte, or it is refused
    if not part.text:
        return "thinking without provider block or text"
    if policy.unsigned_thinking == "drop":
        return "thinking without a signature is not accepted"
    return {"type": "thinking", "thinking": part.text}


def _media(part: Part, raw: Mapping[str, Any] | None, provider: str | None, blobs: BlobStore) -> Json | str:
    kind = "image" if part.type == "image" else "document"
    facts = {**(part.provider_raw or EMPTY), **(part.json or EMPTY)}
    # A file id means something only to whoever gave it out.
    file_id = facts.get("file_id") if provider is None or provider in PROVIDERS else None
    kept = None if raw is None else raw.get("source")
    if isinstance(file_id, str):
        source: Json = {"type": "file", "file_id": file_id}
    elif part.blob is not None:
        source = _blob_source(part.blob, kept, kind, blobs)
    elif isinstance(url := facts.get("url"), str) and (kept is not None or url.startswith(("https://", "http://"))):
        source = {"type": "url", "url": url}
    elif kept is not None and raw is not None:
        return _thawed(raw)
    else:
        return f"{part.type} without id, data or blob" if kind == "document" else f"{part.type} without blob"
    if isinstance(kept, Mapping) and kept.get("type") == source["type"]:
        source = {**_thawed(kept), **source}
    block: Json = {"type": kind, "source": source}
    if kind == "document":
        block |= {key: thaw(facts[key]) for key in ("title", "context", "citations") if facts.get(key) is not None}
    return _over(raw, block)


def _untaken(part: Part) -> str | None:
    """Name the type of a document that is neither PDF nor text: the API has no source for it."""
    if part.blob is None or part.type != "file":
        return None
    media_type = part.blob.media_type or "application/octet-stream"
    return None if media_type.startswith(("application/pdf", "text/")) else media_type


def _blob_source(ref: BlobReference, kept: Any, kind: str, blobs: BlobStore) -> Json:
    media_type = ref.media_type or "application/octet-stream"
    data = blobs.get_blob(ref)
    if kept is None and kind == "document" and media_type.startswith("text/"):
        with suppress(UnicodeDecodeError):  # base64 is for PDF alone; a text of any kind is taken as plain
            return {"type": "text", "media_type": "text/plain", "data": data.decode("utf-8")}
    if isinstance(kept, Mapping) and kept.get("type") == "text":
        with suppress(UnicodeDecodeError):
            return {"type": "text", "media_type": media_type, "data": data.decode("utf-8")}
    return {"type": "base64", "media_type": media_type, "data": to_base64(data)}


def _compaction(part: Part, raw: Mapping[str, Any] | None, blobs: BlobStore) -> Json | str:
    if raw is not None:
        return _thawed(raw)
    made_by = part.json or EMPTY
    if made_by.get("dialect", NAME) != NAME:
        return f"compaction of {made_by.get('provider') or made_by['dialect']} can be read by nobody else"
    if part.blob is not None:
        try:
            return {"type": "compaction", "content": blobs.get_blob(part.blob).decode("utf-8", "surrogatepass")}
        except UnicodeDecodeError:
            return "compaction whose blob is not text"
    if part.text is not None:
        return {"type": "compaction", "content": part.text}
    return "compaction without provider block, blob or text"


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_content(content: Any, blobs: BlobStore, where: str, made_by: Frozen) -> list[Part]:
    """Read a message's content: a string, or a list of blocks."""
    if isinstance(content, str):
        return [frozen_part("text", content)]
    return [decode_block(block, blobs, f"{where}[{b}]", made_by) for b, block in enumerate(listed(content, where))]


def decode_block(value: Any, blobs: BlobStore, where: str, made_by: Frozen) -> Part:
    """Read one block. `made_by` says who produced it, for the parts that only they take back."""
    block = mapping_at(value, where)
    match block:
        case {"type": "text", "text": str(text)}:
            return frozen_part("text", text, provider_raw=None if is_plain(block, "type", "text") else freeze(block))
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            raw = freeze(block)
            arguments = raw.get("input")
            if not isinstance(arguments, Mapping):
                arguments = read_arguments(block.get("input"))
            return frozen_part("tool_call", tool_call_id=call_id, tool_name=name, tool_args=arguments, provider_raw=raw)
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            content = block.get("content")
            kept = None
            if not isinstance(content, str) or not call_id or not is_plain(block, "type", "tool_use_id", "content"):
                kept = freeze(block)
                content = _output(kept.get("content"))
            return frozen_part("tool_result", tool_call_id=call_id, tool_output=content, provider_raw=kept)
        case {"type": "thinking", "thinking": str(text)}:
            return frozen_part("thinking", text, json=made_by, provider_raw=freeze(block))
        case {"type": "redacted_thinking"}:
            return frozen_part("thinking", json=made_by, provider_raw=freeze(block))
        case {"type": "image" | "document" as kind, "source": Mapping() as source}:
            return _decode_media(block, "image" if kind == "image" else "file", source, blobs)
        case {"type": "compaction"}:
            sealed = block.get("content") or block.get("encrypted_content")
            blob = (
                blobs.put_blob(sealed.encode("utf-8", "surrogatepass"), media_type="text/plain", kind="compaction")
                if isinstance(sealed, str)
                else None
            )
            return frozen_part("compaction", blob=blob, json=made_by, provider_raw=freeze(block))
        case {"type": "text" | "tool_use" | "tool_result" | "thinking" as kind}:
            found = ", ".join(sorted(map(str, block))[:12])
            raise WireError(f"{kind} block lacks a field, or has one of another type: {found}", where=where)
    return unknown(block, dialect=NAME)  # new kinds appear without notice; keep them whole


def _decode_media(block: Mapping[str, Any], kind: str, source: Mapping[str, Any], blobs: BlobStore) -> Part:
    attributes = {"name": block["title"]} if isinstance(block.get("title"), str) else {}
    match source:
        case {"type": "base64", "data": str(data), "media_type": str(media_type)} if is_plain(
            source, "type", "data", "media_type"
        ):
            plain = is_plain(block, "type", "source")
            rest = {key: value for key, value in block.items() if key != "source"}
            part = media_part(
                data, media_type, blobs, kind=kind, raw=None if plain else lambda: rest, attributes=attributes
            )
            if part is not None:
                return part
        case {"type": "text", "data": str(data), "media_type": str(media_type)} if is_plain(
            source, "type", "data", "media_type"
        ):
            try:
                payload = data.encode("utf-8")
            except UnicodeEncodeError:
                return frozen_part(kind, json=freeze(attributes), provider_raw=freeze(block))
            rest = {**block, "source": {"type": "text"}}
            blob = blobs.put_blob(payload, media_type=media_type, kind=kind)
            return frozen_part(kind, json=freeze(attributes) or None, blob=blob, provider_raw=freeze(rest))
        case {"type": "url" | "file" as place}:
            key, ours = REMOTE[place]
            if isinstance(source.get(key), str):
                attributes[ours] = source[key]
    return frozen_part(kind, json=freeze(attributes) or None, provider_raw=freeze(block))


def _output(content: Any) -> Any:
    """Give a tool result's content in our words: the text if it is one text, else the blocks [R-8]."""
    if isinstance(content, (list, tuple)) and len(content) == 1:
        match content[0]:
            case {"type": "text", "text": str(text)}:
                return text
    return content


def text_of_blocks(blocks: Any) -> str | None:
    """Give the text of a list that is exactly one plain text block, which the API also takes as a string."""
    match blocks:
        case [{"type": "text", "text": str(text)}] if len(blocks[0]) == 2:
            return text
    return None


def made_by(provider: str | None, model: Any) -> Frozen:
    """Say who produced the blocks of a message."""
    return origin(provider or NAME, NAME, model if isinstance(model, str) else None)
