"""Steps for Gemini: message-codecs.md, section 4."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.steps import DATA_URL, PNG, REMOTE, SCHEMA, TIDE, call, nested, says, sent, words
from weft.errors import CodecError
from weft.wire.steps import decode_step, encode_step, gemini_safety_settings


def heard_from_gemini(*parts: dict[str, Any], stop: str = "STOP") -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": stop}]}


def test_every_system_message_is_taken_out_wherever_it_stands() -> None:
    """W-12: in order, as a list of texts."""
    messages = [says("user", "u"), says("system", "a"), says("assistant", "b"), says("developer", "c")]

    assert encode_step("gemini", {"messages": messages}, model="m") == {
        "model": "m",
        "contents": [
            {"role": "user", "parts": [{"text": "u"}]},
            {"role": "model", "parts": [{"text": "b"}]},
        ],
        "config": {"systemInstruction": ["a", "c"]},
    }


def test_parts_are_inline_data() -> None:
    """W-13: data URLs and data with its media type; no empty text beside calls."""
    content = [
        words("a"),
        {"type": "image", "url": DATA_URL},
        {"type": "image", "data": PNG, "format": "webp"},
        {"type": "audio", "data": PNG, "format": "audio/ogg"},
        {"type": "file", "data": PNG, "format": "application/pdf"},
    ]

    user, model = sent("gemini", says("user", content), says("assistant", "", tool_calls=[call()]))

    media_types = ("image/png", "image/webp", "audio/ogg", "application/pdf")
    assert user["parts"] == [
        {"text": "a"},
        *({"inlineData": {"mimeType": media_type, "data": PNG}} for media_type in media_types),
    ]
    assert model["parts"] == [{"functionCall": {"name": "tide", "args": {}}}]


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ({"type": "image", "url": REMOTE}, ""),
        ({"type": "image", "file_id": "f"}, ""),
        ({"type": "audio", "url": REMOTE}, ""),
        ({"type": "audio", "data": PNG}, ".format"),
        ({"type": "file", "file_id": "f"}, ""),
    ],
)
def test_media_it_cannot_have_is_an_error(part: dict[str, Any], where: str) -> None:
    """W-13."""
    with pytest.raises(CodecError) as caught:
        sent("gemini", says("user", [part]))

    assert caught.value.where == f"messages[0].content[0]{where}"


def test_reasoning_leads_as_thoughts() -> None:
    """W-14: unless it is not to be sent."""
    message = says("assistant", "x", reasoning=[words("h"), words("m")])

    assert sent("gemini", message)[0]["parts"] == [
        {"text": "h", "thought": True},
        {"text": "m", "thought": True},
        {"text": "x"},
    ]
    assert sent("gemini", message, send_reasoning=False)[0]["parts"] == [{"text": "x"}]


def test_calls_come_after_the_texts() -> None:
    """W-15: arguments that are no JSON object are an error naming the call."""
    calls = [call(arguments='{"port": "Oban"}', id="k"), call("dig", "")]

    assert sent("gemini", says("assistant", "x", tool_calls=calls))[0]["parts"] == [
        {"text": "x"},
        {"functionCall": {"name": "tide", "args": {"port": "Oban"}, "id": "k"}},
        {"functionCall": {"name": "dig", "args": {}}},
    ]
    for arguments in ("[1]", "{"):
        with pytest.raises(CodecError, match="'dig'") as caught:
            sent("gemini", says("assistant", "", tool_calls=[call(), call("dig", arguments)]))
        assert caught.value.where == "messages[0].tool_calls[1].arguments"


def test_tool_messages_are_function_responses_in_one_entry() -> None:
    """W-16: the name from the message, or from the call it answers; an object as it is, or `{"result": text}`."""
    asked = says("assistant", "", tool_calls=[call(id="k"), call("dig", id="d")])

    _, answered = sent(
        "gemini", asked, says("tool", '{"at": "06:10"}', call_id="k"), says("tool", "[1]", name="dig", call_id="d")
    )

    assert answered == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "tide", "response": {"at": "06:10"}, "id": "k"}},
            {"functionResponse": {"name": "dig", "response": {"result": "[1]"}, "id": "d"}},
        ],
    }
    with pytest.raises(CodecError) as caught:
        sent("gemini", says("tool", "x", call_id="k"))
    assert caught.value.where == "messages[0].name"


def test_settings_ride_in_config() -> None:
    """W-17: functions, response schema; safety settings only by hand."""
    step = {"messages": [], "functions": [TIDE], "response_schema": {"schema": SCHEMA, "name": "x"}}

    assert encode_step("gemini", step, model="m", stream=True) == {
        "model": "m",
        "contents": [],
        "config": {
            "tools": [{"functionDeclarations": [TIDE]}],
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }
    assert [(each["category"], each["threshold"]) for each in gemini_safety_settings()] == [
        ("HARM_CATEGORY_HARASSMENT", "BLOCK_NONE"),
        ("HARM_CATEGORY_HATE_SPEECH", "BLOCK_NONE"),
        ("HARM_CATEGORY_SEXUALLY_EXPLICIT", "BLOCK_NONE"),
        ("HARM_CATEGORY_DANGEROUS_CONTENT", "BLOCK_NONE"),
        ("HARM_CATEGORY_CIVIC_INTEGRITY", "BLOCK_MEDIUM_AND_ABOVE"),
    ]


def test_signatures_are_listed_with_their_places() -> None:
    """W-18: in part order, counted by kind."""
    response = heard_from_gemini(
        {"text": "hm", "thought": True},
        {"text": "a"},
        {"text": "b", "thoughtSignature": "s0"},
        {"functionCall": {"name": "tide"}},
        {"functionCall": {"name": "dig", "args": {"x": 1}, "id": "k"}, "thoughtSignature": "s1"},
        {"inlineData": {"mimeType": "image/png", "data": PNG}, "thoughtSignature": "s2"},
        {"inlineData": {"mimeType": "audio/ogg", "data": PNG}},
    )

    assert decode_step("gemini", response) == {
        "messages": [
            says(
                "assistant",
                [
                    words("a"),
                    words("b"),
                    {"type": "image", "url": DATA_URL},
                    {"type": "audio", "data": PNG, "format": "audio/ogg"},
                ],
                reasoning="hm",
                tool_calls=[call(), call("dig", '{"x":1}', id="k")],
                extra={
                    "gemini": {
                        "thought_signatures": ["s0", "s1", "s2"],
                        "signature_parts": [
                            {"kind": "text", "index": 1},
                            {"kind": "function_call", "index": 1},
                            {"kind": "data", "index": 0},
                        ],
                        "part_lengths": {"text": [1, 1]},
                    }
                },
            )
        ],
        "finish_reason": "tool_calls",
    }


def test_signatures_without_places_go_to_calls_then_to_the_last_text() -> None:
    """W-19: until used up; with places, each to exactly its part."""
    calls = [call(), call("dig")]
    loose = {"gemini": {"thought_signatures": ["s0", "s1", "s2", "s3"]}}
    placed = {"gemini": {"thought_signatures": ["s0"], "signature_parts": [{"kind": "text", "index": 0}]}}

    assert sent("gemini", says("assistant", [words("a"), words("b")], tool_calls=calls, extra=loose)) == [
        {
            "role": "model",
            "parts": [
                {"text": "a"},
                {"text": "b", "thoughtSignature": "s2"},
                {"functionCall": {"name": "tide", "args": {}}, "thoughtSignature": "s0"},
                {"functionCall": {"name": "dig", "args": {}}, "thoughtSignature": "s1"},
            ],
        }
    ]
    assert sent("gemini", says("assistant", "a", tool_calls=calls[:1], extra=placed))[0]["parts"] == [
        {"text": "a", "thoughtSignature": "s0"},
        {"functionCall": {"name": "tide", "args": {}}},
    ]


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "hello"}, {"functionCall": {"name": "tide", "args": {}}, "thoughtSignature": "s1"}],
        [{"text": "a", "thoughtSignature": "s0"}, {"text": "b"}],
        [{"text": "a"}, {"text": "", "thoughtSignature": "late"}],
        [
            {"text": "t\nu", "thought": True, "thoughtSignature": "s0"},
            {"text": "v", "thought": True},
            {"text": "x"},
        ],
        [{"text": "x"}, {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "s0"}],
        [
            {"text": "a"},
            {"inlineData": {"mimeType": "image/png", "data": PNG}, "thoughtSignature": "s2"},
        ],
        [{"functionCall": {"name": "tide", "args": {}, "id": "k"}, "thoughtSignature": "s1"}],
        [{"text": "x"}, {"thoughtSignature": "bare"}],
    ],
)
def test_every_signature_returns_to_the_part_it_came_from(parts: list[dict[str, Any]]) -> None:
    """W-20, acceptance case 4: decode then encode, although texts were joined in between."""
    (message,) = decode_step("gemini", heard_from_gemini(*parts))["messages"]

    assert sent("gemini", message) == [{"role": "model", "parts": parts}]


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {
                "promptTokenCount": 3,
                "candidatesTokenCount": 4,
                "totalTokenCount": 12,
                "cachedContentTokenCount": 2,
                "thoughtsTokenCount": 5,
            },
            {
                "input_tokens": 3,
                "output_tokens": 4,
                "total_tokens": 12,
                "cache_read_tokens": 2,
                "reasoning_tokens": 5,
            },
        ),
        ({"prompt_token_count": 3}, {"input_tokens": 3, "output_tokens": 0}),
        ({"totalTokenCount": 3}, None),
    ],
)
def test_usage_is_as_reported(usage: dict[str, Any], counts: dict[str, Any] | None) -> None:
    """W-17: 0 if one of the two counts is missing, none if both."""
    result = decode_step("gemini", {**heard_from_gemini({"text": "x"}), "usageMetadata": usage})

    assert result.get("token_usage") == counts


@pytest.mark.parametrize(
    ("stop", "ours"),
    [("STOP", "stop"), ("OTHER", "stop"), ("NEW", "stop"), ("MAX_TOKENS", "length")]
    + [(each, "content_filter") for each in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")],
)
def test_finish_reasons_are_those_of_the_table(stop: str, ours: str) -> None:
    """W-17: the table of section 2."""
    assert decode_step("gemini", heard_from_gemini({"text": "x"}, stop=stop))["finish_reason"] == ours


def test_only_the_first_candidate_counts_and_one_without_content_is_no_message() -> None:
    """W-20 (decode)."""
    two = heard_from_gemini({"text": "x"})["candidates"] + heard_from_gemini({"text": "y"})["candidates"]

    assert decode_step("gemini", {"candidates": two})["messages"] == [says("assistant", "x")]
    assert decode_step("gemini", {"candidates": [{"finishReason": "SAFETY"}], "modelVersion": "g"}) == {
        "messages": [],
        "finish_reason": "content_filter",
        "metadata": {"model": "g"},
    }


def test_arguments_nested_past_writing_are_an_error_with_its_place() -> None:
    """J-05: and no crash."""
    response = heard_from_gemini({"functionCall": {"name": "tide", "args": nested(20_000)}})

    with pytest.raises(CodecError, match=r"^the arguments of tide: "):
        decode_step("gemini", response)
