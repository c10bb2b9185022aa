"""Step codecs: wire messages to requests of OpenAI chat, Gemini and Claude, and their responses back."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from weft.canon import ExcludedItem
from weft.errors import CodecError, ProviderError, UsageError
from weft.wire.steps import decode_step, encode_step, gemini_safety_settings, plan_step

PNG = "iVBORw=="
DATA_URL = f"data:image/png;base64,{PNG}"
REMOTE = "https://example.org/quay.png"
TIDE = {"name": "tide", "description": "High water", "parameters": {"type": "object", "properties": {}}}
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}}
THREE = ("openai", "claude", "gemini")


def says(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def words(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(name: str = "tide", arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, **fields}


def sent(to: str, *messages: dict[str, Any], **options: Any) -> Any:
    """The messages of the request, as the provider gets them."""
    body = encode_step(to, {"messages": list(messages)}, model="m", **options)
    return body["contents" if to == "gemini" else "messages"]


def lost(to: str, *messages: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    losses = plan_step(to, {"messages": list(messages)}, model="m", **options).losses
    return [(item.description, item.reason) for item in losses]


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value


class TestAnyProvider:
    @pytest.mark.parametrize("to", THREE)
    def test_a_model_must_be_named_and_the_input_is_not_changed(self, to: str) -> None:
        """W-1: encoders take `model`, which has no default; the step stays as it was."""
        step = {
            "messages": [
                says("system", "Be brief."),
                says("user", [words("a"), {"type": "image", "data": b"\x89PNG"}]),
                says("assistant", "", tool_calls=[call(id="k", arguments='{"a": 1}')], reasoning=[words("hm")]),
                says("tool", [words("06:10")], call_id="k"),
            ],
            "functions": [TIDE],
            "response_schema": {"schema": SCHEMA},
        }
        before = copy.deepcopy(step)

        encode_step(to, step, model="m", stream=True)

        assert step == before
        with pytest.raises(TypeError):
            encode_step(to, step)  # type: ignore[call-arg]
        with pytest.raises(UsageError, match="model"):
            encode_step(to, step, model="")

    def test_there_are_three_of_them(self) -> None:
        with pytest.raises(UsageError, match="no step codec for cohere"):
            encode_step("cohere", {"messages": []}, model="m")

    @pytest.mark.parametrize(
        ("step", "where"),
        [
            ({}, "messages"),
            ({"messages": [{"role": "user"}]}, "messages[0].content"),
            ({"messages": [], "functions": 1}, "functions"),
            ({"messages": [], "functions": [{"description": "x"}]}, "functions[0]"),
            ({"messages": [], "functions": [{"name": "x", "parameters": []}]}, "functions[0]"),
            ({"messages": [], "response_schema": {"name": "x"}}, "response_schema"),
        ],
    )
    def test_a_step_that_is_none_is_refused_with_its_place(self, step: Any, where: str) -> None:
        """W-2."""
        with pytest.raises(CodecError) as caught:
            encode_step("openai", step, model="m")

        assert caught.value.where == where

    @pytest.mark.parametrize("to", THREE)
    def test_strict_raises_when_anything_is_left_out(self, to: str) -> None:
        """R-3: otherwise the losses are in the plan, named by their place in the step."""
        answer = says("tool", [words("06:10"), {"type": "image", "url": REMOTE}], call_id="k", name="tide")

        (loss,) = plan_step(to, {"messages": [answer]}, model="m").losses

        assert loss.description == "messages[0].content[1]"
        with pytest.raises(CodecError, match=r"^messages\[0\]\.content\[1\]: .* \(1 losses in all\)$"):
            encode_step(to, {"messages": [answer]}, model="m", strict=True)
        assert encode_step(to, {"messages": [says("user", "x")]}, model="m", strict=True)["model"] == "m"

    @pytest.mark.parametrize("to", ["claude", "gemini"])
    def test_a_role_nobody_knows_is_a_user(self, to: str) -> None:
        """Acceptance case 11: role critic becomes user for Claude and Gemini; W-4: OpenAI gets it as it is."""
        assert [turn["role"] for turn in sent(to, says("critic", "Too long."))] == ["user"]
        assert sent("openai", says("critic", "Too long.")) == [says("critic", "Too long.")]

    @pytest.mark.parametrize("to", ["claude", "gemini"])
    def test_the_name_of_a_sender_is_a_loss_where_there_is_no_field_for_it(self, to: str) -> None:
        """R-3."""
        ((place, reason),) = lost(to, says("user", "x", name="Ada"))

        assert place == "messages[0].name"
        assert "names of senders" in reason

    def test_a_codec_reads_only_its_own_entry(self) -> None:
        """W-18, W-21: `extra` of other providers is neither sent nor in the way."""
        message = says(
            "assistant",
            "x",
            reasoning="T",
            extra={
                "claude": {"thinking_blocks": [{"type": "thinking", "thinking": "T", "signature": "s"}]},
                "gemini": {"thought_signatures": ["g"], "signature_parts": [{"kind": "text", "index": 0}]},
                "other": 1,
            },
        )

        assert sent("openai", message) == [says("assistant", "x")]
        assert sent("claude", message)[0]["content"] == [
            {"type": "thinking", "thinking": "T", "signature": "s"},
            words("x"),
        ]
        assert sent("gemini", message)[0]["parts"] == [
            {"text": "T", "thought": True},
            {"text": "x", "thoughtSignature": "g"},
        ]

    @pytest.mark.parametrize("to", THREE)
    def test_data_that_is_not_base64_is_refused(self, to: str) -> None:
        """W-6, W-13, W-25: rather than sent broken."""
        for broken, field in (({"data": "!"}, "data"), ({"url": "data:image/png;base64,!"}, "url")):
            with pytest.raises(CodecError) as caught:
                sent(to, says("user", [{"type": "image", **broken}]))
            assert caught.value.where == f"messages[0].content[0].{field}"

    def test_what_a_caller_adds_goes_into_the_body_last(self) -> None:
        body = encode_step(
            "gemini",
            {"messages": [says("user", "x")]},
            model="m",
            max_tokens=5,
            extra_body={"config": {"safetySettings": gemini_safety_settings()[:1]}},
        )

        assert body == {
            "model": "m",
            "contents": [{"role": "user", "parts": [{"text": "x"}]}],
            "config": {
                "maxOutputTokens": 5,
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            },
        }


class TestOpenAI:
    def test_roles_go_one_to_one_and_a_tool_message_finds_its_id(self) -> None:
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

    def test_name_calls_and_refusal_have_their_fields(self) -> None:
        """W-5: argument text is sent as it was written."""
        calls = [call(id="k", arguments='{"port": "Oban"}'), call("dig", "")]

        assert sent(
            "openai", says("user", "u", name="Ada"), says("assistant", "", refusal="No.", tool_calls=calls)
        ) == [
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

    def test_parts_are_written_in_openais_blocks(self) -> None:
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
    def test_a_part_without_what_it_is_made_of_is_an_error(self, part: dict[str, Any]) -> None:
        """W-6."""
        with pytest.raises(CodecError) as caught:
            sent("openai", says("user", [words("a"), part]))

        assert caught.value.where == "messages[0].content[1]"

    def test_a_response_schema_becomes_the_response_format(self) -> None:
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

    def test_functions_become_tools_and_streams_are_asked_for_their_usage(self) -> None:
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

    def test_reasoning_is_not_sent_unless_a_field_is_named(self) -> None:
        """W-9: it is reported as left out."""
        message = says("assistant", "x", reasoning=[words("h"), words("m")])

        assert sent("openai", message) == [says("assistant", "x")]
        assert [place for place, _ in lost("openai", message)] == ["messages[0].reasoning"]
        assert sent("openai", message, reasoning_field="reasoning_content") == [
            says("assistant", "x", reasoning_content="hm")
        ]
        assert lost("openai", message, reasoning_field="reasoning_content") == []

    def test_a_response_is_one_message_for_each_choice(self) -> None:
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
    def test_reasoning_of_a_whole_response_is_read(self, fields: dict[str, Any]) -> None:
        """W-11: `reasoning`, else `reasoning_content`."""
        message = {"role": "assistant", "content": "x", **fields}

        result = decode_step("openai", {"choices": [{"message": message, "finish_reason": "stop"}]})

        assert result["messages"][0]["reasoning"] == "hm"

    @pytest.mark.parametrize(
        ("theirs", "ours"),
        [("stop", "stop"), ("length", "length"), ("tool_calls", "tool_calls"), ("content_filter", "content_filter")],
    )
    def test_finish_reasons(self, theirs: str, ours: str) -> None:
        """W-10: the table of section 2."""
        response = {"choices": [{"message": {"content": "x"}, "finish_reason": theirs}]}

        assert decode_step("openai", response) == {"messages": [says("assistant", "x")], "finish_reason": ours}

    def test_an_error_body_is_the_providers_error(self) -> None:
        with pytest.raises(ProviderError, match=r"^openai: no such model$") as caught:
            decode_step("openai", {"error": {"message": "no such model", "type": "invalid_request_error"}})

        assert caught.value.provider == "openai"
        assert caught.value.body == '{"error":{"message":"no such model","type":"invalid_request_error"}}'
        with pytest.raises(ProviderError, match=r"^openai: an error$"):
            decode_step("openai", {"error": nested(2000)})

    def test_arguments_nested_past_writing_are_an_error_with_its_place(self) -> None:
        """J-05: and no crash."""
        response = heard_from_gemini({"functionCall": {"name": "tide", "args": nested(20_000)}})

        with pytest.raises(CodecError, match=r"^the arguments of tide: "):
            decode_step("gemini", response)


def heard_from_gemini(*parts: dict[str, Any], stop: str = "STOP") -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": stop}]}


class TestGemini:
    def test_every_system_message_is_taken_out_wherever_it_stands(self) -> None:
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

    def test_parts_are_inline_data(self) -> None:
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
    def test_media_it_cannot_have_is_an_error(self, part: dict[str, Any], where: str) -> None:
        """W-13."""
        with pytest.raises(CodecError) as caught:
            sent("gemini", says("user", [part]))

        assert caught.value.where == f"messages[0].content[0]{where}"

    def test_reasoning_leads_as_thoughts(self) -> None:
        """W-14: unless it is not to be sent."""
        message = says("assistant", "x", reasoning=[words("h"), words("m")])

        assert sent("gemini", message)[0]["parts"] == [
            {"text": "h", "thought": True},
            {"text": "m", "thought": True},
            {"text": "x"},
        ]
        assert sent("gemini", message, send_reasoning=False)[0]["parts"] == [{"text": "x"}]

    def test_calls_come_after_the_texts(self) -> None:
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

    def test_tool_messages_are_function_responses_in_one_entry(self) -> None:
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

    def test_settings_ride_in_config(self) -> None:
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

    def test_signatures_are_listed_with_their_places(self) -> None:
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

    def test_signatures_without_places_go_to_calls_then_to_the_last_text(self) -> None:
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
    def test_every_signature_returns_to_the_part_it_came_from(self, parts: list[dict[str, Any]]) -> None:
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
    def test_usage_is_as_reported(self, usage: dict[str, Any], counts: dict[str, Any] | None) -> None:
        """W-17: 0 if one of the two counts is missing, none if both."""
        result = decode_step("gemini", {**heard_from_gemini({"text": "x"}), "usageMetadata": usage})

        assert result.get("token_usage") == counts

    @pytest.mark.parametrize(
        ("stop", "ours"),
        [("STOP", "stop"), ("OTHER", "stop"), ("NEW", "stop"), ("MAX_TOKENS", "length")]
        + [(each, "content_filter") for each in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")],
    )
    def test_finish_reasons(self, stop: str, ours: str) -> None:
        """W-17: the table of section 2."""
        assert decode_step("gemini", heard_from_gemini({"text": "x"}, stop=stop))["finish_reason"] == ours

    def test_only_the_first_candidate_counts_and_one_without_content_is_no_message(self) -> None:
        """W-20 (decode)."""
        two = heard_from_gemini({"text": "x"})["candidates"] + heard_from_gemini({"text": "y"})["candidates"]

        assert decode_step("gemini", {"candidates": two})["messages"] == [says("assistant", "x")]
        assert decode_step("gemini", {"candidates": [{"finishReason": "SAFETY"}], "modelVersion": "g"}) == {
            "messages": [],
            "finish_reason": "content_filter",
            "metadata": {"model": "g"},
        }


def heard_from_claude(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(content), "stop_reason": stop}


THOUGHT = {"type": "thinking", "thinking": "T", "signature": "sig"}
SEALED = {"type": "redacted_thinking", "data": "D"}


class TestClaude:
    def test_thinking_comes_first_then_content_then_calls(self) -> None:
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

    def test_reasoning_without_stored_blocks_is_dropped_and_reported(self) -> None:
        """W-22."""
        message = says("assistant", "x", reasoning="hm")

        assert sent("claude", message) == [says("assistant", "x")]
        assert lost("claude", message) == [("messages[0].reasoning", "thinking without a signature is not accepted")]

    def test_neighbours_of_one_role_become_one_turn(self) -> None:
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

    def test_tool_results_come_first_and_messages_without_blocks_are_skipped(self) -> None:
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

    def test_parts_are_written_in_claudes_blocks(self) -> None:
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
    def test_media_it_cannot_have_is_an_error(self, part: dict[str, Any]) -> None:
        """W-25."""
        with pytest.raises(CodecError) as caught:
            sent("claude", says("user", [part]))

        assert caught.value.where == "messages[0].content[0]"

    def test_settings(self) -> None:
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

    def test_a_failed_tool_is_marked(self) -> None:
        """W-27: only by a true `extra.claude.is_error`."""
        failed = says("tool", "closed", call_id="k", extra={"claude": {"is_error": True}})

        (turn,) = sent("claude", failed, {**failed, "extra": {"claude": {"is_error": False}}})

        result = {"type": "tool_result", "tool_use_id": "k", "content": "closed"}
        assert turn["content"] == [{**result, "is_error": True}, result]

    def test_the_caching_hint_marks_the_block(self) -> None:
        """R-11: `extra.weft.cache`."""
        (turn,) = sent("claude", says("user", "long", extra={"weft": {"cache": True}}))

        assert turn["content"] == [{**words("long"), "cache_control": {"type": "ephemeral"}}]

    def test_thinking_goes_back_byte_for_byte_first_in_the_turn(self) -> None:
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

    def test_several_thoughts_are_joined_by_newlines_and_nothing_more_is_said(self) -> None:
        """W-28: no `extra` if there is nothing for it."""
        second = {**THOUGHT, "thinking": "U"}

        assert decode_step("claude", heard_from_claude(THOUGHT, second))["messages"][0]["reasoning"] == "T\nU"
        assert decode_step("claude", heard_from_claude(words("x")))["messages"] == [says("assistant", "x")]

    @pytest.mark.parametrize(
        ("stop", "ours"),
        [(each, "stop") for each in ("end_turn", "stop_sequence", "pause_turn", "new_reason")]
        + [("max_tokens", "length"), ("tool_use", "tool_calls"), ("refusal", "content_filter")],
    )
    def test_finish_reasons(self, stop: str, ours: str) -> None:
        """W-28: the table of section 2."""
        assert decode_step("claude", heard_from_claude(words("x"), stop=stop))["finish_reason"] == ours

    def test_losses_are_named_by_their_place_in_the_step(self) -> None:
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


def test_the_account_of_losses_is_of_the_usual_kind() -> None:
    """R-3: `ExcludedItem(description, reason)`."""
    (loss,) = plan_step("openai", {"messages": [says("assistant", "x", reasoning="r")]}, model="m").losses

    assert loss == ExcludedItem("messages[0].reasoning", "reasoning has no field in chat.completions")
