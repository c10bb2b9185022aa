"""Chat Completions requests, both ways, under each policy."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import a_spec, assistant, image, message, text, thinking, tool, tool_call, tool_result, user
from tests.support.strategies import json_values
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Instructions, Part, RunSpec, ToolSpecification
from weft.errors import UnsupportedFeatureError, WireError
from weft.wire.codec import ADAPTER, FAITHFUL, STEP, TURN
from weft.wire.openai_chat import DIALECT

PNG = "iVBORw0KGgo="
PDF = "data:application/pdf;base64,JVBERi0="


def said_back(body: dict[str, Any]) -> dict[str, Any]:
    blobs = InMemoryBlobStore()
    decoded = DIALECT.decode_request(body, blobs)
    encoded = DIALECT.encode_request(decoded.messages, decoded.spec, blobs)
    assert encoded.losses == []
    return encoded.body


def turns(*messages: Any, policy: Any = ADAPTER, spec: RunSpec | None = None, blobs: Any = None) -> Any:
    return DIALECT.encode_request(messages, spec or a_spec(), blobs, policy)


class TestSaidBack:
    """L1: what was read is written as it was."""

    @pytest.mark.parametrize(
        "said",
        [
            {"role": "user", "content": "Depth?"},
            {"role": "user", "content": ""},
            {"role": "developer", "content": "Be brief.", "name": "harbour"},
            {"role": "critic", "content": "No."},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]},
            {"role": "user", "content": []},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}}],
            },
            {"role": "user", "content": [{"type": "image_url", "image_url": f"data:image/png;base64,{PNG}"}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,@@"}}]},
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:;x,y"}, "cache_control": {}}],
            },
            {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
            {"role": "user", "content": [{"type": "document_url", "document_url": PDF, "document_name": "log.pdf"}]},
            {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}]},
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}]},
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklG", "format": "flac"}}]},
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "@", "format": "wav"}}]},
            {"role": "user", "content": [{"type": "file", "file": {"filename": "log.pdf", "file_data": PDF}}]},
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "JVBERi0="}}]},
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "https://x/log.pdf"}}]},
            {"role": "user", "content": [{"type": "file", "file": "odd"}]},
            {"role": "user", "content": [{"type": "hologram", "hologram": {"z": 1}}, {"role": "user", "content": "?"}]},
            {"role": "assistant", "content": None},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            {"role": "assistant", "content": None, "refusal": "I will not."},
            {"role": "assistant", "content": "a", "reasoning_content": "hm"},
            {"role": "assistant", "content": "a", "reasoning_content": ""},
            {
                "role": "assistant",
                "content": "a",
                "reasoning": "hm",
                "reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln", "index": 0}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True},
                    {"type": "text", "text": "6.2 m"},
                ],
            },
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "dig", "arguments": '{"at": [1, {"b": 2}]}'}},
                    {"id": "c2", "type": "function", "function": {"name": "dig", "arguments": "[1]"}, "index": 1},
                    {"id": "c3", "function": {"name": "dig", "arguments": {"at": 1}}},
                    {"id": "c4", "type": "custom", "custom": {"name": "sql", "input": "select 1"}},
                    {"id": "c5", "type": "web_search", "web_search": {"q": "tide"}},
                    {"id": "c6", "function": {"name": "dig", "arguments": ""}, "extra_content": {"google": {"s": "x"}}},
                    {"id": "c7", "type": "function", "function": {"name": "dig"}},
                ],
            },
            {"role": "assistant", "tool_calls": [], "prefix": False, "annotations": []},
            {"role": "assistant", "function_call": {"name": "dig", "arguments": '{"a": 1}'}},
            {"role": "assistant", "audio": {"id": "audio_1"}},
            {"role": "tool", "tool_call_id": "c1", "content": "6.2 m"},
            {"role": "tool", "tool_call_id": "c1", "content": "6.2 m", "name": "dig", "cached": True},
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": {"depth": 6.2}},
            {"role": "tool", "tool_call_id": "c1", "content": None},
            {"role": "function", "name": "dig", "content": "6.2 m"},
        ],
    )
    def test_a_message_comes_back_as_it_was(self, said: dict[str, Any]) -> None:
        wanted = {key: value for key, value in said.items() if value is not None}

        back = said_back({"model": "m", "messages": [said]})["messages"]

        assert [{key: value for key, value in turn.items() if value is not None} for turn in back] == [wanted]

    @pytest.mark.parametrize(
        "settings",
        [
            {"max_tokens": 5, "temperature": 0, "top_p": 0.5, "seed": 7},
            {"max_completion_tokens": 5},
            {"max_completion_tokens": 5, "max_tokens": 6},
            {"seed": 1.5, "temperature": True, "max_tokens": "many"},
            {"tools": []},
            {"tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}]},
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": [1]}}]},
            {"tools": [{"type": "custom", "custom": {"name": "sql"}}], "tool_choice": {"type": "custom"}},
            {"functions": [{"name": "f", "parameters": {"type": "object"}}], "function_call": "auto"},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}},
            {"response_format": {"type": "json_object"}},
            {"modalities": ["text", "audio"], "audio": {"voice": "ash"}},
            {"stream": True, "stream_options": {"include_usage": True}, "provider": {"order": ["a"]}},
            {"model": ""},
        ],
    )
    def test_settings_come_back_as_they_were(self, settings: dict[str, Any]) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **settings}

        assert said_back(body) == body

    @given(json_values())
    def test_any_json_is_read_or_refused(self, value: Any) -> None:
        """L6: whatever arrives, the answer is a result or a WireError."""
        for body in (
            value,
            {"messages": value},
            {"messages": [value]},
            {"messages": [{"role": "user", "content": value}]},
        ):
            with suppress(WireError):
                DIALECT.decode_request(body if isinstance(body, dict) else {"messages": body})

    def test_a_request_nested_a_thousand_deep_comes_back(self) -> None:
        deep: Any = []
        for _ in range(1000):
            deep = [deep]
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "metadata": {"deep": deep}}

        back = said_back(body)["metadata"]["deep"]

        depth = 0
        while back:
            back, depth = back[0], depth + 1
        assert depth == 1000


class TestReading:
    def test_a_call_keeps_its_block_and_reads_its_arguments(self) -> None:
        """M-53, model.md case 7: arguments that are no object are kept as text."""
        call = {"id": "t1", "function": {"name": "dig", "arguments": "[1]"}}

        (message,) = DIALECT.decode_request({"messages": [{"role": "assistant", "tool_calls": [call]}]}).messages

        assert message.parts == (
            Part("tool_call", tool_call_id="t1", tool_name="dig", tool_args={"_raw": "[1]"}, provider_raw=call),
        )

    def test_thinking_says_who_produced_it(self) -> None:
        body = {"model": "r1", "messages": [{"role": "assistant", "content": "a", "reasoning_content": "hm"}]}

        (message,) = DIALECT.decode_request(body, provider="deepseek").messages

        assert message.provider == "deepseek"
        assert message.parts[1] == Part(
            "thinking",
            text="hm",
            json={"provider": "deepseek", "dialect": "openai_chat", "model": "r1"},
            provider_raw={"reasoning_content": "hm"},
        )

    def test_pictures_are_bytes_in_the_store_or_a_url(self) -> None:
        blobs = InMemoryBlobStore()
        blocks = [
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://x/a.png"}},
        ]

        (message,) = DIALECT.decode_request({"messages": [{"role": "user", "content": blocks}]}, blobs).messages

        held, remote = message.parts
        assert (held.type, held.json, held.provider_raw) == ("image", {"detail": "low"}, None)
        assert held.blob is not None
        assert (held.blob.media_type, blobs.get_blob(held.blob)) == ("image/png", b"\x89PNG\r\n\x1a\n")
        assert remote == Part("image", json={"url": "https://x/a.png"})

    def test_a_result_answered_by_name_is_a_tool_message(self) -> None:
        (message,) = DIALECT.decode_request(
            {"messages": [{"role": "function", "name": "dig", "content": "x"}]}
        ).messages

        assert (message.role, message.parts[0]) == ("tool", Part("tool_result", tool_name="dig", tool_output="x"))

    def test_either_name_of_the_token_limit_is_read(self) -> None:
        body = {"model": "m", "messages": [], "max_completion_tokens": 9}

        assert DIALECT.decode_request(body).spec.max_output_tokens == 9

    @pytest.mark.parametrize(
        ("body", "where"),
        [
            ({}, "messages"),
            ({"messages": 1}, "messages"),
            ({"messages": [1]}, "messages[0]"),
            ({"messages": [{}]}, "messages[0].role"),
            ({"messages": [{"role": 1}]}, "messages[0].role"),
            ({"messages": [{"role": "user", "content": 1}]}, "messages[0].content"),
            ({"messages": [{"role": "user", "content": [1]}]}, "messages[0].content[0]"),
            ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0]"),
            ({"messages": [{"role": "assistant", "tool_calls": 1}]}, "messages[0].tool_calls"),
            ({"messages": [{"role": "assistant", "tool_calls": [1]}]}, "messages[0].tool_calls[0]"),
            ({"messages": [{"role": "assistant", "tool_calls": [{"id": 1}]}]}, "messages[0].tool_calls[0].id"),
            (
                {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": 1}}]}]},
                "messages[0].tool_calls[0].function.name",
            ),
            ({"messages": [{"role": "tool", "tool_call_id": 1}]}, "messages[0].tool_call_id"),
            ({"messages": [], "model": 1}, "model"),
        ],
    )
    def test_what_does_not_fit_is_an_error_with_its_place(self, body: Any, where: str) -> None:
        with pytest.raises(WireError) as caught:
            DIALECT.decode_request(body)

        assert caught.value.where == where


class TestPlanned:
    """model.md, sections 9 and 10, under the adapter's policy."""

    def test_instructions_lead_as_system_and_developer(self) -> None:
        spec = a_spec(instructions=Instructions(system="s", developer="d"), max_output_tokens=5, seed=7)

        encoded = turns(user("hi"), spec=spec)

        assert encoded.body == {
            "model": "m",
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "developer", "content": "d"},
                {"role": "user", "content": "hi"},
            ],
            "max_tokens": 5,
            "seed": 7,
        }

    def test_settings_have_their_places(self) -> None:
        spec = a_spec(
            tools=[ToolSpecification("dig", "Dig.", {"type": "object"})],
            tool_choice="auto",
            response_schema={"name": "n", "schema": {}},
            response_modalities=["text"],
            temperature=0.5,
            extra_headers={"x-a": "b"},
            extra_query={"q": "1"},
            extra_body={"response_format": {"strict": True}, "user": "u"},
        )

        body = turns(user("hi"), spec=replace(spec, extra_body={"user": "u"})).body
        del body["messages"]

        assert body == {
            "model": "m",
            "temperature": 0.5,
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "dig", "description": "Dig.", "parameters": {"type": "object"}},
                }
            ],
            "tool_choice": "auto",
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
            "modalities": ["text"],
            "extra_headers": {"x-a": "b"},
            "extra_query": {"q": "1"},
            "user": "u",
        }

    def test_an_assistants_texts_are_joined_by_a_space(self) -> None:
        encoded = turns(assistant("a", "b"), assistant(tool_call(args={"x": 1}, call_id="c1")))

        assert encoded.body["messages"] == [
            {"role": "assistant", "content": "a b"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "dig", "arguments": '{"x":1}'}}],
            },
        ]

    def test_the_first_thinking_part_is_the_reasoning(self) -> None:
        own = {"dialect": "openai_chat", "provider": "openrouter"}
        details = [{"type": "reasoning.text", "text": "hm", "signature": "c2ln"}]
        first = Part("thinking", text="hm", json=own, provider_raw={"reasoning": "hm", "reasoning_details": details})

        encoded = turns(assistant(first, thinking("more"), "a"), assistant(thinking("plain"), "b"))

        assert encoded.body["messages"] == [
            {"role": "assistant", "content": "a", "reasoning": "hm", "reasoning_details": details},
            {"role": "assistant", "content": "b", "reasoning_content": "plain"},
        ]
        assert encoded.roundtrip == ["context.messages[0].parts[0]"]
        assert encoded.losses == [
            ExcludedItem(
                "context.messages[0].parts[1]", "only the first thinking part of a message is sent as its reasoning"
            )
        ]

    def test_thinking_of_another_dialect_is_left_out_or_sent_as_text(self) -> None:
        foreign = Part("thinking", text="hm", json={"dialect": "anthropic", "provider": "anthropic"})
        as_text = replace(ADAPTER, foreign_thinking="text")

        dropped, told = turns(assistant(foreign, "a")), turns(assistant(foreign, "a"), policy=as_text)

        assert dropped.body["messages"] == [{"role": "assistant", "content": "a"}]
        assert dropped.losses == [
            ExcludedItem("context.messages[0].parts[0]", "thinking of anthropic has no place in chat.completions")
        ]
        assert told.body["messages"] == [{"role": "assistant", "content": "hm a"}]

    def test_what_says_nothing_is_an_error_of_the_plan(self) -> None:
        """M-46, and the plan errors of section 9."""
        encoded = turns(user(text("")), tool(tool_result("x", call_id="")), assistant(Part("compaction")))

        assert encoded.body["messages"] == []
        assert [item.description for item in encoded.losses] == [
            "context.messages[0].parts[0]",
            "context.messages[0]",
            "context.messages[1].parts[0]",
            "context.messages[1]",
            "context.messages[2].parts[0]",
            "context.messages[2]",
        ]
        assert len(encoded.errors) == 4

    def test_no_messages_at_all_is_an_error(self) -> None:
        assert turns().errors == ["chat.completions needs at least one message, and there is none"]

    def test_parts_in_the_wrong_role_are_left_out(self) -> None:
        messages = [user(tool_result("x"), "a"), tool("b", tool_result("y")), assistant(Part("image"), "c")]

        encoded = turns(*messages, message("robot", "d"))  # type: ignore[arg-type]

        assert [turn["role"] for turn in encoded.body["messages"]] == ["user", "tool", "assistant"]
        assert [item.description for item in encoded.losses] == [
            "context.messages[0].parts[0]",
            "context.messages[1].parts[0]",
            "context.messages[2].parts[0]",
            "context.messages[3]",
        ]

    @pytest.mark.parametrize(
        ("part", "block"),
        [
            (Part("file", text="file-9"), {"file_id": "file-9"}),
            (Part("file", provider_raw={"file_data": "eA==", "filename": "a"}), {"file_data": "eA==", "filename": "a"}),
            (Part("file", json={"file_id": "file-9"}), {"file_id": "file-9"}),
        ],
    )
    def test_a_file_goes_by_id_or_data(self, part: Part, block: dict[str, Any]) -> None:
        encoded = turns(user(part, "read"))

        assert encoded.body["messages"][0]["content"][0] == {"type": "file", "file": block}

    def test_media_go_as_bytes(self) -> None:
        blobs = InMemoryBlobStore()
        png = blobs.put_blob(b"p", media_type="image/png", kind="image")
        log = blobs.put_blob(b"l", media_type="text/plain", kind="file")
        horn = blobs.put_blob(b"h", media_type="audio/mpeg", kind="audio")
        parts = [image(png), Part("file", blob=log), Part("audio", blob=horn), Part("json", json={"a": 1})]

        encoded = turns(user(*parts), blobs=blobs)

        assert encoded.body["messages"][0]["content"] == [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cA=="}},
            {"type": "file", "file": {"file_data": "bA==", "filename": "upload.bin"}},
            {"type": "input_audio", "input_audio": {"data": "aA==", "format": "mp3"}},
            {"type": "text", "text": '{"a":1}'},
        ]
        faithful = turns(user(Part("file", blob=log)), policy=FAITHFUL, blobs=blobs).body["messages"][0]
        assert faithful["content"][0]["file"]["file_data"] == "data:text/plain;base64,bA=="

    @pytest.mark.parametrize(
        "part",
        [
            Part("image"),
            Part("audio"),
            Part("file"),
            Part("file", json={"url": "https://x"}),
            Part("video", json={"url": "https://x"}),
            Part("thinking"),
        ],
    )
    def test_media_without_bytes_are_left_out(self, part: Part) -> None:
        assert [item.description for item in turns(user(part, "a")).losses] == ["context.messages[0].parts[0]"]

    def test_audio_of_another_format_is_left_out(self) -> None:
        blobs = InMemoryBlobStore()
        song = blobs.put_blob(b"s", media_type="audio/ogg", kind="audio")

        assert turns(user(Part("audio", blob=song), "a"), blobs=blobs).losses == [
            ExcludedItem(
                "context.messages[0].parts[0]",
                "audio of type audio/ogg is not taken by chat.completions, only wav and mp3",
            )
        ]

    def test_a_failed_tool_is_said_to_be_unmarked(self) -> None:
        failed = Part("tool_result", tool_call_id="c", tool_output={"no": 1}, provider_raw={"is_error": True})

        encoded = turns(tool(failed))

        assert encoded.body["messages"] == [{"role": "tool", "tool_call_id": "c", "content": '{"no":1}'}]
        assert len(encoded.warnings) == 1

    def test_an_edited_call_wins_over_its_block(self) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "dig", "arguments": '{"a": 1}'}, "index": 0}
        (message_,) = DIALECT.decode_request({"messages": [{"role": "assistant", "tool_calls": [call]}]}).messages
        edited = replace(message_.parts[0], tool_args={"a": [2]}, tool_name="drill")

        encoded = turns(assistant(edited))

        assert encoded.body["messages"][0]["tool_calls"] == [
            {"id": "c1", "type": "function", "function": {"name": "drill", "arguments": '{"a":[2]}'}, "index": 0}
        ]

    def test_blocks_of_other_dialects_are_not_sent(self) -> None:
        """A block is ours by its shape, by its mark, or by who spoke."""
        parts = [
            Part("text", "a", provider_raw={"type": "text", "text": "a", "citations": []}),
            Part(
                "tool_call", tool_call_id="c", tool_name="f", tool_args={}, provider_raw={"function_call": {"args": {}}}
            ),
            Part("provider", json={"dialect": "anthropic"}, provider_raw={"type": "server_tool_use"}),
            Part("provider", provider_raw={"type": 5}),
        ]

        encoded = turns(assistant(*parts, provider="anthropic"))

        assert encoded.body["messages"] == [
            {
                "role": "assistant",
                "content": "a",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            }
        ]
        assert len(encoded.losses) == 2


class TestSteps:
    """message-codecs.md, section 3."""

    def test_missing_ids_are_empty_and_a_result_takes_its_messages_id(self) -> None:
        """W-4, W-5; case 3 of section 10."""
        call = Part("tool_call", tool_name="dig", provider_raw={"arguments": '{ "a": 1 }'}, tool_args={"a": 1})
        result = Part("tool_result", tool_output="x")

        encoded = turns(assistant(call), tool(result, id="k"), tool(result), policy=STEP)

        assert encoded.body["messages"] == [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "", "type": "function", "function": {"name": "dig", "arguments": '{ "a": 1 }'}}],
            },
            {"role": "tool", "tool_call_id": "k", "content": "x"},
            {"role": "tool", "tool_call_id": "", "content": "x"},
        ]

    def test_a_results_parts_are_sent_as_text(self) -> None:
        blocks = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
        encoded = turns(tool(tool_result(blocks)), tool(tool_result([1])), tool(tool_result(None)), policy=STEP)

        assert [turn["content"] for turn in encoded.body["messages"]] == ["ab", "[1]", ""]

    def test_reasoning_is_sent_only_where_a_field_is_named(self) -> None:
        """W-9."""
        said = assistant(thinking("hm"), "a")
        named = turns(said, policy=replace(STEP, reasoning_field="reasoning"))

        assert turns(said, policy=STEP).body["messages"] == [{"role": "assistant", "content": "a"}]
        assert len(turns(said, policy=STEP).losses) == 1
        assert named.body["messages"] == [{"role": "assistant", "content": "a", "reasoning": "hm"}]

    def test_a_refusal_is_a_field(self) -> None:
        encoded = turns(assistant(text(""), Part("refusal", text="no")), policy=STEP)

        assert encoded.body["messages"] == [{"role": "assistant", "content": "", "refusal": "no"}]


class TestTurns:
    """threads.md, section 15."""

    def test_a_tool_use_has_empty_content(self) -> None:
        """Case 9 of section 17."""
        encoded = turns(assistant(tool_call(call_id="c")), assistant("a", "b"), user("c", "d"), policy=TURN)

        assert [turn["content"] for turn in encoded.body["messages"]] == ["", "ab", "cd"]

    def test_results_are_apart_and_the_rest_follows(self) -> None:
        encoded = turns(tool(tool_result("x", call_id="c"), "and"), policy=TURN)

        assert encoded.body["messages"] == [
            {"role": "tool", "tool_call_id": "c", "content": "x"},
            {"role": "user", "content": "and"},
        ]

    def test_missing_ids_are_made_up_once(self) -> None:
        """T-90: a result takes the id of the earliest unanswered call of its name."""
        calls = [Part("tool_call", tool_name=name) for name in ("a", "b", "a")]
        results = [Part("tool_result", tool_name=name, tool_output=name) for name in ("b", "a", "a", "c")]

        encoded = turns(assistant(*calls), tool(*results), policy=TURN)

        first, *rest = encoded.body["messages"]
        assert [call["id"] for call in first["tool_calls"]] == ["call_1", "call_2", "call_3"]
        assert [turn["tool_call_id"] for turn in rest] == ["call_2", "call_1", "call_3", "call_4"]

    def test_texts_come_before_documents(self) -> None:
        blobs = InMemoryBlobStore()
        png = blobs.put_blob(b"p", media_type="image/png", kind="image")
        pdf = blobs.put_blob(b"d", media_type="application/pdf", kind="file")

        encoded = turns(user(image(png), Part("file", blob=pdf), "a", "b"), policy=TURN, blobs=blobs)

        assert encoded.body["messages"] == [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "text", "text": "b"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,cA=="}},
                    {
                        "type": "file",
                        "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,ZA=="},
                    },
                ],
            }
        ]

    def test_other_documents_are_refused_or_inlined(self) -> None:
        blobs = InMemoryBlobStore()
        csv = blobs.put_blob(b"a,b", media_type="text/csv", kind="file")
        said = user(Part("file", blob=csv), "read")

        with pytest.raises(UnsupportedFeatureError, match=r"^Cerebras does not support document type: text/csv$"):
            turns(said, policy=TURN, spec=a_spec("cerebras"), blobs=blobs)
        with pytest.raises(UnsupportedFeatureError, match=r"^OpenAI does not support document type: text/csv$"):
            turns(said, policy=TURN, blobs=blobs)
        inlined = turns(said, policy=replace(TURN, text_documents="inline"), blobs=blobs)
        assert inlined.body["messages"][0]["content"] == "a,bread"

    def test_reasoning_of_unknown_origin_stays_behind(self) -> None:
        claudes = Part("thinking", text="hm", provider_raw={"type": "thinking", "thinking": "hm", "signature": "s"})

        encoded = turns(assistant(claudes, "a"), policy=TURN)

        assert encoded.body["messages"] == [{"role": "assistant", "content": "a"}]
        assert len(encoded.losses) == 1

    def test_documents_beside_calls_are_reported(self) -> None:
        shown = Part(
            "image", provider_raw={"type": "image_url", "image_url": {"url": "https://x"}}, json={"url": "https://x"}
        )

        encoded = turns(assistant(shown, tool_call(call_id="c")), policy=TURN)

        assert encoded.losses == [ExcludedItem("context.messages[0]", "documents beside tool calls are not taken")]


@given(st.lists(st.sampled_from(["user", "assistant", "system", "developer"]), max_size=5), st.text(max_size=9))
def test_plain_conversations_survive(roles: list[Any], words: str) -> None:
    """Law 1 of STYLE.md section 5: decode(encode(x)) is x less its losses."""
    messages = [message(role, words) for role in roles]

    body = DIALECT.encode_request(messages, a_spec()).body
    heard = DIALECT.decode_request(body).messages

    assert [(each.role, each.parts) for each in heard] == [(each.role, each.parts) for each in messages]


def test_tools_of_the_new_and_the_old_kind_are_both_said_back() -> None:
    """L1."""
    tools = [{"type": "function", "function": {"name": "dig", "description": "", "parameters": {"type": "object"}}}]
    body = {"model": "m", "messages": [], "tools": tools, "functions": [{"name": "fill"}]}
    decoded = DIALECT.decode_request(body)

    assert DIALECT.encode_request(decoded.messages, decoded.spec).body == body
