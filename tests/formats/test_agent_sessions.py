"""Sessions of agents: Claude Code, Codex, Gemini CLI, pi."""

from __future__ import annotations

import json
from typing import Any

import pytest

from weft.canon import Transcript, Usage
from weft.errors import CodecError
from weft.formats import format_by_name, guess

CLAUDE = format_by_name("claude-code")
CODEX = format_by_name("codex")
Line = dict[str, Any]


def as_lines(*said: Line) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in said)


def same_lines(one: bytes, other: bytes) -> bool:
    return sorted(map(canonical, one.splitlines())) == sorted(map(canonical, other.splitlines()))


def canonical(line: bytes) -> str:
    return json.dumps(json.loads(line), sort_keys=True)


def shape(transcript: Transcript) -> list[tuple[Any, ...]]:
    return [
        (entry.id, entry.parent_id, entry.message.role, [part.type for part in entry.message.parts])
        for entry in transcript.entries
    ]


# -- Claude Code -------------------------------------------------------------------------------------------------------


def cc(kind: str, uuid: str, parent: str | None, message: Line | None = None, **more: Any) -> Line:
    said: Line = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/p", "version": "2.1"}
    said |= {"userType": "external", "isSidechain": False, "timestamp": "2026-01-01T00:00:00Z", **more}
    return said if message is None else {**said, "message": message}


def user(content: Any) -> Line:
    return {"role": "user", "content": content}


def answer(block: Line, *, id: str = "m1", reason: str | None = None, tokens: int = 4) -> Line:
    around = {"id": id, "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": reason}
    return {**around, "content": [block], "usage": {"input_tokens": 9, "output_tokens": tokens}}


def call(name: str) -> Line:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "ls"}}


def result(name: str, content: Any = "ok") -> Line:
    return user([{"type": "tool_result", "tool_use_id": name, "content": content}])


SESSION = as_lines(
    {"type": "summary", "summary": "List things", "leafUuid": "a4"},
    cc("user", "u1", None, user("list files")),
    cc("assistant", "a1", "u1", answer({"type": "thinking", "thinking": "hm", "signature": "s"}), requestId="r1"),
    cc("assistant", "a2", "a1", answer(call("t1")), requestId="r1"),
    cc("progress", "p1", "a2", data={}),
    cc("user", "u2", "a2", result("t1"), toolUseResult={"stdout": "x"}),
    cc("assistant", "a3", "a2", answer(call("t2"), reason="tool_use", tokens=40), requestId="r1"),
    cc("user", "u3", "a3", result("t2", [{"type": "text", "text": "/p"}])),
    cc("assistant", "a4", "u3", answer({"type": "text", "text": "done"}, id="m2", reason="end_turn")),
    cc("user", "u9", "u1", user("no, the hidden ones")),
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
)


def test_blocks_of_one_message_are_one_entry_and_its_usage_is_counted_once() -> None:
    transcript = CLAUDE.load(SESSION)

    assert shape(transcript)[:5] == [
        ("u1", None, "user", ["text"]),
        ("a3", "u1", "assistant", ["thinking", "tool_call", "tool_call"]),
        ("u2", "a3", "tool", ["tool_result"]),
        ("u3", "u2", "tool", ["tool_result"]),
        ("a4", "u3", "assistant", ["text"]),
    ]
    assert [entry.usage.output_tokens for entry in transcript.entries if isinstance(entry.usage, Usage)] == [40, 4]


def test_an_edited_prompt_is_a_branch_and_the_last_line_is_current() -> None:
    transcript = CLAUDE.load(SESSION)

    assert ("u9", "u1", "user", ["text"]) in shape(transcript)
    assert transcript.current == "u9"
    assert [entry.id for entry in transcript.linear("a4")] == ["u1", "a3", "u2", "u3", "a4"]


def test_a_session_is_written_again_line_for_line() -> None:
    transcript = CLAUDE.load(SESSION)

    written, ledger = CLAUDE.dump(transcript)

    assert same_lines(written, SESSION)
    assert ledger.losses == []


def test_after_a_compaction_the_chain_begins_anew() -> None:
    boundary = cc("system", "c1", None, subtype="compact_boundary", logicalParentUuid="a1", content="compacted")
    session = as_lines(
        cc("user", "u1", None, user("hello")),
        cc("assistant", "a1", "u1", answer({"type": "text", "text": "hi"})),
        boundary,
        cc("user", "u2", "c1", user("This session continues ..."), isCompactSummary=True),
        cc("assistant", "a2", "u2", answer({"type": "text", "text": "on"}, id="m2")),
    )

    transcript = CLAUDE.load(session)

    assert [(entry.id, entry.parent_id) for entry in transcript.entries][2:] == [("u2", None), ("a2", "u2")]
    assert same_lines(CLAUDE.dump(transcript)[0], session)


def test_lines_of_unknown_kinds_survive_and_stand_for_what_they_continue() -> None:
    session = as_lines(
        cc("user", "u1", None, user("hello")),
        cc("hologram", "h1", "u1", payload={"new": True}),
        cc("assistant", "a1", "h1", answer({"type": "text", "text": "hi"})),
    )

    transcript = CLAUDE.load(session)

    assert [(entry.id, entry.parent_id) for entry in transcript.entries] == [("u1", None), ("a1", "u1")]
    assert same_lines(CLAUDE.dump(transcript)[0], session)


def test_a_line_that_comes_twice_is_one_entry() -> None:
    """A session that was resumed may hold what was said before a second time."""
    line = cc("user", "u1", None, user("hello"))

    transcript = CLAUDE.load(as_lines(line, line))

    assert len(transcript.entries) == 1
    assert len(transcript.strays) == 1


def test_a_torn_line_is_named_by_its_number() -> None:
    with pytest.raises(CodecError, match="line 3"):
        CLAUDE.load(as_lines(cc("user", "u1", None, user("a")), cc("user", "u2", "u1", user("b"))) + b'{"type":"us')


# -- Codex -------------------------------------------------------------------------------------------------------------


def codex(kind: str, payload: Line) -> Line:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def item(**payload: Any) -> Line:
    return codex("response_item", payload)


def words(role: str, text: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}])


META: Line = {"id": "s", "session_id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/p", "originator": "codex_cli"}
META |= {"cli_version": "1.0", "model_provider": "openai", "base_instructions": {"text": "Be Codex."}}
ROLLOUT = as_lines(
    codex("session_meta", META),
    codex("turn_context", {"cwd": "/p", "model": "gpt-x", "approval_policy": "never", "summary": "auto"}),
    words("developer", "rules"),
    words("user", "hi"),
    codex("event_msg", {"type": "user_message", "message": "hi"}),
    item(type="reasoning", summary=[{"type": "summary_text", "text": "think"}], encrypted_content="sealed"),
    codex("event_msg", {"type": "token_count"}),
    item(type="function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
    item(type="function_call_output", call_id="c1", output="x"),
    item(type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
    item(type="custom_tool_call_output", call_id="c2", output="done"),
    words("assistant", "ready"),
    codex("world_state", {"full": True}),
)


def test_an_answer_is_one_entry_with_its_reasoning_and_calls() -> None:
    transcript = CODEX.load(ROLLOUT)

    assert [each[2:] for each in shape(transcript)] == [
        ("developer", ["text", "annotation"]),
        ("user", ["text", "annotation"]),
        ("assistant", ["thinking", "tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text", "annotation"]),
    ]
    assert transcript.session.instructions is not None
    assert (transcript.session.instructions.system, transcript.entries[2].model) == ("Be Codex.", "gpt-x")


def test_a_rollout_is_written_again_line_for_line() -> None:
    written, ledger = CODEX.dump(CODEX.load(ROLLOUT))

    assert same_lines(written, ROLLOUT)
    assert ledger.losses == []


def test_a_compacted_history_takes_the_place_of_the_old_one() -> None:
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "so far: hi"}]}]
    rollout = ROLLOUT + as_lines(
        codex("compacted", {"message": "so far", "replacement_history": history}), words("user", "next")
    )

    transcript = CODEX.load(rollout)

    assert [part.text for entry in transcript.linear() for part in entry.message.parts if part.text] == [
        "so far: hi",
        "next",
    ]
    assert same_lines(CODEX.dump(transcript)[0], rollout)


def test_a_session_of_claude_code_becomes_a_rollout_that_codex_can_resume() -> None:
    written, ledger = CODEX.dump(CLAUDE.load(SESSION))

    said = [json.loads(line) for line in written.splitlines()]
    assert [each["type"] for each in said][:3] == ["session_meta", "response_item", "event_msg"]
    assert {"id", "timestamp", "cwd", "originator", "cli_version", "model_provider"} <= said[0]["payload"].keys()
    assert any(each["payload"].get("type") == "user_message" for each in said)
    assert ledger.count > 0


def test_a_rollout_becomes_a_session_that_claude_code_can_resume() -> None:
    written, _ = CLAUDE.dump(CODEX.load(ROLLOUT))

    said = [json.loads(line) for line in written.splitlines()]
    parents = {each["uuid"]: each["parentUuid"] for each in said}
    assert [parent for parent in parents.values() if parent is not None and parent not in parents] == []
    assert [each["message"]["content"] for each in said if each.get("isMeta")] == ["rules"]
    assert all(len(each["message"]["content"]) == 1 for each in said if each["type"] == "assistant")


# -- Gemini CLI and pi -------------------------------------------------------------------------------------------------


def test_a_gemini_session_has_results_after_calls_and_branches_where_it_was_rewound() -> None:
    kind = format_by_name("gemini-cli")
    session = as_lines(
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "kind": "main", "summary": "Tides"},
        {"id": "1", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "ls"},
        {
            "id": "2",
            "timestamp": "2026-01-01T00:00:01Z",
            "type": "gemini",
            "content": "Look.",
            "thoughts": [{"subject": "Plan", "description": "List them."}],
            "tokens": {"input": 3, "output": 4, "total": 7, "cached": 0},
            "model": "gemini-x",
            "toolCalls": [
                {
                    "id": "c1",
                    "name": "ls",
                    "args": {"dir": "."},
                    "status": "success",
                    "result": [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a b"}}}],
                }
            ],
        },
        {"id": "3", "timestamp": "2026-01-01T00:00:02Z", "type": "info", "content": "saved"},
        {"id": "4", "timestamp": "2026-01-01T00:00:03Z", "type": "user", "content": [{"text": "thanks"}]},
        {"$rewindTo": "4"},
        {"id": "5", "timestamp": "2026-01-01T00:00:04Z", "type": "user", "content": "more"},
    )

    transcript = kind.load(session)

    assert shape(transcript) == [
        ("1", None, "user", ["text"]),
        ("2", "1", "assistant", ["thinking", "text", "tool_call"]),
        ("2/results", "2", "tool", ["tool_result"]),
        ("4", "2/results", "user", ["text"]),
        ("5", "2/results", "user", ["text"]),
    ]
    assert (transcript.session.title, transcript.entries[1].model) == ("Tides", "gemini-x")
    assert transcript.entries[2].message.parts[0].tool_output == "a b"
    assert len(transcript.strays) == 2
    assert guess(session) is kind


def test_an_old_gemini_session_is_one_object() -> None:
    said = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"}
    messages = [{"id": "1", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "hi"}]

    transcript = format_by_name("gemini-cli").load(json.dumps({**said, "messages": messages}, indent=2))

    assert shape(transcript) == [("1", None, "user", ["text"])]


def test_a_gemini_message_said_again_is_the_same_one_with_more() -> None:
    first = {"id": "2", "timestamp": "2026-01-01T00:00:01Z", "type": "gemini", "content": ""}

    transcript = format_by_name("gemini-cli").load(
        as_lines({"sessionId": "s", "startTime": "2026-01-01T00:00:00Z"}, first, {**first, "content": "done"})
    )

    assert shape(transcript) == [("2", None, "assistant", ["text"])]


def test_a_pi_session_is_a_tree_whose_other_entries_stand_for_their_parents() -> None:
    kind = format_by_name("pi")
    usage = {"input": 3, "output": 4, "totalTokens": 7, "cost": {"total": 0.1}}
    said: list[Line] = [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        {"type": "text", "text": "Look."},
    ]
    said.append({"type": "toolCall", "id": "c1", "name": "ls", "arguments": {"dir": "."}})
    session = as_lines(
        {"type": "session", "version": 3, "id": "u", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/p"},
        {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "ls"}},
        {"type": "model_change", "id": "2", "parentId": "1", "provider": "anthropic", "modelId": "x"},
        {
            "type": "message",
            "id": "3",
            "parentId": "2",
            "timestamp": "2026-01-01T00:00:01Z",
            "message": {
                "role": "assistant",
                "provider": "anthropic",
                "model": "claude-x",
                "usage": usage,
                "stopReason": "toolUse",
                "content": said,
            },
        },
        {
            "type": "message",
            "id": "4",
            "parentId": "3",
            "message": {
                "role": "toolResult",
                "toolCallId": "c1",
                "toolName": "ls",
                "content": [{"type": "text", "text": "a"}],
                "isError": True,
            },
        },
        {
            "type": "message",
            "id": "5",
            "parentId": "1",
            "message": {"role": "bashExecution", "command": "pwd", "output": "/p"},
        },
        {
            "type": "message",
            "id": "6",
            "parentId": "5",
            "message": {"role": "user", "content": [{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}]},
        },
        {"type": "label", "id": "7", "parentId": "6", "label": "here"},
    )

    transcript = kind.load(session)

    assert shape(transcript) == [
        ("1", None, "user", ["text"]),
        ("3", "1", "assistant", ["thinking", "text", "tool_call"]),
        ("4", "3", "tool", ["tool_result"]),
        ("5", "1", "user", ["text"]),
        ("6", "5", "user", ["image"]),
    ]
    assert transcript.entries[1].finish_reason == "tool_calls"
    assert transcript.entries[2].message.parts[0].provider_raw == {"is_error": True}
    assert len(transcript.strays) == 2
    assert guess(session) is kind


@pytest.mark.parametrize(("name", "data"), [("claude-code", SESSION), ("codex", ROLLOUT)])
def test_a_session_is_known_by_its_look(name: str, data: bytes) -> None:
    assert guess(data) is format_by_name(name)
