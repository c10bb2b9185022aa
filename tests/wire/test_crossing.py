"""Settings taken from one dialect to another: what is carried, what is said anew, what stays behind."""

from __future__ import annotations

from typing import Any

import pytest

from weft.canon import ExcludedItem, RunSpec, ToolSpecification, output_text, thaw
from weft.wire import dialect
from weft.wire.crossing import cross

NAMES = ("openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "cohere", "ollama")
HI = [{"role": "user", "content": "hi"}]
DIG = ToolSpecification("dig", "d", {"type": "object"})


def crossed(target: str, source: str = "openai_chat", **fields: Any) -> tuple[RunSpec, list[ExcludedItem]]:
    spoken = dialect(source)
    return cross(RunSpec(spoken.provider, spoken.endpoint, "m", **fields), spoken, dialect(target))


def read(source: str, **body: Any) -> RunSpec:
    spec: RunSpec = dialect(source).decode_request(body).spec
    return spec


def left(source: str, target: str, **body: Any) -> list[str]:
    """Name what stays behind of a request."""
    _, losses = cross(read(source, **body), dialect(source), dialect(target))
    return [item.description for item in losses]


def test_canons_own_fields_are_carried_and_the_address_is_not() -> None:
    given: dict[str, Any] = {
        "max_output_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.1,
        "seed": 7,
        "tools": (DIG,),
        "response_schema": {"type": "object"},
    }

    spec, losses = crossed(
        "anthropic",
        **given,
        api_version="v1",
        base_url="https://example.org",
        extra_headers={"x-a": "1"},
        extra_query={"q": "1"},
    )

    assert spec == RunSpec("anthropic", "messages.create", "m", **given)
    assert losses == [
        ExcludedItem("extra_body.extra_headers", "a field of openai_chat that anthropic does not have"),
        ExcludedItem("extra_body.extra_query", "a field of openai_chat that anthropic does not have"),
    ]


@pytest.mark.parametrize(("given", "asked", "model"), [("m", None, "m"), ("m", "other", "other"), ("", None, "model")])
def test_there_is_always_a_model(given: str, asked: str | None, model: str) -> None:
    """Gemini and Bedrock have it in the path, so a body may lack it."""
    spec, _ = cross(
        RunSpec("google", "models.generate_content", given), dialect("gemini"), dialect("anthropic"), model=asked
    )

    assert spec.model == model


STOPS: dict[str, dict[str, Any]] = {
    "openai_chat": {"stop": ["x"]},
    "anthropic": {"stop_sequences": ["x"]},
    "gemini": {"generationConfig": {"stopSequences": ["x"]}},
    "bedrock": {"inferenceConfig": {"stopSequences": ["x"]}},
    "cohere": {"stop_sequences": ["x"]},
    "ollama": {"options": {"stop": ["x"]}},
}


@pytest.mark.parametrize("source", STOPS)
@pytest.mark.parametrize("target", STOPS)
def test_stop_sequences_are_carried(source: str, target: str) -> None:
    if source == target:
        return
    spec, losses = crossed(target, source, extra_body=STOPS[source])

    assert (thaw(spec.extra_body), losses) == (STOPS[target], [])


def test_one_stop_sequence_is_a_list_of_one_and_without_a_place_a_loss() -> None:
    assert thaw(crossed("anthropic", extra_body={"stop": "x"})[0].extra_body) == {"stop_sequences": ["x"]}
    assert crossed("openai_responses", extra_body={"stop": "x"})[1] == [
        ExcludedItem("extra_body.stop", "a field of openai_chat that openai_responses does not have")
    ]


@pytest.mark.parametrize("target", NAMES)
def test_streaming_stays_streaming_where_the_body_says_so(target: str) -> None:
    source = "anthropic" if target == "openai_chat" else "openai_chat"

    spec, losses = crossed(target, source, extra_body={"stream": True, "stream_options": {"include_usage": True}})

    by_key = target not in ("gemini", "bedrock")  # these say it in the path
    assert (thaw(spec.extra_body), losses) == ({"stream": True} if by_key else {}, [])


def test_fields_of_the_source_alone_are_losses() -> None:
    spec, losses = crossed("anthropic", extra_body={"logprobs": True, "reasoning_effort": "low"})

    assert spec.extra_body == {}
    assert losses == [
        ExcludedItem("extra_body.logprobs", "a field of openai_chat that anthropic does not have"),
        ExcludedItem("extra_body.reasoning_effort", "a field of openai_chat that anthropic does not have"),
    ]


@pytest.mark.parametrize(
    ("source", "body", "behind"),
    [
        ("openai_chat", {"max_completion_tokens": 5}, []),
        ("openai_chat", {"response_format": {"type": "text"}}, []),
        ("openai_chat", {"response_format": {"type": "json_object"}}, ["extra_body.response_format"]),
        (
            "openai_chat",
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {}}}},
            [],
        ),
        ("openai_responses", {"text": {"verbosity": "low", "format": {"type": "text"}}}, ["extra_body.text.verbosity"]),
        ("openai_responses", {"text": {"format": {"type": "json_object"}}}, ["extra_body.text.format"]),
        ("anthropic", {"output_config": {"effort": "low"}}, ["extra_body.output_config.effort"]),
        (
            "gemini",
            {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1}, "maxOutputTokens": 4}},
            ["extra_body.generationConfig.thinkingConfig"],
        ),
        ("gemini", {"generationConfig": {"responseMimeType": "text/plain"}}, []),
        (
            "gemini",
            {"generationConfig": {"responseMimeType": "application/json"}},
            ["extra_body.generationConfig.responseMimeType"],
        ),
        (
            "gemini",
            {"generationConfig": {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"}}},
            [],
        ),
        ("bedrock", {"inferenceConfig": {"maxTokens": 4}}, []),
        ("bedrock", {"additionalModelRequestFields": {"k": 1}}, ["extra_body.additionalModelRequestFields"]),
        ("cohere", {"documents": ["d"]}, ["extra_body.documents"]),
        ("ollama", {"options": {"num_ctx": 5, "temperature": 0.5}}, ["extra_body.options.num_ctx"]),
        ("ollama", {"format": "json"}, ["extra_body.format"]),
    ],
)
def test_every_setting_is_carried_or_listed(source: str, body: dict[str, Any], behind: list[str]) -> None:
    """L5: all that was dropped is in `excluded`."""
    conversation: dict[str, Any] = {"messages": HI}
    if source == "gemini":
        conversation = {"contents": []}
    elif source == "openai_responses":
        conversation = {"input": "hi"}
    elif source == "bedrock":
        conversation = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    target = "openai_chat" if source == "anthropic" else "anthropic"

    named = {} if source == "bedrock" else {"model": "m"}
    assert left(source, target, **named, **conversation, **body) == behind


@pytest.mark.parametrize(
    ("source", "body", "losses"),
    [
        (
            "openai_responses",
            {"input": "hi", "tools": [{"type": "function", "name": "f", "parameters": {}}, {"type": "web_search"}]},
            [ExcludedItem("tools[1]", "web_search is run by openai; anthropic does not have it")],
        ),
        (
            "gemini",
            {
                "contents": [],
                "tools": [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}, "urlContext": {}}],
            },
            [ExcludedItem("tools[1]", "googleSearch, urlContext is run by google; anthropic does not have it")],
        ),
        (
            "bedrock",
            {
                "messages": [],
                "toolConfig": {
                    "tools": [
                        {"toolSpec": {"name": "f", "inputSchema": {"json": {}}}},
                        {"cachePoint": {"type": "default"}},
                    ]
                },
            },
            [ExcludedItem("tools[1]", "cachePoint is run by bedrock; anthropic does not have it")],
        ),
        (
            "openai_chat",
            {
                "messages": HI,
                "tools": [{"type": "function", "function": {"name": "f", "parameters": {}, "strict": True}}],
            },
            [],
        ),
    ],
)
def test_tools_the_source_runs_itself_are_listed(source: str, body: dict[str, Any], losses: list[ExcludedItem]) -> None:
    assert cross(read(source, **body), dialect(source), dialect("anthropic"))[1] == losses


MEANINGS: dict[str, dict[str, Any]] = {
    "auto": {
        "openai_chat": "auto",
        "openai_responses": "auto",
        "anthropic": {"type": "auto"},
        "gemini": {"function_calling_config": {"mode": "AUTO"}},
        "bedrock": {"auto": {}},
    },
    "required": {
        "openai_chat": "required",
        "openai_responses": "required",
        "anthropic": {"type": "any"},
        "gemini": {"function_calling_config": {"mode": "ANY"}},
        "bedrock": {"any": {}},
        "cohere": "REQUIRED",
    },
    "none": {
        "openai_chat": "none",
        "openai_responses": "none",
        "anthropic": {"type": "none"},
        "gemini": {"function_calling_config": {"mode": "NONE"}},
        "cohere": "NONE",
    },
    "one": {
        "openai_chat": {"type": "function", "function": {"name": "dig"}},
        "openai_responses": {"type": "function", "name": "dig"},
        "anthropic": {"type": "tool", "name": "dig"},
        "gemini": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["dig"]}},
        "bedrock": {"tool": {"name": "dig"}},
    },
}


@pytest.mark.parametrize("meaning", MEANINGS)
@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_a_tool_choice_is_said_in_the_targets_way(meaning: str, source: str, target: str) -> None:
    said = MEANINGS[meaning]
    if source == target or source not in said:
        return
    spec, losses = crossed(target, source, tool_choice=said[source], tools=(DIG,))

    assert thaw(spec.tool_choice) == said.get(target)
    # What every provider does unasked is no loss.
    assert [item.description for item in losses] == ([] if target in said or meaning == "auto" else ["tool_choice"])


@pytest.mark.parametrize("target", ["openai_responses", "anthropic", "gemini", "bedrock", "cohere", "ollama"])
@pytest.mark.parametrize(("choice", "lost"), [("auto", []), ("none", []), ("required", ["tool_choice"])])
def test_a_choice_among_no_tools_is_not_said(target: str, choice: str, lost: list[str]) -> None:
    """Every provider refuses it: the tools were the source's own, say, and stayed behind."""
    spec, losses = crossed(target, tool_choice=choice)

    assert (spec.tool_choice, [item.description for item in losses]) == (None, lost)


@pytest.mark.parametrize(
    ("source", "choice", "said", "lost"),
    [
        ("anthropic", {"type": "auto", "disable_parallel_tool_use": True}, "auto", ["disable_parallel_tool_use"]),
        ("anthropic", {"type": "any", "disable_parallel_tool_use": False}, "required", []),
        (
            "gemini",
            {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["dig", "fill"]}},
            "required",
            ["allowedFunctionNames"],
        ),
        (
            "gemini",
            {"functionCallingConfig": {"mode": "AUTO"}, "retrievalConfig": {"languageCode": "nb"}},
            "auto",
            ["retrievalConfig"],
        ),
        ("gemini", {"function_calling_config": {"mode": "VALIDATED"}}, "auto", []),
        (
            "gemini",
            {"function_calling_config": {"mode": "VALIDATED", "allowed_function_names": ["dig"]}},
            "auto",
            ["allowed_function_names"],
        ),
    ],
)
def test_what_a_choice_says_besides_is_told(source: str, choice: Any, said: str, lost: list[str]) -> None:
    """L5: nothing is lost in silence. VALIDATED asks for calls that fit their schemas, not for calls."""
    spec, losses = crossed("openai_chat", source, tool_choice=choice, tools=(DIG,))

    assert spec.tool_choice == said
    assert [item.description for item in losses] == [f"tool_choice.{key}" for key in lost]


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("anthropic", {"type": "object"}),
        ("gemini", {"type": "object"}),
        ("openai_responses", {"name": "n", "schema": {"type": "object"}, "strict": True}),
        ("bedrock", {"name": "n", "schema": {"type": "object"}, "strict": True}),
    ],
)
def test_a_schema_is_said_with_a_name_or_bare(target: str, written: dict[str, Any]) -> None:
    given = {"name": "n", "strict": True, "schema": {"type": "object"}}

    assert thaw(crossed(target, response_schema=given)[0].response_schema) == written
    assert thaw(crossed(target, response_schema={"json_schema": given})[0].response_schema) == written


def test_a_bare_schema_gets_a_name_where_one_is_wanted() -> None:
    assert thaw(crossed("openai_chat", "anthropic", response_schema={"type": "object"})[0].response_schema) == {
        "name": "response",
        "schema": {"type": "object"},
    }


@pytest.mark.parametrize(
    ("source", "target", "given", "said", "lost"),
    [
        ("openai_chat", "gemini", ("text", "audio"), ("TEXT", "AUDIO"), 0),
        ("gemini", "openai_chat", ("TEXT", "IMAGE"), ("text",), 1),
        ("gemini", "anthropic", ("TEXT",), (), 0),
    ],
)
def test_the_kinds_of_answer_are_asked_for_in_the_targets_words(
    source: str, target: str, given: tuple[str, ...], said: tuple[str, ...], lost: int
) -> None:
    spec, losses = crossed(target, source, response_modalities=given)

    assert (spec.response_modalities, len(losses)) == (said, lost)


@pytest.mark.parametrize(
    "choice",
    [
        {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["dig"]}},
        {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["dig"]}},
    ],
)
def test_both_spellings_of_gemini_are_read(choice: Any) -> None:
    spec, losses = crossed("anthropic", "gemini", tool_choice=choice, tools=(DIG,))

    assert (thaw(spec.tool_choice), losses) == ({"type": "tool", "name": "dig"}, [])


@pytest.mark.parametrize(
    "choice", ["sometimes", {"type": "allowed_tools", "tools": []}, {"odd": 1}, 5, {"functionCallingConfig": 5}, ["x"]]
)
def test_a_choice_that_means_nothing_elsewhere_is_reported(choice: Any) -> None:
    spec, losses = crossed("anthropic", "openai_responses", tool_choice=choice)

    assert spec.tool_choice is None
    assert losses == [ExcludedItem("tool_choice", f"{output_text(choice)} cannot be said to anthropic")]


@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
def test_a_tool_that_is_functions_and_a_search_leaves_the_search_behind(key: str) -> None:
    """L5: Gemini takes both in one entry of its list."""
    tools: list[Any] = [{key: [{"name": "dig"}], "googleSearch": {}, "urlContext": None}]
    _, losses = cross(read("gemini", contents=[], tools=tools), dialect("gemini"), dialect("openai_chat"))

    assert losses == [ExcludedItem("tools[0]", "googleSearch is run by google; openai_chat does not have it")]


def test_functions_of_the_old_kind_are_a_loss_only_where_they_are_not_carried_as_tools() -> None:
    """L5: so that --strict can be trusted."""
    functions = [{"name": "dig", "parameters": {"type": "object"}}]
    tools = [{"type": "function", "function": {"name": "fill"}}]

    assert left("openai_chat", "anthropic", messages=[], functions=functions) == []
    assert left("openai_chat", "anthropic", messages=[], functions=functions, tools=tools) == ["extra_body.functions"]


def test_what_both_of_openais_apis_have_goes_along() -> None:
    """L5: under its own name in each; `parallel_tool_calls` only beside tools, without which a chat refuses it."""
    same = {"metadata": {"a": "b"}, "store": False, "user": "u", "service_tier": "flex", "prompt_cache_key": "k"}
    chat = {**same, "parallel_tool_calls": False, "reasoning_effort": "low", "verbosity": "high"}
    responses = {
        **same,
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "high"},
    }
    there, lost = crossed("openai_responses", "openai_chat", extra_body=chat, tools=(DIG,))
    back, left_behind = crossed("openai_chat", "openai_responses", extra_body=responses, tools=(DIG,))

    assert (thaw(there.extra_body), lost) == ({**responses, "reasoning": {"effort": "low"}}, [])
    assert thaw(back.extra_body) == chat
    assert [item.description for item in left_behind] == ["extra_body.reasoning"]
    assert left("openai_responses", "openai_chat", input="hi", parallel_tool_calls=True) == [
        "extra_body.parallel_tool_calls"
    ]


def test_words_of_those_who_speak_openais_dialect_stay_behind() -> None:
    """L5: the types of the target would refuse them."""
    odd = {"service_tier": "on_demand", "reasoning_effort": "default", "verbosity": "terse"}
    spec, losses = crossed("openai_responses", "openai_chat", extra_body=odd)

    assert thaw(spec.extra_body) == {}
    assert sorted(item.description for item in losses) == [f"extra_body.{key}" for key in sorted(odd)]


@pytest.mark.parametrize(
    ("source", "body", "target", "written"),
    [
        ("openai_chat", {"frequency_penalty": 0.5}, "gemini", {"generationConfig": {"frequencyPenalty": 0.5}}),
        (
            "gemini",
            {"generationConfig": {"presencePenalty": 1, "topK": 40}},
            "cohere",
            {"presence_penalty": 1, "k": 40},
        ),
        ("cohere", {"k": 5}, "anthropic", {"top_k": 5}),
        ("anthropic", {"top_k": 5}, "ollama", {"options": {"top_k": 5}}),
        ("ollama", {"options": {"presence_penalty": 2}}, "openai_chat", {"presence_penalty": 2}),
    ],
)
def test_settings_that_some_providers_share_go_along(source: str, body: Any, target: str, written: Any) -> None:
    """L5: under the target's own name."""
    spec, losses = crossed(target, source, extra_body=body)

    assert (thaw(spec.extra_body), losses) == (written, [])
