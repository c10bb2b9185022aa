"""What cooking gives: every distinct message and tool once, and the requests as lists of their ids.

Plain values of the cooked file (docs/reference/trace-format.md). The three `to_dict` write exactly the published keys;
what a request knows besides (where its record was, what links it) stays in memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from weft.errors import CodecError
from weft.jsontext import dumps

__all__ = ["Cooked", "CookedMessage", "CookedRequest", "CookedTool", "Link", "Place", "Problem"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: its source, its line (or its number in a JSON list), both from 1, and its bytes."""

    source: str
    line: int
    offset: int = 0
    size: int = 0

    def __str__(self) -> str:
        """Say it as editors do."""
        return f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that could not be read, and why. `torn`: the last line of its source, cut off while it was written."""

    place: Place
    message: str
    torn: bool = False

    def __str__(self) -> str:
        """Say where, then what."""
        return f"{self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Link:
    """What a request says about where it belongs.

    `kind` is `response` (it names the answer that it continues), `conversation` (its provider keeps the conversation)
    or `session` (an id of the client's); `parent_id` is the request meant, where the trace holds it.
    """

    kind: str
    value: str
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class CookedMessage:
    """One distinct message. `tool_calls` are `{name, arguments, id}`, without `id` where the source had none."""

    id: str
    role: str
    content: str
    tool_calls: list[dict[str, Any]] | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give the six keys."""
        return {
            "id": self.id,
            "role": self.role,
            "content": self.content,
            "tool_calls": self.tool_calls,
            "tool_use_id": self.tool_use_id,
            "is_error": self.is_error,
        }


@dataclass(frozen=True, slots=True)
class CookedTool:
    """One distinct tool; `is_server_side` if the provider runs it."""

    id: str
    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    is_server_side: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Give the five keys."""
        return {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "is_server_side": self.is_server_side,
        }


@dataclass(frozen=True, slots=True)
class CookedRequest:
    """One request: ids of what it sent and of what came back, and the request it continues.

    The fields after `duration_ms` are not written: `synthetic` if the response was made up for want of one, `index` is
    the number of the record in input order (from 0), `dialect` the format it was read in.
    """

    id: str
    parent_id: str | None
    timestamp: int
    request_messages: list[str]
    response_messages: list[str]
    model: str
    tools: list[str]
    duration_ms: int
    synthetic: bool = field(default=False, compare=False)
    index: int = field(default=0, compare=False)
    dialect: str = field(default="", compare=False)
    place: Place | None = field(default=None, compare=False)
    links: tuple[Link, ...] = field(default=(), compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Give the eight keys."""
        return {
            "id": self.id,
            "parent_id": self.parent_id,
            "timestamp": self.timestamp,
            "request_messages": self.request_messages,
            "response_messages": self.response_messages,
            "model": self.model,
            "tools": self.tools,
            "duration_ms": self.duration_ms,
        }


@dataclass(frozen=True, slots=True)
class Cooked:
    """A cooked trace; requests are sorted by time."""

    messages: list[CookedMessage] = field(default_factory=list)
    tools: list[CookedTool] = field(default_factory=list)
    requests: list[CookedRequest] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Give the cooked file as data."""
        return {
            "messages": [message.to_dict() for message in self.messages],
            "tools": [tool.to_dict() for tool in self.tools],
            "requests": [request.to_dict() for request in self.requests],
        }

    def to_json(self) -> bytes:
        """Give the cooked file: indented, non-ASCII unescaped [C-14]; the same bytes for the same input [C-22]."""
        data = self.to_dict()
        try:
            return orjson.dumps(data, option=orjson.OPT_INDENT_2)
        except orjson.JSONEncodeError:  # integers past 64 bits, lone surrogates, deep nesting
            return _json_odd(data)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Cooked:
        """Read a cooked file; fields that later writers may add are passed over."""
        return Cooked(
            [_built(CookedMessage, item, f"messages[{at}]") for at, item in enumerate(_list(data, "messages"))],
            [_built(CookedTool, item, f"tools[{at}]") for at, item in enumerate(_list(data, "tools"))],
            [_built(CookedRequest, item, f"requests[{at}]") for at, item in enumerate(_list(data, "requests"))],
        )


_KEYS: dict[type, tuple[str, ...]] = {
    CookedMessage: ("id", "role", "content", "tool_calls", "tool_use_id", "is_error"),
    CookedTool: ("id", "name", "description", "parameters", "is_server_side"),
    CookedRequest: (
        "id",
        "parent_id",
        "timestamp",
        "request_messages",
        "response_messages",
        "model",
        "tools",
        "duration_ms",
    ),
}
_OPTIONAL = frozenset(
    {"tool_calls", "tool_use_id", "is_error", "is_server_side", "description", "parameters", "parent_id"}
)


def _json_odd(data: dict[str, Any]) -> bytes:
    try:
        return json.dumps(data, indent=2, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate can only be written escaped
        return json.dumps(data, indent=2).encode("utf-8")
    except RecursionError:
        return dumps(data)


def _list(data: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = data.get(key)
    if not isinstance(value, list):
        raise CodecError("a cooked file has a list here", where=key)
    return value


def _built(kind: type[T], item: Any, where: str) -> T:
    if not isinstance(item, Mapping):
        raise CodecError("not an object", where=where)
    fields = {key: item[key] for key in _KEYS[kind] if key in item}
    if missing := [key for key in _KEYS[kind] if key not in fields and key not in _OPTIONAL]:
        raise CodecError(f"lacks {', '.join(missing)}", where=where)
    if kind is CookedRequest:
        fields.setdefault("parent_id", None)
    return kind(**fields)
