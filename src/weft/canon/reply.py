"""Reply: one answer of a model, whole or as far as it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.canon.freezing import EMPTY, BuiltAnew, empty, freeze_mapping
from weft.canon.part import Message
from weft.canon.usage import Usage
from weft.closed import closed

__all__ = ["Reply"]


@closed
@dataclass(frozen=True, slots=True)
class Reply(BuiltAnew):
    """What a provider answered.

    `messages` has one message per choice, none if the answer had no content. `finish_reason` is in our words
    (stop, length, tool_calls, content_filter), `stop_reason` in the provider's. `raw` is the provider's envelope:
    its response without the content that `messages` holds. A reply that was cut off has `finished` false.
    """

    messages: tuple[Message, ...] = ()
    id: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    raw: Mapping[str, Any] = field(default_factory=empty)
    finished: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Freeze the envelope."""
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "raw", EMPTY if self.raw is EMPTY else freeze_mapping(self.raw, "Reply.raw"))

    @property
    def message(self) -> Message | None:
        """The answer itself: the first choice, or None if there is none."""
        return self.messages[0] if self.messages else None
