"""Ollama requests, both ways."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.support.builders import a_spec, assistant, image, message, thinking, tool, tool_call, tool_result, user
from tests.support.strategies import json_values
from weft.blobs import InMemoryBlobStore
from weft.canon import Instructions, Part, ToolSpecification
from weft.errors import WireError
from weft.wire.codec import FAITHFUL
from weft.wire.ollama import DIALECT

SPEC = a_spec("ollama", "chat")
PNG = "iVBORw0KGgo="


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
        {"role": "user", "content": "Look.", "images": [PNG, "@"], "x": 1},
        {"role": "critic", "content": "No."},
        {"role": "assistant", "content": "", "thinking": "hm"},
        {"role": "assistant", "content": "a", "thinking": ""},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c1", "function": {"index": 0, "name": "dig", "arguments": {"a": [1]}}},
                {"function": {"name": "dig", "arguments": {}}},
                {"web_search": {"q": "tide"}},
            ],
        },
        {"role": "tool", "content": "6.2 m", "tool_name": "dig"},
        {"role": "tool", "content": "6.2 m", "tool_call_id": "c1", "name": "dig"},
    ],
)
def test_a_message_comes_back_as_it_was(said: dict[str, Any]) -> None:
    """L1."""
    assert said_back({"model": "m", "messages": [said]})["messages"] == [said]


@pytest.mark.parametrize(
    "settings",
    [
        {"options": {"temperature": 0, "num_predict": 9, "top_p": 0.5, "seed": 7, "num_ctx": 4096}, "stream": False},
        {"options": {}, "keep_alive": "5m"},
        {"options": {"seed": "odd", "temperature": True}, "format": "json", "think": True},
        {"format": {"type": "object"}, "model": ""},
        {"tools": [], "options": {"seed": 1}},
        {"tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}]},
        {"tools": [{"type": "function", "function": {"name": "f"}}, "odd"]},
    ],
)
def test_settings_come_back_as_they_were(settings: dict[str, Any]) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **settings}

    assert said_back(body) == body


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"messages": [{}]}, "messages[0].role"),
        ({"messages": [{"role": 1}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
        ({"messages": [{"role": "tool", "tool_name": 1}]}, "messages[0].tool_name"),
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
    for body in (
        {"messages": value},
        {"messages": [{"role": "user", "images": value, "tool_calls": value}], "options": value},
    ):
        with suppress(WireError):
            DIALECT.decode_request(body)


def test_pictures_are_known_by_their_first_bytes() -> None:
    blobs = InMemoryBlobStore()
    pictures = [PNG, "/9j/4AAQ", "R0lGODlh", "UklGRgAAAABXRUJQ", "AAAA"]

    (heard,) = DIALECT.decode_request({"messages": [{"role": "user", "images": pictures}]}, blobs).messages

    types = [part.blob.media_type for part in heard.parts if part.blob is not None]
    assert types == ["image/png", "image/jpeg", "image/gif", "image/webp", None]


def test_settings_are_options_and_the_schema_is_the_format() -> None:
    spec = replace(
        SPEC,
        instructions=Instructions(system="s"),
        max_output_tokens=5,
        tools=(ToolSpecification("dig", "Dig.", {}),),
        tool_choice="required",
        response_schema={"name": "n", "schema": {"type": "object"}},
        response_modalities=("audio",),
        extra_body={"options": {"num_ctx": 1}},
    )

    encoded = turns(message("developer", "d"), spec=spec)

    assert encoded.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "system", "content": "d"}],
        "options": {"num_predict": 5, "num_ctx": 1},
        "tools": [{"type": "function", "function": {"name": "dig", "description": "Dig.", "parameters": {}}}],
        "format": {"type": "object"},
    }
    assert [item.description for item in encoded.losses] == ["tool_choice", "response_modalities"]


def test_a_tools_answer_names_the_tool_that_was_called() -> None:
    """M-52 for Ollama: the name is the part's, or that of the call."""
    failed = Part("tool_result", tool_name="drill", tool_output={"a": 1}, provider_raw={"is_error": True})

    encoded = turns(
        assistant(tool_call(args={"x": 1}, call_id="c")), tool(tool_result("6.2 m", call_id="c"), failed, "b")
    )

    assert encoded.body["messages"] == [
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "dig", "arguments": {"x": 1}}}],
        },
        {"role": "tool", "tool_name": "dig", "tool_call_id": "c", "content": "6.2 m"},
        {"role": "tool", "tool_name": "drill", "content": '{"a":1}'},
    ]
    assert len(encoded.losses) == len(encoded.warnings) == 1


def test_arguments_of_its_other_endpoint_become_an_object() -> None:
    raw = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    call = Part("tool_call", tool_call_id="c", tool_name="f", tool_args={"a": 1}, provider_raw=raw)

    (turn,) = turns(assistant(call, provider="ollama")).body["messages"]

    assert turn["tool_calls"] == [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]


def test_what_cannot_be_said_is_reported() -> None:
    blobs = InMemoryBlobStore()
    png = blobs.put_blob(b"p", media_type="image/png", kind="image")
    foreign = Part("thinking", text="hm", json={"dialect": "anthropic"})
    said = assistant(
        foreign, thinking("a"), thinking("b"), thinking(), Part("tool_call"), Part("file"), Part("json", json={}), "c"
    )

    encoded = turns(user(image(png), Part("image")), said, message("robot", "d"), blobs=blobs)  # type: ignore[arg-type]

    assert encoded.body["messages"] == [
        {"role": "user", "images": ["cA=="]},
        {"role": "assistant", "content": "{}\nc", "thinking": "a"},
    ]
    assert len(encoded.losses) == 7
    told = turns(assistant(foreign), policy=replace(FAITHFUL, foreign_thinking="text"))
    assert told.body["messages"] == [{"role": "assistant", "content": "hm"}]
