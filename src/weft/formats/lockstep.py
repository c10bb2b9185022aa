"""A long conversation beside what is read back of it, entry by entry, in memory that does not grow with it.

Entries of both sides come in order. Two that say the same belong together; where they do not, a window of both is lined
up. Of what was compared, only hashes of ids are kept, to tell what points where.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from difflib import SequenceMatcher

from weft.canon import Closing, Entry, Opening, Piece, Session, Stray
from weft.formats.compare import Difference, alike, entry_differences, gist, session_differences

__all__ = ["Lockstep"]

WINDOW = 128  # entries of each side that are lined up where they differ
GONE = -1


class Lockstep:
    """What was given and what was found, as far as they were not compared yet; `differences` compares what it can."""

    def __init__(self) -> None:
        """Start with nothing on either side."""
        self._given: deque[Entry] = deque()
        self._found: deque[Entry] = deque()
        self._given_ids, self._found_ids = array("q"), array("q")  # hashes of them, in order
        self._twins = array("q")  # which found entry each given one is
        self._pairs = 0
        self._last: tuple[str, str] | None = None  # the ids of the two that were compared last
        self._turns: list[tuple[int, tuple[str, ...], tuple[str, ...]]] = []  # those that continue another one
        self._strays: dict[tuple[str, str], list[int]] = {}
        self._stray_count = 0
        self._sessions = [Session(), Session()]
        self._ends = [Closing(), Closing()]

    @property
    def has_more(self) -> bool:
        """Tell whether entries were found that are none of those given."""
        return self._pairs < len(self._found_ids)

    def watch(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """Pass on the pieces that are written."""
        for piece in pieces:
            if piece.__class__ is Entry:
                self._given.append(piece)
                self._given_ids.append(hash(piece.id))
                self._twins.append(GONE)
            elif isinstance(piece, Stray):
                self._strays.setdefault((piece.format, piece.text), []).append(self._stray_count)
                self._stray_count += 1
            else:
                self._note_ends(0, piece)
            yield piece

    def find(self, piece: Piece) -> None:
        """Take a piece that was read back."""
        if piece.__class__ is Entry:
            self._found.append(piece)
            self._found_ids.append(hash(piece.id))
        elif isinstance(piece, Stray):
            numbers = self._strays.get((piece.format, piece.text))
            if numbers:
                numbers.pop()
                if not numbers:
                    del self._strays[piece.format, piece.text]
        else:
            self._note_ends(1, piece)

    def _note_ends(self, side: int, piece: Opening | Closing | Entry | Stray) -> None:
        if isinstance(piece, Opening):
            self._sessions[side] = piece.session
        elif isinstance(piece, Closing):
            self._ends[side] = piece
            self._sessions[side] = piece.session or self._sessions[side]

    # -- comparing -----------------------------------------------------------------------------------------------

    def differences(self) -> Iterator[Difference]:
        """Compare the entries that certainly belong together."""
        while self._given and self._found:
            if alike(self._given[0], self._found[0]):
                yield from self._pair()
            elif len(self._found) < WINDOW:
                return
            else:
                yield from self._lined_up(is_end=False)

    def rest(self) -> Iterator[Difference]:
        """Compare what is left when both sides have ended."""
        yield from self.differences()
        if len(self._given) == len(self._found):  # nothing is missing, so each is what it became
            while self._given:
                yield from self._pair()
        else:
            yield from self._lined_up(is_end=True)
        yield from session_differences(*self._sessions)
        for (_, text), numbers in self._strays.items():
            for number in numbers:
                yield Difference(f"strays[{number}]", text, None)
        yield from self._shape()

    def _pair(self) -> Iterator[Difference]:
        """Compare the first of both."""
        i, j = len(self._given_ids) - len(self._given), len(self._found_ids) - len(self._found)
        one, other = self._given.popleft(), self._found.popleft()
        self._twins[i] = j
        self._pairs += 1
        before = ((), ()) if self._last is None else ((self._last[0],), (self._last[1],))
        if (one.parent_ids, other.parent_ids) != before:
            self._turns.append((i, one.parent_ids, other.parent_ids))
        self._last = one.id, other.id
        yield from entry_differences(f"entries[{i}]", one, other)

    def _lined_up(self, *, is_end: bool) -> Iterator[Difference]:
        size = len(self._given) if is_end else 2 * WINDOW
        left = [gist(entry) for _, entry in zip(range(size), self._given, strict=False)]
        right = [gist(entry) for entry in self._found]
        steps = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        if not is_end:
            while steps and steps[-1][0] != "equal":  # what comes next may explain it
                steps.pop()
        if not steps:  # nothing of it is the same: each is what it became
            steps = [("replace", 0, min(len(left), len(right)), 0, min(len(left), len(right)))]
        for tag, i1, i2, j1, j2 in steps:
            if i2 - i1 == j2 - j1:
                for _ in range(i1, i2):
                    yield from self._pair()
                continue
            for i in range(i1, i2):
                place = len(self._given_ids) - len(self._given)
                self._given.popleft()
                yield Difference(f"entries[{place}]", left[i], None)
            if tag == "insert":
                at = len(self._found_ids) - len(self._found)
                yield Difference("entries", None, f"{j2 - j1} more at [{at}]")
            for _ in range(j1, j2):
                self._found.popleft()
            self._last = None

    # -- what points where ---------------------------------------------------------------------------------------

    def _shape(self) -> Iterator[Difference]:
        """Compare parents, where they are not simply the entry before; heads; and the current entry."""
        for i, given, found in self._turns:
            parents = [self._twin(parent) for parent in given]
            if parents != [self._place(self._found_ids, parent) for parent in found]:
                yield Difference(f"entries[{i}].parent_ids", given, found)
        before, after = self._ends
        for name, target in before.heads.items():
            there = after.heads.get(name)
            if there is None or self._twin(target) != self._place(self._found_ids, there):
                yield Difference(f"heads[{name!r}]", target, there)
        for name in after.heads.keys() - before.heads.keys():
            yield Difference("heads", None, name)
        current = self._current(before, self._given_ids)
        if (None if current is None else self._twins[current]) != self._current(after, self._found_ids):
            yield Difference("current", before.current, after.current)

    def _twin(self, given_id: str) -> int | str:
        """Give the place of what a given entry was read back as; the id itself, if no entry has it."""
        at = self._place(self._given_ids, given_id)
        return at if isinstance(at, str) else self._twins[at]

    @staticmethod
    def _place(ids: array[int], entry_id: str) -> int | str:
        try:
            return ids.index(hash(entry_id))
        except ValueError:
            return entry_id

    def _current(self, end: Closing, ids: array[int]) -> int | None:
        if end.current is None:
            return len(ids) - 1 if ids else None
        at = self._place(ids, end.current)
        return None if isinstance(at, str) else at
