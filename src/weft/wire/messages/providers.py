"""What providers want back and wire messages have no field for: signed thinking, thought signatures, own blocks.

It lives in `extra`, under a provider's key; in canon it lives in the parts it belongs to. One table and a pair of
functions for each provider's way:

    claude   thinking_blocks, other_blocks      blocks as they came; is_error of a tool's answer
    gemini   thought_signatures, signature_parts, other_parts; part_lengths where joined texts hid a signed one
    weft     cache                              the caching hint

Other dialects whose reasoning is sealed keep it like Claude's, under their own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.canon import EMPTY, Frozen, Part, freeze, frozen_part, thaw
from weft.wire.body import origin, unknown
from weft.wire.codec import Json
from weft.wire.messages.overlay import marks_of

__all__ = ["EVERY_KEY", "Found", "derived", "merged", "read_blocks", "sign", "split"]

# The key in `extra` of each dialect that keeps blocks, and who speaks it.
BLOCK_KEYS = {
    "anthropic": ("claude", "anthropic"),
    "openai_chat": ("openai", "openai"),
    "openai_responses": ("openai_responses", "openai"),
    "bedrock": ("bedrock", "bedrock"),
    "cohere": ("cohere", "cohere"),
    "ollama": ("ollama", "ollama"),
}
EVERY_KEY = frozenset({"gemini", "weft", *(key for key, _ in BLOCK_KEYS.values())})
# What a part counts as for Gemini's signatures; all else is data.
KINDS = {"thinking": "thought", "text": "text", "refusal": "text", "tool_call": "function_call"}
EMPTY_TEXTS = {"text": "text", "thought": "thinking"}
MADE_UP: Frozen = freeze({"wire": {"made_up": True}})  # a part that stands for a signature, and is no content
CLAUDE_THINKING = {"thinking": "thinking", "redacted_thinking": "data"}  # a type, and the field it must have
SIGNATURES = ("thoughtSignature", "thought_signature")


# -- canon to wire ---------------------------------------------------------------------------------------------


def derived(parts: Sequence[Part], provider: str | None) -> Json:
    """Give the entries of `extra` that the parts of a message make."""
    extra: Json = {}
    signatures: list[str] = []
    places: list[Json] = []
    counts = dict.fromkeys(("thought", "text", "function_call", "data"), 0)
    for part in parts:
        raw = part.provider_raw
        if part.type == "annotation":
            continue
        if raw is not None and (part.type in ("provider", "compaction") or _is_bare_signature(part)):
            dialect = _dialect_of(part, raw, provider)
            if dialect == "gemini":
                _add(extra, "gemini", "other_parts", raw)
            elif dialect is not None:
                _add(extra, BLOCK_KEYS[dialect][0], "other_blocks", raw)
            continue
        if part.type == "thinking" and raw is not None and _is_sealed(part, raw):
            dialect = _dialect_of(part, raw, provider)
            if dialect in BLOCK_KEYS:
                _add(extra, BLOCK_KEYS[dialect][0], "thinking_blocks", raw)
        kind = KINDS.get(part.type, "data")
        signature = _signature(raw)
        if signature is not None:
            signatures.append(signature)
            places.append({"kind": kind, "index": counts[kind]})
        counts[kind] += 1
    if signatures:
        extra.setdefault("gemini", {}).update(thought_signatures=signatures, signature_parts=places)
    return extra


def _add(extra: Json, key: str, name: str, block: Mapping[str, Any]) -> None:
    extra.setdefault(key, {}).setdefault(name, []).append(thaw(block))


def _dialect_of(part: Part, raw: Mapping[str, Any], provider: str | None) -> str | None:
    """Tell whose block a part keeps: it says so itself, or the block's shape does, or whoever spoke."""
    named = (part.json or EMPTY).get("dialect")
    if isinstance(named, str):
        return named if named in BLOCK_KEYS or named == "gemini" else None
    if raw.get("type") in CLAUDE_THINKING or provider == "anthropic":
        return "anthropic"
    return None


def _is_sealed(part: Part, raw: Mapping[str, Any]) -> bool:
    """Tell whether a block says more than its text and its type: plain text needs no block."""
    return any(value not in (part.text, None) for key, value in raw.items() if key != "type") or "type" in raw


def _is_bare_signature(part: Part) -> bool:
    """Tell whether a part of Gemini's is a signature and nothing else: there is no thought to put it on."""
    return part.type == "thinking" and part.text is None and _signature(part.provider_raw) is not None


def _signature(raw: Mapping[str, Any] | None) -> str | None:
    for key in SIGNATURES if raw is not None else ():
        found = raw.get(key) if raw is not None else None
        if isinstance(found, str):
            return found
    return None


def merged(kept: Any, made: Mapping[str, Any]) -> Any:
    """Put what the parts make of `extra` into what the message kept of it."""
    if not made:
        return thaw(kept)
    whole: Json = thaw(kept) if isinstance(kept, Mapping) else {}
    for key, entry in made.items():
        held = whole.get(key)
        whole[key] = {**held, **entry} if isinstance(held, dict) else entry
    return whole


# -- wire to canon ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Found:
    """What an `extra` holds for canon: parts, marks, and what is left of it."""

    thinking: list[Part] = field(default_factory=list)
    others: list[Part] = field(default_factory=list)
    failed: bool = False
    cache: bool = False
    signatures: list[tuple[str, str, int]] | None = None  # signature, kind, index
    loose: list[str] = field(default_factory=list)  # signatures that do not say where they belong
    lengths: Mapping[str, Any] = field(default_factory=dict)  # where the texts that were joined begin and end, by kind
    rest: Any = None


def read_blocks(extra: Any, keys: Iterable[str]) -> Found:
    """Take out of `extra` what the entries of `keys` hold for canon; anything of another shape is left there."""
    found = Found(rest=extra)
    if not isinstance(extra, Mapping):
        return found
    rest = dict(extra)
    for dialect, (key, provider) in BLOCK_KEYS.items():
        entry = rest.get(key)
        if key in keys and isinstance(entry, Mapping):
            _keep_rest(rest, key, _read_entry(dict(entry), dialect, provider, found))
    if "gemini" in keys and isinstance(rest.get("gemini"), Mapping):
        _keep_rest(rest, "gemini", _read_gemini(dict(rest["gemini"]), found))
    ours = rest.get("weft")
    if "weft" in keys and isinstance(ours, Mapping) and ours.get("cache") is True:
        found.cache = True
        _keep_rest(rest, "weft", {key: value for key, value in ours.items() if key != "cache"})
    found.rest = rest or None
    return found


def _keep_rest(rest: Json, key: str, entry: Json) -> None:
    if entry:
        rest[key] = entry
    else:
        del rest[key]


def _read_entry(entry: Json, dialect: str, provider: str, found: Found) -> Json:
    if _are_blocks(entry.get("thinking_blocks"), dialect):
        made = origin(provider, dialect, None)
        found.thinking += [_thinking_part(block, made) for block in entry.pop("thinking_blocks")]
    if _are_blocks(entry.get("other_blocks"), None):
        found.others += [unknown(block, dialect=dialect) for block in entry.pop("other_blocks")]
    if dialect == "anthropic" and entry.get("is_error") is True:
        found.failed = entry.pop("is_error")
    return entry


def _are_blocks(value: Any, dialect: str | None) -> bool:
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(block, Mapping) for block in value):
        return False
    return dialect != "anthropic" or all(_is_claude_thinking(block) for block in value)


def _is_claude_thinking(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    needed = CLAUDE_THINKING.get(kind) if isinstance(kind, str) else None
    return needed is not None and isinstance(block.get(needed), str)


def _thinking_part(block: Mapping[str, Any], made: Frozen) -> Part:
    texts = (block.get(key) for key in ("thinking", "reasoning", "reasoning_content", "text"))
    text = next((text for text in texts if isinstance(text, str)), None)
    return frozen_part("thinking", text, json=made, provider_raw=freeze(block))


def _read_gemini(entry: Json, found: Found) -> Json:
    if _are_blocks(entry.get("other_parts"), None):
        found.others += [unknown(block, dialect="gemini") for block in entry.pop("other_parts")]
    if isinstance(entry.get("part_lengths"), Mapping):
        found.lengths = entry["part_lengths"]
    signatures, places = entry.get("thought_signatures"), entry.get("signature_parts")
    if not isinstance(signatures, (list, tuple)) or not all(isinstance(each, str) for each in signatures):
        return entry
    if isinstance(places, (list, tuple)) and len(places) == len(signatures) and all(map(_is_place, places)):
        found.signatures = [
            (signature, place["kind"], place["index"]) for signature, place in zip(signatures, places, strict=True)
        ]
    elif places is None:
        found.loose = list(signatures)
    else:
        return entry
    entry.pop("thought_signatures")
    entry.pop("signature_parts", None)
    return entry


def _is_place(place: Any) -> bool:
    return isinstance(place, Mapping) and isinstance(place.get("kind"), str) and isinstance(place.get("index"), int)


def split(text: str, lengths: Any, joint: str = "") -> list[str] | None:
    """Take texts apart again that were joined; None if the lengths are not of this text."""
    if not isinstance(lengths, (list, tuple)) or not all(isinstance(each, int) and each >= 0 for each in lengths):
        return None
    if not lengths or sum(lengths) + len(joint) * (len(lengths) - 1) != len(text):
        return None
    texts, start = [], 0
    for length in lengths:
        texts.append(text[start : start + length])
        start += length + len(joint)
    return texts


def sign(parts: list[Part], found: Found) -> None:
    """Put Gemini's signatures back on the parts they came from [W-19]."""
    for signature, kind, index in found.signatures or ():
        places = _places(parts, kind)
        if 0 <= index < len(places):
            parts[places[index]] = _signed(parts[places[index]], signature)
        elif kind in EMPTY_TEXTS and index >= 0:
            # The texts were joined, and this was an empty one at their end: the usual form of a late signature.
            after = places[-1] + 1 if places else next((p for p, part in enumerate(parts) if part.tool_name), 0)
            parts.insert(after, _signed(frozen_part(EMPTY_TEXTS[kind], "", json=MADE_UP), signature))
    loose_places = [*_places(parts, "function_call"), *_places(parts, "text")[-1:]]
    for p, signature in zip(loose_places, found.loose, strict=False):
        parts[p] = _signed(parts[p], signature)


def _places(parts: list[Part], kind: str) -> list[int]:
    return [p for p, part in enumerate(parts) if part.type != "provider" and KINDS.get(part.type, "data") == kind]


def _signed(part: Part, signature: str) -> Part:
    """Give a part the block Gemini would have sent it in; thinking that another provider sealed stays theirs."""
    if part.type == "thinking" and part.provider_raw is not None:
        return part
    raw: Json = {"thoughtSignature": signature}
    json: Any = part.json
    match part.type:
        case "text" | "refusal":
            raw |= {"text": part.text}
        case "thinking":
            raw |= {"text": part.text, "thought": True}
        case "tool_call":
            call: Json = {"name": part.tool_name, "args": thaw(part.tool_args or EMPTY)}
            raw["functionCall"] = call | ({"id": part.tool_call_id} if part.tool_call_id else {})
            if part.provider_raw is not None:  # the argument text, which must not be sent in the block
                json = freeze({"wire": {**marks_of(part), **part.provider_raw}})
        case _:
            raw = {**(part.provider_raw or EMPTY), **raw}
    return frozen_part(
        part.type,
        part.text,
        json=json,
        blob=part.blob,
        tool_call_id=part.tool_call_id,
        tool_name=part.tool_name,
        tool_args=part.tool_args,  # type: ignore[arg-type]  # a Part's mappings are frozen
        provider_raw=freeze(raw),
    )
