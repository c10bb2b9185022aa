"""Ids for tool calls and results that have none, for providers that need them [T-90].

Stored history may lack them (Gemini gives none). They are made up once per request, the same each time, so that
preparing a request stays a pure function. A result without an id takes that of the earliest unanswered call of the
same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.canon import Message, Part

__all__ = ["with_call_ids"]

PAIRED = frozenset({"tool_call", "tool_result"})


def with_call_ids(messages: Sequence[Message]) -> Sequence[Message]:
    """Give the messages back with an id on every tool call and on every result that answers one."""
    if not any(_lacks_id(part) for message in messages for part in message.parts):
        return messages
    return _Numbering(messages).done()


def _lacks_id(part: Part) -> bool:
    return not part.tool_call_id and part.type in PAIRED


class _Numbering:
    """One pass over a conversation, knowing which calls are still unanswered."""

    __slots__ = ("_messages", "_next", "_open", "_used")

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._used = {part.tool_call_id for message in messages for part in message.parts if part.tool_call_id}
        self._next = 0
        self._open: list[tuple[str, str | None]] = []  # (id, name) of calls without an answer, earliest first

    def done(self) -> list[Message]:
        return [
            replace(message, parts=tuple(self._part(part) for part in message.parts))
            if any(part.type in PAIRED for part in message.parts)
            else message
            for message in self._messages
        ]

    def _part(self, part: Part) -> Part:
        if part.type == "tool_call":
            call_id = part.tool_call_id or self._fresh()
            self._open.append((call_id, part.tool_name))
        elif part.type == "tool_result":
            call_id = part.tool_call_id or self._answered(part.tool_name) or self._fresh()
            self._open = [call for call in self._open if call[0] != call_id]
        else:
            return part
        return part if part.tool_call_id else replace(part, tool_call_id=call_id)

    def _answered(self, name: str | None) -> str | None:
        return next((call_id for call_id, called in self._open if called == name), None)

    def _fresh(self) -> str:
        while True:
            self._next += 1
            call_id = f"call_{self._next}"
            if call_id not in self._used:
                self._used.add(call_id)
                return call_id
