"""Threads made fit to be sent."""

from __future__ import annotations

from typing import Any

from tests.support.turns import assistant, said, user
from weft.canon import ExcludedItem
from weft.chat import NOT_RUN, mend


def a_call(call_id: str | None, name: str = "depth") -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_use", "name": name, "input": {}}
    return block if call_id is None else {**block, "id": call_id}


def a_result(call_id: str | None, text: str = "6 m", name: str = "depth") -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "name": name, "content": [{"type": "text", "text": text}]}
    return block if call_id is None else {**block, "tool_use_id": call_id}


def not_run(call_id: str | None, name: str = "depth") -> dict[str, Any]:
    return {**a_result(call_id, NOT_RUN, name), "is_error": True}


def test_a_sound_thread_stays_as_it_is() -> None:
    messages = [user("Hm?"), assistant(a_call("1"), a_call(None)), user(a_result("1"), a_result(None)), assistant("6")]

    mended = mend(messages, "anthropic")

    assert (mended.messages, mended.excluded, mended.warnings) == (messages, [], [])


def test_a_call_without_a_result_gets_one_before_what_was_said_next() -> None:
    messages = [user("Hm?"), assistant(a_call("1"), a_call("2")), user(a_result("1"), "Never mind.")]

    mended = mend(messages, "anthropic")

    assert mended.messages[2:] == [user(a_result("1"), not_run("2")), user("Never mind.")]
    assert mended.warnings == ["calls that nobody answered are said not to have run: depth"]


def test_a_thread_that_ends_in_calls_gets_their_results() -> None:
    messages = [assistant(a_call(None, "a"), a_call("2", "b"))]

    assert mend(messages, "gemini").messages == [*messages, user(not_run(None, "a"), not_run("2", "b"))]


def test_two_answers_in_a_row_each_get_theirs() -> None:
    messages = [assistant(a_call("1")), assistant(a_call("2")), said("system", "x")]

    assert [message["role"] for message in mend(messages, "anthropic").messages] == [
        "assistant",
        "user",
        "assistant",
        "user",
        "system",
    ]


def test_what_a_provider_would_refuse_is_left_out_and_told() -> None:
    messages = [
        user("Hm?"),
        assistant({"type": "thinking", "thinking": "cut"}, "", {"type": "thinking", "thinking": "x", "signature": "s"}),
        {"role": "user", "content": []},
        assistant(""),
        {"role": "user", "content": "plain"},
    ]

    mended = mend(messages, "anthropic")

    assert mended.messages == [
        user("Hm?"),
        assistant({"type": "thinking", "thinking": "x", "signature": "s"}),
        {"role": "user", "content": "plain"},
    ]
    assert mended.excluded == [
        ExcludedItem("context.messages[1].parts[0]", "thinking that was cut before its signature cannot be sent back"),
        ExcludedItem("context.messages[1].parts[1]", "an empty text is refused"),
        ExcludedItem("context.messages[2]", "it has no content"),
        ExcludedItem("context.messages[3].parts[0]", "an empty text is refused"),
    ]


def test_gemini_is_not_sent_blocks_of_anothers_own_tools() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    theirs = {"type": "thinking", "thinking": "x", "origin": {"provider": "gemini"}}

    assert mend([assistant(search, theirs, "Found.")], "gemini").messages == [assistant(theirs, "Found.")]
    assert mend([assistant(search, "Found.")], "anthropic").messages == [assistant(search, "Found.")]
