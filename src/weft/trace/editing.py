"""How many messages must be inserted, deleted or replaced to make one list of another.

Levenshtein's distance with unit costs, over ids. What both lists begin and end with is left out; the rest is compared
with Myers' bit-parallel recurrence ("A fast bit-vector algorithm for approximate string matching", 1999) in Hyyro's
form, one column an integer of any size, so a thousand messages against a thousand take about a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["distance"]


def distance(one: Sequence[str], other: Sequence[str], most: int | None = None, shared: int = 0) -> int:
    """Give the edit distance, or something above `most` if it is above. The first `shared` are known to be equal."""
    start = shared
    end_one, end_other = len(one), len(other)
    shortest = min(end_one, end_other)
    while start < shortest and one[start] == other[start]:
        start += 1
    while end_one > start and end_other > start and one[end_one - 1] == other[end_other - 1]:
        end_one, end_other = end_one - 1, end_other - 1
    if start in (end_one, end_other):
        return max(end_one, end_other) - start
    if most is not None and abs(end_one - end_other) > most:
        return abs(end_one - end_other)
    left, right = one[start:end_one], other[start:end_other]
    if set(left).isdisjoint(right):
        return max(len(left), len(right))
    return _myers(left, right) if len(left) <= len(right) else _myers(right, left)


def _myers(pattern: Sequence[str], text: Sequence[str]) -> int:
    where: dict[str, int] = {}
    for at, each in enumerate(pattern):
        where[each] = where.get(each, 0) | 1 << at
    full = (1 << len(pattern)) - 1
    last = 1 << len(pattern) - 1
    up, down = full, 0  # where the column above grows, and where it falls
    score = len(pattern)
    for each in text:
        equal = where.get(each, 0)
        level = equal | down
        across = ((equal & up) + up ^ up) | equal
        rises = down | ~(across | up) & full
        falls = up & across
        if rises & last:
            score += 1
        elif falls & last:
            score -= 1
        rises = (rises << 1 | 1) & full
        up = (falls << 1 & full) | ~(level | rises) & full
        down = rises & level
    return score
