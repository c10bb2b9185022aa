"""plan() and ingest() of the seven endpoints: the frame (model.md, section 8) and the acceptance cases (section 12)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.adapters import ADAPTERS, ANSWERS, SIGNED, a_spec, answer_of, every, heard, ingest, plan, request
from tests.support.builders import assistant, tool, tool_call, tool_result, user
from weft.canon import AdapterId, Context, RunSpec, Usage
from weft.errors import PlanValidationError
from weft.wire import AnthropicMessagesAdapter

Json = dict[str, Any]


@every
def test_m41_the_spec_must_be_for_the_adapter(name: str) -> None:
    """M-41: provider and endpoint must match, in plan and in ingest; the error states expected and given."""
    adapter = ADAPTERS[name][0]()
    for wrong in (RunSpec("nobody", adapter.id.endpoint, "m"), RunSpec(adapter.id.provider, "nothing", "m")):
        given = f"{wrong.provider}/{wrong.endpoint}"
        for ask in (
            lambda wrong=wrong: adapter.plan(Context().user("a"), wrong),
            lambda wrong=wrong: adapter.ingest(Context(), ANSWERS[name], spec=wrong),
        ):
            with pytest.raises(ValueError, match=re.escape(str(adapter.id))) as problem:
                ask()
            assert given in str(problem.value)


@every
def test_m41_an_unversioned_adapter_takes_any_version(name: str) -> None:
    """M-41: api_version must match only if the adapter is versioned."""
    assert plan(name, user("a"), api_version="2031-01").extra == {"api_version": "2031-01"}


def test_m41_a_versioned_adapter_takes_its_own_version_only() -> None:
    """M-41."""

    class Versioned(AnthropicMessagesAdapter):
        __slots__ = ()

        def __init__(self) -> None:
            super().__init__()
            self.id = AdapterId("anthropic", "messages.create", "v2")

    adapter = Versioned()

    assert adapter.plan(Context().user("a"), a_spec("anthropic", api_version="v2")).request["model"] == "m"
    with pytest.raises(ValueError, match=r"anthropic/messages\.create@v2.*anthropic/messages\.create@v1"):
        adapter.plan(Context().user("a"), a_spec("anthropic", api_version="v1"))


@every
def test_m42_a_response_may_be_a_mapping_or_an_sdk_object(name: str) -> None:
    """M-42: mapping, model_dump() or to_dict(); anything else is a TypeError."""

    class Dumped:
        def model_dump(self) -> Json:
            return ANSWERS[name]

    class Dictionary:
        def to_dict(self) -> Json:
            return ANSWERS[name]

    def said(response: Any) -> Any:
        return [(part.type, part.text) for part in heard(name, response)]

    assert said(Dumped()) == said(Dictionary()) == said(ANSWERS[name])
    for wrong in ("text", None, 5, [ANSWERS[name]], object()):
        with pytest.raises(TypeError, match="response must be a mapping"):
            ingest(name, wrong)


@every
def test_m43_the_address_is_beside_the_request_not_in_it(name: str) -> None:
    """M-43: `extra` holds base_url and api_version when set, for every adapter."""
    planned = plan(name, user("a"), base_url="https://example.org", api_version="v9")

    assert planned.extra == {"base_url": "https://example.org", "api_version": "v9"}
    assert "example.org" not in str(planned.request)
    assert "v9" not in str(planned.request)
    assert plan(name, user("a")).extra == {}


@every
def test_m44_extra_body_is_merged_last_and_deeply(name: str) -> None:
    """M-44: mappings recursively, all else replaced; for Google into `config`."""
    home = {"google": "config"}.get(name)
    deep = {"a": {"b": [1], "c": {"d": 1}}}
    root = "modelId" if name == "bedrock" else "model"
    extra = {**deep, "temperature": 9} if name == "google" else {**deep, root: "other"}

    got = request(name, user("a"), extra_body=extra)

    assert (got[home] if home else got)["a"] == {"b": [1], "c": {"d": 1}}
    if name != "google":
        assert got[root] == "other"


def test_m44_what_the_adapter_wrote_is_kept_beside_what_is_merged() -> None:
    """M-44."""
    chat = request("chat", user("a"), response_schema={"name": "n"}, extra_body={"response_format": {"x": {"y": 1}}})
    google = request("google", user("a"), temperature=0.5, extra_body={"temperature": 0.7, "top_k": 3})
    bedrock = request("bedrock", user("a"), temperature=0.5, extra_body={"inferenceConfig": {"topP": 0.1}})

    assert chat["response_format"] == {"type": "json_schema", "json_schema": {"name": "n"}, "x": {"y": 1}}
    assert google["config"] == {"temperature": 0.7, "top_k": 3}
    assert bedrock["inferenceConfig"] == {"temperature": 0.5, "topP": 0.1}


OUTPUTS = [("é", "é"), ({"ok": "é"}, '{"ok":"é"}'), ([1], "[1]"), (False, "false")]


def _result_text(name: str, output: Any) -> Any:
    got = request(name, user("go"), assistant(tool_call()), tool(tool_result(output)))
    match name:
        case "responses":
            return got["input"][-1]["output"]
        case "chat":
            return got["messages"][-1]["content"]
        case "anthropic":
            return got["messages"][-1]["content"][0]["content"]
        case "bedrock":
            return got["messages"][-1]["content"][0]["toolResult"]["content"]
        case _:
            return got["contents"][-1]["parts"][0]["function_response"]["response"]


@pytest.mark.parametrize("name", ["responses", "chat", "anthropic", "bedrock", "google"])
@pytest.mark.parametrize(("output", "written"), OUTPUTS)
def test_m47_tool_output_is_text(name: str, output: Any, written: str) -> None:
    """M-47: str unchanged, anything else JSON without ASCII escaping. M-52 for Google."""
    got = _result_text(name, output)

    if name == "google":
        assert got == (output if isinstance(output, dict) else {"result": written})
    elif name == "bedrock":
        assert got == [{"text": written}]
    else:
        assert got == written


@pytest.mark.parametrize(
    ("arguments", "read"),
    [('{"n": 1}', {"n": 1}), ("[1]", {"_raw": "[1]"}), ("{", {"_raw": "{"}), (None, {}), ({"n": 1}, {"n": 1})],
)
def test_m47_arguments_are_read(arguments: Any, read: Json) -> None:
    """M-47, acceptance case 7: mapping kept; object text parsed; None is {}; any other text is kept as `_raw`."""
    function = {"name": "dig", "arguments": arguments}
    chat = {"choices": [{"message": {"tool_calls": [{"id": "t1", "type": "function", "function": function}]}}]}
    responses = {"output": [{"type": "function_call", "call_id": "t1", **function}]}

    for name, answer in (("chat", chat), ("responses", responses)):
        [part] = heard(name, answer)
        assert (part.type, part.tool_call_id, part.tool_name, part.tool_args) == ("tool_call", "t1", "dig", read)


@every
def test_m48_an_answer_is_one_assistant_message_with_its_usage(name: str) -> None:
    """M-48: `provider` set, usage recorded with the provider's whole object. The context given is not changed."""
    context = Context().user("Ahoy?")

    after = ingest(name, ANSWERS[name], context)

    [_, answer] = after.messages
    [usage] = after.usage_log
    assert (answer.role, answer.provider, len(answer.parts)) == ("assistant", ADAPTERS[name][1], 1)
    counted = ANSWERS[name].get("usage") or ANSWERS[name]["usageMetadata"]
    assert usage == Usage(3, 2, 5, counted)
    assert (len(context.messages), context.usage_log, after.blob_store) == (1, (), context.blob_store)


EMPTY_ANSWERS: dict[str, Json] = {
    "responses": {**ANSWERS["responses"], "output": []},
    "compact": {**ANSWERS["compact"], "output": []},
    "chat": {**ANSWERS["chat"], "choices": [{"message": {"role": "assistant", "content": None}}]},
    "images": {**ANSWERS["images"], "data": []},
    "anthropic": {**ANSWERS["anthropic"], "content": []},
    "google": {**ANSWERS["google"], "candidates": [{"finishReason": "SAFETY"}]},
    "bedrock": {**ANSWERS["bedrock"], "output": {"message": {"role": "assistant", "content": []}}},
}


@every
def test_m48_without_parts_only_the_usage_is_recorded(name: str) -> None:
    """M-48."""
    after = ingest(name, EMPTY_ANSWERS[name])

    assert (after.messages, len(after.usage_log)) == ((), 1)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("chat", {"choices": []}),
        ("chat", {"choices": None}),
        ("chat", {}),
        ("google", {"candidates": []}),
        ("google", {}),
        ("images", {"data": None}),
        ("images", {}),
    ],
)
def test_m48_an_answer_without_choices_changes_nothing(name: str, missing: Json) -> None:
    """M-48: chat without choices, google without candidates, images without a data list; usage included."""
    context = Context().user("a")
    counted = {key: ANSWERS[name][key] for key in ("usage", "usageMetadata") if key in ANSWERS[name]}

    assert ingest(name, {**counted, **missing}, context) == context


def test_acceptance_case_5_a_plan_with_nothing_set() -> None:
    planned = plan("anthropic", user("a"))

    assert len(planned.warnings) == 1
    assert "4096" in planned.warnings[0]
    planned.assert_valid()
    with pytest.raises(PlanValidationError):
        planned.assert_valid(fail_on_warnings=True)


def test_acceptance_case_6_a_seed_for_anthropic() -> None:
    planned = plan("anthropic", user("a"), seed=7)

    assert planned.excluded[0].description == "seed"
    assert planned.unused_parameter_warnings()[0].startswith("unused parameter 'seed': ")


def test_acceptance_case_9_anthropic_roles() -> None:
    messages = (user("a"), user("b"), tool(tool_result("c")), assistant("d"))

    assert [turn["role"] for turn in request("anthropic", *messages)["messages"]] == ["user", "assistant"]


def test_acceptance_case_11_signed_thinking() -> None:
    """And README case 1: signed thinking, text and two tool calls."""
    answer = answer_of(
        "anthropic",
        SIGNED,
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "t1", "name": "dig", "input": {"n": 1}},
        {"type": "tool_use", "id": "t2", "name": "dig", "input": {}},
    )
    context = ingest("anthropic", answer, Context().user("q"))
    context = context.append(tool(tool_result("a"), tool_result("b", call_id="t2")))

    planned = AnthropicMessagesAdapter().plan(context, a_spec("anthropic"))

    assert planned.request["messages"][1] == {"role": "assistant", "content": answer["content"]}
    assert planned.must_roundtrip == ("context.messages[1].parts[0]",)
