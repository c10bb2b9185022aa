"""The table of providers, and what its quirks make of a request."""

from __future__ import annotations

import re

import pytest

from weft import AutoAdapter, Context, Instructions, Message, Part, PlanValidationError, RunSpec, ToolSpecification
from weft.errors import UsageError
from weft.providers import PROVIDERS, ProviderAdapter, provider
from weft.wire import DIALECTS

FAMILY = [name for name, row in PROVIDERS.items() if row.dialect == "openai_chat"]


def a_tool_conversation(call_id: str) -> Context:
    call = Part("tool_call", tool_call_id=call_id, tool_name="depth", tool_args={"pier": 4})
    result = Part("tool_result", tool_call_id=call_id, tool_name="depth", tool_output="6.2 m")
    return Context().user("Depth?").assistant(call).append(Message("tool", (result,)))


def test_every_row_is_found_by_its_name_and_speaks_a_dialect_that_exists() -> None:
    for name, row in PROVIDERS.items():
        assert provider(name) is row
        assert row.dialect in DIALECTS


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no provider is called 'groqq'\n  known: anthropic, openai"):
        provider("groqq")


@pytest.mark.parametrize("name", FAMILY)
def test_the_whole_openai_compatible_family_is_planned_through_one_dialect(name: str) -> None:
    spec = RunSpec(name, "chat.completions", "m", max_output_tokens=9)

    plan = ProviderAdapter(name).plan(a_tool_conversation("call00001"), spec)

    plan.assert_valid(fail_on_warnings=True, fail_on_excluded=True)
    assert [message["role"] for message in plan.request["messages"]] == ["user", "assistant", "tool"]
    assert 9 in (plan.request.get("max_tokens"), plan.request.get("max_completion_tokens"))


@pytest.mark.parametrize("name", [name for name in FAMILY if name not in ("openai", "azure")])
def test_a_developer_instruction_becomes_a_system_message_where_only_openai_knows_developers(name: str) -> None:
    spec = RunSpec(name, "chat.completions", "m", instructions=Instructions(developer="Be brief."))

    plan = ProviderAdapter(name).plan(Context().user("Depth?"), spec)

    assert plan.request["messages"][0] == {"role": "system", "content": "Be brief."}


def test_mistral_gets_nine_letter_call_ids_and_its_own_words() -> None:
    tool = ToolSpecification("depth", "Sounds.", {"type": "object"})
    spec = RunSpec("mistral", "chat.completions", "m", seed=7, tools=(tool,), tool_choice="required")

    plan = ProviderAdapter("mistral").plan(a_tool_conversation("toolu_01AbCdEf"), spec)

    assistant, result = plan.request["messages"][1:]
    assert re.fullmatch("[a-zA-Z0-9]{9}", assistant["tool_calls"][0]["id"])
    assert result["tool_call_id"] == assistant["tool_calls"][0]["id"]
    assert plan.request["random_seed"] == 7
    assert plan.request["tool_choice"] == "any"
    assert "'toolu_01AbCdEf' is not accepted by the target" in plan.warnings[0]


def test_a_setting_the_provider_refuses_is_left_out_and_listed() -> None:
    spec = RunSpec("deepseek", "chat.completions", "m", seed=7)

    plan = ProviderAdapter("deepseek").plan(Context().user("Depth?"), spec)

    assert "seed" not in plan.request
    assert [item.to_dict() for item in plan.excluded] == [
        {"description": "seed", "reason": "deepseek/chat.completions does not take it"}
    ]
    with pytest.raises(PlanValidationError, match="seed"):
        ProviderAdapter("deepseek").plan(Context().user("Depth?"), spec, strict=True)


def test_capabilities_are_the_dialects_less_what_the_provider_refuses() -> None:
    assert ProviderAdapter("perplexity").capabilities().level("tools") == "no"
    assert ProviderAdapter("perplexity").capabilities().level("temperature") == "yes"
    assert ProviderAdapter("cohere").capabilities().id.provider == "cohere"


def test_a_provider_adapter_fits_into_an_auto_adapter_and_reads_answers() -> None:
    auto = AutoAdapter([ProviderAdapter("groq")])
    spec = RunSpec("groq", "chat.completions", "m")
    answer = {"id": "r1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "6.2 m"}}]}

    context = auto.ingest(Context().user("Depth?"), answer, spec=spec)

    assert repr(auto.resolve(spec)) == "<adapter groq/chat.completions>"
    assert [part.text for part in context.messages[-1].parts] == ["6.2 m"]
    assert context.messages[-1].provider == "groq"


def test_a_spec_for_someone_else_is_refused() -> None:
    spec = RunSpec("openai", "chat.completions", "m")

    with pytest.raises(ValueError, match=r"this adapter is for groq/chat\.completions, but the spec is for openai/"):
        ProviderAdapter("groq").plan(Context().user("Depth?"), spec)
