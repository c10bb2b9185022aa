"""Names for calls that have none: older files pair calls and results by their order alone, and agents need names."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from weft.canon import Message, Part
from weft.formats.foreign import renewed

__all__ = ["CallNames"]

_CALLING = ("tool_call", "tool_result")


class CallNames:
    """Gives names to nameless calls, and to each nameless result the name of the first call that has none yet."""

    def __init__(self) -> None:
        """Start with no call."""
        self._open: deque[str] = deque()
        self._count = 0

    def named(self, message: Message) -> Message:
        """Give a message whose calls and results all have names; the same one, if they had."""
        if all(part.tool_call_id is not None for part in message.parts if part.type in _CALLING):
            return message
        return renewed(message, message.timestamp, parts=[self._named(part) for part in message.parts])

    def _named(self, part: Part) -> Part:
        if part.type not in _CALLING or part.tool_call_id is not None:
            return part
        if part.type == "tool_result" and self._open:
            return replace(part, tool_call_id=self._open.popleft())
        self._count += 1
        name = f"call_{self._count}"
        if part.type == "tool_call":
            self._open.append(name)
        return replace(part, tool_call_id=name)
