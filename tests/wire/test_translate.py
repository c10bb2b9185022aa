"""A request of one dialect as a plan for another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.support.mutations import mutated, nested
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, RequestPlan
from weft.errors import UsageError, WireError
from weft.wire import ADAPTER, DIALECTS, plan_request, read_request

Json = dict[str, Any]
SIGNED: Json = {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"}
CLAUDE: Json = {
    "model": "claude-opus-4-5",
    "max_tokens": 64,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Depth at pier 4?"},
        {
            "role": "assistant",
            "content": [SIGNED, {"type": "tool_use", "id": "t1", "name": "depth", "input": {"pier": 4}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "6.2 m"}]},
    ],
    "tools": [{"name": "depth", "description": "Ask the sonar", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "auto"},
}
CHAT: Json = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "depth", "arguments": '{"pier": 4}'}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "6.2 m"},
    ],
    "temperature": 0.5,
}
GEMINI: Json = {
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "depth", "args": {}}, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "depth", "response": {"result": "6.2 m"}}}]},
    ],
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "generationConfig": {"temperature": 0.5},
}


def test_a_request_is_read_in_the_dialect_it_looks_like_or_is_said_to_be() -> None:
    assert [read_request(body)[0] for body in (CLAUDE, CHAT, GEMINI)] == ["anthropic", "openai_chat", "gemini"]
    assert read_request({"model": "m", "messages": CHAT["messages"][:1]}, "ollama.chat")[0] == "ollama"


@pytest.mark.parametrize("body", [CLAUDE, CHAT, GEMINI])
def test_in_its_own_dialect_a_request_comes_out_as_it_went_in(body: Json) -> None:
    name, _ = read_request(body)

    plan = plan_request(body, name)

    assert (plan.excluded, plan.warnings, plan.errors) == ((), (), ())
    assert _bare(plan.request) == _bare(body)


def _bare(body: Any) -> Any:
    """Write strings as the text block they stand for, and leave out nulls."""
    if isinstance(body, dict):
        bare = {key: _bare(value) for key, value in body.items() if value is not None}
        if isinstance(bare.get("content"), str):
            bare["content"] = [{"type": "text", "text": bare["content"]}]
        return bare
    return [_bare(value) for value in body] if isinstance(body, list) else body


def test_in_its_own_dialect_only_the_model_may_change() -> None:
    assert plan_request(CLAUDE, "anthropic", model="claude-haiku").request == {
        **plan_request(CLAUDE, "anthropic").request,
        "model": "claude-haiku",
    }


def test_another_dialect_gets_a_plan_with_the_account() -> None:
    plan = plan_request(CLAUDE, "openai.chat", model="gpt-5")

    assert plan == RequestPlan(
        {
            "model": "gpt-5",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Depth at pier 4?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "t1", "type": "function", "function": {"name": "depth", "arguments": '{"pier":4}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "t1", "content": "6.2 m"},
            ],
            "max_tokens": 64,
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "depth", "description": "Ask the sonar", "parameters": {"type": "object"}},
                }
            ],
            "tool_choice": "auto",
        },
        included=("4 messages", "1 tools"),
        excluded=plan.excluded,
        token_estimate=plan.token_estimate,
    )
    assert [item.description for item in plan.excluded] == ["context.messages[2].parts[0]"]
    assert plan.token_estimate is not None


def test_another_policy_is_another_plan_even_in_the_same_dialect() -> None:
    """Asked for explicitly, a request is written anew under that policy."""
    body = {**CLAUDE, "messages": CLAUDE["messages"][:2]}

    plan = plan_request(body, "anthropic", policy=replace(ADAPTER, foreign_thinking="text"))

    assert plan.must_roundtrip == ("context.messages[2].parts[0]",)
    assert plan.warnings == ("context.messages[2]: tool call 't1' has no result; one that says so is sent",)


def test_losses_of_the_crossing_are_listed_with_those_of_the_parts() -> None:
    plan = plan_request({**CLAUDE, "metadata": {"user_id": "u"}}, "gemini")

    assert ExcludedItem("extra_body.metadata", "a field of anthropic that gemini does not have") in plan.excluded


def test_media_go_through_the_store_that_is_given() -> None:
    """README case 3: the same bytes, whoever they go to."""
    store = InMemoryBlobStore()

    plan = plan_request(CHAT, "bedrock", blobs=store)

    assert plan.request["messages"][0]["content"][1] == {"image": {"format": "png", "source": {"bytes": b"hi"}}}
    assert len(store.list_blobs()) == 1


@pytest.mark.parametrize("body", [{}, {"hello": 1}])
def test_what_looks_like_nothing_is_a_usage_error(body: Json) -> None:
    with pytest.raises(UsageError, match="looks like no request of a known dialect"):
        plan_request(body, "anthropic")


def test_an_unknown_target_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no dialect is called 'esperanto'"):
        plan_request(CLAUDE, "esperanto")


@given(body=mutated([CLAUDE, CHAT, GEMINI]))
def test_whatever_arrives_is_planned_or_refused(body: Any) -> None:
    """L6: a WireError that says where, or a result, for every target."""
    if not isinstance(body, dict):
        return
    for target in DIALECTS:
        try:
            plan_request(body, target)
        except WireError as problem:
            assert problem.where  # noqa: PT017 - the error is one of two right answers
        except UsageError:
            pass  # it looks like no request any more
        except ValueError as problem:
            assert target == "openai_images", problem  # noqa: PT017 - no prompt, no picture (model.md, section 9)


DEEP = nested(1_000)


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize(
    "body",
    [
        {**CLAUDE, "metadata": DEEP},
        {
            **CLAUDE,
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": DEEP}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
            ],
        },
        {
            **CLAUDE,
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [DEEP]}]},
            ],
        },
        {**CLAUDE, "tools": [{"name": "f", "description": "", "input_schema": DEEP}]},
        {**CLAUDE, "output_config": {"format": {"type": "json_schema", "schema": DEEP}}},
        {**CLAUDE, "tool_choice": DEEP},
    ],
)
def test_nesting_past_pythons_stack_is_planned_or_refused_with_its_place(body: Json, target: str) -> None:
    """1,000-deep nesting of issue 3."""
    try:
        plan_request(body, target)
    except WireError as problem:
        assert problem.where  # noqa: PT017 - the error is one of two right answers
