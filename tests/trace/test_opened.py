"""Records opened: which dialect they are in, what was asked, what was answered [R-13]."""

from __future__ import annotations

import json
from typing import Any

import pytest

import weft
from tests.support.agents import claude_record, openai_record, sse
from weft.errors import StoreError, UsageError, WireError
from weft.trace import Meta, cook, facts_of, import_exchanges, open_record, record_line

USER: dict[str, Any] = {"role": "user", "content": "How deep?"}


@pytest.mark.parametrize(
    ("record", "speaks"),
    [
        ({"path": "/v1/messages?beta=true", "request": {"messages": [USER]}}, "anthropic"),
        ({"path": "/openai/v1/responses", "request": {"input": "hi"}}, "openai_responses"),
        ({"request": {"contents": []}}, "gemini"),
        ({"request": {"messages": [USER]}, "response": {"type": "message", "content": []}}, "anthropic"),
        ({"request": {"messages": [USER]}, "response": sse({"type": "message_start", "message": {}})}, "anthropic"),
        ({"request": {"messages": [USER]}, "response": sse({"type": "content-delta", "delta": {}})}, "cohere"),
        ({"request": {"messages": [USER]}, "response": sse({"choices": []})}, "openai_chat"),
        ({"request": {"messages": [USER]}, "response": {"stream": True, "sse_lines": ["event: x", 3]}}, "openai_chat"),
        ({"request": {"messages": [USER]}, "response": {"stream": True, "sse_lines": 5}}, "openai_chat"),
        ({"path": "/elsewhere", "request": {"messages": [USER]}, "response": None}, "openai_chat"),
    ],
)
def test_path_and_bodies_tell_the_dialect(record: dict[str, Any], speaks: str) -> None:
    assert open_record(record).dialect.name == speaks


def test_a_record_is_a_context_a_spec_and_a_reply() -> None:
    opened = open_record({**openai_record(1, [USER], "Six.", request={"temperature": 0.2}), "provider": "groq"})

    assert [message.role for message in opened.context.messages] == ["user"]
    assert (opened.spec.provider, opened.spec.temperature) == ("groq", 0.2)
    assert opened.reply is not None
    assert opened.reply.message is not None
    assert opened.reply.message.parts[0].text == "Six."


def test_the_model_may_be_in_the_path() -> None:
    """C-35: Gemini and Bedrock name it there."""
    gemini = {"path": "/v1beta/models/gemini-9:streamGenerateContent?alt=sse", "request": {"contents": []}}
    bedrock = {"path": "/model/claude-v9/converse", "request": {"messages": []}}

    assert [open_record(record).spec.model for record in (gemini, bedrock)] == ["gemini-9", "claude-v9"]


def test_events_of_other_framings_are_put_together() -> None:
    """Bedrock's streams are recorded as their events, Ollama's as lines."""
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Six."}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    framed = {"stream": True, "framing": "aws_eventstream", "events": events}
    record = {"path": "/model/m/converse-stream", "request": {"messages": []}, "response": framed}

    reply = open_record(record).reply

    assert reply is not None
    assert reply.message is not None
    assert reply.message.parts[0].text == "Six."


@pytest.mark.parametrize(
    "response", [None, {"raw": "<html>"}, {"error": {"message": "no"}}, {"stream": True}, {"content": 3}, 7]
)
def test_what_is_no_answer_is_none(response: Any) -> None:
    opened = open_record({**claude_record(1, [USER], []), "response": response})

    assert opened.reply is None or opened.reply.message is None


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (None, UsageError),
        ([], UsageError),
        ({"prompt": "x"}, UsageError),
        ({"system": "s", "messages": [{"role": "critic"}]}, WireError),
        ({"system": "s", "messages": 7}, UsageError),
    ],
)
def test_what_is_no_conversation_is_refused(request_: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        open_record({"request": request_})


def test_an_import_is_tried_again_from_where_the_store_is(sqlite_store: weft.Store) -> None:
    """D-18: a write that is done again, as after a lost server, builds on nothing that is not on disk."""
    frames, real, tries = sqlite_store.frames, sqlite_store.frames.write, list[int]()

    def twice(work: Any) -> Any:
        def failing(writer: Any) -> Any:
            work(writer)
            tries.append(1)
            raise StoreError("the server went away")

        if len(tries) < 2:
            with pytest.raises(StoreError):
                real(failing)
        return real(work)

    frames.write = twice  # type: ignore[method-assign]
    later = [USER, {"role": "assistant", "content": "Six."}, USER]
    records = [openai_record(1, [USER], "Six."), openai_record(2, later, "Still six.")]
    report = import_exchanges(frames, records, now_ms=1)
    frames.write = real  # type: ignore[method-assign]

    assert (report.new_turns, sqlite_store.stats().turns, sqlite_store.fsck()) == (4, 4, [])


ELEMENTS = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Six "}]}, "index": 0}]},
    {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "metres."}]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
    },
]


@pytest.mark.parametrize(("cut", "text"), [(0, "Six metres."), (9, "Six ")])
def test_a_stream_that_is_one_json_array_is_recorded_cooked_and_read(cut: int, text: str) -> None:
    """C-1, X-05: Gemini's, without `alt=sse`; cut off anywhere, what arrived is there and is marked."""
    asked = b'{"contents":[{"role":"user","parts":[{"text":"How deep?"}]}]}'
    answered = json.dumps(ELEMENTS, indent=1).encode()
    path = "/v1beta/models/gemini-9:streamGenerateContent"
    meta = Meta(path=path, status=200, response_type="application/json")

    line = record_line(meta, asked, answered[: len(answered) - cut], (), None)

    record = json.loads(line)
    assert (record["state"], "rest" in record["response"]) == (("incomplete", True) if cut else ("complete", False))
    assert [message.content for message in cook([line]).messages] == ["How deep?", text]
    reply = open_record(record).reply
    assert reply is not None
    assert reply.message is not None
    assert "".join(part.text or "" for part in reply.message.parts) == text
    assert facts_of(record).tokens.input == (None if cut else 3)


def test_an_array_that_is_no_stream_stays_as_it_is() -> None:
    """C-1."""
    for path, status in (("/v1/files", 200), ("/v1beta/models/g:streamGenerateContent", 429)):
        meta = Meta(path=path, status=status, response_type="application/json")
        assert json.loads(record_line(meta, b"{}", b'[{"a":1}]', (), None))["response"] == [{"a": 1}]
