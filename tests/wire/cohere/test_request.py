"""Cohere requests, both ways."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.support.builders import a_spec, assistant, image, message, text, thinking, tool, tool_call, tool_result, user
from tests.support.strategies import json_values
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Instructions, Part, ToolSpecification
from weft.errors import UnsupportedFeatureError, WireError
from weft.wire.codec import ADAPTER, FAITHFUL, STEP, TURN
from weft.wire.cohere import DIALECT

SPEC = a_spec("cohere", "chat")


def turns(*messages: Any, policy: Any = FAITHFUL, spec: Any = SPEC, blobs: Any = None) -> Any:
    return DIALECT.encode_request(messages, spec, blobs, policy)


def said_back(body: dict[str, Any]) -> dict[str, Any]:
    blobs = InMemoryBlobStore()
    decoded = DIALECT.decode_request(body, blobs)
    encoded = DIALECT.encode_request(decoded.messages, decoded.spec, blobs)
    assert encoded.losses == []
    return encoded.body


@pytest.mark.parametrize(
    "said",
    [
        {"role": "user", "content": "Depth?"},
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "x": 1}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,cA=="}}]},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "https://x", "detail": "low"}, "x": 1}],
        },
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,cA==", "y": 1}}],
        },
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:odd"}}]},
        {"role": "user", "content": [{"type": "document", "document": {"data": "x"}}]},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": [], "citations": [{"start": 0}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]},
        {
            "role": "assistant",
            "tool_plan": "I will dig.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "dig", "arguments": '{"a": [1]}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "6.2 m"},
        {"role": "tool", "tool_call_id": "c1", "content": None},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "document": {"data": "{}"}}], "x": 1},
    ],
)
def test_a_message_comes_back_as_it_was(said: dict[str, Any]) -> None:
    """L1."""
    (back,) = said_back({"model": "m", "messages": [said]})["messages"]

    assert {k: v for k, v in back.items() if v is not None} == {k: v for k, v in said.items() if v is not None}


@pytest.mark.parametrize(
    "settings",
    [
        {"max_tokens": 5, "temperature": 0.3, "p": 0.9, "seed": 7, "k": 3, "stream": True},
        {"max_tokens": "many", "tool_choice": "AUTO", "model": ""},
        {"tool_choice": "REQUIRED", "tools": [{"type": "function", "function": {"name": "f"}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}]},
        {"tools": ["odd"], "documents": [{"id": "d"}]},
        {"response_format": {"type": "json_object", "json_schema": {"type": "object"}}},
        {"response_format": {"type": "json_object"}, "thinking": {"type": "enabled"}},
    ],
)
def test_settings_come_back_as_they_were(settings: dict[str, Any]) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **settings}

    assert said_back(body) == body


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "messages"),
        ({"messages": [{"role": "robot"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "messages[0].tool_calls[0].function"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": 1, "function": {}}]}]},
            "messages[0].tool_calls[0].id",
        ),
        ({"messages": [], "model": 1}, "model"),
    ],
)
def test_what_does_not_fit_is_an_error_with_its_place(body: Any, where: str) -> None:
    with pytest.raises(WireError) as caught:
        DIALECT.decode_request(body)

    assert caught.value.where == where


@given(json_values())
def test_any_json_is_read_or_refused(value: Any) -> None:
    """L6."""
    for body in ({"messages": value}, {"messages": [{"role": "assistant", "content": value, "tool_calls": value}]}):
        with suppress(WireError):
            DIALECT.decode_request(body)


def test_a_plan_is_thinking_and_goes_back_as_a_plan() -> None:
    body = {"model": "command", "messages": [{"role": "assistant", "tool_plan": "I will dig."}]}

    (heard,) = DIALECT.decode_request(body).messages

    assert heard.parts == (
        Part(
            "thinking",
            text="I will dig.",
            json={"provider": "cohere", "dialect": "cohere", "model": "command"},
            provider_raw={"tool_plan": "I will dig."},
        ),
    )


def test_settings_have_their_places() -> None:
    spec = replace(
        SPEC,
        instructions=Instructions(system="s", developer="d"),
        tools=(ToolSpecification("dig", "Dig.", {}),),
        tool_choice={"type": "any"},
        response_schema={"name": "n", "schema": {"type": "object"}},
        response_modalities=("audio",),
        top_p=0.5,
        extra_body={"k": 1},
    )

    encoded = turns(message("developer", "d2"), spec=spec)

    assert encoded.body == {
        "model": "m",
        "messages": [{"role": "system", "content": said} for said in ("s", "d", "d2")],
        "p": 0.5,
        "tools": [{"type": "function", "function": {"name": "dig", "description": "Dig.", "parameters": {}}}],
        "tool_choice": "REQUIRED",
        "response_format": {"type": "json_object", "json_schema": {"type": "object"}},
        "k": 1,
    }
    assert encoded.losses == [ExcludedItem("response_modalities", "cohere chat answers in text")]
    assert turns(spec=replace(SPEC, tool_choice="auto")).losses == []
    assert turns(spec=replace(SPEC, tool_choice={"name": "f"})).losses[0].description == "tool_choice"


def test_what_cannot_be_said_is_reported() -> None:
    blobs = InMemoryBlobStore()
    log = blobs.put_blob(b"l", media_type="text/plain", kind="file")
    foreign = Part("thinking", text="hm", json={"dialect": "anthropic", "provider": "anthropic"})
    messages = [
        user(Part("image"), Part("file", blob=log), tool_result("x"), Part("json", json={"a": 1})),
        assistant(foreign, Part("thinking"), Part("tool_call"), Part("provider", provider_raw={"type": "x"}), "a"),
        tool("b", Part("tool_result", tool_output="y")),
        message("robot", "c"),  # type: ignore[arg-type]
    ]

    encoded = turns(*messages, blobs=blobs)

    assert encoded.body["messages"] == [
        {"role": "user", "content": '{"a":1}'},
        {"role": "assistant", "content": "a"},
    ]
    assert len(encoded.losses) == 10


def test_thinking_is_sent_back_to_who_produced_it() -> None:
    own = {"dialect": "cohere", "provider": "cohere"}
    block = {"type": "thinking", "thinking": "hm"}
    foreign = Part("thinking", text="so", json={"dialect": "openai_chat"})
    said = assistant(Part("thinking", text="hm", json=own, provider_raw=block), thinking("plain"), foreign, "a")

    encoded = turns(said, policy=replace(ADAPTER, foreign_thinking="text"))

    assert encoded.body["messages"][0]["content"] == [
        block,
        {"type": "thinking", "thinking": "plain"},
        {"type": "text", "text": "so"},
        {"type": "text", "text": "a"},
    ]
    assert len(turns(assistant(thinking("plain")), policy=STEP).losses) == 1


def test_an_edited_call_wins_over_its_block() -> None:
    raw = {"id": "c", "type": "function", "function": {"name": "dig", "arguments": '{"a": 1}'}}
    edited = Part("tool_call", tool_call_id="d", tool_name="drill", tool_args={"b": 2}, provider_raw=raw)

    calls = turns(assistant(edited)).body["messages"][0]["tool_calls"]

    assert calls == [{"id": "d", "type": "function", "function": {"name": "drill", "arguments": '{"b":2}'}}]


class TestTurns:
    """threads.md, section 15."""

    def test_a_tool_use_has_null_content(self) -> None:
        """Case 9 of section 17."""
        encoded = turns(assistant(tool_call(call_id="c")), user("a", "b"), policy=TURN)

        assert encoded.body["messages"][0]["content"] is None
        assert encoded.body["messages"][1] == {"role": "user", "content": "ab"}

    def test_results_are_apart_and_ids_are_made_up(self) -> None:
        """T-90."""
        call, result = (
            Part("tool_call", tool_name="a"),
            Part("tool_result", tool_name="a", tool_output=[{"type": "text", "text": "x"}]),
        )

        encoded = turns(assistant(call), user(result, "and"), policy=TURN)

        assert encoded.body["messages"][1:] == [
            {"role": "tool", "tool_call_id": "call_1", "content": "x"},
            {"role": "user", "content": "and"},
        ]

    def test_pictures_are_the_only_documents(self) -> None:
        blobs = InMemoryBlobStore()
        png = blobs.put_blob(b"p", media_type="image/png", kind="image")
        pdf = blobs.put_blob(b"d", media_type="application/pdf", kind="file")
        csv = blobs.put_blob(b"a,b", media_type="text/csv", kind="file")

        shown = turns(user(image(png), "look"), policy=TURN, blobs=blobs)
        inlined = turns(user(Part("file", blob=csv)), policy=replace(TURN, text_documents="inline"), blobs=blobs)

        assert [block["type"] for block in shown.body["messages"][0]["content"]] == ["text", "image_url"]
        assert inlined.body["messages"][0]["content"] == "a,b"
        with pytest.raises(UnsupportedFeatureError, match=r"^Cohere does not support document type: application/pdf$"):
            turns(user(Part("file", blob=pdf)), policy=TURN, blobs=blobs)


def test_steps_leave_ids_empty_and_a_failed_tool_is_unmarked() -> None:
    failed = Part("tool_result", tool_output=None, provider_raw={"is_error": True})

    encoded = turns(assistant(Part("tool_call", tool_name="f")), tool(failed, id="k"), policy=STEP)

    assert encoded.body["messages"][0]["tool_calls"][0]["id"] == ""
    assert encoded.body["messages"][1] == {"role": "tool", "tool_call_id": "k", "content": ""}
    assert len(encoded.warnings) == 1


def test_empty_text_is_left_out_of_a_plan() -> None:
    assert turns(user(text(""), "a"), policy=ADAPTER).losses == [
        ExcludedItem("context.messages[0].parts[0]", "empty text")
    ]


def test_a_detail_of_another_kind_is_said_back() -> None:
    """L1."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/p.png", "detail": ["new"]}}
    body = {"model": "m", "messages": [{"role": "user", "content": [picture]}]}
    decoded = DIALECT.decode_request(body)

    assert DIALECT.encode_request(decoded.messages, decoded.spec).body == body
