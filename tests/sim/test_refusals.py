"""What each API refuses, with its status, in its own body: asked without a client, which would refuse it first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.asking import APIS, CLAUDE, post
from weft.sim import Simulator

CALL = {"id": "c1", "type": "function", "function": {"name": "depth", "arguments": "{}"}}
ASKED = {"role": "user", "content": "hi"}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "depth", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}


def words(api: str, body: Any) -> str:
    match api:
        case "openai_chat" | "openai_responses":
            assert body["error"].keys() == {"message", "type", "param", "code"}
        case "anthropic":
            assert (body["type"], body["error"].keys()) == ("error", {"type", "message"})
            assert body["request_id"].startswith("req_")
        case "gemini":
            assert body["error"].keys() - {"details"} == {"code", "message", "status"}
        case "bedrock":
            return str(body["message"])
        case "cohere":
            assert body.keys() == {"id", "message"}
            return str(body["message"])
    return str(body["error"]["message"])


CASES: list[tuple[str, dict[str, Any], int, str]] = [
    ("openai_chat", {"messages": [ASKED], "model": None}, 400, "you must provide a model parameter"),
    ("openai_chat", {"colour": "blue"}, 400, "Unrecognized request argument supplied: colour"),
    ("openai_chat", {"messages": []}, 400, "empty array"),
    ("openai_chat", {"messages": "hi"}, 400, "Invalid type for 'messages'"),
    ("openai_chat", {"messages": [{"role": "robot", "content": "x"}]}, 400, "Invalid value: 'robot'."),
    ("openai_chat", {"messages": [{"role": "user", "content": None}]}, 400, "expected a string, got null"),
    ("openai_chat", {"messages": [ASKED, {"role": "tool", "tool_call_id": "c1", "content": "1"}]}, 400, "preceeding"),
    ("openai_chat", {"messages": [ASKED, {"role": "assistant", "tool_calls": [CALL]}]}, 400, "messages: c1"),
    ("openai_chat", {"messages": [ASKED, {"role": "assistant", "tool_calls": [CALL]}, ASKED]}, 400, "messages: c1"),
    (
        "openai_chat",
        {"messages": [ASKED, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "1"}]},
        400,
        "Missing required parameter: 'messages[2].tool_call_id'.",
    ),
    ("openai_responses", {"colour": "blue"}, 400, "Unknown parameter: 'colour'."),
    ("openai_responses", {"model": ""}, 400, "Missing required parameter: 'model'."),
    ("openai_responses", {"input": [{"role": "robot", "content": "x"}]}, 400, "Invalid value: 'robot'."),
    (
        "openai_responses",
        {"input": [{"type": "function_call_output", "call_id": "c1", "output": "1"}]},
        400,
        "No tool call found for function call output with call_id c1.",
    ),
    (
        "openai_responses",
        {"input": [{"type": "function_call", "call_id": "c1", "name": "depth", "arguments": "{}"}]},
        400,
        "No tool output found for function call c1.",
    ),
    ("openai_responses", {"input": [THOUGHT, ASKED]}, 404, "Item with id 'rs_1' not found."),
    ("anthropic", {"max_tokens": None}, 400, "max_tokens: Field required"),
    ("anthropic", {"max_tokens": "many"}, 400, "max_tokens: Input should be a valid integer"),
    ("anthropic", {"max_tokens": 0}, 400, "greater than or equal to 1"),
    ("anthropic", {"colour": "blue"}, 400, "colour: Extra inputs are not permitted"),
    ("anthropic", {"messages": []}, 400, "messages: at least one message is required"),
    ("anthropic", {"messages": "hi"}, 400, "messages: Input should be a valid list"),
    ("anthropic", {"messages": [{"role": "system", "content": "x"}]}, 400, 'Unexpected role "system"'),
    ("anthropic", {"messages": [{"role": "robot", "content": "x"}]}, 400, "Input should be 'user' or 'assistant'"),
    ("anthropic", {"messages": [{"role": "assistant", "content": "x"}]}, 400, 'first message must use the "user"'),
    ("anthropic", {"messages": [{"role": "user", "content": ""}]}, 400, "must have non-empty content"),
    ("anthropic", {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}, 400, "non-empty"),
    ("anthropic", {"messages": [{"role": "user", "content": [{"text": "x"}]}]}, 400, "content.0.type: Field required"),
    ("anthropic", {"messages": [ASKED, USE, ASKED]}, 400, "without `tool_result` blocks immediately after: t1"),
    ("anthropic", {"messages": [ASKED, USE]}, 400, "without `tool_result` blocks immediately after: t1"),
    ("anthropic", {"messages": [RESULT]}, 400, "unexpected `tool_use_id` found in `tool_result` blocks: t1"),
    ("anthropic", {"thinking": {"type": "enabled"}}, 400, "budget_tokens: Field required"),
    ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 9}}, 400, "greater than or equal to 1024"),
    ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 9_000}}, 400, "must be greater than"),
    (
        "anthropic",
        {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5},
        400,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    ("gemini", {"colour": "blue"}, 400, 'Unknown name "colour": Cannot find field.'),
    ("gemini", {"generationConfig": {"colour": 1}}, 400, "at 'generation_config'"),
    ("gemini", {"contents": []}, 400, "contents is not specified"),
    (
        "gemini",
        {"contents": [{"role": "robot", "parts": [{"text": "x"}]}]},
        400,
        "Please use a valid role: user, model.",
    ),
    ("gemini", {"contents": [{"role": "user", "parts": []}]}, 400, "contents.parts must not be empty"),
    (
        "gemini",
        {"contents": [{"parts": [{"functionResponse": {"name": "depth", "response": {}}}]}]},
        400,
        "function response turn comes immediately after a function call turn",
    ),
    (
        "gemini",
        {"contents": [{"parts": [{"text": "x"}]}, {"role": "model", "parts": [{"functionCall": {"name": "depth"}}]}]},
        400,
        "number of function response parts is equal",
    ),
    (
        "gemini",
        {
            "contents": [
                {"parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "depth"}}]},
                {"parts": [{"text": "y"}]},
            ]
        },
        400,
        "number of function response parts is equal",
    ),
    (
        "gemini",
        {
            "contents": [
                {"parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"text": "y", "thoughtSignature": "QUJD"}]},
            ]
        },
        400,
        "Corrupted thought signature.",
    ),
    ("bedrock", {"messages": [{"role": "robot", "content": []}]}, 400, "Member must satisfy enum value set"),
    (
        "bedrock",
        {"messages": [{"role": "user", "content": [{"toolResult": {"toolUseId": "x", "content": []}}]}]},
        400,
        "The toolConfig field must be defined",
    ),
    (
        "bedrock",
        {
            "messages": [
                {"role": "user", "content": [{"text": "x"}]},
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "x", "name": "depth", "input": {}}}]},
            ],
            "toolConfig": {"tools": []} | {"toolChoice": {}},
        },
        400,
        "Expected toolResult blocks at messages.2.content for the following Ids: x",
    ),
    ("cohere", {"model": ""}, 400, "model is required"),
    ("cohere", {"messages": []}, 400, "messages must be at least 1 message long"),
    ("cohere", {"messages": [{"role": "robot", "content": "x"}]}, 422, "invalid role"),
    ("cohere", {"messages": [{"role": "user", "content": ""}]}, 400, "must have content"),
    ("cohere", {"messages": [ASKED, {"role": "assistant", "tool_calls": [CALL]}, ASKED]}, 400, "tool calls c1"),
    ("cohere", {"messages": [ASKED, {"role": "assistant", "tool_calls": [CALL]}]}, 400, "tool calls c1"),
]


@pytest.mark.parametrize(("api", "change", "status", "expected"), CASES)
def test_what_the_real_api_refuses_is_refused(
    sim: Simulator, api: str, change: dict[str, Any], status: int, expected: str
) -> None:
    body = {key: value for key, value in (APIS[api].body("hi") | change).items() if value is not None}
    response = post(sim, APIS[api], body)

    assert response.status_code == status
    assert expected in words(api, response.json())


def test_fields_that_must_be_there_are_asked_for(sim: Simulator) -> None:
    chat = post(sim, APIS["openai_chat"], {"model": "x"})
    responses = post(sim, APIS["openai_responses"], {"model": "x"})
    claude = post(sim, APIS["anthropic"], {"model": "x", "max_tokens": 9})
    version = post(sim, APIS["anthropic"], APIS["anthropic"].body("hi"), headers={"x-api-key": "any"})

    assert chat.json()["error"]["code"] == "missing_required_parameter"
    assert responses.json()["error"]["param"] == "input"
    assert claude.json()["error"]["message"] == "messages: Field required"
    assert version.json()["error"]["message"] == "anthropic-version: header is required"


def test_beta_fields_are_taken_with_the_beta_header(sim: Simulator) -> None:
    body = APIS["anthropic"].body("hi") | {"context_management": {"edits": []}}

    assert post(sim, APIS["anthropic"], body).status_code == 400
    assert post(sim, APIS["anthropic"], body, headers=CLAUDE | {"anthropic-beta": "x"}).status_code == 200


@pytest.mark.parametrize(
    ("api", "status", "expected"),
    [
        ("openai_chat", 401, "You didn't provide an API key"),
        ("openai_responses", 401, "You didn't provide an API key"),
        ("anthropic", 401, "x-api-key header is required"),
        ("gemini", 403, "Method doesn't allow unregistered callers"),
        ("bedrock", 403, "Missing Authentication Token"),
        ("cohere", 401, "no api key supplied"),
    ],
)
def test_a_missing_key_is_refused(sim: Simulator, api: str, status: int, expected: str) -> None:
    response = post(sim, APIS[api], APIS[api].body("hi"), headers={"anthropic-version": "2023-06-01"})

    assert response.status_code == status
    assert expected in words(api, response.json())


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "cohere"])
@pytest.mark.parametrize("body", [{"messages": [7]}, {"messages": {"a": 1}, "contents": 3, "input": 3}, {"tools": "x"}])
def test_bodies_of_another_shape_are_refused_or_read_and_never_a_fault(sim: Simulator, api: str, body: Any) -> None:
    response = post(sim, APIS[api], APIS[api].body("hi") | body)

    assert response.status_code in (200, 400, 422)
    assert response.json()


def test_gemini_takes_a_key_in_the_query_and_either_spelling(sim: Simulator) -> None:
    import httpx2

    body = {"contents": [{"parts": [{"text": "hi"}]}], "system_instruction": {"parts": [{"text": "Be brief."}]}}
    url = f"{sim.url}/v1beta/models/gemini-3-pro:generateContent?key=any"

    assert httpx2.post(url, json=body).status_code == 200


def test_an_error_before_a_stream_of_gemini_is_an_array_too(sim: Simulator) -> None:
    response = post(sim, APIS["gemini_array"], {"contents": []}, stream=True)

    assert response.status_code == 400
    assert response.json()[0]["error"]["status"] == "INVALID_ARGUMENT"
