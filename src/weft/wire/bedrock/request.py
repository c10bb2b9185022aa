"""Converse requests: canon to body and body to canon.

Unlike canon: the model is in the path (or, for boto3, beside the messages as `modelId`), instructions are blocks
outside the messages, tool results come back in user messages (one of them may be two of ours, and becomes one
again), and a response schema travels as JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, RunSpec, ToolSpecification, thaw
from weft.jsontext import dumps_text, loads
from weft.wire.bedrock.block import NAME, decode_content, encode_part, made_by
from weft.wire.body import (
    annotation,
    annotation_of,
    as_body,
    blobs_or_new,
    closed_schema,
    deep_merge,
    listed,
    mapping_at,
    need,
    residue,
    same,
)
from weft.wire.codec import FAITHFUL, Decoded, Encoded, Json, Policy

__all__ = ["decode_request", "encode_request"]

ROLES = {"user": "user", "assistant": "assistant", "tool": "user"}
INSTRUCTING = ("system", "developer")
SYSTEM_MEMBERS = ("text", "guardContent", "cachePoint")  # what may stand in `system`
SETTINGS = {"maxTokens": "max_output_tokens", "temperature": "temperature", "topP": "top_p"}
LEAST = {"maxTokens": 1, "temperature": 0, "topP": 0}  # what boto3 refuses to go below
CHOICES = {"auto": "auto", "any": "any", "required": "any"}
# What a bare JSON Schema has and a wrapper around one has not; and what a wrapper has beside its schema.
SCHEMA_WORDS = frozenset({"type", "properties", "$ref", "$schema", "anyOf", "oneOf", "allOf", "enum", "items", "const"})
WRAPPER_WORDS = ("name", "description", "strict")


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_request(
    messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None = None, policy: Policy = FAITHFUL
) -> Encoded:
    """Write a conversation and its settings as a request body, or as the arguments of boto3's `converse`."""
    out = Encoded()
    system, turns = _encode_messages(messages, blobs_or_new(blobs), policy, out)
    body = out.body
    if spec.model:  # a REST body has none: the model is in the path
        body["modelId"] = spec.model
    if turns or "promptVariables" not in spec.extra_body:  # a managed prompt brings its own messages
        body["messages"] = turns
    given = spec.instructions
    texts = [text for text in (given.system, given.developer) if text] if given else []
    if texts or system or (system is not None and not policy.merge):
        body["system"] = [*({"text": text} for text in texts), *(system or ())]
    _encode_settings(spec, policy, out)
    if spec.extra_body:
        deep_merge(body, spec.extra_body)
    return out


def _encode_messages(
    messages: Sequence[Message], blobs: BlobStore, policy: Policy, out: Encoded
) -> tuple[list[Json] | None, list[Json]]:
    system: list[Json] | None = None
    turns: list[Json] = []
    for m, message in enumerate(messages):
        marks = annotation_of(message)
        inline = message.role in INSTRUCTING and marks.get("inline") and not policy.merge
        if message.role in INSTRUCTING and not inline:
            system = [*(system or ()), *_encode_parts(m, message, blobs, policy, out)]
            continue
        role = "system" if inline else ROLES.get(message.role)
        if role is None:
            out.lose(f"context.messages[{m}]", f"role {message.role} has no place in converse")
            continue
        blocks = _encode_parts(m, message, blobs, policy, out)
        if not blocks and policy.merge:
            out.lose(f"context.messages[{m}]", "nothing in it can be sent")
        elif turns and turns[-1]["role"] == role and (policy.merge or marks.get("joins")):
            _join(turns[-1], blocks, policy)
        else:
            turns.append({"role": role, "content": blocks, **_extra(marks, policy)})
    return system, turns


def _encode_parts(m: int, message: Message, blobs: BlobStore, policy: Policy, out: Encoded) -> list[Json]:
    blocks: list[Json] = []
    instructing = message.role in INSTRUCTING and policy.merge
    for p, part in enumerate(message.parts):
        if part.type == "text" and part.provider_raw is None and part.text:  # nearly all parts: no call, no match
            blocks.append({"text": part.text})
            continue
        block = encode_part(part, message.role, message.provider, blobs, policy)
        if isinstance(block, str):
            out.lose_part(m, p, block)
        elif block is not None and instructing and not any(member in block for member in SYSTEM_MEMBERS):
            out.lose_part(m, p, f"part type {part.type} is not supported for role {message.role}")
        elif block is not None:
            blocks.append(block)
            if part.provider_raw is not None and (part.type == "provider" or "reasoningContent" in block):
                out.returned(m, p)
    return blocks


def _extra(marks: Mapping[str, Any], policy: Policy) -> Json:
    """Give a message's own unknown fields back; boto3 would refuse them."""
    if not marks or policy.raw_bytes:
        return {}
    extra: Json = thaw((marks.get("extra") or EMPTY).get(NAME) or EMPTY)
    return extra


def _join(turn: Json, blocks: list[Json], policy: Policy) -> None:
    """Add blocks to the message before; models want tool results in front of what else a user says."""
    joined = [*turn["content"], *blocks]
    if policy.results_first and turn["role"] == "user":
        joined.sort(key=lambda block: "toolResult" not in block)  # stable: order is kept on both sides
    turn["content"] = joined


def _encode_settings(spec: RunSpec, policy: Policy, out: Encoded) -> None:
    body = out.body
    inference = {}
    for key, name in SETTINGS.items():
        value = getattr(spec, name)
        if value is None:
            continue
        if policy.raw_bytes and value < LEAST[key]:
            out.lose(name, f"{value} is less than bedrock/converse takes")
        else:
            inference[key] = value
    if inference:
        body["inferenceConfig"] = inference
    tools: Json = {"tools": [_encode_tool(tool) for tool in spec.tools]} if spec.tools else {}
    if spec.tool_choice is not None:
        choice = _encode_choice(spec.tool_choice)
        if choice is None:
            out.lose("tool_choice", "bedrock/converse knows auto, any and one tool by its name")
        else:
            tools["toolChoice"] = choice
    if tools:
        body["toolConfig"] = tools
    if spec.response_schema is not None:
        body["outputConfig"] = {"textFormat": _encode_format(spec.response_schema, policy)}
    if spec.seed is not None:
        out.lose("seed", "bedrock/converse has no seed")
    if spec.response_modalities:
        out.lose("response_modalities", "bedrock/converse has no response modalities")
    if policy.sdk_arguments:
        if spec.extra_headers:
            out.lose("extra_headers", "bedrock/converse takes no headers among its arguments")
        if spec.extra_query:
            out.lose("extra_query", "bedrock/converse takes no query among its arguments")


def _encode_tool(tool: ToolSpecification) -> Json:
    spec: Json = {"name": tool.name, "inputSchema": {"json": thaw(tool.input_schema)}}
    if tool.description:  # an empty one is refused
        spec["description"] = tool.description
    return {"toolSpec": spec}


def _encode_choice(choice: Any) -> Json | None:
    """Normalise a tool choice of any provider's (model.md, section 9); None for what Converse cannot say."""
    match choice:
        case str():
            return {CHOICES[choice]: {}} if choice in CHOICES else None
        case {"auto": _} | {"any": _} | {"tool": _}:
            native: Json = thaw(choice)
            return native
        case {"type": "function", "function": {"name": str(name)}} | {"name": str(name)}:
            return {"tool": {"name": name}}
        case {"type": str(kind)}:
            return _encode_choice(kind)
    return None


def _encode_format(schema: Mapping[str, Any], policy: Policy) -> Json:
    """Write a response schema, bare or in a wrapper, as `outputConfig.textFormat`."""
    inner = schema.get("json_schema") if isinstance(schema.get("json_schema"), Mapping) else schema
    assert inner is not None  # noqa: S101  # for mypy: either branch is a mapping
    held = inner.get("schema")
    wrapped = isinstance(held, Mapping) and (
        any(word in inner for word in WRAPPER_WORDS) or SCHEMA_WORDS.isdisjoint(inner)
    )
    bare = held if wrapped else inner
    described: Json = {"schema": dumps_text(closed_schema(bare, only_missing=True) if policy.close_schemas else bare)}
    if wrapped:
        described |= {key: inner[key] for key in ("name", "description") if isinstance(inner.get(key), str)}
    return {"type": "json_schema", "structure": {"jsonSchema": described}}


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_request(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Decoded:
    """Read a request body; what canon has no field for goes to `extra_body`, to be written back as it was."""
    body = as_body(body, "request")
    blobs = blobs_or_new(blobs)
    provider = provider or NAME
    made = made_by(provider, body.get("modelId"))
    messages: list[Message] = []
    if body.get("system") is not None:
        parts = decode_content(body["system"], blobs, "system", made, "system")
        messages.append(Message("system", tuple(parts), provider=provider))
    for m, value in enumerate(listed(body.get("messages"), "messages")):
        at = f"messages[{m}]"
        messages += _decode_message(mapping_at(value, at), blobs, at, made, provider)
    return Decoded(tuple(messages), _decode_spec(body, provider))


def _decode_message(message: Mapping[str, Any], blobs: BlobStore, at: str, made: Any, provider: str) -> list[Message]:
    role = need(message, "role", at, table={"user": "user", "assistant": "assistant", "system": "system"})
    parts = decode_content(need(message, "content", at), blobs, f"{at}.content", made, role)
    marks: Json = {"extra": {NAME: rest}} if (rest := residue(message, "role", "content")) else {}
    if role == "system":
        marks["inline"] = True
    if role != "user":
        return [Message(role, (*parts, *annotation(marks)), provider=provider)]
    return [
        Message(
            "tool" if run and run[0].type == "tool_result" else "user",
            (*run, *annotation({**marks, "joins": True} if r else marks)),
            provider=provider,
        )
        for r, run in enumerate(_runs(parts))
    ]


def _runs(parts: list[Part]) -> list[list[Part]]:
    """Cut a user message where tool results and other content meet: they are different roles in canon [R-7]."""
    runs: list[list[Part]] = [[]]
    for part in parts:
        if runs[-1] and (runs[-1][-1].type == "tool_result") != (part.type == "tool_result"):
            runs.append([])
        runs[-1].append(part)
    return runs


def _decode_spec(body: Mapping[str, Any], provider: str) -> RunSpec:
    known: Json = {}
    extra = residue(body, "modelId", "messages", "system")
    inference = body.get("inferenceConfig")
    if isinstance(inference, Mapping):
        known |= {field: inference[key] for key, field in SETTINGS.items() if _is_number(inference.get(key))}
        _keep(extra, "inferenceConfig", inference, {key for key, field in SETTINGS.items() if field in known})
    config = body.get("toolConfig")
    if isinstance(config, Mapping):
        taken = set()
        tools, exact = _decode_tools(config.get("tools"))
        if tools:
            known["tools"] = tools
        if exact:
            taken.add("tools")
        choice = config.get("toolChoice")
        if isinstance(choice, Mapping) and _encode_choice(choice) is not None:
            known["tool_choice"] = choice
            taken.add("toolChoice")
        _keep(extra, "toolConfig", config, taken)
    match body.get("outputConfig"):
        case {
            "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": str(text)} as said}} as given
        }:
            schema = _decode_schema(text, said)
            if schema is not None:
                known["response_schema"] = schema
                if _encode_format(schema, FAITHFUL) == given:
                    _keep(extra, "outputConfig", body["outputConfig"], {"textFormat"})
    model = body.get("modelId")
    return RunSpec(provider, "converse", model if isinstance(model, str) else "", extra_body=extra, **known)


def _keep(extra: Json, key: str, value: Mapping[str, Any], taken: set[str]) -> None:
    """Leave in `extra` what of an object canon did not take; an object that was empty stays."""
    extra[key] = residue(value, *taken)
    if taken and not extra[key]:
        del extra[key]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _decode_tools(value: Any) -> tuple[list[ToolSpecification], bool]:
    """Read the tools that are functions; tell whether they say all there is to say."""
    tools: list[ToolSpecification] = []
    exact = bool(value) and isinstance(value, (list, tuple))
    for tool in value if isinstance(value, (list, tuple)) else ():
        match tool:
            case {"toolSpec": {"name": str(name), "inputSchema": {"json": Mapping() as schema}}}:
                description = tool["toolSpec"].get("description")
                read = ToolSpecification(name, description if isinstance(description, str) else "", schema)
                tools.append(read)
                exact = exact and same(_encode_tool(read), tool)
            case _:
                exact = False
    return tools, exact


def _decode_schema(text: str, described: Mapping[str, Any]) -> Json | None:
    """Read a schema's text, if it is one that could be written again."""
    try:
        schema = loads(text)
        dumps_text(schema)
    except ValueError:
        return None
    if not isinstance(schema, dict):
        return None
    about = {key: described[key] for key in ("name", "description") if isinstance(described.get(key), str)}
    return {**about, "schema": schema} if about else schema
