"""Where each setting of a RunSpec is written (model.md, section 9), pictures included."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.adapters import ADAPTERS, TOOL, a_spec, plan, request
from tests.support.builders import assistant, tool, tool_result, user
from weft.canon import Context, Cursor, Instructions, Message, Part, thaw
from weft.errors import PlanValidationError
from weft.wire import AnthropicMessagesAdapter, OpenAIResponsesAdapter

Json = dict[str, Any]
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
