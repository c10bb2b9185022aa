"""Real recordings: requests to the simulator, recorded on their way, as an agent makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2

from weft.sim import Simulator
from weft.trace import RecordingTransport

__all__ = ["DEPTH", "Agent", "line"]

DEPTH = {"name": "depth", "description": "How deep it is", "input_schema": {"type": "object", "properties": {}}}


class Agent:
    """Talks to the simulator in Anthropic's dialect, its whole history with every request; all of it is recorded."""

    def __init__(self, simulator: Simulator, output: Path | str) -> None:
        environ = simulator.environment()
        self._url = f"{environ['ANTHROPIC_BASE_URL'].rstrip('/')}/v1/messages"
        self._transport = RecordingTransport(str(output))
        headers = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
        self._client = httpx2.Client(transport=self._transport, headers=headers, timeout=30)
        self.messages: list[dict[str, Any]] = []

    def ask(self, text: str, *, model: str = "claude-sonnet-4-6", stream: bool = True, **rest: Any) -> None:
        """Say something, and take in the answer."""
        self.messages.append({"role": "user", "content": text})
        body = {"model": model, "max_tokens": 100, "messages": self.messages, "stream": stream, **rest}
        answer = self._client.post(self._url, json=body)
        if answer.status_code == 200:
            said = _streamed(answer.text) if stream else answer.json()["content"]
            self.messages.append({"role": "assistant", "content": said})

    def stream(self, text: str) -> Any:
        """Begin to ask; the answer is read by whoever holds it."""
        body = {"model": "claude-sonnet-4-6", "max_tokens": 100, "stream": True}
        messages = [*self.messages, {"role": "user", "content": text}]
        return self._client.stream("POST", self._url, json={**body, "messages": messages})

    def flush(self) -> None:
        """Wait until all of it is kept."""
        self._transport.recorder.flush()

    def close(self) -> None:
        self._client.close()


def _streamed(text: str) -> list[dict[str, Any]]:
    said = ""
    for each in text.splitlines():
        if each.startswith("data:"):
            event = json.loads(each[5:])
            said += event.get("delta", {}).get("text", "") if event.get("type") == "content_block_delta" else ""
    return [{"type": "text", "text": said}]


def line(number: int, messages: list[dict[str, Any]], answer: Any = "ok", **rest: Any) -> bytes:
    """Give a line of a trace in OpenAI's dialect, written by hand."""
    response = (
        {"choices": [{"message": {"role": "assistant", "content": answer}}]} if isinstance(answer, str) else answer
    )
    record = {
        "id": f"q{number}",
        "timestamp": f"2026-01-01T00:00:{number % 60:02d}+00:00",
        "duration_ms": number,
        "request": {"model": "mint-1", "messages": messages},
        "response": response,
        "error": None,
        **rest,
    }
    return json.dumps(record).encode() + b"\n"
