"""Drawing a tree of turns beside their lines: lanes, forks and joins, one row after another.

Lanes are kept by the turn they wait for, and no two wait for the same one: a branch joins as soon as its parent has a
lane. So a thousand branches from one turn take two lanes, not a thousand.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Protocol

import click

__all__ = ["Node", "draw"]

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = {
    0: " ",
    _UP | _DOWN: "│",
    _LEFT | _RIGHT: "─",
    _UP | _LEFT: "╯",
    _UP | _RIGHT: "╰",
    _DOWN | _LEFT: "╮",
    _DOWN | _RIGHT: "╭",
    _UP | _LEFT | _RIGHT: "┴",
    _DOWN | _LEFT | _RIGHT: "┬",
    _UP | _DOWN | _LEFT: "┤",
    _UP | _DOWN | _RIGHT: "├",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
}
_ASCII = str.maketrans("│─╯╰╮╭┴┬┤├┼●○", "|-'`..+++|+*o")
_PASSED = 16  # a lane that a line crosses without touching it
_REMEMBERED = 1000
_COLOURS = ("blue", "magenta", "cyan", "green", "red", "yellow")


class Node(Protocol):
    """What is drawn: a turn or a request, and those it continues."""

    @property
    def id(self) -> str:
        """What it is called."""
        ...

    @property
    def parents(self) -> Sequence[str]:
        """Those it continues."""
        ...


def draw(
    nodes: Iterable[Node], *, plain: bool = False, coloured: bool = True, roots: Container[str] = ()
) -> Iterator[tuple[str, str | None]]:
    """Give rows from the top down: (drawing, id of the turn on it), or no id where lanes only fork or join.

    `plain` draws with ASCII. `roots` have a mark of their own: where a lane ends and the next begins is hard to see.
    """
    pen = _Pen(plain=plain, coloured=coloured)
    lanes: list[str | None] = []
    done: set[str] = set()
    for node in nodes:
        at = _lane_of(node.id, lanes)
        lanes[at] = node.id
        yield pen.row([_UP | _DOWN if lane else 0 for lane in lanes], at, "○" if node.id in roots else "●"), node.id
        done.add(node.id)
        row = _advance(lanes, at, [parent for parent in node.parents if parent not in done])  # done: a circle
        if row is not None:
            yield pen.row(row), None
        while lanes and lanes[-1] is None:
            lanes.pop()


def _lane_of(turn_id: str, lanes: list[str | None]) -> int:
    for wanted in (turn_id, None):
        if wanted in lanes:
            return lanes.index(wanted)
    lanes.append(None)
    return len(lanes) - 1


def _advance(lanes: list[str | None], at: int, parents: Sequence[str]) -> list[int] | None:
    """Let a turn's lane wait for its parents; give the row that forks and joins lanes, if one is needed.

    Two lanes that wait for the same turn become one, the left one, so that what goes on ends up on the left.
    """
    lanes[at] = None
    if not parents:
        return None
    row = [_UP | _DOWN if lane is not None else 0 for lane in lanes]
    row[at] = _UP
    ends = {at}
    first, *others = parents
    if first in lanes:
        other = lanes.index(first)
        ends.add(other)
        lanes[other] = None
        row[other] = _UP
        at = min(at, other)
    lanes[at] = first
    row[at] |= _DOWN
    for parent in others:
        if parent in lanes:
            place = lanes.index(parent)
        else:
            place = next((i for i in range(at + 1, len(lanes)) if lanes[i] is None), len(lanes))
            if place == len(lanes):
                lanes.append(None)
                row.append(0)
            lanes[place] = parent
            row[place] |= _DOWN
        ends.add(place)
    if len(ends) == 1:
        return None
    low, high = min(ends), max(ends)
    for place in range(low, high + 1):
        if place in ends or not row[place]:
            row[place] |= (_LEFT if place > low else 0) | (_RIGHT if place < high else 0)
        else:
            row[place] |= _PASSED
    return row


class _Pen:
    """Draws rows. Most rows of a long thread look like the one before, so each look is drawn once."""

    def __init__(self, *, plain: bool, coloured: bool) -> None:
        self._plain = plain
        self._coloured = coloured
        self._drawn: dict[tuple[int | None, str, tuple[int, ...]], str] = {}

    def row(self, masks: Sequence[int], node_at: int | None = None, mark: str = "") -> str:
        key = node_at, mark, tuple(masks)
        found = self._drawn.get(key)
        if found is None:
            if len(self._drawn) > _REMEMBERED:
                self._drawn.clear()
            found = self._drawn[key] = self._draw(masks, node_at, mark)
        return found

    def _draw(self, masks: Sequence[int], node_at: int | None, mark: str) -> str:
        pieces = []
        last = len(masks) if node_at is not None else max(place for place, mask in enumerate(masks) if mask)
        for place, mask in enumerate(masks[: last + 1]):
            glyph = mark if place == node_at else _LINES[mask & ~_PASSED]
            runs_on = mask & (_RIGHT | _PASSED)
            piece = glyph + ("─" if runs_on else " " if place < last else "")
            if self._plain:
                piece = piece.translate(_ASCII)
            if self._coloured and piece.strip():
                piece = click.style(piece, fg=_COLOURS[place % len(_COLOURS)], bold=place == node_at)
            pieces.append(piece)
        return "".join(pieces)
