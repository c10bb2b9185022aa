"""Ollama messages: one text, with pictures, thinking and tool calls as fields beside it.

https://docs.ollama.com/api/chat. Unlike canon: content is one string; pictures are bare base64, without a media
type; arguments are objects; a tool's answer names the tool, and only newer ones the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Message, Part, Role, freeze, frozen_part, output_text, read_arguments, thaw
from weft.wire.body import (
    annotation_of,
    from_base64,
    is_failed,
    listed,
    maker,
    mapping_at,
    optional_text,
    origin,
    residue,
    to_base64,
    unknown,
)
from weft.wire.codec import Encoded, Json, Policy

__all__ = ["NAME", "ROLES", "MessageWriter", "decode_parts", "made_by"]

NAME = "ollama"
ROLES: dict[str, str] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
# How pictures begin: the wire does not say what they are, and other dialects need to know.
SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def made_by(provider: str | None, model: Any) -> Frozen:
    """Say who produced the thinking of a message."""
    return origin(provider or NAME, NAME, model if isinstance(model, str) else None)


# -- canon to wire ---------------------------------------------------------------------------------------------


class MessageWriter:
    """Writes messages under one policy, keeping account in `out`."""

    __slots__ = ("_blobs", "_joiner", "_names", "_out", "_policy")

    def __init__(self, out: Encoded, blobs: BlobStore, policy: Policy) -> None:
        """Write nothing yet."""
        self._out = out
        self._blobs = blobs
        self._policy = policy
        self._joiner = "\n" if policy.text_joiner is None else policy.text_joiner
        self._names: dict[str, str] = {}  # of the tools called so far, by call id

    def write(self, m: int, message: Message) -> list[Json]:
        """Write one message as none, one or several."""
        role = ROLES.get(message.role)
        if role is None:
            self._out.lose(f"context.messages[{m}]", f"role {message.role} has no place in ollama chat")
            return []
        if any(part.type == "tool_result" for part in message.parts):
            return self._results(m, message)
        turn = {"role": role, **self.fields(m, message)}
        return [self._marked(message, turn)]

    def _marked(self, message: Message, turn: Json) -> Json:
        """Add the fields that the annotation carries."""
        marks = annotation_of(message)
        extra = marks.get("extra")
        own = extra.get(NAME) if isinstance(extra, Mapping) else None
        if isinstance(own, Mapping):
            turn |= {key: value for key, value in thaw(own).items() if turn.get(key) is None}
        if isinstance(marks.get("role"), str) and not self._policy.tidy:
            turn["role"] = marks["role"]
        return turn

    def fields(self, m: int, message: Message) -> Json:
        """Write the fields of a message that have something in them."""
        texts: list[str] = []
        fields: Json = {}
        for p, part in enumerate(message.parts):
            match part.type:
                case "text" | "refusal":
                    texts.append(part.text or "")
                case "json" if part.json is not None:
                    texts.append(output_text(part.json))
                case "image":
                    self._image(m, p, part, fields)
                case "thinking":
                    self._thinking(m, p, part, fields, texts)
                case "tool_call":
                    self._call(m, p, part, message, fields)
                case "annotation":
                    pass
                case "provider" if (part.json or EMPTY).get("dialect") == NAME:
                    raw: Json = thaw(part.provider_raw or EMPTY)
                    for key, value in raw.items():
                        fields.setdefault(key, []).append(value)
                    self._out.returned(m, p)
                case _:
                    self._out.lose_part(m, p, f"part type {part.type} is not supported in ollama chat")
        return {"content": self._joiner.join(texts), **fields} if texts else fields

    def _image(self, m: int, p: int, part: Part, fields: Json) -> None:
        raw = part.provider_raw or EMPTY
        if part.blob is not None:
            fields.setdefault("images", []).append(to_base64(self._blobs.get_blob(part.blob)))
        elif "images" in raw:
            fields.setdefault("images", []).append(thaw(raw["images"]))  # not base64; as it came
        else:
            self._out.lose_part(m, p, "image without blob")

    def _thinking(self, m: int, p: int, part: Part, fields: Json, texts: list[str]) -> None:
        made = maker(part)
        if made.get("dialect", NAME) != NAME:
            if self._policy.foreign_thinking == "text" and part.text:
                texts.append(part.text)
            else:
                whose = made.get("provider") or made["dialect"]
                self._out.lose_part(m, p, f"thinking of {whose} has no place in ollama chat")
        elif not part.text:
            self._out.lose_part(m, p, "thinking without text")
        elif "thinking" in fields:
            self._out.lose_part(m, p, "only the first thinking part of a message is sent")
        else:
            fields["thinking"] = part.text
            if made:
                self._out.returned(m, p)

    def _call(self, m: int, p: int, part: Part, message: Message, fields: Json) -> None:
        if not part.tool_name:
            self._out.lose_part(m, p, "tool_call without name")
            return
        if part.tool_call_id:
            self._names[part.tool_call_id] = part.tool_name
        raw = part.provider_raw
        own = raw is not None and isinstance(raw.get("function"), Mapping) and message.provider in (None, NAME)
        call: Json = thaw(raw) if raw is not None and own else {"function": {}}
        if part.tool_call_id is not None:
            call["id"] = part.tool_call_id
        function = call["function"]
        function["name"] = part.tool_name
        given = function.get("arguments")
        from_v1 = isinstance(given, str) and "type" in call  # Ollama's other endpoint has them as text
        if not own or from_v1 or read_arguments(given) != (part.tool_args or EMPTY):
            function["arguments"] = thaw(part.tool_args or EMPTY)
        if not own:
            call["type"] = "function"
        fields.setdefault("tool_calls", []).append(call)

    def _results(self, m: int, message: Message) -> list[Json]:
        """Write each tool result as a message."""
        turns: list[Json] = []
        for p, part in enumerate(message.parts):
            if part.type == "tool_result":
                turn: Json = {"role": "tool"}
                name = part.tool_name or self._names.get(part.tool_call_id or "")
                if name is not None:
                    turn["tool_name"] = name
                if part.tool_call_id is not None:
                    turn["tool_call_id"] = part.tool_call_id
                turn["content"] = "" if part.tool_output is None else output_text(part.tool_output)
                if is_failed(part):
                    place = f"context.messages[{m}].parts[{p}]"
                    self._out.warnings.append(f"{place}: ollama chat has no mark for a failed tool; the output is sent")
                turns.append(self._marked(message, turn))
            elif part.type != "annotation":
                self._out.lose_part(m, p, f"part type {part.type} is not supported beside a tool_result")
        return turns


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_parts(
    message: Mapping[str, Any], blobs: BlobStore, at: str, made: Frozen, role: Role
) -> tuple[list[Part], Json]:
    """Read a message: its parts (text, pictures, thinking, calls), and the fields that are in none of them."""
    content = optional_text(message.get("content"), f"{at}.content")
    if role == "tool":
        return _decode_result(message, content, at)
    parts = [] if content is None else [frozen_part("text", content)]
    taken = ["role", "content"]
    images = listed(message.get("images"), f"{at}.images")
    if images:
        parts += [_decode_image(image, blobs) for image in images]
        taken.append("images")
    thinking = message.get("thinking")
    if isinstance(thinking, str) and thinking:
        parts.append(frozen_part("thinking", thinking, json=made, provider_raw=freeze({"thinking": thinking})))
        taken.append("thinking")
    calls = listed(message.get("tool_calls"), f"{at}.tool_calls")
    if calls:
        parts += [_decode_call(call, f"{at}.tool_calls[{c}]") for c, call in enumerate(calls)]
        taken.append("tool_calls")
    return parts, residue(message, *taken)


def _decode_result(message: Mapping[str, Any], content: str | None, at: str) -> tuple[list[Part], Json]:
    call_id = optional_text(message.get("tool_call_id"), f"{at}.tool_call_id")
    name = optional_text(message.get("tool_name"), f"{at}.tool_name")
    part = frozen_part("tool_result", tool_call_id=call_id, tool_name=name, tool_output=content)
    return [part], residue(message, "role", "content", "tool_call_id", "tool_name")


def _decode_image(image: Any, blobs: BlobStore) -> Part:
    payload = from_base64(image)
    if payload is None:
        return frozen_part("image", provider_raw=freeze({"images": image}))
    return frozen_part("image", blob=blobs.put_blob(payload, media_type=_media_type(payload), kind="image"))


def _media_type(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for begin, media_type in SIGNATURES if data.startswith(begin)), None)


def _decode_call(value: Any, where: str) -> Part:
    block = mapping_at(value, where)
    function = block.get("function")
    if not isinstance(function, Mapping):
        return unknown({"tool_calls": block}, dialect=NAME)
    return frozen_part(
        "tool_call",
        tool_call_id=optional_text(block.get("id"), f"{where}.id"),
        tool_name=optional_text(function.get("name"), f"{where}.function.name"),
        tool_args=freeze(read_arguments(function.get("arguments"))),
        provider_raw=freeze(block),
    )
