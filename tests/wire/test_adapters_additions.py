"""What weft's plan() adds to model.md: mending, strictness, estimates."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.adapters import ADAPTERS, SIGNED, TALK, TOOL, a_spec, every, files, plan
from tests.support.builders import assistant, message, thinking, tool, tool_call, tool_result, user
from weft.blobs import InMemoryBlobStore
from weft.canon import Context, ExcludedItem, Instructions, Part
from weft.errors import PlanValidationError
from weft.wire import AnthropicMessagesAdapter, AutoAdapter


@pytest.mark.parametrize("name", ["responses", "compact", "chat", "anthropic", "google", "bedrock"])
def test_mends_are_warnings_and_raise_when_strict(name: str) -> None:
    """Issue 3, item 4: plan() mends what the target would reject and lists each mend; with strict it raises."""
    context = Context((user("a"), assistant(tool_call()), user("b")))
    spec = a_spec(name, max_output_tokens=None if name == "compact" else 1)

    planned = ADAPTERS[name][0]().plan(context, spec)

    assert planned.warnings == ("context.messages[1]: tool call 't1' has no result; one that says so is sent",)
    with pytest.raises(PlanValidationError, match="- warning: context"):
        ADAPTERS[name][0]().plan(context, spec, strict=True)
    with pytest.raises(PlanValidationError, match="- warning: context"):
        AutoAdapter().plan(context, spec, strict=True)


@pytest.mark.parametrize("name", ["anthropic", "google", "bedrock"])
def test_a_system_message_that_is_moved_to_the_front_is_told(name: str) -> None:
    context = Context((message("system", "one"), user("a"), message("system", "two")))

    planned = ADAPTERS[name][0]().plan(context, a_spec(name, max_output_tokens=1))

    assert len(planned.warnings) == 1
    assert planned.warnings[0].startswith("context.messages[2]: ")


def test_places_are_those_of_the_context_not_of_the_mended_conversation() -> None:
    context = Context(
        (
            user("a"),
            assistant(tool_call()),
            user("b"),
            assistant(thinking("hm", raw=SIGNED), Part("hologram")),
            user("c"),
        )
    )

    planned = AnthropicMessagesAdapter().plan(context, a_spec("anthropic"))

    assert planned.excluded == (
        ExcludedItem("context.messages[3].parts[1]", "part type hologram is not supported for role assistant"),
    )
    assert planned.must_roundtrip == ("context.messages[3].parts[0]",)


@every
def test_every_plan_has_an_estimate(name: str) -> None:
    """Issue 3, item 2: plan() fills a token_estimate."""
    store = InMemoryBlobStore()
    short, long = plan(name, user("a")), plan(name, user("word " * 400))
    full = plan(
        name,
        user("a", *files(store).values()),
        assistant(tool_call("dig", {"n": "x" * 40})),
        tool(tool_result({"a": 1})),
        user("go"),
        blobs=store,
        tools=(TOOL,),
        instructions=Instructions("s", "d"),
    )

    assert short.token_estimate is not None
    assert long.token_estimate is not None
    assert full.token_estimate is not None
    assert 1 <= short.token_estimate < 20
    assert 400 < long.token_estimate < 600
    assert full.token_estimate > 2_000


@every
def test_planning_changes_nothing_and_gives_plain_data(name: str) -> None:
    """Section 8: plan does not change the context; M-5: the request is made of ordinary containers."""
    context = Context(TALK)
    before = context.to_dict()

    planned = ADAPTERS[name][0]().plan(context, a_spec(name, tools=(TOOL,), max_output_tokens=1))

    assert context.to_dict() == before
    todo: list[Any] = [planned.request]
    for value in todo:
        assert isinstance(value, (dict, list, str, int, float, bool, bytes, type(None)))
        todo.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
