"""What a request adds to the one it continues: the longest common subsequence of two lists of message ids.

Published as section 10 of the trace format: deletions come before additions, and where two ways are equally long the
new side is stepped first, walking back from the end. The table of the algorithm is kept as one integer a row, a bit for
each place where the length grows, so that two lists of thousands take milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["DiffItem", "DiffResult", "diff"]

Kind: TypeAlias = Literal["unchanged", "added", "deleted"]


class DiffItem(NamedTuple):
    """One message of the comparison."""

    kind: Kind
    id: str


@dataclass(frozen=True, slots=True)
class DiffResult:
    """A comparison in order, and how many there are of each kind."""

    items: list[DiffItem]
    added: int
    deleted: int
    unchanged: int


def diff(old_ids: Sequence[str], new_ids: Sequence[str]) -> DiffResult:
    """Compare the messages of a parent (request and response) with those of a request [C-51, C-52]."""
    start = _common_start(old_ids, new_ids)
    old_end, new_end = len(old_ids), len(new_ids)
    while old_end > start and new_end > start and old_ids[old_end - 1] == new_ids[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    items = [DiffItem("unchanged", each) for each in new_ids[:start]]
    items += _middle(old_ids[start:old_end], new_ids[start:new_end])
    items += [DiffItem("unchanged", each) for each in new_ids[new_end:]]
    counts = Counter(item.kind for item in items)
    return DiffResult(items, counts["added"], counts["deleted"], counts["unchanged"])


def _common_start(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the beginning that is surely unchanged: an id that comes again may belong to its later place instead."""
    often = {each for ids in (old, new) for each, count in Counter(ids).items() if count > 1}
    start = 0
    for mine, theirs in zip(old, new, strict=False):
        if mine != theirs or mine in often:
            break
        start += 1
    return start


def _middle(old: Sequence[str], new: Sequence[str]) -> list[DiffItem]:
    grows = _table(old, new)
    backwards: list[DiffItem] = []
    deleted: list[DiffItem] = []
    added: list[DiffItem] = []

    def close() -> None:  # the steps since the last common message, deletions to come first
        backwards.extend(added)
        backwards.extend(deleted)
        added.clear()
        deleted.clear()

    i, j = len(old), len(new)
    while i or j:
        if i and j and old[i - 1] == new[j - 1]:
            close()
            i, j = i - 1, j - 1
            backwards.append(DiffItem("unchanged", new[j]))
        elif j and (not i or not grows[i] >> (j - 1) & 1):
            j -= 1
            added.append(DiffItem("added", new[j]))
        else:
            i -= 1
            deleted.append(DiffItem("deleted", old[i]))
    close()
    return backwards[::-1]


def _table(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Give a row for each beginning of `old`: a bit for each message of `new` that makes the common part longer.

    Hyyro's form of the bit-parallel recurrence ("Bit-parallel LCS-length computation revisited", 2004).
    """
    if not old or not new:
        return [0] * (len(old) + 1)
    where: dict[str, int] = {}
    for at, each in enumerate(new):
        where[each] = where.get(each, 0) | 1 << at
    full = (1 << len(new)) - 1
    same = full
    rows = [0]
    for each in old:
        step = same & where.get(each, 0)
        same = (same + step | same - step) & full
        rows.append(full & ~same)
    return rows
