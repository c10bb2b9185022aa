"""Calls whose process died: what arrived becomes an unfinished turn when someone next asks."""

from __future__ import annotations

import fcntl
import os
from typing import Any

import pytest

from tests.support.chatting import CLAUDE, Talk
from weft.chat import recover
from weft.chat.record import append_frame
from weft.jsontext import dumps


def left_behind(talk: Talk, *events: dict[str, Any]) -> str:
    """Leave a call in the log as a killed process does: its events, and a file that nobody holds."""
    question = talk.store.add_turn("Hm?", provider_ptr=CLAUDE, bookmark="tides")
    call_id = append_frame(talk.store, "gpt.call", {"continues": question.id})
    for event in events:
        append_frame(talk.store, "gpt.recv", {"frame_id": call_id}, dumps(event))
    folder = talk.store.frames.folder
    assert folder is not None
    (folder / "calls").mkdir(exist_ok=True)
    (folder / "calls" / call_id).write_bytes(dumps({"provider": "anthropic", "model": "mint-1"}))
    return call_id


def files(talk: Talk) -> list[str]:
    folder = talk.store.frames.folder
    assert folder is not None
    return [path.name for path in (folder / "calls").iterdir()]


def test_t56_a_killed_call_gets_its_end(talk: Talk) -> None:
    call_id = left_behind(
        talk,
        {"type": "thinking", "content": "Hm"},
        {"type": "text", "content": "At pier "},
        {"content": "4"},
        {"type": "tool_use", "name": "depth", "id": "c1"},
        {"content": '{"pier"'},
    )

    (turn,) = recover(talk.store)

    assert turn.content == [
        {"type": "thinking", "thinking": "Hm"},
        {"type": "text", "text": "At pier 4"},
        {"type": "tool_use", "name": "depth", "id": "c1", "input": {"_raw": '{"pier"'}},
    ]
    assert turn.bookmark == "tides"
    assert (turn.meta["frame_id"], turn.meta["unfinished"]) == (call_id, True)
    assert turn.meta["message"] == {
        "role": "assistant",
        "stop_reason": None,
        "provider": "anthropic",
        "model": "mint-1",
    }
    assert (recover(talk.store), files(talk)) == ([], [])

    assert talk.ask("Go on.", None, continues=turn.id).stopped == ""


def test_a_killed_call_that_heard_nothing_ends_in_an_error(talk: Talk) -> None:
    call_id = left_behind(talk)

    assert recover(talk.store) == []
    assert [frame.meta["frame_id"] for frame in talk.frames("gpt.error")] == [call_id]


def test_a_call_under_way_is_left_alone(talk: Talk) -> None:
    left_behind(talk, {"type": "text", "content": "At"})
    folder = talk.store.frames.folder
    assert folder is not None
    held = os.open(folder / "calls" / files(talk)[0], os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert recover(talk.store) == []
    finally:
        os.close(held)
    assert len(recover(talk.store)) == 1


@pytest.mark.parametrize("topic", ["gpt.turn", "gpt.error"])
def test_a_call_that_has_its_end_gets_no_second_one(talk: Talk, topic: str) -> None:
    """Killed between its end and letting go of its file."""
    if topic == "gpt.turn":
        talk.ask("Hm?")
    else:
        talk.call(talk.store.add_turn("[[error 500]]", provider_ptr=CLAUDE).id)
    folder = talk.store.frames.folder
    assert folder is not None
    (folder / "calls" / talk.frames("gpt.call")[0].id).touch()
    turns = len(talk.store.log())

    assert recover(talk.store) == []
    assert (len(talk.store.log()), files(talk)) == (turns, [])


def test_files_that_are_not_calls_are_passed_over(talk: Talk) -> None:
    folder = talk.store.frames.folder
    assert folder is not None
    (folder / "calls").mkdir()
    (folder / "calls" / "notes.txt").touch()
    (folder / "calls" / ("0" * 25)).touch()

    assert recover(talk.store) == []
    assert files(talk) == ["notes.txt"]
