"""What is shown and kept of an answer while it comes in: stream events as `{type?, name?, id?, content?}` [T-58].

Made from canon's events, so that it is the same for every dialect.
"""

from __future__ import annotations

from typing import Any

from weft.canon import (
    ContentDelta,
    Event,
    Part,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    ToolCallDelta,
    ToolCallStart,
)
from weft.wire import stream_event

__all__ = ["Listener"]

Json = dict[str, Any]


class Listener:
    """Follows one answer."""

    __slots__ = ("_calls", "_current")

    def __init__(self) -> None:
        """Begin with nothing heard."""
        self._calls: dict[int, Json] = {}
        self._current: int | None = None

    def feed(self, event: Event) -> list[Json]:
        """Take one event; give what it shows, nothing if it shows nothing."""
        match event:
            case ContentDelta(str(delta)):
                return self._said("text", delta)
            case ReasoningDelta(delta):
                return self._said("thinking", delta)
            case RefusalDelta(delta):
                return self._said("refusal", delta)
            case ToolCallStart(index, name, call_id):
                opening: Json = {"type": "tool_use", "name": name}
                self._calls[index] = {**opening, "id": call_id} if call_id else opening
                self._current = index
                return [dict(self._calls[index])]
            case ToolCallDelta(index, delta) if delta:
                if index == self._current:
                    return [{"content": delta}]
                self._current = index  # calls that come in turns: say which one this is
                return [dict(self._calls.get(index, {"type": "tool_use"})), {"content": delta}]
            case PartEnd(Part(type="provider", provider_raw=raw)) if raw is not None:
                self._current = None
                return stream_event("anthropic", {"type": "content_block_start", "content_block": raw})
            case ContentDelta(parts):
                self._current = None
                return [{"type": part.type} for part in parts if isinstance(part, Part)]
        return []

    def _said(self, kind: str, text: str) -> list[Json]:
        self._current = None
        return [{"type": kind, "content": text}] if text else []
