"""The picture of a forest: every row placed by the layout, with what a window of it needs looked up beforehand.

Geometry is that of trace-and-cook.md section 9, in pixels. A page of a hundred thousand rows asks for a few hundred at
a time, so the lines that pass a window are found by blocks of rows, never by looking at all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.trace import Placed, geometry, layout
from weft.web.contract import GraphLine

__all__ = ["Node", "Picture", "Placed", "draw"]

ROW = 48  # pixels
_BLOCK = 128  # rows


class Node(NamedTuple):
    """What the layout asks of a request or turn."""

    id: str
    parent_id: str | None
    timestamp: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A forest, drawn."""

    version: int
    tree_id: str | None
    spots: Sequence[Placed]
    rows: Mapping[str, int]
    child: Mapping[str, str]  # the one with the largest subtree
    children: Mapping[str, Sequence[str]]
    lines: Sequence[GraphLine]
    passing: Sequence[Sequence[int]]  # lines by block of rows
    width: int
    height: int

    def window(self, offset: int, limit: int) -> tuple[Sequence[Placed], list[GraphLine]]:
        """Give some rows and the lines that pass by them."""
        spots = self.spots[offset : offset + limit]
        if not spots:
            return spots, []
        first, last = offset // _BLOCK, (offset + len(spots) - 1) // _BLOCK
        seen = dict.fromkeys(number for block in self.passing[first : last + 1] for number in block)
        top, bottom = offset * ROW, (offset + len(spots)) * ROW
        return spots, [line for n in seen if (line := self.lines[n])["to_y"] >= top and _top(line) <= bottom]

    def parent_row(self, spot: Placed) -> int | None:
        """Give the row of a row's parent."""
        return None if spot.parent_id is None else self.rows.get(spot.parent_id)


def _top(line: GraphLine) -> float:
    # A curve begins at the parent, above its line: `M x y C …`.
    return line["from_y"] if line["curve"] is None else float(line["curve"].split(" ", 3)[2])


def draw(nodes: Sequence[Node], *, version: int, tree_id: str | None = None) -> Picture:
    """Draw a forest."""
    spots = layout(nodes)
    drawn = geometry(spots)
    rows = {spot.id: spot.row for spot in spots}
    children: dict[str, list[str]] = {}
    columns: dict[int, int] = {}
    for spot in spots:
        columns.setdefault(spot.branch, spot.column)
        if spot.parent_id is not None and spot.parent_id in rows:
            children.setdefault(spot.parent_id, []).append(spot.id)
    curves = {curve.branch: curve.path for curve in drawn.curves}
    lines: list[GraphLine] = [
        {
            "branch": line.branch,
            "column": columns[line.branch],
            "x": int(line.x),
            "from_y": line.from_y,
            "to_y": line.to_y,
            "curve": curves.get(line.branch),
        }
        for line in drawn.lines
    ]
    return Picture(
        version,
        tree_id,
        spots,
        rows,
        _largest(spots, rows, children),
        children,
        lines,
        _blocks(lines, len(spots)),
        drawn.width,
        drawn.height,
    )


def _blocks(lines: Sequence[GraphLine], count: int) -> list[list[int]]:
    blocks: list[list[int]] = [[] for _ in range(count // _BLOCK + 1)]
    for number, line in enumerate(lines):
        for block in range(int(_top(line)) // (ROW * _BLOCK), int(line["to_y"]) // (ROW * _BLOCK) + 1):
            blocks[block].append(number)
    return blocks


def _largest(spots: Sequence[Placed], rows: Mapping[str, int], children: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Give every parent's child with the largest subtree, the first of equals: from the last row up."""
    sizes = [1] * len(spots)
    for spot in reversed(spots):
        above = rows.get(spot.parent_id) if spot.parent_id is not None else None
        if above is not None and above < spot.row:
            sizes[above] += sizes[spot.row]
    return {parent: max(below, key=lambda child: sizes[rows[child]]) for parent, below in children.items()}
