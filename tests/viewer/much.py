"""Recordings of any size, written line by line: agents whose requests each add ten messages to those before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["write_much"]

SESSION = 5  # requests; each resends what the earlier ones said
CALLS = 8


def write_much(path: Path, requests: int, *, longest: int = 0) -> int:
    """Write a recording of so many requests and ten times as many messages; give how many these are.

    With `longest`, one message has so many characters.
    """
    messages = 0
    with path.open("w", encoding="utf-8") as file:
        for number, record in enumerate(_records(requests)):
            if longest and number == 0:
                record["request"]["messages"][0]["content"] = "x y\n" * (longest // 4)
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            messages += CALLS + 2
    return messages


def _records(requests: int) -> Iterator[dict[str, Any]]:
    history: list[dict[str, Any]] = []
    for number in range(requests):
        session, step = divmod(number, SESSION)
        if step == 0:
            history = [{"role": "user", "content": f"task {session}"}]
        at = 1_770_000_000_000 + 1_500 * number
        calls = [
            {"type": "tool_use", "id": f"c{number}.{n}", "name": f"tool_{n}", "input": {"n": number}}
            for n in range(CALLS)
        ]
        said = [{"type": "text", "text": f"step {step} of task {session}"}, *calls]
        yield {
            "id": f"q{number}",
            "timestamp": at,
            "duration_ms": 400 + number * 37 % 7000,
            "request": {
                "model": f"model-{session % 7}",
                "system": [{"type": "text", "text": "go"}],
                "messages": list(history),
            },
            "response": {
                "type": "message",
                "role": "assistant",
                "content": said,
                "usage": {"input_tokens": 900, "output_tokens": 90},
            },
        }
        results = [
            {"type": "tool_result", "tool_use_id": f"c{number}.{n}", "content": f"r {number} {n}"} for n in range(CALLS)
        ]
        history = [*history, {"role": "assistant", "content": said}, {"role": "user", "content": results}]
