"""Wire messages to canon. Each becomes exactly one Message: thinking, content, refusal, calls, in that order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import ROLES, Frozen, Message, Part, freeze, frozen_part, read_arguments, write_arguments
from weft.wire.body import annotation, blobs_or_new
from weft.wire.codec import Json
from weft.wire.messages.content import to_text, to_text_list, without_bytes
from weft.wire.messages.media import read_media
from weft.wire.messages.overlay import difference
from weft.wire.messages.providers import EVERY_KEY, Found, read_blocks, sign, split
from weft.wire.messages.schema import check_message, check_messages
from weft.wire.messages.writing import encode_call, encode_message

__all__ = ["decode_message", "decode_messages", "read_message"]


def decode_messages(messages: Any, blobs: BlobStore | None = None) -> tuple[Message, ...]:
    """Read wire messages; CodecError names the place that does not fit."""
    blobs = blobs_or_new(blobs)
    return tuple(_exact(message, blobs) for message in check_messages(messages))


def decode_message(message: Any, blobs: BlobStore | None = None) -> Message:
    """Read one wire message."""
    return _exact(check_message(message), blobs_or_new(blobs))


def _exact(message: Json, blobs: BlobStore) -> Message:
    """Read a message so that writing it gives the same again; what it takes is kept in the annotation [R-12]."""
    read, marks = read_message(message, blobs, EVERY_KEY)
    written = encode_message(read, blobs)[0]
    if not (over := difference(written, message)):
        return read
    parts = read.parts[:-1] if marks else read.parts
    return Message(read.role, (*parts, *annotation({**marks, **over})), id=read.id)


def read_message(message: Json, blobs: BlobStore, keys: Iterable[str]) -> tuple[Message, Json]:
    """Read a valid message by the `keys` of `extra` that count; give it with the marks in its annotation."""
    role = message["role"]
    marks: Json = {} if role in ROLES else {"role": role}
    found = read_blocks(message.get("extra"), keys)
    parts = _thinking(message.get("reasoning"), found, marks)
    parts += _result(message, found) if role == "tool" else _content(message["content"], blobs, found, marks)
    parts += found.others
    parts += _refusal(message.get("refusal"), marks)
    parts += [_call(call) for call in message.get("tool_calls") or ()]
    if found.signatures or found.loose:
        sign(parts, found)
    if role != "tool" and message.get("name") is not None:
        marks["name"] = message["name"]
    if found.cache:
        marks["cache"] = True
    if found.rest is not None:
        marks["extra"] = found.rest
    canonical: Any = role if role in ROLES else "user"
    return Message(canonical, (*parts, *annotation(marks)), id=message.get("id")), marks


def _thinking(reasoning: Any, found: Found, marks: Json) -> list[Part]:
    texts = to_text_list(reasoning)
    if isinstance(reasoning, (list, tuple)):
        marks["reasoning"] = reasoning
    if found.thinking or texts is None:
        return found.thinking
    if isinstance(reasoning, str):
        texts = split(reasoning, found.lengths.get("thought"), "\n") or texts
    return [frozen_part("thinking", text) for text in texts]


def _content(content: Any, blobs: BlobStore, found: Found, marks: Json) -> list[Part]:
    if isinstance(content, str):
        texts = split(content, found.lengths.get("text")) or [content]
        if len(texts) > 1:
            marks["content_form"] = "string"
        return [frozen_part("text", text) for text in texts]
    if not content or (len(content) == 1 and content[0]["type"] == "text"):
        marks["content_form"] = "list"  # it would be written as a string
    return [_text(item) if item["type"] == "text" else read_media(item, blobs) for item in content]


def _text(item: Mapping[str, Any]) -> Part:
    over = difference({"type": "text", "text": item["text"]}, item)
    return frozen_part("text", item["text"], json=_wire(over))


def _result(message: Json, found: Found) -> list[Part]:
    content = message["content"]
    marks: Json = {}
    if not isinstance(content, str):
        marks["list"] = True
        if odd := [p for p, item in enumerate(content) if isinstance(item.get("data"), bytes)]:
            marks["bytes"] = odd
        content = without_bytes(content)
    return [
        frozen_part(
            "tool_result",
            json=_wire(marks),
            tool_call_id=message.get("call_id") or message.get("id"),
            tool_name=message.get("name"),
            tool_output=freeze(content),
            provider_raw=freeze({"is_error": True}) if found.failed else None,
        )
    ]


def _refusal(refusal: Any, marks: Json) -> list[Part]:
    if refusal is None:
        return []
    if not isinstance(refusal, str):
        marks["refusal"] = refusal
    return [frozen_part("refusal", to_text(refusal))]


def _call(call: Mapping[str, Any]) -> Part:
    text = call["arguments"]
    arguments: Any = read_arguments(text)
    part = frozen_part(
        "tool_call",
        tool_call_id=call["id"] if call.get("id") is not None else call.get("call_id"),
        tool_name=call["name"],
        tool_args=arguments,
        provider_raw=None if write_arguments(arguments) == text else freeze({"arguments": text}),
    )
    over = difference(encode_call(part), call)
    if not over:
        return part
    return frozen_part(
        "tool_call",
        json=_wire(over),
        tool_call_id=part.tool_call_id,
        tool_name=part.tool_name,
        tool_args=arguments,
        provider_raw=part.provider_raw,  # type: ignore[arg-type]  # a Part's mappings are frozen
    )


def _wire(marks: Json) -> Frozen | None:
    return freeze({"wire": marks}) if marks else None
