"""Sessions of Claude Code: sub-agents in one file, what comes late, and what Anthropic would refuse."""

from __future__ import annotations

import pytest

from tests.formats.test_agent_sessions import (
    META,
    Line,
    answer,
    as_lines,
    call,
    cc,
    codex,
    result,
    same_lines,
    user,
    words,
)
from weft.canon import Transcript
from weft.formats import format_by_name, guess

CLAUDE = format_by_name("claude-code")
CODEX = format_by_name("codex")


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def chain(transcript: Transcript) -> list[str]:
    """Give the names of the entries on the branch that goes on."""
    return [entry.id for entry in transcript.linear()]


def tokens(transcript: Transcript) -> int:
    return sum(entry.usage.output_tokens or 0 for entry in transcript.entries if entry.usage)


def aside(kind: str, uuid: str, parent: str | None, message: Line) -> Line:
    return cc(kind, uuid, parent, message, isSidechain=True)


TWO_AGENTS = as_lines(
    cc("user", "u1", None, user("ask two agents")),
    cc("assistant", "a1", "u1", answer(call("t1"))),
    cc("assistant", "a2", "a1", answer(call("t2"))),
    aside("user", "x1", None, user("one")),
    aside("user", "y1", None, user("two")),
    aside("assistant", "x2", "x1", answer(text("x looks"), id="mx")),
    aside("assistant", "y2", "y1", answer(text("y looks"), id="my")),
    aside("assistant", "x3", "x2", answer(call("tx"), id="mx", tokens=9)),
    aside("assistant", "y3", "y2", answer(call("ty"), id="my", tokens=9)),
    aside("user", "x4", "x3", result("tx")),
    aside("user", "y4", "y3", result("ty")),
    cc("user", "u2", "a1", result("t1")),
    aside("assistant", "y5", "y4", answer(text("y is done"), id="my2")),
    cc("user", "u3", "a2", result("t2")),
    cc("assistant", "a3", "u3", answer(text("both are done"), id="m2")),
    aside("user", "x5", "x4", user("one more line of an agent")),
)


def test_agents_that_talk_at_once_in_one_file_are_chains_of_their_own() -> None:
    """Conventions 4, Claude Code: lines with one `message.id` are one message, whatever stands between them."""
    transcript = CLAUDE.load(TWO_AGENTS)

    parents = {entry.id: entry.parent_id for entry in transcript.entries}
    assert parents == {
        "u1": None,
        "a2": "u1",
        "u2": "a2",
        "u3": "u2",
        "x1": None,
        "y1": None,
        "x3": "x1",
        "x4": "x3",
        "y3": "y1",
        "y4": "y3",
        "y5": "y4",
        "a3": "u3",
        "x5": "x4",
    }
    assert tokens(transcript) == 4 + 9 + 9 + 4 + 4


def test_a_session_goes_on_where_its_main_agent_stopped() -> None:
    """Conventions 4, Claude Code: a sub-agent's line may be the last of the file, and is not where it is resumed."""
    assert chain(CLAUDE.load(TWO_AGENTS)) == ["u1", "a2", "u2", "u3", "a3"]


def test_a_file_of_a_sub_agent_goes_on_where_it_ends() -> None:
    only = as_lines(aside("user", "x1", None, user("one")), aside("assistant", "x2", "x1", answer(text("done"))))

    assert chain(CLAUDE.load(only)) == ["x1", "x2"]


def test_agents_that_talk_at_once_are_written_again_line_for_line() -> None:
    written, ledger = CLAUDE.dump(CLAUDE.load(TWO_AGENTS))

    assert ledger.losses == []
    assert same_lines(written, TWO_AGENTS)


def test_what_a_skill_says_between_the_blocks_of_a_message_does_not_part_it() -> None:
    """Conventions 4, Claude Code: usage is counted once."""
    session = as_lines(
        cc("user", "u1", None, user("go")),
        cc("assistant", "a1", "u1", answer(call("t1"), tokens=1)),
        cc("user", "u2", "a1", result("t1")),
        cc("user", "u3", "u2", user([text("the skill's text")]), isMeta=True, sourceToolUseID="t1"),
        cc("assistant", "a2", "u3", answer(call("t2"), tokens=7)),
        cc("user", "u4", "a2", result("t2")),
    )

    transcript = CLAUDE.load(session)

    assert [entry.id for entry in transcript.entries] == ["u1", "a2", "u2", "u3", "u4"]
    assert chain(transcript) == ["u1", "a2", "u2", "u3", "u4"]
    assert tokens(transcript) == 7


def test_a_message_that_is_parted_all_the_same_is_counted_once() -> None:
    session = as_lines(
        cc("user", "u1", None, user("go")),
        cc("assistant", "a1", "u1", answer(text("first"))),
        cc("user", "u2", "a1", user("wait")),
        cc("assistant", "a2", "u2", answer(text("second"))),
    )

    transcript = CLAUDE.load(session)
    written, ledger = CLAUDE.dump(transcript)

    assert tokens(transcript) == 4
    assert ledger.losses == []
    assert same_lines(written, session)


def test_a_result_that_comes_late_continues_those_that_came_in_time() -> None:
    session = as_lines(
        cc("user", "u1", None, user("go")),
        cc("assistant", "a1", "u1", answer(call("t1"))),
        cc("assistant", "a2", "a1", answer(call("t2"))),
        cc("user", "u2", "a1", result("t1")),
        cc("user", "u3", "u2", user("and hurry")),
        cc("user", "u4", "a2", result("t2")),
        cc("assistant", "a3", "u4", answer(text("done"), id="m2")),
    )

    assert chain(CLAUDE.load(session)) == ["u1", "a2", "u2", "u4", "a3"]


def test_a_message_is_not_waited_for_without_end() -> None:
    """A message may wait for its results, and the file for it; a file is never held in memory for that."""
    lines = [
        cc("user", "u1", None, user("go")),
        cc("assistant", "a1", "u1", answer(call("t1"))),
        *(aside("user", f"x{n}", None, user(str(n))) for n in range(400)),
        cc("user", "u2", "a1", result("t1")),
        cc("assistant", "a2", "u2", answer(text("done"), id="m2")),
    ]

    transcript = CLAUDE.load(as_lines(*lines))

    assert chain(transcript) == ["u1", "a1", "u2", "a2"]
    assert len(transcript.entries) == len(lines)


def test_what_the_user_said_while_the_agent_was_at_work_is_said() -> None:
    """Claude Code tells it to the model after the result it came with, and keeps it as an attachment."""
    queued = {"type": "queued_command", "prompt": "and the docs", "commandMode": "prompt"}
    notice = {"type": "queued_command", "prompt": "<task-notification>", "commandMode": "task-notification"}
    session = as_lines(
        cc("user", "u1", None, user("go")),
        cc("assistant", "a1", "u1", answer(call("t1"))),
        cc("user", "u2", "a1", result("t1")),
        cc("attachment", "q1", "u2", attachment=queued),
        cc("attachment", "q2", "q1", attachment=notice),
        cc("assistant", "a2", "q2", answer(text("both"), id="m2")),
    )

    transcript = CLAUDE.load(session)
    written, ledger = CLAUDE.dump(transcript)

    assert chain(transcript) == ["u1", "a1", "u2", "q1", "a2"]
    assert transcript.entries[3].message.parts[0].text == "and the docs"
    assert len(transcript.strays) == 1
    assert ledger.losses == []
    assert same_lines(written, session)


def test_a_session_that_begins_with_a_long_snapshot_is_known_by_its_look() -> None:
    snapshot = {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {"files": "x" * 70_000}}
    session = as_lines(snapshot, cc("user", "u1", None, user("go")))

    assert guess(session) is CLAUDE
    assert chain(CLAUDE.load(session)) == ["u1"]


def test_a_line_that_comes_twice_stays_what_others_continue() -> None:
    """A session that was resumed may hold lines twice."""
    again = cc("assistant", "a1", "u1", answer(text("yes")))
    session = as_lines(cc("user", "u1", None, user("go")), again, again, cc("user", "u2", "a1", user("more")))

    assert chain(CLAUDE.load(session)) == ["u1", "a1", "u2"]


SEGMENT = {"preservedSegment": {"headUuid": "u2", "tailUuid": "u3", "anchorUuid": "s1"}}
EACH = {"preservedMessages": {"anchorUuid": "s1", "uuids": ["u2", "a2", "u3"]}, **SEGMENT}


@pytest.mark.parametrize("about", [SEGMENT, EACH])
@pytest.mark.parametrize("parent", ["s1", "u3"])
def test_what_a_compaction_kept_word_for_word_comes_after_its_summary(about: Line, parent: str) -> None:
    """Claude Code puts the kept messages between the summary and what follows when it loads a session."""
    session = as_lines(
        cc("user", "u1", None, user("go")),
        cc("assistant", "a1", "u1", answer(text("long ago"))),
        cc("user", "u2", "a1", user("now")),
        cc("assistant", "a2", "u2", answer(call("t1"), id="m2")),
        cc("user", "u3", "a2", result("t1")),
        cc("system", "b1", None, subtype="compact_boundary", logicalParentUuid="u3", compactMetadata=about),
        cc("user", "s1", "b1", user("so far"), isCompactSummary=True),
        cc("assistant", "a3", parent, answer(text("on with it"), id="m3")),
    )

    transcript = CLAUDE.load(session)
    written, ledger = CLAUDE.dump(transcript)

    assert chain(transcript) == ["s1", "u2/s1", "a2/s1", "u3/s1", "a3"]
    assert tokens(transcript) == 4 + 4 + 4
    assert ledger.losses == []
    assert same_lines(written, session)


def test_what_a_compaction_kept_that_is_not_there_is_passed_over() -> None:
    about = {"preservedSegment": {"headUuid": "x", "tailUuid": "y", "anchorUuid": "s1"}}
    session = as_lines(
        cc("user", "u1", None, user("go")),
        cc("system", "b1", None, subtype="compact_boundary", compactMetadata=about),
        cc("user", "s1", "b1", user("so far"), isCompactSummary=True),
        cc("user", "u2", "s1", user("more")),
    )

    assert chain(CLAUDE.load(session)) == ["s1", "u2"]


def test_the_title_is_that_of_this_session() -> None:
    """Conventions 4, Claude Code: `summary{summary,leafUuid}` may be of a line in another file."""
    session = as_lines(
        {"type": "summary", "summary": "this one", "leafUuid": "u1"},
        {"type": "summary", "summary": "another", "leafUuid": "elsewhere"},
        cc("user", "u1", None, user("go")),
    )

    assert CLAUDE.load(session).session.title == "this one"


def test_calls_without_names_are_named_for_agents_that_need_them() -> None:
    """Issue 8: sessions that the agent can resume; a call without its result, or without an id, cannot be sent."""
    asked = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}}
    told = {"role": "function", "name": "f", "content": "42"}
    line = {"messages": [{"role": "user", "content": "q"}, asked, told]}
    transcript = format_by_name("openai-finetuning").load(as_lines(line))

    for kind in (CLAUDE, CODEX):
        back = kind.load(kind.dump(transcript)[0])
        names = [
            part.tool_call_id
            for entry in back.entries
            for part in entry.message.parts
            if part.tool_name or part.tool_output
        ]
        assert names == ["call_1", "call_1"], kind.name


def test_a_message_that_says_nothing_is_not_written_for_claude_code() -> None:
    """Anthropic refuses a message without content, and with it every session that has one."""
    thought = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
    rollout = as_lines(
        codex("session_meta", META), words("user", "hi"), codex("response_item", thought), words("user", "more")
    )

    back = CLAUDE.load(CLAUDE.dump(CODEX.load(rollout))[0])

    assert [entry.message.role for entry in back.linear()] == ["user", "user"]
