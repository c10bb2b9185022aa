"""What lists show: pages of a thread, lines for turns, titles, short ids, trees; and turns as they are edited."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.stores import frame_of
from weft.errors import InvalidContentError, UsageError
from weft.threads import draft_of, edited_blocks, entries_of, gist_of_blocks, log_of, short_length, threads_of, tree_of

if TYPE_CHECKING:
    import weft


def an_id(number: int) -> str:
    return f"{number:025d}"


def test_a_page_of_a_thread_is_the_same_however_it_is_read(store: weft.Store) -> None:
    root = store.add_turn("root")
    left, right = store.add_turn("left", continues=root.id), store.add_turn("right", continues=root.id)
    end = store.add_turn("end", continues=[right.id, left.id])
    store.add_turn("elsewhere")
    ids = [end.id, right.id, left.id, root.id]

    assert log_of(store, end.id, None) == (ids, False)
    assert log_of(store, end.id, 1000) == (ids, False)
    assert log_of(store, end.id, 4) == (ids, False)
    assert log_of(store, end.id, 3) == (ids[:3], True)
    assert tree_of(store, left.id) == tree_of(store, end.id)


def test_imported_turns_are_ordered_by_who_continues_whom(store: weft.Store) -> None:
    store.import_frames(
        [
            (frame_of(an_id(9), role="user", content_type="text/plain"), b"first"),
            (frame_of(an_id(3), role="user", content_type="text/plain", continues=[an_id(9)]), b"second"),
        ]
    )

    assert log_of(store, an_id(3), 5) == ([an_id(3), an_id(9)], False)
    assert [node.id for node in tree_of(store)] == [an_id(3), an_id(9)]


def test_a_tree_keeps_branches_together_newest_first(store: weft.Store) -> None:
    root = store.add_turn("root")
    a1 = store.add_turn("a1", continues=root.id)
    b1 = store.add_turn("b1", continues=root.id)
    a2 = store.add_turn("a2", continues=a1.id)
    b2 = store.add_turn("b2", continues=b1.id)
    other = store.add_turn("other")

    nodes = tree_of(store, a1.id)

    assert [node.id for node in nodes] == [b2.id, b1.id, a2.id, a1.id, root.id]
    assert nodes[0].parents == (b1.id,)
    assert [node.id for node in tree_of(store)] == [other.id]
    assert len(tree_of(store, whole_store=True)) == 6


def test_a_tree_of_an_empty_store_is_empty(store: weft.Store) -> None:
    assert (tree_of(store), log_of(store, None, 5), threads_of(store, 5)) == ([], ([], False), [])


@pytest.mark.parametrize(
    ("blocks", "gist"),
    [
        ([{"type": "text", "text": " One\n two "}], "One two"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "said"}], "said"),
        ([{"type": "tool_use", "name": "dig", "input": {"m": 3, "to": "clay"}}], "calls dig(m=3, to=clay)"),
        ([{"type": "tool_use", "name": "dig"}], "calls dig()"),
        ([{"type": "tool_use", "name": "dig", "input": [1]}], "calls dig([1])"),
        ([{"type": "tool_result", "name": "dig", "content": [{"type": "text", "text": "ok"}]}], "dig answered: ok"),
        ([{"type": "tool_result", "is_error": True, "content": "no"}], "tool failed: no"),
        (
            [{"type": "tool_use", "name": "dig", "input": {"m": 3}}, {"type": "tool_use", "name": "fill"}],
            "calls dig(m=3), fill()",
        ),
        (
            [
                {"type": "tool_result", "name": "dig", "content": "ok"},
                {"type": "tool_result", "name": "fill", "is_error": True, "content": "no"},
            ],
            "dig answered: ok; fill failed: no",
        ),
        ([{"type": "image"}, {"type": "new"}, {"type": "image"}], "[image, new]"),
        ([{"type": "text", "text": " "}], "[empty text]"),
        ([17], "[?]"),
    ],
)
def test_a_turn_is_told_in_one_line(blocks: list[object], gist: str) -> None:
    assert gist_of_blocks(blocks) == gist


def test_lists_survive_damaged_content(sqlite_store: weft.Store) -> None:
    sqlite_store.import_frames(
        [(frame_of(an_id(1), role="user", content_type="application/json"), b"{ not json"), (frame_of(an_id(2)), None)]
    )

    assert [entry.gist for entry in entries_of(sqlite_store, [an_id(2), an_id(1)])] == [
        "[no content]",
        "[damaged content]",
    ]


def test_short_ids_tell_turns_apart(store: weft.Store) -> None:
    turns = [store.add_turn(str(number)).id for number in range(70)]  # more than are looked up one by one

    for ids in (turns, turns[:2], turns[:1]):
        length = short_length(store, ids)
        assert all(store.find(turn_id[:length], prefix=True) == turn_id for turn_id in ids if length < 25)
        assert length >= 10


def test_threads_are_called_by_what_the_user_said_first(store: weft.Store) -> None:
    system = store.add_turn("Be brief.", role="system")
    store.add_turn("Is the ferry late?", continues=system.id, bookmark="ferry")
    store.add_turn("Alone.", role="assistant")

    assert [(entry.title, entry.turns, entry.bookmarks) for entry in threads_of(store, 5)] == [
        ("Alone.", 1, ()),
        ("Is the ferry late?", 2, ("ferry",)),
    ]


# -- editing -----------------------------------------------------------------------------------------------------------


def test_a_turn_of_one_text_is_edited_as_text(sqlite_store: weft.Store) -> None:
    turn = sqlite_store.add_turn("one")

    assert tuple(draft_of(turn)) == ("one", False)
    assert edited_blocks(turn, "one\n", is_json=False) is None
    assert edited_blocks(turn, "two\n", is_json=False) == [{"type": "text", "text": "two"}]
    assert json.loads(draft_of(turn, as_json=True).text) == turn.content


def test_other_turns_are_edited_as_blocks(sqlite_store: weft.Store) -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "ü"}]
    turn = sqlite_store.add_turn(blocks, json=True)
    draft = draft_of(turn)

    assert (draft.is_json, json.loads(draft.text), "ü" in draft.text) == (True, blocks, True)
    assert edited_blocks(turn, draft.text, is_json=True) is None
    with pytest.raises(InvalidContentError, match="not JSON"):
        edited_blocks(turn, "[", is_json=True)
    with pytest.raises(UsageError, match="2 texts"):
        edited_blocks(turn, "x", is_json=False)


def test_a_turn_without_content_can_get_some(sqlite_store: weft.Store) -> None:
    both = sqlite_store.merge(sqlite_store.add_turn("a").id, sqlite_store.add_turn("b").id)

    assert tuple(draft_of(both)) == ("", False)
    assert edited_blocks(both, "so", is_json=False) == [{"type": "text", "text": "so"}]
