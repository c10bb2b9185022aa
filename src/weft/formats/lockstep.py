"""A long conversation beside what is read back of it, entry by entry, in memory that does not grow with it.

Entries of both sides come in order. Two that say the same belong together; where they do not, a window of both is lined
up. Of what was compared, only hashes of ids are kept, to tell what points where; of lines that are no talk, hashes of
the last ones.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from weft.canon import Closing, Entry, Opening, Piece, Session, Stray
from weft.formats.compare import Difference, alike, entry_differences, gist, session_differences

__all__ = ["Lockstep"]

WINDOW = 128  # entries of each side that are lined up where they differ
STRAYS_HELD = 4096  # that may yet be found; of a format that has no place for them, none ever is
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
        self._strays: OrderedDict[int, list[int]] = OrderedDict()  # by the hash of each, which of those given it is
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
                self._strays.setdefault(hash((piece.format, piece.text)), []).append(self._stray_count)
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
            name = hash((piece.format, piece.text))
            if numbers := self._strays.get(name):
                numbers.pop()
                if not numbers:
                    del self._strays[name]
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
        """Compare the entries that certainly belong together; what was not found for long is gone."""
        while len(self._strays) > STRAYS_HELD:
            yield from _gone(self._strays.popitem(last=False)[1])
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
        for numbers in self._strays.values():
            yield from _gone(numbers)
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
        before, after = self._ends
        mine = _places(self._given_ids, (*(turn[1] for turn in self._turns), before.heads.values(), (before.current,)))
        theirs = _places(self._found_ids, (*(turn[2] for turn in self._turns), after.heads.values(), (after.current,)))
        # What an entry was read back as stands at another place there; an id that no entry has stands for itself.
        twins = {name: self._twins[at] for name, at in mine.items()}
        for i, given, found in self._turns:
            if [twins.get(hash(each), each) for each in given] != [theirs.get(hash(each), each) for each in found]:
                yield Difference(f"entries[{i}].parent_ids", given, found)
        for name, target in before.heads.items():
            there = after.heads.get(name)
            if there is None or twins.get(hash(target), target) != theirs.get(hash(there), there):
                yield Difference(f"heads[{name!r}]", target, there)
        for name in after.heads.keys() - before.heads.keys():
            yield Difference("heads", None, name)
        current = _current(before, self._given_ids, mine)
        if (None if current is None else self._twins[current]) != _current(after, self._found_ids, theirs):
            yield Difference("current", before.current, after.current)


def _gone(strays: list[int]) -> Iterator[Difference]:
    return (Difference(f"strays[{number}]", "a line", None) for number in strays)


def _places(ids: array[int], wanted: Iterable[Iterable[str | None]]) -> dict[int, int]:
    """Give the places of some entries by the hashes of their ids, all found in one go."""
    names = {hash(each) for some in wanted for each in some}
    places: dict[int, int] = {}
    for at, name in enumerate(ids):
        if name in names:
            places.setdefault(name, at)
    return places


def _current(end: Closing, ids: array[int], places: dict[int, int]) -> int | None:
    if end.current is None:
        return len(ids) - 1 if ids else None
    return places.get(hash(end.current))
