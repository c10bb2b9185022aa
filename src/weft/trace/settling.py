"""Requests in order of time, each with its parent: what is new is settled, what comes late unsettles what follows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from weft.trace.entry import Entry
from weft.trace.forest import Forest
from weft.trace.handle import Handle

__all__ = ["Settler"]


class Settler:
    """All requests by time, and the forests they stand in."""

    __slots__ = ("_added", "_forests", "_links", "_settled", "_waiting", "order")

    def __init__(self, *, links: bool) -> None:
        """Begin with none; with `links`, what requests say themselves takes part."""
        self.order: list[Handle] = []  # by time; the first `_settled` have parents
        self._links = links
        self._added: list[Handle] = []
        self._settled = 0
        self._waiting: list[Handle] = []
        self._forests: dict[tuple[str, str], Forest] = {}

    def __len__(self) -> int:
        """Count the requests."""
        return len(self._added)

    def add(self, handle: Handle) -> None:
        """Add a request, whenever it was."""
        self._added.append(handle)
        self._waiting.append(handle)

    def settle(self) -> None:
        """Find the parents of what is new. What comes late takes back all that is after it, and finds theirs again."""
        if not self._waiting:
            return
        self._waiting.sort(key=lambda handle: handle.timestamp)
        earliest = bisect_right(self.order, self._waiting[0].timestamp, key=lambda handle: handle.timestamp)
        for handle in reversed(self.order[earliest : self._settled]):
            for key in self._keys(handle):
                self._forests[key].pop()
        self._settled = min(self._settled, earliest)
        self.order[earliest:] = sorted([*self.order[earliest:], *self._waiting], key=_by_time)
        self._waiting = []
        known = _Known() if self._links else None
        if known is not None:
            for handle in self.order[: self._settled]:
                known.push(handle)
        for handle in self.order[self._settled :]:
            handle.parent = self._parent(handle, known)
            for key in self._keys(handle):
                self._forests[key].push(_entry(handle))
            if known is not None:
                known.push(handle)
        self._settled = len(self.order)

    def _keys(self, handle: Handle) -> list[tuple[str, str]]:
        """Give the forests a request stands in: its model's, and with links that of its session."""
        session = handle.ties.session if self._links else ""
        return [(handle.model, ""), (handle.model, session)] if session else [(handle.model, "")]

    def _parent(self, handle: Handle, known: _Known | None) -> Handle | None:
        if known is not None and (said := known.parent(handle)) is not None:
            return said
        for key in reversed(self._keys(handle)):  # its own session's first
            forest = self._forests.setdefault(key, Forest())
            found = forest.parent(handle.request_messages, handle.tool_set)
            if found is not None:
                return self._added[found.number]
        return None


class _Known:
    """What earlier requests were answered under: the parents that requests name themselves."""

    __slots__ = ("_answers", "_conversations")

    def __init__(self) -> None:
        """Begin with none."""
        self._answers: dict[str, Handle] = {}
        self._conversations: dict[str, Handle] = {}

    def push(self, handle: Handle) -> None:
        """Add the latest request."""
        if handle.ties.answer:
            self._answers[handle.ties.answer] = handle
        if handle.ties.conversation:
            self._conversations[handle.ties.conversation] = handle

    def parent(self, handle: Handle) -> Handle | None:
        """Give the request that one says it continues."""
        return self._answers.get(handle.ties.continues) or self._conversations.get(handle.ties.conversation)


def _by_time(handle: Handle) -> tuple[int, int]:
    return handle.timestamp, handle.index


def _entry(handle: Handle) -> Entry:
    answer: Sequence[str] = () if handle.synthetic else handle.response_messages
    size = len(handle.request_messages) + len(answer)
    loose = frozenset(at for at in handle.loose if at < size) if handle.loose else handle.loose
    return Entry(handle.index, handle.request_messages, answer, handle.tool_set, loose)
