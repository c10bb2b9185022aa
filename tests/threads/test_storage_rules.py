"""T-1 to T-14: frames, content addresses, ids, headish, meta."""

from __future__ import annotations

import hashlib
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import weft
from tests.support.stores import frame_of, texts
from weft import ids
from weft.errors import (
    BlobIntegrityError,
    InvalidContentError,
    TurnNotFoundError,
    UnknownBookmarkError,
    UsageError,
)

HAND = "01q8v1n0c5h2t7d9k4m6p8r1s"


def _forge(store_url: str, data: bytes) -> None:
    """Put other bytes into the only row of a store, behind its back."""
    if store_url.startswith("postgresql://"):
        with psycopg.connect(store_url) as server:
            changed = server.execute("UPDATE frames SET data = %s", (data,)).rowcount
    else:
        with closing(sqlite3.connect(Path(store_url) / "weft.db")) as file, file:
            changed = file.execute("UPDATE frames SET data = ?", (data,)).rowcount
    assert changed == 1


def test_appending_changes_no_earlier_frame(store: weft.Store) -> None:
    """T-1: appending never changes or removes an earlier frame."""
    first = store.add_turn("one", bookmark="b")
    before = store.frame(first.id)

    for n in range(5):
        store.add_turn(str(n), continues="b")

    assert store.frame(first.id) == before
    assert store.turn(first.id).content == [{"type": "text", "text": "one"}]


def test_equal_bytes_have_one_address_and_are_stored_once(store: weft.Store) -> None:
    """T-2: sha256- and base64 of the digest; equal bytes once."""
    first, second = store.add_turn("same"), store.add_turn("same")

    digest = hashlib.sha256(b'[{"type":"text","text":"same"}]').digest()
    assert first.hash == second.hash == "sha256-" + b64encode(digest).decode()
    assert store.stats().payloads == 1
    assert store.turn(second.id).text == "same"
    assert store.frames.payload(str(first.hash)) == first.data


def test_damaged_bytes_are_an_integrity_error(store: weft.Store, store_url: str) -> None:
    """T-3: bytes that no longer match the hash are never given out."""
    turn = store.add_turn("precious")
    store.close()
    _forge(store_url, b'[{"type":"text","text":"forged"}]')

    with pytest.raises(BlobIntegrityError):
        store.resolve(turn.id)
    with pytest.raises(BlobIntegrityError):
        store.frames.payload(str(turn.hash))


def test_damaged_bytes_of_a_large_payload_are_an_integrity_error(store: weft.Store, store_url: str) -> None:
    """T-3: the same where a payload is large: a file beside SQLite's database, a row of many pages in PostgreSQL's."""
    turn = store.add_turn("x" * 200_000)
    forged = b"y" + b"x" * 199_999
    if (folder := store.frames.folder) is None:
        store.close()
        _forge(store_url, forged)
    else:
        (file,) = (folder / "content").iterdir()
        file.write_bytes(forged)

    with pytest.raises(BlobIntegrityError):
        store.resolve(turn.id)
    assert [problem.subject for problem in store.fsck()] == [turn.id]


def test_a_frame_shows_topic_id_hash_and_meta_only(store: weft.Store) -> None:
    """T-4: nothing internal is part of a frame."""
    turn = store.add_turn("x")

    assert store.ctx(turn.id)[0].to_dict().keys() == {"topic", "id", "hash", "meta"}


def test_ids_are_25_digits_in_lower_case(store: weft.Store) -> None:
    """T-5, T-6: 25 base-36 digits, written in lower case."""
    turn = store.add_turn("x")

    assert len(turn.id) == 25
    assert turn.id == turn.id.lower()
    assert ids.is_turn_id(turn.id)


def test_an_id_is_read_in_either_case(store: weft.Store) -> None:
    """T-6: both cases name the same turn."""
    turn = store.add_turn("x")

    assert store.turn(turn.id.upper()) == turn
    assert store.add_turn("y", continues=turn.id.upper()).meta["continues"] == [turn.id]


def test_ids_of_one_process_grow(store: weft.Store) -> None:
    """T-7: strictly increasing."""
    found = [store.add_turn(str(n)).id for n in range(50)]

    assert found == sorted(set(found))


def test_ids_grow_above_one_from_the_future(store: weft.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-8, D-21: an id not greater than the newest stored one is regenerated above it."""
    monkeypatch.setattr(ids, "_ids", ids._Ids())  # the ids of the other tests stay in the present
    future = "0zq8v1n0c5h2t7d9k4m6p8r1s"
    store.import_frames([(frame_of(future, role="user"), b"hi")])

    turn = store.add_turn("now")

    assert turn.id > future
    assert store.latest() == turn


def test_what_looks_like_an_id_is_never_a_bookmark(store: weft.Store) -> None:
    """T-9: 25 letters and digits are an id, whoever carries them as a head."""
    lookalike = "a" * 25
    store.import_frames([(frame_of(HAND, role="user", head=lookalike), b"hi")])

    with pytest.raises(TurnNotFoundError, match=lookalike):
        store.turn(lookalike)


def test_a_bookmark_is_its_latest_carrier(store: weft.Store) -> None:
    """T-10: greatest id; the name is compared exactly."""
    store.add_turn("one", bookmark="Notes")
    second = store.add_turn("two", continues="Notes")

    assert store.turn("Notes") == second
    with pytest.raises(UnknownBookmarkError):
        store.turn("notes")


def test_what_cannot_be_found_is_named(store: weft.Store) -> None:
    """T-11: neither id nor bookmark; or a well-formed id that nothing carries."""
    store.add_turn("x", bookmark="notes")

    with pytest.raises(UnknownBookmarkError, match="'notess' is neither a turn id nor a known bookmark") as error:
        store.resolve("notess")
    assert "near it: notes" in str(error.value)
    with pytest.raises(TurnNotFoundError, match=HAND):
        store.resolve(HAND)
    with pytest.raises(TurnNotFoundError):
        store.add_turn("y", continues=HAND)
    with pytest.raises(UnknownBookmarkError):
        store.add_turn("y", continues="nowhere")
    assert store.stats().turns == 1


@pytest.mark.parametrize("name", ["a" * 25, "", "  ", "\t", "x" * 10_000, "a\nb", "bell\a", "\ud800", "nul\0"])
def test_a_bookmark_that_could_mislead_is_refused(store: weft.Store, name: str) -> None:
    """T-12, G-06: like an id, blank, endless, or with characters one cannot see."""
    with pytest.raises(UsageError):
        store.add_turn("x", bookmark=name)
    assert store.stats().turns == 0


@pytest.mark.parametrize("name", ["'; DROP TABLE frames; --", "%s", "?", "naïve größe 日本語", "a.b/c d", "ids: 1"])
def test_any_other_text_can_be_a_bookmark(store: weft.Store, name: str) -> None:
    """C-08: text inside a statement is never part of it."""
    turn = store.add_turn(f"{name} find", bookmark=name, provider_ptr=name)

    assert store.turn(name) == turn
    assert [row.name for row in store.bookmarks()] == [name]
    assert store.search(f"{name} find")[0].id == turn.id
    assert store.fsck() == []


@pytest.mark.parametrize("value", ["missing", None, HAND, [HAND], []])
def test_continues_is_read_in_every_form(store: weft.Store, value: object) -> None:
    """T-13: missing, null, string or list."""
    meta = {} if value == "missing" else {"continues": value}
    child = "0298v1n0c5h2t7d9k4m6p8r1s"
    store.import_frames([(frame_of(HAND, role="user"), b"root"), (frame_of(child, role="user", **meta), b"child")])

    expected = ["root", "child"] if value in (HAND, [HAND]) else ["child"]
    assert texts(store.resolve(child)["messages"]) == expected
    assert store.frame(child).meta == {"role": "user", **meta}


@pytest.mark.parametrize("value", [7, {"id": HAND}, [HAND, 7], True])
def test_any_other_form_of_continues_is_an_error(store: weft.Store, value: object) -> None:
    """T-13: saying that the value is invalid."""
    with pytest.raises(InvalidContentError, match="continues is invalid"):
        store.import_frames([(frame_of(HAND, continues=value), b"x")])


def test_frames_given_twice_are_taken_in_once(store: weft.Store) -> None:
    """T-1: in one import as in two; the first of an id is the one that stays."""
    frames = [(frame_of(HAND), b"first"), (frame_of(HAND.upper()), b"second")]

    assert (store.import_frames(frames), store.import_frames(frames)) == (1, 0)
    assert texts(store.resolve(HAND)["messages"]) == ["first"]


def test_content_that_is_not_what_its_frame_names_is_refused(store: weft.Store) -> None:
    """T-3: nor is a frame taken in without the content it names."""
    frame = {**frame_of(HAND), "hash": ids.content_address(b"said")}

    with pytest.raises(BlobIntegrityError, match=HAND):
        store.import_frames([(frame, b"forged")])
    with pytest.raises(UsageError, match="is not given with it"):
        store.import_frames([(frame, None)])
    assert store.import_frames([(frame, b"said")]) == 1


@pytest.mark.parametrize("turn_id", ["z" * 25, "f5lxx1zz5pnorynqglhzmsp33"])
def test_an_id_that_leaves_no_room_for_others_is_refused(store: weft.Store, turn_id: str) -> None:
    """T-8: ids grow, so the greatest there can be would be the last; T-5: and a greater one is none."""
    with pytest.raises(UsageError, match="no id would be left"):
        store.import_frames([(frame_of(turn_id), b"x")])
    assert store.add_turn("still").id


def test_unknown_meta_is_kept(store: weft.Store) -> None:
    """T-14: whatever else a frame says."""
    meta = {"role": "user", "colour": {"deep": [1, 2.5, None, "\0", "\ud800"]}, "continues": None}
    store.import_frames([(frame_of(HAND, **meta), b"x")])

    assert store.frame(HAND).meta == meta


def test_what_adding_returns_is_also_a_record(store: weft.Store) -> None:
    """T-22: id, hash and meta, exactly as they were stored."""
    turn = store.add_turn("north", bookmark="tour")

    assert (turn["id"], turn["hash"], turn["meta"]) == (turn.id, turn.hash, turn.meta)
    with pytest.raises(KeyError):
        turn["text"]  # only the record, not all of the turn
