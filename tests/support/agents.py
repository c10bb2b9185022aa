"""Traces of made-up agents, small and repeatable: every request repeats its history, as real ones do."""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["WORDS", "agent_trace", "as_lines", "claude_record", "openai_record", "sse"]

Json = dict[str, Any]
WORDS = [
    "tide",
    "harbour",
    "sonar",
    "buoy",
    "chart",
    "fathom",
    "keel",
    "mast",
    "anchor",
    "reef",
    "naïve",
    "größe",
    "日本語",
]


def claude_record(number: int, messages: list[Json], answer: list[Json], **more: Any) -> Json:
    """A call of Anthropic's API: id `c<number>`, answered whole."""
    request: Json = {"model": "claude-sonnet-4-6", "max_tokens": 1000, "messages": messages, **more.pop("request", {})}
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100 * number}
    response: Json = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6"}
    response |= {"content": answer, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    return _record(f"c{number}", number, request, response, **more)


def openai_record(number: int, messages: list[Json], answer: str, **more: Any) -> Json:
    """A call of OpenAI's chat API: id `o<number>`, answered whole."""
    request: Json = {"model": "gpt-5", "messages": messages, **more.pop("request", {})}
    message: Json = {"role": "assistant", "content": answer, "refusal": None, "annotations": []}
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    response = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "gpt-5"}
    return _record(f"o{number}", number, request, {**response, "choices": [choice], "usage": usage}, **more)


def _record(name: str, number: int, request: Json, response: Any, **more: Any) -> Json:
    timestamp = f"2026-01-05T08:{number // 60:02}:{number % 60:02}+00:00"
    record = {"id": name, "timestamp": timestamp, "duration_ms": 800, "request": request, "response": response}
    return {**record, "error": None, **more}


def sse(*events: Json) -> Json:
    """A streamed response, as it is recorded."""
    lines = []
    for event in events:
        if "type" in event:
            lines.append(f"event: {event['type']}")
        lines.append("data: " + json.dumps(event, ensure_ascii=False, separators=(",", ":")))
    return {"stream": True, "sse_lines": lines}


def agent_trace(requests: int, seed: int = 1, *, text_bytes: int = 600) -> list[Json]:
    """A coding agent's session with Claude: tools, a cache mark that moves, one fork half-way."""
    chance = random.Random(seed)

    def text(size: int) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(size // 6))

    tools = [
        {"name": f"tool_{n}", "description": text(300), "input_schema": {"type": "object", "properties": {}}}
        for n in range(4)
    ]
    system = [{"type": "text", "text": text(2000), "cache_control": {"type": "ephemeral"}}]
    history: list[Json] = [{"role": "user", "content": [{"type": "text", "text": text(text_bytes)}]}]
    records = []
    for number in range(requests):
        if number and number == requests // 2:
            history = history[: len(history) // 2 // 2 * 2 + 1]  # back to an earlier user message
        marked = {**history[-1]["content"][-1], "cache_control": {"type": "ephemeral"}}
        last = {**history[-1], "content": [*history[-1]["content"][:-1], marked]}
        call = {"type": "tool_use", "id": f"call_{seed}_{number}", "name": "tool_0", "input": {"path": text(40)}}
        answer: list[Json] = [{"type": "text", "text": text(text_bytes // 2)}, call]
        request = {"system": system, "tools": tools, "stream": False}
        records.append(claude_record(number, [*history[:-1], last], answer, request=request))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text(text_bytes), "is_error": False}
        history = [*history, {"role": "assistant", "content": answer}, {"role": "user", "content": [result]}]
    return records


def as_lines(records: list[Json], *, spaced: bool = False) -> list[bytes]:
    """Write records as lines of a trace."""
    separators = (", ", ": ") if spaced else (",", ":")
    return [json.dumps(record, ensure_ascii=False, separators=separators).encode() for record in records]
