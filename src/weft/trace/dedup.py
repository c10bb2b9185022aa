"""Each distinct message and tool once: equal ones share an id, across requests and formats [C-41 to C-44].

The published key is 64 bits of a hash. Here whole values are compared, so two that differ never share an id, whatever
their keys are; `message_key` and `tool_key` give the published key to whoever wants to name a message elsewhere.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

from weft.canon import thaw
from weft.jsontext import dumps
from weft.trace.cooked import CookedMessage, CookedTool
from weft.trace.extract import Draft, ToolDraft

__all__ = ["Dedup", "message_key", "tool_key"]


class Dedup:
    """The messages and tools seen so far, in order of first appearance [C-20]."""

    __slots__ = ("_messages", "_tools", "hidden", "messages", "tools")

    def __init__(self) -> None:
        """Begin with none."""
        self.messages: list[CookedMessage] = []
        self.tools: list[CookedTool] = []
        self.hidden: dict[int, bytes] = {}  # by number, of messages that do not show all they are told apart by
        self._messages: dict[tuple[Any, ...], str] = {}
        self._tools: dict[tuple[Any, ...], str] = {}

    def message(self, draft: Draft) -> str:
        """Give the id of a message."""
        role, content, calls, use_id, is_error, hidden, _ = draft
        key = (role, content, calls if calls is None else canonical(calls), use_id, is_error, hidden)
        known = self._messages.get(key)
        if known is None:
            if hidden:
                self.hidden[len(self.messages)] = hidden
            known = self._messages[key] = f"m{len(self.messages)}"
            self.messages.append(CookedMessage(known, role, content, calls, use_id, is_error))
        return known

    def tool(self, draft: ToolDraft) -> str:
        """Give the id of a tool."""
        parameters = draft.parameters if isinstance(draft.parameters, dict) else {}
        key = (draft.name, draft.description, canonical(parameters), draft.is_server_side)
        known = self._tools.get(key)
        if known is None:
            known = self._tools[key] = f"t{len(self.tools)}"
            self.tools.append(CookedTool(known, draft.name, draft.description, parameters, draft.is_server_side))
        return known


def canonical(value: Any) -> bytes:
    """Write JSON with sorted keys, so that their order does not matter [C-42]."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # large numbers, lone surrogates, deep nesting
        return dumps(_sorted(thaw(value)))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def message_key(message: CookedMessage) -> str:
    """Give the published key of a message: 16 hex digits [C-41]."""
    fields = ("role", "content", "tool_calls", "tool_use_id", "is_error")
    return _key({name: getattr(message, name) for name in fields})


def tool_key(tool: CookedTool) -> str:
    """Give the published key of a tool; `is_server_side` takes part only when it is true [C-41]."""
    value: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return _key({**value, "is_server_side": True} if tool.is_server_side else value)


def _key(value: dict[str, Any]) -> str:
    return sha256(canonical(value)).hexdigest()[:16]
