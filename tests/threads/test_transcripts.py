"""Transcripts into the store and out again: what a turn can hold, the names on ends, and what is told of the rest."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import weft
from weft.blobs import InMemoryBlobStore
from weft.canon import UNTIMED, Entry, Message, Part, Session, Transcript, Usage
from weft.threads import Incoming, import_transcript, import_transcripts, transcript_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def said(role: str, *parts: Part | str, at: datetime = UNTIMED) -> Message:
    return Message(role, [Part("text", part) if isinstance(part, str) else part for part in parts], timestamp=at)  # type: ignore[arg-type]


def taken(store: weft.Store, transcript: Transcript, bookmark: str | None = None) -> weft.threads.ImportedTranscript:
    return import_transcript(store, transcript, blobs=InMemoryBlobStore(), bookmark=bookmark)


def test_a_result_without_a_name_gets_that_of_its_call(sqlite_store: weft.Store) -> None:
    """R-6: a turn's result names its tool; many files leave that to the call."""
    call = Part("tool_call", tool_call_id="k", tool_name="depth", tool_args={})
    result = Part("tool_result", tool_call_id="k", tool_output="6.2 m")

    done = taken(sqlite_store, Transcript.of([said("user", "Depth?"), said("assistant", call), said("tool", result)]))

    last = sqlite_store.context(done.ends[0]).messages[-1]
    assert [(part.tool_name, part.tool_output) for part in last.parts] == [("depth", "6.2 m")]


def test_hints_for_caching_stay_behind_and_other_notes_are_kept(sqlite_store: weft.Store) -> None:
    """The same question with and without a hint is the same turn."""
    hint = Part("annotation", json={"cache": {"type": "ephemeral"}})
    noted = Part("annotation", json={"cache": {"type": "ephemeral"}, "tag": "tides"})

    plain = taken(sqlite_store, Transcript.of([said("user", "When?")]))
    hinted = taken(sqlite_store, Transcript.of([said("user", "When?", hint)]))
    tagged = taken(sqlite_store, Transcript.of([said("user", "When?", noted)]))

    assert hinted.ends == plain.ends
    assert (hinted.new_turns, tagged.new_turns) == (0, 1)
    parts = sqlite_store.context(tagged.ends[0]).messages[0].parts
    assert [part.json for part in parts if part.type == "annotation"] == [{"tag": "tides"}]


def test_what_branches_share_is_made_ready_once(sqlite_store: weft.Store) -> None:
    """Issue 8, speed: a long conversation with many ends takes memory as what is said in it, not as its ends."""
    import tracemalloc

    elsewhere = InMemoryBlobStore()
    picture = Part("image", blob=elsewhere.put_blob(b"\x89PNG", media_type="image/png", kind="image"))
    call = Part("tool_call", tool_call_id="k", tool_name="depth", tool_args={})
    result = Part("tool_result", tool_call_id="k", tool_output="6.2 m")
    trunk = [said("user", picture, "See:"), *(said("user", f"{n} " + "x" * 10_000) for n in range(60))]
    entries = [
        Entry(str(n), message, (str(n - 1),) if n else ()) for n, message in enumerate([*trunk, said("user", call)])
    ]
    last = entries[-1].id
    ends = [Entry(f"end {n}", said("tool", result, f"{n}"), (last,)) for n in range(30)]
    tracemalloc.start()

    done = taken(sqlite_store, Transcript((*entries, *ends)))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(done.ends), done.new_turns) == (30, len(entries) + 30)
    assert done.dropped == ["0.parts[0]: the bytes of this image are not there"]
    for end in done.ends:  # what is said before the place where they part counts for each of them
        (name,) = {part.tool_name for part in sqlite_store.context(end).messages[-2].parts}
        assert name == "depth"
    assert peak < 15_000_000  # of 600 kB that all share; each for itself, they take more than 30 times that


def test_a_picture_whose_bytes_are_gone_is_told_of_and_the_rest_is_stored(sqlite_store: weft.Store) -> None:
    elsewhere = InMemoryBlobStore()
    picture = Part("image", blob=elsewhere.put_blob(b"\x89PNG", media_type="image/png", kind="image"))

    done = taken(sqlite_store, Transcript.of([said("user", "See:", picture)]))

    assert done.dropped == ["1.parts[1]: the bytes of this image are not there"]
    assert [part.text for part in sqlite_store.context(done.ends[0]).messages[0].parts] == ["See:"]


def test_what_is_known_of_an_answer_comes_back(sqlite_store: weft.Store) -> None:
    """Model, why it ended, tokens and time; tokens in a provider's own words where there are no others."""
    counted = Entry("2", said("assistant", "6.2 m", at=NOON), ("1",), "mint-1", "stop", Usage(3, 4, 7))
    worded = Entry("3", said("assistant", "Or so."), ("2",), usage=Usage(provider_usage={"units": 2}))
    done = taken(sqlite_store, Transcript((Entry("1", said("user", "Depth?")), counted, worded), Session()))

    _, first, second = transcript_of(sqlite_store, [done.ends[0]]).entries

    assert (first.model, first.finish_reason, first.usage, first.message.timestamp) == (
        "mint-1",
        "stop",
        Usage(3, 4, 7),
        NOON,
    )
    assert second.usage == Usage(provider_usage={"units": 2})


def test_names_that_cannot_be_bookmarks_are_made_some(sqlite_store: weft.Store) -> None:
    """A-3: a bookmark is never taken for the id of a turn."""
    one = Transcript.of([said("user", "One")])
    turn_id = taken(sqlite_store, one).ends[0]

    assert taken(sqlite_store, one, turn_id).heads == {f"{turn_id}-": turn_id}
    assert taken(sqlite_store, one, " \n ").heads == {"imported": turn_id}
    assert taken(sqlite_store, one, "high \t water").heads == {"high water": turn_id}
    assert taken(sqlite_store, one, "\x1b[1mhigh\x00\ud800").heads == {"[1mhigh": turn_id}
    assert taken(sqlite_store, one, "x" * 1000).heads == {"x" * 200: turn_id}


def test_a_name_someone_else_has_is_left_to_them(sqlite_store: weft.Store) -> None:
    mine = sqlite_store.add_turn("Mine", bookmark="tides")
    given_one = Transcript.of([said("user", "Theirs")])

    done = taken(sqlite_store, given_one, "tides")

    assert done.heads == {"tides-2": done.ends[0]}
    assert sqlite_store.find("tides") == mine.id
    assert taken(sqlite_store, given_one, "tides").heads == done.heads


def test_a_name_that_went_on_here_stays_where_it_is(sqlite_store: weft.Store) -> None:
    """What was continued since the last import leads to more than the file has."""
    given_one = Transcript.of([said("user", "When?")])
    done = taken(sqlite_store, given_one, "tides")
    later = sqlite_store.add_turn("Here", continues=done.ends[0], bookmark="tides", move_bookmark=True)

    assert taken(sqlite_store, given_one, "tides").heads == {"tides": done.ends[0]}
    assert sqlite_store.find("tides") == later.id


def test_any_number_of_conversations_may_have_one_title(sqlite_store: weft.Store) -> None:
    """Issue 8: exports have hundreds called `New chat`. Each gets a name, and the same one when it comes again."""
    mine = sqlite_store.add_turn("Mine", bookmark="New chat")
    chats = [Transcript.of([said("user", f"Question {number}")]) for number in range(300)]

    def names() -> list[str]:
        given_all = [Incoming(chat, InMemoryBlobStore(), "New chat") for chat in chats]
        return [name for each in import_transcripts(sqlite_store, given_all) for name in each.heads]

    first = names()
    assert first == [f"New chat-{number}" for number in range(2, 302)]
    assert names() == first
    assert sqlite_store.find("New chat") == mine.id
    later = sqlite_store.add_turn("On", continues=sqlite_store.find("New chat-7"), bookmark="New chat-7")
    chats[40] = Transcript.of([said("user", "Question 40"), said("assistant", "Answer")])
    assert names() == first  # one was continued here, one there
    assert sqlite_store.find("New chat-7") == later.id
    assert sqlite_store.turn("New chat-42").text == "Answer"


def test_an_empty_transcript_is_nothing(sqlite_store: weft.Store) -> None:
    done = taken(sqlite_store, Transcript(session=replace(Session(), title="Empty")), "tides")

    assert (done.heads, done.ends, done.new_turns) == ({}, [], 0)


def test_many_conversations_are_stored_in_one_write_or_none_at_all(
    sqlite_store: weft.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk is waited for once, not once for every conversation and once for every name."""
    writes: list[object] = []
    write = sqlite_store.frames.write

    def counting(work: Any) -> Any:
        writes.append(work)
        return write(work)

    monkeypatch.setattr(sqlite_store.frames, "write", counting)
    given = [
        Incoming(Transcript.of([said("user", f"Tide {n}?"), said("assistant", "High.")]), InMemoryBlobStore(), "tides")
        for n in range(50)
    ]

    done = import_transcripts(sqlite_store, given)
    again = import_transcripts(sqlite_store, given[:1])

    assert (len(writes), sum(each.new_turns for each in done)) == (1, 100)
    assert [*done[0].heads, *done[49].heads] == ["tides", "tides-50"]
    assert (again[0].heads, again[0].ends, again[0].new_turns) == (done[0].heads, done[0].ends, 0)
