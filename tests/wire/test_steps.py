"""Step codecs: wire messages to requests of OpenAI chat, Gemini and Claude, and their responses back."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.steps import REMOTE, SCHEMA, THREE, TIDE, call, lost, says, sent, words
from weft.canon import ExcludedItem
from weft.errors import CodecError, UsageError
from weft.wire.steps import encode_step, gemini_safety_settings, plan_step


@pytest.mark.parametrize("to", THREE)
def test_a_model_must_be_named_and_the_input_is_not_changed(to: str) -> None:
    """W-1: encoders take `model`, which has no default; the step stays as it was."""
    step = {
        "messages": [
            says("system", "Be brief."),
            says("user", [words("a"), {"type": "image", "data": b"\x89PNG"}]),
            says("assistant", "", tool_calls=[call(id="k", arguments='{"a": 1}')], reasoning=[words("hm")]),
            says("tool", [words("06:10")], call_id="k"),
        ],
        "functions": [TIDE],
        "response_schema": {"schema": SCHEMA},
    }
    before = copy.deepcopy(step)

    encode_step(to, step, model="m", stream=True)

    assert step == before
    with pytest.raises(TypeError):
        encode_step(to, step)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="model"):
        encode_step(to, step, model="")


def test_there_are_three_of_them() -> None:
    with pytest.raises(UsageError, match="no step codec for cohere"):
        encode_step("cohere", {"messages": []}, model="m")


@pytest.mark.parametrize(
    ("step", "where"),
    [
        ({}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [], "functions": 1}, "functions"),
        ({"messages": [], "functions": [{"description": "x"}]}, "functions[0]"),
        ({"messages": [], "functions": [{"name": "x", "parameters": []}]}, "functions[0]"),
        ({"messages": [], "response_schema": {"name": "x"}}, "response_schema"),
    ],
)
def test_a_step_that_is_none_is_refused_with_its_place(step: Any, where: str) -> None:
    """W-2."""
    with pytest.raises(CodecError) as caught:
        encode_step("openai", step, model="m")

    assert caught.value.where == where


@pytest.mark.parametrize("to", THREE)
def test_strict_raises_when_anything_is_left_out(to: str) -> None:
    """R-3: otherwise the losses are in the plan, named by their place in the step."""
    answer = says("tool", [words("06:10"), {"type": "image", "url": REMOTE}], call_id="k", name="tide")

    (loss,) = plan_step(to, {"messages": [answer]}, model="m").losses

    assert loss.description == "messages[0].content[1]"
    with pytest.raises(CodecError, match=r"^messages\[0\]\.content\[1\]: .* \(1 losses in all\)$"):
        encode_step(to, {"messages": [answer]}, model="m", strict=True)
    assert encode_step(to, {"messages": [says("user", "x")]}, model="m", strict=True)["model"] == "m"


@pytest.mark.parametrize("to", ["claude", "gemini"])
def test_a_role_nobody_knows_is_a_user(to: str) -> None:
    """Acceptance case 11: role critic becomes user for Claude and Gemini; W-4: OpenAI gets it as it is."""
    assert [turn["role"] for turn in sent(to, says("critic", "Too long."))] == ["user"]
    assert sent("openai", says("critic", "Too long.")) == [says("critic", "Too long.")]


@pytest.mark.parametrize("to", ["claude", "gemini"])
def test_the_name_of_a_sender_is_a_loss_where_there_is_no_field_for_it(to: str) -> None:
    """R-3."""
    ((place, reason),) = lost(to, says("user", "x", name="Ada"))

    assert place == "messages[0].name"
    assert "names of senders" in reason


def test_a_codec_reads_only_its_own_entry() -> None:
    """W-18, W-21: `extra` of other providers is neither sent nor in the way."""
    message = says(
        "assistant",
        "x",
        reasoning="T",
        extra={
            "claude": {"thinking_blocks": [{"type": "thinking", "thinking": "T", "signature": "s"}]},
            "gemini": {"thought_signatures": ["g"], "signature_parts": [{"kind": "text", "index": 0}]},
            "other": 1,
        },
    )

    assert sent("openai", message) == [says("assistant", "x")]
    assert sent("claude", message)[0]["content"] == [
        {"type": "thinking", "thinking": "T", "signature": "s"},
        words("x"),
    ]
    assert sent("gemini", message)[0]["parts"] == [
        {"text": "T", "thought": True},
        {"text": "x", "thoughtSignature": "g"},
    ]


@pytest.mark.parametrize("to", THREE)
def test_data_that_is_not_base64_is_refused(to: str) -> None:
    """W-6, W-13, W-25: rather than sent broken."""
    for broken, field in (({"data": "!"}, "data"), ({"url": "data:image/png;base64,!"}, "url")):
        with pytest.raises(CodecError) as caught:
            sent(to, says("user", [{"type": "image", **broken}]))
        assert caught.value.where == f"messages[0].content[0].{field}"


def test_what_a_caller_adds_goes_into_the_body_last() -> None:
    body = encode_step(
        "gemini",
        {"messages": [says("user", "x")]},
        model="m",
        max_tokens=5,
        extra_body={"config": {"safetySettings": gemini_safety_settings()[:1]}},
    )

    assert body == {
        "model": "m",
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        "config": {
            "maxOutputTokens": 5,
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        },
    }


def test_the_account_of_losses_is_of_the_usual_kind() -> None:
    """R-3: `ExcludedItem(description, reason)`."""
    (loss,) = plan_step("openai", {"messages": [says("assistant", "x", reasoning="r")]}, model="m").losses

    assert loss == ExcludedItem("messages[0].reasoning", "reasoning has no field in chat.completions")
