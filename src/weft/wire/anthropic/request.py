"""Messages API requests: canon to body and body to canon.

Unlike canon: instructions travel outside the messages, as `system`; tool results come back in user messages, so
one user message may be two of ours (it is marked, and becomes one again); a number of tokens is required.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, RunSpec, ToolSpecification, thaw
from weft.wire.anthropic.block import (
    INSTRUCTING,
    NAME,
    THINKING,
    decode_content,
    encode_part,
    made_by,
    text_of_blocks,
)
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
    tools_of,
)
from weft.wire.codec import FAITHFUL, Decoded, Encoded, Json, Policy, bare_spec

__all__ = ["decode_request", "encode_request"]

ROLES = {"user": "user", "assistant": "assistant", "tool": "user"}
SETTINGS = {"max_tokens": "max_output_tokens", "temperature": "temperature", "top_p": "top_p"}
RETURNED = frozenset({"thinking", "compaction", "provider"})  # parts whose own block must come back untouched
MOST_CACHE_MARKS = 4  # the API refuses more; the last ones are worth most [T-78]


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_request(
    messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None = None, policy: Policy = FAITHFUL
) -> Encoded:
    """Write a conversation and its settings as a request body."""
    out = Encoded()
    blobs = blobs_or_new(blobs)
    system, turns = _encode_messages(messages, blobs, policy, out)
    body = out.body
    if spec.model:  # in the path, not in the body, where Bedrock and Vertex serve this dialect
        body["model"] = spec.model
    _encode_system(system, spec, policy, body)
    body["messages"] = turns
    if policy.tidy:
        _check_turns(turns, out)
    _encode_settings(spec, policy, out)
    if policy.sdk_arguments:
        if spec.extra_headers:
            body["extra_headers"] = thaw(spec.extra_headers)
        if spec.extra_query:
            body["extra_query"] = thaw(spec.extra_query)
    if spec.extra_body:
        deep_merge(body, spec.extra_body)
    return out


def _encode_messages(
    messages: Sequence[Message], blobs: BlobStore, policy: Policy, out: Encoded
) -> tuple[list[Json] | None, list[Json]]:
    """Write the blocks of `system`, None if there is none, and the messages."""
    system: list[Json] | None = None
    turns: list[Json] = []
    cached: list[Json] = []
    merge = policy.merge
    for m, message in enumerate(messages):
        blocks = _encode_parts(m, message, blobs, policy, out)
        marks = annotation_of(message)
        role = ROLES.get(message.role)
        if role is None:
            if message.role not in INSTRUCTING:
                out.lose(f"context.messages[{m}]", f"role {message.role} has no place in messages.create")
                continue
            if policy.joiner is not None or not marks.get("inline"):
                if not blocks and merge:
                    out.lose(f"context.messages[{m}]", "nothing in it can be sent")
                system = blocks if system is None else system + blocks
                continue
            role = "system"
        if marks is not EMPTY and marks.get("cache"):
            cached += [block for block in blocks if block.get("type") not in THINKING][-1:]  # thinking takes no mark
        if not blocks and merge:
            out.lose(f"context.messages[{m}]", "nothing in it can be sent")
        elif turns and turns[-1]["role"] == role and (merge or marks.get("joins")):
            _join(turns[-1]["content"], blocks, policy)
        elif marks is EMPTY or policy.tidy:
            turns.append({"role": role, "content": blocks})
        else:
            turns.append({"role": role, "content": blocks, **_own_fields(marks)})
            if marks.get("content_form") == "absent" and not blocks:
                del turns[-1]["content"]
    for block in cached[-MOST_CACHE_MARKS:]:
        block["cache_control"] = {"type": "ephemeral"}
    if policy.plain_text:
        for turn in turns:
            if (text := text_of_blocks(turn["content"])) is not None:
                turn["content"] = text
    return system, turns


def _check_turns(turns: list[Json], out: Encoded) -> None:
    """Say what the API will refuse and nobody here can mend (model.md, section 9)."""
    if not turns:
        out.errors.append("anthropic/messages.create needs a message, and there is none")
    elif turns[0]["role"] != "user":
        out.errors.append("anthropic/messages.create needs a user message first; the first here is the assistant's")


def _own_fields(marks: Mapping[str, Any]) -> Json:
    """Give the fields of a message that canon has no place for."""
    match marks:
        case {"extra": {"anthropic": Mapping() as own}}:
            fields: Json = thaw(own)
            return fields
    return {}


def _encode_parts(m: int, message: Message, blobs: BlobStore, policy: Policy, out: Encoded) -> list[Json]:
    blocks: list[Json] = []
    for p, part in enumerate(message.parts):
        text = part.text
        if part.type == "text" and part.provider_raw is None and text and not text.isspace():
            blocks.append({"type": "text", "text": text})  # nearly all parts: no call, no match
            continue
        block = encode_part(part, message.role, message.provider, blobs, policy)
        if block.__class__ is dict:
            blocks.append(block)
            raw = part.provider_raw
            if raw is not None and part.type in RETURNED and _is_same_type(block.get("type"), raw.get("type")):
                out.returned(m, p)
        elif block is not None:
            out.lose_part(m, p, str(block))
    return blocks


def _is_same_type(one: Any, other: Any) -> bool:
    """Compare types of blocks; what is no text may be nested too deeply to be compared, and came back as it is."""
    return one == other if isinstance(one, str) else not isinstance(other, str)


def _join(content: list[Json], blocks: list[Json], policy: Policy) -> None:
    """Add blocks to the message before; the API wants tool results in front of what else a user says."""
    late = policy.results_first and blocks and blocks[0].get("type") == "tool_result" != content[-1].get("type")
    content += blocks
    if late:
        content.sort(key=lambda block: block.get("type") != "tool_result")  # stable: order is kept on both sides


def _encode_system(system: list[Json] | None, spec: RunSpec, policy: Policy, body: Json) -> None:
    given = spec.instructions
    instructions = [text for text in (given.system, given.developer) if text] if given else []
    if policy.joiner is not None:
        texts = [block["text"] for block in system or () if block["text"]]
        if joined := policy.joiner.join([*instructions, *texts]):
            body["system"] = joined
    elif system is not None or instructions:
        blocks = [*({"type": "text", "text": text} for text in instructions), *(system or ())]
        text = text_of_blocks(blocks)
        body["system"] = blocks if text is None else text


def _encode_settings(spec: RunSpec, policy: Policy, out: Encoded) -> None:
    body = out.body
    if spec.max_output_tokens or (spec.max_output_tokens is not None and policy.default_max_tokens is None):
        body["max_tokens"] = spec.max_output_tokens
    elif policy.default_max_tokens is not None:
        body["max_tokens"] = policy.default_max_tokens
        if spec.max_output_tokens is None:
            sent = policy.default_max_tokens
            out.warnings.append(f"max_output_tokens is not set; anthropic/messages.create needs it, so {sent} is sent")
    if spec.temperature is not None:
        body["temperature"] = spec.temperature
    if spec.top_p is not None:
        body["top_p"] = spec.top_p
    if spec.seed is not None:
        out.lose("seed", "anthropic/messages.create has no seed")
    if spec.tools:
        body["tools"] = tools_of(spec, NAME, _tool)
    if spec.tool_choice is not None:
        body["tool_choice"] = thaw(spec.tool_choice)
    if spec.response_schema is not None:
        schema = closed_schema(spec.response_schema) if policy.close_schemas else thaw(spec.response_schema)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if spec.response_modalities:
        out.warnings.append("response_modalities is ignored: anthropic/messages.create answers in text")


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_request(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Decoded:
    """Read a request body; what canon has no field for goes to `extra_body`, to be written back as it was."""
    body = as_body(body, "request")
    blobs = blobs_or_new(blobs)
    provider = provider or NAME
    made = made_by(provider, body.get("model"))
    messages: list[Message] = []
    if body.get("system") is not None:
        messages.append(
            Message("system", tuple(decode_content(body["system"], blobs, "system", made)), provider=provider)
        )
    for m, value in enumerate(listed(need(body, "messages"), "messages")):
        at = f"messages[{m}]"
        messages += _decode_message(mapping_at(value, at), blobs, at, made, provider)
    spec = bare_spec(provider, "messages.create") if len(body) == 1 else _decode_spec(body, provider)
    return Decoded(tuple(messages), spec)


def _decode_message(message: Mapping[str, Any], blobs: BlobStore, at: str, made: Any, provider: str) -> list[Message]:
    role = need(message, "role", at, table={"user": "user", "assistant": "assistant", "system": "system"})
    parts = decode_content(message.get("content"), blobs, f"{at}.content", made)
    marks: Json = {"extra": {NAME: rest}} if (rest := residue(message, "role", "content")) else {}
    if role == "system":
        marks["inline"] = True
    if message.get("content") is None:
        marks["content_form"] = "absent"
    if role != "user":
        return [Message(role, (*parts, *annotation(marks)), provider=provider)]
    runs = _runs(parts)
    return [
        Message(
            "tool" if run and run[0].type == "tool_result" else "user",
            (*run, *annotation({**marks, "joins": True} if r else marks)),
            provider=provider,
        )
        for r, run in enumerate(runs)
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
    known: Json = {field: body[key] for key, field in SETTINGS.items() if _is_number(body.get(key))}
    tools, exact = _decode_tools(body.get("tools"))
    if tools:
        known["tools"] = tools
    taken = {"model", "system", "messages", *(key for key, field in SETTINGS.items() if field in known)}
    if exact:
        taken.add("tools")
    if body.get("tool_choice") is not None:
        known["tool_choice"] = body["tool_choice"]
        taken.add("tool_choice")
    extra = residue(body, *taken)
    match body.get("output_config"):
        case {"format": {"type": "json_schema", "schema": Mapping() as schema, **more}, **others} if not more:
            known["response_schema"] = schema
            extra.pop("output_config")
            if others:
                extra["output_config"] = others
    model = body.get("model")
    return RunSpec(provider, "messages.create", model if isinstance(model, str) else "", extra_body=extra, **known)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _decode_tools(value: Any) -> tuple[list[ToolSpecification], bool]:
    """Read the tools that are functions; tell whether they say all there is to say."""
    tools: list[ToolSpecification] = []
    exact = bool(value) and isinstance(value, (list, tuple))
    for tool in value if isinstance(value, (list, tuple)) else ():
        match tool:
            case {"name": str(name), "input_schema": Mapping() as schema}:
                description = tool.get("description")
                tools.append(ToolSpecification(name, description if isinstance(description, str) else "", schema))
                exact = exact and isinstance(description, str) and len(tool) == 3
            case _:
                exact = False
    return tools, exact


def _tool(tool: ToolSpecification) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": thaw(tool.input_schema)}
