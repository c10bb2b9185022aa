"""Section 8 as it is published, line by line: slow, plain, and what the forest of weft.trace must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Asked", "parents_of"]


@dataclass(frozen=True)
class Asked:
    """A request; `loose` are positions in `ask + answer` that a client may not send back [C-28]."""

    ask: tuple[str, ...]
    answer: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()
    model: str = "mint-1"
    timestamp: int = 0
    loose: frozenset[int] = frozenset()
    synthetic: bool = False


def parents_of(requests: Sequence[Asked]) -> list[int | None]:
    """Give the index of each request's parent, in input order."""
    order = sorted(range(len(requests)), key=lambda at: requests[at].timestamp)
    parents: list[int | None] = [None] * len(requests)
    for place, number in enumerate(order):
        current = requests[number]
        best: float | None = None
        parent = None
        for earlier in order[:place]:
            candidate = requests[earlier]
            if candidate.model != current.model:
                continue
            tools = len(candidate.tools ^ current.tools)
            score = -levenshtein(_prefix(candidate, current), current.ask) - 0.5 * tools
            if best is None or score >= best:  # the most recent of equals
                best, parent = score, earlier
        if best is not None and best >= -0.5 * len(current.ask):
            parents[number] = parent
    return parents


def _prefix(candidate: Asked, current: Asked) -> tuple[str, ...]:
    full = candidate.ask + (() if candidate.synthetic else candidate.answer)
    return tuple(each for at, each in enumerate(full) if at not in candidate.loose or each in current.ask)


def levenshtein(one: Sequence[str], other: Sequence[str]) -> int:
    """Give the edit distance, by the table."""
    above = list(range(len(other) + 1))
    for i, mine in enumerate(one, 1):
        row = [i]
        for j, theirs in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (mine != theirs)))
        above = row
    return above[-1]
