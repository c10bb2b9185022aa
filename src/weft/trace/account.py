"""A recorded request at a glance: when, who, how many tokens, how long, what went wrong, and its first words.

Read from the record as it is, without decoding the conversation: a list of a thousand requests is wanted at once.
Money is not known here; who lists requests hands a price in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from weft.trace.clock import milliseconds
from weft.trace.opened import error_of, path_model
from weft.wire import TokenCounts, as_if_cached, dialect, dialect_of, stop_reason_of, token_counts, usage_of

__all__ = [
    "Facts",
    "TokenCounts",
    "Total",
    "as_if_cached",
    "facts_of",
    "first_words_of",
    "stop_reason_of",
    "token_counts",
    "total_of",
    "usage_of",
]

_KNOWN_AS = {"google": "gemini"}
_LONGEST_MS = 10**15
_LAST_MS = 253_402_214_400_000  # the last day of the year 9999, in any zone
_GIST = 200


@dataclass(frozen=True, slots=True)
class Facts:
    """One request at a glance. `usage` is the provider's own account."""

    id: str
    timestamp_ms: int
    duration_ms: int
    model: str
    provider: str
    dialect: str
    messages: int
    tools: int
    tokens: TokenCounts
    usage: Mapping[str, Any]
    stop_reason: str | None
    error: str | None
    is_stream: bool
    gist: str

    @property
    def time(self) -> datetime:
        """When it was asked; what no calendar has is the nearest day that one has."""
        return datetime.fromtimestamp(min(max(self.timestamp_ms, 0), _LAST_MS) / 1000, UTC)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {
            "id": self.id,
            "timestamp": self.timestamp_ms,
            "duration_ms": self.duration_ms,
            "model": self.model,
            "provider": self.provider,
            "dialect": self.dialect,
            "messages": self.messages,
            "tools": self.tools,
            "input_tokens": self.tokens.input,
            "cached_tokens": self.tokens.cached,
            "cache_write_tokens": self.tokens.cache_write,
            "output_tokens": self.tokens.output,
            "reasoning_tokens": self.tokens.reasoning,
            "stop_reason": self.stop_reason,
            "error": self.error,
            "stream": self.is_stream,
            "gist": self.gist,
        }


def facts_of(record: Mapping[str, Any], index: int = 0) -> Facts:
    """Read what a record tells at a glance; nothing in it is fatal."""
    given = record.get("request")
    body: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    response = record.get("response")
    speaks = dialect_of(record) or ""
    usage = usage_of(response) or {}
    name, model, duration = record.get("id"), body.get("model"), record.get("duration_ms")
    provider = record.get("provider")
    if not isinstance(provider, str) or not provider:
        spoken = dialect(speaks).provider if speaks else ""
        provider = _KNOWN_AS.get(spoken, spoken)
    said = _messages(body)
    return Facts(
        name if isinstance(name, str) and name else f"r{index}",
        milliseconds(record.get("timestamp")),
        int(duration) if isinstance(duration, (int, float)) and abs(duration) < _LONGEST_MS else 0,
        model if isinstance(model, str) and model else path_model(record),
        provider,
        speaks,
        len(said),
        _count_tools(body.get("tools")),
        token_counts(usage, excludes_cached=True if speaks in ("anthropic", "bedrock") else None),
        usage,
        stop_reason_of(response),
        error_of(record),
        isinstance(response, Mapping) and response.get("stream") is True,
        first_words_of(said),
    )


def _messages(body: Mapping[str, Any]) -> Sequence[Any]:
    for key in ("messages", "contents", "input"):
        if isinstance(value := body.get(key), list):
            return value
        if isinstance(value, str):
            return [{"role": "user", "content": value}]
    return ()


def _count_tools(tools: Any) -> int:
    count = 0
    for tool in tools if isinstance(tools, list) else ():
        declared = (
            (tool.get("functionDeclarations") or tool.get("function_declarations")) if isinstance(tool, dict) else 0
        )
        count += len(declared) if isinstance(declared, list) else 1
    return count


def first_words_of(messages: Sequence[Any]) -> str:
    """Give the beginning of what was said last, on one line."""
    for message in reversed(messages):
        if text := " ".join(" ".join(_texts_of(message)).split()):
            return text[:_GIST]
    return ""


_SAYING = ("error", "result", "output", "response", "functionResponse", "toolResult", "parts", "content", "text")


def _texts_of(value: Any) -> list[str]:
    """Give the texts of a message or a block in any dialect, in order, as many as a line has room for."""
    found: list[str] = []
    left = _GIST * 4
    todo: list[Any] = [value]
    while todo and left > 0:
        item = todo.pop()
        if isinstance(item, str):
            found.append(item[:left])
            left -= len(item)
        elif isinstance(item, list):
            todo += reversed(item)
        elif isinstance(item, Mapping):
            todo += [item[key] for key in _SAYING if key in item]
    return found


@dataclass(slots=True)
class Total:
    """Many requests summed up. `cost` is of those whose price is known, `unpriced` counts the others."""

    requests: int = 0
    errors: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    duration_ms: int = 0
    cost: float = 0.0
    unpriced: int = 0

    @property
    def hit_rate(self) -> float | None:
        """Which part of all prompts came from a cache."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else None

    def add(self, facts: Facts, cost: float | None) -> None:
        """Count one more."""
        self.requests += 1
        self.errors += facts.error is not None
        self.input_tokens += facts.tokens.input or 0
        self.cached_tokens += facts.tokens.cached or 0
        self.cache_write_tokens += facts.tokens.cache_write or 0
        self.output_tokens += facts.tokens.output or 0
        self.duration_ms += facts.duration_ms
        if cost is None:
            self.unpriced += 1
        else:
            self.cost += cost

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        known = self.unpriced < self.requests
        return {
            "requests": self.requests,
            "errors": self.errors,
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "output_tokens": self.output_tokens,
            "cache_hit_rate": self.hit_rate,
            "duration_ms": self.duration_ms,
            "cost": self.cost if known else None,
            "unpriced": self.unpriced,
        }


def total_of(facts: Iterable[tuple[Facts, float | None]]) -> Total:
    """Sum requests up, each with its price."""
    total = Total()
    for one, cost in facts:
        total.add(one, cost)
    return total
