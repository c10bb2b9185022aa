"""Steps (message-codecs.md) in few words: what is said in them, and what each provider is sent."""

from __future__ import annotations

from typing import Any

from weft.wire.steps import encode_step, plan_step

__all__ = [
    "DATA_URL",
    "PNG",
    "REMOTE",
    "SCHEMA",
    "THREE",
    "TIDE",
    "call",
    "lost",
    "nested",
    "says",
    "sent",
    "words",
]

PNG = "iVBORw=="
DATA_URL = f"data:image/png;base64,{PNG}"
REMOTE = "https://example.org/quay.png"
TIDE = {"name": "tide", "description": "High water", "parameters": {"type": "object", "properties": {}}}
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}}
THREE = ("openai", "claude", "gemini")


def says(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def words(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(name: str = "tide", arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, **fields}


def sent(to: str, *messages: dict[str, Any], **options: Any) -> Any:
    """The messages of the request, as the provider gets them."""
    body = encode_step(to, {"messages": list(messages)}, model="m", **options)
    return body["contents" if to == "gemini" else "messages"]


def lost(to: str, *messages: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    losses = plan_step(to, {"messages": list(messages)}, model="m", **options).losses
    return [(item.description, item.reason) for item in losses]


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value
