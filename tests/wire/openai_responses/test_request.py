"""Responses requests: what is spoken, what is heard, and what cannot be said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import a_spec, assistant, image, message, text, thinking, tool, tool_call, tool_result, user
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Instructions, Message, Part, RunSpec, ToolSpecification, thaw
from weft.errors import WireError
from weft.wire.codec import ADAPTER, Encoded
from weft.wire.openai_responses import COMPACT, DIALECT

PNG = b"\x89PNG\r\n"
PNG_TEXT = "iVBORw0K"
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Ask the sonar."}],
    "encrypted_content": "c2VhbGVk",
}
OPEN_REASONING = {"type": "reasoning", "id": "rs_2", "summary": []}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "depth",
    "arguments": '{"pier": 4}',
    "status": "completed",
}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tide"}}


def responses(**fields: Any) -> RunSpec:
    return a_spec("openai", "responses.create", **fields)


def planned(*messages: Message, blobs: InMemoryBlobStore | None = None, **fields: Any) -> Encoded:
    return DIALECT.encode_request(messages, responses(**fields), blobs, ADAPTER)


def items(*messages: Message, blobs: InMemoryBlobStore | None = None, **fields: Any) -> Any:
    return planned(*messages, blobs=blobs, **fields).body["input"]


def there_and_back(body: dict[str, Any]) -> dict[str, Any]:
    blobs = InMemoryBlobStore()
    decoded = DIALECT.decode_request(body, blobs)
    encoded = DIALECT.encode_request(decoded.messages, decoded.spec, blobs)
    assert encoded.losses == []
    return encoded.body


def heard(*given: dict[str, Any]) -> tuple[tuple[Message, ...], InMemoryBlobStore]:
    blobs = InMemoryBlobStore()
    return DIALECT.decode_request({"model": "m", "input": list(given)}, blobs).messages, blobs


# -- what the adapter says (model.md, sections 9 and 10) ---------------------------------------------------------


def test_a_conversation_is_planned_as_the_chapter_has_it() -> None:
    """model.md, section 10: one text is a string; an answer is a message item; calls and results are items."""
    conversation = [
        message("system", "Be brief."),
        user("Depth at pier 4?"),
        assistant("One moment.", tool_call("depth", {"pier": 4}, call_id="c1")),
        tool(tool_result("6.2 m", call_id="c1"), tool_result({"m": 6.2}, call_id="c2")),
        user("And", text("pier 5?")),
    ]

    encoded = planned(*conversation, instructions=Instructions("You sound depths.", "Metres only."))

    assert encoded.body == {
        "model": "m",
        "instructions": "You sound depths.\n\nMetres only.",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Depth at pier 4?"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One moment."}]},
            {"type": "function_call", "call_id": "c1", "name": "depth", "arguments": '{"pier":4}'},
            {"type": "function_call_output", "call_id": "c1", "output": "6.2 m"},
            {"type": "function_call_output", "call_id": "c2", "output": '{"m":6.2}'},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "And"}, {"type": "input_text", "text": "pier 5?"}],
            },
        ],
    }
    assert (encoded.losses, encoded.errors, encoded.warnings) == ([], [], [])


def test_each_text_of_a_system_message_is_its_own_item() -> None:
    assert items(message("developer", "a", "b")) == [
        {"role": "developer", "content": "a"},
        {"role": "developer", "content": "b"},
    ]


def test_items_of_one_answer_are_ordered_by_kind_with_each_thought_before_what_it_led_to() -> None:
    """Conflict 31: message, calls, images, compactions; a thought stays with the item that follows it."""
    blobs = InMemoryBlobStore()
    answer = DIALECT.decode_response(
        {
            "object": "response",
            "status": "completed",
            "output": [
                {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2hvcnQ="},
                {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PNG_TEXT},
                REASONING,
                CALL,
                SEARCH,
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "There."}]},
            ],
        },
        blobs,
    )
    assert answer.message is not None

    assert items(answer.message, blobs=blobs) == [
        SEARCH,
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "So."}, {"type": "output_text", "text": "There."}],
        },
        REASONING,
        {"type": "function_call", "call_id": "c1", "name": "depth", "arguments": '{"pier": 4}'},
        {"type": "image_generation_call", "id": "ig_1"},
        {"type": "compaction", "encrypted_content": "c2hvcnQ=", "id": "cmp_1"},
    ]


def test_thinking_goes_back_sealed_or_where_the_server_keeps_it() -> None:
    """Conflict 31: encrypted_content, or state on the server; then the call keeps the id it is found by."""
    (answer,), _ = heard(OPEN_REASONING, CALL)

    kept = planned(answer)
    forgotten = planned(answer, extra_body={"store": False})

    assert kept.body["input"] == [
        OPEN_REASONING,
        {"type": "function_call", "call_id": "c1", "name": "depth", "arguments": '{"pier": 4}', "id": "fc_1"},
    ]
    assert kept.roundtrip == ["context.messages[0].parts[0]"]
    assert [item["type"] for item in forgotten.body["input"]] == ["function_call"]
    assert forgotten.losses == [
        ExcludedItem(
            "context.messages[0].parts[0]",
            "reasoning without encrypted_content, and the server keeps no state to find it in",
        )
    ]


def test_thinking_of_others_is_left_out_and_reported_or_sent_as_text() -> None:
    """model.md, section 10: thinking that did not come from this API is excluded."""
    foreign = Part("thinking", "hm", json={"provider": "anthropic", "dialect": "anthropic"}, provider_raw={"x": 1})
    other_maker = Part(
        "thinking", "hm", json={"provider": "xai", "dialect": "openai_responses"}, provider_raw=REASONING
    )
    answer = assistant(foreign, other_maker, thinking("hand-made"), thinking(), "Hello.")

    dropped = planned(answer)
    as_text = DIALECT.encode_request([answer], responses(), None, replace(ADAPTER, foreign_thinking="text"))

    assert [item.reason for item in dropped.losses] == [
        "thinking of anthropic cannot be read here",
        "thinking of xai cannot be read here",
        "thinking that is not sealed by openai",
        "thinking without provider block or text",
    ]
    assert as_text.body["input"] == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": words} for words in ("hm", "hm", "Hello.")],
        }
    ]


def test_blocks_of_another_provider_are_left_out() -> None:
    """M-56: provider parts go back to the same provider alone."""
    own = Part("provider", json={"dialect": "openai_responses"}, provider_raw=SEARCH)
    alien = Part("provider", json={"dialect": "gemini"}, provider_raw={"executableCode": {}})

    encoded = planned(assistant(own, alien, "x", provider="openai"), assistant(own, "y", provider="xai"))

    assert [item["type"] for item in encoded.body["input"]] == ["web_search_call", "message", "message"]
    assert [item.reason for item in encoded.losses] == [
        "a block of openai that responses.create does not take",
        "a block of xai that responses.create does not take",
    ]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (Part("file", "file-1"), {"file_id": "file-1"}),
        (Part("file", provider_raw={"file_id": "file-2", "filename": "a.pdf"}), {"file_id": "file-2"}),
        (
            Part("file", provider_raw={"file_data": "QQ==", "filename": "a.pdf"}),
            {"file_data": "QQ==", "filename": "a.pdf"},
        ),
        (Part("file", provider_raw={"file_url": "https://x.example/a.pdf"}), {"file_url": "https://x.example/a.pdf"}),
        (Part("file", json={"url": "https://x.example/b.pdf"}), {"file_url": "https://x.example/b.pdf"}),
        (Part("file", provider_raw={"filename": "a.pdf"}), {"filename": "a.pdf"}),
    ],
)
def test_a_file_is_named_by_the_first_thing_known_of_it(part: Part, block: dict[str, Any]) -> None:
    """model.md, section 10: id, data, address, name, bytes."""
    assert items(user(part)) == [{"role": "user", "content": [{"type": "input_file", **block}]}]


@pytest.mark.parametrize(
    ("media_type", "name"),
    [
        ("text/plain", "upload.txt"),
        ("image/jpeg", "upload.jpg"),
        ("application/pdf", "upload.pdf"),
        ("application/x-tar", "upload.bin"),
        (None, "upload.bin"),
    ],
)
def test_a_file_that_is_only_bytes_gets_a_name_by_its_type(media_type: str | None, name: str) -> None:
    blobs = InMemoryBlobStore()
    part = Part("file", blob=blobs.put_blob(b"A", media_type=media_type))

    assert items(user(part), blobs=blobs) == [
        {"role": "user", "content": [{"type": "input_file", "file_data": "QQ==", "filename": name}]}
    ]


def test_an_image_is_sent_as_data_by_address_or_by_id() -> None:
    blobs = InMemoryBlobStore()
    shown = [
        image(blobs.put_blob(PNG, media_type="image/png")),
        Part("image", json={"url": "https://x.example/a.png", "detail": "low"}),
        Part("image", json={"file_id": "file-1"}),
    ]

    assert items(user(*shown), blobs=blobs)[0]["content"] == [
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_TEXT}"},
        {"type": "input_image", "image_url": "https://x.example/a.png", "detail": "low"},
        {"type": "input_image", "file_id": "file-1"},
    ]


def test_what_has_no_place_is_reported_with_its_reason() -> None:
    """M-46: one entry a part, one for a message that yields nothing, and a plan error for it."""
    encoded = planned(
        user(text(""), Part("image"), Part("file"), Part("video"), tool_call()),
        assistant(Part("image", json={"url": "https://x.example"}), tool_call(call_id=""), Part("compaction")),
        tool(text("x"), tool_result("x", call_id="")),
        user(tool_result("x")),
    )

    assert [(item.description.removeprefix("context."), item.reason) for item in encoded.losses] == [
        ("messages[0].parts[0]", "empty text"),
        ("messages[0].parts[1]", "image without blob"),
        ("messages[0].parts[2]", "file without id, data or blob"),
        ("messages[0].parts[3]", "part type video is not supported for role user"),
        ("messages[0].parts[4]", "part type tool_call is not supported for role user"),
        ("messages[0]", "nothing in it can be sent"),
        ("messages[1].parts[0]", "part type image is not supported for role assistant"),
        ("messages[1].parts[1]", "tool_call without id or name"),
        ("messages[1].parts[2]", "compaction without provider block, blob or text"),
        ("messages[1]", "nothing in it can be sent"),
        ("messages[2].parts[0]", "part type text is not supported for role tool"),
        ("messages[2].parts[1]", "tool_result without id"),
        ("messages[2]", "nothing in it can be sent"),
        ("messages[3].parts[0]", "part type tool_result is not supported for role user"),
        ("messages[3]", "nothing in it can be sent"),
    ]
    assert len(encoded.errors) == 5
    assert encoded.errors[-1] == "openai/responses.create: no input items and no instructions"


def test_a_tool_that_failed_is_warned_about() -> None:
    failed = Part("tool_result", tool_call_id="c1", tool_output="no", provider_raw={"is_error": True})

    encoded = planned(tool(failed))

    assert encoded.body["input"] == [{"type": "function_call_output", "call_id": "c1", "output": "no"}]
    assert encoded.warnings == ["context.messages[0].parts[0]: responses.create has no way to say that a tool failed"]


def test_a_result_of_a_custom_tool_is_custom() -> None:
    custom = Part(
        "tool_call",
        tool_call_id="c1",
        tool_name="run",
        tool_args={"_raw": "print(1)"},
        provider_raw={"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "run", "input": "print(1)"},
    )

    assert items(assistant(custom), tool(tool_result("1", call_id="c1"))) == [
        {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "print(1)"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
    ]


@pytest.mark.parametrize(
    ("part", "item"),
    [
        (Part("compaction", "sealed"), {"encrypted_content": "sealed"}),
        (
            Part("compaction", provider_raw={"type": "compaction", "encrypted_content": "s", "created_by": "x"}),
            {"encrypted_content": "s"},
        ),
    ],
)
def test_a_compaction_is_its_sealed_text(part: Part, item: dict[str, Any]) -> None:
    assert items(assistant(part)) == [{"type": "compaction", **item}]


def test_a_compaction_is_read_from_its_blob_unless_that_is_no_text_or_not_ours() -> None:
    blobs = InMemoryBlobStore()
    sealed = Part("compaction", blob=blobs.put_blob(b"sealed", kind="compaction"))
    binary = Part("compaction", blob=blobs.put_blob(b"\xff", kind="compaction"))
    foreign = Part("compaction", json={"dialect": "anthropic"}, provider_raw={"type": "compaction", "content": "x"})

    encoded = planned(assistant(sealed, binary, foreign), blobs=blobs)

    assert encoded.body["input"] == [{"type": "compaction", "encrypted_content": "sealed"}]
    assert [item.reason for item in encoded.losses] == [
        "compaction whose blob is not text",
        "a compaction of anthropic cannot be read here",
    ]


def test_settings_are_sent_under_their_names() -> None:
    """model.md, section 9."""
    spec = responses(
        max_output_tokens=9,
        temperature=0.5,
        top_p=0.9,
        seed=7,
        tools=[ToolSpecification("dig", "Digs.", {"type": "object"})],
        tool_choice={"type": "function", "name": "dig"},
        response_modalities=["text"],
        extra_headers={"x-a": "1"},
        extra_query={"q": "2"},
        extra_body={"reasoning": {"effort": "low"}},
    )

    encoded = DIALECT.encode_request([user("x")], spec, None, ADAPTER)

    assert encoded.body == {
        "model": "m",
        "input": [{"role": "user", "content": "x"}],
        "max_output_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "tools": [{"type": "function", "name": "dig", "description": "Digs.", "parameters": {"type": "object"}}],
        "tool_choice": {"type": "function", "name": "dig"},
        "modalities": ["text"],
        "extra_headers": {"x-a": "1"},
        "extra_query": {"q": "2"},
        "reasoning": {"effort": "low"},
    }
    assert encoded.losses == [ExcludedItem("seed", "openai/responses.create has no seed")]


OBJECT = {"type": ["object", "null"], "properties": {"a": {"type": "object", "additionalProperties": True}}}


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (OBJECT, {"type": "json_schema", "name": "response", "schema": OBJECT}),
        ({"type": "json_schema", "schema": OBJECT}, {"type": "json_schema", "name": "response", "schema": OBJECT}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": OBJECT}},
            {"type": "json_schema", "name": "n", "schema": OBJECT},
        ),
        ({"json_schema": {"schema": OBJECT}}, {"type": "json_schema", "name": "response", "schema": OBJECT}),
        (
            {"name": "n", "schema": OBJECT, "description": "d", "strict": True},
            {
                "type": "json_schema",
                "name": "n",
                "description": "d",
                "strict": True,
                "schema": {**OBJECT, "additionalProperties": False},
            },
        ),
    ],
)
def test_a_schema_becomes_the_format_of_the_text(given: dict[str, Any], written: dict[str, Any]) -> None:
    """model.md, section 9: bare, wrapped or explicit; strict closes the object nodes that say nothing."""
    assert planned(user("x"), response_schema=given).body["text"] == {"format": written}


def test_an_explicit_form_without_a_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="no `schema`"):
        planned(user("x"), response_schema={"type": "json_schema", "name": "n"})


def test_compact_takes_a_conversation_and_instructions_and_nothing_else() -> None:
    """model.md, section 9: every other setting is excluded by name."""
    spec = a_spec(
        "openai",
        "responses.compact",
        instructions=Instructions("Shorter."),
        max_output_tokens=1,
        temperature=1.0,
        top_p=1.0,
        seed=1,
        tools=[ToolSpecification("dig", "", {})],
        tool_choice="auto",
        response_schema={"type": "object"},
        response_modalities=["text"],
    )

    encoded = COMPACT.encode_request([user("x")], spec, None, ADAPTER)

    assert encoded.body == {"model": "m", "instructions": "Shorter.", "input": [{"role": "user", "content": "x"}]}
    assert [item.description for item in encoded.losses] == [
        "max_output_tokens",
        "temperature",
        "top_p",
        "seed",
        "tools",
        "tool_choice",
        "response_schema",
        "response_modalities",
    ]


def test_typed_requests_have_the_fields_the_published_types_require() -> None:
    encoded = DIALECT.encode_request(
        [user(text("x"), Part("image", json={"url": "u"})), assistant("y")],
        responses(tools=[ToolSpecification("dig", "", {})]),
        None,
        replace(ADAPTER, typed=True),
    )

    assert encoded.body["input"] == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "x"},
                {"type": "input_image", "image_url": "u", "detail": "auto"},
            ],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "y", "annotations": []}],
            "id": "msg_weft_1",
            "status": "completed",
        },
    ]
    assert encoded.body["tools"][0]["strict"] is None


# -- there and back ----------------------------------------------------------------------------------------------

EVERY_FORM: list[dict[str, Any]] = [
    {"model": "m", "input": "Hello"},
    {"model": "m", "input": []},
    {"model": "m", "prompt": {"id": "p"}},
    {},
    {"model": "m", "instructions": "Be brief.", "input": [{"role": "user", "content": "x"}], "stream": True},
    {
        "model": "m",
        "instructions": ["odd"],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}],
    },
    {"input": [{"type": "message", "role": "user", "content": "x"}]},
    {"input": [{"role": "user", "content": []}, {"role": "user"}, {"role": "critic", "content": "no"}]},
    {"input": [{"type": "message", "content": "no role"}]},
    {
        "input": [
            {"role": "user", "content": ["bare", {"type": "input_text", "text": "x", "prompt_cache_breakpoint": {}}]}
        ]
    },
    {
        "input": [
            {"role": "assistant", "content": "a"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
        ]
    },
    {
        "input": [
            REASONING,
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "phase": "commentary",
                "content": [
                    {"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
                    {"type": "output_text", "text": "b", "annotations": [{"type": "url_citation", "url": "u"}]},
                    {"type": "refusal", "refusal": "no"},
                ],
            },
            {"type": "message", "id": "msg_2", "role": "assistant", "content": []},
            CALL,
            {"type": "message", "id": "msg_3", "role": "assistant", "content": [{"type": "input_text", "text": "odd"}]},
            {"type": "function_call_output", "call_id": "c1", "output": "6.2 m"},
            {
                "type": "function_call_output",
                "call_id": "c2",
                "id": "fco_1",
                "output": [{"type": "input_image", "file_id": "f", "detail": "auto"}],
            },
            {"type": "function_call_output", "call_id": "c3", "output": [{"type": "input_text", "text": "one"}]},
            {"role": "user", "content": "x"},
            SEARCH,
        ]
    },
    {
        "input": [
            {"type": "custom_tool_call", "call_id": "c", "name": "run", "input": "{}", "id": "ctc"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
            {"type": "computer_call", "call_id": "d", "id": "cu", "action": {"type": "click"}},
            {"type": "computer_call_output", "call_id": "d", "output": {"type": "computer_screenshot"}},
            {"type": "tool_search_call", "execution": "server", "arguments": {}},
            {"type": "tool_search_output", "execution": "server", "tools": []},
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
            {"type": "additional_tools", "role": "developer", "tools": []},
            {"type": "item_reference", "id": "msg_1"},
            {"id": "no type at all"},
            {"type": "compaction", "encrypted_content": "c2hvcnQ=", "id": "cmp"},
            {"type": "image_generation_call", "id": "ig", "result": PNG_TEXT, "output_format": "webp"},
            {"type": "image_generation_call", "id": "ig"},
        ]
    },
    {
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_TEXT}"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_TEXT}", "detail": "low"},
                    {"type": "input_image", "image_url": "data:image/png;charset=x;base64,QQ=="},
                    {"type": "input_image", "image_url": "data:image/png;base64,@@"},
                    {"type": "input_image", "image_url": "https://x.example/a.png"},
                    {"type": "input_image", "file_id": "file-1"},
                    {"type": "input_image"},
                    {"type": "input_file", "file_data": "data:application/pdf;base64,QQ==", "filename": "a.pdf"},
                    {"type": "input_file", "file_data": "data:application/pdf;base64,QQ=="},
                    {"type": "input_file", "file_data": "QQ==", "filename": "a.pdf"},
                    {"type": "input_file", "file_url": "https://x.example/a.pdf", "detail": "high"},
                    {"type": "input_file", "file_id": "file-1"},
                    {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}},
                    {"type": "input_audio", "input_audio": {"data": "@@", "format": "mp3"}},
                    {"type": "input_hologram", "depth": 3},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "output_image", "b64_json": PNG_TEXT, "media_type": "image/png"},
                    {"type": "output_image", "image_url": "https://x.example/a.png"},
                ],
            },
        ]
    },
    {
        "model": "m",
        "input": "x",
        "max_output_tokens": 9,
        "temperature": 0,
        "top_p": "odd",
        "tool_choice": "auto",
        "modalities": ["text"],
        "tools": [{"type": "function", "name": "dig", "description": "", "parameters": {}}],
        "text": {"format": {"type": "json_schema", "name": "response", "schema": {"type": "object"}}},
    },
    {
        "model": "m",
        "input": "x",
        "modalities": [1],
        "tools": [{"type": "function", "name": "dig", "parameters": None, "strict": True}, {"type": "web_search"}],
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True}},
    },
    {"model": "m", "input": "x", "text": {"format": {"type": "json_schema", "schema": {"schema": {}}, "name": "n"}}},
    {"model": "m", "input": "x", "text": {"format": {"type": "text"}}, "tools": "odd"},
]


@pytest.mark.parametrize("body", EVERY_FORM)
def test_what_was_heard_is_said_back_as_it_was(body: dict[str, Any]) -> None:
    """L1: decode, then encode, is the same request: items, their order, and where each ended."""
    assert there_and_back(body) == body


def test_items_of_one_answer_are_one_message() -> None:
    """model.md, section 11: an assistant turn is one Message with its parts in item order."""
    said = {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "Hm."}]}
    messages, _ = heard({"role": "user", "content": "x"}, REASONING, said, CALL, SEARCH)

    assert [(each.role, [part.type for part in each.parts]) for each in messages] == [
        ("user", ["text"]),
        ("assistant", ["thinking", "text", "tool_call", "provider", "annotation"]),
    ]
    assert messages[1].parts[0] == Part(
        "thinking",
        "Ask the sonar.",
        json={"provider": "openai", "dialect": "openai_responses", "model": "m"},
        provider_raw=REASONING,
    )
    assert messages[1].parts[1] == Part("text", "Hm.")
    assert messages[1].parts[2] == Part(
        "tool_call", tool_call_id="c1", tool_name="depth", tool_args={"pier": 4}, provider_raw=CALL
    )
    assert {each.provider for each in messages} == {"openai"}


def test_an_edited_part_wins_over_what_was_kept_of_it() -> None:
    """The kept item is a base; what canon says is laid over it."""
    (answer, results), _ = heard(
        CALL,
        {"type": "function_call_output", "call_id": "c1", "id": "o", "output": [{"type": "input_text", "text": "6"}]},
    )
    call = replace(answer.parts[0], tool_args={"pier": 5})
    result = replace(results.parts[0], tool_output={"m": 7})

    encoded = DIALECT.encode_request([replace(answer, parts=(call,)), replace(results, parts=(result,))], responses())

    assert encoded.body["input"] == [
        {**CALL, "arguments": '{"pier":5}'},
        {"type": "function_call_output", "call_id": "c1", "id": "o", "output": '{"m":7}'},
    ]


def test_a_message_that_lost_a_part_is_written_without_its_layout() -> None:
    said = {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "Hm."}]}
    (answer,), _ = heard(said, CALL)
    shortened = replace(answer, parts=(answer.parts[0], answer.parts[2]))

    encoded = DIALECT.encode_request([shortened], responses())

    assert encoded.body["input"] == [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]}
    ]


@pytest.mark.parametrize(
    "items",
    [
        "odd",
        [7],
        [{"at": 0}],
        [{"at": 0, "parts": 1}],
        [{"at": 1, "parts": 1, "item": {}}],
        [{"at": 0, "parts": 9, "item": {}}],
    ],
)
def test_a_layout_that_makes_no_sense_is_passed_over(items: Any) -> None:
    note = Part("annotation", json={"extra": {"openai_responses": {"of": 2, "items": items}}})

    encoded = DIALECT.encode_request([assistant("Hm.", tool_call(), note)], responses())

    assert [item["type"] for item in encoded.body["input"]] == ["message", "function_call"]


def test_the_phase_of_a_message_travels_with_its_texts() -> None:
    """Newer models want to be told which of their words were commentary; parts remember it between calls."""
    answer = DIALECT.decode_response(
        {
            "object": "response",
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "phase": phase,
                    "content": [{"type": "output_text", "text": phase, "annotations": []}],
                }
                for phase in ("commentary", "final_answer")
            ],
        }
    )
    assert answer.message is not None

    assert items(answer.message) == [
        {
            "type": "message",
            "role": "assistant",
            "phase": phase,
            "content": [{"type": "output_text", "text": phase}],
        }
        for phase in ("commentary", "final_answer")
    ]


def test_an_empty_input_that_was_filled_since_is_sent() -> None:
    decoded = COMPACT.decode_request({"model": "m", "input": [], "previous_response_id": "r"})

    encoded = COMPACT.encode_request([user("x")], decoded.spec)

    assert decoded.spec.endpoint == "responses.compact"
    assert encoded.body == {"model": "m", "input": [{"role": "user", "content": "x"}], "previous_response_id": "r"}


def test_compact_requests_are_said_back_as_they_were() -> None:
    body = {"model": "m", "instructions": "Brief.", "input": [{"role": "user", "content": "x"}], "temperature": 1}
    decoded = COMPACT.decode_request(body)

    assert COMPACT.encode_request(decoded.messages, decoded.spec).body == body


def test_a_request_as_canon_knows_its_settings() -> None:
    spec = DIALECT.decode_request(
        {
            "model": "m",
            "instructions": "Be brief.",
            "input": "x",
            "tools": [{"type": "function", "name": "dig", "strict": True, "parameters": {"type": "object"}}],
            "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
        },
        provider="azure",
    ).spec

    assert (spec.provider, spec.endpoint, spec.model) == ("azure", "responses.create", "m")
    assert spec.instructions == Instructions("Be brief.")
    assert spec.tools == (ToolSpecification("dig", "", {"type": "object"}),)
    assert thaw(spec.response_schema) == {"type": "object"}
    assert thaw(spec.extra_body["text"]) == {"format": {"name": "n"}}


def test_files_and_images_have_their_bytes_in_the_store() -> None:
    messages, blobs = heard(
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_TEXT}", "detail": "low"},
                {"type": "input_file", "file_data": "data:application/pdf;base64,QQ==", "filename": "a.pdf"},
            ],
        }
    )
    shown, attached = messages[0].parts

    assert shown.blob is not None
    assert attached.blob is not None
    assert (blobs.get_blob(shown.blob), shown.blob.media_type, thaw(shown.json)) == (
        PNG,
        "image/png",
        {"detail": "low"},
    )
    assert (blobs.get_blob(attached.blob), thaw(attached.json)) == (b"A", {"name": "a.pdf"})


def test_json_parts_and_refusals_are_said_as_text_where_they_must() -> None:
    refused = Part("refusal", "No.")
    facts = Part("json", json={"a": 1})

    assert items(user(refused, facts), assistant(refused, facts)) == [
        {"role": "user", "content": [{"type": "input_text", "text": "No."}, {"type": "input_text", "text": '{"a":1}'}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "No."}, {"type": "output_text", "text": '{"a":1}'}],
        },
    ]


# -- what does not fit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (7, "input"),
        ([7], "input[0]"),
        ([{"role": "user", "content": 7}], "input[0].content"),
        ([{"role": "user", "content": [7]}], "input[0].content[0]"),
        ([{"role": "user", "content": [{"type": "input_text"}]}], "input[0].content[0]"),
        ([{"type": "function_call", "name": "x"}], "input[0]"),
        ([{"type": "function_call_output"}], "input[0]"),
    ],
)
def test_what_does_not_fit_is_an_error_with_its_place(given: Any, where: str) -> None:
    with pytest.raises(WireError) as caught:
        DIALECT.decode_request({"model": "m", "input": given})

    assert caught.value.where == where


def test_deep_nesting_is_read_and_written() -> None:
    """L6: a thousand levels are a result, never a crash."""
    deep: Any = 1
    for _ in range(1000):
        deep = {"a": [deep]}
    body = {
        "model": "m",
        "metadata": deep,
        "input": [
            {"type": "function_call", "call_id": "c", "name": "n", "arguments": deep},
            {"type": "function_call_output", "call_id": "c", "output": deep, "id": "o"},
        ],
    }

    assert DIALECT.decode_request(body).spec.model == "m"
    there_and_back(body)
    decoded = DIALECT.decode_request(body)
    (call,) = decoded.messages[0].parts
    for _ in range(10_000):
        deep = {"a": [deep]}
    edited = replace(call, tool_args={"b": deep})
    lost = DIALECT.encode_request([replace(decoded.messages[0], parts=(edited,))], responses(), None, ADAPTER).losses
    assert lost[0].reason.startswith("tool_call: the value is nested too deeply")


texts = st.text(max_size=8)
calls = st.fixed_dictionaries({"type": st.just("function_call"), "call_id": texts, "name": texts, "arguments": texts})
said = st.builds(
    lambda blocks, more: {"type": "message", "role": "assistant", "content": blocks, **more},
    st.lists(st.builds(lambda words: {"type": "output_text", "text": words}, texts), max_size=3),
    st.dictionaries(st.sampled_from(["id", "status", "phase"]), texts, max_size=2),
)
asked = st.builds(lambda role, words: {"role": role, "content": words}, st.sampled_from(["user", "system"]), texts)
results = st.builds(lambda i, o: {"type": "function_call_output", "call_id": i, "output": o}, texts.filter(bool), texts)
thoughts = st.builds(lambda words: {"type": "reasoning", "id": words, "summary": []}, texts)


@given(st.lists(st.one_of(calls, said, asked, results, thoughts), min_size=1, max_size=8))
def test_any_order_of_items_is_kept(given_items: list[dict[str, Any]]) -> None:
    """L1 as a property: decode(encode) keeps the items, their order and their borders."""
    assert there_and_back({"model": "m", "input": given_items})["input"] == given_items


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call_output", "name": "depth", "output": "6 m", "status": "completed"},
        {"type": "function_call_output", "name": "depth", "output": [{"type": "input_text", "text": "6 m"}]},
        {"type": "custom_tool_call_output", "output": "6 m"},
    ],
)
def test_a_result_of_a_hosted_tool_has_a_name_and_no_id(item: dict[str, Any]) -> None:
    """L1: `call_id` is optional in the newest types."""
    body = {"model": "m", "input": [item]}
    (result,) = heard(item)[0][0].parts

    assert there_and_back(body) == body
    assert (result.type, result.tool_call_id, result.tool_name) == ("tool_result", None, item.get("name"))


@pytest.mark.parametrize(
    ("file", "media_type"),
    [
        ({"file_data": "aGk=", "filename": "notes.pdf"}, "application/pdf"),
        ({"file_data": "aGk="}, None),
        ({"file_data": "data:text/plain;base64,aGk=", "file_url": "https://example.org/n"}, "text/plain"),
        ({"file_data": "aGk=", "file_url": "https://example.org/n.txt", "detail": "low"}, None),
    ],
)
def test_a_file_may_come_as_bare_base64_and_with_more_than_its_bytes(
    file: dict[str, Any], media_type: str | None
) -> None:
    """L1, J-06: said back in the form it came in; its name tells the type where there is no data URL."""
    body = {"model": "m", "input": [{"role": "user", "content": [{"type": "input_file", **file}]}]}
    (message,), blobs = heard(*body["input"])  # type: ignore[arg-type]
    blob = message.parts[0].blob

    assert blob is not None
    assert (blobs.get_blob(blob), blob.media_type) == (b"hi", media_type)
    assert there_and_back(body) == body


def test_over_http_a_file_is_a_data_url() -> None:
    """The API refuses bare base64, which the chapter on adapters promises to callers of the SDK."""
    blobs = InMemoryBlobStore()
    pdf = Part("file", blob=blobs.put_blob(b"hi", media_type="application/pdf"))
    over_http = DIALECT.encode_request([user(pdf)], responses(), blobs, replace(ADAPTER, bare_base64=False))

    assert over_http.body["input"][0]["content"][0]["file_data"] == "data:application/pdf;base64,aGk="
    assert items(user(pdf), blobs=blobs)[0]["content"][0]["file_data"] == "aGk="
