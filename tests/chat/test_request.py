"""Requests for every kind of provider, with their account."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.turns import assistant, context, document, user
from weft.chat import prepare
from weft.client import Target
from weft.errors import UnsupportedFeatureError, UsageError
from weft.providers import PROVIDERS, Secret
from weft.wire import call_fields, prepare_request

TOOL = {"name": "depth", "description": "Measure.", "inputSchema": {"type": "object", "properties": {}}}


def target(name: str) -> Target:
    return Target(PROVIDERS[name], "mint-1", Secret("sk-canary-1"))


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai", "cerebras", "cohere"])
def test_section_15_is_followed_to_the_letter(name: str) -> None:
    """Section 10, step 5: prepare_request, then the model is added."""
    asked = context(user("Hm?"), assistant("Yes."), user("Sure?"), tool_mode="auto")

    prepared = prepare(target(name), asked, [TOOL])

    assert prepared.call.body == {**prepare_request(name, asked, [TOOL]), **call_fields(name, "mint-1")}
    assert prepared.excluded == ()


@pytest.mark.parametrize("name", ["openai-responses", "bedrock", "ollama", "groq", "mistral", "openrouter"])
@pytest.mark.parametrize("mode", ["auto", "any", "none", None])
def test_everyone_else_is_written_by_their_plan(name: str, mode: str | None) -> None:
    prepared = prepare(target(name), context(user("Hm?", cache=True), tool_mode=mode), [TOOL])

    written = str(prepared.call.written(stream=True))
    assert "Hm?" in written
    assert "depth" in written


def test_the_whole_request_can_be_looked_at_without_its_key() -> None:
    shown = prepare(target("anthropic"), context(user("Hm?"))).to_dict()

    assert shown["url"] == "https://api.anthropic.com/v1/messages"
    assert shown["body"]["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hm?"}]}]
    assert shown["body"]["model"] == "mint-1"
    assert "canary" not in str(shown)


def test_text_files_are_sent_as_text_where_files_are_refused() -> None:
    """Section 15: text_documents="inline"; a person who attaches a note wants it read."""
    prepared = prepare(target("openai"), context(user(document("text/plain", "SGkh")), user("Hm?")))

    assert "Hi!" in str(prepared.call.body["messages"])


def test_an_empty_thread_is_not_sent() -> None:
    with pytest.raises(UsageError, match="nothing to send"):
        prepare(target("openai"), context())


@pytest.mark.parametrize("name", ["openai", "openai-responses", "groq"])
def test_search_is_refused_before_anyone_is_called(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError):
        prepare(target(name), context(user("Hm?"), search=True))


SCHEMA = {"type": "object", "properties": {"depth": {"type": "number"}}, "required": ["depth"]}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("openai", ("response_format", "json_schema", "schema")),
        ("groq", ("response_format", "json_schema", "schema")),
        ("openai-responses", ("text", "format", "schema")),
        ("cohere", ("response_format", "json_schema")),
        ("anthropic", ("output_config", "format", "schema")),
    ],
)
def test_a_schema_goes_where_the_provider_looks_for_it(name: str, place: tuple[str, ...], wrapped: bool) -> None:
    schema: dict[str, Any] = {"name": "reading", "schema": SCHEMA} if wrapped else SCHEMA

    found: Any = prepare(target(name), context(user("Hm?")), schema=schema).call.body
    for key in place:
        found = found[key]

    assert found["properties"] == SCHEMA["properties"]


def test_a_schema_does_not_displace_geminis_fixed_settings() -> None:
    body = prepare(target("gemini"), context(user("Hm?")), schema=SCHEMA).call.body

    assert body["generationConfig"]["maxOutputTokens"] == 81920
    assert body["generationConfig"]["responseMimeType"] == "application/json"


def test_reasoning_is_asked_for_in_a_form_that_can_be_sent_again() -> None:
    body = prepare(target("openai-responses"), context(user("Hm?"))).call.body

    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
