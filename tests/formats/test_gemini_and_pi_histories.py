"""Sessions of Gemini CLI and pi: histories written anew, what is told on other lines, older files, torn lines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_agent_sessions import META, Line, as_lines, cc, codex, user, words
from tests.formats.test_claude_code_histories import chain, text, tokens
from weft.formats import Source, format_by_name, guess

CLAUDE = format_by_name("claude-code")
GEMINI = format_by_name("gemini-cli")
PI = format_by_name("pi")


def gemini(name: str, kind: str, content: Any, **more: Any) -> Line:
    return {"id": name, "timestamp": "2026-01-01T00:00:00Z", "type": kind, "content": content, **more}


HEADER: Line = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"}


def ran(response: str) -> Line:
    made = [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": response}}}]
    return {"id": "c1", "name": "ls", "args": {}, "status": "success", "result": made}


def test_a_gemini_history_that_was_written_anew_is_a_branch_from_where_it_differs() -> None:
    """Gemini CLI: `$set` with `messages` clears the history and rebuilds it; what is the same stays the same."""
    counted = {"input": 3, "output": 4, "total": 7}
    masked = [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "[cut]"}}}]
    anew = [
        gemini("1", "user", [{"text": "ls"}]),
        gemini("2", "gemini", [{"functionCall": {"id": "c1", "name": "ls", "args": {}}}], toolCalls=[ran("[cut]")]),
        gemini("h", "user", masked),
        gemini("3", "gemini", [{"text": "one file"}], tokens=counted),
    ]
    session = as_lines(
        HEADER,
        gemini("1", "user", "ls"),
        gemini("2", "gemini", "", toolCalls=[ran("a long list")]),
        gemini("3", "gemini", "one file", tokens=counted),
        {"$set": {"messages": anew}},
        gemini("4", "user", "thanks"),
    )

    transcript = GEMINI.load(session)

    assert chain(transcript) == ["1", "2#2", "2#2/results", "3#2", "4"]
    assert [entry.id for entry in transcript.entries][:4] == ["1", "2", "2/results", "3"]
    assert tokens(transcript) == 4
    assert transcript.linear()[2].message.parts[0].tool_output == "[cut]"


def test_a_gemini_history_written_anew_with_odd_names_is_no_crash() -> None:
    """Issue 8, laws: any mutated file gives an error or a result."""
    note = {"type": "info", "id": ["a"], "content": "hm"}
    session = as_lines(HEADER, {"$set": {"messages": [note]}}, {"$set": {"messages": []}}, gemini("1", "user", "hi"))

    assert chain(GEMINI.load(session)) == ["1"]


def test_what_a_gemini_session_is_called_and_where_it_ran_is_said_later() -> None:
    """Conventions 4, Gemini CLI: control lines `{"$set": {...}}`."""
    session = as_lines(HEADER, gemini("1", "user", "hi"), {"$set": {"summary": "Tides", "directories": ["/p"]}})

    told = GEMINI.load(session).session

    assert (told.title, told.cwd) == ("Tides", "/p")


def test_rewinding_to_a_message_that_is_not_there_begins_anew() -> None:
    """Gemini CLI clears its history then."""
    session = as_lines(HEADER, gemini("1", "user", "a"), {"$rewindTo": "none"}, gemini("2", "user", "b"))

    assert chain(GEMINI.load(session)) == ["2"]


def test_a_gemini_session_on_one_line_has_its_messages() -> None:
    assert chain(GEMINI.load(as_lines({**HEADER, "messages": [gemini("1", "user", "hi")]}))) == ["1"]


def entry(kind: str, own: str, parent: str | None, **more: Any) -> Line:
    return {"type": kind, "id": own, "parentId": parent, "timestamp": "2026-01-01T00:00:00Z", **more}


def test_what_pi_tells_the_model_on_lines_of_its_own_is_told() -> None:
    """pi, docs/session-format.md: compactions, branch summaries and messages of extensions are in the context."""
    session = as_lines(
        {"type": "session", "version": 3, "id": "u", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/p"},
        entry("message", "1", None, message={"role": "user", "content": "hi"}),
        entry("compaction", "2", "1", summary="so far", firstKeptEntryId="1", tokensBefore=9),
        entry("branch_summary", "3", "1", summary="tried it", fromId="2"),
        entry("custom_message", "4", "3", customType="x", content=[text("note")], display=True),
        entry("custom", "5", "4", customType="x", data={"count": 1}),
        entry("label", "6", "5", targetId="2", label="before"),
        entry("session_info", "7", "2", name="Tides"),
    )

    transcript = PI.load(session)

    assert [(each.id, each.parent_id, each.message.parts[0].text) for each in transcript.entries] == [
        ("1", None, "hi"),
        ("2", "1", "so far"),
        ("3", "1", "tried it"),
        ("4", "3", "note"),
    ]
    assert (transcript.session.title, dict(transcript.heads)) == ("Tides", {"before": "2"})
    assert chain(transcript) == ["1", "2"]  # the last line of all is where it goes on


def test_pi_sessions_of_before_lines_had_names_are_one_chain() -> None:
    session = as_lines(
        {"type": "session", "id": "u", "timestamp": "2025-11-01T00:00:00Z", "cwd": "/p", "provider": "anthropic"},
        {"type": "message", "timestamp": "2025-11-01T00:00:00Z", "message": {"role": "user", "content": "hi"}},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"type": "message", "message": {"role": "assistant", "content": [text("yes")]}},
    )

    transcript = PI.load(session)

    assert guess(session) is PI
    assert [(each.id, each.parent_id) for each in transcript.entries] == [("2", None), ("4", "2")]


def test_what_seals_reasoning_in_pi_goes_to_claude_code() -> None:
    said = [{"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"}, text("yes")]
    about = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-x"}
    session = as_lines(
        {"type": "session", "version": 3, "id": "u", "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z"},
        entry("message", "1", None, message={"role": "assistant", "content": said, **about}),
    )

    written, _ = CLAUDE.dump(PI.load(session))

    assert '"signature":"c2ln"' in written.decode()


# A first line and a message of each, for what all of them have to do.
LINES: dict[str, tuple[Line, Line]] = {
    "claude-code": (cc("system", "s", None, content="x"), cc("user", "u", "s", user("hi"))),
    "codex": (codex("session_meta", META), words("user", "hi")),
    "gemini-cli": (HEADER, gemini("1", "user", "hi")),
    "pi": (
        {"type": "session", "version": 3, "id": "u", "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z"},
        entry("message", "1", None, message={"role": "user", "content": "hi"}),
    ),
}


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli", "pi"])
def test_a_torn_line_costs_the_line_and_not_the_session(name: str) -> None:
    """J-08: the others load, the bad ones are named by line; a session that is being written ends in half a line."""
    kind, (first, last) = format_by_name(name), LINES[name]
    torn = as_lines(first) + b'{"type":"user","mess\n' + as_lines(last) + b'{"type'
    source = Source.of(torn)
    source.bad_lines = []

    transcript = kind.load(source)

    assert [entry.message.parts[0].text for entry in transcript.entries] == ["hi"]
    assert [problem.where for problem in source.bad_lines] == ["line 2", "line 4"]
