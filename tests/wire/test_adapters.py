"""plan() and ingest() of the seven endpoints, rule by rule (model.md, sections 8 to 12)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import assistant, message, text, thinking, tool, tool_call, tool_result, user
from weft.blobs import InMemoryBlobStore
from weft.canon import (
    AdapterCapabilities,
    AdapterId,
    Context,
    Cursor,
    ExcludedItem,
    Instructions,
    Message,
    Part,
    RequestPlan,
    RunSpec,
    ToolSpecification,
    Usage,
    thaw,
)
from weft.errors import PlanValidationError
from weft.wire import (
    AdapterProtocol,
    AnthropicMessagesAdapter,
    AutoAdapter,
    BedrockConverseAdapter,
    GoogleGenAIAdapter,
    OpenAIChatCompletionsAdapter,
    OpenAIImagesAdapter,
    OpenAIResponsesAdapter,
    OpenAIResponsesCompactAdapter,
)

if TYPE_CHECKING:
    from weft.wire import Adapter

Json = dict[str, Any]
# Provider and endpoint of each, by the name its tests go by; the order is that of the spec's table.
ADAPTERS: dict[str, tuple[type[Adapter], str, str]] = {
    "responses": (OpenAIResponsesAdapter, "openai", "responses.create"),
    "compact": (OpenAIResponsesCompactAdapter, "openai", "responses.compact"),
    "chat": (OpenAIChatCompletionsAdapter, "openai", "chat.completions"),
    "images": (OpenAIImagesAdapter, "openai", "images.generate"),
    "anthropic": (AnthropicMessagesAdapter, "anthropic", "messages.create"),
    "google": (GoogleGenAIAdapter, "google", "models.generate_content"),
    "bedrock": (BedrockConverseAdapter, "bedrock", "converse"),
}
every = pytest.mark.parametrize("name", ADAPTERS)
TOOL = ToolSpecification("dig", "Dig a hole", {"type": "object", "properties": {"n": {"type": "integer"}}})


def a_spec(name: str, model: str = "m", **fields: Any) -> RunSpec:
    _, provider, endpoint = ADAPTERS[name]
    return RunSpec(provider, endpoint, model, **fields)


def plan(name: str, *messages: Message, blobs: InMemoryBlobStore | None = None, **fields: Any) -> RequestPlan:
    context = Context(messages, blob_store=blobs or InMemoryBlobStore())
    return ADAPTERS[name][0]().plan(context, a_spec(name, **fields))


def request(name: str, *messages: Message, blobs: InMemoryBlobStore | None = None, **fields: Any) -> Json:
    return plan(name, *messages, blobs=blobs, **fields).request


def ingest(name: str, response: Any, context: Context | None = None, **fields: Any) -> Context:
    return ADAPTERS[name][0]().ingest(Context() if context is None else context, response, spec=a_spec(name, **fields))


def heard(name: str, response: Any, context: Context | None = None) -> tuple[Part, ...]:
    """Give the parts of the one message an answer becomes."""
    [got] = ingest(name, response, context).messages
    return got.parts


# One answer of each, in its smallest form.
ANSWERS: dict[str, Json] = {
    "responses": {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5",
        "status": "completed",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Aye."}]},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    },
    "compact": {
        "id": "resp_2",
        "object": "response.compaction",
        "output": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    },
    "chat": {
        "id": "chatcmpl_1",
        "model": "gpt-5",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Aye."}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    },
    "images": {
        "created": 1,
        "data": [{"b64_json": "aGk="}],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Aye."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "google": {
        "responseId": "r1",
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Aye."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
    },
    "bedrock": {
        "output": {"message": {"role": "assistant", "content": [{"text": "Aye."}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
    },
}


# -- the frame -------------------------------------------------------------------------------------------------


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


INCLUDED = {
    "responses": (
        "2 messages",
        "system instruction",
        "developer instruction",
        "1 tools",
        "response_schema",
        "response_modalities",
        "extra_headers",
        "extra_query",
        "previous_response_id",
    ),
    "compact": (
        "2 messages",
        "system instruction",
        "developer instruction",
        "extra_headers",
        "extra_query",
        "previous_response_id",
    ),
    "chat": (
        "2 messages",
        "system instruction",
        "developer instruction",
        "1 tools",
        "response_schema",
        "response_modalities",
        "extra_headers",
        "extra_query",
    ),
    "images": (
        "2 messages",
        "system instruction",
        "developer instruction",
        "response_modalities",
        "extra_headers",
        "extra_query",
    ),
    "anthropic": (
        "2 messages",
        "system instruction",
        "developer instruction",
        "1 tools",
        "response_schema",
        "extra_headers",
        "extra_query",
    ),
    "google": (
        "2 messages",
        "system instruction",
        "developer instruction",
        "1 tools",
        "response_schema",
        "response_modalities",
        "extra_headers",
    ),
    "bedrock": (
        "2 messages",
        "system instruction",
        "developer instruction",
        "1 tools",
        "tool_choice",
        "response_schema",
    ),
}


@every
def test_m45_what_is_included_is_listed(name: str) -> None:
    """M-45: the entries used, with n = messages in the context."""
    context = Context((user("a"), user("b")), cursor=Cursor("resp_0"))
    spec = a_spec(
        name,
        "dall-e-3",
        instructions=Instructions("s", "d"),
        max_output_tokens=5,
        tools=(TOOL,),
        tool_choice="auto",
        response_schema={"type": "object"},
        response_modalities=("url",),
        extra_headers={"x-a": "1"},
        extra_query={"q": "1"},
    )

    planned = ADAPTERS[name][0]().plan(context, spec)

    assert set(planned.included) == set(INCLUDED[name])
    assert len(planned.included) == len(set(planned.included))


UNSENDABLE = {
    "responses": [Part("hologram", text="x"), Part("image"), Part("file")],
    "compact": [Part("hologram", text="x"), Part("image"), Part("file")],
    "chat": [Part("hologram", text="x"), Part("image"), Part("file")],
    "anthropic": [Part("hologram", text="x"), Part("image"), Part("file")],
    "google": [Part("hologram", text="x"), Part("image"), Part("file")],
    "bedrock": [Part("hologram", text="x"), Part("image"), Part("file")],
}


@pytest.mark.parametrize("name", UNSENDABLE)
def test_m46_a_part_that_cannot_be_sent_is_excluded_by_its_place(name: str) -> None:
    """M-46: and a message that yields nothing, by its own."""
    planned = plan(name, user("go", *UNSENDABLE[name]), assistant(Part("hologram", text="x")), user("on"))

    places = [item.description for item in planned.excluded]
    assert places[:3] == [f"context.messages[0].parts[{p}]" for p in (1, 2, 3)]
    assert set(places[3:]) == {"context.messages[1].parts[0]", "context.messages[1]"}
    assert all(item.reason for item in planned.excluded)


CALLS = [Part("tool_call", tool_name="dig"), Part("tool_call", tool_call_id="t9")]


@pytest.mark.parametrize("name", ["responses", "compact", "chat", "anthropic", "bedrock"])
def test_m46_a_call_without_id_and_a_result_without_one_are_excluded(name: str) -> None:
    """M-46, with the reasons of section 10. A call that has an id is answered, so only its name is missing."""
    planned = plan(
        name, user("go"), assistant("a", CALLS[0]), tool(Part("tool_result", tool_name="x", tool_output="r"))
    )

    assert [(item.description, item.reason) for item in planned.excluded if "parts" in item.description] == [
        ("context.messages[1].parts[1]", "tool_call without id or name"),
        ("context.messages[2].parts[0]", "tool_result without id"),
    ]


@pytest.mark.parametrize(
    ("name", "fields", "excluded"),
    [
        ("responses", {"seed": 7}, ["seed"]),
        (
            "compact",
            {
                "max_output_tokens": 5,
                "temperature": 0.5,
                "top_p": 0.5,
                "seed": 7,
                "tools": (TOOL,),
                "tool_choice": "auto",
                "response_schema": {"type": "object"},
                "response_modalities": ("text",),
            },
            [
                "max_output_tokens",
                "temperature",
                "top_p",
                "seed",
                "tools",
                "tool_choice",
                "response_schema",
                "response_modalities",
            ],
        ),
        (
            "images",
            {
                "max_output_tokens": 5,
                "temperature": 0.5,
                "top_p": 0.5,
                "seed": 7,
                "tools": (TOOL,),
                "tool_choice": "auto",
                "response_schema": {"type": "object"},
            },
            ["max_output_tokens", "temperature", "top_p", "seed", "tools", "tool_choice", "response_schema"],
        ),
        ("anthropic", {"seed": 7}, ["seed"]),
        ("google", {"extra_query": {"q": "1"}}, ["extra_query"]),
        (
            "bedrock",
            {"seed": 7, "response_modalities": ("text",), "extra_headers": {"a": "1"}, "extra_query": {"q": "1"}},
            ["seed", "response_modalities", "extra_headers", "extra_query"],
        ),
        ("bedrock", {"tool_choice": "none"}, ["tool_choice"]),
        ("bedrock", {"tool_choice": {"odd": 1}}, ["tool_choice"]),
        ("chat", {"seed": 7}, []),
        ("google", {"seed": 7}, []),
    ],
)
def test_m46_a_field_the_endpoint_lacks_is_excluded_by_its_name(name: str, fields: Json, excluded: list[str]) -> None:
    """M-46; the table of section 9."""
    planned = plan(name, user("a"), **fields)

    assert [item.description for item in planned.excluded] == excluded
    assert all(ADAPTERS[name][2] in item.reason for item in planned.excluded)


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


# -- AutoAdapter -----------------------------------------------------------------------------------------------


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


# -- section 9: settings ---------------------------------------------------------------------------------------

FULL: Json = {
    "instructions": Instructions("Be brief.", "Metres."),
    "max_output_tokens": 9,
    "temperature": 0.5,
    "top_p": 0.25,
    "tools": (TOOL,),
}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
SETTINGS: list[tuple[str, Json, Json]] = [
    (
        "responses",
        {**FULL, "tool_choice": "auto", "response_modalities": ("text",), "extra_headers": {"x": "1"}},
        {
            "model": "m",
            "input": [{"role": "user", "content": "a"}],
            "instructions": "Be brief.\n\nMetres.",
            "max_output_tokens": 9,
            "temperature": 0.5,
            "top_p": 0.25,
            "tools": [
                {"type": "function", "name": "dig", "description": "Dig a hole", "parameters": thaw(TOOL.input_schema)}
            ],
            "tool_choice": "auto",
            "modalities": ["text"],
            "extra_headers": {"x": "1"},
        },
    ),
    (
        "compact",
        {"instructions": Instructions("Be brief."), "extra_query": {"q": "1"}},
        {
            "model": "m",
            "input": [{"role": "user", "content": "a"}],
            "instructions": "Be brief.",
            "extra_query": {"q": "1"},
        },
    ),
    (
        "chat",
        {**FULL, "seed": 7, "tool_choice": "none", "response_modalities": ("text",), "response_schema": {"name": "n"}},
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "developer", "content": "Metres."},
                {"role": "user", "content": "a"},
            ],
            "max_tokens": 9,
            "temperature": 0.5,
            "top_p": 0.25,
            "seed": 7,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "dig",
                        "description": "Dig a hole",
                        "parameters": thaw(TOOL.input_schema),
                    },
                }
            ],
            "tool_choice": "none",
            "modalities": ["text"],
            "response_format": {"type": "json_schema", "json_schema": {"name": "n"}},
        },
    ),
    (
        "anthropic",
        {**FULL, "tool_choice": {"type": "any"}, "response_schema": SCHEMA},
        {
            "model": "m",
            "system": "Be brief.\n\nMetres.",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
            "max_tokens": 9,
            "temperature": 0.5,
            "top_p": 0.25,
            "tools": [{"name": "dig", "description": "Dig a hole", "input_schema": thaw(TOOL.input_schema)}],
            "tool_choice": {"type": "any"},
            "output_config": {"format": {"type": "json_schema", "schema": {**SCHEMA, "additionalProperties": False}}},
        },
    ),
    (
        "google",
        {
            **FULL,
            "seed": 7,
            "tool_choice": {"function_calling_config": {"mode": "ANY"}},
            "response_schema": SCHEMA,
            "response_modalities": ("TEXT",),
            "extra_headers": {"x": "1"},
        },
        {
            "model": "m",
            "contents": [{"role": "user", "parts": [{"text": "a"}]}],
            "config": {
                "system_instruction": "Be brief.\n\nMetres.",
                "max_output_tokens": 9,
                "temperature": 0.5,
                "top_p": 0.25,
                "seed": 7,
                "tools": [
                    {
                        "function_declarations": [
                            {"name": "dig", "description": "Dig a hole", "parameters": thaw(TOOL.input_schema)}
                        ]
                    }
                ],
                "tool_config": {"function_calling_config": {"mode": "ANY"}},
                "response_schema": SCHEMA,
                "response_mime_type": "application/json",
                "response_modalities": ["TEXT"],
                "http_options": {"headers": {"x": "1"}},
            },
        },
    ),
    (
        "bedrock",
        {**FULL, "tool_choice": "required", "response_schema": {"name": "n", "schema": SCHEMA}},
        {
            "modelId": "m",
            "messages": [{"role": "user", "content": [{"text": "a"}]}],
            "system": [{"text": "Be brief."}, {"text": "Metres."}],
            "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "topP": 0.25},
            "toolConfig": {
                "tools": [
                    {
                        "toolSpec": {
                            "name": "dig",
                            "description": "Dig a hole",
                            "inputSchema": {"json": thaw(TOOL.input_schema)},
                        }
                    }
                ],
                "toolChoice": {"any": {}},
            },
            "outputConfig": {
                "textFormat": {
                    "type": "json_schema",
                    "structure": {
                        "jsonSchema": {
                            "name": "n",
                            "schema": '{"type":"object","properties":{"n":{"type":"integer"}},'
                            '"additionalProperties":false}',
                        }
                    },
                }
            },
        },
    ),
]


@pytest.mark.parametrize(("name", "fields", "written"), SETTINGS)
def test_every_setting_is_written_where_the_table_says(name: str, fields: Json, written: Json) -> None:
    """Section 9."""
    assert request(name, user("a"), **fields) == written


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (SCHEMA, {"type": "json_schema", "name": "response", "schema": SCHEMA}),
        ({"name": "n", "schema": SCHEMA}, {"type": "json_schema", "name": "n", "schema": SCHEMA}),
        ({"schema": SCHEMA, "name": ""}, {"type": "json_schema", "name": "response", "schema": SCHEMA}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
            {"type": "json_schema", "name": "n", "schema": SCHEMA},
        ),
        ({"json_schema": {"schema": SCHEMA}}, {"type": "json_schema", "name": "response", "schema": SCHEMA}),
        (
            {"type": "json_schema", "name": "n", "schema": SCHEMA},
            {"type": "json_schema", "name": "n", "schema": SCHEMA},
        ),
        (
            {"name": "n", "strict": True, "schema": {"type": ["object", "null"]}},
            {
                "type": "json_schema",
                "name": "n",
                "strict": True,
                "schema": {"type": ["object", "null"], "additionalProperties": False},
            },
        ),
    ],
)
def test_the_text_format_of_responses(schema: Json, written: Json) -> None:
    """Section 9, Responses `text.format`."""
    assert request("responses", user("a"), response_schema=schema)["text"] == {"format": written}


def test_an_explicit_text_format_needs_a_schema() -> None:
    """Section 9."""
    with pytest.raises(ValueError, match="schema"):
        plan("responses", user("a"), response_schema={"type": "json_schema", "name": "n"})


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", {"auto": {}}),
        ("any", {"any": {}}),
        ("required", {"any": {}}),
        ({"tool": {"name": "dig"}}, {"tool": {"name": "dig"}}),
        ({"auto": {}}, {"auto": {}}),
        ({"type": "function", "function": {"name": "dig"}}, {"tool": {"name": "dig"}}),
        ({"name": "dig"}, {"tool": {"name": "dig"}}),
        ({"type": "any"}, {"any": {}}),
    ],
)
def test_the_tool_choice_of_bedrock_works_without_tools_too(choice: Any, written: Json) -> None:
    """Section 9, Bedrock tool choice."""
    assert request("bedrock", user("a"), tool_choice=choice)["toolConfig"] == {"toolChoice": written}


@pytest.mark.parametrize("name", ["responses", "compact"])
def test_the_cursor_is_sent_with_the_whole_history(name: str) -> None:
    """Section 9, Cursor."""
    context = Context((user("a"), assistant("b")), cursor=Cursor("resp_0", "conv_1"))

    planned = ADAPTERS[name][0]().plan(context, a_spec(name))

    assert (planned.request["previous_response_id"], len(planned.request["input"])) == ("resp_0", 2)
    assert "previous_response_id" in planned.included


def test_a_cursor_of_responses_means_nothing_to_others() -> None:
    """A result whose call only OpenAI remembers is an orphan everywhere else."""
    context = Context((user("a"), tool(tool_result("ok"))), cursor=Cursor("resp_0"))

    kept = OpenAIResponsesAdapter().plan(context, a_spec("responses"))
    mended = AnthropicMessagesAdapter().plan(context, a_spec("anthropic", max_output_tokens=1))

    assert kept.request["input"][-1] == {"type": "function_call_output", "call_id": "t1", "output": "ok"}
    assert kept.warnings == ()
    assert mended.warnings == ("context.messages[1]: tool result 't1' answers no call; it is sent as text",)


@pytest.mark.parametrize(
    ("name", "messages", "count"),
    [
        ("responses", [], 1),
        ("compact", [], 1),
        ("chat", [], 1),
        ("anthropic", [], 1),
        ("google", [], 1),
        ("bedrock", [], 0),
        ("responses", [user("a"), user(Part("hologram"))], 1),
        ("chat", [user("a"), user(Part("hologram")), user(Part("image"))], 2),
        ("anthropic", [assistant("a")], 1),
        ("bedrock", [user(Part("hologram"))], 0),
        ("anthropic", [user("a"), user("b")], 0),
    ],
)
def test_plan_errors_are_told_and_not_raised(name: str, messages: list[Message], count: int) -> None:
    """Section 9, plan errors."""
    planned = plan(name, *messages, max_output_tokens=1)

    assert len(planned.errors) == count
    if count:
        with pytest.raises(PlanValidationError, match="- error: "):
            planned.assert_valid()


def test_responses_with_instructions_alone_is_no_error() -> None:
    """Section 9: no input items *and* no instructions."""
    assert plan("responses", instructions=Instructions("Be brief.")).errors == ()


# -- images ----------------------------------------------------------------------------------------------------


def test_a_picture_is_made_from_the_latest_user_message() -> None:
    """Section 9, images.generate."""
    got = request(
        "images",
        user("an older wish"),
        assistant("ok"),
        user("a pier", "at dusk"),
        instructions=Instructions("Oil on canvas.", "No people."),
    )

    assert got == {"model": "m", "prompt": "Oil on canvas.\n\nNo people.\n\na pier\nat dusk"}


@pytest.mark.parametrize("messages", [[], [assistant("a")], [user("a"), user(Part("image"))], [user()]])
def test_without_words_there_is_no_picture(messages: list[Message]) -> None:
    """Section 9: no user message, or no text in it, is a ValueError."""
    with pytest.raises(ValueError, match=r"images\.generate|prompt"):
        plan("images", *messages)


@pytest.mark.parametrize(
    ("model", "modality", "sent", "warned"),
    [
        ("dall-e-3", "url", "url", False),
        ("dall-e-3", "image_url", "url", False),
        ("dall-e-2", "b64_json", "b64_json", False),
        ("dall-e-2", "base64", "b64_json", False),
        ("dall-e-2", "b64", "b64_json", False),
        ("gpt-image-1", "url", None, True),
        ("dall-e-3", "hologram", None, True),
    ],
)
def test_the_first_modality_chooses_the_form(model: str, modality: str, sent: str | None, warned: bool) -> None:
    """Section 9, images.generate."""
    planned = plan("images", user("a"), model=model, response_modalities=(modality, "x"))

    assert (planned.request.get("response_format"), bool(planned.warnings)) == (sent, warned)


def test_an_orphan_result_is_not_taken_for_a_wish() -> None:
    """Mending is for conversations; a picture is made from one prompt."""
    assert request("images", user("a pier"), tool(tool_result("6.2 m")))["prompt"] == "a pier"


# -- section 10: parts -----------------------------------------------------------------------------------------


def _files(store: InMemoryBlobStore) -> dict[str, Part]:
    return {
        "image": Part("image", blob=store.put_blob(b"hi", media_type="image/png", kind="image")),
        "file": Part("file", blob=store.put_blob(b"hi", media_type="application/pdf", kind="file")),
    }


TALK = (
    user("Depth?"),
    assistant("One", "moment.", tool_call("dig", {"n": 1}), tool_call("dig", {}, call_id="t2")),
    tool(tool_result("6.2 m"), tool_result({"a": 1}, call_id="t2")),
    message("system", "Be kind."),
    message("developer", "Metres."),
    user("So?", "Well?"),
)
SPOKEN: dict[str, Json] = {
    "responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": "Depth?"},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "One"}, {"type": "output_text", "text": "moment."}],
            },
            {"type": "function_call", "call_id": "t1", "name": "dig", "arguments": '{"n":1}'},
            {"type": "function_call", "call_id": "t2", "name": "dig", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t1", "output": "6.2 m"},
            {"type": "function_call_output", "call_id": "t2", "output": '{"a":1}'},
            {"role": "system", "content": "Be kind."},
            {"role": "developer", "content": "Metres."},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "So?"}, {"type": "input_text", "text": "Well?"}],
            },
        ],
    },
    "chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Depth?"},
            {
                "role": "assistant",
                "content": "One moment.",
                "tool_calls": [
                    {"id": "t1", "type": "function", "function": {"name": "dig", "arguments": '{"n":1}'}},
                    {"id": "t2", "type": "function", "function": {"name": "dig", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "6.2 m"},
            {"role": "tool", "tool_call_id": "t2", "content": '{"a":1}'},
            {"role": "system", "content": "Be kind."},
            {"role": "developer", "content": "Metres."},
            {"role": "user", "content": [{"type": "text", "text": "So?"}, {"type": "text", "text": "Well?"}]},
        ],
    },
    "anthropic": {
        "model": "m",
        "system": "Be kind.\n\nMetres.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Depth?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "One"},
                    {"type": "text", "text": "moment."},
                    {"type": "tool_use", "id": "t1", "name": "dig", "input": {"n": 1}},
                    {"type": "tool_use", "id": "t2", "name": "dig", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "6.2 m"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": '{"a":1}'},
                    {"type": "text", "text": "So?"},
                    {"type": "text", "text": "Well?"},
                ],
            },
        ],
        "max_tokens": 4096,
    },
    "google": {
        "model": "m",
        "contents": [
            {"role": "user", "parts": [{"text": "Depth?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "One"},
                    {"text": "moment."},
                    {"function_call": {"name": "dig", "args": {"n": 1}, "id": "t1"}},
                    {"function_call": {"name": "dig", "args": {}, "id": "t2"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"function_response": {"name": "dig", "response": {"result": "6.2 m"}, "id": "t1"}},
                    {"function_response": {"name": "dig", "response": {"a": 1}, "id": "t2"}},
                    {"text": "So?"},
                    {"text": "Well?"},
                ],
            },
        ],
        "config": {"system_instruction": "Be kind.\n\nMetres."},
    },
    "bedrock": {
        "modelId": "m",
        "messages": [
            {"role": "user", "content": [{"text": "Depth?"}]},
            {
                "role": "assistant",
                "content": [
                    {"text": "One"},
                    {"text": "moment."},
                    {"toolUse": {"toolUseId": "t1", "name": "dig", "input": {"n": 1}}},
                    {"toolUse": {"toolUseId": "t2", "name": "dig", "input": {}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "t1", "content": [{"text": "6.2 m"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "t2", "content": [{"text": '{"a":1}'}], "status": "success"}},
                    {"text": "So?"},
                    {"text": "Well?"},
                ],
            },
        ],
        "system": [{"text": "Be kind."}, {"text": "Metres."}],
    },
}
SPOKEN["compact"] = SPOKEN["responses"]


@pytest.mark.parametrize("name", SPOKEN)
def test_a_conversation_is_spoken_as_section_10_says(name: str) -> None:
    """Section 10: roles, calls, results, joining and merging, and M-52's names."""
    planned = plan(name, *TALK)

    assert planned.request == SPOKEN[name]
    assert (planned.excluded, planned.errors) == ((), ())


MEDIA: dict[str, list[Json]] = {
    "responses": [
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        {"type": "input_file", "filename": "upload.pdf", "file_data": "aGk="},
        {"type": "input_file", "file_id": "f1"},
    ],
    "chat": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "file", "file": {"file_data": "aGk=", "filename": "upload.bin"}},
        {"type": "file", "file": {"file_id": "f1"}},
    ],
    "anthropic": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}},
        {"type": "document", "source": {"type": "file", "file_id": "f1"}},
    ],
    "google": [
        {"inline_data": {"mime_type": "image/png", "data": b"hi"}},
        {"inline_data": {"mime_type": "application/pdf", "data": b"hi"}},
    ],
    "bedrock": [
        {"image": {"format": "png", "source": {"bytes": b"hi"}}},
        {"document": {"format": "pdf", "name": "document", "source": {"bytes": b"hi"}}},
    ],
}


@pytest.mark.parametrize("name", MEDIA)
def test_media_are_carried(name: str) -> None:
    """Section 10; README case 3: each carries the same bytes."""
    store = InMemoryBlobStore()
    files = _files(store)
    remote = [Part("file", provider_raw={"file_id": "f1"})] if len(MEDIA[name]) > 2 else []

    got = request(name, user("Look:", files["image"], files["file"], *remote), blobs=store, max_output_tokens=1)

    first = (got.get("input") or got.get("messages") or got["contents"])[0]
    assert (first.get("content") or first["parts"])[1:] == _as_written(name, MEDIA[name])


def _as_written(name: str, media: list[Json]) -> list[Json]:
    """Google's SDK takes bytes, and base64 as well; either is right."""
    if name != "google":
        return media
    return [{"inline_data": {**each["inline_data"], "data": "aGk="}} for each in media]


def test_files_of_google_by_address() -> None:
    """Section 10: file_data from raw file_uri or uri with mime_type or media_type."""
    parts = [
        Part("file", provider_raw={"file_uri": "gs://b/a.pdf", "mime_type": "application/pdf"}),
        Part("file", provider_raw={"uri": "gs://b/a.pdf", "media_type": "application/pdf"}),
    ]

    [content] = request("google", user(*parts))["contents"]

    written = {"file_data": {"file_uri": "gs://b/a.pdf", "mime_type": "application/pdf"}}
    assert content["parts"] == [written, written]


@pytest.mark.parametrize(
    ("media_type", "name", "written"),
    [
        ("application/pdf", "Log book (2).pdf", {"format": "pdf", "name": "Log_book__2__pdf"}),
        ("text/csv", None, {"format": "csv", "name": "document"}),
        ("application/x-new", None, {"format": "txt", "name": "document"}),
        ("text/markdown", None, {"format": "md", "name": "document"}),
    ],
)
def test_documents_of_bedrock_have_a_format_and_a_name(media_type: str, name: str | None, written: Json) -> None:
    """Section 10, bedrock/converse."""
    store = InMemoryBlobStore()
    blob = store.put_blob(b"hi", media_type=media_type, kind="file")
    raw = None if name is None else {"name": name}

    [turn] = request("bedrock", user("x", Part("file", blob=blob, provider_raw=raw)), blobs=store)["messages"]

    document = turn["content"][1]["document"]
    assert document == {**written, "source": {"bytes": b"hi"}}


def test_m52_the_name_of_a_result() -> None:
    """M-52: its own, else that of an earlier call with the same id, else raw; none of these: excluded."""
    named = Part("tool_result", tool_call_id="t1", tool_name="own", tool_output="x")
    raw = Part("tool_result", tool_call_id="t1", tool_output="x", provider_raw={"name": "raw"})

    def name_of(*messages: Message) -> Any:
        last = request("google", user("a"), *messages)["contents"][-1]["parts"][0]
        return last["function_response"]["name"]

    call = assistant(tool_call("dig"))
    assert name_of(call, tool(named)) == "own"
    assert name_of(call, tool(tool_result("x"))) == "dig"
    assert name_of(call, tool(raw)) == "dig"
    nameless = assistant(Part("tool_call", tool_call_id="t1"))
    planned = plan("google", user("a"), nameless, tool(tool_result("x")))
    assert planned.excluded[0].description == "context.messages[1].parts[0]"


@pytest.mark.parametrize(("name", "key"), [("anthropic", "is_error"), ("bedrock", "status")])
def test_a_failed_tool_is_marked(name: str, key: str) -> None:
    """Section 10, *weft adds* and *weft fixes*; README case 8."""
    part = Part("tool_result", tool_call_id="t1", tool_output="x", provider_raw={"is_error": True})

    last = request(name, user("a"), assistant(tool_call()), tool(part))["messages"][-1]["content"][0]

    assert (last.get("toolResult") or last)[key] == {"is_error": True, "status": "error"}[key]


@pytest.mark.parametrize(
    ("name", "part", "written"),
    [
        (
            "chat",
            thinking("hm"),
            {"role": "assistant", "content": "a", "reasoning_content": "hm"},
        ),
        (
            "chat",
            thinking("hm", raw={"reasoning": "raw"}),
            {"role": "assistant", "content": "a", "reasoning": "raw"},
        ),
        ("google", thinking("hm"), {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "a"}]}),
        (
            "bedrock",
            thinking("hm"),
            {
                "role": "assistant",
                "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "a"}],
            },
        ),
        (
            "anthropic",
            thinking("hm"),
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}],
            },
        ),
    ],
)
def test_thinking_by_hand_is_sent_as_section_10_says(name: str, part: Part, written: Json) -> None:
    got = request(name, user("q"), assistant(part, "a"))

    assert (got.get("messages") or got["contents"])[1] == written


def test_thinking_by_hand_has_no_place_in_responses() -> None:
    """Section 10: only the raw reasoning item of this API goes back."""
    planned = plan("responses", user("q"), assistant(thinking("hm"), "a"))

    assert [item.description for item in planned.excluded] == ["context.messages[1].parts[0]"]


def test_annotations_are_skipped_without_a_word() -> None:
    """Section 1: adapters skip `annotation` parts without listing them as excluded."""
    for name in ADAPTERS:
        assert plan(name, user("a", Part("annotation", json={"name": "n"}))).excluded == ()


# -- section 11: ingest ----------------------------------------------------------------------------------------

REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "s"}],
    "encrypted_content": "e",
}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
GOOGLE_CALL = {"functionCall": {"name": "dig", "args": {"n": 1}, "id": "t1"}, "thoughtSignature": "c2ln"}
BEDROCK_CALL = {"toolUse": {"toolUseId": "t1", "name": "dig", "input": {"n": 1}}}
BEDROCK_THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}


def answer_of(name: str, *content: Json) -> Json:
    match name:
        case "responses" | "compact":
            return {**ANSWERS[name], "output": list(content)}
        case "anthropic":
            return {**ANSWERS[name], "content": list(content)}
        case "google":
            return {"candidates": [{"content": {"role": "model", "parts": list(content)}}]}
        case "bedrock":
            return {"output": {"message": {"role": "assistant", "content": list(content)}}}
        case _:
            return {"choices": [{"message": content[0]}]}


KEPT: list[tuple[str, Json, str, str | None]] = [
    ("responses", {"type": "function_call", "call_id": "t1", "name": "dig", "arguments": '{"n":1}'}, "tool_call", None),
    ("responses", REASONING, "thinking", "s"),
    ("anthropic", {"type": "tool_use", "id": "t1", "name": "dig", "input": {"n": 1}}, "tool_call", None),
    ("anthropic", SIGNED, "thinking", "hm"),
    ("anthropic", {"type": "redacted_thinking", "data": "x"}, "thinking", None),
    ("anthropic", {"type": "compaction", "content": "so far"}, "compaction", None),
    ("google", GOOGLE_CALL, "tool_call", None),
    ("google", {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}, "thinking", "hm"),
    ("bedrock", BEDROCK_CALL, "tool_call", None),
    ("bedrock", BEDROCK_THOUGHT, "thinking", "hm"),
]


@pytest.mark.parametrize(("name", "block", "kind", "words"), KEPT)
def test_m53_the_providers_block_is_kept(name: str, block: Json, kind: str, words: str | None) -> None:
    """M-53: tool_call, thinking, compaction and image parts keep the provider block; plain text parts do not."""
    [part] = heard(name, answer_of(name, block))

    assert (part.type, part.text, thaw(part.provider_raw)) == (kind, words, block)
    if kind == "tool_call":
        assert (part.tool_call_id, part.tool_name, part.tool_args) == ("t1", "dig", {"n": 1})


@pytest.mark.parametrize("name", ["responses", "chat", "anthropic", "google", "bedrock"])
def test_m53_plain_text_keeps_nothing(name: str) -> None:
    """M-53."""
    assert heard(name, ANSWERS[name]) == (text("Aye."),)


def test_m53_pictures_keep_their_block_and_their_bytes() -> None:
    """M-53, section 11: base64 into a blob, a URL raw only."""
    store = Context()
    call = {"type": "image_generation_call", "id": "ig_1", "result": "aGk=", "status": "completed"}
    for name, answer in (
        ("images", ANSWERS["images"]),
        ("responses", answer_of("responses", call)),
        ("google", answer_of("google", {"inlineData": {"mimeType": "image/png", "data": "aGk="}})),
    ):
        [part] = heard(name, answer, store)
        assert part.blob is not None
        assert (part.type, part.blob.media_type, store.blob_store.get_blob(part.blob)) == ("image", "image/png", b"hi")
        assert part.provider_raw is not None

    [linked] = heard("images", {"data": [{"url": "https://example.org/a.png"}]})
    assert linked.blob is None
    assert thaw(linked.provider_raw) == {"url": "https://example.org/a.png"}


def test_m53_what_google_sends_inline_is_named_by_its_type() -> None:
    """Section 11: inline data is image, audio, video or file with a blob; both spellings are read."""
    kinds = ["image/png", "audio/wav", "video/mp4", "application/pdf"]
    camel = [{"inlineData": {"mimeType": kind, "data": "aGk="}} for kind in kinds]
    snake = [{"inline_data": {"mime_type": kind, "data": "aGk="}} for kind in kinds]

    for blocks in (camel, snake):
        assert [part.type for part in heard("google", answer_of("google", *blocks))] == [
            "image",
            "audio",
            "video",
            "file",
        ]


def test_chat_has_text_then_thinking_then_calls() -> None:
    """Section 11, chat.completions."""
    call = {"id": "t1", "type": "function", "function": {"name": "dig", "arguments": "{}"}}
    for field in ("reasoning_content", "reasoning"):
        parts = heard("chat", answer_of("chat", {"content": "Aye.", field: "hm", "tool_calls": [call]}))
        assert [(part.type, part.text) for part in parts] == [("text", "Aye."), ("thinking", "hm"), ("tool_call", None)]
        assert thaw(parts[2].provider_raw) == call


def test_compaction_is_a_blob_and_compact_takes_nothing_else() -> None:
    """Section 11: a blob of the encrypted text, kind `compaction`, application/octet-stream."""
    item = ANSWERS["compact"]["output"][0]
    other = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Aye."}]}
    for name in ("responses", "compact"):
        context = Context()
        [part] = [part for part in heard(name, answer_of(name, item, other), context) if part.type == "compaction"]
        assert part.blob is not None
        assert (part.blob.kind, part.blob.media_type) == ("compaction", "application/octet-stream")
        assert context.blob_store.get_blob(part.blob) == b"c2VhbGVk"

    assert [part.type for part in heard("compact", answer_of("compact", item, other))] == ["compaction"]


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("responses", "resp_1"),
        ("compact", "resp_2"),
        ("chat", "chatcmpl_1"),
        ("anthropic", "msg_1"),
        ("google", None),
        ("images", None),
        ("bedrock", None),
    ],
)
def test_m54_a_message_has_the_id_of_its_answer_where_listed(name: str, named: str | None) -> None:
    """M-54: responses, compact, chat, anthropic; none for the rest."""
    assert ingest(name, ANSWERS[name]).messages[0].id == named


@every
def test_m55_only_responses_moves_the_cursor(name: str) -> None:
    """M-55: last_response_id is the response's, the other two are kept. Compact does not."""
    context = Context(cursor=Cursor("resp_0", "conv_1", "sess_1"))

    moved = "resp_1" if name == "responses" else "resp_0"
    assert ingest(name, ANSWERS[name], context).cursor == Cursor(moved, "conv_1", "sess_1")


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("anthropic", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
        ("anthropic", {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}),
        ("responses", {"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        ("responses", {"type": "brand_new", "id": "bn_1", "x": [1]}),
    ],
)
def test_m56_blocks_that_are_the_providers_own_go_back_to_it_alone(name: str, block: Json) -> None:
    """M-56."""
    said = {"anthropic": {"type": "text", "text": "Aye."}}.get(name, ANSWERS["responses"]["output"][0])
    context = ingest(name, answer_of(name, block, said), Context().user("q"))

    [part, _] = context.messages[1].parts
    assert (part.type, thaw(part.provider_raw)) == ("provider", block)
    for other in ("responses", "chat", "anthropic", "google", "bedrock"):
        planned = ADAPTERS[other][0]().plan(context, a_spec(other, max_output_tokens=1))
        items = planned.request.get("input") or planned.request.get("messages") or planned.request["contents"]
        sent = [each for item in items for each in (item, *(item.get("content") or item.get("parts") or ()))]
        assert (block in sent) == (other == name)
        assert ("context.messages[1].parts[0]" in [item.description for item in planned.excluded]) == (other != name)
        assert ("context.messages[1].parts[0]" in planned.must_roundtrip) == (other == name)


@every
def test_m57_why_it_stopped_and_who_answered_is_not_in_the_context(name: str) -> None:
    """M-57."""
    written = str(ingest(name, ANSWERS[name]).to_dict())

    assert not any(word in written for word in ("finish_reason", "stop_reason", "stopReason", "finishReason"))


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 20, "thoughtsTokenCount": 5, "totalTokenCount": 35},
            (10, 25, 35),
        ),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 20, "thoughtsTokenCount": 5, "totalTokenCount": 30},
            (10, 20, 30),
        ),
        ({"promptTokenCount": 10, "candidatesTokenCount": 20, "thoughtsTokenCount": 5}, (10, 25, 35)),
        (
            {
                "prompt_token_count": 10,
                "candidates_token_count": 20,
                "tool_use_prompt_token_count": 3,
                "total_token_count": 33,
            },
            (13, 20, 33),
        ),
        ({"promptTokenCount": 10, "candidatesTokenCount": 20}, (10, 20, 30)),
    ],
)
def test_the_usage_of_google(usage: Json, counts: tuple[int, int, int]) -> None:
    """Section 11, usage; acceptance case 8."""
    [got] = ingest("google", {**ANSWERS["google"], "usageMetadata": usage}).usage_log

    assert (got.input_tokens, got.output_tokens, got.total_tokens) == counts


@pytest.mark.parametrize(
    ("name", "usage", "counts"),
    [
        ("chat", {"prompt_tokens": 3, "completion_tokens": "x", "total_tokens": 5}, (3, None, 5)),
        ("bedrock", {"inputTokens": 3, "outputTokens": 2}, (3, 2, 5)),
        ("anthropic", {"input_tokens": 3, "output_tokens": 2}, (3, 2, 5)),
        ("responses", {"input_tokens": 3.5, "output_tokens": 2, "total_tokens": True}, (None, 2, None)),
    ],
)
def test_the_usage_of_others(name: str, usage: Json, counts: tuple[int | None, ...]) -> None:
    """Section 11, usage: non-integers count as None."""
    [got] = ingest(name, {**ANSWERS[name], "usage": usage}).usage_log

    assert (got.input_tokens, got.output_tokens, got.total_tokens) == counts


# -- section 12: acceptance cases ------------------------------------------------------------------------------


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


# -- what weft adds: mending, strictness, estimates ------------------------------------------------------------


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
def test_m6_a_message_of_another_role_is_excluded(name: str) -> None:
    """M-6: role outside the five: adapters exclude such messages."""
    planned = plan(name, user("a"), message("critic", "hm"), user("b"))  # type: ignore[arg-type]

    if name != "images":
        assert [item.description for item in planned.excluded] == ["context.messages[1]"]
    assert "hm" not in str(planned.request)


@pytest.mark.parametrize("name", ["responses", "chat", "anthropic", "google", "bedrock"])
def test_what_is_not_text_in_a_system_message_is_excluded_and_not_lost(name: str) -> None:
    """M-46."""
    store = InMemoryBlobStore()
    horn = Part("audio", blob=store.put_blob(b"hi", media_type="audio/wav", kind="audio"))

    planned = plan(name, message("system", "look", horn, tool_call()), user("a"), blobs=store, max_output_tokens=1)

    sent = "aGk=" in str(planned.request) or "b'hi'" in str(planned.request)
    places = [item.description for item in planned.excluded]
    assert sent != ("context.messages[0].parts[1]" in places)
    assert "context.messages[0].parts[2]" in places


@every
def test_every_plan_has_an_estimate(name: str) -> None:
    """Issue 3, item 2: plan() fills a token_estimate."""
    store = InMemoryBlobStore()
    short, long = plan(name, user("a")), plan(name, user("word " * 400))
    full = plan(
        name,
        user("a", *_files(store).values()),
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
