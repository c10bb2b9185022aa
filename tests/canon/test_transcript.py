from __future__ import annotations

import copy
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings

from tests.support.transcripts import transcripts
from weft.blobs import InMemoryBlobStore
from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Instructions,
    Message,
    Opening,
    Part,
    Piece,
    Session,
    Stray,
    ToolSpecification,
    Transcript,
    gather,
)
from weft.errors import CodecError, ContextError


def said(text: str) -> Message:
    return Message("user", (Part("text", text),), timestamp=UNTIMED)


def tree() -> Transcript:
    """Give a, with b and c after it, d after b, and e after c and d."""
    entries = [
        Entry("a", said("a")),
        Entry("b", said("b"), ("a",)),
        Entry("c", said("c"), ("a",)),
        Entry("d", said("d"), ("b",)),
        Entry("e", said("e"), ("c", "d")),
        Entry("x", said("x"), ("gone",)),
    ]
    return Transcript(tuple(entries), heads={"main": "d", "join": "e"}, current="d")


@given(transcripts())
@settings(max_examples=settings().max_examples // 3)
def test_a_transcript_is_written_and_read(given_one: Transcript) -> None:
    assert Transcript.from_dict(given_one.to_dict(include_blob_payloads=True)) == given_one
    assert next(gather(given_one.pieces())) == given_one


def test_a_branch_is_what_leads_to_its_head() -> None:
    one = tree()
    assert [entry.id for entry in one.linear()] == ["a", "b", "d"]
    assert [entry.id for entry in one.linear("join")] == ["a", "b", "c", "d", "e"]
    assert [entry.id for entry in one.linear("x")] == ["x"]
    assert [(names, path[-1].id) for names, path in one.paths()] == [(("main",), "d"), (("join",), "e"), ((), "x")]
    assert not one.is_linear
    assert Transcript.of([said("a"), said("b")]).is_linear
    assert Transcript().linear() == ()
    with pytest.raises(KeyError):
        one.linear("nothing")
    assert one.entry("b").parent_id == "a"
    with pytest.raises(KeyError):
        one.entry("nothing")


def test_entries_that_continue_each_other_in_a_circle_are_walked_once() -> None:
    one = Transcript((Entry("a", said("a"), ("b",)), Entry("b", said("b"), ("a",))))
    assert sorted(entry.id for entry in one.linear()) == ["a", "b"]


def test_ids_are_unique_and_heads_lead_somewhere() -> None:
    with pytest.raises(ValueError, match="'a' twice"):
        Transcript((Entry("a", said("a")), Entry("a", said("b"))))
    with pytest.raises(ValueError, match="no entry has that id"):
        Transcript((Entry("a", said("a")),), heads={"x": "b"})
    with pytest.raises(ValueError, match="current"):
        Transcript((Entry("a", said("a")),), current="b")
    with pytest.raises(CodecError, match="twice"):
        list(gather([Opening(), Entry("a", said("a")), Entry("a", said("b")), Closing()]))


def test_what_is_known_at_the_end_counts() -> None:
    late = Session(title="late")
    pieces: list[Piece] = [
        Opening(),
        Stray("x", "one"),
        Entry("a", said("a")),
        Stray("x", "two"),
        Closing(session=late),
    ]
    whole = next(gather(pieces))

    assert whole.session is late
    assert [(stray.text, stray.at) for stray in whole.strays] == [("one", 0), ("two", 1)]
    assert whole.current == "a"


def test_nothing_of_it_changes() -> None:
    extras = {"x": {"y": [1]}}
    entry = Entry("a", said("a"), extras=extras)
    extras["x"]["y"].append(2)

    assert entry.extras == {"x": {"y": (1,)}}
    assert copy.copy(entry) == entry
    with pytest.raises(FrozenInstanceError):
        entry.id = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        entry.extras["x"] = 1  # type: ignore[index]


def test_a_message_without_a_time_is_not_of_now() -> None:
    read = Transcript.from_dict({"entries": [{"id": "1", "message": {"role": "user", "parts": []}}]})

    assert read.entries[0].timestamp is None
    assert read.entries[0].message.timestamp == UNTIMED
    at = datetime(2026, 3, 1, tzinfo=UTC)
    assert Entry("1", Message("user", (), timestamp=at)).timestamp == at


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "Transcript must be a mapping"),
        ({"entries": 1}, "Transcript.entries"),
        ({"entries": [{"id": "", "message": {"role": "user", "parts": []}}]}, r"Transcript.entries\[0\].id"),
        ({"entries": [{"id": "1", "message": {"role": "x", "parts": []}}]}, r"entries\[0\].message.role"),
        ({"entries": [{"id": "1", "parent_ids": 1, "message": {}}]}, r"entries\[0\].parent_ids"),
        ({"session": {"title": 1}}, "Transcript.session.title"),
        ({"session": {"created": "x"}}, "Transcript.session.created"),
        ({"session": {"tools": [{"name": 1}]}}, r"session.tools\[0\].name"),
        ({"session": {"tools": [{"name": "x"}]}}, r"session.tools\[0\].description"),
        ({"heads": {"x": 1}}, "Transcript.heads"),
        ({"heads": {"x": "y"}}, "no entry"),
        ({"strays": [{"format": "x", "text": 1}]}, r"strays\[0\].text"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(value: object, place: str) -> None:
    with pytest.raises((TypeError, ValueError), match=place):
        Transcript.from_dict(value)  # type: ignore[arg-type]


def test_bytes_go_with_their_entry_and_are_verified() -> None:
    blobs = InMemoryBlobStore()
    part = Part("image", blob=blobs.put_blob(b"png", media_type="image/png", kind="image"))
    written = Transcript.of([Message("user", (part,))], blobs=blobs).to_dict(include_blob_payloads=True)

    assert Transcript.from_dict(written).entries[0].blobs.get_blob(part.blob) == b"png"  # type: ignore[arg-type]
    with pytest.raises(ContextError):
        Transcript.of([Message("user", (part,))]).to_dict(include_blob_payloads=True)
    for wrong, words in (("!", "not base64"), ("AAAA", "sha256")):
        written["entries"][0]["blobs"] = {part.blob.id: wrong}  # type: ignore[union-attr]
        with pytest.raises(ValueError, match=words):
            Transcript.from_dict(written)


def test_a_session_gives_the_settings_of_a_call() -> None:
    tool = ToolSpecification("depth", "Sounds.", {"type": "object"})
    parameters = {"temperature": 0.5, "effort": "low", "extra_body": {"x": 1}}
    session = Session(model="mint-1", instructions=Instructions("Be brief."), tools=(tool,), parameters=parameters)

    spec = session.run_spec("openai", "chat.completions")

    assert (spec.model, spec.temperature, spec.tools) == ("mint-1", 0.5, (tool,))
    assert spec.instructions == session.instructions
    assert spec.extra_body == {"effort": "low", "x": 1}


def test_hashed_blobs_have_ids_by_their_bytes() -> None:
    one, other = InMemoryBlobStore(hashed=True), InMemoryBlobStore(hashed=True)
    assert one.put_blob(b"x") == other.put_blob(b"x") == one.put_blob(b"x")
    assert (len(one), bool(InMemoryBlobStore())) == (1, True)
