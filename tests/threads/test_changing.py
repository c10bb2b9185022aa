"""Editing, dropping, merging, branching, comparing; names; prefixes."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.support.stores import frame_of
from weft.errors import BookmarkConflictError, InvalidContentError, UnknownBookmarkError, UsageError


def chain(store: weft.Store, *said: str, bookmark: str | None = None) -> list[weft.Turn]:
    turns: list[weft.Turn] = []
    for text in said:
        turns.append(
            store.add_turn(text, continues=turns[-1].id if turns else None, bookmark=bookmark if not turns else None)
        )
    return turns


def said(store: weft.Store, headish: str) -> list[str]:
    return [turn.text for turn in store.thread(headish)]


def call(call_id: str, name: str = "t") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id: str, text: str = "r") -> dict[str, Any]:
    return {"type": "tool_result", "name": "t", "tool_use_id": call_id, "content": [{"type": "text", "text": text}]}


def tool_thread(store: weft.Store) -> list[weft.Turn]:
    question = store.add_turn("q", bookmark="b")
    calls = store.add_turn(
        [{"type": "text", "text": "let me see"}, call("1"), call("2")], json=True, role="assistant", continues="b"
    )
    results = store.add_turn([result("1"), result("2")], json=True, continues="b")
    return [question, calls, results, store.add_turn("done", role="assistant", continues="b")]


def test_an_edit_replays_what_comes_after(store: weft.Store) -> None:
    turns = chain(store, "a", "b", "c", "d", bookmark="n")

    end = store.edit(turns[1].id, "B")

    assert said(store, "n") == ["a", "B", "c", "d"]
    assert store.turn("n") == end
    assert said(store, turns[3].id) == ["a", "b", "c", "d"]
    assert store.thread("n").turns[0] == turns[0]
    assert end.meta["replays"] == turns[3].id
    assert store.fsck() == []


def test_an_edit_can_have_a_name_of_its_own(store: weft.Store) -> None:
    turns = chain(store, "a", "b", bookmark="n")

    store.edit(turns[0].id, "A", bookmark="alt")

    assert (said(store, "n"), said(store, "alt")) == (["a", "b"], ["A", "b"])


def test_options_cache_and_role_are_replayed(store: weft.Store) -> None:
    first = store.add_turn("a", search=True)
    second = store.add_turn("b", continues=first.id, role="assistant", cache=True, provider_ptr="kilo")

    end = store.edit(first.id, "A")

    assert (end.role, end.cache, end.options) == ("assistant", True, second.options)
    assert end.thread.options == {"search": True, "provider_ptr": "kilo"}


def test_an_edit_of_a_merge_keeps_its_shape(store: weft.Store) -> None:
    root = store.add_turn("r")
    left, right = store.add_turn("l", continues=root.id), store.add_turn("x", continues=root.id)
    store.add_turn("m", continues=[left.id, right.id], bookmark="m")

    store.edit(left.id, "L", end="m")

    assert sorted(said(store, "m")) == ["L", "m", "r", "x"]
    assert right.id in store.turn("m").meta["continues"]


def test_a_call_that_goes_takes_its_result_along(store: weft.Store) -> None:
    turns = tool_thread(store)

    store.edit(turns[1].id, [call("1")], json=True)

    blocks = [block for message in store.resolve("b")["messages"] for block in message["content"]]
    assert [block.get("id") or block.get("tool_use_id") for block in blocks if block["type"] != "text"] == ["1", "1"]


def test_a_call_that_gets_another_id_keeps_its_result(store: weft.Store) -> None:
    turns = tool_thread(store)

    store.edit(turns[1].id, [call("one"), call("2")], json=True)

    assert [block["tool_use_id"] for block in store.thread("b").messages[2]["content"]] == ["one", "2"]


def test_a_result_cannot_be_edited_away(store: weft.Store) -> None:
    turns = tool_thread(store)

    with pytest.raises(InvalidContentError, match="2"):
        store.edit(turns[2].id, [result("1")], json=True)
    with pytest.raises(InvalidContentError, match="3"):
        store.edit(turns[1].id, [call("1"), call("2"), call("3")], json=True)
    assert said(store, "b")[-1] == "done"


def test_dropping_results_drops_their_calls(store: weft.Store) -> None:
    turns = tool_thread(store)

    store.drop(turns[2].id)

    assert [message["content"] for message in store.resolve("b")["messages"]] == [
        [{"type": "text", "text": text}] for text in ("q", "let me see", "done")
    ]


def test_dropping_calls_drops_their_results(store: weft.Store) -> None:
    turns = tool_thread(store)

    store.drop(turns[1].id)

    assert said(store, "b") == ["q", "done"]


def test_dropping_the_end_moves_back(store: weft.Store) -> None:
    turns = chain(store, "a", "b")

    assert store.drop(turns[1].id) == turns[0]
    with pytest.raises(UsageError):
        store.drop(store.add_turn("alone").id)


def test_a_merge_says_nothing_itself(store: weft.Store) -> None:
    left, right = chain(store, "a", "b"), chain(store, "c")

    merged = store.merge(left[-1].id, right[-1].id, bookmark="both")

    assert [message["content"][0]["text"] for message in store.resolve("both")["messages"]] == ["a", "b", "c"]
    assert merged.hash is None
    assert store.merge("both", left[0].id, content="so?").text == "so?"


def test_a_branch_carries_its_own_name(store: weft.Store) -> None:
    turns = chain(store, "a", "b", bookmark="main")
    store.branch("side", turns[0].id)

    store.add_turn("other", continues="side")

    assert (said(store, "main"), said(store, "side")) == (["a", "b"], ["a", "other"])
    with pytest.raises(BookmarkConflictError):
        store.branch("side", turns[1].id)


def test_bookmarks_are_set_moved_renamed_and_deleted(store: weft.Store) -> None:
    a, b = store.add_turn("a"), store.add_turn("b")
    store.set_bookmark("n", a.id)

    with pytest.raises(BookmarkConflictError):
        store.set_bookmark("n", b.id)
    store.set_bookmark("n", b.id, move=True)
    store.rename_bookmark("n", "m")
    assert [(row.name, row.id, row.depth) for row in store.bookmarks()] == [("m", b.id, 1)]
    store.delete_bookmark("m")

    assert list(store.bookmarks()) == []
    with pytest.raises(UnknownBookmarkError):
        store.turn("m")
    with pytest.raises(UnknownBookmarkError):
        store.delete_bookmark("m")


def test_a_deleted_name_is_not_inherited(store: weft.Store) -> None:
    turn = store.add_turn("a", bookmark="n")
    store.delete_bookmark("n")

    assert store.add_turn("b", continues=turn.id).bookmark is None
    assert store.add_turn("c", bookmark="n").bookmark == "n"  # free again


def test_a_difference_names_turns_options_and_tools(store: weft.Store) -> None:
    base = store.add_turn("a", search=True)
    left = store.add_turn("b", continues=base.id)
    right = store.add_turn(
        [call("1", "sonar")],
        json=True,
        role="assistant",
        continues=base.id,
    )
    end = store.add_turn([result("1")], json=True, continues=right.id, search=False)

    found = store.diff(left.id, end.id)

    assert [(what, len(a), len(b)) for what, a, b in found.steps] == [("same", 1, 1), ("changed", 1, 2)]
    assert found.options == {"search": (True, False)}
    assert found.tools == {"sonar": "added"}
    assert found.common == 1
    assert not found.is_empty
    assert store.diff(left.id, left.id).is_empty


def test_the_beginning_of_an_id_is_for_command_lines(store: weft.Store) -> None:
    turns = [store.add_turn(str(n)) for n in range(3)]

    assert store.find(turns[0].id[:24], prefix=True) in [turn.id for turn in turns]
    with pytest.raises(UnknownBookmarkError, match="more than one"):
        store.find(turns[0].id[:5].upper(), prefix=True)
    with pytest.raises(UnknownBookmarkError):
        store.find("zzzzzz", prefix=True)
    with pytest.raises(UnknownBookmarkError):
        store.turn(turns[0].id[:24])


def test_listings_come_in_pages(store: weft.Store) -> None:
    ends = [chain(store, f"{n}a", f"{n}b")[-1].id for n in range(5)]

    first = store.threads(limit=2)
    second = store.threads(limit=9, before=first[-1].id)

    assert [row.id for row in [*first, *second]] == ends[::-1]
    assert (first[0].turns, first[0].models) == (2, ())
    assert [turn.text for turn in store.log(limit=3)] == ["4b", "4a", "3b"]
    assert [turn.text for turn in store.log(limit=2, before=store.log(limit=3)[-1].id)] == ["3a", "2b"]


def test_models_are_listed_with_their_threads(store: weft.Store) -> None:
    from weft.threads import Addition

    question = store.add_turn("q")
    answer = store.add(
        Addition(b'[{"type":"text","text":"a"}]', "assistant", [question.id], extra={"message": {"model": "mint-1"}})
    )
    store.add(
        Addition(b'[{"type":"text","text":"b"}]', "assistant", [answer.id], extra={"message": {"model": "basil"}})
    )

    assert store.threads()[0].models == ("basil", "mint-1")
    assert answer.model == "mint-1"
    assert [hit.id for hit in store.search("a", model="mint-1")] == [answer.id]
    assert store.search("a", model="basil") == []


def test_objects_are_short_to_look_at(store: weft.Store) -> None:
    turn = store.add_turn("When is high water at the harbour, and how long does it stay?", bookmark="tides")

    assert repr(turn) == f"<Turn {turn.id} user [tides] 'When is high water at the harbour, and how long d…'>"
    assert (
        repr(turn.thread) == f"<Thread {turn.id} [tides] 1 turns 'When is high water at the harbour, and how long d…'>"
    )
    assert repr(store).startswith("<Store ")
    assert len(store.thread("tides")) == 1
    assert store.thread("tides")[0] == turn
    assert hash(turn) == hash(store.turn("tides"))


@pytest.mark.parametrize("payload", [b"5", b"[5]", b'[{"text": "no type"}]', b"null"])
def test_content_that_is_no_list_of_blocks_can_be_compared(store: weft.Store, payload: bytes) -> None:
    """T-16: whoever wrote the frame by hand; nothing stops for it."""
    odd = "0298v1n0c5h2t7d9k4m6p8r1s"
    store.import_frames([(frame_of(odd, content_type="application/json"), payload)])

    assert not store.diff(store.add_turn("plain").id, odd).is_empty


def test_what_is_no_message_is_not_left_out_in_silence(store: weft.Store) -> None:
    with pytest.raises(UsageError, match="not str"):
        store.import_messages(["said"])  # type: ignore[list-item]
