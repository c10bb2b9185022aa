"""What is sent: a resolved thread, its tools and a target as the very request, and the account of what is not in it.

Providers that threads.md describes (section 15) are written by its rules; all others by their adapter's plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.blobs import InMemoryBlobStore
from weft.canon import (
    Context,
    ExcludedItem,
    Message,
    Part,
    RunSpec,
    ToolSpecification,
    blocks_provider,
    freeze,
    read_blocks,
    turn_messages,
)
from weft.chat.mend import Mended, mend
from weft.client import Call, Target, call_to
from weft.errors import UnsupportedFeatureError, UsageError
from weft.providers import ProviderAdapter, adjust
from weft.wire import call_fields, dialect, encode_turns

__all__ = ["Prepared", "prepare"]

Json = dict[str, Any]

# Who is written by the rules of threads.md: these dialects, and of the many that speak OpenAI's these two.
_BY_DIALECT = {"anthropic": "anthropic", "gemini": "gemini", "cohere": "cohere"}
_BY_NAME = {"openai": "openai", "cerebras": "cerebras"}
_ANTHROPICS = freeze({"provider": "anthropic", "dialect": "anthropic"})
_WRAPPER = frozenset({"name", "description", "schema", "strict"})
# So that its reasoning comes back in a form that can be sent again, and nothing has to be kept on the far side.
_RESPONSES = {"store": False, "include": ["reasoning.encrypted_content"]}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call ready to be made, what could not be said in it, and what must come back untouched."""

    target: Target
    call: Call
    excluded: tuple[ExcludedItem, ...] = ()
    warnings: tuple[str, ...] = ()
    must_roundtrip: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()  # those of the warnings that say what was put in

    def losses(self) -> list[str]:
        """Say in a line each what is not in the request, and why."""
        return [f"{item.description}: {item.reason}" for item in self.excluded]

    def to_dict(self, *, stream: bool = True) -> Json:
        """Write the request as it will be sent, its key aside, with the account of it."""
        endpoint = self.call.endpoint(stream=stream)
        return {
            "provider": self.target.provider.name,
            "model": self.target.model,
            "method": "POST",
            "url": endpoint.url,
            "headers": {**dict(endpoint.headers), **self.call.headers},
            "body": self.call.written(stream=stream),
            "excluded": [item.to_dict() for item in self.excluded],
            "warnings": list(self.warnings),
            "must_roundtrip": list(self.must_roundtrip),
        }


def prepare(
    target: Target,
    context: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]] = (),
    *,
    schema: Mapping[str, Any] | None = None,
) -> Prepared:
    """Write the request for a resolved thread (`{messages, options}`) and the tools it may use."""
    row = target.provider
    options = context.get("options") or {}
    mended = mend(context.get("messages") or (), row.dialect)
    if not mended.messages:
        raise UsageError("there is nothing to send: the thread has no content\n  say something: weft ask -c HEADISH …")
    ready = {"messages": mended.messages, "options": options}
    face = _BY_DIALECT.get(row.dialect) or (_BY_NAME.get(row.name) if row.dialect == "openai_chat" else None)
    if face is None:
        return _planned(target, ready, tools, schema, mended)
    form = _wrapped(schema, row.dialect)
    encoded = encode_turns(face, ready, tools, text_documents="inline", model=target.model, response_schema=form)
    if encoded.errors:
        raise UsageError("\n  ".join([f"{row.name} would not take the request:", *encoded.errors]))
    body = {**encoded.body, **call_fields(face, target.model)}
    excluded = (*mended.excluded, *encoded.losses, *adjust(body, row))
    call = call_to(target, body, blobs=InMemoryBlobStore())
    warnings, put_in = (*mended.warnings, *encoded.warnings), tuple(mended.warnings)
    return Prepared(target, call, excluded, warnings, tuple(encoded.roundtrip), put_in)


def _planned(
    target: Target,
    context: Json,
    tools: Sequence[Mapping[str, Any]],
    schema: Mapping[str, Any] | None,
    mended: Mended,
) -> Prepared:
    row, options = target.provider, context["options"]
    if options.get("search"):
        raise UnsupportedFeatureError(f"{row.name} does not support built-in search capabilities")
    blobs = InMemoryBlobStore()
    spec = RunSpec(
        row.name,
        dialect(row.dialect).endpoint,
        target.model,
        tools=tuple(_tool(tool) for tool in tools),
        tool_choice=_choice(options.get("tool_mode"), row.dialect) if tools else None,
        response_schema=_wrapped(schema, row.dialect),
        extra_body=_RESPONSES if row.dialect == "openai_responses" else {},
    )
    messages = [message for said in context["messages"] for message in _messages(said, blobs)]
    plan = ProviderAdapter(row).plan_call(Context(messages=tuple(messages), blob_store=blobs), spec)
    if plan.errors:
        raise UsageError("\n  ".join([f"{row.name} would not take the request:", *plan.errors]))
    call = call_to(target, plan.request, blobs=InMemoryBlobStore())
    excluded, warnings = (*mended.excluded, *plan.excluded), (*mended.warnings, *plan.warnings)
    return Prepared(target, call, excluded, warnings, plan.must_roundtrip, tuple(mended.warnings))


def _messages(said: Mapping[str, Any], blobs: InMemoryBlobStore) -> list[Message]:
    content = said.get("content")
    parts = [_owned(part) for part in read_blocks(content, blobs)]
    role: Any = said.get("role", "user")
    return turn_messages(role, parts, cache=said.get("cache") is True, provider=blocks_provider(content))


def _owned(part: Part) -> Part:
    """Say of an unmarked provider's block whose it is: blocks without a mark are shaped as Anthropic's."""
    return replace(part, json=_ANTHROPICS) if part.json is None and part.type in ("thinking", "provider") else part


def _tool(tool: Mapping[str, Any]) -> ToolSpecification:
    return ToolSpecification(tool["name"], tool.get("description") or "", tool.get("inputSchema") or {"type": "object"})


def _choice(mode: Any, speaks: str) -> Any:
    """Say `auto`, `none` or `any` in a dialect's words; any other value is passed as it is [T-91]."""
    if not isinstance(mode, str):
        return mode
    if speaks == "bedrock":
        return {"auto": {"auto": {}}, "any": {"any": {}}}.get(mode, mode)
    return "required" if mode == "any" else mode


def _wrapped(schema: Mapping[str, Any] | None, speaks: str) -> Mapping[str, Any] | None:
    """Give a schema as the dialect wants it: OpenAI's chat has a name around it, the others the bare schema."""
    if schema is None:
        return None
    is_wrapped = isinstance(schema.get("schema"), Mapping) and schema.keys() <= _WRAPPER
    if speaks == "openai_chat":
        return schema if is_wrapped else {"name": "answer", "schema": schema}
    return schema["schema"] if is_wrapped else schema
