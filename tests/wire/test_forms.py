"""Cache marks and spellings apart from the conversation, so that a captured request can be written as it was."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from weft.canon import Message, Part
from weft.threads import turns_from_messages
from weft.threads.convert import messages_from_turn
from weft.wire import FAITHFUL, dialect, forms_of, note_parts, put_back, put_forms, read_parts, take_off

MARK = {"type": "ephemeral", "ttl": "1h"}


def test_marks_come_off_and_go_back_to_their_places() -> None:
    """A client moves its marks with every request; the messages under them stay the same messages."""
    body: dict[str, Any] = {
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "user",
                "content": [{"type": "tool_result", "content": [{"type": "text", "text": "x", "cache_control": MARK}]}],
            },
            {"role": "user", "content": [{"text": "a"}, {"cachePoint": {"type": "default"}}, {"text": "b"}]},
        ],
        "tools": [{"name": "t", "cache_control": MARK}],
    }
    given = copy.deepcopy(body)

    clean, marks = take_off(body)

    assert body == given
    assert "cache_control" not in str({key: clean[key] for key in ("system", "messages")})
    assert "cachePoint" not in str(clean)
    again = copy.deepcopy(dict(clean))
    assert put_back(again, marks) == 0
    assert again == given


def test_a_body_without_marks_is_left_as_it_is() -> None:
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}, "odd", 3], "system": "s"}

    assert take_off(body) == (body, [])


def test_marks_without_a_place_are_counted_not_raised() -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}

    lost = put_back(
        body, [[["messages", 7, "cache_control"], MARK], [["messages", 0, "content", 0, "x"], MARK], "junk", [[], 1]]
    )

    assert (lost, body) == (4, {"messages": [{"role": "user", "content": "Hi"}]})
    assert put_back(body, None) == 0


SPELLINGS: list[dict[str, Any]] = [
    {
        "model": "m",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
    },
    {
        "model": "m",
        "max_tokens": 1,
        "system": [{"type": "text", "text": "s"}],
        "messages": [{"role": "user", "content": "x"}],
    },
    {
        "model": "m",
        "max_tokens": 1,
        "metadata": None,
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "user", "content": [{"type": "text", "text": "y"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "z", "citations": None}]},
        ],
    },
]


@pytest.mark.parametrize("body", SPELLINGS)
def test_a_request_is_spelled_as_its_client_did(body: dict[str, Any]) -> None:
    """A text or a list of one text, a null or nothing: the dialect has one way, the client had its own."""
    anthropic = dialect("anthropic")
    decoded = anthropic.decode_request(body)
    written = anthropic.encode_request(decoded.messages, decoded.spec, None, FAITHFUL).body

    forms = forms_of(body, written)
    put_forms(written, forms)

    assert written == body


def test_nulls_that_all_of_a_kind_have_are_one_rule() -> None:
    """So that what is kept of a client's habits does not grow with its conversation."""
    messages = [
        {"role": "assistant", "content": [{"type": "text", "text": str(n), "citations": None}]} for n in range(50)
    ]
    body = {"model": "m", "max_tokens": 1, "messages": messages}
    decoded = dialect("anthropic").decode_request(body)
    written = dialect("anthropic").encode_request(decoded.messages, decoded.spec, None, FAITHFUL).body

    forms = forms_of(body, written)

    assert len(forms["nulls"]) == 1
    put_forms(written, forms)
    assert written == body


def test_what_the_writer_adds_is_left_unsaid_again() -> None:
    call = {"id": "k", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}]}
    decoded = dialect("openai_chat").decode_request(body)
    written = dialect("openai_chat").encode_request(decoded.messages, decoded.spec, None, FAITHFUL).body
    assert written != body

    put_forms(written, forms_of(body, written))

    assert written == body


@pytest.mark.parametrize(
    "part",
    [
        Part("tool_result", tool_call_id="t", tool_output="plain"),
        Part("tool_result", tool_call_id="t", tool_name="f", tool_output={"content": "x", "n": [1, 2]}),
        Part(
            "tool_result", tool_call_id="t", tool_output=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
        ),
        Part(
            "file",
            json={"url": "https://example.org/a.pdf"},
            provider_raw={"fileData": {"fileUri": "https://example.org/a.pdf", "mimeType": "application/pdf"}},
        ),
    ],
)
def test_parts_are_what_they_were_after_being_a_turn(part: Part) -> None:
    """R-8: a turn keeps a tool's output as text; what it was is noted beside it and comes back."""
    message = Message("tool" if part.type == "tool_result" else "user", (part,), provider="google")
    drafts, lost = turns_from_messages(note_parts([message]), None)
    assert lost == []

    row = _row(drafts[0])
    again = read_parts(messages_from_turn(row, _blobs()))

    assert [each.parts for each in again] == [(part,)]


def test_messages_without_notes_are_the_same_objects() -> None:
    message = Message("user", (Part("text", text="x"),))

    assert note_parts([message])[0] is message
    assert read_parts([message])[0] is message


def _blobs() -> Any:
    from weft.blobs import InMemoryBlobStore

    return InMemoryBlobStore()


def _row(draft: Any) -> Any:
    from weft import jsontext
    from weft.ids import new_id
    from weft.store import Flag, TurnRow

    extra = jsontext.dumps_text(draft.extra)
    return TurnRow(1, new_id(), draft.role, None, Flag.JSON, extra, None, None, jsontext.dumps(draft.blocks), None)
