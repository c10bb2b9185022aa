"""T-15 to T-30: content, parameters, return value, bookmarks, blocks."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.support.stores import frame_of, texts
from weft.errors import BookmarkConflictError, InvalidContentError, UsageError

HAND = "01q8v1n0c5h2t7d9k4m6p8r1s"


@pytest.mark.parametrize(
    ("content", "is_json", "blocks"),
    [
        ("hi", False, [{"type": "text", "text": "hi"}]),
        ("", False, [{"type": "text", "text": ""}]),
        (["a", "b"], False, [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ('{"type":"text","text":"x"}', True, [{"type": "text", "text": "x"}]),
        (
            [{"type": "text", "text": "x"}, {"type": "new", "n": 1}],
            True,
            [{"type": "text", "text": "x"}, {"type": "new", "n": 1}],
        ),
        ({"type": "tool_use", "name": "t", "input": {}}, True, [{"type": "tool_use", "name": "t", "input": {}}]),
    ],
)
def test_content_becomes_blocks(store: weft.Store, content: Any, is_json: bool, blocks: Any) -> None:
    """T-15: JSON in UTF-8, content type application/json; T-28: no tool id is invented."""
    turn = store.add_turn(content, json=is_json)

    assert store.turn(turn.id).content == blocks
    assert turn.meta["content_type"] == "application/json"


def test_text_is_stored_unescaped(store: weft.Store) -> None:
    """T-15: non-ASCII stays as it is."""
    turn = store.add_turn("größe 日本語")

    assert store.turn(turn.id).data == '[{"type":"text","text":"größe 日本語"}]'.encode()


@pytest.mark.parametrize(
    ("content", "is_json"),
    [
        ([], False),
        (["a", 1], False),
        (7, False),
        (None, False),
        ({"type": "text"}, False),
        ("7", True),
        ("not json", True),
        ('["a"]', True),
        ([{"text": "no type"}], True),
        ({"type": "text"}, True),
        ({"type": "text", "text": 7}, True),
        ({"type": "tool_use", "name": "t"}, True),
        ({"type": "tool_use", "name": "t", "input": []}, True),
        ({"type": "tool_result", "name": "t", "content": "text"}, True),
        ({"type": "tool_result", "name": "t", "content": [], "is_error": "yes"}, True),
        ({"type": "document", "source": {"type": "base64", "media_type": "a/b", "data": "%"}}, True),
        ({"type": "odd", "value": float("nan")}, True),
    ],
)
def test_invalid_content_is_refused(store: weft.Store, content: Any, is_json: bool) -> None:
    """T-16: known types are checked, and only a list of blocks is content."""
    with pytest.raises(InvalidContentError, match="invalid content"):
        store.add_turn(content, json=is_json)
    assert store.stats().turns == 0


def test_only_given_options_are_stored(store: weft.Store) -> None:
    """T-17: not given writes nothing; an explicit off is stored."""
    assert store.add_turn("x").meta["options"] == {}
    assert store.add_turn("x", search=False, servers=[]).meta["options"] == {"search": False, "servers": []}
    everything: dict[str, Any] = {"servers": ["tides"], "search": True, "provider_ptr": "kilo", "tool_mode": "any"}
    assert store.add_turn("x", **everything).meta["options"] == everything
    assert store.add_turn("x", everything).meta["options"] == everything


def test_continues_is_always_a_list(store: weft.Store) -> None:
    """T-18: [] for a new thread."""
    first = store.add_turn("x")

    assert first.meta["continues"] == []
    assert store.add_turn("y", continues=first.id).meta["continues"] == [first.id]


def test_a_parent_named_twice_is_stored_once(store: weft.Store) -> None:
    """T-19: first position kept, also when it comes again through respond."""
    a, b = store.add_turn("a", bookmark="a"), store.add_turn("b")

    turn = store.add_turn("x", continues=[b.id, "a", b.id.upper(), a.id], respond=True)

    assert turn.meta["continues"] == [b.id, a.id]


def test_unknown_parameters_are_named(store: weft.Store) -> None:
    """T-20."""
    with pytest.raises(UsageError, match="colour, size"):
        store.add_turn("x", size=1, colour="red")
    with pytest.raises(UsageError, match="size"):
        store.add_turn("x", {"size": 1})


@pytest.mark.parametrize(
    "parameters",
    [
        {"role": "tool"},
        {"servers": "tides"},
        {"servers": [1]},
        {"search": "yes"},
        {"cache": 1},
        {"provider_ptr": 7},
        {"continues": 7},
    ],
)
def test_parameters_of_the_wrong_kind_are_refused(store: weft.Store, parameters: dict[str, Any]) -> None:
    with pytest.raises((UsageError, TypeError)):
        store.add_turn("x", **parameters)
    assert store.stats().turns == 0


def test_nothing_but_the_turn_is_written(store: weft.Store) -> None:
    """T-21: no model is called; one frame, no gpt.call."""
    store.add_turn("x", provider_ptr="kilo")

    assert store.stats().frames == 1


def test_what_comes_back_is_what_was_stored(store: weft.Store) -> None:
    """T-22: id, hash, meta; headish resolved, bookmark inherited, options the delta."""
    first = store.add_turn("x", bookmark="harbour", search=True)

    turn = store.add_turn("y", continues="harbour", provider_ptr="kilo", cache=True)

    assert turn.to_dict() == {
        "id": turn.id,
        "hash": turn.hash,
        "meta": {
            "role": "user",
            "content_type": "application/json",
            "options": {"provider_ptr": "kilo"},
            "head": "harbour",
            "continues": [first.id],
            "cache": True,
        },
    }
    assert store.turn(turn.id).to_dict() == turn.to_dict()
    assert "cache" not in first.meta


def test_the_last_parent_gives_the_bookmark(store: weft.Store) -> None:
    """T-23: explicit, else of the last entry of the final list, not of its ancestors."""
    a, b = store.add_turn("a", bookmark="left"), store.add_turn("b", bookmark="right")
    plain = store.add_turn("plain")

    assert store.add_turn("x", continues=[a.id, b.id]).bookmark == "right"
    assert store.add_turn("x", continues=[a.id, plain.id]).bookmark is None
    assert store.add_turn("x", continues=a.id, bookmark="new").bookmark == "new"
    newest = store.latest()
    assert newest is not None
    assert store.add_turn("x", continues=b.id, respond=True).bookmark == newest.bookmark == "new"


def test_a_parent_listed_twice_gives_its_bookmark_only_where_it_is_last(store: weft.Store) -> None:
    """T-19, T-23: the first place is kept, so the last entry of the final list is another."""
    store.add_turn("a", bookmark="left")
    store.add_turn("b", bookmark="right")

    assert store.add_turn("x", continues=["left", "right", "left"]).bookmark == "right"


@pytest.mark.parametrize("value", [7, {"id": "x"}, True, {"x"}])
def test_what_is_no_headish_cannot_be_continued(store: weft.Store, value: object) -> None:
    """T-13: any other type is an error saying that the value is invalid."""
    turn = store.add_turn("a")

    for odd in (value, turn):
        with pytest.raises(UsageError, match="invalid: "):
            store.add_turn("b", continues=odd)
        with pytest.raises(UsageError, match="invalid: "):
            store.resolve(odd)  # type: ignore[arg-type]


def test_the_bookmark_is_written_on_every_turn(store: weft.Store) -> None:
    """T-24: physically; T-25: answers and tool results too."""
    store.add_turn("q", bookmark="b")
    store.add_turn("a", continues="b", role="assistant")
    store.add_turn({"type": "tool_result", "name": "t", "content": []}, json=True, continues="b")

    assert [frame.meta["head"] for frame in store.ctx("b")] == ["b", "b", "b"]


def test_a_name_is_not_taken_from_another_branch(store: weft.Store) -> None:
    """T-26: unless asked to."""
    holder = store.add_turn("one", bookmark="b")

    with pytest.raises(BookmarkConflictError, match=holder.id):
        store.add_turn("other", bookmark="b")
    assert store.turn("b") == holder
    assert store.add_turn("next", continues=holder.id, bookmark="b").bookmark == "b"
    moved = store.add_turn("other", bookmark="b", move_bookmark=True)
    assert store.turn("b") == moved


def test_a_branch_written_last_has_the_name(store: weft.Store) -> None:
    """T-27: the other branch stays reachable by id."""
    fork = store.add_turn("fork", bookmark="b")
    left = store.add_turn("left", continues=fork.id)
    right = store.add_turn("right", continues=fork.id)
    other = store.add_turn("other", continues=fork.id, bookmark="c")

    assert store.turn("b") == right
    assert texts(store.resolve(left.id)["messages"]) == ["fork", "left"]
    assert store.turn("c") == other


def test_provider_blocks_are_kept_verbatim(store: weft.Store) -> None:
    """T-29: signatures, server tools and whatever comes next."""
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "AAAA"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tides"}},
        {"type": "brand_new", "big": 12345678901234567890123, "odd": ["\0", "\ud800", 1.0, -0.0]},
    ]
    turn = store.add_turn(blocks, json=True, role="assistant")

    assert store.resolve(turn.id)["messages"] == [{"role": "assistant", "content": blocks}]


def test_a_document_without_a_type_is_an_error(store: weft.Store) -> None:
    """T-30: naming the frame."""
    store.import_frames([(frame_of(HAND, type="document"), b"bytes")])

    with pytest.raises(InvalidContentError, match=HAND):
        store.resolve(HAND)


def test_a_frame_becomes_a_turn_by_its_type(store: weft.Store) -> None:
    """Section 5, frame to turn: documents first, then JSON, then text; without payload no message."""
    names = [f"01{n}8v1n0c5h2t7d9k4m6p8r1s" for n in "3456"]
    store.import_frames(
        [
            (frame_of(names[0], role="user", type="document", content_type="application/json"), b"{}"),
            (
                frame_of(names[1], role="assistant", content_type="application/json", continues=names[0]),
                b'[{"type":"x"}]',
            ),
            (frame_of(names[2], continues=names[1], content_type="text/plain"), "alt: größe".encode()),
            (frame_of(names[3], continues=names[2], options={"search": True}, role="system"), None),
        ]
    )

    resolved = store.resolve(names[3])

    assert resolved["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "document", "source": {"type": "base64", "media_type": "application/json", "data": "e30="}}
            ],
        },
        {"role": "assistant", "content": [{"type": "x"}]},
        {"role": "user", "content": [{"type": "text", "text": "alt: größe"}]},
    ]
    assert resolved["options"] == {"search": True}
