"""Cohere requests: canon to body and body to canon.

Unlike canon: `top_p` is `p`; a tool choice is one of two words or nothing; a schema travels in `json_object`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Message, RunSpec
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
from weft.wire.cohere.block import NAME, made_by
from weft.wire.cohere.message import MessageWriter, decode_parts, decode_result
from weft.wire.functions import bare_schema, decode_function_tools, encode_function_tools

__all__ = ["decode_request", "encode_request"]

SETTINGS = {"max_tokens": "max_output_tokens", "temperature": "temperature", "p": "top_p", "seed": "seed"}
WHOLE = ("max_tokens", "seed")  # settings that are whole numbers
CHOICES = {"required": "REQUIRED", "any": "REQUIRED", "none": "NONE"}
SPEAKERS = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_request(
    messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None = None, policy: Policy = FAITHFUL
) -> Encoded:
    """Write a conversation and its settings as a request body."""
    out = Encoded()
    body = out.body
    if spec.model:
        body["model"] = spec.model
    given = spec.instructions
    texts = [text for text in (given.system, given.developer) if text] if given else []
    body["messages"] = turns = [{"role": "system", "content": text} for text in texts]
    if policy.missing_ids == "generate":
        messages = with_call_ids(messages)
    writer = MessageWriter(out, blobs_or_new(blobs), policy)
    for m, message in enumerate(messages):
        turns += writer.write(m, message)
    _settings(spec, out)
    if spec.extra_body:
        deep_merge(body, spec.extra_body)
    return out


def _settings(spec: RunSpec, out: Encoded) -> None:
    body = out.body
    for key, field in SETTINGS.items():
        if (value := getattr(spec, field)) is not None:
            body[key] = value
    if spec.tools and "tools" not in spec.extra_body:
        body["tools"] = encode_function_tools(spec)
    if spec.tool_choice is not None:
        _tool_choice(spec.tool_choice, out)
    if spec.response_schema is not None and "response_format" not in spec.extra_body:
        body["response_format"] = {"type": "json_object", "json_schema": bare_schema(spec.response_schema)}
    if spec.response_modalities:
        out.lose("response_modalities", "cohere chat answers in text")


def _tool_choice(choice: Any, out: Encoded) -> None:
    said = choice.get("type") if isinstance(choice, Mapping) else choice
    word = CHOICES.get(said.lower()) if isinstance(said, str) else None
    if word is not None:
        out.body["tool_choice"] = word
    elif said != "auto":  # which is what no choice means
        out.lose("tool_choice", "cohere chat can only require some tool, or forbid them all")


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_request(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Decoded:
    """Read a request body; what canon has no field for goes to `extra_body`, to be written back as it was."""
    body = as_body(body, "request")
    blobs = blobs_or_new(blobs)
    provider = provider or NAME
    made = made_by(provider, body.get("model"))
    messages = []
    for m, value in enumerate(listed(need(body, "messages"), "messages")):
        at = f"messages[{m}]"
        message = mapping_at(value, at)
        role = need(message, "role", at, table=SPEAKERS)
        if role == "tool":
            call_id = optional_text(message.get("tool_call_id"), f"{at}.tool_call_id")
            result, rest = decode_result(message, call_id)
            parts = [result]
        else:
            parts, rest = decode_parts(message, blobs, at, made)
        marks: Json = {"extra": {NAME: rest}} if rest else {}
        messages.append(Message(role, (*parts, *annotation(marks)), provider=provider))
    return Decoded(tuple(messages), _decode_spec(body, provider))


def _decode_spec(body: Mapping[str, Any], provider: str) -> RunSpec:
    known: Json = {}
    taken = {"messages"}
    for key, field in SETTINGS.items():
        value = body.get(key)
        if isinstance(value, int if key in WHOLE else (int, float)) and not isinstance(value, bool):
            known[field] = value
            taken.add(key)
    tools, exact = decode_function_tools(body.get("tools"))
    known["tools"] = tools
    if exact:
        taken.add("tools")
    choice = body.get("tool_choice")
    if choice in CHOICES.values():
        known["tool_choice"] = choice
        taken.add("tool_choice")
    match body.get("response_format"):
        case {"type": "json_object", "json_schema": Mapping() as schema, **more}:
            known["response_schema"] = schema
            if not more:
                taken.add("response_format")
    model = optional_text(body.get("model"), "model")
    if model:
        taken.add("model")
    return RunSpec(provider, "chat", model or "", extra_body=residue(body, *taken), **known)
