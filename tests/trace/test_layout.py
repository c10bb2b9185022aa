from __future__ import annotations

import time
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from weft.trace import Curve, Line, diff, geometry, layout
from weft.trace.board import Board


@dataclass
class Node:
    id: str
    timestamp: int = 0
    parent_id: str | None = None


def nodes(*given_nodes: str) -> list[Node]:
    """Give nodes in time order: `b<a` is b, which continues a."""
    found = []
    for at, text in enumerate(given_nodes):
        own, _, parent = text.partition("<")
        found.append(Node(own, at, parent or None))
    return found


EXAMPLE = nodes("a", "solo", "b<a", "c<a", "d<c", "e<d", "f<d", "x", "y<x")


def test_the_example_of_the_specification_is_placed_as_it_says() -> None:
    """Section 9; C-50."""
    placed = {spot.id: spot for spot in layout(reversed(EXAMPLE))}

    assert {name: (spot.row, spot.branch, spot.column) for name, spot in placed.items()} == {
        "a": (0, 1, 1),
        "solo": (1, -1, 0),
        "b": (2, 3, 2),
        "c": (3, 1, 1),
        "d": (4, 1, 1),
        "e": (5, 1, 1),
        "f": (6, 2, 2),
        "x": (7, 4, 1),
        "y": (8, 4, 1),
    }
    assert [name for name, spot in placed.items() if spot.new_branch] == ["b", "f", "x"]
    assert [name for name, spot in placed.items() if spot.isolated] == ["solo"]
    assert placed["f"].parent_id == "d"


def test_the_example_is_drawn_as_the_specification_says() -> None:
    """Section 9, steps 6 and 7."""
    picture = geometry(layout(EXAMPLE))

    assert (picture.width, picture.height) == (88, 432)
    assert list(picture.points[6]) == [54, 312]
    assert set(picture.lines) == {
        Line(1, 34, 24, 264),
        Line(3, 54, 72, 120),
        Line(2, 54, 264, 312),
        Line(4, 34, 360, 408),
    }
    assert set(picture.curves) == {Curve(3, "M 34 24 C 34 48 54 48 54 72"), Curve(2, "M 34 216 C 34 240 54 240 54 264")}
    assert geometry([]).width == 28


def test_an_unknown_parent_makes_a_root_and_without_isolated_nodes_columns_begin_at_0() -> None:
    placed = layout(nodes("a<gone", "b<a"))

    assert [(spot.branch, spot.column, spot.isolated) for spot in placed] == [(0, 0, False), (0, 0, False)]


def test_a_long_thread_and_a_circle_are_laid_out() -> None:
    """C-47: parents are earlier, but a forged file may say otherwise."""
    long = layout(nodes("n0", *(f"n{at}<n{at - 1}" for at in range(1, 5_000))))
    circle = layout([Node("a", 0, "b"), Node("b", 1, "a"), Node("c", 2, "c")])

    assert {(spot.branch, spot.column) for spot in long} == {(0, 0)}
    assert len(circle) == 3


@given(st.lists(st.integers(-1, 30), max_size=31))
def test_branches_never_share_a_row_of_a_column(parents: list[int]) -> None:
    given_nodes = [Node(f"n{at}", at, f"n{up}" if 0 <= up < at else None) for at, up in enumerate(parents)]
    placed = layout(given_nodes)
    rows = {spot.id: spot for spot in placed}
    taken: dict[tuple[int, int], int] = {}

    for branch in {spot.branch for spot in placed if not spot.isolated}:
        members = [spot for spot in placed if spot.branch == branch]
        first = members[0].row
        if members[0].new_branch and members[0].parent_id in rows:
            first = rows[members[0].parent_id].row
        for row in range(first, members[-1].row + 1):
            assert taken.setdefault((members[0].column, row), branch) == branch
        assert {spot.column for spot in members} == {members[0].column}


def plain_columns(spans: list[tuple[int, int]]) -> list[int]:
    """Look at one column after the other."""
    taken: list[list[tuple[int, int]]] = []
    columns = []
    for first, last in spans:
        is_free = [all(last < begin or end < first for begin, end in column) for column in taken]
        columns.append(is_free.index(True) if True in is_free else len(taken))
        taken += [[] for _ in range(columns[-1] + 1 - len(taken))]
        taken[columns[-1]].append((first, last))
    return columns


@given(st.lists(st.tuples(st.integers(0, 40), st.one_of(st.integers(0, 4), st.integers(0, 40))), max_size=60))
def test_every_span_takes_the_lowest_column_that_is_free(given_spans: list[tuple[int, int]]) -> None:
    """C-50: as if every column were looked at, also for spans that come in no order."""
    spans = [(first, first + length) for first, length in given_spans]
    board = Board()

    assert [board.place(first, last) for first, last in spans] == plain_columns(spans)


def test_twenty_thousand_conversations_that_run_at_once_are_laid_out() -> None:
    """C-50, W-11: a column for each of them, and those of the first are taken again by who comes later."""
    count = 20_000
    names = [f"n{at}" for at in range(3 * count)]
    wide = [Node(name, at, names[at - count] if at >= count else None) for at, name in enumerate(names)]
    later = [Node("later", 3 * count), Node("last", 3 * count + 1, "later")]
    began = time.process_time()
    placed = layout([*wide, *later])

    assert [spot.column for spot in placed[:count]] == list(range(count))
    assert placed[-1].column == 0
    assert time.process_time() - began < 10  # one after the other it was minutes


def plain_diff(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """Section 10 by the table: walk back, the new side first on equal lengths; deletions before additions."""
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(1, len(old) + 1):
        for j in range(1, len(new) + 1):
            same = old[i - 1] == new[j - 1]
            table[i][j] = table[i - 1][j - 1] + 1 if same else max(table[i - 1][j], table[i][j - 1])
    i, j = len(old), len(new)
    out: list[tuple[str, str]] = []
    gone: list[tuple[str, str]] = []
    come: list[tuple[str, str]] = []
    while i or j:
        if i and j and old[i - 1] == new[j - 1]:
            out += [*come, *gone, ("unchanged", new[j - 1])]
            gone, come, i, j = [], [], i - 1, j - 1
        elif j and (not i or table[i][j - 1] >= table[i - 1][j]):
            come.append(("added", new[j - 1]))
            j -= 1
        else:
            gone.append(("deleted", old[i - 1]))
            i -= 1
    return [*out, *come, *gone][::-1]


ids = st.lists(st.sampled_from("abcd"), max_size=9)


@given(ids, ids)
def test_a_diff_is_the_published_one(old: list[str], new: list[str]) -> None:
    """C-52: also where a message comes again, and which of two equal ways is taken."""
    result = diff(old, new)

    assert [tuple(item) for item in result.items] == plain_diff(old, new)
    assert result.added + result.unchanged == len(new)
    assert result.deleted + result.unchanged == len(old)


def test_a_diff_is_that_of_the_specification_and_of_a_root_all_added() -> None:
    """C-51, C-52."""
    result = diff(["m0", "m1", "m4", "m5"], ["m0", "m1", "m4", "m5", "m9"])

    assert [(item.kind, item.id) for item in result.items[-2:]] == [("unchanged", "m5"), ("added", "m9")]
    assert (result.unchanged, result.added, result.deleted) == (4, 1, 0)
    assert [item.kind for item in diff([], ["m0", "m1"]).items] == ["added", "added"]
