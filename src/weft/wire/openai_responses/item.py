"""Items: what `input` and `output` are lists of. Each that is not a message is one part, both ways.

A call, its result, a thought or a compaction keeps its whole item in `provider_raw`, and what canon says is laid
over it. Items that are the provider's own business (searches, shells, MCP) are `provider` parts. Thoughts and
compactions are sealed by who made them, so they go back to them alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Part, freeze, frozen_part, output_text, read_arguments, thaw, write_arguments
from weft.errors import WireError
from weft.wire.body import is_plain, maker, media_part, origin, to_base64, unknown
from weft.wire.codec import Json, Policy
from weft.wire.openai_responses.content import NAME

__all__ = ["CALLS", "PROVIDER", "Speech", "decode_item", "encode_item", "made_by", "role_of"]

PROVIDER = "openai"
CALLS = ("function_call", "custom_tool_call")
RESULTS = ("function_call_output", "custom_tool_call_output")
IMAGE_TYPES = {"png": "image/png", "webp": "image/webp", "jpeg": "image/jpeg", "gif": "image/gif"}
OUTPUT_ONLY = ("id", "status")  # of a call: how the server filed it, nothing the model said


@dataclass(slots=True)
class Speech:
    """How items are written here: by which policy, for whom, and in which direction."""

    blobs: BlobStore
    policy: Policy
    provider: str | None = None  # who will read it
    stored: bool = True  # the server keeps its own items, so they need not be sealed
    answering: bool = False  # a response is written, not a request
    endpoint: str = "responses.create"
    customs: set[str] = field(default_factory=set)  # ids of calls to custom tools, whose results are custom too

    @property
    def exact(self) -> bool:
        """Tell whether what was heard is said back as it was."""
        return self.policy.joiner is None


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_item(part: Part, role: str, maker: str | None, speech: Speech) -> Json | str | None:
    """Write one part as an item; or say in a few words why it cannot be; or None for what is not content.

    `maker` is who made the message: blocks without a common meaning go back to them alone [M-56].
    """
    match part.type:
        case "tool_call" | "tool_result":
            try:
                return _call(part, role, speech) if part.type == "tool_call" else _result(part, role, speech)
            except ValueError as problem:  # nested past what JSON writers take
                return f"{part.type}: {problem}"
        case "thinking":
            return _reasoning(part, speech)
        case "compaction":
            return _compaction(part, speech)
        case "image":
            return _image_call(part, speech)
        case "annotation":
            return None
        case "provider" if part.provider_raw is not None:
            dialect = (part.json or EMPTY).get("dialect")
            if dialect != NAME or not (speech.answering or maker is None or speech.provider in (None, maker)):
                return f"a block of {maker or dialect or 'another provider'} that {speech.endpoint} does not take"
            item: Json = thaw(part.provider_raw)
            return item
        case _:
            return f"part type {part.type} is not supported for role {role}"


def _call(part: Part, role: str, speech: Speech) -> Json | str:
    if role != "assistant" and not speech.exact:
        return f"part type tool_call is not supported for role {role}"
    raw = part.provider_raw or EMPTY
    if not (part.tool_call_id and part.tool_name) and not (speech.exact and raw.get("type") in CALLS):
        return "tool_call without id or name"
    if raw.get("type") == "custom_tool_call":
        speech.customs.add(part.tool_call_id or "")
        kind, key, text = "custom_tool_call", "input", write_arguments(part.tool_args)
    else:
        kind, key, text = "function_call", "arguments", _arguments(part, raw, speech)
    item: Json = {"type": kind, "call_id": part.tool_call_id, "name": part.tool_name, key: text}
    if raw.get("type") != kind:
        return item
    kept: Json = thaw(raw)
    if not speech.exact:
        kept = {name: value for name, value in kept.items() if name not in OUTPUT_ONLY and value is not None}
        return {**item, **{name: value for name, value in kept.items() if name not in item}}
    return {**kept, **item}


def _arguments(part: Part, raw: Mapping[str, Any], speech: Speech) -> Any:
    """Write a call's arguments: in the model's own spelling while they mean the same."""
    if raw.get("type") == "function_call":
        given = raw.get("arguments")
        spelt = speech.exact or (isinstance(given, str) and given)
        if spelt and _means_the_same(given, part.tool_args or EMPTY):
            return thaw(given)
    return write_arguments(part.tool_args)


def _means_the_same(given: Any, arguments: Mapping[str, Any]) -> bool:
    try:
        return read_arguments(given) == arguments
    except RecursionError:  # too deep to be compared, so hardly edited since it was read
        return True


def _result(part: Part, role: str, speech: Speech) -> Json | str:
    raw = part.provider_raw
    own = raw is not None and raw.get("type") in RESULTS
    if role != "tool" and not own:
        return f"part type tool_result is not supported for role {role}"
    if not part.tool_call_id and not (own and speech.exact):
        return "tool_result without id"
    custom = part.tool_call_id in speech.customs
    item: Json = {"type": "custom_tool_call_output" if custom else "function_call_output"}
    if part.tool_call_id is not None:
        item["call_id"] = part.tool_call_id
    if raw is not None and own:
        kept = thaw(raw)
        item["type"] = kept["type"]
        if _output(raw.get("output")) == part.tool_output:
            return {**kept, **item}
        item = {**kept, **item}
    item["output"] = output_text(part.tool_output)
    return item


def _reasoning(part: Part, speech: Speech) -> Json | str:
    raw = part.provider_raw
    made = maker(part)
    own = raw is not None and raw.get("type") == "reasoning" and made.get("dialect", NAME) == NAME
    if own and (speech.answering or speech.provider in (None, made.get("provider", speech.provider))):
        if not (speech.exact or speech.stored or (raw or EMPTY).get("encrypted_content")):
            return "reasoning without encrypted_content, and the server keeps no state to find it in"
        item: Json = thaw(raw)
        return item
    if speech.answering:
        summary = [{"type": "summary_text", "text": part.text}] if part.text else []
        return {"type": "reasoning", "summary": summary}
    if not made and raw is None:
        return "thinking without provider block or text" if not part.text else "thinking that is not sealed by openai"
    if speech.policy.foreign_thinking == "text" and part.text:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": part.text}]}
    return f"thinking of {made.get('provider') or made.get('dialect') or 'another provider'} cannot be read here"


def _compaction(part: Part, speech: Speech) -> Json | str:
    raw = part.provider_raw or EMPTY
    if (part.json or EMPTY).get("dialect", NAME) != NAME:
        return f"a compaction of {(part.json or EMPTY)['dialect']} cannot be read here"
    if raw.get("type") == "compaction" and speech.exact:
        whole: Json = thaw(raw)
        return whole
    item: Json = {"type": "compaction"}
    if raw.get("type") == "compaction" and isinstance(raw.get("encrypted_content"), str):
        item["encrypted_content"] = raw["encrypted_content"]
        if isinstance(raw.get("id"), str):
            item["id"] = raw["id"]
    elif part.blob is not None:
        try:
            item["encrypted_content"] = speech.blobs.get_blob(part.blob).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return "compaction whose blob is not text"
    elif part.text:
        item["encrypted_content"] = part.text
    else:
        return "compaction without provider block, blob or text"
    return item


def _image_call(part: Part, speech: Speech) -> Json | str:
    raw = part.provider_raw or EMPTY
    item: Json = thaw(raw) if raw.get("type") == "image_generation_call" else {"type": "image_generation_call"}
    if not speech.exact and not speech.answering:
        named = isinstance(item.get("id"), str)
        return {"type": item["type"], "id": item["id"]} if named else "image_generation_call without id"
    if part.blob is not None:
        item["result"] = to_base64(speech.blobs.get_blob(part.blob))
    return item


# -- wire to canon ---------------------------------------------------------------------------------------------


def role_of(item: Mapping[str, Any]) -> str:
    """Tell whose item it is: answers to calls are a tool's, unless the server ran it; the rest is the model's."""
    kind = item.get("type")
    if isinstance(kind, str) and kind.endswith(("_output", "_response")) and item.get("execution") != "server":
        return "tool"
    role = item.get("role")
    return role if role in ("user", "system", "developer") else "assistant"


def decode_item(item: Mapping[str, Any], blobs: BlobStore, where: str, made: Frozen) -> Part:
    """Read one item that is not a message. `made` says who produced it, for the parts that only they take back."""
    match item:
        case {"type": "function_call", "call_id": str(call_id), "name": str(name)}:
            raw = freeze(item)
            arguments: Any = read_arguments(raw.get("arguments"))
            return frozen_part("tool_call", tool_call_id=call_id, tool_name=name, tool_args=arguments, provider_raw=raw)
        case {"type": "custom_tool_call", "call_id": str(call_id), "name": str(name), "input": str(text)}:
            return frozen_part(
                "tool_call",
                tool_call_id=call_id,
                tool_name=name,
                tool_args=freeze({"_raw": text}),
                provider_raw=freeze(item),
            )
        case {"type": "function_call_output" | "custom_tool_call_output"} if _is_result(item):
            return _decode_result(item)
        case {"type": "reasoning"}:
            return frozen_part("thinking", _thought(item), json=made, provider_raw=freeze(item))
        case {"type": "compaction"}:
            return _decode_compaction(item, blobs, made)
        case {"type": "image_generation_call"}:
            return _decode_image_call(item, blobs)
        case {"type": "function_call" | "custom_tool_call" | "function_call_output" as kind}:
            raise WireError(f"{kind} lacks a field or has one of another type: {sorted(map(str, item))}", where=where)
    return unknown(item, dialect=NAME)  # new kinds appear without notice; keep them whole


def _is_result(item: Mapping[str, Any]) -> bool:
    """Tell whether an item answers something: a call by its id, or a hosted tool by its name."""
    call_id = item.get("call_id")
    return isinstance(call_id, str) or (call_id is None and item.get("output") is not None)


def _decode_result(item: Mapping[str, Any]) -> Part:
    call_id, output, name = item.get("call_id"), item.get("output"), item.get("name")
    simple = item["type"] == "function_call_output" and isinstance(output, str) and call_id is not None
    if simple and is_plain(item, "type", "call_id", "output"):
        return frozen_part("tool_result", tool_call_id=call_id, tool_output=output)
    raw = freeze(item)
    return frozen_part(
        "tool_result",
        tool_call_id=call_id,
        tool_name=name if isinstance(name, str) else None,
        tool_output=_output(raw.get("output")),
        provider_raw=raw,
    )


def _output(output: Any) -> Any:
    """Give a result's output in our words: the text if it is one text, else the blocks [R-8]."""
    if isinstance(output, (list, tuple)) and len(output) == 1:
        match output[0]:
            case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
                return text
    return output


def _thought(item: Mapping[str, Any]) -> str | None:
    """Give the text of a thought: what was thought, then its summaries, by lines [model.md, section 11]."""
    texts = []
    for key in ("content", "summary"):
        blocks = item.get(key)
        for block in blocks if isinstance(blocks, (list, tuple)) else ():
            text = block.get("text") if isinstance(block, Mapping) else None
            if isinstance(text, str) and text:
                texts.append(text)
    return "\n".join(texts) if texts else None


def _decode_compaction(item: Mapping[str, Any], blobs: BlobStore, made: Frozen) -> Part:
    sealed = item.get("encrypted_content")
    blob = None
    if isinstance(sealed, str):
        payload = sealed.encode("utf-8", "surrogatepass")
        blob = blobs.put_blob(payload, media_type="application/octet-stream", kind="compaction")
    return frozen_part("compaction", blob=blob, json=made, provider_raw=freeze(item))


def _decode_image_call(item: Mapping[str, Any], blobs: BlobStore) -> Part:
    form = item.get("output_format")
    media_type = IMAGE_TYPES.get(form, "image/png") if isinstance(form, str) else "image/png"
    rest = {key: value for key, value in item.items() if key != "result"}
    part = media_part(item.get("result"), media_type, blobs, kind="image", raw=lambda: rest)
    return part or frozen_part("image", provider_raw=freeze(item))


def made_by(provider: str | None, model: Any) -> Frozen:
    """Say who produced the items of an answer."""
    return origin(provider or PROVIDER, NAME, model if isinstance(model, str) else None)
