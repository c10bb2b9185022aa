"""What a plan lists: all it included, and whatever it left out, by its place (model.md, M-45 and M-46)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.adapters import ADAPTERS, TOOL, a_spec, every, plan
from tests.support.builders import assistant, message, tool, tool_call, user
from weft.blobs import InMemoryBlobStore
from weft.canon import Context, Cursor, Instructions, Part

Json = dict[str, Any]
ALWAYS = ("2 messages", "system instruction", "developer instruction")
CALLED_WITH = ("extra_headers", "extra_query")
INCLUDED = {
    "responses": (
        *ALWAYS,
        "1 tools",
        "response_schema",
        "response_modalities",
        *CALLED_WITH,
        "previous_response_id",
    ),
    "compact": (*ALWAYS, *CALLED_WITH, "previous_response_id"),
    "chat": (*ALWAYS, "1 tools", "response_schema", "response_modalities", *CALLED_WITH),
    "images": (*ALWAYS, "response_modalities", *CALLED_WITH),
    "anthropic": (*ALWAYS, "1 tools", "response_schema", *CALLED_WITH),
    "google": (*ALWAYS, "1 tools", "response_schema", "response_modalities", "extra_headers"),
    "bedrock": (*ALWAYS, "1 tools", "tool_choice", "response_schema"),
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


@pytest.mark.parametrize("name", ["responses", "compact", "chat", "anthropic", "google", "bedrock"])
def test_m46_a_part_that_cannot_be_sent_is_excluded_by_its_place(name: str) -> None:
    """M-46: and a message that yields nothing, by its own."""
    unsendable = (Part("hologram", text="x"), Part("image"), Part("file"))

    planned = plan(name, user("go", *unsendable), assistant(Part("hologram", text="x")), user("on"))

    places = [item.description for item in planned.excluded]
    assert places[:3] == [f"context.messages[0].parts[{p}]" for p in (1, 2, 3)]
    assert set(places[3:]) == {"context.messages[1].parts[0]", "context.messages[1]"}
    assert all(item.reason for item in planned.excluded)


@pytest.mark.parametrize("name", ["responses", "compact", "chat", "anthropic", "bedrock"])
def test_m46_a_call_without_id_and_a_result_without_one_are_excluded(name: str) -> None:
    """M-46, with the reasons of section 10."""
    call, result = Part("tool_call", tool_name="dig"), Part("tool_result", tool_name="x", tool_output="r")

    planned = plan(name, user("go"), assistant("a", call), tool(result))

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


def test_annotations_are_skipped_without_a_word() -> None:
    """Section 1: adapters skip `annotation` parts without listing them as excluded."""
    for name in ADAPTERS:
        assert plan(name, user("a", Part("annotation", json={"name": "n"}))).excluded == ()
