"""AutoAdapter, and what each adapter says it can do (model.md, section 8)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.adapters import ADAPTERS, every
from tests.support.builders import text
from weft.canon import AdapterCapabilities, AdapterId, Context, RequestPlan, RunSpec
from weft.wire import AdapterProtocol, AutoAdapter, OpenAIChatCompletionsAdapter


class Elsewhere:
    """Someone's own adapter: only the protocol's shape."""

    def __init__(self, version: str | None = None, provider: str = "zulu") -> None:
        self.id = AdapterId(provider, "talk", version)

    def capabilities(self) -> AdapterCapabilities:
        return AdapterCapabilities(self.id, {"tools": "no"})

    def plan(self, ctx: Context, spec: RunSpec) -> RequestPlan:
        return RequestPlan({"says": len(ctx), "model": spec.model})

    def ingest(self, ctx: Context, response: Any, *, spec: RunSpec) -> Context:
        return ctx.assistant(f"{response} {spec.model}")


def test_m49_a_place_is_taken_once() -> None:
    """M-49: key (provider, endpoint, api_version)."""
    auto, first, second = AutoAdapter([]), Elsewhere(), Elsewhere()
    auto.register(first)
    auto.register(Elsewhere("v1"))

    with pytest.raises(ValueError, match="zulu/talk is registered already"):
        auto.register(second)
    assert auto.resolve(RunSpec("zulu", "talk", "m")) is first
    auto.register(second, replace=True)
    assert auto.resolve(RunSpec("zulu", "talk", "m")) is second
    assert isinstance(second, AdapterProtocol)


def test_m50_resolving_goes_from_the_very_version_to_none() -> None:
    """M-50, acceptance case 10."""
    plain, versioned = Elsewhere(), Elsewhere("v1")
    auto = AutoAdapter([plain, versioned])

    assert auto.resolve(RunSpec("zulu", "talk", "m", api_version="v1")) is versioned
    assert auto.resolve(RunSpec("zulu", "talk", "m", api_version="v2")) is plain
    assert auto.resolve(RunSpec("zulu", "talk", "m")) is plain
    with pytest.raises(ValueError, match=r"no adapter for nobody/talk@v3; available: zulu/talk, zulu/talk@v1"):
        auto.resolve(RunSpec("nobody", "talk", "m", api_version="v3"))

    spec = RunSpec("openai", "chat.completions", "m", api_version="2031-01")
    found = AutoAdapter().resolve(spec)
    assert isinstance(found, OpenAIChatCompletionsAdapter)
    assert found.plan(Context().user("a"), spec).extra["api_version"] == "2031-01"


def test_m50_it_starts_with_the_seven_or_with_exactly_those_given() -> None:
    """M-50."""
    assert AutoAdapter([]).available_ids() == ()
    assert len(AutoAdapter().available_ids()) == 7
    with pytest.raises(ValueError, match=r"available: anthropic/messages\.create, bedrock/converse, google/"):
        AutoAdapter().resolve(RunSpec("zulu", "talk", "m"))


def test_m51_it_hands_over_and_lists_in_order() -> None:
    """M-51: sorted by (provider, endpoint, version or "")."""
    auto = AutoAdapter([Elsewhere("v1"), Elsewhere(), Elsewhere(provider="alpha")])
    spec = RunSpec("zulu", "talk", "m")

    assert auto.plan(Context().user("a"), spec).request == {"says": 1, "model": "m"}
    [answer] = auto.ingest(Context(), "aye", spec=spec).messages
    assert answer.parts == (text("aye m"),)
    assert auto.capabilities(spec) == AdapterCapabilities(AdapterId("zulu", "talk"), {"tools": "no"})
    assert [str(each) for each in auto.available_ids()] == ["alpha/talk", "zulu/talk", "zulu/talk@v1"]
    assert [str(each.id) for each in auto.available_capabilities()] == ["alpha/talk", "zulu/talk", "zulu/talk@v1"]
    assert [str(each) for each in AutoAdapter().available_ids()] == [
        "anthropic/messages.create",
        "bedrock/converse",
        "google/models.generate_content",
        "openai/chat.completions",
        "openai/images.generate",
        "openai/responses.compact",
        "openai/responses.create",
    ]


CAPABILITIES = """
instructions        yes yes yes partial yes yes yes
max_output_tokens   yes no  yes no      yes yes yes
temperature         yes no  yes no      yes yes yes
top_p               yes no  yes no      yes yes yes
seed                no  no  yes no      no  yes no
tools               yes no  yes no      yes yes yes
tool_choice         yes no  yes no      yes yes partial
response_schema     yes no  yes no      yes yes yes
response_modalities yes no  yes partial no  yes no
extra_body          yes yes yes yes     yes yes yes
extra_headers       yes yes yes yes     yes yes no
extra_query         yes yes yes yes     yes no  no
cursor_chaining     yes yes no  no      no  no  no
"""


@every
def test_the_capabilities_are_those_of_the_table(name: str) -> None:
    """Section 8, Capabilities."""
    column = list(ADAPTERS).index(name) + 1
    rows = [line.split() for line in CAPABILITIES.strip().splitlines()]
    adapter = ADAPTERS[name][0]()

    assert dict(adapter.capabilities().fields) == {row[0]: row[column] for row in rows}
    assert (adapter.id, repr(adapter)) == (
        AdapterId(*ADAPTERS[name][1:]),
        f"<adapter {ADAPTERS[name][1]}/{ADAPTERS[name][2]}>",
    )
    assert adapter.capabilities().id == adapter.id
