"""One request while it is being cooked: what it will be, but for its parent."""

from __future__ import annotations

from weft.trace.cooked import CookedRequest, Link, Place
from weft.trace.links import Ties

__all__ = ["Handle"]


class Handle:
    """A request that was added. Its parent is known once a snapshot was taken, and may change with later records."""

    __slots__ = (
        "_cooked",
        "dialect",
        "duration_ms",
        "id",
        "index",
        "loose",
        "model",
        "parent",
        "place",
        "request_messages",
        "response_messages",
        "synthetic",
        "ties",
        "timestamp",
        "tool_set",
        "tools",
    )

    def __init__(self, id: str, index: int, timestamp: int, place: Place | None) -> None:
        """Begin with who it is and when."""
        self.id = id
        self.index = index
        self.timestamp = timestamp
        self.place = place
        self.duration_ms = 0
        self.dialect = ""
        self.model = ""
        self.request_messages: list[str] = []
        self.response_messages: list[str] = []
        self.synthetic = False
        self.tools: list[str] = []
        self.tool_set: frozenset[str] = frozenset()
        self.loose: frozenset[int] = frozenset()
        self.ties = Ties()
        self.parent: Handle | None = None
        self._cooked: CookedRequest | None = None

    @property
    def parent_id(self) -> str | None:
        """The request it continues, as of the last snapshot."""
        return None if self.parent is None else self.parent.id

    def cooked(self, links: tuple[Link, ...]) -> CookedRequest:
        """Give the request as a value; the same one as long as nothing about it changes."""
        known = self._cooked
        if known is None or known.parent_id != self.parent_id or known.links != links:
            known = self._cooked = CookedRequest(
                self.id,
                self.parent_id,
                self.timestamp,
                self.request_messages,
                self.response_messages,
                self.model,
                self.tools,
                self.duration_ms,
                self.synthetic,
                self.index,
                self.dialect,
                self.place,
                links,
            )
        return known
