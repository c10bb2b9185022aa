"""Plans and capabilities (model.md sections 5 and 8)."""

from __future__ import annotations

from typing import Any

import pytest

from weft.canon import AdapterCapabilities, AdapterId, ExcludedItem, RequestPlan, plain_plan
from weft.errors import PlanValidationError

PLAN = RequestPlan(
    {},
    excluded=(ExcludedItem("seed", "anthropic has none"), ExcludedItem("context.messages[0]", "empty")),
    warnings=("max_output_tokens is 4096",),
    errors=("no messages", "first message is not user"),
)
HERE = AdapterId("openai", "chat.completions")


def test_what_was_not_used_is_told_as_warnings() -> None:
    """M-23: the wording of section 5."""
    unused = (
        "unused parameter 'seed': anthropic has none",
        "unused parameter 'context.messages[0]': empty",
    )

    assert PLAN.unused_parameter_warnings() == unused
    assert PLAN.warning_messages() == ("max_output_tokens is 4096", *unused)
    assert PLAN.warning_messages(include_unused_parameters=False) == ("max_output_tokens is 4096",)


@pytest.mark.parametrize(
    ("flags", "violations"),
    [
        ({}, ["error: no messages", "error: first message is not user"]),
        (
            {"fail_on_warnings": True},
            ["error: no messages", "error: first message is not user", "warning: max_output_tokens is 4096"],
        ),
        (
            {"fail_on_excluded": True},
            [
                "error: no messages",
                "error: first message is not user",
                "unused parameter 'seed': anthropic has none",
                "unused parameter 'context.messages[0]': empty",
            ],
        ),
        (
            {"fail_on_warnings": True, "fail_on_excluded": True},
            [
                "error: no messages",
                "error: first message is not user",
                "warning: max_output_tokens is 4096",
                "unused parameter 'seed': anthropic has none",
                "unused parameter 'context.messages[0]': empty",
            ],
        ),
    ],
    ids=["errors", "warnings", "excluded", "strict"],
)
def test_violations_are_listed_in_order_one_a_line(flags: dict[str, bool], violations: list[str]) -> None:
    """M-23: and M-24, strict is both."""
    with pytest.raises(PlanValidationError) as caught:
        PLAN.assert_valid(**flags)

    first, *lines = str(caught.value).split("\n")
    assert lines == [f"- {violation}" for violation in violations]
    assert first
    assert not first.startswith("- ")


def test_a_plan_is_valid_unless_the_caller_is_strict() -> None:
    """M-24: warnings and exclusions fail only when asked to; alone each is enough."""
    warned = RequestPlan({}, warnings=("w",))
    excluded = RequestPlan({}, excluded=(ExcludedItem("seed", "r"),))

    warned.assert_valid(fail_on_excluded=True)
    excluded.assert_valid(fail_on_warnings=True)
    RequestPlan({}).assert_valid(fail_on_warnings=True, fail_on_excluded=True)

    with pytest.raises(PlanValidationError, match="warning: w"):
        warned.assert_valid(fail_on_warnings=True)
    with pytest.raises(PlanValidationError, match="unused parameter 'seed': r"):
        excluded.assert_valid(fail_on_excluded=True)


def test_a_plan_around_a_plain_request_is_equal_to_one_that_copied_it() -> None:
    request: dict[str, Any] = {"a": [1]}
    item = ExcludedItem("seed", "r")

    plan = plain_plan(request, included=("1 messages",), excluded=(item,), warnings=("w",), extra={"b": 1})

    assert plan == RequestPlan(request, ("1 messages",), (item,), warnings=("w",), extra={"b": 1})
    assert plan.request is request
    assert plain_plan({}) == RequestPlan({})


@pytest.mark.parametrize(
    ("adapter", "written"),
    [(HERE, "openai/chat.completions"), (AdapterId("openai", "x", "2031-01"), "openai/x@2031-01")],
)
def test_an_adapter_id_is_written_with_its_version_if_it_has_one(adapter: AdapterId, written: str) -> None:
    assert str(adapter) == written


def test_capabilities_tell_levels_and_what_can_be_used() -> None:
    levels: dict[str, Any] = {"seed": "yes", "tools": "partial", "top_p": "no"}
    capabilities = AdapterCapabilities(HERE, levels, {"tools": "no streaming"})

    assert [capabilities.level(name) for name in ("seed", "tools", "top_p", "magic")] == ["yes", "partial", "no", None]
    assert [name for name in (*levels, "magic") if capabilities.is_supported(name)] == ["seed", "tools"]
    assert [name for name in levels if capabilities.is_supported(name, allow_partial=False)] == ["seed"]


@pytest.mark.parametrize(
    ("fields", "notes", "error", "said"),
    [
        ({"seed": "maybe"}, {}, ValueError, "capability 'seed' must be yes, partial or no, not 'maybe'"),
        ({"seed": "yes"}, {"tools": "x"}, ValueError, "there is a note for 'tools', but no such capability"),
        ({"seed": "yes"}, {"seed": 7}, TypeError, "the note for capability 'seed' must be a string, not int"),
    ],
)
def test_capabilities_that_make_no_sense_are_refused(
    fields: Any, notes: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        AdapterCapabilities(HERE, fields, notes)
