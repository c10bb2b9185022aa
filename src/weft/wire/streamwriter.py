"""What the stream writers of all dialects share: which event asks for what, and texts that are open one at a time.

A dialect's encoder says how each thing is told in its own words; what is told when is decided here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import (
    ContentDelta,
    Event,
    NativeEvent,
    Part,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    RoleChange,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
)
from weft.wire.body import blobs_or_new

__all__ = ["BlockEncoder", "TellingEncoder"]


class TellingEncoder(ABC):
    """The frame of every stream encoder. A dialect gives the bytes for each thing that events tell.

    A part comes in pieces and is then ended, or only ended: then it is told whole. So are calls.
    """

    __slots__ = ("blobs", "usage")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        self.blobs = blobs_or_new(blobs)
        self.usage: Usage | None = None  # as it was last told

    # -- for a dialect to give -------------------------------------------------------------------------------

    @abstractmethod
    def begin(self, start: StreamStart | None = None) -> bytes:
        """Open the stream, once; without `start` if something else came first."""

    @abstractmethod
    def text(self, piece: str) -> bytes:
        """Tell more of the answer."""

    def refusal(self, piece: str) -> bytes:
        """Tell more of a refusal; most dialects have only text for it."""
        return self.text(piece)

    @abstractmethod
    def thought(self, piece: str) -> bytes:
        """Tell more of the thinking."""

    def open_call(self, start: ToolCallStart) -> bytes:  # noqa: ARG002 - a dialect without pieces waits for the end
        """Tell that a call begins."""
        return b""

    def arguments(self, call: int, piece: str) -> bytes:  # noqa: ARG002
        """Tell more of a call's arguments."""
        return b""

    @abstractmethod
    def end_call(self, call: int, part: Part) -> bytes:
        """Tell what was not told of a call while it came."""

    @abstractmethod
    def end_part(self, part: Part) -> bytes:
        """Tell what was not told of a part while it came."""

    @abstractmethod
    def whole(self, part: Part) -> bytes:
        """Tell a part that had no pieces."""

    def role(self, role: str) -> bytes:  # noqa: ARG002 - said by the dialect's opening
        """Tell who speaks."""
        return b""

    def learn(self, raw: Mapping[str, Any]) -> None:  # noqa: B027 - most have nothing to learn
        """See in an event of this very dialect which of its spellings the stream uses."""

    @abstractmethod
    def failed(self, error: str) -> bytes:
        """Tell that the provider broke off."""

    @abstractmethod
    def end(self, end: StreamEnd) -> bytes:
        """Tell the end; of a stream that was cut short, none is invented [X-05]."""

    # -- what all share --------------------------------------------------------------------------------------

    def feed(self, event: Event) -> bytes:
        """Write one event."""
        match event:
            case ContentDelta(delta=str(piece)):
                return self.text(piece)
            case ContentDelta(delta=parts):
                return b"".join(self.whole(part) for part in parts if isinstance(part, Part))
            case RefusalDelta(delta=piece):
                return self.refusal(piece)
            case ReasoningDelta(delta=piece):
                return self.thought(piece)
            case ToolCallStart():
                return self.open_call(event)
            case ToolCallDelta(index=call, delta=piece):
                return self.arguments(call, piece)
            case ToolCallEnd(index=call, tool_call=part):
                return self.end_call(call, part)
            case PartEnd(part=part):
                return self.end_part(part)
            case StreamStart():
                return self.begin(event)
            case RoleChange(role=role):
                return self.role(role)
            case UsageUpdate(usage=usage):
                self.usage = usage
            case NativeEvent(raw=raw):
                self.learn(raw)
            case StreamError(error=error):
                return self.failed(error)
            case StreamEnd():
                return self.end(event)
            case _:
                pass
        return b""

    def close(self) -> bytes:
        """Add nothing: what ends a stream was written with its `stream.end`, or never, if there was none."""
        return b""


class BlockEncoder(TellingEncoder):
    """For dialects with one block open at a time: its part.end closes it, or whatever opens next."""

    __slots__ = ("left", "opened")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with no block open."""
        super().__init__(blobs)
        self.opened = ""  # the type of the block that is open
        self.left: list[str] = []  # types of texts closed by the next block, whose part.end is still to come

    @abstractmethod
    def close_block(self) -> bytes:
        """Close the block that is open, if there is one."""

    @abstractmethod
    def rest(self, part: Part) -> bytes:
        """Tell what a part has beside its text: a signature, citations."""

    def leave_block(self) -> bytes:
        """Close the block that is open because something else begins."""
        if self.opened in ("text", "thinking"):
            self.left.append(self.opened)
        return self.close_block()

    def end_part(self, part: Part) -> bytes:
        """Close the part's block; or tell it whole, if none of it was told."""
        kind = "text" if part.type == "refusal" else part.type
        if kind == self.opened:
            return self.rest(part) + self.close_block()
        if kind in self.left:  # its pieces have been told, and the next block has closed it since
            self.left.remove(kind)
            return b""
        return self.whole(part)
