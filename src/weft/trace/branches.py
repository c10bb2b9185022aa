"""The picture of a forest of requests: a row for each, a column for each branch, and the lines between them.

Pure functions, usable without a browser (section 9 of the trace format; docs/reference/trace-format.md). Nothing
recurses: a thread may be longer than Python's stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from weft.trace.board import Board

__all__ = ["Curve", "Geometry", "Line", "Placed", "geometry", "layout"]

ROW_HEIGHT, COLUMN_WIDTH, LEFT_PAD = 48, 20, 14


class Node(Protocol):
    """What the layout asks of a request."""

    @property
    def id(self) -> str: ...
    @property
    def parent_id(self) -> str | None: ...
    @property
    def timestamp(self) -> int: ...


class Placed(NamedTuple):
    """Where one request stands. `isolated` ones have neither parent nor child, branch -1 and no line."""

    id: str
    row: int
    column: int
    branch: int
    parent_id: str | None
    new_branch: bool
    isolated: bool


class Line(NamedTuple):
    """The vertical line of a branch."""

    branch: int
    x: float
    from_y: float
    to_y: float


class Curve(NamedTuple):
    """How a branch leaves its parent: an SVG path."""

    branch: int
    path: str


@dataclass(frozen=True, slots=True)
class Geometry:
    """The picture in pixels; `points` are the centres of the nodes, row by row."""

    points: list[tuple[float, float]]
    lines: list[Line]
    curves: list[Curve]
    width: int
    height: int


def layout(requests: Iterable[Node]) -> list[Placed]:
    """Place every request: rows by time, a column for each branch [C-50]."""
    nodes = sorted(requests, key=lambda node: node.timestamp)
    rows = {node.id: row for row, node in enumerate(nodes)}
    parents = _parents(nodes, rows)
    children: list[list[int]] = [[] for _ in nodes]
    roots = []
    for row, parent in enumerate(parents):
        if parent is None:
            roots.append(row)
        else:
            children[parent].append(row)
    branch, new_branch, first = _branches(roots, children)
    columns = _columns(parents, branch, new_branch, first)
    return [
        Placed(
            node.id,
            row,
            columns[branch[row]] if branch[row] >= 0 else 0,
            branch[row],
            node.parent_id,
            new_branch[row],
            branch[row] < 0,
        )
        for row, node in enumerate(nodes)
    ]


def geometry(placed: Sequence[Placed]) -> Geometry:
    """Draw a layout: points, a line a branch, a curve where a branch leaves another."""
    rows = {spot.id: spot for spot in placed}
    first: dict[int, Placed] = {}
    last: dict[int, Placed] = {}
    for spot in placed:
        if not spot.isolated:
            first.setdefault(spot.branch, spot)
            last[spot.branch] = spot
    lines, curves = [], []
    for branch, spot in first.items():
        x, opens = _point(spot)
        parent = rows.get(spot.parent_id) if spot.parent_id is not None and spot.new_branch else None
        if parent is not None:
            px, py = _point(parent)
            opens = min(py + max(ROW_HEIGHT, 0.75 * abs(x - px)), opens)
            middle = (py + opens) / 2
            curves.append(Curve(branch, f"M {px:g} {py:g} C {px:g} {middle:g} {x:g} {middle:g} {x:g} {opens:g}"))
        lines.append(Line(branch, x, opens, _point(last[branch])[1]))
    widest = max((spot.column for spot in placed), default=-1)
    return Geometry(
        [_point(spot) for spot in placed],
        lines,
        curves,
        2 * LEFT_PAD + COLUMN_WIDTH * (widest + 1),
        ROW_HEIGHT * len(placed),
    )


def _point(spot: Placed) -> tuple[float, float]:
    return LEFT_PAD + COLUMN_WIDTH * spot.column, ROW_HEIGHT * spot.row + ROW_HEIGHT / 2


def _parents(nodes: Sequence[Node], rows: Mapping[str, int]) -> list[int | None]:
    """Give the row of each parent; an unknown one makes a root, and so does one that leads back to its child."""
    parents = [rows.get(node.parent_id) if node.parent_id is not None else None for node in nodes]
    new, walked, settled = 0, 1, 2
    state = [new] * len(nodes)
    for start in range(len(nodes)):
        walk = []
        at: int | None = start
        while at is not None and state[at] == new:
            state[at] = walked
            walk.append(at)
            at = parents[at]
        if at is not None and state[at] == walked:  # a circle, forged: cut where it closes
            parents[walk[-1]] = None
        for row in walk:
            state[row] = settled
    return parents


def _branches(
    roots: Sequence[int], children: Sequence[list[int]]
) -> tuple[list[int], list[bool], dict[int, list[int]]]:
    """Number the branches depth first; the largest child stays on its parent's branch."""
    sizes = _sizes(roots, children)
    branch = [-1] * len(children)
    new_branch = [False] * len(children)
    start = 1 if any(not children[root] for root in roots) else 0
    counter = start + 1
    members: dict[int, list[int]] = {}
    is_first = True
    for root in roots:
        if not children[root]:
            continue
        branch[root] = start
        if not is_first:
            branch[root], new_branch[root], counter = counter, True, counter + 1
        is_first = False
        todo = [root]
        while todo:
            row = todo.pop()
            if branch[row] < 0:  # left for last: a later child, which takes the number that is next by now
                branch[row], new_branch[row], counter = counter, True, counter + 1
            members.setdefault(branch[row], []).append(row)
            below = sorted(children[row], key=lambda child: -sizes[child])
            if below:
                branch[below[0]] = branch[row]
            todo += reversed(below)
    return branch, new_branch, members


def _sizes(roots: Sequence[int], children: Sequence[list[int]]) -> list[int]:
    order = list(roots)
    for row in order:  # grows while it is walked
        order += children[row]
    sizes = [1] * len(children)
    for row in reversed(order):
        sizes[row] += sum(sizes[child] for child in children[row])
    return sizes


def _columns(
    parents: Sequence[int | None], branch: Sequence[int], new_branch: Sequence[bool], members: Mapping[int, list[int]]
) -> dict[int, int]:
    """Give each branch the lowest column in which its rows are free; touching rows are not."""
    start = 1 if any(number < 0 for number in branch) else 0
    board = Board()
    columns = {}
    for number in sorted(members):
        rows = members[number]
        first, last = min(rows), max(rows)
        parent = parents[first]
        if new_branch[first] and parent is not None:
            first, last = min(first, parent), max(last, parent)
        columns[number] = start + board.place(first, last)
    return columns
