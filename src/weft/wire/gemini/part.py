"""Parts of a content: one canonical part each, both ways.

https://ai.google.dev/api/caching#Part. A part has no type: the one data field it has says what it is. Any part may
carry a `thoughtSignature`, which must come back on exactly that part, so such parts are kept in `provider_raw` and
what canon says is laid over them. Code execution and server tools are the provider's own business: `provider` parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Part, Role, call_arguments, freeze, frozen_part, output_text, read_arguments, thaw
from weft.errors import WireError
from weft.jsontext import loads
from weft.wire.body import is_plain, maker, mapping_at, origin, same, unknown
from weft.wire.codec import Json
from weft.wire.gemini.calls import Calls, is_made_up
from weft.wire.gemini.keeping import kept, native, opened, signature_of
from weft.wire.gemini.media import decode_file, decode_inline, encode_media
from weft.wire.gemini.spelling import SNAKE, get
from weft.wire.gemini.way import Way

__all__ = [
    "KINDS",
    "MARKS",
    "NAME",
    "PROVIDER",
    "decode_part",
    "encode_part",
    "is_own_part",
    "made_by",
    "new_call",
    "new_result",
]

NAME = "gemini"
PROVIDER = "google"
PROVIDERS = frozenset({"google", "vertex"})

# The data fields we have words for; first of all, because a part of another kind may carry an empty text.
SPOKEN = ("functionCall", "functionResponse", "inlineData", "fileData")
OTHERS = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
KINDS = {spelling: name for name in (*SPOKEN, *OTHERS) for spelling in (name, SNAKE[name])}
MARKS = frozenset({"thought", "thoughtSignature", "thought_signature"})


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_part(
    part: Part, role: Role, provider: str | None, blobs: BlobStore, way: Way, names: Mapping[str, str] = EMPTY
) -> Json | str | None:
    """Write one part; or say in a few words why it cannot be; or None for what is not content.

    `names` has the function of every call so far by its id: a result must name its function [M-52].
    """
    raw = part.provider_raw
    if raw is not None and not is_own_part(part, provider):
        raw = None
    match part.type:
        case "text" | "refusal":
            if not part.text and raw is None and way.empty_text == "refuse":
                return "empty text"
            return {**native(raw, way), "text": part.text or ""}
        case "tool_call":
            if role != "assistant" and way.merge == "all":
                return f"part type tool_call is not supported for role {role}"
            if part.tool_name is None or not (part.tool_name or raw):
                return "tool_call without name"
            return _call(part, raw, way)
        case "tool_result":
            return _result(part, raw, way, names)
        case "thinking":
            return _thinking(part, raw, way)
        case "image" | "file" | "audio" | "video":
            return encode_media(part, raw, blobs, way)
        case "json" if part.json is not None:
            return {"text": output_text(part.json)}
        case "annotation":
            return None
        case "provider" if raw is not None:
            return native(raw, way)
        case _:
            return f"part type {part.type} is not supported for role {role}"


def is_own_part(part: Part, provider: str | None) -> bool:
    """Tell whether a kept block is one of this dialect's, by its shape and by who spoke."""
    raw = part.provider_raw or EMPTY
    if part.type == "provider":
        return (part.json or EMPTY).get("dialect") == NAME
    if "type" in raw:  # a part never says its type; the blocks of most others do
        return False
    if any(key in MARKS or (key in KINDS and _is_data(value)) for key, value in raw.items()):
        return True
    return "text" in raw and (provider is None or provider in PROVIDERS)


def _is_data(value: Any) -> bool:
    """Tell a data field from the `function_call` of old chat requests, which has `arguments`, not `args`."""
    return isinstance(value, Mapping) and not isinstance(value.get("arguments"), str)


def new_call(part: Part, way: Way) -> Json:
    """Write a call that no block was kept of."""
    call: Json = {"name": part.tool_name, "args": call_arguments(part)}
    if way.ids and not is_made_up(part.tool_call_id):
        call["id"] = part.tool_call_id
    return {"function_call" if way.snake else "functionCall": call}


def new_result(part: Part, name: str, way: Way) -> Json:
    """Write a result that no block was kept of; `name` is that of its function."""
    output = part.tool_output
    plain = output.__class__ is str and way.results == "mapping"
    answer: Json = {"name": name, "response": {"result": output} if plain else _response(part, way)}
    if way.ids and not is_made_up(part.tool_call_id):
        answer["id"] = part.tool_call_id
    return {"function_response" if way.snake else "functionResponse": answer}


def _call(part: Part, raw: Mapping[str, Any] | None, way: Way) -> Json:
    if raw is None:
        return new_call(part, way)
    block, key, call = opened(raw, "functionCall", way)
    given = _frozen_field(raw, "functionCall", "args")
    is_kept = bool(call) and way.as_given
    call["name"] = part.tool_name
    if (given is None and not is_kept) or (not same(read_arguments(given), part.tool_args or EMPTY)):
        call["args"] = call_arguments(part)
    if not way.ids:
        call.pop("id", None)
    elif not is_made_up(part.tool_call_id):
        call["id"] = part.tool_call_id
    block[key] = call
    return block


def _frozen_field(raw: Mapping[str, Any] | None, name: str, field: str) -> Any:
    held = None if raw is None else get(raw, name)
    return held.get(field) if isinstance(held, Mapping) else None


def _result(part: Part, raw: Mapping[str, Any] | None, way: Way, names: Mapping[str, str]) -> Json | str:
    name = part.tool_name
    if not name and (raw is None or name is None):
        name = names.get(part.tool_call_id or "") or _name_in(part.provider_raw)
    if not name and (raw is None or name is None):
        return "tool_result without the name of its function"
    if raw is None:
        return new_result(part, name or "", way)
    block, key, answer = opened(raw, "functionResponse", way)
    is_kept = bool(answer)
    given = _frozen_field(raw, "functionResponse", "response")
    answer["name"] = name or ""
    if not is_kept or not same(_output(given), part.tool_output):
        answer["response"] = _response(part, way)
    if not way.ids:
        answer.pop("id", None)
    elif not is_made_up(part.tool_call_id) and (isinstance(answer.get("id"), str) or not is_kept):
        answer["id"] = part.tool_call_id
    block[key] = answer
    return block


def _name_in(raw: Mapping[str, Any] | None) -> str | None:
    name = None if raw is None else raw.get("name")
    return name if isinstance(name, str) else None


def _response(part: Part, way: Way) -> Json:
    """Give a tool's output as the object it must be [M-52, W-16, T-84]."""
    output = part.tool_output
    if way.results == "item":
        content = (part.provider_raw or EMPTY).get("content", output)
        items: Any = thaw(content) if isinstance(content, tuple) else [{"type": "text", "text": output_text(content)}]
        first: Any = items[0] if len(items) == 1 else {"content": items}
        return first if isinstance(first, dict) else {"result": first}
    if way.results == "parsed":
        return _parsed(output if isinstance(output, str) else _text_of(output))
    if isinstance(output, Mapping):
        mapping: Json = thaw(output)
        return mapping
    return {"result": output_text(output)}


def _text_of(output: Any) -> str:
    """Give a tool's output as text: the texts of its blocks, or JSON of anything else."""
    if isinstance(output, (list, tuple)) and all(isinstance(item, Mapping) and "type" in item for item in output):
        return "".join(text for item in output if isinstance(text := item.get("text"), str))
    return output_text(output)


def _parsed(text: str) -> Json:
    if text.lstrip().startswith("{"):
        try:
            value = loads(text)
        except ValueError:
            return {"result": text}
        if isinstance(value, dict):
            return value
    return {"result": text}


def _thinking(part: Part, raw: Mapping[str, Any] | None, way: Way) -> Json | str:
    made = maker(part)
    if made.get("dialect", NAME) != NAME:
        if way.foreign_thinking == "text" and part.text:
            return {"text": part.text}
        return f"thinking of {made.get('provider') or made['dialect']} carries no signature this endpoint accepts"
    if raw is not None and (get(raw, "text") is not None or part.text is None):
        return native(raw, way)  # signed: to the byte
    if not part.text:
        return "thinking without provider block or text"
    return {**native(raw, way), "text": part.text, "thought": True}


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_part(value: Any, blobs: BlobStore, where: str, made: Frozen, calls: Calls) -> Part:
    """Read one part. `made` says who produced it; `calls` knows the calls that came before it."""
    part = mapping_at(value, where)
    if len(part) == 1 and (text := part.get("text")).__class__ is str:  # nearly all parts
        return frozen_part("text", text)
    key, name = next(((key, KINDS[key]) for key, item in part.items() if item is not None and key in KINDS), ("", ""))
    if name in SPOKEN:
        held = mapping_at(part[key], f"{where}.{key}")
        if name == "functionCall":
            return _decode_call(part, key, held, where, calls)
        if name == "functionResponse":
            return _decode_result(part, key, held, where, calls)
        return decode_inline(part, key, held, blobs) if name == "inlineData" else decode_file(part, held)
    if not name and (text := part.get("text")) is not None:
        if not isinstance(text, str):
            raise WireError(f"must be a string, not {type(text).__name__}", where=f"{where}.text")
        if part.get("thought") is True:
            return frozen_part("thinking", text, json=made, provider_raw=kept(part))
        return frozen_part("text", text, provider_raw=None if is_plain(part, "text") else kept(part))
    if not name and any(item is not None for item in part.values()) and is_plain(part, *MARKS):
        return frozen_part("thinking", json=made, provider_raw=kept(part))  # nothing but a signature
    return unknown(kept(part), dialect=NAME)  # new kinds appear without notice; keep them whole


def _decode_call(part: Mapping[str, Any], key: str, call: Mapping[str, Any], where: str, calls: Calls) -> Part:
    if not isinstance(name := call.get("name"), str):
        raise WireError(f"functionCall needs a name; found {sorted(map(str, call))}", where=f"{where}.{key}")
    raw = kept(part, key, call)
    arguments = raw[key].get("args")
    if not isinstance(arguments, Mapping):
        arguments = read_arguments(arguments)
    call_id = calls.asked(name, call.get("id"), arguments, signature_of(raw))
    return frozen_part("tool_call", tool_call_id=call_id, tool_name=name, tool_args=arguments, provider_raw=raw)


def _decode_result(part: Mapping[str, Any], key: str, answer: Mapping[str, Any], where: str, calls: Calls) -> Part:
    if not isinstance(name := answer.get("name"), str):
        raise WireError(f"functionResponse needs a name; found {sorted(map(str, answer))}", where=f"{where}.{key}")
    call_id = calls.answered(name, answer.get("id"))
    response = answer.get("response")
    plain = (
        key == "functionResponse"
        and isinstance(response, Mapping)
        and is_plain(part, key)
        and is_plain(answer, "name", "response", "id")
        and (answer.get("id") == call_id or (answer.get("id") is None and is_made_up(call_id)))
    )
    raw = None if plain else kept(part, key, answer)
    output = _output(freeze(response) if raw is None else raw[key].get("response"))
    return frozen_part("tool_result", tool_call_id=call_id, tool_name=name, tool_output=output, provider_raw=raw)


def _output(response: Any) -> Any:
    """Give a tool's output in our words: a lone text result is that text, which is how we write one [M-52]."""
    if isinstance(response, Mapping) and len(response) == 1 and isinstance(text := response.get("result"), str):
        return text
    return response


def made_by(provider: str | None, model: Any) -> Frozen:
    """Say who produced the parts of a content."""
    return origin(provider or PROVIDER, NAME, model if isinstance(model, str) else None)
