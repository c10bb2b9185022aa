"""Gemini requests: two shapes, two spellings, four entry points."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import a_spec, assistant, image, message, text, thinking, tool, tool_call, tool_result, user
from weft.blobs import InMemoryBlobStore
from weft.canon import ExcludedItem, Instructions, Message, Part, RunSpec, ToolSpecification
from weft.errors import WireError
from weft.wire.codec import ADAPTER, FAITHFUL, STEP, TURN, Policy
from weft.wire.gemini import DIALECT
from weft.wire.gemini.request import decode_request, encode_request

PIXEL = base64.b64encode(b"\x89PNG pixel").decode()
URL_SAFE = base64.urlsafe_b64encode(b"\xfb\xff\xfe pixel!").decode()

CONVERSATION = {
    "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "Tide at Oban?"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Look it up.", "thought": True},
                {"text": "Let me look.", "thoughtSignature": "c2lnMQ=="},
                {"functionCall": {"name": "tide", "args": {"port": "Oban"}}, "thoughtSignature": "c2lnMg=="},
                {"functionCall": {"name": "wind", "args": {}, "id": "w1"}},
                {"executableCode": {"language": "PYTHON", "code": "1+1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
                {"text": "", "thoughtSignature": "c2lnMw=="},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "tide", "response": {"result": "06:10"}}},
                {"functionResponse": {"name": "wind", "response": {"knots": 12}, "id": "w1"}},
                {"text": "And tomorrow?"},
                {"fileData": {"fileUri": "gs://harbour/log.pdf", "mimeType": "application/pdf"}},
                {"fileData": {"fileUri": "https://example.org/pier.mp4"}, "videoMetadata": {"startOffset": "2s"}},
            ],
        },
    ],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "tide", "description": "Tides.", "parameters": {"type": "object", "properties": {}}},
            ]
        }
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 40,
        "maxOutputTokens": 100,
        "seed": 7,
        "responseModalities": ["TEXT"],
        "thinkingConfig": {"includeThoughts": True},
        "responseMimeType": "application/json",
        "responseSchema": {"type": "object", "properties": {"time": {"type": "string"}}},
    },
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    "cachedContent": "cachedContents/1",
}


def written(body: Any, policy: Policy = FAITHFUL) -> Any:
    """Read a body and write it again; nothing may be lost on the way."""
    blobs = InMemoryBlobStore()
    decoded = decode_request(body, blobs)
    encoded = encode_request(decoded.messages, decoded.spec, blobs, policy)
    assert encoded.losses == []
    return encoded.body


def config_of(spec: RunSpec, policy: Policy = ADAPTER, *messages: Message) -> Any:
    return encode_request(messages or [user("hi")], spec, None, policy).body["config"]


def google(**fields: Any) -> RunSpec:
    return RunSpec("google", "models.generate_content", "gemini-x", **fields)


# -- same dialect in and out ----------------------------------------------------------------------------------


def test_a_rest_request_goes_back_as_it_came() -> None:
    """L1, for all kinds of parts and settings."""
    assert written(CONVERSATION) == CONVERSATION


def test_a_conversation_is_read_in_our_words() -> None:
    """R-7: results are messages of their own; ids that are missing are made up, and results find their call."""
    blobs = InMemoryBlobStore()

    messages = decode_request(CONVERSATION, blobs).messages

    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "user"]
    said = messages[2].parts
    assert [part.type for part in said] == [
        "thinking",
        "text",
        "tool_call",
        "tool_call",
        "provider",
        "provider",
        "text",
    ]
    assert said[0].json == {"provider": "google", "dialect": "gemini"}
    assert (said[2].tool_name, said[2].tool_args) == ("tide", {"port": "Oban"})
    results = messages[3].parts
    assert [(part.tool_name, part.tool_output) for part in results] == [("tide", "06:10"), ("wind", {"knots": 12})]
    assert [part.tool_call_id for part in results] == [said[2].tool_call_id, "w1"]
    assert [part.type for part in messages[4].parts] == ["text", "file", "file", "annotation"]
    assert messages[4].parts[1].json == {"file_uri": "gs://harbour/log.pdf", "media_type": "application/pdf"}
    assert messages[4].parts[2].json == {"url": "https://example.org/pier.mp4"}


def test_settings_are_read_into_the_spec_and_the_rest_is_kept() -> None:
    spec = decode_request(CONVERSATION).spec

    assert (spec.provider, spec.endpoint, spec.model) == ("google", "models.generate_content", "")
    assert (spec.temperature, spec.top_p, spec.max_output_tokens, spec.seed) == (0.5, 0.9, 100, 7)
    assert spec.response_modalities == ("TEXT",)
    assert spec.response_schema == {"type": "object", "properties": {"time": {"type": "string"}}}
    assert spec.tools == (ToolSpecification("tide", "Tides.", {"type": "object", "properties": {}}),)
    assert spec.tool_choice == {"functionCallingConfig": {"mode": "AUTO"}}
    assert spec.extra_body == {
        "generationConfig": {"topK": 40, "thinkingConfig": {"includeThoughts": True}},
        "safetySettings": ({"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"},),
        "cachedContent": "cachedContents/1",
    }


def test_snake_case_is_read_and_written_back_in_snake_case() -> None:
    """Conflict 18: readers take both spellings, and each key goes back in its own."""
    body = {
        "system_instruction": {"parts": {"text": "Be brief."}},
        "contents": [
            {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": URL_SAFE}}]},
            {"role": "model", "parts": [{"function_call": {"name": "tide"}, "thought_signature": "c2ln"}]},
            {"role": "function", "parts": [{"function_response": {"name": "tide", "response": {"result": "06:10"}}}]},
        ],
        "generation_config": {"max_output_tokens": 5, "temperature": 1, "top_k": 3},
        "tool_config": {"function_calling_config": {"mode": "ANY"}},
        "tools": [{"function_declarations": [{"name": "tide", "parameters_json_schema": {"type": "object"}}]}],
    }

    spec = decode_request(body).spec

    assert written(body) == body
    assert (spec.max_output_tokens, spec.temperature) == (5, 1)
    assert spec.tool_choice == {"function_calling_config": {"mode": "ANY"}}
    assert spec.tools == (ToolSpecification("tide", "", {"type": "object"}),)


def test_the_sdks_arguments_are_read_and_written_back_as_such() -> None:
    """The google-genai SDK's shape: settings in `config`, contents as loose as it takes them."""
    body = {
        "model": "gemini-x",
        "contents": ["Tide?", {"text": "At Oban."}, {"role": "model", "parts": [{"text": "06:10"}]}],
        "config": {
            "system_instruction": ["Be brief.", {"text": "Be kind."}],
            "temperature": 0.5,
            "maxOutputTokens": 9,
            "tools": [{"function_declarations": [{"name": "tide", "description": "", "parameters": {}}]}],
            "http_options": {"headers": {"x-trace": "1"}, "timeout": 5},
            "thinking_config": {"thinking_budget": 0},
        },
    }

    spec = decode_request(body).spec

    assert written(body) == body
    assert (spec.model, spec.temperature, spec.max_output_tokens) == ("gemini-x", 0.5, 9)
    assert spec.extra_headers == {"x-trace": "1"}


@pytest.mark.parametrize(
    "body",
    [
        {"contents": "hi"},
        {"contents": {"role": "user", "parts": [{"text": "hi"}]}},
        {"contents": [{"parts": [{"text": "no role"}]}]},
        {"contents": [{"role": "critic", "parts": [{"text": "hi"}], "newField": 1}]},
        {"contents": [{"role": "user"}, {"role": "model", "parts": []}]},
        {"contents": [], "systemInstruction": "Be brief."},
        {"contents": [], "systemInstruction": {"text": "Be brief."}},
        {"contents": [], "generationConfig": {}},
        {"contents": [], "generationConfig": {"temperature": "warm", "seed": 1.5, "responseModalities": []}},
        {"contents": [], "generationConfig": "odd", "model": 3},
        {"contents": [], "config": {}},
        {"contents": [], "generationConfig": {"topP": 0.1, "top_p": 0.2}},
        {"contents": [], "generationConfig": {"responseMimeType": "text/x.enum", "responseSchema": {"enum": ["a"]}}},
        {"contents": [], "tools": [{"googleSearch": {}}, "odd"]},
        {"contents": [{"role": "user", "parts": [{}, {"newKind": {"a": 1}}, {"text": "x", "newField": 2}]}]},
        {"contents": [{"role": "user", "parts": [{"thought": True, "thoughtSignature": "c2ln"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "x", "thought": False}]}]},
        {"contents": [{"role": "user", "parts": [{"inlineData": {"data": "???"}}, {"inlineData": {"data": "YQ"}}]}]},
        {"contents": [{"role": "user", "parts": [{"inlineData": {"data": "YWI=", "displayName": "a.bin"}}]}]},
        {"contents": [{"role": "user", "parts": [{"fileData": {"displayName": "log"}}]}]},
        {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": "[1]", "id": ""}}]}]},
        {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "f"}}]}]},
        {
            "contents": [
                {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "real"}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}}]},
            ]
        },
    ],
)
def test_unusual_forms_go_back_as_they_came(body: Any) -> None:
    """L1: nothing but null equals absent."""
    assert written(body) == body


texts = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda v: st.dictionaries(texts, v, max_size=2),
    max_leaves=5,
)
parts = st.one_of(
    st.fixed_dictionaries({"text": texts}, optional={"thought": st.booleans(), "thoughtSignature": texts}),
    st.fixed_dictionaries(
        {
            "functionCall": st.fixed_dictionaries(
                {"name": texts}, optional={"id": texts, "args": st.dictionaries(texts, values)}
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "function_response": st.fixed_dictionaries(
                {"name": texts}, optional={"response": st.dictionaries(texts, values)}
            )
        }
    ),
    st.builds(
        lambda data, mime: {"inlineData": {"mimeType": mime, "data": base64.b64encode(data).decode()}},
        st.binary(max_size=6),
        texts,
    ),
)
contents = st.lists(
    st.builds(
        lambda role, items: {"role": role, "parts": items},
        st.sampled_from(["user", "model"]),
        st.lists(parts, max_size=4),
    ),
    max_size=4,
)


@given(contents)
def test_whatever_is_read_is_written_back(items: list[Any]) -> None:
    """L1 as a property."""
    assert written({"contents": items}) == {"contents": items}


def test_an_edited_part_wins_over_the_block_it_came_in() -> None:
    blobs = InMemoryBlobStore()
    call = {"functionCall": {"name": "tide", "args": {"port": "Oban"}}, "thoughtSignature": "c2ln"}
    answer = {"function_response": {"name": "tide", "response": {"result": "06:10"}, "parts": []}}
    body = {"contents": [{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]}
    asked, answered = decode_request(body, blobs).messages
    asked = replace(asked, parts=(replace(asked.parts[0], tool_args={"port": "Mull"}, tool_call_id="k1"),))
    answered = replace(answered, parts=(replace(answered.parts[0], tool_output="07:20"),))

    encoded = encode_request([asked, answered], google(), blobs)

    assert encoded.body["contents"] == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "tide", "args": {"port": "Mull"}, "id": "k1"}, "thoughtSignature": "c2ln"}
            ],
        },
        {
            "role": "user",
            "parts": [{"function_response": {"name": "tide", "response": {"result": "07:20"}, "parts": []}}],
        },
    ]
    assert encoded.roundtrip == ["context.messages[0].parts[0]"]


def test_edited_tools_and_schemas_win_over_geminis_own_words() -> None:
    body = {
        "contents": [],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}, {"googleSearch": {}}],
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}},
    }
    spec = decode_request(body).spec
    tool_spec = ToolSpecification("g", "G.", {"type": "object", "$schema": "x"})

    edited = encode_request((), replace(spec, tools=(tool_spec,), response_schema={"type": "array"}))

    assert spec.tools == (ToolSpecification("f", "", {"type": "object"}),)
    assert encode_request((), spec).body == body
    assert edited.body == {
        "contents": [],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "g", "description": "G.", "parametersJsonSchema": {"type": "object", "$schema": "x"}}
                ]
            },
            {"googleSearch": {}},
        ],
        "generationConfig": {"responseMimeType": "application/json", "responseSchema": {"type": "array"}},
    }


def test_schemas_in_capitals_are_read_as_json_schema() -> None:
    """Gemini's own subset: types in capitals, limits as texts."""
    schema = {"type": "OBJECT", "properties": {"a": {"type": "ARRAY", "items": {"type": "STRING"}, "maxItems": "3"}}}
    body = {"contents": [], "tools": [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]}

    assert decode_request(body).spec.tools[0].input_schema == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
    }


def test_made_up_ids_are_the_same_wherever_a_call_is_read_and_never_sent() -> None:
    """T-90, L4: the same call has the same id; the same call made twice has two."""
    call = {"functionCall": {"name": "tide", "args": {"a": 1, "b": 2}}}
    turned = {"functionCall": {"name": "tide", "args": {"b": 2, "a": 1}}}
    body = {"contents": [{"role": "model", "parts": [call, call]}, {"role": "model", "parts": [turned]}]}

    first, second = decode_request(body).messages
    alone = DIALECT.decode_response({"candidates": [{"content": {"parts": [turned]}}]}).messages[0]

    ids = [part.tool_call_id for message in (first, second) for part in message.parts]
    assert len(set(ids)) == 3
    assert alone.parts[0].tool_call_id == ids[0]
    assert written(body) == body


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "contents"),
        ({"contents": None}, "contents"),
        ({"contents": 3}, "contents"),
        ({"contents": [3]}, "contents[0]"),
        ({"contents": [{"role": 3}]}, "contents[0].role"),
        ({"contents": [{"parts": 3}]}, "contents[0].parts"),
        ({"contents": [{"parts": ["x"]}]}, "contents[0].parts[0]"),
        ({"contents": [{"parts": [{"text": 3}]}]}, "contents[0].parts[0].text"),
        ({"contents": [{"parts": [{"functionCall": {}}]}]}, "contents[0].parts[0].functionCall"),
        ({"contents": [{"parts": [{"functionCall": 3}]}]}, "contents[0].parts[0].functionCall"),
        ({"contents": [{"parts": [{"function_response": {}}]}]}, "contents[0].parts[0].function_response"),
        ({"contents": [], "systemInstruction": 3}, "systemInstruction"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(body: Any, where: str) -> None:
    """L6."""
    with pytest.raises(WireError) as caught:
        decode_request(body)

    assert caught.value.where == where


def test_deep_nesting_is_carried() -> None:
    """J-01, L6: a thousand levels, in arguments and in schemas."""
    deep: dict[str, Any] = {}
    for _ in range(1000):
        deep = {"type": "OBJECT", "properties": {"a": deep}}
    body = {
        "contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": deep}}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": deep}]}],
        "generationConfig": {"responseMimeType": "application/json", "responseSchema": deep},
    }
    decoded = decode_request(body)

    for policy in (FAITHFUL, ADAPTER, STEP, TURN):
        assert encode_request(decoded.messages, decoded.spec, None, policy).body["contents"]


# -- the adapter ----------------------------------------------------------------------------------------------


def test_a_plan_has_the_sdks_arguments() -> None:
    """Model.md, sections 9 and 10, for google."""
    blobs = InMemoryBlobStore()
    picture = image(blobs.put_blob(b"\x89PNG pixel", media_type="image/png", kind="image"))
    messages = [
        message("developer", "Be kind."),
        user("Tide?", picture),
        user("At Oban."),
        assistant(thinking("Look."), tool_call("tide", {"port": "Oban"})),
        tool(tool_result("06:10")),
        user("Thanks."),
    ]
    spec = google(
        instructions=Instructions("Be brief.", None),
        max_output_tokens=9,
        temperature=0.0,
        top_p=0.5,
        seed=3,
        tools=[ToolSpecification("tide", "Tides.", {"type": "object", "additionalProperties": False})],
        tool_choice={"function_calling_config": {"mode": "ANY"}},
        response_schema={"type": "object", "$defs": {}},
        response_modalities=("TEXT",),
        extra_headers={"x-trace": "1"},
        extra_query={"a": "b"},
        extra_body={"thinking_config": {"thinking_budget": 0}, "top_p": 0.7},
    )

    encoded = encode_request(messages, spec, blobs, ADAPTER)

    assert encoded.body == {
        "model": "gemini-x",
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "Tide?"},
                    {"inline_data": {"mime_type": "image/png", "data": PIXEL}},
                    {"text": "At Oban."},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "Look.", "thought": True},
                    {"function_call": {"name": "tide", "args": {"port": "Oban"}, "id": "t1"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"function_response": {"name": "tide", "response": {"result": "06:10"}, "id": "t1"}},
                    {"text": "Thanks."},
                ],
            },
        ],
        "config": {
            "system_instruction": "Be brief.\n\nBe kind.",
            "max_output_tokens": 9,
            "temperature": 0.0,
            "top_p": 0.7,
            "seed": 3,
            "response_modalities": ["TEXT"],
            "response_schema": {"type": "object", "$defs": {}},
            "response_mime_type": "application/json",
            "tools": [
                {
                    "function_declarations": [
                        {
                            "name": "tide",
                            "description": "Tides.",
                            "parameters": {"type": "object", "additionalProperties": False},
                        }
                    ]
                }
            ],
            "tool_config": {"function_calling_config": {"mode": "ANY"}},
            "http_options": {"headers": {"x-trace": "1"}},
            "thinking_config": {"thinking_budget": 0},
        },
    }
    assert encoded.losses == [ExcludedItem("extra_query", "google/models.generate_content takes no query parameters")]


def test_a_plan_of_a_rest_request_is_spelled_for_the_sdk() -> None:
    """M-44: what a REST body kept outside canon goes to `config`, once and in one spelling."""
    body = written(CONVERSATION, ADAPTER)

    assert body["config"]["top_p"] == 0.9
    assert body["config"]["topK"] == 40
    assert "generationConfig" not in body["config"]
    assert body["contents"][1]["parts"] == [
        {"text": "Look it up.", "thought": True},
        {"text": "Let me look.", "thought_signature": "c2lnMQ=="},
        {"function_call": {"name": "tide", "args": {"port": "Oban"}}, "thought_signature": "c2lnMg=="},
        {"function_call": {"name": "wind", "args": {}, "id": "w1"}},
        {"executable_code": {"language": "PYTHON", "code": "1+1"}},
        {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"text": "", "thought_signature": "c2lnMw=="},
    ]


def test_a_plan_writes_tools_and_schema_anew_if_they_say_the_same() -> None:
    rest = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}, {"googleSearch": {}}],
        "generation_config": {
            "response_mime_type": "application/json",
            "response_schema": {"type": "OBJECT"},
            "top_p": 1,
        },
    }

    assert written(rest, ADAPTER)["config"] == {
        "top_p": 1,
        "response_schema": {"type": "object"},
        "response_mime_type": "application/json",
        "tools": [
            {"function_declarations": [{"name": "f", "description": "", "parameters": {"type": "object"}}]},
            {"googleSearch": {}},
        ],
    }


def test_schemas_beyond_geminis_subset_go_under_the_json_schema_key() -> None:
    """L5: `parameters` is a closed type in the SDK; `parameters_json_schema` takes anything."""
    odd: list[dict[str, Any]] = [
        {"type": ["string", "null"]},
        {"enum": [1]},
        {"anyOf": [{"const": 1}]},
        {"items": True},
        {"$ref": "#"},
    ]
    tools = [ToolSpecification(f"t{n}", "", schema) for n, schema in enumerate(odd)]

    declared = config_of(google(tools=tools))["tools"][0]["function_declarations"]

    assert declared == [
        {"name": f"t{n}", "description": "", "parameters_json_schema": schema} for n, schema in enumerate(odd)
    ]


def test_parts_that_cannot_be_sent_are_reported() -> None:
    """M-46, M-52: each with its place and its reason."""
    messages = [
        user(text(""), Part("image"), tool_call(), Part("compaction", text="x"), "hi"),
        assistant(thinking(), Part("tool_call"), "ok"),
        tool(tool_result("lost", call_id="nobody")),
        message("system", Part("image", provider_raw={"file_uri": "gs://a"})),
        user(Part("file", provider_raw={"url": "data:text/plain,plain"})),
    ]

    encoded = encode_request(messages, google(), None, ADAPTER)

    assert [(item.description, item.reason) for item in encoded.losses] == [
        ("context.messages[0].parts[0]", "empty text"),
        ("context.messages[0].parts[1]", "image without address, data or blob"),
        ("context.messages[0].parts[2]", "part type tool_call is not supported for role user"),
        ("context.messages[0].parts[3]", "part type compaction is not supported for role user"),
        ("context.messages[1].parts[0]", "thinking without provider block or text"),
        ("context.messages[1].parts[1]", "tool_call without name"),
        ("context.messages[2].parts[0]", "tool_result without the name of its function"),
        ("context.messages[2]", "nothing in it can be sent"),
        ("context.messages[3].parts[0]", "part type image is not supported for role system"),
        ("context.messages[4].parts[0]", "a data: URL that is not base64 is not accepted"),
        ("context.messages[4]", "nothing in it can be sent"),
    ]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Part("image", provider_raw={"file_data": {"file_uri": "gs://a"}}), {"file_data": {"file_uri": "gs://a"}}),
        (
            Part("file", provider_raw={"file_uri": "gs://a", "mime_type": "text/csv"}),
            {"file_data": {"file_uri": "gs://a", "mime_type": "text/csv"}},
        ),
        (Part("video", json={"url": "https://e.org/v"}), {"file_data": {"file_uri": "https://e.org/v"}}),
        (
            Part("file", provider_raw={"file_data": "YQ==", "filename": "a"}),
            {"inline_data": {"mime_type": "application/octet-stream", "data": "YQ=="}},
        ),
        (
            Part("image", json={"url": "data:image/gif;base64,YQ=="}),
            {"inline_data": {"mime_type": "image/gif", "data": "YQ=="}},
        ),
        (Part("refusal", text="No."), {"text": "No."}),
        (Part("json", json={"a": 1}), {"text": '{"a":1}'}),
        (
            Part("tool_result", tool_name="f", tool_output={"a": 1}),
            {"function_response": {"name": "f", "response": {"a": 1}}},
        ),
        (
            Part("tool_result", provider_raw={"name": "f"}, tool_output=[1]),
            {"function_response": {"name": "f", "response": {"result": "[1]"}}},
        ),
    ],
)
def test_hand_made_parts_are_written_by_their_hints(part: Part, expected: Any) -> None:
    """Model.md, section 10: raw file_uri, file_data and friends."""
    encoded = encode_request([user(part)], google(), None, ADAPTER)

    assert (encoded.body["contents"], encoded.losses) == ([{"role": "user", "parts": [expected]}], [])


def test_foreign_thinking_is_left_out_or_sent_as_text() -> None:
    """Reasoning that can move: by policy, and reported."""
    foreign = Part("thinking", text="hm", json={"provider": "anthropic", "dialect": "anthropic"})
    messages = [assistant(foreign, "ok")]

    dropped = encode_request(messages, google(), None, ADAPTER)
    as_text = encode_request(messages, google(), None, replace(ADAPTER, foreign_thinking="text"))

    assert dropped.body["contents"] == [{"role": "model", "parts": [{"text": "ok"}]}]
    assert dropped.losses[0].reason == "thinking of anthropic carries no signature this endpoint accepts"
    assert as_text.body["contents"] == [{"role": "model", "parts": [{"text": "hm"}, {"text": "ok"}]}]


def test_a_failed_tool_is_sent_with_a_warning() -> None:
    failed = Part("tool_result", tool_call_id="t1", tool_name="f", tool_output="boom", provider_raw={"is_error": True})

    encoded = encode_request([tool(failed)], google(), None, ADAPTER)

    assert encoded.warnings == [
        "context.messages[0].parts[0]: models.generate_content has no field for a failed tool; the output is sent"
    ]


# -- the step codecs ------------------------------------------------------------------------------------------


def test_a_step_is_in_camel_case_with_its_settings_in_config() -> None:
    """W-12, W-13, W-14, W-16, W-17."""
    messages = [
        message("system", "a"),
        user("b"),
        message("developer", "c"),
        assistant(thinking("hm"), "", tool_call("f", {"x": 1}), tool_call("g", call_id="t2")),
        tool(tool_result('{"y": 2}')),
        tool(tool_result("{broken", call_id="t2")),
        tool(tool_result([{"type": "text", "text": "d"}, {"type": "text", "text": "e"}])),
        user("f"),
        user("g"),
    ]
    spec = google(tools=[ToolSpecification("f", "F.", {"type": "object"})], response_schema={"type": "object"})

    encoded = encode_request(messages, spec, None, STEP)

    assert encoded.body == {
        "model": "gemini-x",
        "contents": [
            {"role": "user", "parts": [{"text": "b"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"functionCall": {"name": "f", "args": {"x": 1}, "id": "t1"}},
                    {"functionCall": {"name": "g", "args": {}, "id": "t2"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "f", "response": {"y": 2}, "id": "t1"}},
                    {"functionResponse": {"name": "g", "response": {"result": "{broken"}, "id": "t2"}},
                    {"functionResponse": {"name": "f", "response": {"result": "de"}, "id": "t1"}},
                ],
            },
            {"role": "user", "parts": [{"text": "f"}]},
            {"role": "user", "parts": [{"text": "g"}]},
        ],
        "config": {
            "systemInstruction": ["a", "c"],
            "tools": [{"functionDeclarations": [{"name": "f", "description": "F.", "parameters": {"type": "object"}}]}],
            "responseJsonSchema": {"type": "object"},
            "responseMimeType": "application/json",
        },
    }
    assert encoded.losses == []


def test_a_step_takes_no_media_by_address() -> None:
    """W-13: an image must be data."""
    encoded = encode_request([user("x", Part("image", json={"url": "https://e.org/i"}))], google(), None, STEP)

    assert encoded.losses[0].reason == "image by address, which is not a base64 data: URL, is not accepted"


def test_a_signature_goes_to_the_part_whose_block_has_it() -> None:
    """W-19, W-20: the face lays signatures on parts; they are all that is kept of the block."""
    signed = {"thoughtSignature": "c2ln"}
    call = replace(tool_call("f"), provider_raw=signed)
    said = replace(text("ok"), provider_raw=signed)
    thought = replace(thinking("hm"), provider_raw=signed)

    encoded = encode_request([assistant(thought, said, call)], google(), None, STEP)

    assert encoded.body["contents"][0]["parts"] == [
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "ok", "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "f", "args": {}, "id": "t1"}, "thoughtSignature": "c2ln"},
    ]
    assert encoded.roundtrip == [f"context.messages[0].parts[{p}]" for p in range(3)]


# -- prepare_request ------------------------------------------------------------------------------------------


def test_a_turn_is_prepared_for_rest() -> None:
    """T-83, T-84, T-85."""
    blobs = InMemoryBlobStore()

    def document(data: bytes, media_type: str) -> Part:
        return Part("file", blob=blobs.put_blob(data, media_type=media_type))

    items = [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]
    messages = [
        message("system", "a", "b"),
        message("system", "c"),
        user(document(b"hi", "text/plain"), document(b"{}", "application/json"), document(b"%PDF", "application/pdf")),
        user(document(b"\0", "application/zip")),
        assistant(tool_call("f", {"x": 1})),
        tool(replace(tool_result("06:10"), tool_name="f"), replace(tool_result(items), tool_name="f")),
        tool(
            Part("tool_result", tool_name="f", provider_raw={"type": "tool_result", "content": [{"type": "x", "a": 1}]})
        ),
    ]

    encoded = encode_request(messages, google(), blobs, TURN)

    assert encoded.body == {
        "model": "gemini-x",
        "systemInstruction": {"parts": [{"text": "a"}, {"text": "b"}, {"text": "c"}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "hi"},
                    {"text": "{}"},
                    {"inline_data": {"mime_type": "application/pdf", "data": "JVBERg=="}},
                ],
            },
            {
                "role": "user",
                "parts": [{"text": "[Document: application/zip - content not directly supported by Gemini]"}],
            },
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": 1}}}]},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "f", "response": {"type": "text", "text": "06:10"}}},
                    {"functionResponse": {"name": "f", "response": {"content": items}}},
                ],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"type": "x", "a": 1}}}]},
        ],
    }


def test_a_turn_of_geminis_own_keeps_signatures_and_drops_ids() -> None:
    """T-84: id not sent."""
    parts = written(CONVERSATION, TURN)["contents"][1]["parts"]

    assert parts[2]["thoughtSignature"] == "c2lnMg=="
    assert parts[3] == {"functionCall": {"name": "wind", "args": {}}}


def test_a_policy_of_another_name_may_ask_for_merging() -> None:
    encoded = encode_request([user("a"), user("b")], a_spec(), None, Policy(name="mine", merge=True))

    assert encoded.body["contents"] == [{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}]


def test_instructions_go_before_the_system_messages() -> None:
    encoded = encode_request([message("system", "b")], google(instructions=Instructions("a", None)))

    assert encoded.body["systemInstruction"] == {"parts": [{"text": "a"}, {"text": "b"}]}


def a_call_made_elsewhere(*, later: tuple[Message, ...] = ()) -> list[Message]:
    calls = (
        Part("tool_call", tool_call_id="toolu_1", tool_name="depth", tool_args={"pier": 4}),
        Part("tool_call", tool_call_id="toolu_2", tool_name="depth", tool_args={"pier": 5}),
    )
    results = tuple(
        Part("tool_result", tool_call_id=call.tool_call_id, tool_name="depth", tool_output="6 m") for call in calls
    )
    return [
        Message("user", (Part("text", "Depth?"),)),
        Message("assistant", calls, provider="anthropic"),
        Message("tool", results),
        *later,
    ]


def test_a_call_made_elsewhere_is_excused_from_its_signature_where_gemini_insists_on_one() -> None:
    """A thread moved in the middle of a tool loop must still go through; only the first call of a step is checked."""
    encoded = encode_request(a_call_made_elsewhere(), RunSpec("google", "x", "gemini-3.1-pro"), policy=ADAPTER)

    signatures = [part.get("thought_signature") for part in encoded.body["contents"][1]["parts"]]
    assert signatures == ["c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", None]
    assert encoded.warnings == ["contents[1]: its call was not made by Gemini; it is marked as one without a signature"]


@pytest.mark.parametrize(
    ("model", "later"),
    [
        ("gemini-2.5-pro", ()),
        (
            "gemini-3-pro",
            (Message("assistant", (Part("text", "6 m"),)), Message("user", (Part("text", "And pier 6?"),))),
        ),
    ],
)
def test_no_call_is_excused_where_the_model_does_not_insist_or_the_turn_is_over(
    model: str, later: tuple[Message, ...]
) -> None:
    encoded = encode_request(a_call_made_elsewhere(later=later), RunSpec("google", "x", model), policy=ADAPTER)

    assert "thought_signature" not in str(encoded.body)
    assert encoded.warnings == []
