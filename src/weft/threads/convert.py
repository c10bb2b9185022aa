"""Turns as canonical messages, and back (spec/README.md R-6 to R-9).

A block that has a part of its own kind becomes that part and stays whole in `provider_raw`, so that going back gives
the very block. What a message says and a block cannot (its provider's form of a part, a name, an unusual role) is kept
under `provider_raw` in the block or `annotation` in the meta, where only weft looks.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from weft import jsontext
from weft.blobs import BlobReference, BlobStore, media_kind
from weft.canon import ExcludedItem, Message, Part, thaw
from weft.ids import id_time
from weft.store import Flag, TurnRow
from weft.threads.blocks import blocks_of, extra_of

__all__ = ["TurnDraft", "messages_from_turn", "turns_from_messages"]

_CACHE = "cache"
_ROLES_IN_TURNS = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "user"}
_MEDIA = {"image", "audio", "video", "file"}


class TurnDraft:
    """A message on its way to being a turn: role, blocks, whether it is cached, and what else meta should say."""

    __slots__ = ("blocks", "cache", "extra", "role")

    def __init__(self, role: str) -> None:
        """Begin without content."""
        self.role = role
        self.blocks: list[dict[str, Any]] = []
        self.cache = False
        self.extra: dict[str, Any] = {}


# -- from turns ----------------------------------------------------------------------------------------------------


def messages_from_turn(turn: TurnRow, blobs: BlobStore) -> list[Message]:
    """Give the message of a turn; a user turn with results and other blocks gives two, the results first [R-7]."""
    meta = extra_of(turn)
    blocks = blocks_of(turn)
    if blocks is None:
        return []
    about = meta.get("message")
    about = about if isinstance(about, Mapping) else {}
    annotation = dict(meta["annotation"]) if isinstance(meta.get("annotation"), Mapping) else {}
    if turn.flags & Flag.CACHE:
        annotation[_CACHE] = True
    name = meta.get("document_name") if turn.flags & Flag.DOCUMENT else None
    results = [block for block in blocks if _type(block) == "tool_result"] if turn.role == "user" else []
    others = [block for block in blocks if _type(block) != "tool_result"] if results else blocks
    groups: list[tuple[str, list[Any]]] = []
    if results:
        groups.append(("tool", results))
    if others or not results:
        groups.append((turn.role, others))
    messages = []
    for index, (role, group) in enumerate(groups):
        parts = [_part(block, blobs, name) for block in group]
        if annotation and index == len(groups) - 1:
            said = dict(annotation)
            if role == "system" and said.get("role") == "developer":
                role = said.pop("role")  # noqa: PLW2901  # the role it had before it was stored as `system`
            if said:
                parts.append(Part("annotation", json=said))
        messages.append(
            Message(
                role if role in _ROLES_IN_TURNS else "user",  # type: ignore[arg-type]  # one of the canonical five
                tuple(parts),
                _text(about.get("id")),
                _text(about.get("provider")),
                turn.id,
                id_time(turn.id),
            )
        )
    return messages


def _type(block: Any) -> Any:
    return block.get("type") if isinstance(block, Mapping) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _part(block: Any, blobs: BlobStore, name: str | None) -> Part:
    if not isinstance(block, Mapping):
        return Part("json", json={"value": block})
    kept = block.get("provider_raw")
    if isinstance(kept, Mapping):
        block = {key: value for key, value in block.items() if key != "provider_raw"}
    else:
        kept = None
    match block:
        case {"type": "text", "text": str(text)}:
            return Part("text", text=text, provider_raw=kept or (block if len(block) > 2 else None))
        case {"type": "thinking", "thinking": str(text)}:
            return Part("thinking", text=text, provider_raw=kept or block)
        case {"type": "redacted_thinking"}:
            return Part("thinking", provider_raw=kept or block)
        case {"type": "refusal", "refusal": str(text)}:
            return Part("refusal", text=text, provider_raw=kept)
        case {"type": "tool_use", "name": str(tool)}:
            arguments = block.get("input")
            return Part(
                "tool_call",
                tool_call_id=_text(block.get("id")),
                tool_name=tool,
                tool_args=arguments if isinstance(arguments, Mapping) else {},
                provider_raw=kept or block,
            )
        case {"type": "tool_result"}:
            return Part(
                "tool_result",
                tool_call_id=_text(block.get("tool_use_id")),
                tool_name=_text(block.get("name")),
                tool_output=_output(block.get("content")),
                provider_raw=kept or block,
            )
        case {
            "type": "document" | "image" | "audio" | "video" | "file",
            "source": {"type": "base64", "data": str(data)},
        }:
            return _media_part(block, data, blobs, name, kept)
    return Part("provider", provider_raw=block)


def _output(content: Any) -> Any:
    """Give a tool's output: the text if it is one text block, else the blocks [R-8]."""
    match content:
        case [{"type": "text", "text": str(text)}]:
            return text
        case None:
            return []
    return content


def _media_part(
    block: Mapping[str, Any], data: str, blobs: BlobStore, name: str | None, kept: Mapping[str, Any] | None
) -> Part:
    try:
        payload = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Part("provider", provider_raw=block)
    media_type = _text(block["source"].get("media_type"))
    kind = media_kind(media_type)
    ref = blobs.put_blob(payload, media_type=media_type, kind=kind)
    raw = dict(kept) if kept else {key: value for key, value in block.items() if key not in ("type", "source")}
    if block["type"] != "document":
        raw.setdefault("type", block["type"])
    if name is not None:
        raw["name"] = name
    return Part(kind, blob=ref, provider_raw=raw or None)


# -- to turns ------------------------------------------------------------------------------------------------------


def turns_from_messages(
    messages: Iterable[Message], blobs: BlobStore | None
) -> tuple[list[TurnDraft], list[ExcludedItem]]:
    """Give one turn a message; messages of one stored turn become one again [R-9]."""
    drafts: list[TurnDraft] = []
    excluded: list[ExcludedItem] = []
    last_turn: str | None = None
    for number, message in enumerate(messages):
        if not drafts or message.turn_id is None or message.turn_id != last_turn:
            drafts.append(TurnDraft(_ROLES_IN_TURNS.get(message.role, "user")))
        last_turn = message.turn_id
        draft = drafts[-1]
        if message.role == "developer":
            draft.extra.setdefault("annotation", {})["role"] = "developer"
        for place, part in enumerate(message.parts):
            if part.type == "annotation":
                _annotate(draft, part)
                continue
            block = _block(part, blobs)
            if block is None:
                where = f"messages[{number}].parts[{place}]"
                excluded.append(ExcludedItem(where, f"a turn has no block for {part.type} without provider_raw"))
            else:
                draft.blocks.append(block)
        about = {key: value for key, value in (("id", message.id), ("provider", message.provider)) if value is not None}
        if about:
            draft.extra["message"] = {**draft.extra.get("message", {}), **about}
    return drafts, excluded


def _annotate(draft: TurnDraft, part: Part) -> None:
    said: dict[str, Any] = thaw(part.json or {})
    if said.pop(_CACHE, None) is True:
        draft.cache = True
    if said:
        draft.extra["annotation"] = {**draft.extra.get("annotation", {}), **said}


def _block(part: Part, blobs: BlobStore | None) -> dict[str, Any] | None:
    raw: dict[str, Any] | None = thaw(part.provider_raw) if part.provider_raw is not None else None
    kind = raw.get("type") if raw is not None else None
    match part:
        case Part(type="text", text=str(text)):
            if raw is not None and kind == "text" and raw.get("text") == text:
                return raw
            return _with_raw({"type": "text", "text": text}, raw)
        case Part(type="thinking"):
            if raw is not None and kind in ("thinking", "redacted_thinking"):
                return raw
            return _with_raw({"type": "thinking", "thinking": part.text or ""}, raw)
        case Part(type="refusal"):
            return _with_raw({"type": "refusal", "refusal": part.text or ""}, raw)
        case Part(type="tool_call"):
            if raw is not None and kind == "tool_use" and raw.get("input") == thaw(part.tool_args or {}):
                return raw
            block = {"type": "tool_use"} if part.tool_call_id is None else {"type": "tool_use", "id": part.tool_call_id}
            return _with_raw({**block, "name": part.tool_name or "", "input": thaw(part.tool_args or {})}, raw)
        case Part(type="tool_result"):
            return _result_block(part, raw)
        case Part(type="image" | "audio" | "video" | "file", blob=BlobReference() as ref) if blobs is not None:
            return _document_block(ref, blobs.get_blob(ref), raw)
        case Part(type="json", json=value) if value is not None:
            return raw or {"type": "text", "text": jsontext.dumps_text(value)}
    return raw


def _result_block(part: Part, raw: dict[str, Any] | None) -> dict[str, Any]:
    if raw is not None and raw.get("type") == "tool_result" and "content" in raw:
        return raw
    output = thaw(part.tool_output)
    text = output if isinstance(output, str) else jsontext.dumps_text(output)
    block: dict[str, Any] = {"type": "tool_result", "name": part.tool_name or ""}
    if part.tool_call_id is not None:
        block["tool_use_id"] = part.tool_call_id
    block["content"] = [{"type": "text", "text": text}]
    if raw is not None and raw.get("is_error") is True:
        block["is_error"] = True
    return _with_raw(block, raw)


def _document_block(ref: BlobReference, data: bytes, raw: dict[str, Any] | None) -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": ref.media_type or "application/octet-stream",
        "data": base64.b64encode(data).decode("ascii"),
    }
    kept = {key: value for key, value in (raw or {}).items() if key not in ("type", "source")}
    return {"type": "document", "source": source, **kept}


def _with_raw(block: dict[str, Any], raw: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keep another dialect's form of a part beside the block, so that it can go back to where it came from."""
    return block if raw is None else {**block, "provider_raw": raw}
