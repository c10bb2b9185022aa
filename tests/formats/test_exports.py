"""Exports of chat services: ChatGPT, Claude.ai, open-webui, and llm's own database."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_agent_sessions import shape
from weft.errors import CodecError
from weft.formats import format_by_name, guess

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they warn about while they are imported is theirs
    import llm
    import sqlite_utils
    from llm.migrations import migrate

CHATGPT = format_by_name("chatgpt")


def node(name: str, parent: str | None, message: Any = None, children: list[str] | None = None) -> dict[str, Any]:
    return {"id": name, "parent": parent, "children": children or [], "message": message}


def said(role: str, *parts: Any, kind: str = "text", **more: Any) -> dict[str, Any]:
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    content = more.pop("content", None) or {"content_type": kind, "parts": list(parts)}
    return {"author": author, "create_time": 1.0, "content": content, "recipient": "all", "metadata": {}, **more}


CONVERSATION: dict[str, Any] = {
    "title": "Tides",
    "create_time": 1.0,
    "update_time": 2.0,
    "conversation_id": "c-1",
    "current_node": "a2",
    "default_model_slug": "gpt-x",
    "mapping": {
        "root": node("root", None, None, ["u1"]),
        "u1": node("u1", "root", said("user", "When is high water?"), ["a1", "a2"]),
        "a2": node("a2", "u1", said("assistant", "At six.", metadata={"model_slug": "gpt-x"}, end_turn=True)),
        "a1": node("a1", "u1", said("assistant", "At noon.", metadata={"model_slug": "gpt-o"})),
    },
}


def test_every_branch_of_a_chat_is_kept_and_the_one_shown_is_current() -> None:
    data = json.dumps([CONVERSATION])

    transcript = CHATGPT.load(data)

    assert shape(transcript) == [
        ("u1", None, "user", ["text"]),
        ("a1", "u1", "assistant", ["text"]),
        ("a2", "u1", "assistant", ["text"]),
    ]
    assert (transcript.current, transcript.session.title) == ("a2", "Tides")
    assert [entry.model for entry in transcript.entries] == [None, "gpt-o", "gpt-x"]
    assert guess(data) is CHATGPT


def test_a_message_to_a_tool_is_a_call_and_what_the_tool_says_is_its_result() -> None:
    call = said("assistant", content={"content_type": "code", "text": '{"q": "tide"}'}, recipient="browser.search")
    result = said("tool", content={"content_type": "execution_output", "text": "06:10"}, name="browser.search")
    chat = {**CONVERSATION, "current_node": "t"}
    chat["mapping"] = {"a": node("a", None, call), "t": node("t", "a", result)}

    first, second = CHATGPT.load(json.dumps([chat])).entries

    assert (first.message.parts[0].tool_name, first.message.parts[0].tool_args) == ("browser.search", {"q": "tide"})
    assert (second.message.parts[0].tool_call_id, second.message.parts[0].tool_output) == ("a", "06:10")


def test_thoughts_pictures_and_unknown_contents_are_kept() -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "Look it up."}]}
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"}
    chat = {**CONVERSATION, "current_node": "d"}
    chat["mapping"] = {
        "b": node("b", None, said("assistant", content=thoughts)),
        "c": node("c", "b", said("user", "see", pointer, kind="multimodal_text")),
        "d": node("d", "c", said("assistant", content={"content_type": "hologram", "rays": [1]})),
    }

    found = CHATGPT.load(json.dumps(chat)).entries

    assert [[part.type for part in entry.message.parts] for entry in found] == [
        ["thinking"],
        ["text", "provider"],
        ["provider"],
    ]
    assert found[0].message.parts[0].text == "Plan\n\nLook it up."
    assert found[1].message.parts[1].provider_raw == pointer


def test_an_export_is_read_one_conversation_at_a_time() -> None:
    several = json.dumps([{**CONVERSATION, "title": str(number)} for number in range(3)], indent=1)

    assert [each.session.title for each in CHATGPT.transcripts(several)] == ["0", "1", "2"]


def test_an_export_cut_short_gives_what_was_whole_and_says_where_it_ends() -> None:
    whole = json.dumps([CONVERSATION, CONVERSATION])
    reading = CHATGPT.transcripts(whole[:-30])

    assert next(reading).session.title == "Tides"
    with pytest.raises(CodecError, match="byte"):
        list(reading)


def test_claude_ai_answers_are_split_where_tools_answered() -> None:
    kind = format_by_name("claude-ai")
    blocks = [
        {"type": "text", "text": "Look.", "start_timestamp": "2026-01-01T00:00:00Z"},
        {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"q": "tide"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "06:10"}]},
        {"type": "text", "text": "At six."},
    ]
    attached = [{"file_name": "n.txt", "file_type": "txt", "file_size": 2, "extracted_content": "hi"}]
    export = [
        {
            "uuid": "c1",
            "name": "Tides",
            "created_at": "2026-01-01T00:00:00Z",
            "account": {"uuid": "me"},
            "chat_messages": [
                {"uuid": "h1", "sender": "human", "text": "When?", "content": [], "attachments": attached},
                {"uuid": "a1", "sender": "assistant", "text": "", "content": blocks},
            ],
        }
    ]

    transcript = kind.load(json.dumps(export))

    assert shape(transcript) == [
        ("h1", None, "user", ["text", "file"]),
        ("a1/1", "h1", "assistant", ["text", "tool_call"]),
        ("a1/2", "a1/1", "tool", ["tool_result"]),
        ("a1", "a1/2", "assistant", ["text"]),
    ]
    blob = transcript.entries[0].message.parts[1].blob
    assert blob is not None
    assert transcript.entries[0].blobs.get_blob(blob) == b"hi"
    assert guess(json.dumps(export)) is kind


def test_dumps_of_claude_ai_have_branches() -> None:
    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        {"uuid": "h1", "sender": "human", "text": "a", "parent_message_uuid": root},
        {"uuid": "a1", "sender": "assistant", "text": "b", "parent_message_uuid": "h1"},
        {"uuid": "a2", "sender": "assistant", "text": "c", "parent_message_uuid": "h1"},
    ]
    dump = {"uuid": "c", "name": "", "chat_messages": messages, "current_leaf_message_uuid": "a1"}

    transcript = format_by_name("claude-ai").load(json.dumps(dump))

    assert [(entry.id, entry.parent_id) for entry in transcript.entries] == [("h1", None), ("a1", "h1"), ("a2", "h1")]
    assert transcript.current == "a1"


def test_open_webui_chats_are_trees() -> None:
    kind = format_by_name("open-webui")
    messages = {
        "1": {"id": "1", "parentId": None, "childrenIds": ["2", "3"], "role": "user", "content": "hi", "timestamp": 1},
        "2": {
            "id": "2",
            "parentId": "1",
            "role": "assistant",
            "content": "a",
            "model": "m",
            "usage": {"eval_count": 4},
        },
        "3": {"id": "3", "parentId": "1", "role": "assistant", "content": "b", "model": "m", "done": True},
    }
    chat = {"title": "T", "models": ["m"], "history": {"currentId": "2", "messages": messages}, "messages": []}
    export = json.dumps([{"id": "x", "user_id": "u", "title": "T", "chat": chat, "archived": False}])

    transcript = kind.load(export)

    assert shape(transcript) == [
        ("1", None, "user", ["text"]),
        ("2", "1", "assistant", ["text"]),
        ("3", "1", "assistant", ["text"]),
    ]
    assert (transcript.current, transcript.session.model) == ("2", "m")
    assert transcript.entries[1].usage is not None
    assert transcript.entries[1].usage.output_tokens == 4
    assert guess(export) is kind


# -- llm ---------------------------------------------------------------------------------------------------------------


class Harbour(llm.Model):
    """A model of llm's own kind, that answers from here."""

    model_id = "harbour"

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> Iterator[str]:  # noqa: ARG002
        response.set_usage(input=3, output=4)
        yield f"You said: {prompt.prompt}"


def test_what_llm_logged_is_read_as_it_was_said(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    database = sqlite_utils.Database(path)
    migrate(database)  # type: ignore[no-untyped-call]
    talk = Harbour().conversation()
    for prompt in ("When is high water?", "And low water?"):
        response = talk.prompt(prompt)
        response.text()
        response.log_to_db(database)  # type: ignore[no-untyped-call]
    database.close()
    kind = format_by_name("llm")

    transcript = kind.load(path)

    assert [(entry.message.role, entry.message.parts[0].text) for entry in transcript.linear()] == [
        ("user", "When is high water?"),
        ("assistant", "You said: When is high water?"),
        ("user", "And low water?"),
        ("assistant", "You said: And low water?"),
    ]
    assert transcript.entries[1].model == "harbour"
    assert guess(path) is kind
    assert kind.load(path.read_bytes()) == transcript


class Sounder(llm.Model):
    """A model of llm's own kind that thinks, and calls tools before it answers."""

    model_id = "sounder"
    supports_tools = True
    attachment_types: set[str] | frozenset[str] = frozenset({"image/png"})

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> Iterator[Any]:  # noqa: ARG002
        if prompt.tool_results:
            yield "It is 6.2 m."
            return
        yield llm.parts.StreamEvent(type="reasoning", chunk="Ask the sonar.", part_index=0)
        for number, name in enumerate(("depth", "tide")):
            response.add_tool_call(llm.ToolCall(name=name, arguments={}, tool_call_id=f"k{number}"))
        yield "One moment."


def depth() -> str:
    """Sound."""
    return "6.2 m"


def tide() -> str:
    """Fail, as a tool may."""
    raise ValueError("no gauge")


def test_calls_fragments_and_attachments_that_llm_logged_are_read(tmp_path: Path) -> None:
    """What its tables keep apart, texts it stores once and pictures, is in its message again."""
    path = tmp_path / "logs.db"
    database = sqlite_utils.Database(path)
    migrate(database)  # type: ignore[no-untyped-call]
    chart = "A long chart. " * 30
    pictures = [
        llm.Attachment(type="image/png", content=b"\x89PNG"),
        llm.Attachment(type="image/png", url="https://harbour.example/pier.png"),
    ]
    talk = Sounder().conversation(tools=[depth, tide])
    for response in talk.chain("Depth?", fragments=[chart], attachments=pictures).responses():
        response.text()
        response.log_to_db(database)  # type: ignore[no-untyped-call]
    database.close()

    asked, called, answered, last = format_by_name("llm").load(path).linear()

    words, stored, linked = asked.message.parts
    assert words.text == f"{chart}\nDepth?"
    assert stored.blob is not None
    assert asked.blobs.get_blob(stored.blob) == b"\x89PNG"
    assert linked.json == {"url": "https://harbour.example/pier.png", "media_type": "image/png"}
    assert [part.type for part in called.message.parts] == ["thinking", "text", "tool_call", "tool_call"]
    good, bad = answered.message.parts
    assert (good.tool_call_id, good.tool_name, good.tool_output, good.json) == ("k0", "depth", "6.2 m", None)
    assert bad.tool_call_id == "k1"
    assert bad.provider_raw is not None
    assert bad.provider_raw["is_error"] is True
    assert "no gauge" in str(bad.provider_raw)
    assert last.message.parts[0].text == "It is 6.2 m."


def test_what_llm_kept_of_an_unknown_kind_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    migrate(sqlite_utils.Database(path))  # type: ignore[no-untyped-call]
    with sqlite3.connect(path) as database:
        database.execute("insert into messages values ('h', null, 'user', '{\"x\": 1}')")
        parts = [
            ("hologram", '{"rays": 2}'),
            ("attachment", '{"attachment": {"id": "gone"}}'),
            ("text", '{"text_ref": [{"literal": "a"}, {"fragment": 9}, 3]}'),
            ("text", "no JSON"),
        ]
        database.executemany(
            "insert into parts (message_hash, position, type, payload) values ('h', ?, ?, ?)",
            [(number, *part) for number, part in enumerate(parts)],
        )

    (entry,) = format_by_name("llm").load(path).entries

    hologram, missing, torn, empty = entry.message.parts
    assert (hologram.type, hologram.provider_raw) == ("provider", {"rays": 2, "type": "hologram", "text": None})
    assert (missing.type, missing.provider_raw) == ("provider", {"attachment": {"id": "gone"}})
    assert (torn.text, empty.text) == ("a", "")
    assert entry.extras["llm"] == {"provider_metadata": {"x": 1}}


def test_what_older_llms_logged_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    migrate(sqlite_utils.Database(path))  # type: ignore[no-untyped-call]
    with sqlite3.connect(path) as database:
        database.execute("insert into conversations values ('c', 'Tides', 'm')")
        database.execute(
            "insert into responses (id, model, prompt, system, response, conversation_id, datetime_utc, input_tokens)"
            " values ('r', 'm', 'When?', 'Be brief.', 'At six.', 'c', '2026-01-01T00:00:00', 3)"
        )
        database.execute(
            "insert into tool_calls (response_id, name, arguments, tool_call_id) values ('r','t','{}','k')"
        )
        database.execute("insert into tool_results (response_id, name, output, tool_call_id) values ('r','t','ok','j')")
        database.execute("insert into attachments values ('x', 'image/png', null, null, x'89504e47')")
        database.execute("insert into prompt_attachments values ('r', 'x', 0)")

    transcript = format_by_name("llm").load(path)

    assert shape(transcript) == [
        ("r/results", None, "tool", ["tool_result"]),
        ("r/prompt", "r/results", "user", ["text", "image"]),
        ("r", "r/prompt", "assistant", ["text", "tool_call"]),
    ]
    assert transcript.session.instructions is not None
    assert transcript.session.instructions.system == "Be brief."


def test_a_database_of_someone_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as database:
        database.execute("create table messages (id)")
        database.execute("insert into messages values (1)")

    with pytest.raises(CodecError, match="not a database of llm"):
        list(format_by_name("llm").transcripts(path.read_bytes()))
