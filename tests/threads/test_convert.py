"""R-6 to R-9: turns as canonical messages, and back; and messages as turns that are used again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import weft
from weft.canon import Message, Part, thaw
from weft.ids import id_time


def conversation(store: weft.Store) -> list[weft.Turn]:
    """The conversation of spec/README.md section 4."""
    call = {"type": "tool_use", "id": "tu1", "name": "sonar___depth", "input": {"pier": 4}}
    result = {
        "type": "tool_result",
        "name": "sonar___depth",
        "tool_use_id": "tu1",
        "content": [{"type": "text", "text": "6.2 m"}],
    }
    first = store.add_turn("Depth at pier 4?", provider_ptr="kilo", servers=["sonar"])
    thinking = {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"}
    second = store.add_turn([thinking, call], json=True, role="assistant", continues=first.id)
    return [first, second, store.add_turn(result, json=True, continues=second.id)]


def test_the_conversation_of_the_specification_becomes_its_context(store: weft.Store) -> None:
    """R-6, R-7, R-8: section 4's Context."""
    turns = conversation(store)

    messages = store.context(turns[-1].id).messages

    assert [(m.role, m.turn_id, m.timestamp) for m in messages] == [
        (role, turn.id, id_time(turn.id)) for role, turn in zip(["user", "assistant", "tool"], turns, strict=True)
    ]
    assert messages[0].parts == (Part("text", text="Depth at pier 4?"),)
    thinking, call = messages[1].parts
    assert (thinking.type, thinking.text, thaw(thinking.provider_raw)) == (
        "thinking",
        "Ask the sonar.",
        turns[1].content[0],
    )
    assert (call.tool_call_id, call.tool_name, thaw(call.tool_args)) == ("tu1", "sonar___depth", {"pier": 4})
    assert thaw(call.provider_raw) == turns[1].content[1]
    (result,) = messages[2].parts
    assert (result.type, result.tool_call_id, result.tool_output) == ("tool_result", "tu1", "6.2 m")
    assert thaw(result.provider_raw) == turns[2].content[0]


def test_a_mixed_turn_is_two_messages_and_one_turn_again(store: weft.Store) -> None:
    """R-7, R-9: the results first, both with the turn's id."""
    blocks = [{"type": "tool_result", "name": "t", "tool_use_id": "1", "content": []}, {"type": "text", "text": "and?"}]
    turn = store.add_turn(blocks, json=True)

    context = store.context(turn.id)

    assert [(m.role, m.turn_id) for m in context.messages] == [("tool", turn.id), ("user", turn.id)]
    (again,) = store.import_messages(context)
    assert again.id == turn.id  # the very turn: nothing new was said


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ([{"type": "text", "text": "x"}], "x"),
        (
            [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
            [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
        ),
        ([], []),
        ([{"type": "image", "n": 1}], [{"type": "image", "n": 1}]),
    ],
)
def test_tool_output_is_the_text_or_the_blocks(store: weft.Store, content: Any, output: Any) -> None:
    """R-8."""
    turn = store.add_turn({"type": "tool_result", "name": "t", "content": content}, json=True)

    assert thaw(store.context(turn.id).messages[0].parts[0].tool_output) == output


def test_documents_become_parts_with_blobs(store: weft.Store, tmp_path: Path) -> None:
    """R-6: image, audio, video or file by media type, the name in provider_raw."""
    for name, data in (("p.png", b"png"), ("t.csv", b"a,b")):
        (tmp_path / name).write_bytes(data)
    picture, table = store.document(tmp_path / "p.png"), store.document(tmp_path / "t.csv", name="Table")

    context = store.context([picture.id, table.id])

    parts = [message.parts[0] for message in context.messages]
    assert [(part.type, part.blob and part.blob.media_type) for part in parts] == [
        ("image", "image/png"),
        ("file", "text/csv"),
    ]
    assert [thaw(part.provider_raw) for part in parts] == [{"name": "p.png"}, {"name": "Table"}]
    assert [context.blob_store.get_blob(part.blob) for part in parts if part.blob] == [b"png", b"a,b"]


def test_cache_and_provider_survive(store: weft.Store) -> None:
    """Glossary: the caching hint is an annotation; provider and id come from meta.message."""
    (turn,) = store.import_messages(
        [
            Message(
                "assistant",
                (Part("text", text="hi"), Part("annotation", json={"cache": True, "name": "kim"})),
                id="r1",
                provider="anthropic",
            )
        ]
    )

    assert turn.cache
    assert turn.meta["message"] == {"id": "r1", "provider": "anthropic"}
    (message,) = store.context(turn.id).messages
    assert (message.id, message.provider) == ("r1", "anthropic")
    assert thaw(message.parts[-1].json) == {"cache": True, "name": "kim"}


@pytest.mark.parametrize(
    "part",
    [
        Part("text", text="t", provider_raw={"thoughtSignature": "s"}),
        Part("text", text="t", provider_raw={"type": "text", "text": "t", "citations": [1]}),
        Part("thinking", text="hm"),
        Part("thinking", text="hm", provider_raw={"type": "reasoning", "encrypted_content": "e"}),
        Part("thinking", provider_raw={"type": "redacted_thinking", "data": "d"}),
        Part("refusal", text="no"),
        Part("tool_call", tool_call_id="1", tool_name="t", tool_args={"a": [1, {"b": None}]}),
        Part("tool_call", tool_name="t", tool_args={}, provider_raw={"type": "function_call", "id": "fc"}),
        Part("compaction", provider_raw={"type": "compaction", "data": "d"}),
        Part("provider", provider_raw={"executableCode": {"code": "1"}}),
    ],
)
def test_a_part_survives_being_stored(store: weft.Store, part: Part) -> None:
    """R-9: nothing that a provider must get back is lost."""
    (turn,) = store.import_messages([Message("assistant", (part,))])

    (found,) = store.context(turn.id).messages[0].parts
    for name in ("text", "tool_call_id", "tool_name", "tool_args"):
        if getattr(part, name) is not None:
            assert thaw(getattr(found, name)) == thaw(getattr(part, name))
    if part.provider_raw is not None:
        assert thaw(found.provider_raw) == thaw(part.provider_raw)
    (again,) = store.import_messages(store.context(turn.id))
    assert again.content == turn.content


def test_json_and_plain_results_become_text_blocks(store: weft.Store) -> None:
    """R-9, R-8 back: JSON in a text block where there is no block form."""
    (json_turn, result_turn) = store.import_messages(
        [
            Message("user", (Part("json", json={"a": 1}),)),
            Message(
                "tool",
                (
                    Part(
                        "tool_result",
                        tool_call_id="1",
                        tool_name="t",
                        tool_output={"ok": True},
                        provider_raw={"is_error": True},
                    ),
                ),
            ),
        ]
    )

    assert json_turn.content == [{"type": "text", "text": '{"a":1}'}]
    block = result_turn.content[0]
    assert (block["content"], block["tool_use_id"], block["is_error"]) == (
        [{"type": "text", "text": '{"ok":true}'}],
        "1",
        True,
    )
    assert result_turn.role == "user"


def test_what_has_no_form_at_all_is_reported(store: weft.Store) -> None:
    """R-9, R-3."""
    with pytest.raises(weft.WeftError, match=r"messages\[0\].parts\[0\]"):
        store.import_messages([Message("user", (Part("compaction"),))])


def test_developer_comes_back_as_developer(store: weft.Store) -> None:
    (turn,) = store.import_messages([Message("developer", (Part("text", text="be brief"),))])

    assert turn.role == "system"
    assert store.context(turn.id).messages[0].role == "developer"


def history(count: int) -> list[dict[str, Any]]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": f"message {n}"} for n in range(count)]


def test_a_resent_history_is_not_stored_again(store: weft.Store) -> None:
    """An agent resends everything with every request; only what is new is written."""
    turns: list[weft.Turn] = []
    for count in range(1, 30):
        turns = store.import_messages(history(count))

    assert store.stats().turns == 29
    assert [turn.text for turn in turns[-1].thread] == [f"message {n}" for n in range(29)]


def test_a_changed_history_branches_where_it_changed(store: weft.Store) -> None:
    first = store.import_messages(history(10))
    changed = history(10)
    changed[5]["content"] = "something else"

    second = store.import_messages(changed)

    assert [a == b for a, b in zip(first, second, strict=True)] == [True] * 5 + [False] * 5
    assert store.stats().turns == 15


def test_a_turn_with_more_to_say_is_not_taken_for_another(store: weft.Store) -> None:
    """Options, a cache flag or a second parent make a turn another turn."""
    root = store.add_turn("root")
    store.add_turn("x", continues=root.id, search=True)
    store.add_turn("x", continues=root.id, cache=True)
    plain = store.add_turn("x", continues=root.id)

    (found,) = store.import_messages([{"role": "user", "content": "x"}], parent=root.id)
    (other_role,) = store.import_messages([{"role": "assistant", "content": "x"}], parent=root.id)

    assert found == plain
    assert other_role.role == "assistant"


def test_imported_messages_can_be_named(store: weft.Store) -> None:
    turns = store.import_messages(history(3), bookmark="run")
    assert store.turn("run") == turns[-1]

    again = store.import_messages(history(3), bookmark="again")

    assert [turn.id for turn in again] == [turn.id for turn in turns]
    assert store.turn("again").id == turns[-1].id
