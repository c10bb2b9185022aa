"""Steps for Claude: message-codecs.md, section 5."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.steps import DATA_URL, PNG, REMOTE, SCHEMA, TIDE, call, lost, says, sent, words
from weft.errors import CodecError
from weft.wire.steps import decode_step, encode_step

THOUGHT = {"type": "thinking", "thinking": "T", "signature": "sig"}
SEALED = {"type": "redacted_thinking", "data": "D"}


def heard_from_claude(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(content), "stop_reason": stop}


def test_thinking_comes_first_then_content_then_calls() -> None:
    """W-21: stored blocks as they are; arguments that cannot be read are sent as {} and reported."""
    message = says(
        "assistant",
        "x",
        reasoning="T",
        tool_calls=[call(id="k", arguments='{"port": "Oban"}'), call("dig", "{"), call("rest", "")],
        extra={"claude": {"thinking_blocks": [THOUGHT, SEALED], "other_blocks": [{"type": "new_block"}]}},
    )

    assert sent("claude", message) == [
        {
            "role": "assistant",
            "content": [
                THOUGHT,
                SEALED,
                words("x"),
                {"type": "new_block"},
                {"type": "tool_use", "id": "k", "name": "tide", "input": {"port": "Oban"}},
                {"type": "tool_use", "id": "", "name": "dig", "input": {}},
                {"type": "tool_use", "id": "", "name": "rest", "input": {}},
            ],
        }
    ]
    assert lost("claude", message) == [
        ("messages[0].tool_calls[1].arguments", "not a JSON object; {} is sent to Claude")
    ]


def test_reasoning_without_stored_blocks_is_dropped_and_reported() -> None:
    """W-22."""
    message = says("assistant", "x", reasoning="hm")

    assert sent("claude", message) == [says("assistant", "x")]
    assert lost("claude", message) == [("messages[0].reasoning", "thinking without a signature is not accepted")]


def test_neighbours_of_one_role_become_one_turn() -> None:
    """W-23, acceptance case 1: system texts joined; a turn of exactly one text is a string."""
    messages = [
        says("system", "a"),
        says("developer", "b"),
        says("system", ""),
        says("user", "c"),
        says("tool", "d", call_id="k"),
        says("user", "e"),
        says("assistant", "f"),
        says("user", "g"),
    ]

    assert encode_step("claude", {"messages": messages}, model="m") == {
        "model": "m",
        "system": "a\n\nb",
        "messages": [
            says("user", [{"type": "tool_result", "tool_use_id": "k", "content": "d"}, words("c"), words("e")]),
            says("assistant", "f"),
            says("user", "g"),
        ],
        "max_tokens": 8192,
    }
    assert "system" not in encode_step("claude", {"messages": [says("user", "x")]}, model="m")


def test_tool_results_come_first_and_messages_without_blocks_are_skipped() -> None:
    """W-24: an empty text is how nothing is said, and no loss of its own; a message that vanishes is one."""
    assert sent(
        "claude",
        says("user", "a"),
        says("tool", "1", id="i"),
        says("user", ""),
        says("tool", [words("2")]),
    ) == [
        says(
            "user",
            [
                {"type": "tool_result", "tool_use_id": "i", "content": "1"},
                {"type": "tool_result", "tool_use_id": "", "content": "2"},
                words("a"),
            ],
        )
    ]
    assert lost("claude", says("user", "")) == [("messages[0]", "nothing in it can be sent")]
    assert lost("claude", says("assistant", "", tool_calls=[call(id="k")])) == []


def test_parts_are_written_in_claudes_blocks() -> None:
    """W-25."""
    content = [
        {"type": "image", "url": DATA_URL},
        {"type": "image", "url": REMOTE},
        {"type": "image", "data": PNG, "format": "webp"},
        {"type": "image", "data": PNG},
        {"type": "file", "data": PNG},
        {"type": "file", "data": PNG, "format": "text/plain"},
        {"type": "file", "file_id": "f1"},
    ]

    (message,) = sent("claude", says("user", content))

    def inline(kind: str, media_type: str) -> dict[str, Any]:
        return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": PNG}}

    assert message["content"] == [
        inline("image", "image/png"),
        {"type": "image", "source": {"type": "url", "url": REMOTE}},
        inline("image", "image/webp"),
        inline("image", "image/png"),
        inline("document", "application/pdf"),
        inline("document", "text/plain"),
        {"type": "document", "source": {"type": "file", "file_id": "f1"}},
    ]


@pytest.mark.parametrize(
    "part", [{"type": "image"}, {"type": "image", "file_id": "f"}, {"type": "audio", "data": PNG}, {"type": "file"}]
)
def test_media_it_cannot_have_is_an_error(part: dict[str, Any]) -> None:
    """W-25."""
    with pytest.raises(CodecError) as caught:
        sent("claude", says("user", [part]))

    assert caught.value.where == "messages[0].content[0]"


def test_tokens_have_a_default_and_a_schema_says_its_name() -> None:
    """W-26: 8192 tokens unless told; the schema says its name and description itself, if it does not already."""
    about = {"schema": SCHEMA, "name": "tide", "description": "When"}
    own = {"schema": {**SCHEMA, "title": "Own"}, "name": "tide", "strict": True}

    body = encode_step(
        "claude", {"messages": [], "functions": [TIDE], "response_schema": about}, model="m", stream=True
    )

    assert body == {
        "model": "m",
        "messages": [],
        "max_tokens": 8192,
        "tools": [{"name": "tide", "description": "High water", "input_schema": TIDE["parameters"]}],
        "output_config": {
            "format": {"type": "json_schema", "schema": {**SCHEMA, "title": "tide", "description": "When"}}
        },
        "stream": True,
    }
    again = encode_step("claude", {"messages": [], "response_schema": own}, model="m", max_tokens=9)
    assert again["max_tokens"] == 9
    assert again["output_config"] == {"format": {"type": "json_schema", "schema": {**SCHEMA, "title": "Own"}}}


def test_a_failed_tool_is_marked() -> None:
    """W-27: only by a true `extra.claude.is_error`."""
    failed = says("tool", "closed", call_id="k", extra={"claude": {"is_error": True}})

    (turn,) = sent("claude", failed, {**failed, "extra": {"claude": {"is_error": False}}})

    result = {"type": "tool_result", "tool_use_id": "k", "content": "closed"}
    assert turn["content"] == [{**result, "is_error": True}, result]


def test_the_caching_hint_marks_the_block() -> None:
    """R-11: `extra.weft.cache`."""
    (turn,) = sent("claude", says("user", "long", extra={"weft": {"cache": True}}))

    assert turn["content"] == [{**words("long"), "cache_control": {"type": "ephemeral"}}]


def test_thinking_goes_back_byte_for_byte_first_in_the_turn() -> None:
    """W-28, acceptance case 2: redacted blocks add nothing to the reasoning; other blocks follow the content."""
    use = {"type": "tool_use", "id": "k", "name": "tide", "input": {"port": "Oban"}}
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    response = {
        **heard_from_claude(THOUGHT, SEALED, search, words("x"), words("y"), use, stop="tool_use"),
        "id": "msg_1",
        "model": "claude-x",
        "usage": {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 5},
    }

    result = decode_step("claude", response)

    assert result == {
        "messages": [
            says(
                "assistant",
                "xy",
                reasoning="T",
                tool_calls=[call(arguments='{"port":"Oban"}', id="k")],
                extra={"claude": {"thinking_blocks": [THOUGHT, SEALED], "other_blocks": [search]}},
            )
        ],
        "token_usage": {"input_tokens": 7, "output_tokens": 3, "cache_read_tokens": 5},
        "finish_reason": "tool_calls",
        "metadata": {"id": "msg_1", "model": "claude-x"},
    }
    (turn,) = sent("claude", *result["messages"])
    assert turn["content"] == [THOUGHT, SEALED, words("xy"), search, use]


def test_several_thoughts_are_joined_by_newlines_and_nothing_more_is_said() -> None:
    """W-28: no `extra` if there is nothing for it."""
    second = {**THOUGHT, "thinking": "U"}

    assert decode_step("claude", heard_from_claude(THOUGHT, second))["messages"][0]["reasoning"] == "T\nU"
    assert decode_step("claude", heard_from_claude(words("x")))["messages"] == [says("assistant", "x")]


@pytest.mark.parametrize(
    ("stop", "ours"),
    [(each, "stop") for each in ("end_turn", "stop_sequence", "pause_turn", "new_reason")]
    + [("max_tokens", "length"), ("tool_use", "tool_calls"), ("refusal", "content_filter")],
)
def test_finish_reasons_are_those_of_the_table(stop: str, ours: str) -> None:
    """W-28: the table of section 2."""
    assert decode_step("claude", heard_from_claude(words("x"), stop=stop))["finish_reason"] == ours


def test_losses_are_named_by_their_place_in_the_step() -> None:
    """R-3."""
    messages = [
        says("user", "x", tool_calls=[call(), call("dig")]),
        says("system", [words("a"), {"type": "image", "data": PNG}]),
        says("assistant", [words("a"), {"type": "file", "data": PNG}], refusal="no", reasoning="r"),
    ]

    places = [place for place, _ in lost("claude", *messages)]

    assert places[:2] == ["messages[0].tool_calls[0]", "messages[0].tool_calls[1]"]
    assert places[2].startswith("messages[1]")
    assert places[3:] == ["messages[2].reasoning", "messages[2].content[1]"]
    blocks = says("system", "x", extra={"claude": {"other_blocks": [{"type": "new_block"}]}})
    assert [place for place, _ in lost("claude", blocks)] == ["messages[0].extra"]
    odd = says("user", "x", refusal="no", reasoning="hm")
    assert [place for place, _ in lost("openai", odd)] == ["messages[0].reasoning", "messages[0].refusal"]
