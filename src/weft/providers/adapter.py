"""An adapter for any row of the table: its dialect, with its quirks laid over what the dialect wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from weft.canon import AdapterCapabilities, AdapterId, Context, ExcludedItem, RequestPlan, RunSpec
from weft.errors import UsageError
from weft.plugins import added
from weft.providers.table import PROVIDERS, Provider
from weft.wire import ADAPTER, CAPABILITIES, Dialect, Policy, dialect, ingest_with, plan_with

__all__ = ["OVER_HTTP", "ProviderAdapter", "adjust", "plugged_providers", "provider"]

# As an adapter plans, less what only an SDK takes: its own spelling of keys, its arguments, bytes as bytes.
OVER_HTTP = replace(ADAPTER, name="http", sdk_arguments=False, casing="camel", raw_bytes=False, bare_base64=False)


def provider(name: str, table: Mapping[str, Provider] = PROVIDERS) -> Provider:
    """Give a provider's row."""
    found = table.get(name) or plugged_providers().get(name)
    if found is None:
        raise UsageError(f"no provider is called {name!r}\n  known: {', '.join(table)}")
    return found


@cache
def plugged_providers() -> dict[str, Provider]:
    """Give the rows that plugins bring, by name."""
    found = {}
    for plugin, given in added("weft_providers"):
        if not isinstance(given, Provider):
            raise UsageError(f"plugin {plugin}: weft_providers gives Provider rows, not {type(given).__name__}")
        found[given.name] = given
    return found


class ProviderAdapter:
    """plan() and ingest() for one provider; fits into an AutoAdapter."""

    __slots__ = ("_dialect", "_provider", "id")

    def __init__(self, who: str | Provider) -> None:
        """Take the provider by its name in the table, or a row of one's own."""
        self._provider = provider(who) if isinstance(who, str) else who
        self._dialect: Dialect = dialect(self._provider.dialect)
        self.id = AdapterId(self._provider.name, self._dialect.endpoint)

    def __repr__(self) -> str:
        """Show the endpoint."""
        return f"<adapter {self.id}>"

    def capabilities(self) -> AdapterCapabilities:
        """Say what the endpoint supports: what its dialect does, less what the provider refuses."""
        known = CAPABILITIES.get(self._dialect.name) or CAPABILITIES["openai_chat"]
        refused = set(self._provider.quirks.refuses)
        fields = {name: "no" if name in refused else level for name, level in known.fields.items()}
        return AdapterCapabilities(self.id, fields)

    def plan(self, ctx: Context, spec: RunSpec, *, strict: bool = False) -> RequestPlan:
        """Write a request as this provider takes it from its SDK."""
        return self._plan(ctx, spec, ADAPTER, strict=strict)

    def plan_call(self, ctx: Context, spec: RunSpec, *, strict: bool = False) -> RequestPlan:
        """Write a request as this provider takes it over HTTP: the body of a `Call`."""
        return self._plan(ctx, spec, OVER_HTTP, strict=strict)

    def _plan(self, ctx: Context, spec: RunSpec, policy: Policy, *, strict: bool) -> RequestPlan:
        if (spec.provider, spec.endpoint) != (self.id.provider, self.id.endpoint):
            given = AdapterId(spec.provider, spec.endpoint)
            raise ValueError(f"this adapter is for {self.id}, but the spec is for {given}")
        quirks = self._provider.quirks
        policy = replace(policy, reasoning_field=quirks.reasoning_field) if quirks.reasoning_field else policy
        plan = plan_with(self._dialect, ctx, spec, policy=policy, call_ids=quirks.call_ids)
        refused = adjust(plan.request, self._provider)
        plan = plan.with_excluded(refused) if refused else plan
        if strict:
            plan.assert_valid(fail_on_warnings=True, fail_on_excluded=True)
        return plan

    def ingest(self, ctx: Context, response: Any, *, spec: RunSpec) -> Context:
        """Read this provider's answer."""
        return ingest_with(self._dialect, ctx, response, spec=spec)


def adjust(body: dict[str, Any], row: Provider) -> list[ExcludedItem]:
    """Say a request the provider's way, in place; give what it would refuse, which is left out."""
    quirks = row.quirks
    for ours, theirs in quirks.renames:
        if ours in body and theirs not in body:
            body[theirs] = body.pop(ours)
    for key, ours, theirs in quirks.words:
        if body.get(key) == ours:
            body[key] = theirs
    roles = dict(quirks.roles)
    for message in body.get("messages", ()) if roles else ():
        message["role"] = roles.get(message["role"], message["role"])
    refused = [key for key in quirks.refuses if body.pop(key, None) is not None]
    target = AdapterId(row.name, dialect(row.dialect).endpoint)
    return [ExcludedItem(key, f"{target} does not take it") for key in refused]
