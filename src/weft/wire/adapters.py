"""plan() and ingest(): a Context out to a provider, and its answer back in.

An adapter is a dialect with a Context around it: it mends what the target would refuse, has the dialect write the
request under the adapter's policy, and accounts for every part and setting in the RequestPlan. It never calls
anyone; the provider's own SDK, or `weft.client`, does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol, runtime_checkable

from weft.canon import (
    AdapterCapabilities,
    AdapterId,
    Context,
    Cursor,
    ExcludedItem,
    Message,
    RequestPlan,
    RunSpec,
    plain_plan,
)
from weft.wire.body import as_body
from weft.wire.capabilities import CAPABILITIES, ENDPOINTS
from weft.wire.codec import ADAPTER, Dialect, Encoded, Policy
from weft.wire.estimate import estimate_tokens
from weft.wire.registry import dialect
from weft.wire.repair import IdRule, Repaired, repair

__all__ = [
    "Adapter",
    "AdapterProtocol",
    "AnthropicMessagesAdapter",
    "AutoAdapter",
    "BedrockConverseAdapter",
    "GoogleGenAIAdapter",
    "OpenAIChatCompletionsAdapter",
    "OpenAIImagesAdapter",
    "OpenAIResponsesAdapter",
    "OpenAIResponsesCompactAdapter",
    "ingest_with",
    "plan_with",
]

_WORD = re.compile(r"[a-zA-Z0-9_-]+")
ANY_ID = IdRule()
# Which tool call ids each endpoint takes, by its API's own rule.
ID_RULES = {
    "anthropic": IdRule(_WORD, 200),
    "bedrock": IdRule(_WORD, 64),
    "openai_chat": IdRule(longest=40),
    "openai_responses": IdRule(longest=64),
    "openai_responses_compact": IdRule(longest=64),
    "gemini": IdRule(needed=False),
    "ollama": IdRule(needed=False),
}
STATEFUL = frozenset({"openai_responses", "openai_responses_compact"})
REMEMBERS_CALLS = ("previous_response_id", "conversation")  # with these, Responses has the calls itself
NAMES_ITS_ANSWERS = frozenset({"openai_responses", "openai_responses_compact", "openai_chat", "anthropic"})  # M-54
EMPTY_WITHOUT = {"openai_chat": "choices", "gemini": "candidates", "openai_images": "data"}  # M-48
HOISTS_SYSTEM = frozenset({"anthropic", "gemini", "bedrock"})


@runtime_checkable
class AdapterProtocol(Protocol):
    """What AutoAdapter can hold: weft's adapters, or anyone's."""

    id: AdapterId

    def capabilities(self) -> AdapterCapabilities:
        """Say what the endpoint supports."""
        ...

    def plan(self, ctx: Context, spec: RunSpec) -> RequestPlan:
        """Write a request."""
        ...

    def ingest(self, ctx: Context, response: Any, *, spec: RunSpec) -> Context:
        """Read an answer."""
        ...


class Adapter:
    """The adapter of one endpoint: a subclass names its dialect."""

    __slots__ = ("_capabilities", "_name", "id")
    dialect_name: ClassVar[str]

    def __init__(self) -> None:
        """Take what the tables say of the dialect."""
        self._name = self.dialect_name
        self._capabilities = CAPABILITIES[self._name]
        self.id = ENDPOINTS[self._name]

    def __repr__(self) -> str:
        """Show the endpoint."""
        return f"<adapter {self.id}>"

    def capabilities(self) -> AdapterCapabilities:
        """Say what the endpoint supports."""
        return self._capabilities

    def plan(self, ctx: Context, spec: RunSpec, *, strict: bool = False, policy: Policy = ADAPTER) -> RequestPlan:
        """Write the request for a conversation; with `strict`, anything mended or left out raises."""
        self._check(spec)
        plan = plan_with(dialect(self._name), ctx, spec, policy=policy)
        if strict:
            plan.assert_valid(fail_on_warnings=True, fail_on_excluded=True)
        return plan

    def ingest(self, ctx: Context, response: Any, *, spec: RunSpec) -> Context:
        """Add a provider's answer to a conversation: one message, and what it used [M-48]."""
        self._check(spec)
        return ingest_with(dialect(self._name), ctx, response, spec=spec)

    def _check(self, spec: RunSpec) -> None:
        given = AdapterId(spec.provider, spec.endpoint, spec.api_version if self.id.api_version else None)
        if given != self.id:
            raise ValueError(f"this adapter is for {self.id}, but the spec is for {given}")


def plan_with(
    spoken: Dialect, ctx: Context, spec: RunSpec, *, policy: Policy = ADAPTER, call_ids: IdRule | None = None
) -> RequestPlan:
    """Plan a conversation in any dialect, with the mends it needs and the account of all that was given.

    `call_ids` is for a provider that is pickier about tool call ids than its dialect.
    """
    name = spoken.name
    capabilities = CAPABILITIES.get(name)
    if name == "openai_images":  # one prompt is sent, and there are no calls in it
        repaired = Repaired(ctx.messages, [])
    else:
        remembers = name in STATEFUL and (
            ctx.cursor.last_response_id is not None or any(key in spec.extra_body for key in REMEMBERS_CALLS)
        )
        repaired = repair(ctx.messages, call_ids or ID_RULES.get(name, ANY_ID), keeps_orphans=remembers)
    messages = repaired.messages
    encoded = spoken.encode_request(messages, spec, ctx.blob_store, policy)
    if repaired.origins is not None:
        _tell_as_given(encoded, repaired)
    if name in HOISTS_SYSTEM:
        encoded.warnings += _hoisted(ctx.messages, name)
    included = _included(ctx, spec, name, capabilities)
    if ctx.cursor.last_response_id and capabilities is not None and capabilities.is_supported("cursor_chaining"):
        encoded.body.setdefault("previous_response_id", ctx.cursor.last_response_id)
        included.append("previous_response_id")
    dropped = {item.description for item in encoded.losses}
    return plain_plan(
        encoded.body,
        included=tuple([name for name in included if name not in dropped] if dropped else included),
        excluded=tuple(encoded.losses),
        must_roundtrip=tuple(encoded.roundtrip),
        warnings=tuple(encoded.warnings),
        errors=tuple(encoded.errors),
        token_estimate=estimate_tokens(messages, spec),
        extra={name: value for name in ("base_url", "api_version") if (value := getattr(spec, name)) is not None},
    )


def ingest_with(spoken: Dialect, ctx: Context, response: Any, *, spec: RunSpec) -> Context:
    """Add an answer in any dialect to a conversation [M-48]."""
    name = spoken.name
    body = as_body(response, "response")
    needed = EMPTY_WITHOUT.get(name)
    if needed is not None and not isinstance(body.get(needed), (list, tuple)):
        return ctx
    if needed in ("choices", "candidates") and not body[needed]:
        return ctx
    reply = spoken.decode_response(body, ctx.blob_store, provider=spec.provider)
    if reply.message is not None and reply.message.parts:
        heard = reply.message
        named = reply.id if name in NAMES_ITS_ANSWERS else None
        ctx = ctx.append(Message(heard.role, heard.parts, id=named, provider=spec.provider))
    if reply.usage is not None:
        ctx = ctx.with_usage(reply.usage)
    if name == "openai_responses" and reply.id:
        ctx = ctx.with_cursor(Cursor(reply.id, ctx.cursor.conversation_id, ctx.cursor.session_id))
    return ctx


def _included(ctx: Context, spec: RunSpec, name: str, capabilities: AdapterCapabilities | None) -> list[str]:
    included = [f"{len(ctx.messages)} messages"]
    if spec.instructions is not None:
        if spec.instructions.system:
            included.append("system instruction")
        if spec.instructions.developer:
            included.append("developer instruction")
    if spec.tools and _supports(capabilities, "tools"):
        included.append(f"{len(spec.tools)} tools")
    if spec.tool_choice is not None and name == "bedrock":
        included.append("tool_choice")
    others = ("response_schema", "response_modalities", "extra_headers", "extra_query")
    return included + [other for other in others if getattr(spec, other) and _supports(capabilities, other)]


def _supports(capabilities: AdapterCapabilities | None, name: str) -> bool:
    return capabilities is None or capabilities.is_supported(name)


def _tell_as_given(encoded: Encoded, repaired: Repaired) -> None:
    """Add the mends to the account, and make its places those of the conversation before it was mended."""
    old = repaired.as_given
    encoded.losses = [ExcludedItem(old(item.description), old(item.reason)) for item in encoded.losses]
    encoded.roundtrip = [old(place) for place in encoded.roundtrip]
    encoded.errors = [old(error) for error in encoded.errors]
    # What a dialect has to say about a result that was made up here is no news to whoever gave the conversation.
    told = [old(warning) for warning in encoded.warnings if warning.partition(": ")[0] not in repaired.stand_ins]
    encoded.warnings = [*told, *repaired.mends]


def _hoisted(messages: Iterable[Message], name: str) -> list[str]:
    """Say of each system message inside the conversation that it goes in front of it."""
    mends = []
    talking = False
    for m, message in enumerate(messages):
        if message.role in ("system", "developer"):
            if talking:
                mends.append(f"context.messages[{m}]: {name} takes system text only in front; it is moved there")
        else:
            talking = True
    return mends


class OpenAIResponsesAdapter(Adapter):
    """openai/responses.create."""

    __slots__ = ()
    dialect_name = "openai_responses"


class OpenAIResponsesCompactAdapter(Adapter):
    """openai/responses.compact."""

    __slots__ = ()
    dialect_name = "openai_responses_compact"


class OpenAIChatCompletionsAdapter(Adapter):
    """openai/chat.completions."""

    __slots__ = ()
    dialect_name = "openai_chat"


class OpenAIImagesAdapter(Adapter):
    """openai/images.generate."""

    __slots__ = ()
    dialect_name = "openai_images"


class AnthropicMessagesAdapter(Adapter):
    """anthropic/messages.create."""

    __slots__ = ()
    dialect_name = "anthropic"


class GoogleGenAIAdapter(Adapter):
    """google/models.generate_content."""

    __slots__ = ()
    dialect_name = "gemini"


class BedrockConverseAdapter(Adapter):
    """bedrock/converse."""

    __slots__ = ()
    dialect_name = "bedrock"


BUILT_IN: tuple[type[Adapter], ...] = (
    OpenAIResponsesAdapter,
    OpenAIResponsesCompactAdapter,
    OpenAIChatCompletionsAdapter,
    OpenAIImagesAdapter,
    AnthropicMessagesAdapter,
    GoogleGenAIAdapter,
    BedrockConverseAdapter,
)
_Key = tuple[str, str, str | None]


class AutoAdapter:
    """Finds the adapter a spec asks for, and hands over to it."""

    __slots__ = ("_adapters",)

    def __init__(self, adapters: Iterable[AdapterProtocol] | None = None) -> None:
        """Start with exactly the adapters given, or with the seven that come with weft [M-50]."""
        self._adapters: dict[_Key, AdapterProtocol] = {}
        for adapter in [make() for make in BUILT_IN] if adapters is None else adapters:
            self.register(adapter)

    def register(self, adapter: AdapterProtocol, *, replace: bool = False) -> None:
        """Add an adapter; a place that is taken is kept unless `replace` [M-49]."""
        key = (adapter.id.provider, adapter.id.endpoint, adapter.id.api_version)
        if key in self._adapters and not replace:
            raise ValueError(
                f"an adapter for {adapter.id} is registered already; pass replace=True to put another there"
            )
        self._adapters[key] = adapter

    def resolve(self, spec: RunSpec) -> AdapterProtocol:
        """Find the adapter for a spec: of its very version, else the one without a version."""
        for version in (spec.api_version, None):
            found = self._adapters.get((spec.provider, spec.endpoint, version))
            if found is not None:
                return found
        wanted = AdapterId(spec.provider, spec.endpoint, spec.api_version)
        known = ", ".join(sorted(str(adapter_id) for adapter_id in self.available_ids()))
        raise ValueError(f"no adapter for {wanted}; available: {known}")

    def plan(self, ctx: Context, spec: RunSpec, **options: Any) -> RequestPlan:
        """Write a request for whomever the spec names."""
        return self.resolve(spec).plan(ctx, spec, **options)

    def ingest(self, ctx: Context, response: Any, *, spec: RunSpec) -> Context:
        """Read the answer of whomever the spec names."""
        return self.resolve(spec).ingest(ctx, response, spec=spec)

    def capabilities(self, spec: RunSpec) -> AdapterCapabilities:
        """Say what the endpoint of a spec supports."""
        return self.resolve(spec).capabilities()

    def available_ids(self) -> tuple[AdapterId, ...]:
        """List what can be resolved, sorted [M-51]."""
        return tuple(sorted((adapter.id for adapter in self._adapters.values()), key=_order))

    def available_capabilities(self) -> tuple[AdapterCapabilities, ...]:
        """List the capabilities of what can be resolved, sorted."""
        return tuple(sorted((a.capabilities() for a in self._adapters.values()), key=lambda each: _order(each.id)))


def _order(adapter_id: AdapterId) -> tuple[str, str, str]:
    return adapter_id.provider, adapter_id.endpoint, adapter_id.api_version or ""
