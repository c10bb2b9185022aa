"""Going on with a captured request: what the program sent besides its messages is sent again, to whoever answers now.

A thread that came from a recording names that in its options (`request`, `marks`, `forms`; see weft.trace.importing).
In the dialect it was captured in, the request is written as its program would have written it; in any other it is
planned anew, and what cannot be carried is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import Context, Message, RequestPlan, RunSpec, ToolSpecification, read_blocks, turn_messages
from weft.chat.request import Prepared
from weft.client import Registry, Target, call_to
from weft.errors import StoreError, UsageError
from weft.jsontext import loads
from weft.providers import OVER_HTTP, adjust
from weft.threads import Store
from weft.wire import FAITHFUL, dialect, plan_decoded, plan_with, put_back, put_forms, read_parts

__all__ = ["Captured", "captured_of", "plan_captured", "pointer_of", "prepare_captured"]

Json = dict[str, Any]
_UNNAMED = "?"
_KNOWN_AS = {"google": "gemini"}  # a dialect's provider by the name it has in the table


@dataclass(frozen=True, slots=True)
class Captured:
    """What a request said besides its messages, and how its program spells them."""

    dialect: str
    provider: str | None
    spec: RunSpec
    marks: Any = None
    forms: Any = None


def captured_of(store: Store, options: Mapping[str, Any]) -> Captured | None:
    """Give the captured request that a thread goes on with, if its options name one."""
    address = options.get("request")
    if not isinstance(address, str):
        return None
    try:
        about = loads(store.frames.payload(address))
        spec = RunSpec.from_dict(about["spec"])
    except (StoreError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"the captured settings of this thread cannot be read: {error}") from error
    if spec.model == _UNNAMED:
        spec = replace(spec, model="")
    forms = options.get("forms")
    pairs = dict(forms) if isinstance(forms, list) and all(isinstance(pair, list) for pair in forms) else None
    return Captured(about["dialect"], about.get("provider"), spec, options.get("marks"), pairs)


def pointer_of(captured: Captured, registry: Registry) -> str | None:
    """Name who answered the captured request, if that is someone who can be called."""
    spoken = dialect(captured.dialect).provider
    for name in (captured.provider, spoken, _KNOWN_AS.get(spoken)):
        if name in registry.table and captured.spec.model:
            return f"{name}/{captured.spec.model}"
    return None


def messages_of(store: Store, context: Mapping[str, Any]) -> tuple[list[Message], BlobStore]:
    """Give a resolved thread as messages: what is stored as it was captured, what is not yet stored behind it."""
    stored = context.get("stored") or ()
    said: Sequence[Mapping[str, Any]] = context.get("messages") or ()
    kept = store.context(list(stored)) if stored else Context()
    known = len(store.resolve(list(stored))["messages"]) if stored else 0
    blobs, messages = kept.blob_store, read_parts(kept.messages)
    for message in said[known:]:
        role: Any = message.get("role", "user")
        parts = read_blocks(message.get("content"), blobs)
        messages += turn_messages(role, parts, cache=message.get("cache") is True)
    return messages, blobs


def prepare_captured(
    store: Store,
    captured: Captured,
    target: Target,
    context: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]] = (),
    schema: Mapping[str, Any] | None = None,
) -> Prepared:
    """Write the request of a resolved thread that goes on with a captured one."""
    messages, blobs = messages_of(store, context)
    plan, speaks = plan_captured(captured, target, messages, blobs, tools, schema)
    said = "" if speaks == target.provider.dialect else speaks
    call = call_to(target, plan.request, blobs=InMemoryBlobStore(), speaks=said)
    return Prepared(target, call, plan.excluded, plan.warnings, plan.must_roundtrip)


def plan_captured(
    captured: Captured,
    target: Target,
    messages: Sequence[Message],
    blobs: BlobStore,
    tools: Sequence[Mapping[str, Any]] = (),
    schema: Mapping[str, Any] | None = None,
) -> tuple[RequestPlan, str]:
    """Write a captured request for a target, with these messages; give the plan and the dialect it is in."""
    row, spec = target.provider, captured.spec
    if tools:
        more = tuple(ToolSpecification(t["name"], t.get("description") or "", t["inputSchema"]) for t in tools)
        spec = replace(spec, tools=(*spec.tools, *more))
    if schema is not None:
        spec = replace(spec, response_schema=schema)
    is_same = _is_same(captured, target)
    speaks = captured.dialect if is_same else row.dialect
    if speaks == captured.dialect:
        named = replace(spec, model=target.model) if spec.model else spec
        plan = plan_with(dialect(speaks), Context(tuple(messages), blob_store=blobs), named, policy=FAITHFUL)
        put_forms(plan.request, captured.forms)
        put_back(plan.request, captured.marks)
    else:
        plan = plan_decoded(
            tuple(messages), spec, captured.dialect, speaks, model=target.model, policy=OVER_HTTP, blobs=blobs
        )
    if plan.errors:
        raise UsageError("\n  ".join([f"{row.name} would not take the request:", *plan.errors]))
    refused = adjust(plan.request, row)
    return plan.with_excluded(refused) if refused else plan, speaks


def _is_same(captured: Captured, target: Target) -> bool:
    """Tell whether the target is the provider that the request was captured from, in whatever dialect."""
    spoken = dialect(captured.dialect).provider
    return target.provider.name in (captured.provider, *(() if captured.provider else (spoken, _KNOWN_AS.get(spoken))))
