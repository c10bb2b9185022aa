"""Responses API requests: canon to body and body to canon; `responses.compact` is the same with fewer settings.

Unlike canon: a conversation is a list of items, several of which are one assistant message of ours (see layout.py);
instructions travel outside it; tools are flat; the schema of an answer is `text.format`, with a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Instructions, Message, Part, RunSpec, ToolSpecification, thaw
from weft.wire.body import (
    annotation,
    as_body,
    blobs_or_new,
    closed_schema,
    deep_merge,
    listed,
    mapping_at,
    residue,
    tools_of,
)
from weft.wire.codec import FAITHFUL, Decoded, Encoded, Json, Policy, bare_spec
from weft.wire.openai_responses.content import NAME
from weft.wire.openai_responses.item import PROVIDER, Speech, decode_item, made_by, role_of
from weft.wire.openai_responses.layout import Items, kept_layout, layout_of, read_message

__all__ = ["decode_compact_request", "decode_request", "encode_compact_request", "encode_request"]

CREATE = "responses.create"
COMPACT = "responses.compact"
SETTINGS = ("max_output_tokens", "temperature", "top_p")
# What `responses.compact` has no field for.
UNCOMPACTED = (*SETTINGS, "seed", "tools", "tool_choice", "response_schema", "response_modalities")
WRAPPER = frozenset({"name", "schema", "description", "strict"})  # the keys of a schema that has been given a name
# Where a role that is not one of ours is kept, so that it can be said back.
SPEAKERS = {"user": "user", "assistant": "assistant", "system": "system", "developer": "developer"}


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_request(
    messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None = None, policy: Policy = FAITHFUL
) -> Encoded:
    """Write a conversation and its settings as a request body."""
    return _encode(messages, spec, blobs, policy, CREATE)


def encode_compact_request(
    messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None = None, policy: Policy = FAITHFUL
) -> Encoded:
    """Write a conversation as a request to compact it: no settings but the model and its instructions."""
    return _encode(messages, spec, blobs, policy, COMPACT)


def _encode(
    messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None, policy: Policy, endpoint: str
) -> Encoded:
    out = Encoded()
    body = out.body
    if spec.model:
        body["model"] = spec.model
    if instructions := _instructions(spec):
        body["instructions"] = instructions
    speech = Speech(
        blobs_or_new(blobs), policy, spec.provider or None, spec.extra_body.get("store") is not False, endpoint=endpoint
    )
    _encode_input(messages, spec, speech, out)
    if endpoint == CREATE:
        _encode_settings(spec, policy, out)
    else:
        for name in UNCOMPACTED:
            if getattr(spec, name) not in (None, ()):
                out.lose(name, f"openai/{COMPACT} has no {name}")
    if policy.sdk_arguments:
        if spec.extra_headers:
            body["extra_headers"] = thaw(spec.extra_headers)
        if spec.extra_query:
            body["extra_query"] = thaw(spec.extra_query)
    if spec.extra_body:
        extra = spec.extra_body
        if extra.get("input") == () and body.get("input"):  # it was empty when it was read, and is not now
            extra = {key: value for key, value in extra.items() if key != "input"}
        deep_merge(body, extra)
    return out


def _instructions(spec: RunSpec) -> str | None:
    given = spec.instructions
    return "\n\n".join(text for text in (given.system, given.developer) if text) if given else None


def _encode_input(messages: Sequence[Message], spec: RunSpec, speech: Speech, out: Encoded) -> None:
    written = Items(speech, out)
    for m, message in enumerate(messages):
        written.add(m, message, layout_of(message) if speech.exact else EMPTY)
    items = written.items
    if speech.exact:
        alone = len(messages) == 1 and layout_of(messages[0]).get("input") == "string"
        if alone and len(items) == 1 and isinstance(items[0].get("content"), str):
            out.body["input"] = items[0]["content"]
        elif items or messages:
            out.body["input"] = items
        return
    out.body["input"] = items
    if not items and not out.body.get("instructions") and not spec.extra_body.get("prompt"):
        out.errors.append(f"openai/{speech.endpoint}: no input items and no instructions")


def _encode_settings(spec: RunSpec, policy: Policy, out: Encoded) -> None:
    body = out.body
    for name in SETTINGS:
        if getattr(spec, name) is not None:
            body[name] = getattr(spec, name)
    if spec.seed is not None:
        out.lose("seed", f"openai/{CREATE} has no seed")
    if spec.tools:
        body["tools"] = tools_of(spec, NAME, _tool)
        for tool in body["tools"] if policy.typed else ():
            tool["strict"] = None
    if spec.tool_choice is not None:
        body["tool_choice"] = thaw(spec.tool_choice)
    if spec.response_schema is not None:
        body["text"] = {"format": text_format(spec.response_schema, close=policy.close_schemas)}
    if spec.response_modalities:
        body["modalities"] = list(spec.response_modalities)


def text_format(given: Mapping[str, Any], *, close: bool) -> Json:
    """Write a response schema as `text.format`: as it is if it has that form, else with the form around it."""
    schema: Json = thaw(given)
    inner = schema.get("json_schema")
    explicit = schema.get("type") == "json_schema" or isinstance(inner, dict)
    if isinstance(inner, dict):
        del schema["json_schema"]
        schema |= inner
    if not explicit and not (isinstance(schema.get("schema"), dict) and schema.keys() <= WRAPPER):
        return {"type": "json_schema", "name": "response", "schema": schema}
    if not isinstance(schema.get("schema"), dict):
        # A ValueError by the chapter's word: the value lacks something, whatever its type.
        raise ValueError("response_schema names a json_schema but has no `schema` in it")  # noqa: TRY004
    schema["type"] = "json_schema"
    schema["name"] = schema.get("name") or "response"
    if schema.get("strict") is True and close:
        schema["schema"] = closed_schema(schema["schema"], only_missing=True)
    return schema


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_request(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Decoded:
    """Read a request body; what canon has no field for goes to `extra_body`, to be written back as it was."""
    body = as_body(body, "request")
    provider = provider or PROVIDER
    messages = _decode_input(body.get("input"), blobs_or_new(blobs), provider, body.get("model"))
    spec = bare_spec(provider, CREATE) if len(body) == 1 and messages else _decode_spec(body, provider)
    return Decoded(tuple(messages), spec)


def decode_compact_request(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Decoded:
    """Read a request to compact a conversation."""
    body = as_body(body, "request")
    provider = provider or PROVIDER
    messages = _decode_input(body.get("input"), blobs_or_new(blobs), provider, body.get("model"))
    known, extra = _decode_common(body)
    return Decoded(tuple(messages), RunSpec(provider, COMPACT, _model(body), extra_body=extra, **known))


def _decode_input(value: Any, blobs: BlobStore, provider: str, model: Any) -> list[Message]:
    if isinstance(value, str):
        mark = annotation({"extra": {NAME: {"input": "string"}}})
        return [Message("user", (Part("text", value), *mark), provider=provider)]
    reading = _Reading(blobs, provider, model)
    for i, item in enumerate(listed(value, "input")):
        reading.take(mapping_at(item, f"input[{i}]"), f"input[{i}]")
    reading.close()
    return reading.messages


class _Reading:
    """Gathers items into messages: neighbours that are the model's are one message, and so are a tool's."""

    __slots__ = ("_blobs", "_heads", "_made", "_parts", "_provider", "_role", "messages")

    def __init__(self, blobs: BlobStore, provider: str, model: Any) -> None:
        self.messages: list[Message] = []
        self._blobs = blobs
        self._provider = provider
        self._made = made_by(provider, model)
        self._role = ""
        self._parts: list[Part] = []
        self._heads: list[Mapping[str, Any]] = []

    def take(self, item: Mapping[str, Any], where: str) -> None:
        kind = item.get("type")
        if kind == "message" or (kind is None and "role" in item):
            self._open(_speaker(item))
            parts, head = read_message(item, self._role, len(self._parts), self._blobs, where)
            self._parts += parts
            self._heads.append(head)
        else:
            self._open(role_of(item))
            self._parts.append(decode_item(item, self._blobs, where, self._made))

    def _open(self, role: str) -> None:
        if role != self._role or role not in ("assistant", "tool"):
            self.close()
            self._role = role

    def close(self) -> None:
        if self._parts or self._heads:
            parts = (*self._parts, *kept_layout(self._parts, self._heads, self._role))
            role: Any = self._role
            self.messages.append(Message(role, parts, provider=self._provider))
            self._parts, self._heads = [], []


def _speaker(item: Mapping[str, Any]) -> str:
    role = item.get("role")
    return SPEAKERS.get(role, "user") if isinstance(role, str) else "user"


def _decode_spec(body: Mapping[str, Any], provider: str) -> RunSpec:
    known, extra = _decode_common(body)
    for name in SETTINGS:
        if _is_number(extra.get(name)):
            known[name] = extra.pop(name)
    tools, exact = _decode_tools(body.get("tools"))
    if tools:
        known["tools"] = tools
    if exact:
        del extra["tools"]
    if "tool_choice" in extra:
        known["tool_choice"] = extra.pop("tool_choice")
    modalities = extra.get("modalities")
    if isinstance(modalities, (list, tuple)) and modalities and all(isinstance(word, str) for word in modalities):
        known["response_modalities"] = tuple(extra.pop("modalities"))
    match body.get("text"):
        case {"format": {"type": "json_schema", "schema": Mapping() as schema, **spelt}, **others}:
            known["response_schema"] = {"schema": schema} if _is_wrapped(schema) else schema
            rest = {key: value for key, value in spelt.items() if (key, value) != ("name", "response")}
            text = {**others, "format": rest} if rest else others
            del extra["text"]
            if text:
                extra["text"] = text
    return RunSpec(provider, CREATE, _model(body), extra_body=extra, **known)


def _decode_common(body: Mapping[str, Any]) -> tuple[Json, Json]:
    known: Json = {}
    extra = residue(body, "input")
    if isinstance(extra.get("model"), str):
        del extra["model"]
    if isinstance(extra.get("instructions"), str) and extra["instructions"]:
        known["instructions"] = Instructions(system=extra.pop("instructions"))
    if body.get("input") == []:
        extra["input"] = []
    return known, extra


def _model(body: Mapping[str, Any]) -> str:
    model = body.get("model")
    return model if isinstance(model, str) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_wrapped(schema: Mapping[str, Any]) -> bool:
    """Tell whether a bare schema would be taken for one with a form around it."""
    wrapped = isinstance(schema.get("schema"), Mapping) and schema.keys() <= WRAPPER
    return wrapped or schema.get("type") == "json_schema" or isinstance(schema.get("json_schema"), Mapping)


def _decode_tools(value: Any) -> tuple[list[ToolSpecification], bool]:
    """Read the tools that are functions; tell whether they say all there is to say."""
    tools: list[ToolSpecification] = []
    exact = bool(value) and isinstance(value, (list, tuple))
    for tool in value if isinstance(value, (list, tuple)) else ():
        match tool:
            case {"type": "function", "name": str(name)}:
                description, schema = tool.get("description"), tool.get("parameters")
                complete = isinstance(description, str) and isinstance(schema, Mapping)
                words = description if isinstance(description, str) else ""
                tools.append(ToolSpecification(name, words, schema if isinstance(schema, Mapping) else {}))
                exact = exact and complete and len(tool) == 4
            case _:
                exact = False
    return tools, exact


def _tool(tool: ToolSpecification) -> Json:
    parameters = thaw(tool.input_schema)
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": parameters}
