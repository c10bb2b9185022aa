"""The account of a conversion: what was kept, what was changed and what was lost, each with its place.

A writer notes what it cannot say as it comes to it. Alike losses are counted together and only their first places are
kept, so the account of a file larger than memory is as small as any other.

Places: `entries[3].message.parts[0]`, `entries[3].usage`, `session.title`, `heads['main']`, `strays[2]`; in a file
with several conversations `transcripts[1].` comes before them, from the second on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from weft.canon import Closing, Entry, Opening, Piece, Session, Stray
from weft.errors import UsageError

__all__ = ["SESSION_FACTS", "Fate", "Ledger", "Loss"]

Fate = Literal["changed", "lost"]

# What a session can say beside its entries: what a format may lack a place for.
SESSION_FACTS = (
    "id",
    "title",
    "created",
    "updated",
    "cwd",
    "provider",
    "model",
    "instructions",
    "tools",
    "parameters",
    "extras",
)
PLACES_KEPT = 10
_ENTRY = re.compile(r"entries\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that is not in the file as it was given: where, what it was, and why."""

    place: str
    what: str
    why: str
    fate: Fate = "lost"

    def __str__(self) -> str:
        return f"{self.place}: {self.what} {self.fate}: {self.why}"


class Ledger:
    """Where a writer notes what it leaves out or changes, while it follows the pieces it writes."""

    __slots__ = ("_counts", "_entry", "_limit", "_origins", "_stray", "_transcript", "kept", "losses")

    def __init__(self, *, places: int | None = PLACES_KEPT) -> None:
        """Keep the first `places` of each kind of loss; None keeps all."""
        self.losses: list[Loss] = []
        self.kept: Counter[str] = Counter()
        self._counts: Counter[tuple[Fate, str, str]] = Counter()
        self._limit = places
        self._transcript = 0
        self._entry = 0
        self._stray = 0
        self._origins: list[int] | None = None  # which entries are passed on, once one was not

    # -- noting --------------------------------------------------------------------------------------------------

    def lost(self, place: str, what: str, why: str) -> None:
        """Note something left out; `place` is inside the entry that is being written, `""` the entry itself."""
        self._note("lost", place, what, why)

    def changed(self, place: str, what: str, why: str) -> None:
        """Note something written as something else."""
        self._note("changed", place, what, why)

    def lost_part(self, part: int, what: str, why: str) -> None:
        """Note a part of the message that is left out."""
        self._note("lost", f"message.parts[{part}]", what, why)

    def lost_of_whole(self, place: str, what: str, why: str, fate: Fate = "lost") -> None:
        """Note something by its place in the transcript that is written: `session.title`, `entries[2].usage`."""
        self._add(fate, what, why, lambda: f"{self._prefix()}{self._original(place)}")

    def _note(self, fate: Fate, place: str, what: str, why: str) -> None:
        self._add(fate, what, why, lambda: f"{self.place}.{place}" if place else self.place)

    def _add(self, fate: Fate, what: str, why: str, place: Callable[[], str]) -> None:
        key = (fate, what, why)
        self._counts[key] = count = self._counts[key] + 1
        if self._limit is None or count <= self._limit:
            self.losses.append(Loss(place(), what, why, fate))

    @property
    def place(self) -> str:
        """The place of the entry that is being written."""
        return f"{self._prefix()}entries[{self._entry - 1}]"

    def _prefix(self) -> str:
        return f"transcripts[{self._transcript - 1}]." if self._transcript > 1 else ""

    # -- following -----------------------------------------------------------------------------------------------

    def follow(self, pieces: Iterable[Piece], only_one: str | None = None) -> Iterator[Piece]:
        """Pass pieces on, knowing at each which it is. A format named `only_one` holds one conversation a file."""
        begun = False
        for piece in pieces:
            if piece.__class__ is Entry:
                self._entry += 1
            elif isinstance(piece, Stray):
                self._stray += 1
            elif isinstance(piece, Opening):
                if begun and only_one:
                    raise UsageError(
                        f"a {only_one} file holds one conversation, and there are more\n"
                        "  write one file each: give a folder, -o folder/"
                    )
                begun = True
                self._transcript += 1
                self._entry = self._stray = 0
                self._origins = None
            elif isinstance(piece, Closing):
                self.kept["message"] += self._entry
                self.kept["conversation"] += 1
            yield piece

    def skipped(self) -> None:
        """Say that the entry that was just followed is not passed on: those after it have other numbers now."""
        self.kept["message"] -= 1
        if self._origins is None:
            self._origins = list(range(self._entry - 1))

    def passed(self) -> None:
        """Say that the entry that was just followed is passed on."""
        if self._origins is not None:
            self._origins.append(self._entry - 1)

    def _original(self, place: str) -> str:
        """Give a place in what is written as the place in what was given."""
        if self._origins is None or (found := _ENTRY.match(place)) is None or int(found[1]) >= len(self._origins):
            return place
        return f"entries[{self._origins[int(found[1])]}]{place[found.end() :]}"

    def unsaid_of_entry(self, entry: Entry, name: str) -> None:
        """Note what an entry says beside its message, for a format `name` without a place for any of it.

        This is asked of every entry, so only what is said is looked at twice.
        """
        message = entry.message
        why = f"{name} has no place for it"
        if not entry.id.isdecimal():  # numbers are places, not ids
            self.lost("id", "id", why)
        if entry.timestamp is not None:
            self.lost("message.timestamp", "timestamp", why)
        if entry.model:
            self.lost("model", "model", why)
        if message.provider is not None:
            self.lost("message.provider", "provider", why)
        if entry.finish_reason:
            self.lost("finish_reason", "finish reason", why)
        if entry.usage:
            self.lost("usage", "usage", why)
        if entry.plain_extras or (entry.plain_extras is None and entry.extras):
            self.lost("extras", "extras", why)
        if message.turn_id is not None:
            self.lost("message.turn_id", "turn id", why)

    def unsaid_of_session(self, session: Session, lacking: Iterable[str], name: str) -> None:
        """Note the facts of a session that the format `name` has no place for."""
        for fact in lacking:
            if getattr(session, fact):
                what = f"the session's {fact}"
                self.lost_of_whole(f"session.{fact}", what, f"{name} has no place for it")

    def unsaid_stray(self, stray: Stray, name: str) -> None:
        """Note a line that only another format understands."""
        why = f"only {stray.format} understands it" if stray.format != name else f"{name} cannot take it back"
        self.lost_of_whole(f"strays[{self._stray - 1}]", "an unknown line", why)

    def unsaid_heads(self, closing: Closing, name: str) -> None:
        """Note the names of heads that the format `name` has no place for."""
        for head in closing.heads:
            self.lost_of_whole(f"heads[{head!r}]", "a bookmark", f"{name} has no place for it")

    # -- telling -------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many things were lost or changed, kept places or not."""
        return self._counts.total()

    @property
    def totals(self) -> list[tuple[Fate, str, str, int]]:
        """Each kind of loss with its number: fate, what, why, how many."""
        return [(*key, count) for key, count in self._counts.items()]

    def to_dict(self) -> dict[str, Any]:
        """Give the account as plain data."""
        kinds = []
        for fate, what, why, count in self.totals:
            places = [loss.place for loss in self.losses if (loss.fate, loss.what, loss.why) == (fate, what, why)]
            kinds.append({"fate": fate, "what": what, "why": why, "count": count, "places": places})
        return {"kept": dict(self.kept), "losses": kinds}
