"""A board of columns: each span of rows goes to the lowest column in which it is free, however many columns there are.

Ten thousand conversations that run at once have ten thousand columns, so they are not looked at one by one. The spans
of a column never overlap, hence the one that begins last at or before a row also ends last: a column is free from
`first` to `last` exactly if the last span that begins by `last` ends before `first`. That end, by row, is a staircase
that only rises; the lower of two staircases is one too, and says whether either column is free. A tree of these over
all columns leads to the lowest free one in as many steps as the number of columns has bits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

__all__ = ["Board"]

_NEVER = -1  # before the first span of a column has begun


class _Stairs:
    """Steps up: from row `starts[n]` on the height is `ends[n]`."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def at(self, row: int) -> int:
        """Give the height at a row."""
        step = bisect_right(self.starts, row)
        return self.ends[step - 1] if step else _NEVER

    def after(self, row: int, until: int | None) -> int | None:
        """Give the next step above a row, or `until` if that comes first."""
        step = bisect_right(self.starts, row)
        if step == len(self.starts):
            return until
        found = self.starts[step]
        return found if until is None or found < until else until

    def insert(self, first: int, last: int) -> int | None:
        """Add a span that is free here; give where the next one begins."""
        step = bisect_left(self.starts, first)
        self.starts.insert(step, first)
        self.ends.insert(step, last)
        return self.starts[step + 1] if step + 1 < len(self.starts) else None

    def become_lower_of(self, left: _Stairs, right: _Stairs, first: int, until: int | None) -> bool:
        """Take the lower of two from `first` to before `until`; tell whether that changed anything."""
        starts: list[int] = []
        ends: list[int] = []
        row: int | None = first
        height = self.at(first - 1)
        while row is not None and row != until:
            left_height, right_height = left.at(row), right.at(row)
            low = min(left_height, right_height)
            if low != height:
                starts.append(row)
                ends.append(low)
                height = low
            # The higher one only rises, so nothing happens before the lower one does.
            row = (left if left_height <= right_height else right).after(row, until)
        begin = bisect_left(self.starts, first)
        end = len(self.starts) if until is None else bisect_left(self.starts, until, begin)
        if self.starts[begin:end] == starts and self.ends[begin:end] == ends:
            return False
        self.starts[begin:end] = starts
        self.ends[begin:end] = ends
        return True


class Board:
    """Columns, and the tree above them: `levels[n][k]` is for the 2**n columns from k * 2**n on."""

    def __init__(self) -> None:
        """Begin with no column taken."""
        self._levels: list[list[_Stairs]] = [[_Stairs()]]

    def place(self, first: int, last: int) -> int:
        """Take the lowest column that is free from one row to another, both included, and give its number."""
        levels = self._levels
        if levels[-1][0].at(last) >= first:  # none is: as many columns again, all free
            levels.append([_Stairs()])
        column = 0
        for level in reversed(levels[:-1]):
            column *= 2
            if column < len(level) and level[column].at(last) >= first:
                column += 1
        for height, level in enumerate(levels):
            if column >> height == len(level):
                level.append(_Stairs())
        until = levels[0][column].insert(first, last)
        for height in range(1, len(levels)):
            below, pair = levels[height - 1], (column >> height) * 2
            if pair + 1 == len(below):
                break  # the other half is free
            node = levels[height][pair // 2]
            if not node.become_lower_of(below[pair], below[pair + 1], first, until):
                break
        return column
