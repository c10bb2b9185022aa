"""Steps for OpenAI: message-codecs.md, section 3."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.steps import (
    DATA_URL,
    PNG,
    REMOTE,
    SCHEMA,
    TIDE,
    call,
    lost,
    nested,
    says,
    sent,
    words,
)
from weft.errors import CodecError, ProviderError
from weft.wire.steps import decode_step, encode_step


def test_roles_go_one_to_one_and_a_tool_message_finds_its_id() -> None:
    """W-4, acceptance case 3: `call_id`, else `id`, else the empty string; content as text."""
    assert sent(
        "openai",
        says("system", "s"),
        says("developer", "d"),
        says("user", "u"),
        says("tool", "1", call_id="k", id="i"),
        says("tool", [words("2"), words("3")], id="i"),
        says("tool", "4", name="tide"),
    ) == [
        says("system", "s"),
        says("developer", "d"),
        says("user", "u"),
        says("tool", "1", tool_call_id="k"),
        says("tool", "23", tool_call_id="i"),
        says("tool", "4", tool_call_id=""),
    ]


def test_name_calls_and_refusal_have_their_fields() -> None:
    """W-5: argument text is sent as it was written."""
    calls = [call(id="k", arguments='{"port": "Oban"}'), call("dig", "")]

    assert sent("openai", says("user", "u", name="Ada"), says("assistant", "", refusal="No.", tool_calls=calls)) == [
        says("user", "u", name="Ada"),
        says(
            "assistant",
            "",
            refusal="No.",
            tool_calls=[
                {"id": "k", "type": "function", "function": {"name": "tide", "arguments": '{"port": "Oban"}'}},
                {"id": "", "type": "function", "function": {"name": "dig", "arguments": ""}},
            ],
        ),
    ]


def test_parts_are_written_in_openais_blocks() -> None:
    """W-6."""
    given = [
        words("a"),
        {"type": "image", "url": REMOTE},
        {"type": "image", "url": DATA_URL},
        {"type": "image", "data": PNG},
        {"type": "image", "data": b"\x89PNG", "format": "webp"},
        {"type": "audio", "data": PNG},
        {"type": "audio", "data": PNG, "format": "mp3"},
        {"type": "file", "file_id": "f1"},
        {"type": "file", "data": PNG, "name": "plan.pdf"},
    ]

    (message,) = sent("openai", says("user", given))

    assert message["content"] == [
        words("a"),
        {"type": "image_url", "image_url": {"url": REMOTE}},
        {"type": "image_url", "image_url": {"url": DATA_URL}},
        {"type": "image_url", "image_url": {"url": DATA_URL}},
        {"type": "image_url", "image_url": {"url": f"data:image/webp;base64,{PNG}"}},
        {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": PNG, "format": "mp3"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": PNG}},
    ]


@pytest.mark.parametrize("part", [{"type": "image"}, {"type": "audio", "url": REMOTE}])
def test_a_part_without_what_it_is_made_of_is_an_error(part: dict[str, Any]) -> None:
    """W-6."""
    with pytest.raises(CodecError) as caught:
        sent("openai", says("user", [words("a"), part]))

    assert caught.value.where == "messages[0].content[1]"


def test_a_response_schema_becomes_the_response_format() -> None:
    """W-7: the name is `response` and strict is true unless the step says otherwise."""
    full = {"schema": SCHEMA, "name": "tide", "description": "When", "strict": False}

    written = [
        encode_step("openai", {"messages": [], "response_schema": given}, model="m")["response_format"]
        for given in ({"schema": SCHEMA}, full)
    ]

    assert written == [
        {"type": "json_schema", "json_schema": {"name": "response", "schema": SCHEMA, "strict": True}},
        {"type": "json_schema", "json_schema": full},
    ]


def test_functions_become_tools_and_streams_are_asked_for_their_usage() -> None:
    """W-8: a function goes as it was given, whatever else it says."""
    step = {"messages": [], "functions": [TIDE]}

    assert encode_step("openai", step, model="m", stream=True) == {
        "model": "m",
        "messages": [],
        "tools": [{"type": "function", "function": TIDE}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    strict = {"name": "dig", "strict": True}
    assert encode_step("openai", {"messages": [], "functions": [strict]}, model="m") == {
        "model": "m",
        "messages": [],
        "tools": [{"type": "function", "function": strict}],
    }


def test_reasoning_is_not_sent_unless_a_field_is_named() -> None:
    """W-9: it is reported as left out."""
    message = says("assistant", "x", reasoning=[words("h"), words("m")])

    assert sent("openai", message) == [says("assistant", "x")]
    assert [place for place, _ in lost("openai", message)] == ["messages[0].reasoning"]
    assert sent("openai", message, reasoning_field="reasoning_content") == [
        says("assistant", "x", reasoning_content="hm")
    ]
    assert lost("openai", message, reasoning_field="reasoning_content") == []


def test_a_response_is_one_message_for_each_choice() -> None:
    """W-10: null content is empty text, one text part a string, a refusal part a text part; all kinds of calls."""
    choices: list[dict[str, Any]] = [
        {
            "content": None,
            "refusal": "No.",
            "tool_calls": [
                {"id": "k", "type": "function", "function": {"name": "tide", "arguments": '{"port": "Oban"}'}},
                {"id": "c", "type": "custom", "custom": {"name": "draw", "input": "a line"}},
            ],
        },
        {"content": [words("one")]},
        {"content": [words("a"), {"type": "refusal", "refusal": "b"}]},
    ]
    response = {
        "id": "chatcmpl-1",
        "created": 1767225600,
        "model": "gpt-x",
        "choices": [
            {"index": c, "message": {"role": "assistant", **message}, "finish_reason": "tool_calls"}
            for c, message in enumerate(choices)
        ],
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }

    assert decode_step("openai", response) == {
        "messages": [
            says(
                "assistant",
                "",
                refusal="No.",
                tool_calls=[
                    call(id="k", arguments='{"port": "Oban"}'),
                    call("draw", "a line", id="c"),
                ],
            ),
            says("assistant", "one"),
            says("assistant", [words("a"), words("b")]),
        ],
        "token_usage": {
            "input_tokens": 9,
            "output_tokens": 5,
            "total_tokens": 14,
            "cache_read_tokens": 4,
            "reasoning_tokens": 2,
        },
        "finish_reason": "tool_calls",
        "metadata": {"id": "chatcmpl-1", "created_at": 1767225600, "model": "gpt-x"},
    }


@pytest.mark.parametrize(
    "fields", [{"reasoning": "hm"}, {"reasoning_content": "hm"}, {"reasoning": "hm", "reasoning_content": "other"}]
)
def test_reasoning_of_a_whole_response_is_read(fields: dict[str, Any]) -> None:
    """W-11: `reasoning`, else `reasoning_content`."""
    message = {"role": "assistant", "content": "x", **fields}

    result = decode_step("openai", {"choices": [{"message": message, "finish_reason": "stop"}]})

    assert result["messages"][0]["reasoning"] == "hm"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("stop", "stop"), ("length", "length"), ("tool_calls", "tool_calls"), ("content_filter", "content_filter")],
)
def test_finish_reasons_are_those_of_the_table(theirs: str, ours: str) -> None:
    """W-10: the table of section 2."""
    response = {"choices": [{"message": {"content": "x"}, "finish_reason": theirs}]}

    assert decode_step("openai", response) == {"messages": [says("assistant", "x")], "finish_reason": ours}


def test_an_error_body_is_the_providers_error() -> None:
    with pytest.raises(ProviderError, match=r"^openai: no such model$") as caught:
        decode_step("openai", {"error": {"message": "no such model", "type": "invalid_request_error"}})

    assert caught.value.provider == "openai"
    assert caught.value.body == '{"error":{"message":"no such model","type":"invalid_request_error"}}'
    with pytest.raises(ProviderError, match=r"^openai: an error$"):
        decode_step("openai", {"error": nested(2000)})
