"""Requests of any shape: refused or answered, never a fault of the simulator's own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.asking import APIS, Api
from weft.sim import Simulator
from weft.sim.server import Request

KEYS = st.sampled_from(
    [
        "model",
        "messages",
        "budget_tokens",
        "properties",
        "required",
        "enum",
        "minItems",
        "parameters",
        "input_schema",
        "functionDeclarations",
        "toolSpec",
        "inputSchema",
        "json",
        "json_schema",
        "schema",
        "response_format",
        "thinkingConfig",
        "functionCallingConfig",
        "mode",
        "include_usage",
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "tool_call_id",
        "id",
        "function",
        "name",
        "arguments",
        "input",
        "call_id",
        "output",
        "contents",
        "parts",
        "functionCall",
        "functionResponse",
        "args",
        "response",
        "thoughtSignature",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "signature",
        "toolUse",
        "toolResult",
        "toolUseId",
        "toolConfig",
        "reasoningContent",
        "reasoningText",
        "summary",
        "encrypted_content",
        "generationConfig",
        "stop",
        "stop_sequences",
        "include",
        "stream_options",
        "reasoning",
        "max_tokens",
        "cache_control",
        "data",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "system",
        "model",
        "text",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "function",
        "function_call",
        "function_call_output",
        "reasoning",
        "message",
        "enabled",
        "object",
        "array",
        "required",
        "ANY",
        "x",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.just(1.5) | WORDS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))


def asked(api: Api, body: Any, *, stream: bool) -> int:
    async def ask() -> int:
        simulator = Simulator()
        request = Request("POST", api.streamed if stream else api.whole, api.headers, json.dumps(body).encode())
        response = await simulator.handle(request)
        if response.frames is not None:
            assert b"".join(response.frames)
        return response.status

    return asyncio.run(ask())


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "cohere"])
@given(change=st.dictionaries(KEYS, VALUES, max_size=4), stream=st.booleans())
@settings(max_examples=40)
def test_any_body_is_refused_or_answered(name: str, change: dict[str, Any], stream: bool) -> None:
    api = APIS[name]
    body = api.body("hi") | change | ({"stream": stream} if api.flag else {})

    assert asked(api, body, stream=stream) in (200, 400, 404, 422)


BLOCKS = st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=3)
MESSAGES = st.lists(st.fixed_dictionaries({"role": WORDS}, optional={"content": BLOCKS, "parts": BLOCKS}), max_size=4)


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "cohere"])
@given(messages=MESSAGES)
@settings(max_examples=40)
def test_any_conversation_is_refused_or_answered(name: str, messages: list[Any]) -> None:
    place = {"gemini": "contents", "openai_responses": "input"}.get(name, "messages")
    api = APIS[name]

    assert asked(api, api.body("hi") | {place: messages}, stream=False) in (200, 400, 404, 422)


TOOLS: dict[str, Any] = {
    "openai_chat": lambda schema: {
        "tools": [{"type": "function", "function": {"name": "depth", "parameters": schema}}],
        "tool_choice": "required",
    },
    "anthropic": lambda schema: {
        "tools": [{"name": "depth", "input_schema": schema}],
        "tool_choice": {"type": "any"},
        "thinking": schema,
    },
    "gemini": lambda schema: {
        "tools": [{"functionDeclarations": [{"name": "depth", "parameters": schema}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    },
}


@pytest.mark.parametrize("name", TOOLS)
@given(schema=st.dictionaries(KEYS, VALUES, max_size=5))
@settings(max_examples=40)
def test_any_schema_is_refused_or_has_an_example(name: str, schema: dict[str, Any]) -> None:
    api = APIS[name]

    assert asked(api, api.body("hi") | TOOLS[name](schema), stream=False) in (200, 400)
