"""Finding a dialect by its name, or by the look of a body."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given

import weft
from tests.support.mutations import mutated
from weft.errors import UsageError
from weft.wire import DIALECTS, detect, dialect, dialects

HI = [{"role": "user", "content": "hi"}]
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {}}}

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("openai_chat", {"model": "gpt-5", "messages": HI}),
    ("openai_chat", {"model": "anthropic/claude-opus-4.5", "messages": HI, "max_tokens": 5}),
    (
        "openai_chat",
        {"model": "claude-opus-4-5", "messages": [{"role": "system", "content": "x"}, *HI], "max_tokens": 5},
    ),
    ("openai_chat", {"model": "claude-opus-4-5", "messages": HI, "max_tokens": 5, "tools": [FUNCTION]}),
    ("openai_chat", {"model": "m", "messages": HI, "tools": [FUNCTION], "stream_options": {"include_usage": True}}),
    ("openai_chat", {"model": "command-a", "messages": HI, "stream_options": {}}),
    ("openai_chat", {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}),
    ("openai_chat", {"model": "m", "messages": []}),
    ("openai_responses", {"model": "gpt-5", "input": "hi"}),
    ("openai_responses", {"model": "gpt-5", "input": [{"role": "user", "content": "hi"}], "instructions": "x"}),
    ("openai_responses", {"model": "gpt-5", "previous_response_id": "resp_1"}),
    ("openai_responses", {"prompt": {"id": "pmpt_1"}}),
    ("openai_responses", {"model": "gpt-5", "conversation": "conv_1"}),
    ("openai_images", {"model": "gpt-image-1", "prompt": "a pier"}),
    ("openai_images", {"prompt": "a pier", "size": "1024x1024"}),
    ("anthropic", {"model": "claude-opus-4-5", "max_tokens": 5, "messages": HI}),
    ("anthropic", {"model": "m", "max_tokens": 5, "messages": HI, "system": "x"}),
    ("anthropic", {"anthropic_version": "bedrock-2023-05-31", "messages": HI}),
    ("anthropic", {"model": "m", "messages": HI, "tools": [{"name": "f", "input_schema": {}}]}),
    (
        "anthropic",
        {
            "model": "claude-opus-4-5",
            "max_tokens": 5,
            "messages": HI,
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        },
    ),
    ("anthropic", {"model": "m", "messages": HI, "tools": [{"type": "bash_20250124", "name": "bash"}]}),
    ("anthropic", {"model": "m", "messages": HI, "max_tokens": 5, "stop_sequences": ["x"]}),
    ("anthropic", {"model": "m", "messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}),
    ("anthropic", {"model": "m", "messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}),
    ("gemini", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    ("gemini", {"model": "gemini-3-pro", "contents": "hi", "config": {}}),
    ("gemini", {"systemInstruction": {"parts": []}}),
    ("gemini", {"system_instruction": {"parts": []}}),
    ("bedrock", {"modelId": "m", "messages": []}),
    ("bedrock", {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}),
    ("bedrock", {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "system": [{"text": "x"}]}),
    ("bedrock", {"messages": [{"role": "user", "content": [{"toolResult": {}, "x": 1}]}]}),
    ("bedrock", {"messages": [], "inferenceConfig": {}}),
    ("cohere", {"model": "command-a-03-2025", "messages": HI}),
    ("cohere", {"model": "m", "messages": HI, "p": 0.5}),
    ("cohere", {"model": "m", "messages": HI, "stop_sequences": ["x"]}),
    (
        "cohere",
        {
            "model": "m",
            "messages": [{"role": "tool", "content": [{"type": "document", "document": {"data": "x"}}]}],
            "strict_tools": True,
        },
    ),
    ("cohere", {"model": "m", "messages": HI, "citation_options": {"mode": "fast"}}),
    ("cohere", {"model": "m", "messages": [{"role": "assistant", "tool_plan": "x", "tool_calls": []}]}),
    ("ollama", {"model": "llama4", "messages": HI, "options": {"num_ctx": 8192}}),
    ("ollama", {"model": "llama4", "messages": HI, "keep_alive": "5m"}),
    ("ollama", {"model": "llama4", "messages": HI, "think": True}),
    ("ollama", {"model": "llama4", "messages": [{"role": "user", "content": "hi", "images": ["aGk="]}]}),
    ("ollama", {"model": "m", "messages": [{"role": "tool", "tool_name": "f", "content": "x"}]}),
    (
        "ollama",
        {
            "model": "m",
            "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}],
        },
    ),
]
RESPONSES: list[tuple[str, dict[str, Any]]] = [
    ("openai_chat", {"id": "c", "object": "chat.completion", "choices": [{"message": {"role": "assistant"}}]}),
    ("openai_chat", {"object": "chat.completion.chunk", "choices": []}),
    ("openai_responses", {"id": "resp_1", "object": "response", "output": []}),
    ("openai_responses", {"output": [{"type": "message"}]}),
    ("openai_responses_compact", {"id": "r", "object": "response.compaction", "output": []}),
    ("openai_images", {"created": 1, "data": [{"b64_json": "aGk="}]}),
    ("openai_images", {"created": 1, "data": [{"url": "https://example.org/a.png"}]}),
    ("anthropic", {"type": "message", "role": "assistant", "content": []}),
    ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ("gemini", {"candidates": [{"content": {"parts": []}}]}),
    ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}),
    ("gemini", {"usageMetadata": {}, "modelVersion": "m"}),
    ("gemini", {"usage_metadata": {}, "model_version": "m"}),
    ("gemini", {"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}),
    ("bedrock", {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn"}),
    ("bedrock", {"stopReason": "end_turn"}),
    ("cohere", {"id": "x", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": []}}),
    ("ollama", {"model": "m", "message": {"role": "assistant", "content": "hi"}, "done": True}),
]


@pytest.mark.parametrize(("name", "body"), REQUESTS)
def test_a_request_is_recognised(name: str, body: dict[str, Any]) -> None:
    assert detect(body) == name


@pytest.mark.parametrize(("name", "body"), RESPONSES)
def test_a_response_is_recognised(name: str, body: dict[str, Any]) -> None:
    assert detect(body) == name


@pytest.mark.parametrize(
    "body", [{}, {"hello": "world"}, {"messages": "hi"}, {"error": {"message": "x"}}, {"prompt": "p"}]
)
def test_what_tells_nothing_is_not_guessed(body: dict[str, Any]) -> None:
    assert detect(body) is None


def test_a_body_may_be_an_sdk_object() -> None:
    class Response:
        def to_dict(self) -> dict[str, Any]:
            return {"object": "response", "output": []}

    assert detect(Response()) == "openai_responses"


@given(body=mutated([body for _, body in (*REQUESTS, *RESPONSES)]))
def test_looking_never_fails(body: Any) -> None:
    if isinstance(body, dict):
        assert detect(body) in {None, *DIALECTS}


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("openai.chat", "openai_chat"),
        ("openai.responses", "openai_responses"),
        ("anthropic.messages", "anthropic"),
        ("google.generate_content", "gemini"),
        ("google.stream_generate_content", "gemini"),
        ("bedrock.converse", "bedrock"),
        ("bedrock.converse_stream", "bedrock"),
        ("cohere.chat", "cohere"),
        ("ollama.chat", "ollama"),
        *((name, name) for name in DIALECTS),
    ],
)
def test_the_names_of_the_corpus_are_taken_too(alias: str, name: str) -> None:
    """Issue 3, item 2."""
    found = dialect(alias)

    assert (found.name, repr(found)) == (name, f"<dialect {name}>")
    assert found is dialect(name)


def test_a_name_nobody_has_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as problem:
        dialect("esperanto")

    assert str(problem.value) == f"no dialect is called 'esperanto'\n  known: {', '.join(DIALECTS)}"


def test_every_dialect_has_its_six_names() -> None:
    """STYLE.md section 3."""
    verbs = ("encode_request", "decode_request", "encode_response", "decode_response", "StreamEncoder", "StreamDecoder")

    found = list(dialects())

    assert [each.name for each in found] == list(DIALECTS)
    assert all(callable(getattr(each, verb)) for each in found for verb in verbs)


def test_the_front_door_has_both() -> None:
    assert weft.dialect is dialect
    assert weft.detect is detect


def test_asking_for_one_dialect_does_not_load_the_others() -> None:
    program = (
        "import sys, weft\n"
        "weft.dialect('anthropic')\n"
        "print(*(name for name in sys.modules if name.startswith('weft.wire.')))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = set(result.stdout.split())
    assert "weft.wire.anthropic" in loaded
    assert not loaded & {"weft.wire.bedrock", "weft.wire.cohere", "weft.wire.ollama", "weft.wire.gemini"}
