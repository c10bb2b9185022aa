"""Exports of chats as versions other than the newest write them, and what is easily missed in them."""

from __future__ import annotations

import html
import json
import sqlite3
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_agent_sessions import shape
from tests.formats.test_exports import CONVERSATION, node, said
from weft.canon import Transcript, thaw
from weft.formats import format_by_name, guess

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they warn about while they are imported is theirs
    import sqlite_utils
    from llm.migrations import migrate

Json = dict[str, Any]


def read(name: str, given: Any) -> Transcript:
    return format_by_name(name).load(json.dumps(given))


def texts(transcript: Transcript) -> list[str | None]:
    return [part.text for entry in transcript.entries for part in entry.message.parts]


# -- ChatGPT and Claude.ai ---------------------------------------------------------------------------------------------


def test_what_was_said_aloud_and_what_instructions_say_is_text() -> None:
    """Conventions 4, ChatGPT: contents are of many types, and not all of them have parts."""
    aloud = {"content_type": "audio_transcription", "text": "hello", "direction": "in"}
    context = {"content_type": "user_editable_context", "user_profile": "A sailor.", "user_instructions": "Be brief."}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 9s"}
    chat = {**CONVERSATION, "current_node": "d"}
    chat["mapping"] = {
        "a": node("a", None, said("user", content=context)),
        "b": node("b", "a", said("user", aloud, kind="multimodal_text")),
        "c": node("c", "b", said("assistant", content=recap)),
        "d": node("d", "c", said("assistant", "yes", recipient="assistant")),
    }

    transcript = read("chatgpt", chat)

    assert texts(transcript) == ["A sailor.", "Be brief.", "hello", "Thought for 9s", "yes"]
    assert [entry.message.parts[0].type for entry in transcript.entries] == ["text", "text", "thinking", "text"]


def test_a_hidden_note_between_a_call_and_its_result_does_not_part_them() -> None:
    chat = {**CONVERSATION, "current_node": "c"}
    chat["mapping"] = {
        "a": node("a", None, said("assistant", "{}", recipient="web.run")),
        "b": node("b", "a", said("system", "", metadata={"is_visually_hidden_from_conversation": True})),
        "c": node("c", "b", said("tool", "06:10", name="web.run")),
    }

    assert read("chatgpt", chat).entries[2].message.parts[0].tool_call_id == "a"


def test_a_long_export_is_known_whatever_it_says_first() -> None:
    """Issue 8: the format is guessed from content, of which only the beginning is looked at."""
    long = "x" * 70_000
    nodes = {"a": node("a", None, said("user", long)), "b": node("b", "a", said("assistant", "yes"))}
    chat = {"history": {"messages": {"u": {"id": "u", "parentId": None, "role": "user", "content": long}}}}

    assert guess(json.dumps([{"mapping": nodes, "current_node": "b"}])) is format_by_name("chatgpt")
    assert guess(json.dumps({"models": ["m"], **chat})) is format_by_name("open-webui")


def test_nodes_that_go_in_a_circle_are_not_passed_over() -> None:
    """Issue 8: any mutated file gives an error or a result, never silence."""
    nodes = {name: node(name, parent, said("user", name)) for name, parent in (("a", "b"), ("b", "a"), ("c", "c"))}
    messages = {name: {"id": name, "parentId": parent, "content": name} for name, parent in (("a", "b"), ("b", "a"))}

    chat = read("chatgpt", {**CONVERSATION, "mapping": nodes})
    webui_chat = read("open-webui", {"id": "c", "user_id": "x", "chat": {"history": {"messages": messages}}})

    assert [(entry.id, entry.parent_id) for entry in chat.entries] == [("a", None), ("b", "a"), ("c", None)]
    assert sorted(texts(webui_chat), key=str) == ["a", "b"]


def test_calls_of_an_export_without_ids_are_paired_with_their_results() -> None:
    """Conventions 4, Claude.ai: artifacts are calls, and the bulk export gives them no ids."""
    used: Json = {"type": "tool_use", "name": "artifacts", "input": {"command": "create"}, "integration_name": None}
    blocks = [
        {"type": "thinking", "thinking": "hm", "summaries": [{"summary": "Thought"}], "cut_off": False},
        {**used, "message": "made it"},
        {**used, "name": "search"},
        {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "6:10", "uuid": "x"}]},
        {"type": "tool_result", "name": "artifacts", "content": None, "is_error": False},
        {"type": "token_budget"},
        {"type": "text", "text": "Done.", "citations": [{"uuid": "y"}]},
    ]
    message = {"uuid": "m", "sender": "assistant", "text": "", "content": blocks}

    transcript = read("claude-ai", [{"uuid": "c", "name": "T", "chat_messages": [message]}])
    made, results, ended = (entry.message.parts for entry in transcript.entries)

    assert [part.tool_call_id for part in made[1:]] == ["m/call2", "m/call3"]
    assert [part.tool_call_id for part in results] == ["m/call3", "m/call2"]
    assert results[0].tool_output == "6:10"
    assert [part.type for part in ended] == ["provider", "text"]
    assert transcript.entries[-1].extras["claude-ai"]["notes"]["1"] == {"message": "made it"}


def test_nothing_of_an_export_goes_to_a_session_that_anthropic_would_refuse() -> None:
    """Issue 8: sessions that the agent can resume; Anthropic refuses blocks and keys that it does not know."""
    blocks = [{"type": "token_budget"}, {"type": "text", "text": "Hi.", "flags": ["x"], "citations": [{"uuid": "y"}]}]
    message = {"uuid": "m", "sender": "assistant", "text": "", "content": blocks}

    transcript = read("claude-ai", [{"uuid": "c", "name": "T", "chat_messages": [message]}])
    written, _ = format_by_name("claude-code").dump(transcript)

    assert [json.loads(line)["message"]["content"] for line in written.splitlines()[:1]] == [
        [{"type": "text", "text": "Hi."}]
    ]


def test_what_a_search_of_claude_ai_found_is_text_for_others_and_kept_as_it_was() -> None:
    found = [{"type": "knowledge", "title": "Tides", "url": "https://x", "text": "At six."}, {"type": "rich_link"}]
    blocks: list[Json] = [{"type": "tool_use", "id": "t", "name": "search", "input": {}}]
    blocks.append({"type": "tool_result", "tool_use_id": "t", "content": found})
    message = {"uuid": "m", "sender": "assistant", "text": "", "content": blocks}

    result = read("claude-ai", [{"uuid": "c", "name": "T", "chat_messages": [message]}]).entries[-1]

    assert [item["text"] for item in result.message.parts[0].tool_output] == ["At six.", '{"type":"rich_link"}']
    assert thaw(result.extras["claude-ai"]["notes"]["1"]["shown"]) == found


def test_claude_ai_messages_may_have_roles_and_spoken_notes() -> None:
    messages = [
        {"id": "a", "role": "user", "content": [{"type": "voice_note", "text": "spoken"}]},
        {"id": "b", "role": "assistant", "content": [{"type": "text", "text": "heard"}]},
    ]

    transcript = read("claude-ai", {"id": "c", "name": "T", "chat_messages": messages})

    assert shape(transcript) == [("a", None, "user", ["text"]), ("b", "a", "assistant", ["text"])]
    assert (transcript.session.id, texts(transcript)) == ("c", ["spoken", "heard"])


# -- open-webui and llm ------------------------------------------------------------------------------------------------


def webui(answer: Json, **chat: Any) -> Json:
    asked: Json = {"id": "u", "parentId": None, "role": "user", "content": "hi"}
    messages = {"u": asked, "a": {"id": "a", "parentId": "u", "role": "assistant", "model": "m", **answer}}
    return {"id": "c", "user_id": "x", "chat": {"history": {"currentId": "a", "messages": messages}, **chat}}


def attribute(value: Any) -> str:
    return html.escape(json.dumps(value))


DETAILS = (
    '<details type="reasoning" done="true" duration="5">\n<summary>Thought</summary>\n> a &lt; b\n> c\n</details>\n'
    f'Look.\n<details type="tool_calls" done="true" id="k" name="tide" arguments="{attribute(json.dumps({"at": 1}))}"'
    f' result="{attribute("06:10")}">\n<summary>Tool Executed</summary>\n</details>\nAt six.'
)
ITEMS = [
    {"type": "reasoning", "content": [{"type": "output_text", "text": "a < b\nc"}], "duration": 5},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Look."}]},
    {"type": "function_call", "call_id": "k", "name": "tide", "arguments": '{"at": 1}'},
    {"type": "function_call_output", "call_id": "k", "output": [{"type": "input_text", "text": "06:10"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "At six."}]},
]


@pytest.mark.parametrize("answer", [{"content": DETAILS}, {"content": "At six.", "output": ITEMS}])
def test_reasoning_and_calls_of_open_webui_are_what_they_are(answer: Json) -> None:
    """open-webui keeps them as items, and kept them as HTML in the middle of the text."""
    transcript = read("open-webui", webui({**answer, "usage": {"prompt_tokens": 3, "completion_tokens": 4}}))

    assert shape(transcript) == [
        ("u", None, "user", ["text"]),
        ("a/1", "u", "assistant", ["thinking", "text", "tool_call"]),
        ("a/2", "a/1", "tool", ["tool_result"]),
        ("a", "a/2", "assistant", ["text"]),
    ]
    thought, _, made = transcript.entries[1].message.parts
    assert (thought.text, made.tool_args, made.tool_call_id) == ("a < b\nc", {"at": 1}, "k")
    assert transcript.entries[2].message.parts[0].tool_output == "06:10"
    assert [entry.id for entry in transcript.entries if entry.usage] == ["a"]


def test_reasoning_of_open_webui_that_never_ends_is_text_and_soon_known() -> None:
    """Issue 8, laws: any file gives an error or a result; one that was cut, or made to be slow, gives it in time."""
    ended = '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> hm\n</details>'
    cut = '<details type="reasoning"><summary>x</summary>\n' * 2000
    answer = {"id": "a", "parentId": None, "role": "assistant", "content": f"{ended}\nSix.\n{cut}"}
    began = time.process_time()

    transcript = read("open-webui", [{"id": "q", "chat": {"history": {"currentId": "a", "messages": {"a": answer}}}}])

    parts = transcript.entries[0].message.parts
    assert [(part.type, part.text) for part in parts] == [("thinking", "hm"), ("text", f"Six.\n{cut}")]
    assert time.process_time() - began < 2


def test_what_open_webui_has_of_unknown_kinds_is_kept() -> None:
    items = [
        {"type": "open_webui:code_interpreter", "code": "1+1"},
        {"type": "message", "content": [{"type": "hologram"}]},
        {"type": "function_call_output", "call_id": "lost", "output": {"rows": 2}, "files": ["f"]},
    ]
    still = '<details type="tool_calls" done="false" id="k" name="tide" arguments="not JSON">\n</details>'

    kept = read("open-webui", webui({"content": "x", "output": items}))
    asking = read("open-webui", webui({"content": still}))
    listed = read("open-webui", webui({"content": [{"type": "text", "text": "a"}, {"type": "hologram"}]}))

    assert shape(kept)[1:] == [
        ("a/1", "u", "assistant", ["provider", "provider"]),
        ("a", "a/1", "tool", ["tool_result"]),
    ]
    assert kept.entries[2].message.parts[0].tool_output == {"rows": 2}
    assert shape(asking)[1:] == [("a", "u", "assistant", ["tool_call"])]
    assert shape(listed)[1:] == [("a", "u", "assistant", ["text", "provider"])]


def test_pictures_and_the_system_prompt_of_open_webui_are_read() -> None:
    chat = webui({"content": "yes"}, params={"system": "Be brief."})
    files = [{"type": "image", "url": "data:image/png;base64,aGk="}, {"type": "file", "id": "f"}]
    chat["chat"]["history"]["messages"]["u"]["files"] = files

    transcript = read("open-webui", chat)
    picture = transcript.entries[0].message.parts[1]

    assert picture.blob is not None
    assert transcript.entries[0].blobs.get_blob(picture.blob) == b"hi"
    assert transcript.entries[0].extras["open-webui"]["files"] == (files[1],)
    assert transcript.session.instructions is not None


def test_an_old_chat_of_open_webui_has_only_a_list() -> None:
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]

    transcript = read("open-webui", {"id": "c", "user_id": "x", "chat": {"messages": talk, "history": {}}})

    assert shape(transcript) == [("1", None, "user", ["text"]), ("2", "1", "assistant", ["text"])]


def test_what_llm_logged_before_an_upgrade_is_read_with_what_it_logged_after(tmp_path: Path) -> None:
    """llm 0.36 leaves older rows where they were; one that is a turn of a thread too is read there."""
    path = tmp_path / "logs.db"
    migrate(sqlite_utils.Database(path))  # type: ignore[no-untyped-call]
    row = "insert into responses (id, model, prompt, response, reasoning, conversation_id, datetime_utc) values "
    with sqlite3.connect(path) as database:
        database.execute("insert into conversations values ('c', 'Tides', 'm')")
        database.execute(row + "('r1', 'm', 'When?', 'At six.', 'hm', 'c', '2025-01-01T00:00:00')")
        database.execute(row + "('r2', 'm', 'told twice', 'x', null, 'c', '2025-01-02T00:00:00')")
        database.execute(row + "('r3', 'm', 'alone', 'y', null, null, '2025-01-03T00:00:00')")
        database.execute("insert into fragments (id, hash, content) values (1, 'h', 'a fragment')")
        database.execute("insert into prompt_fragments values ('r1', 1, 0)")
        database.execute("insert into messages (hash, role) values ('m1', 'user')")
        database.execute("insert into turns (id, tip_message_hash) values ('r2', 'm1')")

    found = list(format_by_name("llm").transcripts(path.read_bytes()))

    assert [[entry.id for entry in each.entries] for each in found] == [
        ["m1"],
        ["r1/prompt", "r1"],
        ["r3/prompt", "r3"],
    ]
    assert texts(found[1]) == ["a fragment", "When?", "hm", "At six."]


def test_a_database_of_an_early_llm_is_read(tmp_path: Path) -> None:
    """Before tokens were counted, and before attachments, fragments and tools had tables."""
    path = tmp_path / "logs.db"
    with sqlite3.connect(path) as database:
        database.execute("create table conversations (id text, name text, model text)")
        columns = "id, model, prompt, system, prompt_json, options_json, response, response_json, conversation_id"
        database.execute(f"create table responses ({columns}, duration_ms, datetime_utc)")
        database.execute("insert into conversations values ('c', 'Tides', 'm')")
        row = ("r", "m", "When?", None, None, "{}", "At six.", None, "c", 5, "2023-10-01T00:00:00")
        database.execute("insert into responses values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    transcript = format_by_name("llm").load(path)

    assert texts(transcript) == ["When?", "At six."]
    assert transcript.entries[1].usage is None
