"""Contents of inspect-ai's messages, both ways: text, reasoning, media, tool calls and what came of them.

Reasoning has a form for each provider there: of Anthropic, `summary` is what was thought and `reasoning` its seal; of
OpenAI, `reasoning` is what is encrypted and `signature` the item's id. Both are given as the provider's own blocks, so
that they can go back to it. Bytes are data URIs, mostly kept once beside the messages as `attachment://`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from weft import jsontext
from weft.blobs import BlobStore
from weft.canon import Part, output_text, read_arguments, thaw
from weft.formats.beside import kept_beside, own_block
from weft.formats.foreign import base64_of, failure, is_failed, listed, media, text, unknown
from weft.formats.source import Shelf

__all__ = [
    "NAME",
    "Attachments",
    "call_of",
    "content_of",
    "key_of",
    "parts_of",
    "result_of",
    "said",
    "tool_call",
    "tool_result",
]

NAME = "inspect"
_DATA_URI = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_PROTOCOLS = ("attachment://", "tc://")
_MEDIA = {"image": "image", "audio": "audio", "video": "video", "document": "file"}
_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
    "video/quicktime": "mov",
}
_DETAILS = ("low", "high", "original")
_BLANK: Mapping[str, Any] = {"redacted": False, "detail": "auto", "citations": False}


class Attachments:
    """Texts that are kept once beside the messages of a sample, and said as references to them."""

    def __init__(self, kept: Any, *, is_open: bool = True) -> None:
        """Start with those that a sample has; if it is not open, no others are kept, but said where they stand."""
        self._is_open = is_open
        self.kept: dict[str, Any] = dict(kept) if isinstance(kept, Mapping) else {}
        self._names = {value: name for name, value in self.kept.items() if isinstance(value, str)}

    def resolved(self, value: Any) -> Any:
        """Give a value with what its references stand for."""
        kind = value.__class__
        if kind is str:
            return self.kept.get(value.partition("://")[2], value) if value.startswith(_PROTOCOLS) else value
        if kind is dict and self.kept:
            return {key: self.resolved(each) for key, each in value.items()}
        return [self.resolved(each) for each in value] if kind is list and self.kept else value

    def reference(self, uri: str) -> str:
        """Give what to say in the place of a data URI."""
        if not self._is_open and uri not in self._names:
            return uri
        name = self._names.get(uri) or hashlib.sha256(uri.encode()).hexdigest()[:32]
        self.kept[name], self._names[uri] = uri, name
        return f"attachment://{name}"


def said(value: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Give what an object says beside the keys that were understood, without what only fills its place."""
    return {
        key: each
        for key, each in value.items()
        if key not in known and each is not None and not (key in _BLANK and _BLANK[key] == each)
    }


def key_of(message: dict[str, Any]) -> bytes | str:
    """Give what a message is known by, here and in events: its id, else all that it says."""
    return text(message.get("id")) or jsontext.dumps(said(message))


def parts_of(content: Any, provider: str | None, shelf: Shelf) -> list[Part]:
    """Read the content of a message: a text, or blocks."""
    if isinstance(content, str):
        return [Part("text", content)] if content else []
    return [_part(block, provider, shelf) for block in listed(content)]


def content_of(parts: list[Part], blobs: BlobStore, attachments: Attachments) -> Any:
    """Write the content of a message; what has no form there is left out."""
    blocks = [block for part in parts if (block := _block(part, blobs, attachments)) is not None]
    match blocks:
        case [{"type": "text", "text": str(words), **more}] if words and not more:
            return words
    return blocks or ""


def _part(block: Any, provider: str | None, shelf: Shelf) -> Part:
    match block:
        case {"type": "text", "text": str(words)}:
            kept = said(block, "type", "text", "refusal")
            return Part("refusal" if block.get("refusal") is True else "text", words, provider_raw=_raw(kept))
        case {"type": "reasoning", "reasoning": str()}:
            return _thought(block, provider)
        case {"type": "image" | "audio" | "video" | "document" as kind} if isinstance(block.get(kind), str):
            return _medium(kind, block, shelf)
    return unknown(NAME, block)


def _block(part: Part, blobs: BlobStore, attachments: Attachments) -> dict[str, Any] | None:
    match part.type:
        case "text":
            return {"type": "text", "text": part.text or "", **kept_beside(part, NAME)}
        case "refusal":
            return {"type": "text", "text": part.text or "", "refusal": True, **kept_beside(part, NAME)}
        case "thinking":
            return _reasoning(part)
        case "image" | "audio" | "video" | "file":
            return _medium_block(part, blobs, attachments)
    return own_block(part, NAME)


def _raw(kept: dict[str, Any]) -> dict[str, Any] | None:
    return {NAME: kept} if kept else None


# -- reasoning -----------------------------------------------------------------------------------------------------


def _thought(block: dict[str, Any], provider: str | None) -> Part:
    match provider, said(block, "type"):
        case "anthropic", {"reasoning": signature, "summary": str(words), "redacted": True, **more} if not more:
            return _native("anthropic", words, {"type": "thinking", "thinking": words, "signature": signature})
        case "anthropic", {"reasoning": words, "signature": str(signature), **more} if not more:
            return _native("anthropic", words, {"type": "thinking", "thinking": words, "signature": signature})
        case "anthropic", {"reasoning": data, "redacted": True, **more} if not more:
            return _native("anthropic", None, {"type": "redacted_thinking", "data": data})
        case "openai", {"reasoning": sealed, "signature": str(item), "redacted": True, **more} if not more.keys() - {
            "summary"
        }:
            words = text(more.get("summary"))
            summary = [] if words is None else [{"type": "summary_text", "text": words}]
            raw = {"type": "reasoning", "id": item, "summary": summary, "encrypted_content": sealed}
            return _native("openai", words, raw, "openai_responses")
    kept = said(block, "type")
    words = kept.pop("reasoning") if not kept.get("redacted") else kept.get("summary")
    kept_raw = kept if kept.keys() == {"signature"} else _raw(kept)
    return Part("thinking", text(words), json={"provider": provider, "dialect": NAME}, provider_raw=kept_raw)


def _native(provider: str, words: str | None, raw: dict[str, Any], dialect: str | None = None) -> Part:
    return Part("thinking", words, json={"provider": provider, "dialect": dialect or provider}, provider_raw=raw)


def _reasoning(part: Part) -> dict[str, Any]:
    match part.provider_raw:
        case {"type": "thinking", "thinking": str(words), "signature": str(signature)}:
            return {"type": "reasoning", "reasoning": signature, "summary": words, "redacted": True}
        case {"type": "redacted_thinking", "data": str(data)}:
            return {"type": "reasoning", "reasoning": data, "redacted": True}
        case {"type": "reasoning", "encrypted_content": str(sealed), "id": str(item)}:
            summary = {} if part.text is None else {"summary": part.text}
            return {"type": "reasoning", "reasoning": sealed, "signature": item, "redacted": True, **summary}
        case {"signature": str(signature)}:
            return {"type": "reasoning", "reasoning": part.text or "", "signature": signature}
    return {"type": "reasoning", "reasoning": part.text or "", **kept_beside(part, NAME)}


# -- media ---------------------------------------------------------------------------------------------------------


def _medium(kind: str, block: dict[str, Any], shelf: Shelf) -> Part:
    facts = said(block, "type", kind)
    if found := _DATA_URI.fullmatch(block[kind]):
        facts.pop("format", None)  # the bytes say so themselves
        media_type = facts.pop("mime_type", found[1])
        part = media(shelf, found[2], media_type, unknown(NAME, block), **facts)
        # Sound and films of kinds that have no form of their own are documents, too.
        is_other = kind == "document" and part.type in ("audio", "video") and media_type not in _FORMATS
        return part if part.blob is None or is_other else Part(_MEDIA[kind], json=part.json, blob=part.blob)
    return Part(_MEDIA[kind], json={"url": block[kind], **facts})


def _medium_block(part: Part, blobs: BlobStore, attachments: Attachments) -> dict[str, Any] | None:
    facts = part.json or {}
    if (given := base64_of(part, blobs)) is not None:
        media_type, place = given[0], attachments.reference(f"data:{given[0]};base64,{given[1]}")
    elif isinstance(url := facts.get("url"), str):
        media_type, place = text(facts.get("mime_type")) or text(facts.get("media_type")) or "", url
    else:
        return None
    if part.type == "image":
        detail = {"detail": facts["detail"]} if facts.get("detail") in _DETAILS else {}
        return {"type": "image", "image": place, **detail}
    form = _FORMATS.get(media_type) or facts.get("format")
    if part.type in ("audio", "video") and form in _forms(part.type):
        return {"type": part.type, part.type: place, "format": form}
    named = text(facts.get("filename")) or text(facts.get("name"))
    block: dict[str, Any] = {"type": "document", "document": place, "filename": named, "mime_type": media_type or None}
    if facts.get("citations") is True:
        block["citations"] = True
    return {key: value for key, value in block.items() if value is not None}


def _forms(kind: str) -> tuple[str, ...]:
    return ("wav", "mp3") if kind == "audio" else ("mp4", "mpeg", "mov")


# -- tools ---------------------------------------------------------------------------------------------------------


def call_of(call: Any) -> Part:
    """Read a tool call."""
    if not isinstance(call, dict):
        return unknown(NAME, call)
    kept = said(call, "id", "function", "arguments", "type")
    if call.get("type") not in (None, "function"):
        kept["type"] = call["type"]
    return Part(
        "tool_call",
        tool_call_id=text(call.get("id")),
        tool_name=text(call.get("function")) or "",
        tool_args=read_arguments(call.get("arguments")),
        provider_raw=_raw(kept),
    )


def tool_call(part: Part, number: int) -> dict[str, Any]:
    """Write a tool call; it needs an id."""
    named = {"id": part.tool_call_id or f"call_{number}", "function": part.tool_name or ""}
    return {**named, "arguments": thaw(part.tool_args or {}), "type": "function", **kept_beside(part, NAME)}


def result_of(message: dict[str, Any]) -> Part:
    """Read what a tool said; of one that failed, the error is what the model is told."""
    content, error = message.get("content"), message.get("error")
    kept: dict[str, Any] = {}
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        kept = said(error, "message") | ({"content": content} if content else {})
        content = error["message"]
        if kept.get("type") == "unknown":
            del kept["type"]
    elif error is not None:
        kept = {"error": error}
    if isinstance(content, list) and not all(map(_is_block, content)):
        kept["blocks"] = True  # of more kinds than are known here, and good as they are
    return Part(
        "tool_result",
        tool_call_id=text(message.get("tool_call_id")),
        tool_name=text(message.get("function")),
        tool_output=content,
        provider_raw=failure(error is not None, _raw(kept)),
    )


def tool_result(part: Part, attachments: Attachments) -> dict[str, Any]:
    """Write the fields of a message that a tool says."""
    kept = kept_beside(part, NAME)
    output = thaw(part.tool_output)
    is_content = kept.pop("blocks", False) or (isinstance(output, list) and output and all(map(_is_block, output)))
    fields: dict[str, Any] = {"content": "" if output is None else output_text(output)}
    if is_failed(part):
        error = {"type": kept.pop("type", "unknown"), "message": fields["content"]}
        fields = {"content": kept.pop("content", ""), "error": kept.pop("error", error)}
    elif is_content and isinstance(output, list):
        fields = {"content": [_with_reference(block, attachments) for block in output]}
    return {**fields, "tool_call_id": part.tool_call_id, "function": part.tool_name, **kept}


def _is_block(value: Any) -> bool:
    match value:
        case {"type": "text", "text": str(), **more}:
            return not more
        case {"type": "image", "image": str(), **more}:
            return more.keys() <= {"detail"} and more.get("detail", "auto") in ("auto", *_DETAILS)
    return False


def _with_reference(block: dict[str, Any], attachments: Attachments) -> dict[str, Any]:
    match block:
        case {"type": "image", "image": str(image)} if _DATA_URI.fullmatch(image):
            return {**block, "image": attachments.reference(image)}
    return block
