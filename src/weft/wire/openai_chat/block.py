"""What a Chat Completions message is made of: content blocks, tool calls, and the fields reasoning comes in.

A part that came from a field of the message and not from its content keeps it as `{field: value}` in
`provider_raw`, so that it goes back where it was: `reasoning_content`, `images`, `audio`, the old `function_call`.
Providers who speak this dialect add fields of their own; they stay in the block or in the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import (
    EMPTY,
    Frozen,
    Part,
    call_text,
    freeze,
    frozen_part,
    output_text,
    read_arguments,
    thaw,
    write_arguments,
)
from weft.errors import WireError
from weft.wire.body import is_plain, listed, mapping_at, optional_text, origin, unknown
from weft.wire.codec import Json, Policy
from weft.wire.openai_chat.media import URLS, decode_audio, decode_file, decode_url, encode_media

__all__ = [
    "FIELDS",
    "NAME",
    "PROVIDER",
    "REASONING",
    "decode_block",
    "decode_call",
    "decode_content",
    "decode_old_call",
    "decode_reasoning",
    "encode_block",
    "encode_call",
    "is_same",
    "made_by",
    "own_raw",
    "reasoning_text",
]

NAME = "openai_chat"
PROVIDER = "openai"

REASONING = ("reasoning_content", "reasoning", "reasoning_details")  # where compatible servers put it
DETAIL_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}
FIELDS = (*REASONING, "audio", "images", "function_call", "tool_calls")
# Blocks that anthropic or cohere have too, of the same shape: only `json`, or who spoke, tells them apart.
SHARED = ("text", "thinking")
OTHERS = frozenset({"anthropic", "bedrock", "cohere", "gemini", "google", "vertex"})  # who speak another dialect first
OBJECTS = ("function", "custom", "file", "input_audio")
KNOWN = frozenset({"text", "refusal"})
INSTRUCTING = ("system", "developer")  # texts alone, by OpenAI's types


def own_raw(part: Part, provider: str | None) -> Mapping[str, Any] | None:
    """Give a part's kept block if it is one of this dialect's: by shape, by its mark, by who spoke.

    Blocks of this dialect have a field named like their type; calls may lack the type.
    """
    raw = part.provider_raw
    if raw is None:
        return None
    whose = part.json.get("dialect") if part.json is not None else None
    if whose is not None:
        return raw if whose == NAME else None
    kind = raw.get("type")
    if kind is None:
        if isinstance(raw.get("function"), Mapping):
            return raw
        return raw if any(key in raw for key in FIELDS) and not _is_anothers(raw) else None
    if not isinstance(kind, str) or kind not in raw or (kind in OBJECTS and not isinstance(raw[kind], Mapping)):
        return None
    return None if kind in SHARED and provider in OTHERS else raw


def _is_anothers(raw: Mapping[str, Any]) -> bool:
    """Tell fields that others have too, of another shape: Gemini's calls, Bedrock's audio."""
    call, audio = raw.get("function_call"), raw.get("audio")
    if call is not None:
        return not (isinstance(call, Mapping) and isinstance(call.get("arguments"), str))
    return isinstance(audio, Mapping) and "format" in audio


def made_by(provider: str | None, model: Any) -> Frozen:
    """Say who produced the reasoning of a message."""
    return origin(provider or PROVIDER, NAME, model if isinstance(model, str) else None)


def _over(raw: Mapping[str, Any] | None, block: Json) -> Json:
    """Lay what canon says over the block that was kept."""
    return block if raw is None else {**thaw(raw), **block}


# -- content: canon to wire ------------------------------------------------------------------------------------


def encode_block(
    part: Part, role: str, raw: Mapping[str, Any] | None, blobs: BlobStore, policy: Policy, who: str
) -> Json | str:
    """Write one part as a content block, or say in a few words why it cannot be."""
    match part.type:
        case "text":
            if not part.text and raw is None and policy.tidy:
                return "empty text"
            return _over(raw, {"type": "text", "text": part.text or ""})
        case "refusal" if raw is not None:
            refusal = {"type": "refusal", "refusal": part.text or ""}
            return refusal if policy.typed else _over(raw, refusal)  # Responses' are alike, and may say more
        case "image" | "audio" | "video" | "file":
            if raw is None and (role == "assistant" or (policy.typed and role in INSTRUCTING)):
                return f"part type {part.type} is not supported for role {role} in chat.completions"
            return encode_media(part, raw, blobs, policy, who)
        case "json" if part.json is not None:
            return {"type": "text", "text": output_text(part.json)}
        case "provider" if raw is not None:
            block: Json = thaw(raw)
            return block
        case _:
            return f"part type {part.type} is not supported for role {role} in chat.completions"


# -- content: wire to canon ------------------------------------------------------------------------------------


def decode_content(content: Any, blobs: BlobStore, where: str, made: Frozen, role: str) -> list[Part]:
    """Read a message's content: a string, a list of blocks, or nothing."""
    if content.__class__ is str:
        return [frozen_part("text", content)]
    return [decode_block(block, blobs, f"{where}[{b}]", made, role) for b, block in enumerate(listed(content, where))]


def decode_block(value: Any, blobs: BlobStore, where: str, made: Frozen, role: str) -> Part:
    """Read one block. `made` says who produced it, for the parts that only they take back."""
    block = mapping_at(value, where)
    kind = block.get("type")
    if not isinstance(kind, str):
        return unknown(block, dialect=NAME)
    if kind == "text" and isinstance(text := block.get("text"), str):
        if is_plain(block, "type", "text"):
            return frozen_part("text", text)
        return frozen_part("text", text, json=freeze({"dialect": NAME}), provider_raw=freeze(block))
    if kind == "refusal" and isinstance(text := block.get("refusal"), str):
        return frozen_part("refusal", text, provider_raw=freeze(block))
    if kind == "thinking" and isinstance(thought := block.get("thinking"), (list, tuple, str)):
        return frozen_part("thinking", _thought(thought) or None, json=made, provider_raw=freeze(block))
    if kind in URLS and kind in block:
        part = decode_url(block, kind, blobs, keep=role == "assistant")
        if part is not None:
            return part
    if kind == "input_audio" and isinstance(held := block.get(kind), Mapping):
        return decode_audio(block, held, blobs)
    if kind == "file" and isinstance(held := block.get(kind), Mapping):
        return decode_file(block, held, blobs)
    if kind in KNOWN:
        raise WireError(
            f"{kind} block lacks a field or has one of another type: {sorted(map(str, block))}", where=where
        )
    return unknown(block, dialect=NAME)  # new kinds appear without notice; keep them whole


def _thought(thought: Any) -> str:
    """Give the text of a thinking block, as Mistral has it: a list of texts."""
    if isinstance(thought, str):
        return thought
    texts = [item.get("text") for item in thought if isinstance(item, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))


# -- reasoning fields ------------------------------------------------------------------------------------------


def decode_reasoning(message: Mapping[str, Any], made: Frozen) -> Part | None:
    """Read the reasoning fields as one part; None if they say nothing."""
    raw = {key: value for key in REASONING if (value := message.get(key)) is not None}
    text = next((raw[key] for key in REASONING[:2] if isinstance(raw.get(key), str) and raw[key]), None)
    details = raw.get("reasoning_details")
    if text is None and not (isinstance(details, (list, tuple)) and details):
        return None
    return frozen_part("thinking", text or reasoning_text(details) or None, json=made, provider_raw=freeze(raw))


def reasoning_text(details: Any) -> str:
    """Give the readable text in OpenRouter's reasoning details."""
    texts = [
        item.get(DETAIL_TEXTS.get(str(item.get("type")), ""))
        for item in (details if isinstance(details, (list, tuple)) else ())
        if isinstance(item, Mapping)
    ]
    return "".join(text for text in texts if isinstance(text, str))


# -- tool calls ------------------------------------------------------------------------------------------------


def encode_call(part: Part, raw: Mapping[str, Any] | None, policy: Policy) -> Json | str:
    """Write a tool call, over the block it came in if that is one of ours."""
    call_id = part.tool_call_id
    if (raw is None or policy.tidy) and not (call_id and part.tool_name) and policy.missing_ids != "empty":
        return "tool_call without id or name"
    if raw is None:
        return {
            "id": call_id or "",
            "type": "function",
            "function": {"name": part.tool_name or "", "arguments": _arguments(part, part.provider_raw or EMPTY)},
        }
    block: Json = dict(raw)
    if call_id is not None:
        block["id"] = call_id
    if "function" in raw:
        function = block["function"] = {**raw["function"]}
        if "arguments" in function or part.tool_args:
            function["arguments"] = _arguments(part, function)
    else:
        function = block["custom"] = {**raw["custom"]}
        function["input"] = write_arguments(part.tool_args)
    if part.tool_name is not None:
        function["name"] = part.tool_name
    if policy.tidy and "type" not in block:
        block["type"] = "function"
    return block if len(block) == 3 and "type" in block and len(function) == 2 else _plainly(block)


def _plainly(block: Json) -> Json:
    plain: Json = thaw(block)
    return plain


def _arguments(part: Part, kept: Mapping[str, Any]) -> Any:
    """Give arguments in the words they came in, unless they have been changed since."""
    text = kept.get("arguments")
    arguments = part.tool_args or EMPTY
    if text.__class__ is str:
        return call_text(part, text)
    if text is not None and part.json is not None and is_same(read_arguments(text), arguments):
        return thaw(text)  # this server takes, or gives, an object
    return call_text(part)


def is_same(one: Any, other: Any) -> bool:
    """Compare two values; what is too deep to be compared is taken to be the same, as it is kept as it came."""
    try:
        return bool(one == other)
    except RecursionError:
        return True


def decode_call(value: Any, where: str) -> Part:
    """Read one of the tool calls; the block is always kept."""
    block = mapping_at(value, where)
    call_id = optional_text(block.get("id"), f"{where}.id")
    optional_text(block.get("type"), f"{where}.type")
    match block:
        case {"function": Mapping() as function}:
            given = function.get("arguments")
            return frozen_part(
                "tool_call",
                tool_call_id=call_id,
                tool_name=_name(function, f"{where}.function"),
                tool_args=freeze(read_arguments(given)),
                json=None if given is None or isinstance(given, str) else freeze({"dialect": NAME}),
                provider_raw=freeze(block),
            )
        case {"type": "custom", "custom": Mapping() as custom}:
            said = custom.get("input")
            return frozen_part(
                "tool_call",
                tool_call_id=call_id,
                tool_name=_name(custom, f"{where}.custom"),
                tool_args=freeze({"_raw": said if isinstance(said, str) else output_text(said)}),
                provider_raw=freeze(block),
            )
    return unknown({"tool_calls": block}, dialect=NAME)


def decode_old_call(call: Mapping[str, Any], where: str) -> Part:
    """Read a call of the time before there were several: `function_call`, without an id."""
    return frozen_part(
        "tool_call",
        tool_name=_name(call, where),
        tool_args=freeze(read_arguments(call.get("arguments"))),
        provider_raw=freeze({"function_call": call}),
    )


def _name(holder: Mapping[str, Any], where: str) -> str | None:
    return optional_text(holder.get("name"), f"{where}.name")
