from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.traces import answer, claude, gemini, messages_of, openai
from weft.trace import Cooked, CookedMessage, cook

Shown = tuple[str, str]


def roles(messages: list[CookedMessage]) -> list[Shown]:
    return [(message.role, message.content) for message in messages]


def asked(record: dict[str, Any], **options: Any) -> list[CookedMessage]:
    return messages_of(cook([record], **options))


def answered(record: dict[str, Any], **options: Any) -> list[CookedMessage]:
    return messages_of(cook([record], **options), response=True)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def call(name: str = "dig", arguments: Any = '{"n":2}', **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **fields}


# -- OpenAI


def test_an_openai_conversation_with_a_call() -> None:
    """Section 12, cases 1 and 2; C-25, C-26, C-36, C-37."""
    messages = [{"role": "system", "content": "Be brief."}, user("Dig"), assistant(None, tool_calls=[call(id="k1")])]
    cooked = cook([openai(*messages, {"role": "tool", "tool_call_id": "k1", "content": "ok"})])
    bare = cook([openai(*messages[:2], assistant(None, tool_calls=[call()]), {"role": "tool", "content": "ok"})])

    assert [message.role for message in messages_of(cooked)] == ["system", "user", "tool_use", "tool_result"]
    assert messages_of(cooked)[2].tool_calls == [{"name": "dig", "arguments": {"n": 2}, "id": "k1"}]
    assert messages_of(cooked)[3] == CookedMessage("m3", "tool_result", "ok", None, "k1", is_error=False)
    assert messages_of(bare)[2].tool_calls == [{"name": "dig", "arguments": {"n": 2}}]
    assert messages_of(bare)[3] == CookedMessage("m3", "tool_result", "ok", None, None, is_error=False)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hi", [("user", "hi")]),
        (None, [("user", "")]),
        (["a", {"type": "text", "text": "b"}], [("user", "a"), ("user", "b")]),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}], [("user", "[image: base64 data]")]),
        ([{"type": "image_url", "image_url": {"url": "https://x/y.png"}}], [("user", "[image: https://x/y.png]")]),
        ([{"type": "input_audio", "n": "ö"}], [("user", '{"type": "input_audio", "n": "ö"}')]),
    ],
)
def test_content_of_openai_becomes_messages_by_its_blocks(content: Any, expected: list[Shown]) -> None:
    """C-23, C-24."""
    assert roles(asked(openai(user(content)))) == expected


def test_a_list_of_texts_and_a_call_are_messages_of_their_own() -> None:
    """C-24: the calls come last, with empty content; the list of a tool message is one result."""
    record = openai(
        assistant([{"type": "text", "text": "a"}], tool_calls=[call(id="k")]),
        {"role": "tool", "tool_call_id": "k", "content": [{"type": "text", "text": "x"}, "y"]},
    )

    assert roles(asked(record)) == [("assistant", "a"), ("tool_use", ""), ("tool_result", "x\ny")]
    assert asked(record)[2].tool_use_id == "k"


@pytest.mark.parametrize(
    ("role", "expected"),
    [("developer", "system"), ("function", "tool_result"), ("tool", "tool_result"), ("critic", "user"), (None, "user")],
)
def test_every_role_of_openai_is_one_of_the_six(role: str | None, expected: str) -> None:
    """Section 4: every role is one of the six."""
    assert asked(openai({"role": role, "content": "x"}))[0].role == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        (None, {}),
        ("{", {"raw": "{"}),
        ("[1]", {"raw": "[1]"}),
        ({"n": 1}, {"n": 1}),
        ('{"big": 123456789012345678901234567890}', {"big": 123456789012345678901234567890}),
    ],
)
def test_arguments_of_a_call_are_read_if_they_are_an_object(arguments: Any, expected: dict[str, Any]) -> None:
    """C-25."""
    message = asked(openai(assistant("Let me see.", tool_calls=[call(arguments=arguments)])))[0]

    assert message == CookedMessage("m0", "tool_use", "Let me see.", [{"name": "dig", "arguments": expected}])


def test_other_ways_to_call_are_calls_too() -> None:
    record = openai(
        assistant(None, function_call={"name": "old", "arguments": "{}"}),
        assistant(None, tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "free", "input": "text"}}]),
    )

    assert [message.tool_calls for message in asked(record)] == [
        [{"name": "old", "arguments": {}}],
        [{"name": "free", "arguments": {"raw": "text"}, "id": "c"}],
    ]


def test_an_answer_is_read_as_its_echo_will_be() -> None:
    """C-27: so that the next request's echo is the same message."""
    message = {"role": "assistant", "content": "Ebb.", "tool_calls": [call(id="k1")]}
    first = openai(user("Tide?"), response={"choices": [{"message": message}]})
    cooked = cook([first, openai(user("Tide?"), message, user("Thanks"), at=1)])

    assert cooked.requests[1].request_messages[1:2] == cooked.requests[0].response_messages
    assert cooked.requests[1].parent_id == "q0"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_thinking_before_the_answer_and_need_not_come_back(name: str) -> None:
    """C-28."""
    first = openai(user("Tide?"), response=answer("Ebb.", **{name: "Hm."}))
    cooked = cook([first, openai(user("Tide?"), assistant("Ebb."), user("Sure?"), at=1)])
    sent_back = cook([first, openai(user("Tide?"), assistant("Ebb.", **{name: "Hm."}), user("Sure?"), at=1)])

    assert roles(messages_of(cooked, response=True)) == [("thinking", "Hm."), ("assistant", "Ebb.")]
    assert cooked.requests[1].parent_id == sent_back.requests[1].parent_id == "q0"
    assert roles(messages_of(sent_back, 1))[1] == ("thinking", "Hm.")


def test_an_old_completion_is_a_message_and_an_answer() -> None:
    record = {
        "id": "q",
        "timestamp": 0,
        "request": {"model": "x", "prompt": "Say"},
        "response": {"choices": [{"text": "so"}]},
    }

    assert (roles(asked(record)), roles(answered(record))) == ([("user", "Say")], [("assistant", "so")])


# -- Claude

TOOL_USE = {"type": "tool_use", "id": "tu1", "name": "dig", "input": {"n": 2}}


def test_claude_blocks_are_read_alike_in_a_request_and_in_an_answer() -> None:
    """Section 12, case 3; C-30."""
    content = [{"type": "text", "text": "a"}, TOOL_USE, {"type": "text", "text": "b"}]
    expected = [("assistant", "a"), ("assistant", "b"), ("tool_use", "")]

    assert roles(asked(claude(assistant(content)))) == expected
    assert roles(answered(claude(user("x"), response={"content": content}))) == expected
    assert asked(claude(assistant(content)))[2].tool_calls == [{"name": "dig", "arguments": {"n": 2}, "id": "tu1"}]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "thinking", "thinking": "Hm.", "signature": "s"}, [("thinking", "Hm.")]),
        ({"type": "thinking", "thinking": ""}, []),
        ({"type": "redacted_thinking", "data": "x"}, [("thinking", "[redacted]")]),
        ({"type": "image", "source": {"data": "AA"}}, [("user", "[image]")]),
        ({"type": "document", "title": "t"}, [("user", '{"type": "document", "title": "t"}')]),
        ("plain", [("user", "plain")]),
    ],
)
def test_each_block_of_claude_becomes_its_message(block: Any, expected: list[Shown]) -> None:
    """C-29, section 5."""
    assert roles(asked(claude(user([block])))) == expected
    assert roles(asked(claude(user("text")))) == [("user", "text")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("x", "x"),
        ([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}], "x\ny"),
        ([{"type": "image", "source": {}}, {"type": "search_result"}], '[image]\n{"type": "search_result"}'),
        (None, ""),
    ],
)
def test_a_result_of_claude_is_one_text_with_its_error_flag(content: Any, expected: str) -> None:
    """Section 12, case 4; C-36: an error flag is used when present."""
    block = {"type": "tool_result", "tool_use_id": "tu1", "content": content}

    assert asked(claude(user([block])))[0] == CookedMessage("m0", "tool_result", expected, None, "tu1", is_error=False)
    assert asked(claude(user([{**block, "is_error": True}])))[0].is_error is True


def test_claude_systems_and_empty_answers() -> None:
    """Section 4; C-21, C-31."""
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": {}}]

    assert roles(asked(claude(user("x"), system=blocks)))[:2] == [("system", "a"), ("system", "b")]
    assert roles(asked(claude(user("x"), system="one")))[0] == ("system", "one")
    assert roles(answered(claude(user("x"), response={"content": []}))) == [("assistant", "")]


# -- Gemini


def test_gemini_parts_in_order() -> None:
    """C-32 to C-34."""
    parts = [
        {"text": "a"},
        {"functionCall": {"name": "calc", "args": {"n": 1}}},
        {"thought": True, "text": "Hm."},
        {"functionResponse": {"name": "calc", "response": {"content": "9"}}},
        {"text": "b"},
        {"thoughtSignature": "x"},
        {"inline_data": {"mime_type": "image/png", "data": "AA"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "AA"}},
        {"function_call": {"name": "dig", "args": {}, "id": "c7"}},
        {"text": ""},
    ]
    messages = asked(gemini({"role": "model", "parts": parts}))

    assert roles(messages) == [
        ("tool_result", "9"),
        ("thinking", "Hm."),
        ("assistant", "ab[image][audio/wav]"),
        ("tool_use", ""),
    ]
    assert messages[3].tool_calls == [
        {"name": "calc", "arguments": {"n": 1}},
        {"name": "dig", "arguments": {}, "id": "c7"},
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"name": "calc", "response": {"content": "9"}}, ("9", "calc", False)),
        ({"name": "calc", "id": "c1", "response": {"content": ["9"]}}, ('["9"]', "c1", False)),
        ({"name": "calc", "response": {"result": 9}}, ('{"result": 9}', "calc", False)),
        ({"name": "calc", "response": {"error": "no"}}, ('{"error": "no"}', "calc", True)),
        ({"name": "calc", "response": {"error": "no", "content": "9"}}, ("9", "calc", False)),
    ],
)
def test_a_result_of_gemini_is_named_and_says_whether_it_failed(
    given: dict[str, Any], expected: tuple[str, str, bool]
) -> None:
    """Section 12, case 9; C-33, C-36."""
    message = asked(gemini({"parts": [{"function_response": given}]}))[0]

    assert (message.content, message.tool_use_id, message.is_error) == expected


def test_gemini_has_its_system_its_model_and_only_its_first_candidate_read() -> None:
    """C-35, C-46; section 4."""
    body = {"candidates": [{"content": {"parts": [{"text": "Ebb."}]}}], "modelVersion": "mint-1-001"}
    record = gemini({"parts": [{"text": "Tide?"}]}, response=body)
    record["request"]["system_instruction"] = {"parts": [{"text": "Be brief."}, {"text": ""}]}
    cooked = cook([record])
    by_path = {**gemini(model=None), "path": "/v1beta/models/mint-2:generateContent?key=****"}

    assert roles(messages_of(cooked)) == [("system", "Be brief."), ("user", "Tide?")]
    assert roles(messages_of(cooked, response=True)) == [("assistant", "Ebb.")]
    assert cooked.requests[0].model == "mint-1-001"
    assert cook([by_path]).requests[0].model == "mint-2"


# -- the others


def test_items_of_the_responses_api_are_messages_one_by_one() -> None:
    """Items are messages one by one, alike in a request and in an answer."""
    items = [
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "Tide?"}, {"type": "input_image", "image_url": "data:x"}],
        },
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
        {"type": "function_call", "name": "dig", "arguments": '{"n":2}', "call_id": "k1"},
        {"type": "function_call_output", "call_id": "k1", "output": [{"type": "input_text", "text": "ok"}]},
        {"type": "web_search_call", "id": "w"},
    ]
    expected = [
        ("system", "Be brief."),
        ("user", "Tide?"),
        ("user", "[image: base64 data]"),
        ("thinking", "Hm."),
        ("tool_use", ""),
        ("tool_result", "ok"),
        ("assistant", '{"type": "web_search_call", "id": "w"}'),
    ]
    record = {"request": {"model": "x", "instructions": "I", "input": items}, "response": {"output": items}}

    assert roles(asked(record)) == [("system", "I"), *expected]
    assert roles(answered(record)) == expected
    assert asked(record)[5].tool_calls == [{"name": "dig", "arguments": {"n": 2}, "id": "k1"}]
    assert roles(asked({"request": {"input": "Tide?"}, "response": None})) == [("user", "Tide?")]


def test_each_block_of_bedrock_becomes_its_message() -> None:
    content = [
        {"text": "a"},
        {"cachePoint": {"type": "default"}},
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
        {"image": {"format": "png", "source": {"bytes": "AA"}}},
        {"toolUse": {"toolUseId": "t1", "name": "dig", "input": {"n": 2}}},
        {"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}, {"json": {"y": 1}}], "status": "error"}},
        {"document": {"name": "d"}},
    ]
    tools = [
        {"toolSpec": {"name": "dig", "inputSchema": {"json": {"type": "object"}}}},
        {"systemTool": {"name": "nova"}},
    ]
    request = {
        "system": [{"text": "S"}],
        "messages": [{"role": "user", "content": content}],
        "toolConfig": {"tools": tools},
    }
    record = {"request": request, "path": "/model/a%3Ab/converse", "response": None}
    cooked = cook([record])
    messages = messages_of(cooked)

    assert roles(messages) == [
        ("system", "S"),
        ("user", "a"),
        ("thinking", "Hm."),
        ("user", "[image]"),
        ("tool_result", 'x\n{"y": 1}'),
        ("user", '{"document": {"name": "d"}}'),
        ("tool_use", ""),
    ]
    assert (messages[4].is_error, messages[4].tool_use_id) == (True, "t1")
    assert cooked.requests[0].model == "a:b"
    assert [(tool.name, tool.is_server_side) for tool in cooked.tools] == [("dig", False), ("nova", True)]
    body = {"output": {"message": {"role": "assistant", "content": [{"text": "Ebb."}]}}, "stopReason": "end_turn"}
    assert roles(answered({**record, "response": body})) == [("assistant", "Ebb.")]


def test_cohere_and_ollama_messages() -> None:
    cohere = {
        "request": {"messages": [assistant(None, tool_plan="I will dig.", tool_calls=[call(id="k")])]},
        "response": {
            "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}]},
            "finish_reason": "x",
        },
    }
    ollama = {
        "request": {
            "messages": [user("see") | {"images": ["AA"]}, {"role": "tool", "tool_name": "dig", "content": "ok"}]
        },
        "response": {"message": {"role": "assistant", "content": "Ebb.", "thinking": "Hm."}, "done": True},
    }

    assert roles(asked(cohere)) == [("tool_use", "I will dig.")]
    assert roles(answered(cohere)) == [("thinking", "Hm.")]
    assert roles(asked(ollama)) == [("user", "see"), ("user", "[image]"), ("tool_result", "ok")]
    assert asked(ollama)[2].tool_use_id == "dig"
    assert roles(answered(ollama)) == [("thinking", "Hm."), ("assistant", "Ebb.")]


# -- tools


def test_tools_are_found_in_every_format() -> None:
    """C-39, C-40; section 12, case 10."""
    cooked = cook(
        [
            openai(tools=[call() | {"function": {"name": "a"}}, {"type": "web_search", "size": "low"}]),
            claude(
                tools=[
                    {"name": "b", "input_schema": {"type": "object"}},
                    {"type": "web_search_1", "name": "web", "max": 3},
                ]
            ),
            gemini(tools=[{"googleSearch": {}}, {"function_declarations": [{"name": "c", "description": "C"}]}]),
            {"request": {"input": "x", "tools": [{"type": "function", "name": "d", "parameters": {"x": 1}}]}},
        ]
    )

    assert [(tool.name, tool.parameters, tool.is_server_side) for tool in cooked.tools] == [
        ("a", {}, False),
        ("web_search", {"size": "low"}, True),
        ("b", {"type": "object"}, False),
        ("web", {"type": "web_search_1", "max": 3}, True),
        ("googleSearch", {}, True),
        ("c", {}, False),
        ("d", {"x": 1}, False),
    ]
    assert (cooked.tools[0].description, cooked.tools[5].description) == ("", "C")


# -- which format

SSE = "data: "


@pytest.mark.parametrize(
    ("request_body", "response", "expected"),
    [
        ({"contents": []}, None, "gemini"),
        ({"systemInstruction": {}}, None, "gemini"),
        ({"tools": [{"functionDeclarations": []}]}, None, "gemini"),
        ({}, {"candidates": [{"content": {"role": "model", "parts": []}}]}, "gemini"),
        ({}, {"modelVersion": "x"}, "gemini"),
        ({}, {"stream": True, "sse_lines": ['data: {"candidates":[]}']}, "gemini"),
        ({}, {"stream": True, "sse_lines": ["event: x", 'data:{"type":"message_start"}']}, "anthropic"),
        ({}, {"stream": True, "sse_lines": ['data: {"choices":[]}', 'data: {"type":"message_start"}']}, "openai_chat"),
        ({"system": []}, None, "anthropic"),
        ({"system": "text"}, None, "anthropic"),
        ({"tools": [{"name": "x", "input_schema": {}}]}, None, "anthropic"),
        ({"messages": [user([TOOL_USE])]}, None, "anthropic"),
        ({"messages": [user([{"type": "thinking", "thinking": "x"}])]}, None, "anthropic"),
        ({}, {"content": []}, "anthropic"),
        ({}, {"content": [], "choices": []}, "openai_chat"),
        ({"messages": [user([{"type": "text", "text": "x"}])]}, None, "openai_chat"),
        ({"input": "x"}, None, "openai_responses"),
        ({}, {"stream": True, "sse_lines": ['data: {"type":"response.created","response":{}}']}, "openai_responses"),
        ({"messages": [user([{"text": "x"}])]}, None, "bedrock"),
        ({}, {"stream": True, "framing": "aws_eventstream", "events": [{"messageStart": {"role": "x"}}]}, "bedrock"),
        ({}, {"message": {"role": "assistant"}, "finish_reason": "COMPLETE"}, "cohere"),
        ({}, {"stream": True, "sse_lines": ['data: {"type":"message-start"}']}, "cohere"),
        ({}, {"stream": True, "framing": "ndjson", "events": [{"message": {}, "done": False}]}, "ollama"),
        ({"anything": 1}, {"something": 2}, "openai_chat"),
    ],
)
def test_formats_are_told_apart(request_body: dict[str, Any], response: Any, expected: str) -> None:
    """C-17, C-18: the first match of the table wins."""
    cooked = cook([{"request": request_body, "response": response}])

    assert cooked.requests[0].dialect == expected


def test_an_explicit_format_is_that_of_all_records() -> None:
    """C-19."""
    record = openai(user([{"type": "text", "text": "x"}]), response={"content": [{"type": "text", "text": "y"}]})

    assert roles(answered(record, format="openai")) == [("assistant", "")]
    assert roles(answered(record, format="claude")) == [("assistant", "y")]
    with pytest.raises(Exception, match="no format is called 'morse'"):
        cook([], format="morse")


# -- streams


def lines(*events: Any) -> dict[str, Any]:
    return {"stream": True, "sse_lines": [each if isinstance(each, str) else SSE + json.dumps(each) for each in events]}


CLAUDE_STREAM = [
    {"type": "message_start", "message": {"id": "msg_9", "model": "mint-1"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Look up"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "tu_4", "name": "tide", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"port":'}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"Oban"}'}},
]


def test_a_claude_stream_is_put_together() -> None:
    """Section 7, the example; C-38, C-43, C-45: it is cut short, and gives what arrived."""
    messages = answered(claude(user("x"), response=lines(*CLAUDE_STREAM)))

    assert roles(messages) == [("thinking", "Look up"), ("tool_use", "")]
    assert messages[1].tool_calls == [{"name": "tide", "arguments": {"port": "Oban"}, "id": "tu_4"}]
    cut = answered(claude(user("x"), response=lines(*CLAUDE_STREAM[:-1])))
    assert cut[1].tool_calls == [{"name": "tide", "arguments": {"raw": '{"port":'}, "id": "tu_4"}]
    assert roles(answered(claude(user("x"), response=lines(*CLAUDE_STREAM[:3], "data: {bad")))) == [
        ("thinking", "Look up")
    ]


def test_a_delta_for_a_block_that_is_not_open_opens_one() -> None:
    delta = {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "Ebb."}}

    assert roles(answered(claude(user("x"), response=lines(delta)))) == [("assistant", "Ebb.")]


def test_an_openai_stream_gives_its_calls_by_index() -> None:
    """Section 7: not by the text of their ids."""

    def piece(index: int, **function: Any) -> dict[str, Any]:
        call_id = {} if "name" not in function else {"id": f"z{9 - index}"}
        return {"choices": [{"delta": {"tool_calls": [{"index": index, **call_id, "function": function}]}}]}

    stream = lines(
        {"choices": [{"delta": {"role": "assistant", "content": "Eb"}}]},
        {"choices": [{"delta": {"content": "b."}}]},
        piece(1, name="b", arguments="{"),
        piece(0, name="a", arguments=""),
        piece(1, arguments="}"),
        {"choices": [], "usage": {}},
        "data: [DONE]",
    )
    message = answered(openai(user("x"), response=stream))[0]

    assert (message.role, message.content) == ("tool_use", "Ebb.")
    assert message.tool_calls == [
        {"name": "a", "arguments": {}, "id": "z9"},
        {"name": "b", "arguments": {}, "id": "z8"},
    ]


def test_a_gemini_stream_joins_texts_of_a_kind() -> None:
    """Section 7."""

    def chunk(**part: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"role": "model", "parts": [part]}}], "modelVersion": "mint-1"}

    stream = lines(chunk(text="H", thought=True), chunk(text="m", thought=True), chunk(text="Eb"), chunk(text="b."))

    assert roles(answered(gemini(response=stream))) == [("thinking", "Hm"), ("assistant", "Ebb.")]


def test_the_model_is_the_one_asked_for() -> None:
    """C-46."""
    stream = lines({"id": "c", "model": "mint-1-2026", "choices": [{"delta": {"content": "x"}}]})

    assert cook([openai(user("x"), response=stream)]).requests[0].model == "mint-1"
    assert cook([openai(user("x"), model=None, response=stream)]).requests[0].model == "mint-1-2026"


# -- failures


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"error": "timed out"}, "Error: timed out"),
        ({"response": None}, ""),
        ({"response": {"raw": "<html>"}}, ""),
        ({"response": {}}, ""),
        ({"response": {"error": {"message": "no credit", "type": "x"}}}, "Error: no credit"),
        ({"response": {"type": "error", "error": {"type": "overloaded", "message": "busy"}}}, "Error: busy"),
        ({"response": {"error": "model not found"}}, "Error: model not found"),
        ({"response": {"message": "Too many tokens"}}, "Error: Too many tokens"),
        ({"response": lines({"error": {"message": "late"}})}, "Error: late"),
        ({"response": "text"}, ""),
        ({"response": [1]}, ""),
    ],
)
def test_no_usable_response_gives_one_message(fields: dict[str, Any], expected: str) -> None:
    """C-21; section 12, case 8."""
    cooked = cook([openai(user("x"), **fields)])

    assert roles(messages_of(cooked, response=True)) == [("assistant", expected)]
    assert cooked.requests[0].synthetic


def test_a_retry_continues_what_failed() -> None:
    """Section 12, case 6: a failed request is expected back without its error."""
    cooked = cook([openai(user("x"), error="timed out"), openai(user("x"), at=1, response=answer("y"))])

    assert cooked.requests[1].parent_id == "q0"


HOSTILE: list[Any] = [None, 7, "x", [], [1, None, "x"], {}, {"a": 1}, [{}], [[]], True, [{"role": 3, "content": 4}]]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_odd_shapes_never_crash(value: Any) -> None:
    """Section 12, case 11; C-16, G-08: every place of every format, and still one request each."""
    bodies: list[Any] = [value]
    for name in (
        "messages",
        "contents",
        "input",
        "system",
        "tools",
        "systemInstruction",
        "instructions",
        "toolConfig",
        "model",
    ):
        bodies += [{name: value}, {"messages": [{"role": "assistant", name: value}], name: value}]
    for name in ("content", "tool_calls", "parts", "function_call", "reasoning", "images", "tool_call_id"):
        bodies += [{"messages": [{"role": role, name: value}]} for role in ("user", "assistant", "tool")]
        bodies += [{"contents": [{name: value}]}, {"input": [{name: value}, {"type": "reasoning", name: value}]}]
    replies = [value, {"choices": value}, {"choices": [{"message": value}]}, {"content": value}, {"candidates": value}]
    replies += [{"output": value}, {"output": {"message": value}}, {"message": value, "done": True}, {"error": value}]
    replies += [
        {"stream": True, "sse_lines": value},
        {"stream": True, "events": value},
        {"candidates": [{"content": value}]},
    ]
    records = [{"request": body, "response": None} for body in bodies]
    records += [{"request": {"messages": []}, "response": reply} for reply in replies]
    records += [{"request": {}, "timestamp": value, "duration_ms": value, "id": value, "error": value, "path": value}]

    for name in ("auto", "openai", "claude", "gemini", "responses", "bedrock", "cohere", "ollama"):
        cooked = cook(records, format=name)

        assert len(cooked.requests) == len(records)
        assert Cooked.from_dict(cooked.to_dict()) == cooked
        assert all(request.response_messages for request in cooked.requests)
