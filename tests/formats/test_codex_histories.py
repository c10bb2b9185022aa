"""Rollouts of Codex: turns rolled back, other agents, tokens, older files, and what Codex can read of ours."""

from __future__ import annotations

import json

import pytest

from tests.formats.test_agent_sessions import (
    META,
    Line,
    answer,
    as_lines,
    call,
    canonical,
    cc,
    codex,
    result,
    same_lines,
    user,
    words,
)
from tests.formats.test_claude_code_histories import chain, text
from weft.canon import Entry, Message, Part, Transcript
from weft.formats import format_by_name, guess

CLAUDE = format_by_name("claude-code")
CODEX = format_by_name("codex")


def counts(received: int, sent: int, total: int) -> Line:
    usage = {"input_tokens": received, "output_tokens": sent, "total_tokens": received + sent}
    info = {"last_token_usage": usage, "total_token_usage": {"total_tokens": total}}
    return codex("event_msg", {"type": "token_count", "info": info})


def function(name: str) -> Line:
    said = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": name}
    return codex("response_item", said)


def output(name: str) -> Line:
    return codex("response_item", {"type": "function_call_output", "call_id": name, "output": "ok"})


def test_turns_that_were_rolled_back_are_another_branch() -> None:
    """Codex: `thread_rolled_back` drops the last turns of the user; what it put in his name itself is none of them."""
    rollout = as_lines(
        codex("session_meta", META),
        words("user", "<environment_context>here</environment_context>"),
        words("user", "one"),
        words("assistant", "1"),
        words("user", "two"),
        words("assistant", "2"),
        words("user", "three"),
        words("user", "<turn_aborted>stopped</turn_aborted>"),
        codex("event_msg", {"type": "thread_rolled_back", "num_turns": 2}),
        words("user", "better two"),
        words("assistant", "3"),
    )

    transcript = CODEX.load(rollout)
    written, ledger = CODEX.dump(transcript)

    assert chain(transcript) == ["1", "2", "3", "8", "9"]
    assert len(transcript.entries) == 9
    assert ledger.losses == []
    assert same_lines(written, rollout)


def test_more_turns_than_there_are_can_be_rolled_back() -> None:
    rollback = codex("event_msg", {"type": "thread_rolled_back", "num_turns": 9})

    transcript = CODEX.load(as_lines(codex("session_meta", META), words("user", "a"), rollback, words("user", "b")))

    assert chain(transcript) == ["2"]


def test_what_another_agent_wrote_is_an_entry_of_its_own() -> None:
    """Conventions 4, Codex: `agent_message` and `inter_agent_communication` are told to the model, not by it."""
    block = {"type": "encrypted_content", "encrypted_content": "x"}
    letter = {"type": "agent_message", "author": "/root/a", "recipient": "/root", "id": "am"}
    sent = {"author": "/root/b", "recipient": "/root", "other_recipients": [], "content": "hello", "trigger_turn": True}
    rollout = as_lines(
        codex("session_meta", META),
        words("user", "go"),
        words("assistant", "I wait."),
        codex("response_item", {**letter, "content": [{"type": "input_text", "text": "PASS"}, block]}),
        words("assistant", "It passed."),
        codex("inter_agent_communication", sent),
        words("assistant", "Hello."),
    )

    transcript = CODEX.load(rollout)
    written, ledger = CODEX.dump(transcript)

    assert [(entry.message.role, entry.message.parts[0].text) for entry in transcript.entries] == [
        ("user", "go"),
        ("assistant", "I wait."),
        ("user", "PASS"),
        ("assistant", "It passed."),
        ("user", "hello"),
        ("assistant", "Hello."),
    ]
    assert ledger.losses == []
    assert same_lines(written, rollout)


def test_tokens_are_counted_once_and_stand_at_the_answer_they_are_of() -> None:
    """Conventions 4, Codex: `event_msg` is a mirror, do not double count; older versions count before the answer."""
    rollout = as_lines(
        codex("session_meta", META),
        words("user", "go"),
        function("c1"),
        counts(10, 1, 11),
        counts(10, 1, 11),
        output("c1"),
        counts(20, 2, 33),
        function("c2"),
        output("c2"),
        words("assistant", "done"),
        codex("token_usage_record", {"response_id": "r", "usage": {"input_tokens": 30, "output_tokens": 3}}),
        counts(30, 3, 66),
    )

    transcript = CODEX.load(rollout)
    found = [(entry.usage.input_tokens, entry.usage.output_tokens) for entry in transcript.entries if entry.usage]

    assert found == [(10, 1), (20, 2), (30, 3)]
    assert CODEX.dump(transcript)[1].losses == []


def test_tokens_of_which_only_the_running_total_is_said_are_the_difference() -> None:
    def total(received: int, sent: int) -> Line:
        info = {"last_token_usage": None, "total_token_usage": {"input_tokens": received, "output_tokens": sent}}
        return codex("event_msg", {"type": "token_count", "info": info})

    rollout = as_lines(
        codex("session_meta", META),
        words("user", "a"),
        words("assistant", "b"),
        total(10, 1),
        words("user", "c"),
        words("assistant", "d"),
        total(30, 3),
    )

    found = [entry.usage for entry in CODEX.load(rollout).entries if entry.usage]

    assert [(usage.input_tokens, usage.output_tokens) for usage in found] == [(10, 1), (20, 2)]


def test_a_thread_is_called_as_it_was_last_named() -> None:
    named = [codex("event_msg", {"type": "thread_name_updated", "thread_name": name}) for name in ("First", "Tides")]

    transcript = CODEX.load(as_lines(codex("session_meta", META), words("user", "a"), *named))

    assert transcript.session.title == "Tides"
    assert CODEX.dump(transcript)[1].losses == []


def test_tokens_are_written_where_codex_takes_them_up() -> None:
    session = as_lines(cc("user", "u1", None, user("go")), cc("assistant", "a1", "u1", answer(text("done"))))

    back = CODEX.load(CODEX.dump(CLAUDE.load(session))[0])

    assert back.entries[-1].usage is not None
    assert (back.entries[-1].usage.input_tokens, back.entries[-1].usage.output_tokens) == (9, 4)


def test_a_turn_context_is_written_as_codex_reads_it() -> None:
    """Codex drops a line it cannot parse: its sandbox policy is told apart by `type`."""
    session = as_lines(cc("user", "u1", None, user("go")), cc("assistant", "a1", "u1", answer(text("done"))))

    written, _ = CODEX.dump(CLAUDE.load(session))

    assert '"sandbox_policy":{"type":"read-only"}' in written.decode()


def test_what_codex_cannot_read_of_a_message_does_not_cost_the_rest_of_it() -> None:
    """Codex drops a whole line for one block it does not know; a document is such."""
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}}
    session = as_lines(cc("user", "u1", None, user([text("read this"), document])))

    written, ledger = CODEX.dump(CLAUDE.load(session))

    assert [part.text for part in CODEX.load(written).entries[0].message.parts if part.type == "text"] == ["read this"]
    assert "input_file" not in written.decode()
    assert any("parts" in loss.place for loss in ledger.losses)


def test_a_picture_that_a_tool_showed_is_a_picture_for_the_other_agent() -> None:
    """Issue 8: sessions that the agent can resume; a screenshot as text would fill the whole context."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    session = as_lines(
        cc("user", "u1", None, user("look")),
        cc("assistant", "a1", "u1", answer(call("t1"))),
        cc("user", "u2", "a1", result("t1", [text("here"), picture])),
    )
    seen = [{"type": "input_text", "text": "here"}, {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]

    there, _ = CODEX.dump(CLAUDE.load(session))
    back, _ = CLAUDE.dump(CODEX.load(there))

    assert [
        line["payload"]["output"] for line in map(json.loads, there.splitlines()) if "output" in line["payload"]
    ] == [seen]
    last = json.loads(back.splitlines()[-1])
    assert last["message"]["content"][0]["content"] == [text("here"), picture]


@pytest.mark.parametrize(
    ("block", "source"),
    [
        ({"type": "image", "data": "aGk=", "mimeType": "image/png"}, None),
        ({"type": "image", "base64": "aGk=", "mime_type": "image/png"}, None),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}, None),
        ({"type": "image", "source": {"type": "url", "url": "https://x/y"}}, {"type": "url", "url": "https://x/y"}),
        ({"type": "input_image", "image_url": "https://x/y"}, {"type": "url", "url": "https://x/y"}),
    ],
)
def test_a_picture_is_known_however_a_tool_showed_it(block: Line, source: Line | None) -> None:
    shown = [
        Part("tool_call", tool_call_id="c", tool_name="look", tool_args={}),
        Part("tool_result", tool_call_id="c", tool_output=[text("here"), block]),
    ]
    entries = [Entry("1", Message("assistant", shown[:1])), Entry("2", Message("tool", shown[1:]), ("1",))]

    written, _ = CLAUDE.dump(Transcript(tuple(entries)))

    content = json.loads(written.splitlines()[-1])["message"]["content"][0]["content"]
    base64 = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert content == [text("here"), {"type": "image", "source": source or base64}]


def test_what_a_tool_gave_that_is_no_picture_stays_as_it_is_written() -> None:
    output = [{"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "hologram"}]
    entries = [
        Entry("1", Message("assistant", [Part("tool_call", tool_call_id="c", tool_name="look", tool_args={})])),
        Entry("2", Message("tool", [Part("tool_result", tool_call_id="c", tool_output=output)]), ("1",)),
    ]

    written, _ = CODEX.dump(Transcript(tuple(entries)))

    assert json.loads(json.loads(written.splitlines()[-1])["payload"]["output"]) == output


def test_rollouts_of_before_lines_had_types_are_read() -> None:
    header = {"id": "t-1", "timestamp": "2025-06-01T00:00:00Z", "instructions": "Be brief.", "git": {}}
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    shell = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}
    done = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    rollout = as_lines(header, {"record_type": "state"}, message, shell, {"record_type": "state"}, done)

    transcript = CODEX.load(rollout)
    written, ledger = CODEX.dump(transcript)

    assert guess(rollout) is CODEX
    assert [entry.message.role for entry in transcript.entries] == ["user", "assistant", "tool"]
    assert transcript.session.instructions is not None
    assert (transcript.session.id, transcript.session.instructions.system) == ("t-1", "Be brief.")
    assert ledger.losses == []
    assert sorted(map(canonical, written.splitlines())) == sorted(map(canonical, rollout.splitlines()))
