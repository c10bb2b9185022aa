"""Tools, search and tool_mode in prepared requests: rules T-81, T-86 to T-89, T-91."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.turns import context, user
from weft.errors import UnsupportedFeatureError, UsageError
from weft.wire.turns import prepare_request

DEPTH = {
    "name": "sonar___depth",
    "description": "How deep it is.",
    "annotations": {"readOnlyHint": True},
    "outputSchema": {"type": "object"},
    "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": False,
        "examples": [{"pier": 4}],
        "properties": {
            "pier": {"type": "integer", "format": "int32", "minimum": 1},
            "at": {"type": "array", "items": {"type": "object", "additionalProperties": False, "format": "x"}},
        },
    },
}


def prepared(provider: str, *tools: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The request's fields about tools."""
    body = prepare_request(provider, context(user("hi"), **options), tools)
    return {key: value for key, value in body.items() if key in ("tools", "tool_choice", "toolConfig")}


def function(schema: Any, **fields: Any) -> dict[str, Any]:
    declared = {"name": "f", "description": "", "parameters": schema, **fields}
    return {"type": "function", "function": declared}


def test_anthropic_takes_tools_with_their_whole_schema() -> None:
    """T-81: renamed, without MCP's own keys; the rest untouched."""
    tool = {**DEPTH, "cache_control": {"type": "ephemeral"}}

    assert prepared("anthropic", tool) == {
        "tools": [
            {
                "name": "sonar___depth",
                "description": "How deep it is.",
                "input_schema": DEPTH["inputSchema"],
                "cache_control": {"type": "ephemeral"},
            }
        ]
    }


def test_anthropics_search_is_one_more_tool() -> None:
    """T-81: after the others."""
    search = {"type": "web_search_20250305", "name": "web_search"}

    assert prepared("anthropic", search=True) == {"tools": [search]}
    assert prepared("anthropic", {"name": "f"}, search=True) == {"tools": [{"name": "f"}, search]}
    assert prepared("anthropic", search=False) == {"tools": []}


def test_gemini_takes_tools_without_the_keywords_it_refuses() -> None:
    """T-86: at the top, in each property, and in its items; not further down."""
    assert prepared("gemini", DEPTH) == {
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "sonar___depth",
                        "description": "How deep it is.",
                        "parameters": {
                            "type": "object",
                            "properties": {
                                "pier": {"type": "integer", "minimum": 1},
                                "at": {"type": "array", "items": {"type": "object", "format": "x"}},
                            },
                        },
                    }
                ]
            }
        ]
    }


@pytest.mark.parametrize("schema", [{"type": "object"}, {"properties": {"a": True}}, {"properties": []}, True])
def test_gemini_takes_a_schema_without_properties_as_it_is(schema: Any) -> None:
    """T-86: weft fixes."""
    assert prepared("gemini", {"name": "f", "inputSchema": schema}) == {
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]
    }


def test_geminis_search_stands_alone() -> None:
    assert prepared("gemini", search=True) == {"tools": [{"google_search": {}}]}


def test_geminis_search_with_tools_is_refused_before_any_call() -> None:
    """Acceptance case 8."""
    with pytest.raises(UnsupportedFeatureError, match="google_search cannot be combined with custom function decl"):
        prepared("gemini", DEPTH, search=True)


@pytest.mark.parametrize("tools", [(), (DEPTH,)])
@pytest.mark.parametrize(("provider", "title"), [("openai", "OpenAI"), ("cerebras", "Cerebras"), ("cohere", "Cohere")])
def test_the_others_have_no_search(provider: str, title: str, tools: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(UnsupportedFeatureError) as refused:
        prepared(provider, *tools, search=True)

    assert str(refused.value) == f"{title} does not support built-in search capabilities"


@pytest.mark.parametrize("provider", ["openai", "cohere"])
def test_openai_style_tools_are_functions(provider: str) -> None:
    """T-87: everything else in the tool is dropped, nothing in the schema."""
    written = function(DEPTH["inputSchema"], name="sonar___depth", description="How deep it is.")

    assert prepared(provider, {**DEPTH, "title": "Depth"}) == {"tools": [written]}


@pytest.mark.parametrize("provider", ["openai", "cerebras", "cohere"])
def test_a_missing_description_is_empty(provider: str) -> None:
    """T-89: as is a missing schema an object of anything."""
    assert prepared(provider, {"name": "f"}) == {"tools": [function({"type": "object"})]}


def test_cerebras_takes_no_keywords_it_does_not_know_at_any_depth() -> None:
    """T-88: but names are not keywords, and neither are values."""
    schema = {
        "$schema": "x",
        "type": "object",
        "nullable": True,
        "properties": {
            "format": {"type": "string", "format": "date"},
            "properties": {"type": "object", "properties": {"minimum": {"minimum": 1}}},
            "mode": {"enum": [{"format": "a"}], "default": {"minimum": 1}},
        },
        "patternProperties": {"nullable": {"nullable": True}},
        "definitions": {"minimum": {"anyOf": [{"minimum": 0}, {"items": {"format": "int32"}}]}},
        "$defs": {"$schema": {"type": "string"}},
    }

    assert prepared("cerebras", {"name": "f", "inputSchema": schema}) == {
        "tools": [
            function(
                {
                    "type": "object",
                    "properties": {
                        "format": {"type": "string"},
                        "properties": {"type": "object", "properties": {"minimum": {}}},
                        "mode": {"enum": [{"format": "a"}], "default": {"minimum": 1}},
                    },
                    "patternProperties": {"nullable": {}},
                    "definitions": {"minimum": {"anyOf": [{}, {"items": {}}]}},
                    "$defs": {"$schema": {"type": "string"}},
                }
            )
        ]
    }


def test_a_schema_a_thousand_deep_is_no_trouble() -> None:
    """T-88, J-01."""
    schema: dict[str, Any] = {"format": "x"}
    for _ in range(1000):
        schema = {"items": schema}

    assert "tools" in prepared("cerebras", {"name": "f", "inputSchema": schema})


@pytest.mark.parametrize(
    ("provider", "mode", "choice"),
    [
        ("anthropic", "auto", {"tool_choice": {"type": "auto"}}),
        ("anthropic", "none", {"tool_choice": {"type": "none"}}),
        ("anthropic", "any", {"tool_choice": {"type": "any"}}),
        ("openai", "auto", {"tool_choice": "auto"}),
        ("openai", "none", {"tool_choice": "none"}),
        ("openai", "any", {"tool_choice": "required"}),
        ("cerebras", "any", {"tool_choice": "required"}),
        ("cohere", "auto", {}),  # its API knows only the other two, and does this when nothing is said
        ("cohere", "none", {"tool_choice": "NONE"}),
        ("cohere", "any", {"tool_choice": "REQUIRED"}),
        ("gemini", "auto", {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}),
        ("gemini", "none", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
        ("gemini", "any", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
        ("anthropic", "x", {"tool_choice": {"type": "x"}}),
        ("openai", {"type": "function"}, {"tool_choice": {"type": "function"}}),
        ("cohere", "x", {"tool_choice": "x"}),
        ("gemini", "VALIDATED", {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}}),
    ],
)
def test_tool_mode_is_said_in_each_providers_words(provider: str, mode: Any, choice: dict[str, Any]) -> None:
    """T-91: unknown values as they are; nothing when there are no tools, or no mode."""
    sent = prepared(provider, {"name": "f"}, tool_mode=mode)

    assert {key: value for key, value in sent.items() if key != "tools"} == choice
    assert prepared(provider, tool_mode=mode) == prepared(provider)
    assert prepared(provider, {"name": "f"}).keys() == {"tools"}


@pytest.mark.parametrize("tool", [3, {}, {"name": 3}])
def test_a_tool_without_a_name_is_refused(tool: Any) -> None:
    with pytest.raises(UsageError, match=r"tools\[0\]"):
        prepared("openai", tool)
