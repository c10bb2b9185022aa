"""Chat Completions requests: canon to body and body to canon.

Unlike canon: instructions are messages in front; the number of tokens has two names, of which a request keeps the
one it used; fields that only one of the many providers knows stay in `extra_body`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Message, RunSpec, thaw
from weft.errors import WireError
from weft.wire.body import (
    annotation,
    as_body,
    blobs_or_new,
    deep_merge,
    listed,
    mapping_at,
    need,
    optional_text,
    residue,
)
from weft.wire.callids import with_call_ids
from weft.wire.codec import FAITHFUL, Decoded, Encoded, Json, Policy
from weft.wire.functions import decode_function_tools, decode_functions, encode_function_tools
from weft.wire.openai_chat.block import NAME, PROVIDER, made_by
from weft.wire.openai_chat.message import SPEAKING, MessageWriter, decode_parts, decode_result

__all__ = ["decode_request", "encode_request"]

ENDPOINT = "chat.completions"
SETTINGS = {"temperature": "temperature", "top_p": "top_p", "seed": "seed"}
LENGTHS = ("max_completion_tokens", "max_tokens")  # the first one there counts


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_request(
    messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None = None, policy: Policy = FAITHFUL
) -> Encoded:
    """Write a conversation and its settings as a request body."""
    out = Encoded()
    body = out.body
    if spec.model:  # Azure has it in the path
        body["model"] = spec.model
    body["messages"] = turns = _instructions(spec)
    if policy.missing_ids == "generate":
        messages = with_call_ids(messages)
    writer = MessageWriter(out, blobs_or_new(blobs), policy, spec.provider)
    for m, message in enumerate(messages):
        parts = message.parts
        if len(parts) == 1 and parts[0].provider_raw is None:  # nearly all messages: one text, or one result
            part = parts[0]
            if part.type == "text" and part.text and message.role in SPEAKING:
                turns.append({"role": message.role, "content": part.text})
                continue
            if part.type == "tool_result" and part.tool_output.__class__ is str and part.tool_call_id:
                turns.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": part.tool_output})
                continue
        turns += writer.write(m, message)
    if policy.tidy and not turns:
        out.errors.append("chat.completions needs at least one message, and there is none")
    _settings(spec, body)
    if policy.sdk_arguments:
        if spec.extra_headers:
            body["extra_headers"] = thaw(spec.extra_headers)
        if spec.extra_query:
            body["extra_query"] = thaw(spec.extra_query)
    if spec.extra_body:
        deep_merge(body, spec.extra_body)
    return out


def _instructions(spec: RunSpec) -> list[Json]:
    given = spec.instructions
    if given is None:
        return []
    said = (("system", given.system), ("developer", given.developer))
    return [{"role": role, "content": text} for role, text in said if text]


def _settings(spec: RunSpec, body: Json) -> None:
    extra = spec.extra_body
    if spec.max_output_tokens is not None and not any(key in extra for key in LENGTHS):
        body["max_tokens"] = spec.max_output_tokens
    for key, field in SETTINGS.items():
        if (value := getattr(spec, field)) is not None:
            body[key] = value
    if spec.tools and "tools" not in extra and "functions" not in extra:
        body["tools"] = encode_function_tools(spec)
    if spec.tool_choice is not None:
        body["tool_choice"] = thaw(spec.tool_choice)
    if spec.response_schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": thaw(spec.response_schema)}
    if spec.response_modalities:
        body["modalities"] = list(spec.response_modalities)


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_request(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Decoded:
    """Read a request body; what canon has no field for goes to `extra_body`, to be written back as it was."""
    body = as_body(body, "request")
    blobs = blobs_or_new(blobs)
    provider = provider or PROVIDER
    made = made_by(provider, body.get("model"))
    messages = []
    for m, value in enumerate(listed(need(body, "messages"), "messages")):
        at = f"messages[{m}]"
        messages.append(_decode_message(mapping_at(value, at), blobs, at, made, provider))
    return Decoded(tuple(messages), _decode_spec(body, provider))


def _decode_message(message: Mapping[str, Any], blobs: BlobStore, at: str, made: Any, provider: str) -> Message:
    role = need(message, "role", at)
    if not isinstance(role, str):
        raise WireError(f"must be a string, not {type(role).__name__}", where=f"{at}.role")
    marks: Json = {}
    if isinstance(message.get("name"), str):
        marks["name"] = message["name"]
    if role in ("tool", "function"):
        call_id = optional_text(message.get("tool_call_id"), f"{at}.tool_call_id")
        result, rest = decode_result(message, call_id)
        if role == "function":
            marks = {"role": role}  # the name is the result's own, and is written from there
        return Message("tool", (result, *annotation(_marked(marks, rest))), provider=provider)
    parts, rest = decode_parts(message, blobs, at, made, role)
    if "name" in marks:
        rest.pop("name")
    if role not in SPEAKING:
        marks["role"], role = role, "user"
    return Message(role, (*parts, *annotation(_marked(marks, rest))), provider=provider)  # type: ignore[arg-type]


def _marked(marks: Json, rest: Json) -> Json:
    return {**marks, "extra": {NAME: rest}} if rest else marks


def _decode_spec(body: Mapping[str, Any], provider: str) -> RunSpec:
    known: Json = {}
    taken = {"messages"}
    for key, field in SETTINGS.items():
        value = body.get(key)
        if isinstance(value, int if key == "seed" else (int, float)) and not isinstance(value, bool):
            known[field] = value
            taken.add(key)
    length = next((key for key in LENGTHS if isinstance(body.get(key), int) and body[key] is not True), None)
    if length is not None:
        known["max_output_tokens"] = body[length]
        if length == "max_tokens":
            taken.add(length)
    tools, exact = decode_function_tools(body.get("tools"))
    known["tools"] = tools or decode_functions(body.get("functions"))
    if exact and "functions" not in body:
        taken.add("tools")
    if body.get("tool_choice") is not None:
        known["tool_choice"] = body["tool_choice"]
        taken.add("tool_choice")
    beside: Json = {}
    match body.get("response_format"):
        case {"type": "json_schema", "json_schema": Mapping() as schema, **more}:
            known["response_schema"] = schema
            taken.add("response_format")
            beside = {"response_format": more} if more else {}
    modalities = body.get("modalities")
    if isinstance(modalities, (list, tuple)) and modalities and all(isinstance(each, str) for each in modalities):
        known["response_modalities"] = modalities
        taken.add("modalities")
    model = optional_text(body.get("model"), "model")
    if model:
        taken.add("model")
    return RunSpec(provider, ENDPOINT, model or "", extra_body={**residue(body, *taken), **beside}, **known)
