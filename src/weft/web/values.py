"""What a source is made of: messages, rows and tools as plain values, before they are shaped for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from weft.web import contract

__all__ = ["Body", "BodyCall", "Captured", "Context", "Facts", "Filters", "Tool"]


class BodyCall(NamedTuple):
    """One tool call of a message; its arguments as JSON text."""

    name: str
    id: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Body:
    """A message, whole."""

    id: str
    role: contract.Role
    content: str
    calls: tuple[BodyCall, ...] = ()
    tool_use_id: str | None = None
    is_error: bool | None = None
    blobs: tuple[contract.Attachment, ...] = ()

    def text(self) -> str:
        """Give everything that can be searched."""
        return "\n".join([self.content, *(f"{call.name} {call.arguments}" for call in self.calls)])


class Facts(NamedTuple):
    """What a row shows besides its place."""

    role: contract.Role
    gist: str
    model: str
    provider: str
    timestamp_ms: int
    duration_ms: int
    state: contract.RowState
    record_id: str
    bookmarks: Sequence[str] = ()
    merges: Sequence[str] = ()


class Context(NamedTuple):
    """The messages of a row: what was sent, what came back, and what its parent had."""

    sent: Sequence[str]
    answered: Sequence[str]
    against_id: str | None
    before: Sequence[str]


class Tool(NamedTuple):
    """One tool a request offers; its schema as JSON text."""

    id: str
    name: str
    description: str
    parameters: str
    is_server_side: bool


class Captured(NamedTuple):
    """A recorded request, whole; and its messages as they are shown, where they are to be changed."""

    record: Mapping[str, Any]
    bodies: Sequence[Body] = ()


class Filters(NamedTuple):
    """What a search asks for."""

    query: str
    role: str | None = None
    model: str | None = None
    tool: str | None = None
    error: bool = False
    since_ms: int | None = None
    until_ms: int | None = None
