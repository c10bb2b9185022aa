"""Names for conversations that are brought in: their own if it is free, else one like it.

An export may have a thousand that are called the same, so the names in the store are listed once, and only if they are
needed. Doing it again finds the names that were given before.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from weft.store import FrameWriter
from weft.threads.bookmarks import point
from weft.threads.headish import check_bookmark_name, find

__all__ = ["Naming"]


class Naming:
    """Puts names on turns, inside one write."""

    def __init__(self, writer: FrameWriter) -> None:
        """Begin a write."""
        self._writer = writer
        self._holders: dict[str, str] | None = None  # turn ids by the names on them
        self._names: dict[str, list[str]] = {}  # and the other way round

    def name(self, name: str, turn_id: str, turns: AbstractSet[str], *, is_new: bool) -> str:
        """Put a name on a turn; give the name it got. One that is ours, on one of `turns`, moves along.

        `is_new` says that the turn was written just now, so that nothing of the store can continue it.
        """
        check_bookmark_name(name)
        holder = self._writer.bookmark_spot(name)
        if holder is None or holder.id in turns:
            return self._put(name, turn_id, None if holder is None else holder.id)
        if not is_new and self._continues(name, turn_id):
            return name  # continued here since: it leads to more than the file has
        holders = self._listed()
        for each in (turn_id, *turns):
            for ours in self._names.get(each, ()):
                if ours.startswith(f"{name}-") and ours[len(name) + 1 :].isdecimal():
                    return self._put(ours, turn_id, each)
        number = 2
        while (candidate := f"{name}-{number}") in holders:
            if not is_new and holders[candidate] > turn_id and self._continues(candidate, turn_id):
                return candidate
            number += 1
        return self._put(candidate, turn_id, None)

    def _continues(self, name: str, turn_id: str) -> bool:
        """Tell whether a name is on a turn that continues another one."""
        holder = self._writer.bookmark_spot(name)
        return holder is not None and self._writer.descends([holder.seq], find(self._writer, turn_id).seq)

    def _put(self, name: str, turn_id: str, holder_id: str | None) -> str:
        if holder_id != turn_id:
            point(self._writer, name, find(self._writer, turn_id).seq, turn_id)
            if self._holders is not None:
                self._holders[name] = turn_id
                self._names.setdefault(turn_id, []).append(name)
                if holder_id is not None:
                    self._names[holder_id].remove(name)
        return name

    def _listed(self) -> dict[str, str]:
        if self._holders is None:
            self._holders = {row.name: row.id for row in self._writer.bookmarks()}
            for name, turn_id in self._holders.items():
                self._names.setdefault(turn_id, []).append(name)
        return self._holders
