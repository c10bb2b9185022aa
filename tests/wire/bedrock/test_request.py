"""Converse requests: what is spoken, what is heard, and what cannot be said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import a_spec, assistant, image, message, text, thinking, tool, tool_call, tool_result, user
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Instructions, Message, Part, RunSpec, ToolSpecification, thaw
from weft.errors import WireError
from weft.wire.bedrock import DIALECT
from weft.wire.codec import ADAPTER, STEP, Policy

PNG = b"\x89PNG\r\n"
PNG_TEXT = "iVBORw0K"


def converse(**fields: Any) -> RunSpec:
    return a_spec("bedrock", "converse", **{"model": "", **fields})


def there_and_back(body: dict[str, Any]) -> dict[str, Any]:
    blobs = InMemoryBlobStore()
    decoded = DIALECT.decode_request(body, blobs)
    encoded = DIALECT.encode_request(decoded.messages, decoded.spec, blobs)
    assert encoded.losses == []
    return encoded.body


def said(block: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": [block]}]}


def heard(block: dict[str, Any], role: str = "user") -> tuple[Message, InMemoryBlobStore]:
    blobs = InMemoryBlobStore()
    return DIALECT.decode_request(said(block, role), blobs).messages[0], blobs


def sent(*messages: Message, policy: Policy = ADAPTER, **fields: Any) -> dict[str, Any]:
    return DIALECT.encode_request(messages, converse(**fields), InMemoryBlobStore(), policy).body


# -- same dialect, both ways -------------------------------------------------------------------------------------

WITH_MORE: dict[str, Any] = {"text": "x", "later": 1}
GUARDED: dict[str, Any] = {"guardContent": {"text": {"text": "the tide table", "qualifiers": ["grounding_source"]}}}
BITMAP: dict[str, Any] = {"image": {"format": "bmp", "source": {"bytes": PNG_TEXT}}}
IN_S3: dict[str, Any] = {
    "image": {"format": "png", "source": {"s3Location": {"uri": "s3://tides/a.png", "bucketOwner": "1"}}}
}
TABLE: dict[str, Any] = {"document": {"format": "pdf", "name": "tide-table (4)", "source": {"bytes": PNG_TEXT}}}
PLAIN_RESULT: dict[str, Any] = {"toolResult": {"toolUseId": "t1", "content": [{"text": "6.2 m"}], "status": "success"}}
BARE_RESULT: dict[str, Any] = {"toolResult": {"toolUseId": "t1", "content": [{"text": "6.2 m"}]}}
FAILED_RESULT: dict[str, Any] = {"toolResult": {"toolUseId": "t1", "content": [{"text": "gone"}], "status": "error"}}
CALL: dict[str, Any] = {"toolUse": {"toolUseId": "t1", "name": "sonar", "input": {"pier": 4}}}
SIGNED: dict[str, Any] = {"reasoningContent": {"reasoningText": {"text": "Ask the sonar.", "signature": "c2ln"}}}
CITED: dict[str, Any] = {
    "citationsContent": {"content": [{"text": "6 "}, {"text": "m"}], "citations": [{"title": "t"}]}
}

BLOCKS: list[dict[str, Any]] = [
    {"text": "Depth at pier 4?"},
    WITH_MORE,
    GUARDED,
    {"guardContent": {"image": {"format": "jpeg", "source": {"bytes": PNG_TEXT}}}},
    {"guardContent": {"image": {"format": "png", "source": {"bytes": PNG_TEXT}}, "later": 1}, "also": 2},
    {"guardContent": {"video": {}}},
    {"cachePoint": {"type": "default"}},
    {"searchResult": {"source": "s", "title": "t", "content": [{"text": "c"}]}},
    {"whatComesNext": {"a": [1]}},
    {"text": "two", "image": {"format": "png"}},
    {"image": {"format": "png", "source": {"bytes": PNG_TEXT}}},
    BITMAP,
    {"image": {"format": "png", "source": {"bytes": "not base64!"}}},
    IN_S3,
    {"image": {"format": "png", "error": {"message": "blocked"}}},
    TABLE,
    {"document": {"format": "txt", "name": "n", "source": {"text": "high water"}, "citations": {"enabled": True}}},
    {"document": {"name": "n", "source": {"text": "high water"}}},
    {"document": {"source": {"bytes": PNG_TEXT}}, "guardContent": None},
    {"document": {"name": "n", "source": {"text": "lone \ud800"}}},
    {"document": {"name": "n", "source": {"content": [{"text": "a"}, {"text": "b"}]}}},
    {"video": {"format": "mpg", "source": {"bytes": PNG_TEXT}}},
    {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://tides/v.mp4"}}}},
    {"audio": {"format": "wav", "source": {"bytes": PNG_TEXT}}},
    PLAIN_RESULT,
    BARE_RESULT,
    FAILED_RESULT,
    {"toolResult": {"toolUseId": "t1", "content": [{"json": {"depth": 6.2}}], "type": "x"}},
    {"toolResult": {"toolUseId": "t1", "content": [{"image": {"format": "png", "source": {"bytes": PNG_TEXT}}}]}},
    {"toolResult": {"toolUseId": "t1", "content": []}},
]
ANSWERS: list[dict[str, Any]] = [
    CALL,
    {"toolUse": {"toolUseId": "t1", "name": "sonar", "input": "not an object"}},
    {"toolUse": {"toolUseId": "t1", "name": "nova_grounding", "input": {}, "type": "server_tool_use"}},
    {"toolResult": {"toolUseId": "t1", "content": [{"text": "[HIDDEN]"}], "type": "nova_grounding_result"}},
    SIGNED,
    {"reasoningContent": {"redactedContent": "c2VhbGVk"}},
    CITED,
    {"citationsContent": {"citations": [{"location": {"web": {"url": "https://tides.example"}}}]}},
]


@pytest.mark.parametrize("block", BLOCKS, ids="+".join)
def test_every_block_of_a_user_comes_back_as_it_was(block: dict[str, Any]) -> None:
    assert there_and_back(said(block)) == said(block)


@pytest.mark.parametrize("block", ANSWERS, ids="+".join)
def test_every_block_of_a_model_comes_back_as_it_was(block: dict[str, Any]) -> None:
    assert there_and_back(said(block, "assistant")) == said(block, "assistant")


FIELDS: list[dict[str, Any]] = [
    {"system": []},
    {"system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}]},
    {"inferenceConfig": {}},
    {"inferenceConfig": {"maxTokens": 9, "temperature": 0, "topP": 0.5, "stopSequences": ["."]}},
    {"inferenceConfig": {"maxTokens": "9"}},
    {"inferenceConfig": "odd", "toolConfig": "odd", "outputConfig": "odd"},
    {"toolConfig": {"tools": [{"toolSpec": {"name": "a", "inputSchema": {"json": {"type": "object"}}}}]}},
    {"toolConfig": {"tools": [{"toolSpec": {"name": "a", "inputSchema": {"json": {}}}}, {"cachePoint": {}}]}},
    {"toolConfig": {"tools": [{"toolSpec": {"name": "a", "description": "", "inputSchema": {"json": {}}}}]}},
    {"toolConfig": {"tools": [], "toolChoice": {"tool": {"name": "a"}}}},
    {"toolConfig": {"toolChoice": {"whatever": {}}}},
    {
        "outputConfig": {
            "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": '{"type":"null"}'}}}
        }
    },
    {"outputConfig": {"textFormat": {"structure": {"jsonSchema": {"schema": '{ "type": "null" }', "name": "n"}}}}},
    {"outputConfig": {"textFormat": {"structure": {"jsonSchema": {"schema": "["}}}, "effort": "low"}},
    {"outputConfig": {"textFormat": {"structure": {"jsonSchema": {"schema": "[]"}}}}},
    {"additionalModelRequestFields": {"top_k": 3}, "guardrailConfig": {"trace": "enabled"}},
    {"modelId": "amazon.nova-lite-v1:0"},
]


@pytest.mark.parametrize("fields", FIELDS, ids="+".join)
def test_every_setting_comes_back_as_it_was(fields: dict[str, Any]) -> None:
    body = {"messages": [], **fields}

    assert there_and_back(body) == body


def test_a_mixed_user_message_is_two_messages_of_ours_and_becomes_one_again() -> None:
    """R-7: results are of the role `tool`; the mark on what follows puts the message together again."""
    body = {
        "messages": [
            {"role": "user", "content": [CALL, PLAIN_RESULT, {"text": "and now?"}], "later": True},
            {"role": "system", "content": [{"text": "Be brief."}]},
        ]
    }
    decoded = DIALECT.decode_request(body)

    assert [m.role for m in decoded.messages] == ["user", "tool", "user", "system"]
    assert there_and_back(body) == body


def test_a_managed_prompt_needs_no_messages() -> None:
    body = {"promptVariables": {"pier": {"text": "4"}}}

    assert there_and_back(body) == body


def test_bytes_of_boto3_are_read_and_written_as_base64_to_a_body() -> None:
    """The arguments of boto3 hold bytes where the body has base64."""
    media = {"format": "png", "source": {"bytes": PNG}}
    user_blocks = [
        {"image": media},
        {"toolResult": {"toolUseId": "t1", "content": [{"image": media}, "odd"]}},
        {"guardContent": {"image": media}},
    ]
    sealed = {"reasoningContent": {"redactedContent": b"sealed"}}
    arguments = {
        "messages": [{"role": "user", "content": user_blocks}, {"role": "assistant", "content": [sealed]}],
    }
    blobs = InMemoryBlobStore()
    decoded = DIALECT.decode_request(arguments, blobs)

    as_text = {"format": "png", "source": {"bytes": PNG_TEXT}}
    body = DIALECT.encode_request(decoded.messages, decoded.spec, blobs).body
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"image": as_text},
                {"toolResult": {"toolUseId": "t1", "content": [{"image": as_text}, "odd"]}},
                {"guardContent": {"image": as_text}},
            ],
        },
        {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": "c2VhbGVk"}}]},
    ]
    again = DIALECT.encode_request(decoded.messages, decoded.spec, blobs, ADAPTER).body
    user_blocks[0], user_blocks[1] = user_blocks[1], user_blocks[0]  # results first, as models want them
    assert again["messages"] == arguments["messages"]


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_names = st.sampled_from([*sorted({member for block in BLOCKS + ANSWERS for member in block}), "new"])


@given(
    st.lists(st.dictionaries(_names, _json, min_size=1, max_size=2), max_size=3), st.sampled_from(["user", "assistant"])
)
def test_whatever_a_block_holds_it_is_given_back_or_refused_with_its_place(
    blocks: list[dict[str, Any]], role: str
) -> None:
    body = {"messages": [{"role": role, "content": blocks}]}

    try:
        again = there_and_back(body)
    except WireError as error:
        refused_at, again = error.where, body
    else:
        refused_at = "messages[0].content"
    assert refused_at.startswith("messages[0].content")
    assert _without_nulls(again) == _without_nulls(body)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


# -- what is heard -----------------------------------------------------------------------------------------------


def test_a_tool_call_keeps_its_block() -> None:
    """M-53: the provider's block rides along, arguments are a mapping."""
    heard_message, _ = heard(CALL, "assistant")

    assert heard_message.provider == "bedrock"
    assert heard_message.parts == (
        Part("tool_call", tool_call_id="t1", tool_name="sonar", tool_args={"pier": 4}, provider_raw=CALL),
    )


def test_thinking_knows_who_produced_it() -> None:
    """Signed reasoning goes back to its producer alone, so it says who that is."""
    body = {**said(SIGNED, "assistant"), "modelId": "anthropic.claude"}

    (message_read,) = DIALECT.decode_request(body, provider="bedrock").messages
    assert message_read.parts == (
        Part(
            "thinking",
            text="Ask the sonar.",
            json={"provider": "bedrock", "dialect": "bedrock", "model": "anthropic.claude"},
            provider_raw=SIGNED,
        ),
    )


def test_text_under_guard_and_text_with_citations_is_text() -> None:
    guarded, _ = heard(GUARDED)
    cited, _ = heard(CITED, "assistant")

    assert (guarded.parts[0].type, guarded.parts[0].text) == ("text", "the tide table")
    assert (cited.parts[0].type, cited.parts[0].text) == ("text", "6 m")


def test_a_failed_tool_says_so_in_our_words_too() -> None:
    """README section 2: `provider_raw.is_error` is how canon says that a tool failed."""
    failed, _ = heard(FAILED_RESULT)

    assert failed.role == "tool"
    assert failed.parts[0].tool_output == "gone"
    assert thaw(failed.parts[0].provider_raw) == {**FAILED_RESULT, "is_error": True}


def test_a_single_json_answer_is_its_value_and_several_are_their_blocks() -> None:
    """R-8: one thing is itself, several are a list."""
    one, _ = heard({"toolResult": {"toolUseId": "t1", "content": [{"json": {"depth": 6.2}}]}})
    two, _ = heard({"toolResult": {"toolUseId": "t1", "content": [{"text": "a"}, {"text": "b"}]}})

    assert thaw(one.parts[0].tool_output) == {"depth": 6.2}
    assert thaw(two.parts[0].tool_output) == [{"text": "a"}, {"text": "b"}]


def test_media_is_in_the_store_with_its_type_and_name() -> None:
    read, blobs = heard(TABLE)
    part = read.parts[0]

    assert part.type == "file"
    assert part.blob is not None
    assert (part.blob.media_type, blobs.get_blob(part.blob)) == ("application/pdf", PNG)
    assert thaw(part.json) == {"name": "tide-table (4)"}


def test_an_s3_location_is_named_as_one() -> None:
    """It is no address another provider could fetch from, so it is not called a url."""
    read, _ = heard(IN_S3)

    assert thaw(read.parts[0].json) == {"s3_uri": "s3://tides/a.png"}


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"messages": {}}, "messages"),
        ({"messages": [1]}, "messages[0]"),
        ({"messages": [{"role": "tool", "content": []}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        (said({"text": 1}), "messages[0].content[0].text"),
        (said({"image": "x"}), "messages[0].content[0].image"),
        (said({"toolUse": {"name": "x"}}), "messages[0].content[0].toolUse.toolUseId"),
        (said({"toolResult": {"toolUseId": 1}}), "messages[0].content[0].toolResult.toolUseId"),
        ({"system": "plain text"}, "system"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(body: dict[str, Any], where: str) -> None:
    with pytest.raises(WireError) as refused:
        DIALECT.decode_request(body)

    assert refused.value.where == where


@pytest.mark.parametrize(
    ("member", "inner"), [("toolResult", "content"), ("guardContent", "image"), ("toolUse", "input"), ("new", "new")]
)
def test_deep_nesting_is_read_and_written(member: str, inner: str) -> None:
    """J-01: nesting never exhausts the stack."""
    deep: Any = {}
    for _ in range(3_000):
        deep = {member: {"toolUseId": "t", "name": "n", inner: [deep] if inner == "content" else deep}}

    there_and_back(said(deep))


# -- what is spoken (model.md, sections 9 and 10) ------------------------------------------------------------------


def test_a_conversation_is_planned_as_boto3_takes_it() -> None:
    blobs = InMemoryBlobStore()
    picture = blobs.put_blob(PNG, media_type="image/webp", kind="image")
    table = blobs.put_blob(b"%PDF", media_type="application/pdf")
    failed = Part("tool_result", tool_call_id="t2", tool_output={"why": "fog"}, provider_raw={"is_error": True})
    messages = [
        message("system", "Be brief."),
        message("developer", "No jokes."),
        user("Look."),
        user(
            image(picture), Part("file", blob=table, provider_raw={"name": "tide table.pdf"}), Part("file", blob=table)
        ),
        assistant(thinking("hm"), "Two tools.", tool_call("sonar", {"pier": 4}), tool_call("radar", call_id="t2")),
        tool(tool_result("6.2 m")),
        tool(failed),
        user("Go on."),
    ]
    spec = converse(
        model="amazon.nova-lite-v1:0",
        instructions=Instructions("You are a pilot.", "Metric."),
        max_output_tokens=64,
        temperature=0.5,
        top_p=0.9,
        tools=(ToolSpecification("sonar", "depth", {"type": "object"}), ToolSpecification("radar", "", {})),
        tool_choice="required",
        extra_body={"inferenceConfig": {"stopSequences": ["."]}},
    )

    encoded = DIALECT.encode_request(messages, spec, blobs, ADAPTER)

    assert (encoded.losses, encoded.warnings, encoded.errors) == ([], [], [])
    assert encoded.body == {
        "modelId": "amazon.nova-lite-v1:0",
        "system": [{"text": t} for t in ("You are a pilot.", "Metric.", "Be brief.", "No jokes.")],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "Look."},
                    {"image": {"format": "webp", "source": {"bytes": PNG}}},
                    {"document": {"format": "pdf", "name": "tide_table_pdf", "source": {"bytes": b"%PDF"}}},
                    {"document": {"format": "pdf", "name": "document", "source": {"bytes": b"%PDF"}}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm"}}},
                    {"text": "Two tools."},
                    {"toolUse": {"toolUseId": "t1", "name": "sonar", "input": {"pier": 4}}},
                    {"toolUse": {"toolUseId": "t2", "name": "radar", "input": {}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "t1", "content": [{"text": "6.2 m"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "t2", "content": [{"text": '{"why":"fog"}'}], "status": "error"}},
                    {"text": "Go on."},
                ],
            },
        ],
        "inferenceConfig": {"maxTokens": 64, "temperature": 0.5, "topP": 0.9, "stopSequences": ["."]},
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": "sonar", "description": "depth", "inputSchema": {"json": {"type": "object"}}}},
                {"toolSpec": {"name": "radar", "inputSchema": {"json": {}}}},
            ],
            "toolChoice": {"any": {}},
        },
    }


@pytest.mark.parametrize(
    ("choice", "spoken"),
    [
        ("auto", {"auto": {}}),
        ("any", {"any": {}}),
        ("required", {"any": {}}),
        ({"tool": {"name": "a"}}, {"tool": {"name": "a"}}),
        ({"type": "function", "function": {"name": "a"}}, {"tool": {"name": "a"}}),
        ({"name": "a"}, {"tool": {"name": "a"}}),
        ({"type": "any"}, {"any": {}}),
    ],
)
def test_tool_choices_of_every_provider_are_understood(choice: Any, spoken: dict[str, Any]) -> None:
    assert sent(user("x"), tool_choice=choice)["toolConfig"] == {"toolChoice": spoken}


@pytest.mark.parametrize("choice", ["none", {"type": "none"}, {"odd": 1}, 7])
def test_tool_choices_that_cannot_be_said_are_listed(choice: Any) -> None:
    encoded = DIALECT.encode_request([user("x")], converse(tool_choice=choice), None, ADAPTER)

    assert "toolConfig" not in encoded.body
    assert [item.description for item in encoded.losses] == ["tool_choice"]


@pytest.mark.parametrize(
    ("schema", "described"),
    [
        ({"type": "object"}, {"schema": '{"type":"object","additionalProperties":false}'}),
        ({"name": "n", "schema": {"type": "null"}, "strict": True}, {"schema": '{"type":"null"}', "name": "n"}),
        ({"json_schema": {"schema": {"a": 1}, "description": "d"}}, {"schema": '{"a":1}', "description": "d"}),
        ({"schema": {"a": 1}}, {"schema": '{"a":1}'}),
        ({"schema": {"a": 1}, "type": "object", "additionalProperties": True}, None),
    ],
)
def test_a_response_schema_is_json_text_without_its_wrapper(
    schema: dict[str, Any], described: dict[str, Any] | None
) -> None:
    described = described or {"schema": '{"schema":{"a":1},"type":"object","additionalProperties":true}'}

    assert sent(user("x"), response_schema=schema)["outputConfig"] == {
        "textFormat": {"type": "json_schema", "structure": {"jsonSchema": described}}
    }


def test_settings_that_converse_lacks_are_listed() -> None:
    spec = converse(seed=7, response_modalities=("text",), extra_headers={"a": "b"}, extra_query={"c": "d"})

    encoded = DIALECT.encode_request([user("x")], spec, None, ADAPTER)

    assert [item.description for item in encoded.losses] == [
        "seed",
        "response_modalities",
        "extra_headers",
        "extra_query",
    ]


def test_a_number_that_boto3_would_refuse_is_listed() -> None:
    encoded = DIALECT.encode_request([user("x")], converse(temperature=-1, top_p=0.5), None, ADAPTER)

    assert encoded.body["inferenceConfig"] == {"topP": 0.5}
    assert encoded.losses == [ExcludedItem("temperature", "-1 is less than bedrock/converse takes")]


@pytest.mark.parametrize(
    ("role", "part", "reason"),
    [
        ("user", text(""), "empty text"),
        ("user", Part("image"), "image without blob"),
        ("user", Part("file"), "file without id, data or blob"),
        (
            "user",
            Part("image", json={"url": "https://a"}),
            "image by address: converse takes bytes or an s3:// location",
        ),
        ("assistant", Part("file"), "part type file is not supported for role assistant"),
        ("assistant", Part("tool_call", tool_name="a"), "tool_call without id or name"),
        ("user", tool_call(), "part type tool_call is not supported for role user"),
        ("tool", Part("tool_result"), "tool_result without id"),
        ("assistant", thinking(), "thinking without provider block or text"),
        ("assistant", Part("compaction", text="x"), "part type compaction is not supported for role assistant"),
        (
            "assistant",
            Part("provider", provider_raw={"a": 1}),
            "part type provider is not supported for role assistant",
        ),
        (
            "assistant",
            Part("thinking", text="hm", json={"provider": "anthropic", "dialect": "anthropic"}),
            "thinking of anthropic carries no signature this endpoint accepts",
        ),
    ],
)
def test_parts_that_cannot_be_sent_are_listed(role: Any, part: Part, reason: str) -> None:
    """M-46: the part with its place, then the message that is empty without it."""
    encoded = DIALECT.encode_request([message(role, part)], converse(), None, ADAPTER)

    assert encoded.body["messages"] == []
    assert encoded.losses == [
        ExcludedItem("context.messages[0].parts[0]", reason),
        ExcludedItem("context.messages[0]", "nothing in it can be sent"),
    ]


def test_a_picture_among_instructions_is_listed() -> None:
    blobs = InMemoryBlobStore()
    picture = image(blobs.put_blob(PNG, media_type="image/png", kind="image"))

    encoded = DIALECT.encode_request([message("system", picture), user("x")], converse(), blobs, ADAPTER)

    assert encoded.losses == [
        ExcludedItem("context.messages[0].parts[0]", "part type image is not supported for role system")
    ]


def test_a_role_of_its_own_is_listed() -> None:
    odd: Any = "critic"

    encoded = DIALECT.encode_request([message(odd, "x")], converse(), None, ADAPTER)

    assert encoded.losses == [ExcludedItem("context.messages[0]", "role critic has no place in converse")]


def test_unsigned_thinking_is_left_out_where_the_policy_says_so() -> None:
    encoded = DIALECT.encode_request([assistant(thinking("hm"), "a")], converse(), None, STEP)

    assert encoded.body["messages"] == [{"role": "assistant", "content": [{"text": "a"}]}]
    assert encoded.losses == [
        ExcludedItem("context.messages[0].parts[0]", "thinking without a signature is not accepted")
    ]


def test_foreign_thinking_can_be_sent_as_text() -> None:
    foreign = Part("thinking", text="hm", json={"provider": "google", "dialect": "gemini"})

    assert sent(assistant(foreign), policy=Policy(foreign_thinking="text"))["messages"] == [
        {"role": "assistant", "content": [{"text": "hm"}]}
    ]


def test_json_parts_are_sent_as_text_and_annotations_not_at_all() -> None:
    parts = (Part("json", json={"a": 1}), Part("annotation", json={"name": "ann"}))

    assert sent(user(*parts))["messages"] == [{"role": "user", "content": [{"text": '{"a":1}'}]}]


def test_remote_media_in_s3_is_sent_by_its_place() -> None:
    part = Part("video", json={"url": "s3://tides/v.webm", "mime_type": "video/webm"})

    assert sent(user(part))["messages"][0]["content"] == [
        {"video": {"format": "webm", "source": {"s3Location": {"uri": "s3://tides/v.webm"}}}}
    ]


def test_what_was_edited_wins_over_the_block_that_was_kept() -> None:
    """A part that was changed is sent as changed, with the rest of its block around it."""
    blobs = InMemoryBlobStore()

    def edited(block: dict[str, Any], role: Any, **changes: Any) -> dict[str, Any]:
        part = DIALECT.decode_request(said(block, role), blobs).messages[0].parts[0]
        fields = {name: getattr(part, name) for name in part.__dataclass_fields__} | changes
        message_edited = message("tool" if part.type == "tool_result" else role, Part(**fields), provider="bedrock")
        content: list[dict[str, Any]] = DIALECT.encode_request([message_edited], converse(), blobs).body["messages"][0][
            "content"
        ]
        return content[0]

    assert edited(WITH_MORE, "user", text="y") == {"text": "y", "later": 1}
    assert edited(GUARDED, "user", text="y")["guardContent"]["text"] == {
        "text": "y",
        "qualifiers": ["grounding_source"],
    }
    assert edited(CITED, "assistant", text="7 m")["citationsContent"]["content"] == [{"text": "7 m"}]
    assert edited(CALL, "assistant", tool_args={"pier": 5})["toolUse"]["input"] == {"pier": 5}
    assert edited(BARE_RESULT, "user", tool_output="7 m")["toolResult"] == {
        "toolUseId": "t1",
        "content": [{"text": "7 m"}],
    }
    mended = {key: value for key, value in FAILED_RESULT.items() if key != "is_error"}
    assert edited(FAILED_RESULT, "user", provider_raw=mended)["toolResult"]["status"] == "success"
    other = blobs.put_blob(PNG, media_type="image/gif", kind="image")
    assert edited(BITMAP, "user", blob=other)["image"] == {"format": "gif", "source": {"bytes": PNG_TEXT}}
    assert edited(TABLE, "user", json={"name": "new name"})["document"]["name"] == "new_name"


def test_returned_thinking_is_counted() -> None:
    """`must_roundtrip` of a plan is made of these places."""
    decoded = DIALECT.decode_request(said(SIGNED, "assistant"))

    encoded = DIALECT.encode_request(decoded.messages, decoded.spec, None, ADAPTER)

    assert encoded.roundtrip == ["context.messages[0].parts[0]"]
