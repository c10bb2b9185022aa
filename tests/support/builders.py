"""Short names for the values tests are made of, so that a test names only what matters to it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from weft.canon import Message, Part, RunSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft.blobs import BlobReference
    from weft.canon import Role

__all__ = [
    "NOON",
    "a_spec",
    "assistant",
    "image",
    "message",
    "text",
    "thinking",
    "tool",
    "tool_call",
    "tool_result",
    "user",
]

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def text(words: str) -> Part:
    return Part("text", text=words)


def thinking(words: str | None = None, *, raw: Mapping[str, Any] | None = None) -> Part:
    return Part("thinking", text=words, provider_raw=raw)


def image(ref: BlobReference) -> Part:
    return Part("image", blob=ref)


def tool_call(name: str = "dig", args: Mapping[str, Any] | None = None, *, call_id: str = "t1") -> Part:
    return Part("tool_call", tool_call_id=call_id, tool_name=name, tool_args={} if args is None else args)


def tool_result(output: Any, *, call_id: str = "t1") -> Part:
    return Part("tool_result", tool_call_id=call_id, tool_output=output)


def message(role: Role, *content: Part | str, at: datetime = NOON, **fields: Any) -> Message:
    """Build a message; a string stands for a text part, and the time is always the same unless given."""
    parts = [text(part) if isinstance(part, str) else part for part in content]
    return Message(role, parts, timestamp=at, **fields)


def user(*content: Part | str, **fields: Any) -> Message:
    return message("user", *content, **fields)


def assistant(*content: Part | str, **fields: Any) -> Message:
    return message("assistant", *content, **fields)


def tool(*content: Part | str, **fields: Any) -> Message:
    return message("tool", *content, **fields)


def a_spec(provider: str = "openai", endpoint: str = "chat.completions", model: str = "m", **fields: Any) -> RunSpec:
    return RunSpec(provider, endpoint, model, **fields)
