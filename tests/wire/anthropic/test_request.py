"""Messages API requests: what is said, what is read, and that the one is the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import assistant, message, text, thinking, tool, tool_call, tool_result, user
from tests.support.mutations import depth_of, mutated, nested
from tests.support.strategies import json_values
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Instructions, Message, Part, RunSpec, ToolSpecification
from weft.errors import WireError
from weft.wire import ADAPTER, FAITHFUL, STEP, TURN, Encoded, Policy
from weft.wire.anthropic import DIALECT

Json = dict[str, Any]
SPEC = RunSpec("anthropic", "messages.create", "claude-opus-4-5", max_output_tokens=64)
PNG = b"\x89PNG\r\n\x1a\nnot much of a picture"
PNG_TEXT = "iVBORw0KGgpub3QgbXVjaCBvZiBhIHBpY3R1cmU="
SIGNED: Json = {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"}


def encode(*messages: Message, policy: Policy = ADAPTER, spec: RunSpec = SPEC, **fields: Any) -> Encoded:
    return DIALECT.encode_request(messages, spec, fields.get("blobs"), policy)


def said(*messages: Message, policy: Policy = ADAPTER, blobs: InMemoryBlobStore | None = None) -> list[Json]:
    turns: list[Json] = encode(*messages, policy=policy, blobs=blobs).body["messages"]
    return turns


def blocks(*parts: Part, role: str = "user", policy: Policy = ADAPTER, **fields: Any) -> list[Json]:
    """Give the blocks that one message's parts become."""
    turns = said(message(role, *parts, **fields.pop("of", {})), policy=policy, **fields)  # type: ignore[arg-type]
    content: list[Json] = turns[0]["content"] if turns else []
    return content


def losses(*messages: Message, policy: Policy = ADAPTER, blobs: InMemoryBlobStore | None = None) -> list[ExcludedItem]:
    return encode(*messages, policy=policy, blobs=blobs).losses


def there_and_back(body: Json) -> Json:
    store = InMemoryBlobStore()
    decoded = DIALECT.decode_request(body, store)
    encoded = DIALECT.encode_request(decoded.messages, decoded.spec, store)
    assert encoded.losses == []
    return encoded.body


def a_body(*messages: Json, **fields: Any) -> Json:
    return {"model": "claude-opus-4-5", "max_tokens": 64, "messages": list(messages), **fields}


# -- canon to wire: messages -----------------------------------------------------------------------------------


def test_a_conversation_with_a_tool_is_spoken_as_the_api_wants_it() -> None:
    """model.md section 10: content is a block list, `tool` becomes `user`, instructions travel outside."""
    encoded = encode(
        message("system", "Be brief."),
        user("Depth at pier 4?"),
        assistant("I will ask.", tool_call("depth", {"pier": 4})),
        tool(tool_result("6.2 m")),
        spec=RunSpec(
            "anthropic",
            "messages.create",
            "claude-opus-4-5",
            instructions=Instructions("You are a harbour pilot.", "Metres only."),
            max_output_tokens=64,
            temperature=0.2,
            top_p=0.9,
            tools=(ToolSpecification("depth", "Ask the sonar", {"type": "object"}),),
            tool_choice={"type": "any"},
        ),
    )

    assert encoded == Encoded(
        {
            "model": "claude-opus-4-5",
            "system": "You are a harbour pilot.\n\nMetres only.\n\nBe brief.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Depth at pier 4?"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "I will ask."},
                        {"type": "tool_use", "id": "t1", "name": "depth", "input": {"pier": 4}},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "6.2 m"}]},
            ],
            "max_tokens": 64,
            "temperature": 0.2,
            "top_p": 0.9,
            "tools": [{"name": "depth", "description": "Ask the sonar", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "any"},
        }
    )


def test_neighbours_of_one_wire_role_become_one_message_and_results_come_first() -> None:
    """Acceptance case 9, and the API's own rule that a user message begins with its tool results."""
    turns = said(
        user("a"),
        assistant(tool_call()),
        tool(tool_result("one")),
        user("b"),
        tool(tool_result("two", call_id="t2")),
        assistant("c"),
        assistant("d"),
    )

    assert turns == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "dig", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "two"},
                {"type": "text", "text": "b"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}]},
    ]


def test_without_merging_every_message_stays_itself() -> None:
    """T-77: prepare_request does not merge."""
    assert [turn["role"] for turn in said(user("a"), user("b"), assistant("c"), policy=TURN)] == [
        "user",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize(
    ("policy", "system"),
    [
        (ADAPTER, "one\n\ntwo"),
        (STEP, "one\n\ntwo"),
        (TURN, "one\n\n----\n\ntwo"),
        (FAITHFUL, [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
    ],
)
def test_system_texts_are_joined_as_the_entry_point_has_it(policy: Policy, system: Any) -> None:
    """README conflict 15, T-76."""
    encoded = encode(message("system", "one"), message("developer", "two"), user("go"), policy=policy)

    assert encoded.body["system"] == system


def test_what_is_not_text_cannot_be_part_of_a_joined_system_text_and_is_reported() -> None:
    """M-46: it used to vanish without a word."""
    store = InMemoryBlobStore()
    picture = Part("image", blob=store.put_blob(PNG, media_type="image/png", kind="image"))

    encoded = encode(message("system", "look", picture), message("developer", picture), user("go"), blobs=store)

    assert encoded.body["system"] == "look"
    assert encoded.losses == [
        ExcludedItem("context.messages[0].parts[1]", "part type image is not supported for role system"),
        ExcludedItem("context.messages[1].parts[0]", "part type image is not supported for role developer"),
        ExcludedItem("context.messages[1]", "nothing in it can be sent"),
    ]


def test_a_role_outside_the_five_is_reported() -> None:
    """M-6: adapters exclude such messages."""
    assert losses(user("a"), message("critic", "hm")) == [  # type: ignore[arg-type]
        ExcludedItem("context.messages[1]", "role critic has no place in messages.create")
    ]


def test_the_api_wants_a_user_message_first() -> None:
    """model.md section 9, plan errors."""
    assert encode(user("a")).errors == []
    assert encode(assistant("a")).errors == [
        "anthropic/messages.create needs a user message first; the first here is the assistant's"
    ]
    assert encode(message("system", "a")).errors == ["anthropic/messages.create needs a message, and there is none"]
    assert encode(assistant("a"), policy=FAITHFUL).errors == []


# -- canon to wire: parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["", " \n\t"])
def test_empty_text_is_left_out_because_the_api_refuses_it(words: str) -> None:
    """Issue 3, item 4: empty text blocks. Whitespace alone is refused too."""
    encoded = encode(user("a"), assistant(text(words)))

    assert encoded.body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    assert encoded.losses == [
        ExcludedItem("context.messages[1].parts[0]", "empty text"),
        ExcludedItem("context.messages[1]", "nothing in it can be sent"),
    ]


def test_empty_text_is_said_back_faithfully() -> None:
    assert blocks(text(""), policy=FAITHFUL) == [{"type": "text", "text": ""}]


def test_media_are_images_and_documents() -> None:
    store = InMemoryBlobStore()
    picture = store.put_blob(PNG, media_type="image/png", kind="image")
    paper = store.put_blob(b"%PDF-", media_type="application/pdf", kind="file")
    odd = store.put_blob(b"?", media_type=None, kind="file")

    assert blocks(
        Part("image", blob=picture),
        Part("file", blob=paper, provider_raw={"title": "log", "context": "c", "citations": {"enabled": True}}),
        Part("file", blob=odd),
        Part("file", provider_raw={"file_id": "file_1"}),
        Part("file", blob=paper, provider_raw={"file_id": "file_1"}),
        Part("image", json={"url": "https://example.org/a.png"}),
        blobs=store,
    ) == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
            "title": "log",
            "context": "c",
            "citations": {"enabled": True},
        },
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/octet-stream", "data": "Pw=="},
        },
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]


def test_what_cannot_be_sent_is_reported_part_by_part() -> None:
    """M-46, and the reasons of model.md section 10."""
    store = InMemoryBlobStore()
    horn = Part("audio", blob=store.put_blob(b"toot", media_type="audio/mpeg", kind="audio"))
    paper = Part("file", blob=store.put_blob(b"%PDF-", media_type="application/pdf", kind="file"))
    elsewhere = Part("image", json={"file_id": "file-of-openai"})

    assert losses(
        user("go", Part("image"), Part("file"), Part("image", json={"url": "gs://bucket/a"}), horn, tool_call(), horn),
        assistant("yes", paper, Part("tool_call", tool_name="dig"), thinking(), Part("compaction"), tool_result("x")),
        tool(Part("tool_result", tool_output="x"), tool_result("ok")),
        user("also", elsewhere, tool_result("x"), provider="openai"),
        blobs=store,
    ) == [
        ExcludedItem("context.messages[0].parts[1]", "image without blob"),
        ExcludedItem("context.messages[0].parts[2]", "file without id, data or blob"),
        ExcludedItem("context.messages[0].parts[3]", "image without blob"),
        ExcludedItem("context.messages[0].parts[4]", "part type audio is not supported for role user"),
        ExcludedItem("context.messages[0].parts[5]", "part type tool_call is not supported for role user"),
        ExcludedItem("context.messages[0].parts[6]", "part type audio is not supported for role user"),
        ExcludedItem("context.messages[1].parts[1]", "part type file is not supported for role assistant"),
        ExcludedItem("context.messages[1].parts[2]", "tool_call without id or name"),
        ExcludedItem("context.messages[1].parts[3]", "thinking without provider block or text"),
        ExcludedItem("context.messages[1].parts[4]", "compaction without provider block, blob or text"),
        ExcludedItem("context.messages[1].parts[5]", "part type tool_result is not supported for role assistant"),
        ExcludedItem("context.messages[2].parts[0]", "tool_result without id"),
        ExcludedItem("context.messages[3].parts[1]", "image without blob"),
        ExcludedItem("context.messages[3].parts[2]", "part type tool_result is not supported for role user"),
    ]


def test_a_json_part_is_sent_as_text_and_a_new_part_type_is_left_out() -> None:
    encoded = encode(user(Part("json", json={"a": [1]}), Part("hologram", text="x"), Part("annotation", json={"n": 1})))

    assert encoded.body["messages"][0]["content"] == [{"type": "text", "text": '{"a":[1]}'}]
    assert encoded.losses == [
        ExcludedItem("context.messages[0].parts[1]", "part type hologram is not supported for role user")
    ]


def test_a_missing_id_is_empty_for_the_step_codecs() -> None:
    """message-codecs.md: ids default to the empty string."""
    assert blocks(Part("tool_call", tool_name="dig"), role="assistant", policy=STEP) == [
        {"type": "tool_use", "id": "", "name": "dig", "input": {}}
    ]
    assert blocks(Part("tool_result", tool_output="x"), role="tool", policy=STEP) == [
        {"type": "tool_result", "tool_use_id": "", "content": "x"}
    ]


@pytest.mark.parametrize(
    ("output", "content"),
    [("é", "é"), ({"ok": "é"}, '{"ok":"é"}'), ([1, 2], "[1,2]"), (True, "true"), (None, None)],
)
def test_tool_output_is_text(output: Any, content: Any) -> None:
    """M-47: a string as it is, anything else JSON without ASCII escaping."""
    [block] = blocks(tool_result(output), role="tool")

    assert block.get("content") == content


def test_a_failed_tool_is_marked() -> None:
    """model.md section 10, *weft adds*; README case 8."""
    part = Part("tool_result", tool_call_id="t1", tool_output={"e": 1}, provider_raw={"is_error": True})

    assert blocks(part, role="tool") == [
        {"type": "tool_result", "tool_use_id": "t1", "content": '{"e":1}', "is_error": True}
    ]


def test_a_result_kept_in_a_turn_loses_the_name_the_api_does_not_take() -> None:
    """README section 4: turns keep the tool's name beside the result; the API refuses unknown fields."""
    kept = {
        "type": "tool_result",
        "name": "sonar___depth",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "6.2 m"}],
    }
    part = Part("tool_result", tool_call_id="t1", tool_name="sonar___depth", tool_output="6.2 m", provider_raw=kept)

    assert blocks(part, role="tool") == [{"type": "tool_result", "tool_use_id": "t1", "content": "6.2 m"}]


def test_an_edited_part_wins_over_the_block_it_came_as() -> None:
    call = {"type": "tool_use", "id": "old", "name": "old", "input": {"old": 1}, "cache_control": {"type": "ephemeral"}}
    result = {"type": "tool_result", "tool_use_id": "old", "content": "old", "cache_control": {"type": "ephemeral"}}

    assert blocks(
        Part("tool_call", tool_call_id="t1", tool_name="dig", tool_args={"n": 1}, provider_raw=call), role="assistant"
    ) == [{"type": "tool_use", "id": "t1", "name": "dig", "input": {"n": 1}, "cache_control": {"type": "ephemeral"}}]
    assert blocks(Part("tool_result", tool_call_id="t1", tool_output="new", provider_raw=result), role="tool") == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "new", "cache_control": {"type": "ephemeral"}}
    ]


@pytest.mark.parametrize(
    "part",
    [
        Part("text", "hi", provider_raw={"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}),
        Part("text", "hi", provider_raw={"text": "hi", "thoughtSignature": "c2ln"}),
        Part("refusal", "hi", provider_raw={"type": "refusal", "refusal": "hi"}),
    ],
)
def test_the_blocks_of_other_dialects_are_not_looked_into(part: Part) -> None:
    assert blocks(part, role="assistant") == [{"type": "text", "text": "hi"}]


def test_a_call_from_another_dialect_is_said_in_this_one() -> None:
    """Without a provider on the message, only the shape tells whose block it is."""
    raw = {"type": "function_call", "call_id": "t1", "name": "dig", "arguments": "{}"}
    part = Part("tool_call", tool_call_id="t1", tool_name="dig", tool_args={}, provider_raw=raw)

    assert blocks(part, role="assistant") == [{"type": "tool_use", "id": "t1", "name": "dig", "input": {}}]


def test_provider_parts_go_back_to_their_own_dialect_only() -> None:
    """M-56."""
    ours = Part("provider", json={"dialect": "anthropic"}, provider_raw={"type": "container_upload", "file_id": "f"})
    theirs = Part("provider", json={"dialect": "openai_responses"}, provider_raw={"type": "web_search_call", "id": "w"})

    encoded = encode(user("a"), assistant(ours, theirs))

    assert encoded.body["messages"][1]["content"] == [{"type": "container_upload", "file_id": "f"}]
    assert encoded.roundtrip == ["context.messages[1].parts[0]"]
    assert encoded.losses == [
        ExcludedItem("context.messages[1].parts[1]", "part type provider is not supported for role assistant")
    ]


def test_text_that_is_not_text_any_more_is_sent_as_bytes() -> None:
    store = InMemoryBlobStore()
    raw = {"type": "document", "source": {"type": "text"}}
    part = Part("file", blob=store.put_blob(b"\xff", media_type="text/plain", kind="file"), provider_raw=raw)

    assert blocks(part, blobs=store) == [
        {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": "/w=="}}
    ]


# -- canon to wire: reasoning ----------------------------------------------------------------------------------


def test_signed_thinking_goes_back_as_it_came_and_is_listed() -> None:
    """Acceptance case 11; `must_roundtrip`."""
    part = Part("thinking", "edited", json={"provider": "anthropic", "dialect": "anthropic"}, provider_raw=SIGNED)
    sealed = {"type": "redacted_thinking", "data": "EmQ="}

    encoded = encode(user("a"), assistant(part, Part("thinking", provider_raw=sealed), provider="anthropic"))

    assert encoded.body["messages"][1]["content"] == [SIGNED, sealed]
    assert encoded.roundtrip == ["context.messages[1].parts[0]", "context.messages[1].parts[1]"]


def test_its_own_thinking_comes_back_whoever_served_it() -> None:
    """A gateway that speaks this dialect under another name is still this dialect."""
    part = Part("thinking", "x", json={"provider": "gateway", "dialect": "anthropic"}, provider_raw=SIGNED)

    assert blocks(part, role="assistant", of={"provider": "gateway"}) == [SIGNED]


def test_thinking_of_others_is_left_out_with_a_reason_or_sent_as_text() -> None:
    """Issue 3, item 3: by an explicit policy, and the plan says so."""
    part = Part("thinking", "hm", json={"provider": "google", "dialect": "gemini"}, provider_raw={"text": "hm"})
    as_text = Policy(name="text", foreign_thinking="text")

    assert losses(user("a"), assistant(part, "b", provider="google")) == [
        ExcludedItem("context.messages[1].parts[0]", "thinking of google carries no signature this endpoint accepts")
    ]
    assert blocks(part, role="assistant", policy=as_text) == [{"type": "text", "text": "hm"}]


def test_thinking_without_a_signature_is_sent_by_the_adapter_and_dropped_by_the_codec() -> None:
    """README conflict 17."""
    assert blocks(thinking("hm"), role="assistant") == [{"type": "thinking", "thinking": "hm"}]
    assert losses(assistant(thinking("hm")), policy=STEP)[0] == ExcludedItem(
        "context.messages[0].parts[0]", "thinking without a signature is not accepted"
    )


def test_compaction_is_the_block_or_its_text() -> None:
    store = InMemoryBlobStore()
    kept = {"type": "compaction", "content": "so far"}
    blob = store.put_blob(b"from a blob", media_type="text/plain", kind="compaction")
    garbage = store.put_blob(b"\xff\xfe", media_type="text/plain", kind="compaction")
    sealed = Part("compaction", json={"provider": "openai", "dialect": "openai_responses"}, blob=blob)

    encoded = encode(
        user("a"),
        assistant(
            Part("compaction", provider_raw=kept), Part("compaction", blob=blob), Part("compaction", text="typed")
        ),
        assistant(sealed, Part("compaction", blob=garbage), provider="openai"),
        blobs=store,
    )

    assert encoded.body["messages"][1]["content"] == [
        kept,
        {"type": "compaction", "content": "from a blob"},
        {"type": "compaction", "content": "typed"},
    ]
    assert [item.reason for item in encoded.losses[:2]] == [
        "compaction of openai can be read by nobody else",
        "compaction whose blob is not text",
    ]


# -- canon to wire: cache marks and settings -------------------------------------------------------------------


def test_the_last_four_cache_marks_are_written_on_the_last_block() -> None:
    """T-78: flagged messages beyond the last four lose the flag; thinking takes no mark."""
    mark = Part("annotation", json={"cache": True})
    turns = [
        user("1", mark),
        assistant("2", mark),
        user("3", "x", mark),
        assistant("4", Part("thinking", provider_raw=SIGNED), mark),
        user("5", mark),
        assistant("6"),
    ]

    marked = [
        (block.get("text"), "cache_control" in block)
        for turn in said(*turns)
        for block in turn["content"]
        if block["type"] == "text"
    ]

    assert marked == [("1", False), ("2", True), ("3", False), ("x", True), ("4", True), ("5", True), ("6", False)]


@pytest.mark.parametrize(
    ("given", "policy", "sent", "warnings"),
    [
        (None, ADAPTER, 4096, 1),
        (0, ADAPTER, 4096, 0),
        (9, ADAPTER, 9, 0),
        (None, STEP, 8192, 1),
        (None, FAITHFUL, None, 0),
        (0, FAITHFUL, 0, 0),
    ],
)
def test_the_api_insists_on_a_number_of_tokens(given: Any, policy: Policy, sent: Any, warnings: int) -> None:
    """model.md section 9: unset (or 0) is 4096; unset also warns."""
    spec = RunSpec("anthropic", "messages.create", "m", max_output_tokens=given)

    encoded = encode(user("a"), policy=policy, spec=spec)

    assert (encoded.body.get("max_tokens"), len(encoded.warnings)) == (sent, warnings)


def test_settings_that_the_endpoint_lacks_are_reported() -> None:
    """Acceptance case 6."""
    spec = RunSpec("anthropic", "messages.create", "m", max_output_tokens=1, seed=7, response_modalities=("audio",))

    encoded = encode(user("a"), spec=spec)

    assert encoded.losses == [ExcludedItem("seed", "anthropic/messages.create has no seed")]
    assert encoded.warnings == ["response_modalities is ignored: anthropic/messages.create answers in text"]


def test_every_object_of_a_response_schema_is_closed() -> None:
    """model.md section 9."""
    schema = {
        "type": "object",
        "additionalProperties": True,
        "properties": {"a": {"type": ["object", "null"]}, "b": {"anyOf": [{"type": "object"}, {"type": "string"}]}},
    }
    spec = RunSpec("anthropic", "messages.create", "m", max_output_tokens=1, response_schema=schema)

    assert encode(user("a"), spec=spec).body["output_config"] == {
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "a": {"type": ["object", "null"], "additionalProperties": False},
                    "b": {"anyOf": [{"type": "object", "additionalProperties": False}, {"type": "string"}]},
                },
            },
        }
    }


def test_extra_body_is_merged_last_and_headers_ride_along_for_the_sdk() -> None:
    """M-44."""
    spec = RunSpec(
        "anthropic",
        "messages.create",
        "m",
        max_output_tokens=1,
        response_schema={"type": "string"},
        extra_body={"max_tokens": 2, "output_config": {"effort": "low"}, "metadata": {"user_id": "u"}},
        extra_headers={"anthropic-beta": "x"},
        extra_query={"q": "1"},
    )

    assert encode(user("a"), spec=spec).body == {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
        "max_tokens": 2,
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "string"}}, "effort": "low"},
        "extra_headers": {"anthropic-beta": "x"},
        "extra_query": {"q": "1"},
        "metadata": {"user_id": "u"},
    }
    assert "extra_headers" not in encode(user("a"), spec=spec, policy=FAITHFUL).body


# -- wire to canon ---------------------------------------------------------------------------------------------


def test_a_request_is_read() -> None:
    store = InMemoryBlobStore()
    made = {"provider": "anthropic", "dialect": "anthropic", "model": "claude-opus-4-5"}

    decoded = DIALECT.decode_request(
        a_body(
            {"role": "user", "content": "Depth?"},
            {"role": "assistant", "content": [SIGNED, {"type": "tool_use", "id": "t1", "name": "depth", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "6.2 m"},
                    {"type": "text", "text": "So?"},
                ],
            },
            system="Be brief.",
            temperature=1,
            metadata={"user_id": "u"},
            tools=[{"name": "depth", "description": "d", "input_schema": {"type": "object"}}],
        ),
        store,
    )

    assert [(each.role, each.provider, each.parts) for each in decoded.messages] == [
        ("system", "anthropic", (text("Be brief."),)),
        ("user", "anthropic", (text("Depth?"),)),
        (
            "assistant",
            "anthropic",
            (
                Part("thinking", "Ask the sonar.", json=made, provider_raw=SIGNED),
                Part(
                    "tool_call",
                    tool_call_id="t1",
                    tool_name="depth",
                    tool_args={},
                    provider_raw={"type": "tool_use", "id": "t1", "name": "depth", "input": {}},
                ),
            ),
        ),
        ("tool", "anthropic", (tool_result("6.2 m"),)),
        ("user", "anthropic", (text("So?"), Part("annotation", json={"joins": True}))),
    ]
    assert decoded.spec == RunSpec(
        "anthropic",
        "messages.create",
        "claude-opus-4-5",
        max_output_tokens=64,
        temperature=1,
        tools=(ToolSpecification("depth", "d", {"type": "object"}),),
        extra_body={"metadata": {"user_id": "u"}},
    )


def test_a_result_of_one_text_is_that_text_and_of_more_its_blocks() -> None:
    """R-8."""
    one = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}], "is_error": True}
    more = {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "x"}, {"type": "odd"}]}

    decoded = DIALECT.decode_request(a_body({"role": "user", "content": [one, more]}))

    assert decoded.messages[0].parts == (
        Part("tool_result", tool_call_id="t1", tool_output="x", provider_raw=one),
        Part("tool_result", tool_call_id="t2", tool_output=more["content"], provider_raw=more),
    )


def test_pictures_are_kept_as_bytes_and_bad_base64_as_given() -> None:
    """J-06: base64 that would not be written back the same is kept as given, never guessed."""
    store = InMemoryBlobStore()
    good = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}}
    bad = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        for data in ("%%%", "iVBORw0KGgo", "aGk=\n", "aGl=")
    ]

    decoded = DIALECT.decode_request(a_body({"role": "user", "content": [good, *bad]}), store)

    first, *rest = decoded.messages[0].parts
    assert first.blob is not None
    assert (first.type, first.provider_raw, store.get_blob(first.blob)) == ("image", None, PNG)
    assert [(part.blob, part.provider_raw) for part in rest] == [(None, block) for block in map(_frozen, bad)]


def _frozen(block: Json) -> Any:
    return Part("x", provider_raw=block).provider_raw


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": ["user"] * 9, "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_use", "id": 1}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}, "messages[0].content[0]"),
        ({"messages": [], "system": 5}, "system"),
        ({"messages": [], "system": [{"type": "thinking"}]}, "system[0]"),
    ],
)
def test_what_does_not_fit_is_an_error_with_its_place(body: Json, where: str) -> None:
    with pytest.raises(WireError) as problem:
        DIALECT.decode_request(body)

    assert problem.value.where == where


def test_a_request_may_be_an_sdk_object_and_must_be_one_or_a_mapping() -> None:
    class Dumped:
        def model_dump(self) -> Json:
            return a_body({"role": "user", "content": "hi"})

    assert DIALECT.decode_request(Dumped()).messages[0].parts == (text("hi"),)
    with pytest.raises(TypeError, match="request must be a mapping"):
        DIALECT.decode_request([])


# -- there and back --------------------------------------------------------------------------------------------

CURIOUS = [
    a_body({"role": "user", "content": "hi"}),
    a_body({"role": "user", "content": [{"type": "text", "text": ""}]}),
    a_body({"role": "user", "content": []}, system=[]),
    a_body({"role": "user", "content": None}, {"role": "assistant"}),
    a_body({"role": "user", "content": "hi", "id": "m1", "metadata": {"a": [None]}}),
    a_body({"role": "system", "content": "from now on"}, {"role": "user", "content": "hi"}),
    a_body({"role": "user", "content": "hi"}, system=[{"type": "text", "text": "a", "cache_control": {"ttl": "1h"}}]),
    a_body(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "before"},
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}]},
                {"type": "text", "text": "after"},
                {"type": "tool_result", "tool_use_id": "t2"},
                {"type": "tool_result", "tool_use_id": "t3", "content": [], "is_error": False},
            ],
        }
    ),
    a_body(
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "not base64"}},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png", "new": 1}},
                {"type": "image", "source": {"type": "url", "url": "data:image/png;base64,"}},
                {"type": "image", "source": {"type": "file", "file_id": "f1"}, "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "new", "place": "moon"}},
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "é"},
                    "title": "t",
                    "citations": {"enabled": True},
                },
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "\ud800"}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "c"}]}},
                {"type": "document", "title": "no source"},
                {"type": "search_result", "source": "s", "title": "t", "content": []},
            ],
        }
    ),
    a_body(
        {
            "role": "assistant",
            "content": [
                SIGNED,
                {"type": "redacted_thinking", "data": "EmQ="},
                {"type": "text", "text": "t", "citations": [{"type": "char_location", "cited_text": "c"}]},
                {"type": "tool_use", "id": "t1", "name": "n", "input": {"big": 2**70, "deep": [[{}]]}, "caller": {}},
                {"type": "tool_use", "id": "t2", "name": "n", "input": {"__proto__": 1, "": 2}},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"encrypted_content": "x"}]},
                {"type": "compaction", "content": "so far"},
                {"type": "compaction", "content": None, "encrypted_content": "c2VhbGVk"},
                {"type": "compaction", "content": "\ud800"},
                {"no": "type"},
            ],
        }
    ),
    a_body(
        tools=[
            {"name": "a", "description": "d", "input_schema": {}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        ],
        tool_choice={"type": "tool", "name": "a", "disable_parallel_tool_use": True},
        output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}, "effort": "high"},
        thinking={"type": "enabled", "budget_tokens": 1024},
        stop_sequences=["x"],
        stream=True,
        max_tokens=True,
        temperature="hot",
        top_p=1.0,
    ),
    {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]},
]


def with_blocks(body: Json) -> Json:
    """Write strings as the single text block they stand for, and leave out nulls."""

    def content(value: Any) -> Any:
        return [{"type": "text", "text": value}] if isinstance(value, str) else value

    turns = [{**turn, "content": content(turn["content"])} if "content" in turn else turn for turn in body["messages"]]
    system = {"system": content(body["system"])} if "system" in body else {}
    bare: Json = _without_nulls({**body, "messages": turns, **system})
    return bare


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("body", CURIOUS)
def test_what_is_read_is_written_back(body: Json) -> None:
    """L1: only a plain string equals a single text block, and absent equals null."""
    assert with_blocks(there_and_back(body)) == with_blocks(body)


def test_a_model_that_is_not_in_the_body_is_not_put_there() -> None:
    """Bedrock and Vertex have it in the path."""
    assert "model" not in there_and_back(CURIOUS[-1])


def test_numbers_come_back_as_they_were() -> None:
    """J-02: large, negative zero, and 1.0 against 1."""
    numbers = {"a": 2**63, "b": -0.0, "c": 1.0, "d": 1, "e": 10**400}
    body = a_body({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": numbers}]})

    again = there_and_back(body)["messages"][0]["content"][0]["input"]

    assert [(key, type(value), str(value)) for key, value in again.items()] == [
        (key, type(value), str(value)) for key, value in numbers.items()
    ]


@pytest.mark.parametrize(
    "place",
    [
        lambda deep: a_body({"role": "user", "content": [{"type": "new", "deep": deep}]}),
        lambda deep: a_body(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": deep}]}
        ),
        lambda deep: a_body(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [deep]}]}
        ),
        lambda deep: a_body(tools=[{"name": "n", "description": "", "input_schema": deep}]),
        lambda deep: a_body(output_config={"format": {"type": "json_schema", "schema": deep}}),
        lambda deep: a_body(metadata=deep),
        lambda deep: a_body(system=[{"type": "text", "text": "", "cache_control": deep}]),
    ],
)
def test_nesting_past_pythons_stack_is_carried(place: Any) -> None:
    """J-01, and 1,000-deep nesting of issue 3."""
    body = place(nested(1_000))
    store = InMemoryBlobStore()

    decoded = DIALECT.decode_request(body, store)
    for policy in (FAITHFUL, ADAPTER):
        DIALECT.encode_request(decoded.messages, decoded.spec, store, policy)

    assert depth_of(there_and_back(body)) == depth_of(body)


json_texts = st.text(max_size=8)
known_blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": json_texts}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_use"),
            "id": json_texts,
            "name": json_texts,
            "input": st.dictionaries(json_texts, json_values()),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": json_texts, "content": json_texts | st.lists(json_values())}
    ),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": json_texts, "signature": json_texts}),
    st.dictionaries(json_texts, json_values(), max_size=3),
)
plain_messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": json_texts | st.lists(known_blocks, max_size=4)}
)


@given(turns=st.lists(plain_messages, max_size=3), rest=st.dictionaries(json_texts, json_values(), max_size=2))
def test_any_valid_request_is_written_back_as_it_was(turns: list[Json], rest: Json) -> None:
    """L1 over generated bodies. A signature with nothing in it is an empty text, not an absent one."""
    body = {**rest, "model": "m", "messages": turns}
    for key in ("system", "tools", "tool_choice", "output_config", "max_tokens", "temperature", "top_p"):
        body.pop(key, None)

    assert with_blocks(there_and_back(body)) == with_blocks(body)


@given(body=mutated(CURIOUS))
def test_whatever_arrives_is_read_or_refused_with_its_place(body: Any) -> None:
    """L6: a WireError that says where, or a result, under every policy."""
    if not isinstance(body, dict):
        return
    store = InMemoryBlobStore()
    try:
        decoded = DIALECT.decode_request(body, store)
    except WireError as problem:
        assert problem.where  # noqa: PT017 - the error is one of two right answers
        return
    for policy in (FAITHFUL, ADAPTER, STEP, TURN):
        DIALECT.encode_request(decoded.messages, decoded.spec, store, policy)


def test_a_document_the_model_is_said_to_have_sent_is_said_back() -> None:
    """L1: the types allow it anywhere; only planning leaves it out."""
    source = {"type": "base64", "media_type": "application/pdf", "data": "aGk="}
    turn = {"role": "assistant", "content": [{"type": "document", "source": source}]}
    blobs = InMemoryBlobStore()
    decoded = DIALECT.decode_request({"model": "m", "max_tokens": 1, "messages": [turn]}, blobs)

    assert DIALECT.encode_request(decoded.messages, decoded.spec, blobs).body["messages"] == [turn]
    assert losses(*decoded.messages, blobs=blobs)[0].reason == "part type file is not supported for role assistant"


def test_a_block_whose_type_is_nested_without_end_goes_back_as_it_came() -> None:
    """L6, J-05: what cannot be compared is no reason to fall."""
    deep: Any = "x"
    for _ in range(2_000):
        deep = {"a": deep}
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": [{"type": deep, "a": 1}]}]}

    read = DIALECT.decode_request(body)
    encoded = DIALECT.encode_request(read.messages, read.spec, None)

    assert encoded.roundtrip == ["context.messages[0].parts[0]"]
