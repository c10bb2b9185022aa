"""Files of other tools with something wrong in them: a CodecError that names the place, or a result. The last law."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats import test_agent_sessions as sessions
from tests.formats import test_captures as captures
from tests.formats import test_exports as exports
from tests.formats import test_owners as owners
from tests.support.mutations import mutated
from weft.errors import CodecError
from weft.formats import format_by_name

PI = [
    {"type": "session", "version": 3, "id": "u", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/p"},
    {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "ls"}},
    {
        "type": "message",
        "id": "3",
        "parentId": "1",
        "message": {
            "role": "assistant",
            "usage": {"input": 1},
            "content": [
                {"type": "thinking", "thinking": "h"},
                {"type": "toolCall", "id": "c", "name": "n", "arguments": {"a": 1}},
                {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
            ],
        },
    },
    {"type": "message", "id": "4", "parentId": "3", "message": {"role": "toolResult", "content": [{"type": "text"}]}},
]
GEMINI = [
    {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "directories": ["/x"]},
    {"id": "1", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "ls"},
    {
        "id": "2",
        "timestamp": "2026-01-01T00:00:01Z",
        "type": "gemini",
        "content": [{"text": "x"}],
        "thoughts": [{"subject": "P", "description": "L"}],
        "tokens": {"input": 3},
        "toolCalls": [
            {
                "id": "c",
                "name": "l",
                "args": {"d": 1},
                "result": [{"functionResponse": {"id": "c", "name": "l", "response": {"output": "a"}}}],
            }
        ],
    },
    {"$rewindTo": "2"},
]
CLAUDE_AI = [
    {
        "uuid": "c1",
        "chat_messages": [
            {"uuid": "h", "sender": "human", "text": "W", "attachments": [{"extracted_content": "hi"}]},
            {
                "uuid": "a",
                "sender": "assistant",
                "content": [
                    {"type": "tool_use", "id": "t", "name": "w", "input": {}},
                    {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}]},
                ],
            },
        ],
    }
]
OPEN_WEBUI = [
    {
        "id": "x",
        "chat": {
            "models": ["m"],
            "history": {"currentId": "1", "messages": {"1": {"id": "1", "parentId": None, "role": "user"}}},
        },
    }
]


def parsed(lines: bytes) -> list[Any]:
    return [json.loads(line) for line in lines.splitlines()]


SAMPLES: dict[str, Any] = {
    "claude-code": parsed(sessions.SESSION),
    "codex": parsed(sessions.ROLLOUT),
    "gemini-cli": GEMINI,
    "pi": PI,
    "chatgpt": [exports.CONVERSATION],
    "claude-ai": CLAUDE_AI,
    "open-webui": OPEN_WEBUI,
    "uimessage": owners.UIMESSAGES,
    "langchain": json.loads(owners.written("langchain")),
    "pydantic-ai": json.loads(owners.written("pydantic-ai")),
    "openai-finetuning": [json.loads(owners.written("openai-finetuning"))],
    "sharegpt": [json.loads(owners.written("sharegpt"))],
    "atif": [json.loads(owners.written("atif"))],
    "inspect": json.loads(owners.written("inspect")),
    "otel": [json.loads(owners.written("otel"))],
    "har": json.loads(
        captures.har(captures.entry("https://x/v1/messages", captures.REQUEST, {"text": json.dumps(captures.RESPONSE)}))
    ),
    "claude-trace": [
        {
            "request": {"timestamp": 1.0, "method": "POST", "url": "https://x/v1/messages", "body": captures.REQUEST},
            "response": {"timestamp": 2.0, "status_code": 200, "body": captures.RESPONSE},
        }
    ],
}
LINES = ("claude-code", "codex", "gemini-cli", "pi", "openai-finetuning", "sharegpt", "claude-trace")


def check(name: str, value: Any, cut: float) -> None:
    """Read a file that holds `value`, cut off somewhere; and write what was read, where it can be."""
    kind = format_by_name(name)
    as_lines = name in LINES and isinstance(value, list)
    data = "\n".join(json.dumps(each) for each in value) if as_lines else json.dumps(value)
    try:
        for transcript in kind.transcripts(data[: int(len(data) * cut)]):
            if kind.write is not None:
                kind.dump(transcript)
    except CodecError as problem:
        where = problem.where
    else:
        where = "nowhere"
    assert where  # an error says where


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=15)
@given(data=st.data())
def test_a_broken_file_is_read_or_refused(name: str, data: st.DataObject) -> None:
    check(name, data.draw(mutated([SAMPLES[name]])), data.draw(st.sampled_from([1.0, 1.0, 0.7])))


@pytest.mark.soak
@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=3000)
@given(data=st.data())
def test_many_broken_files_are_read_or_refused(name: str, data: st.DataObject) -> None:
    check(name, data.draw(mutated([SAMPLES[name]])), data.draw(st.sampled_from([1.0, 1.0, 0.7])))
