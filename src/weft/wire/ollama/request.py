"""Ollama requests: canon to body and body to canon.

Unlike canon: the settings are in `options`, under llama.cpp's names; a schema is the `format`; there is no choice
of tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Message, RunSpec
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
from weft.wire.codec import FAITHFUL, Decoded, Encoded, Json, Policy
from weft.wire.functions import bare_schema, decode_function_tools, encode_function_tools
from weft.wire.ollama.message import NAME, ROLES, MessageWriter, decode_parts, made_by

__all__ = ["decode_request", "encode_request"]

OPTIONS = {"num_predict": "max_output_tokens", "temperature": "temperature", "top_p": "top_p", "seed": "seed"}
WHOLE = ("num_predict", "seed")  # options that are whole numbers


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
    writer = MessageWriter(out, blobs_or_new(blobs), policy)
    for m, message in enumerate(messages):
        turns += writer.write(m, message)
    _settings(spec, out)
    if spec.extra_body:
        deep_merge(body, spec.extra_body)
    return out


def _settings(spec: RunSpec, out: Encoded) -> None:
    body = out.body
    options = {key: value for key, field in OPTIONS.items() if (value := getattr(spec, field)) is not None}
    if options:
        body["options"] = options
    if spec.tools and "tools" not in spec.extra_body:
        body["tools"] = encode_function_tools(spec)
    if spec.tool_choice is not None and spec.tool_choice != "auto":  # which is all there is
        out.lose("tool_choice", "ollama chat has no choice of tools")
    if spec.response_schema is not None:
        body["format"] = bare_schema(spec.response_schema)
    if spec.response_modalities:
        out.lose("response_modalities", "ollama chat answers in text")


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
        messages.append(_decode_message(mapping_at(value, at), blobs, at, made, provider))
    return Decoded(tuple(messages), _decode_spec(body, provider))


def _decode_message(message: Mapping[str, Any], blobs: BlobStore, at: str, made: Any, provider: str) -> Message:
    said = need(message, "role", at)
    if not isinstance(said, str):
        raise WireError(f"must be a string, not {type(said).__name__}", where=f"{at}.role")
    role: Any = ROLES.get(said, "user")
    parts, rest = decode_parts(message, blobs, at, made, role)
    marks: Json = {"role": said} if said != role else {}
    if rest:
        marks["extra"] = {NAME: rest}
    return Message(role, (*parts, *annotation(marks)), provider=provider)


def _decode_spec(body: Mapping[str, Any], provider: str) -> RunSpec:
    known: Json = {}
    taken = {"messages"}
    extra_options: Json = {}
    options = body.get("options")
    if isinstance(options, Mapping):
        for key, value in options.items():
            field = OPTIONS.get(key)
            fits = isinstance(value, int if key in WHOLE else (int, float)) and not isinstance(value, bool)
            if field is not None and fits:
                known[field] = value
            else:
                extra_options[key] = value
        if known:
            taken.add("options")
    tools, exact = decode_function_tools(body.get("tools"))
    known["tools"] = tools
    if exact:
        taken.add("tools")
    if isinstance(body.get("format"), Mapping):
        known["response_schema"] = body["format"]
        taken.add("format")
    if body.get("model"):
        taken.add("model")
    extra = residue(body, *taken)
    if "options" in taken and extra_options:
        extra["options"] = extra_options
    model = optional_text(body.get("model"), "model")
    return RunSpec(provider, "chat", model or "", extra_body=extra, **known)
