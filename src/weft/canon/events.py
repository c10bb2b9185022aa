"""What happens while an answer streams in, in every dialect the same.

Order [W-33]: one `stream.start`; deltas as they arrive; `tool_call.end` for each call; one `stream.end`. Three
events are weft's own: `part.end` gives a finished part exactly as a whole response would (with its signature,
its provider block), `usage` what the call has used so far, and `native` an event of the provider's that says
nothing in our words, kept verbatim.

These are made once per token and thrown away, so they are slotted and open; treat them as values all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from weft.canon.freezing import thaw
from weft.canon.part import Part
from weft.canon.reply import Reply
from weft.canon.serde import part_to_dict
from weft.canon.usage import Usage

__all__ = [
    "ContentDelta",
    "Event",
    "NativeEvent",
    "PartEnd",
    "ReasoningDelta",
    "RefusalDelta",
    "RoleChange",
    "StreamEnd",
    "StreamError",
    "StreamStart",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "UsageUpdate",
]


class Event:
    """The base of all stream events; `type` is its name outside Python."""

    __slots__ = ()
    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Write the event as plain data, leaving out what is not set."""
        written: dict[str, Any] = {"type": self.type}
        for field in fields(self):  # type: ignore[arg-type]  # every event below is a dataclass
            value = getattr(self, field.name)
            if isinstance(value, Part):
                written[field.name] = part_to_dict(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], Part):
                written[field.name] = [part_to_dict(part) for part in value]
            elif isinstance(value, Usage):
                written[field.name] = {name: getattr(value, name) for name in Usage.__slots__[:3]}
            elif value is not None:
                written[field.name] = thaw(value)
        return written


@dataclass(slots=True)
class StreamStart(Event):
    """The answer begins. `id` and `model` are known from most providers' first event; `raw` is their envelope."""

    type: ClassVar[str] = "stream.start"
    id: str | None = None
    model: str | None = None
    raw: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Write id and model as `metadata`, as the message codecs have it."""
        metadata = {name: value for name, value in (("id", self.id), ("model", self.model)) if value is not None}
        return {"type": self.type, "metadata": metadata} if metadata else {"type": self.type}


@dataclass(slots=True)
class RoleChange(Event):
    """The speaker is known, or another."""

    type: ClassVar[str] = "role"
    role: str


@dataclass(slots=True)
class ContentDelta(Event):
    """More of the answer: text, or whole parts that are not text."""

    type: ClassVar[str] = "content.delta"
    delta: str | tuple[Part, ...]


@dataclass(slots=True)
class ReasoningDelta(Event):
    """More of the thinking."""

    type: ClassVar[str] = "reasoning.delta"
    delta: str


@dataclass(slots=True)
class RefusalDelta(Event):
    """More of a refusal."""

    type: ClassVar[str] = "refusal.delta"
    delta: str


@dataclass(slots=True)
class ToolCallStart(Event):
    """A tool call begins; `index` counts the calls of this answer, `raw` is the provider's opening block."""

    type: ClassVar[str] = "tool_call.start"
    index: int
    name: str
    id: str | None = None
    raw: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Write index, name and id; the provider's block is for the provider's own dialect."""
        written: dict[str, Any] = {"type": self.type, "index": self.index, "name": self.name}
        return written | ({"id": self.id} if self.id is not None else {})


@dataclass(slots=True)
class ToolCallDelta(Event):
    """More of a call's argument text."""

    type: ClassVar[str] = "tool_call.delta"
    index: int
    delta: str


@dataclass(slots=True)
class ToolCallEnd(Event):
    """A call is complete. `tool_call` is the part it became."""

    type: ClassVar[str] = "tool_call.end"
    index: int
    tool_call: Part


@dataclass(slots=True)
class PartEnd(Event):
    """A part other than a tool call is complete; it stands for the deltas of its kind since the last such event."""

    type: ClassVar[str] = "part.end"
    part: Part


@dataclass(slots=True)
class UsageUpdate(Event):
    """What the call has used so far; the last one counts."""

    type: ClassVar[str] = "usage"
    usage: Usage


@dataclass(slots=True)
class NativeEvent(Event):
    """An event of the provider's that has no meaning in ours, kept as it came."""

    type: ClassVar[str] = "native"
    raw: Mapping[str, Any]


@dataclass(slots=True)
class StreamError(Event):
    """Reading broke off, or the provider said the answer failed."""

    type: ClassVar[str] = "stream.error"
    error: str


@dataclass(slots=True)
class StreamEnd(Event):
    """The answer is over. Without a `finish_reason` it was cut short; none is made up [W-34].

    A dialect's decoder adds the `reply` it read, which is what folding its events gives.
    """

    type: ClassVar[str] = "stream.end"
    finish_reason: str | None = None
    stop_reason: str | None = None
    raw: Mapping[str, Any] | None = None
    reply: Reply | None = None

    def to_dict(self) -> dict[str, Any]:
        """Write the finish reason alone: the reply has been told by the events before."""
        return {"type": self.type} | ({"finish_reason": self.finish_reason} if self.finish_reason else {})
