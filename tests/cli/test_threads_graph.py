"""Drawing trees: lanes that never break, whatever continues what."""

from __future__ import annotations

import click
from hypothesis import given
from hypothesis import strategies as st

from weft.cli.graph import draw
from weft.threads import TreeNode

UP = set("│╯╰┴┤├┼")
DOWN = set("│╮╭┬┤├┼")


@st.composite
def trees(make: st.DrawFn) -> list[TreeNode]:
    """Turns, children first, each continuing up to three of those that come after it."""
    count = make(st.integers(1, 25))
    nodes = []
    for number in range(count):
        later = range(number + 1, count)
        parents = make(st.lists(st.sampled_from(later), max_size=3, unique=True)) if later else []
        nodes.append(TreeNode(str(number), tuple(str(parent) for parent in parents)))
    return nodes


def rows(nodes: list[TreeNode]) -> list[tuple[str, str | None]]:
    return [(drawing.rstrip(), turn_id) for drawing, turn_id in draw(nodes, coloured=False)]


def pictures(*nodes: tuple[str, str]) -> list[str]:
    return [drawing for drawing, _ in rows([TreeNode(turn_id, tuple(parents)) for turn_id, parents in nodes])]


@given(trees())
def test_every_line_goes_on_until_it_meets_a_turn(nodes: list[TreeNode]) -> None:
    drawn = rows(nodes)
    parents = {node.id: node.parents for node in nodes}

    assert [turn_id for _, turn_id in drawn if turn_id] == [node.id for node in nodes]
    for (above, above_id), (below, _) in zip(drawn, [*drawn[1:], ("", None)], strict=True):
        for place in range(0, max(len(above), len(below)), 2):
            upper, lower = above[place : place + 1] or " ", below[place : place + 1] or " "
            if lower == "●":
                continue  # a turn may be an end, and then nothing comes down to it
            goes_on = bool(parents[above_id or ""]) if upper == "●" else upper in DOWN
            assert goes_on == (lower in UP), (above, below)


@given(trees())
def test_plain_drawings_are_ascii_and_coloured_ones_say_the_same(nodes: list[TreeNode]) -> None:
    plain = [drawing for drawing, _ in draw(nodes, plain=True, coloured=False)]
    coloured = [click.unstyle(drawing) for drawing, _ in draw(nodes)]

    assert all(drawing.isascii() for drawing in plain)
    assert coloured == [drawing for drawing, _ in draw(nodes, coloured=False)]


def test_a_fork_a_join_and_a_diamond_are_drawn() -> None:
    assert pictures(("x", "ab"), ("a", "r"), ("b", "r"), ("r", "")) == ["●", "├─╮", "● │", "│ ●", "├─╯", "●"]


def test_three_parents_are_drawn_at_once() -> None:
    assert pictures(("x", "abc"), ("a", ""), ("b", ""), ("c", "")) == ["●", "├─┬─╮", "● │ │", "  ● │", "    ●"]


def test_a_line_crosses_a_lane_without_touching_it() -> None:
    assert pictures(("a", "r"), ("b", "s"), ("c", "r"), ("r", ""), ("s", "")) == [
        "●",
        "│ ●",
        "│ │ ●",
        "├─│─╯",
        "● │",
        "  ●",
    ]


def test_what_goes_on_ends_up_on_the_left() -> None:
    assert pictures(("a", "x"), ("b", "y"), ("y", "x"), ("x", "r"), ("r", "")) == ["●", "│ ●", "│ ●", "├─╯", "●", "●"]


def test_many_looks_are_not_all_remembered() -> None:
    forks = [TreeNode(f"b{n}", (f"t{n}",)) for n in range(350)]
    trunk = [TreeNode(f"t{n}", (f"t{n + 1}",) if n < 349 else ()) for n in range(350)]

    assert sum(turn_id is not None for _, turn_id in draw([*forks, *trunk])) == 700
