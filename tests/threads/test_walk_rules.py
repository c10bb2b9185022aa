"""T-31 to T-45: walking, views, merging."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.support.stores import frame_of, texts
from weft.errors import ThreadCycleError, TurnNotFoundError

A, B, C, D = (f"01{n}8v1n0c5h2t7d9k4m6p8r1s" for n in "3456")


def diamond(store: weft.Store) -> dict[str, weft.Turn]:
    """Section 6's example: R; A and B continue R; X continues B, A."""
    turns: dict[str, weft.Turn] = {}
    turns["R"] = store.add_turn("R", provider_ptr="milli", servers=["tides"])
    turns["A"] = store.add_turn("A", continues=turns["R"].id, search=True)
    turns["B"] = store.add_turn("B", continues=turns["R"].id, servers=["charts", "fish"])
    turns["X"] = store.add_turn("X", continues=[turns["B"].id, turns["A"].id], provider_ptr="kilo")
    return turns


def test_every_turn_appears_once(store: weft.Store) -> None:
    """T-31, acceptance 5: diamonds do not duplicate."""
    turns = diamond(store)

    assert texts(store.resolve(turns["X"].id)["messages"]) == ["R", "A", "B", "X"]


def test_order_is_chronological(store: weft.Store) -> None:
    """T-32: ascending id, and options of the worked example."""
    turns = diamond(store)

    resolved = store.resolve(turns["X"].id)

    assert [record["id"] for record in store.list(turns["X"].id)] == [turns[n].id for n in "RABX"]
    assert resolved["options"] == {"provider_ptr": "kilo", "servers": ["charts", "fish"], "search": True}


def test_a_parent_comes_before_its_child_whatever_their_ids(store: weft.Store) -> None:
    """T-32: topological first; ids may lie in imported data."""
    store.import_frames(
        [
            (frame_of(A, continues=[D, B]), b"last"),
            (frame_of(B, continues=[]), b"b"),
            (frame_of(D, continues=[C]), b"d"),
            (frame_of(C), b"c"),
        ]
    )

    assert texts(store.resolve(A)["messages"]) == ["b", "c", "d", "last"]
    store.import_frames([(frame_of("0298v1n0c5h2t7d9k4m6p8r1s", continues=A), b"end")])
    assert texts(store.resolve("0298v1n0c5h2t7d9k4m6p8r1s")["messages"])[-2:] == ["last", "end"]


def test_branch_order_keeps_chains_together(store: weft.Store) -> None:
    """T-33: depth first, parents in the order listed."""
    turns = diamond(store)

    assert texts(store.resolve(turns["X"].id, order="branch")["messages"]) == ["R", "B", "A", "X"]


def test_a_name_inside_continues_is_as_of_the_turn(store: weft.Store) -> None:
    """T-34: the latest carrier before the referring turn, never itself."""
    store.import_frames(
        [
            (frame_of(A, head="harbour"), b"first"),
            (frame_of(B, head="harbour", continues="harbour"), b"second"),
            (frame_of(C, head="harbour", continues=["harbour"]), b"third"),
        ]
    )

    assert texts(store.resolve("harbour")["messages"]) == ["first", "second", "third"]
    assert store.turn(C).parents == [store.turn(B)]
    assert store.frame(C).meta["continues"] == ["harbour"]


def test_a_missing_parent_is_named_with_its_child(store: weft.Store) -> None:
    """T-35; G-04: shown up to the gap when asked to."""
    store.import_frames([(frame_of(B, continues=[A]), b"b"), (frame_of(C, continues=[B, "nowhere"]), b"c")])

    for view in (store.resolve, store.list, store.ctx):
        with pytest.raises(TurnNotFoundError, match=rf"{B}.*{A}|{C}.*nowhere"):
            view(C)
    thread = store.thread(C, on_gap="mark")
    assert [turn.text for turn in thread] == ["b", "c"]
    assert set(thread.gaps) == {(B, repr(A)), (C, "'nowhere'")}
    assert {problem.kind for problem in store.fsck()} == {"dangling"}


def test_a_parent_that_comes_later_is_linked(store: weft.Store) -> None:
    """T-35: imports may come in any order."""
    store.import_frames([(frame_of(B, continues=[A]), b"b")])
    store.import_frames([(frame_of(A), b"a")])

    assert texts(store.resolve(B)["messages"]) == ["a", "b"]
    assert store.fsck() == []


def test_a_circle_ends_the_raw_walk_and_fails_the_others(store: weft.Store) -> None:
    """T-36, G-02, acceptance 6: a frame that continues itself."""
    store.import_frames([(frame_of(A, continues=A), b"self")])

    assert [frame.id for frame in store.ctx(A)] == [A]
    for view in (store.resolve, store.list):
        with pytest.raises(ThreadCycleError, match=A):
            view(A)
    with pytest.raises(ThreadCycleError):
        store.resolve(A, order="branch")
    assert "cycle" in {problem.kind for problem in store.fsck()}


def test_a_circle_of_two_behind_a_thread_is_named(store: weft.Store) -> None:
    """T-36: naming the ids on the circle, not those outside it."""
    store.import_frames(
        [(frame_of(A, continues=B), b"a"), (frame_of(B, continues=A), b"b"), (frame_of(C, continues=B), b"c")]
    )

    assert {frame.id for frame in store.ctx(C)} == {A, B, C}
    with pytest.raises(ThreadCycleError) as error:
        store.resolve(C)
    assert A in str(error.value)
    assert B in str(error.value)
    assert C not in str(error.value)


def test_several_starts_give_the_union(store: weft.Store) -> None:
    """T-37."""
    turns = diamond(store)

    assert texts(store.resolve([turns["B"].id, turns["A"].id])["messages"]) == ["R", "A", "B"]
    assert texts(store.resolve([turns["B"].id, turns["A"].id], order="branch")["messages"]) == ["R", "B", "A"]


def test_a_record_has_its_delta_and_its_flag(store: weft.Store) -> None:
    """T-38: options {} if none, cache always a bool."""
    first = store.add_turn("x", search=True)
    second = store.add_turn("y", continues=first.id, cache=True)

    assert store.list(second.id) == [
        {
            "id": first.id,
            "role": "user",
            "content": [{"type": "text", "text": "x"}],
            "options": {"search": True},
            "cache": False,
        },
        {"id": second.id, "role": "user", "content": [{"type": "text", "text": "y"}], "options": {}, "cache": True},
    ]


def test_a_message_has_cache_only_when_flagged(store: weft.Store) -> None:
    """T-39: and its role as stored, system in place."""
    first = store.add_turn("be brief", role="system")
    second = store.add_turn("y", continues=first.id, cache=True)

    assert store.resolve(second.id)["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "be brief"}]},
        {"role": "user", "content": [{"type": "text", "text": "y"}], "cache": True},
    ]


def test_an_empty_store_has_empty_views(store: weft.Store) -> None:
    """T-40, T-41: options are never null."""
    assert store.ctx() == []
    assert store.list() == []
    assert store.resolve() == {"messages": [], "options": {}}
    assert store.latest() is None
    assert (store.log(), store.threads(), list(store.bookmarks()), store.search("x")) == ([], [], [], [])


def test_without_a_headish_the_latest_turn_is_meant(store: weft.Store) -> None:
    """Section 7; a frame of another topic is no turn."""
    turn = store.add_turn("x")
    store.set_bookmark("name", turn.id)

    assert [frame.id for frame in store.ctx()] == [turn.id]
    assert texts(store.resolve()["messages"]) == ["x"]
    assert store.add_turn("y", respond=True).meta["continues"] == [turn.id]


def test_views_write_nothing(store: weft.Store) -> None:
    """T-42."""
    turn = store.add_turn("x", bookmark="b")
    before = store.stats().frames, store.ctx("b")

    store.list("b"), store.resolve(turn.id), store.search("x"), store.threads(), store.context("b"), store.log()

    assert (store.stats().frames, store.ctx("b")) == before


def test_raw_walk_is_newest_first(store: weft.Store) -> None:
    """Section 7: whole frames."""
    turns = diamond(store)

    assert [frame.id for frame in store.ctx(turns["X"].id)] == [turns[n].id for n in "XBAR"]
    assert store.ctx(turns["A"].id)[0].to_dict() == {
        "topic": "gpt.turn",
        "id": turns["A"].id,
        "hash": turns["A"].hash,
        "meta": turns["A"].meta,
    }


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"x": 1, "y": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
        ({"servers": ["tides"]}, {"servers": ["charts"]}, {"servers": ["charts"]}),
        ({"l": [{"a": 1}, {"b": 1}]}, {"l": [{"a": 2, "c": 3}]}, {"l": [{"a": 2, "c": 3}, {"b": 1}]}),
        ({"l": [{"a": 1}]}, {"l": [{"b": 1}, {"c": 1}]}, {"l": [{"a": 1, "b": 1}, {"c": 1}]}),
        ({"l": [{"a": 1}]}, {"l": [1]}, {"l": [1]}),
        ({"a": {"x": 1}}, {"a": None}, {"a": None}),
        ({"a": [1]}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ({"l": [{"a": 1}]}, {"l": []}, {"l": []}),
    ],
)
def test_options_merge_deeply(store: weft.Store, left: Any, right: Any, merged: Any) -> None:
    """T-43: lists are replaced; T-44: what is absent on the right stays."""
    store.import_frames([(frame_of(A, options=left), b"a"), (frame_of(B, options=right, continues=A), b"b")])

    assert store.resolve(B)["options"] == merged


def test_inherited_is_read_and_wins_over_options(store: weft.Store) -> None:
    """Section 3: the coming name of options."""
    store.import_frames([(frame_of(A, options={"search": True, "x": 1}, inherited={"search": False}), b"a")])

    assert store.resolve(A)["options"] == {"search": False, "x": 1}


def test_the_later_parent_wins(store: weft.Store) -> None:
    """T-45: by time, not by the order in continues."""
    root = store.add_turn("R")
    early = store.add_turn("A", continues=root.id, provider_ptr="milli")
    late = store.add_turn("B", continues=root.id, provider_ptr="kilo")

    assert store.resolve(store.add_turn("X", continues=[late.id, early.id]).id)["options"] == {"provider_ptr": "kilo"}


def test_an_explicit_off_turns_an_inherited_option_off(store: weft.Store) -> None:
    """Acceptance 7."""
    first = store.add_turn("x", search=True)

    assert store.resolve(store.add_turn("y", continues=first.id, search=False).id)["options"] == {"search": False}


def test_acceptance_1_two_texts_and_a_response(store: weft.Store) -> None:
    tour = store.add_turn(["north", "south"], bookmark="tour")
    west = store.add_turn("west", respond=True)

    assert (len(tour.content), tour.meta["head"], tour.meta["continues"]) == (2, "tour", [])
    assert (west.meta["head"], west.meta["continues"]) == ("tour", [tour.id])


def test_acceptance_2_the_last_entry_gives_the_head(store: weft.Store) -> None:
    store.add_turn("t", bookmark="tour")
    other = store.add_turn("o", bookmark="annex")

    assert store.add_turn("x", continues=["tour", other.id]).meta["head"] == "annex"


def test_respond_needs_something_to_respond_to(store: weft.Store) -> None:
    """Section 4."""
    with pytest.raises(weft.WeftError, match="no turns"):
        store.add_turn("x", respond=True)


def test_thirty_diamonds_in_a_row(store: weft.Store) -> None:
    """G-03: each turn once."""
    at = store.add_turn("0").id
    for n in range(30):
        left, right = store.add_turn(f"l{n}", continues=at), store.add_turn(f"r{n}", continues=at)
        at = store.add_turn(f"x{n}", continues=[left.id, right.id]).id

    assert len(store.resolve(at)["messages"]) == 91
    assert len(store.thread(at, order="branch")) == 91
    assert store.threads()[0].turns == 91
