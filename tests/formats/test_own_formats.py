"""Contexts of gpt2099 and lmctx, cooked traces, trace records, and weft's own lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from weft.canon import Context, Message, Part, Transcript, Usage
from weft.errors import CodecError, UsageError
from weft.formats import (
    EntryBlobs,
    Ledger,
    format_by_name,
    formats,
    guess,
    guess_by_name,
    redacted,
    register,
    unaccounted,
)
from weft.formats.format import Format, carrying

CONTEXT, LMCTX, COOKED, TRACE, WEFT = (format_by_name(name) for name in ("context", "lmctx", "cooked", "trace", "weft"))


def again(kind: Format, value: Any) -> Any:
    """Read a file and write it again."""
    return json.loads(kind.dump(kind.load(json.dumps(value)))[0])


def test_a_resolved_thread_comes_back_as_it_was() -> None:
    """R-7: a user turn of results and a question is two messages in canon, and one turn again."""
    result = {"type": "tool_result", "name": "tide", "tool_use_id": "k", "content": [{"type": "text", "text": "06:10"}]}
    value = {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}], "cache": True},
            {"role": "user", "content": "When?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "k", "name": "tide", "input": {}}], "x": 1},
            {"role": "user", "content": [result, {"type": "text", "text": "And then?"}]},
        ],
        "options": {"provider_ptr": "kilo", "servers": ["sonar"]},
    }

    assert again(CONTEXT, value) == value
    assert [entry.message.role for entry in CONTEXT.load(json.dumps(value)).entries][-2:] == ["tool", "user"]
    assert again(CONTEXT, {"messages": []}) == {"messages": [], "options": {}}
    assert guess(json.dumps(value)) is CONTEXT


@pytest.mark.parametrize(
    "value", [[], {}, {"messages": 1}, {"messages": [1]}, {"messages": [{"role": "x"}]}, {"messages": [{"content": 1}]}]
)
def test_what_is_no_thread_is_refused(value: Any) -> None:
    with pytest.raises(CodecError):
        CONTEXT.load(json.dumps(value))


def test_a_context_of_lmctx_comes_back_as_it_was() -> None:
    """M-14 to M-18, as a file."""
    context = Context()
    blob = context.blob_store.put_blob(b"png", media_type="image/png", kind="image")
    context = context.user([Part("text", "x"), Part("image", blob=blob)]).with_usage(Usage(1, 2, 3, {"n": 1}))
    value = {**context.to_dict(include_blob_payloads=True), "later": 1}

    assert again(LMCTX, value) == value
    assert guess(json.dumps(value)) is LMCTX
    value["messages"][0]["timestamp"] = None
    assert again(LMCTX, value) == value
    broken: list[Any] = [[], {"messages": 1}, {"messages": [{"role": "x", "parts": []}]}, {"blob_payloads": [{}]}]
    for bad in broken:
        with pytest.raises(CodecError):
            LMCTX.load(json.dumps(bad))


RECORD = {
    "id": "r1",
    "timestamp": "2026-03-01T09:00:00+00:00",
    "duration_ms": 12,
    "request": {
        "model": "mint-1",
        "max_tokens": 10,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Depth?"}],
        "tools": [{"name": "depth", "description": "Sounds.", "input_schema": {"type": "object"}}],
    },
    "response": {
        "stream": True,
        "sse_lines": [
            'data: {"type":"message_start","message":{"id":"msg_9","model":"mint-1","role":"assistant","content":[]}}',
            'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
            'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"6.2 m"}}',
            'data: {"type":"content_block_stop","index":0}',
            'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}',
            'data: {"type":"message_stop"}',
        ],
    },
    "error": None,
    "path": "/v1/messages",
    "status": 200,
}


def test_a_record_is_read_in_its_dialect_and_comes_back_as_it_was() -> None:
    """R-13, C-1: the request in its own dialect, the stream as the lines that were recorded."""
    transcript = TRACE.load(json.dumps(RECORD))

    assert [part.text for entry in transcript.entries for part in entry.message.parts][-2:] == ["Depth?", "6.2 m"]
    assert transcript.entries[-1].finish_reason == "stop"
    assert transcript.session.tools[0].name == "depth"
    assert again(TRACE, RECORD) == RECORD
    assert guess(json.dumps(RECORD)) is TRACE


def test_records_come_as_lines_a_list_or_one() -> None:
    for text in (f"{json.dumps(RECORD)}\n{json.dumps(RECORD)}\n", json.dumps([RECORD, RECORD])):
        assert len(list(TRACE.transcripts(text))) == 2
    assert len(list(TRACE.transcripts(json.dumps(RECORD, indent=2)))) == 1
    with pytest.raises(CodecError, match="line 1"):
        TRACE.load("[1]\n")


@pytest.mark.parametrize(
    "change",
    [
        {"request": None},
        {"request": {"x": 1}, "path": "/x"},
        {"response": None, "error": "timed out"},
        {"response": {"raw": "<html>"}},
        {"response": {"error": {"message": "no"}}},
        {"request": {"messages": 3}},
    ],
)
def test_records_that_are_no_conversation_are_kept(change: dict[str, Any]) -> None:
    record = {**RECORD, **change}
    assert again(TRACE, record) == record


COHERE_STREAM = [
    'data: {"type":"message-start","id":"c9","delta":{"message":{"role":"assistant"}}}',
    'data: {"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}',
    'data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"6.2 m"}}}}',
    'data: {"type":"content-end","index":0}',
    'data: {"type":"message-end","delta":{"finish_reason":"COMPLETE"}}',
]


@pytest.mark.parametrize(
    "response",
    [
        RECORD["response"],
        {"stream": True, "sse_lines": COHERE_STREAM},
        {"id": "x", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "6.2 m"}]},
    ],
)
def test_a_record_without_a_path_is_known_by_its_answer(response: Any) -> None:
    """A request of messages alone could be of several dialects; the answer is of one."""
    asked = {"model": "mint-1", "messages": [{"role": "user", "content": "Depth?"}]}
    record = {**RECORD, "request": asked, "response": response, "path": None, "timestamp": "2026-03-01T09:00:00"}

    transcript = TRACE.load(json.dumps(record))

    assert [entry.message.parts[0].text for entry in transcript.entries] == ["Depth?", "6.2 m"]
    assert transcript.session.created is not None
    assert again(TRACE, record) == record


@pytest.mark.parametrize("lines", [3, [{"type": "x"}], ["data: {"], ['data: {"type":"message_start","message":7}']])
def test_an_answer_that_cannot_be_read_is_kept_beside_what_was_asked(lines: Any) -> None:
    record = {**RECORD, "response": {"stream": True, "sse_lines": lines}, "timestamp": "yesterday"}

    assert TRACE.load(json.dumps(record)).entries[0].message.role == "system"
    assert again(TRACE, record) == record


def test_an_answer_that_was_changed_is_not_written_as_it_was_recorded() -> None:
    transcript = TRACE.load(json.dumps(RECORD))
    lines = WEFT.dump(transcript)[0].replace(b"6.2 m", b"9.9 m")
    edited = WEFT.load(lines.replace(b'\\"9.9 m\\"', b'\\"6.2 m\\"'))

    record = json.loads(TRACE.dump(edited)[0])

    assert record["response"]["content"] == [{"type": "text", "text": "9.9 m"}]


def test_a_conversation_of_elsewhere_becomes_a_record() -> None:
    messages = [Message("user", (Part("text", "Depth?"),)), Message("assistant", (Part("text", "6.2 m"),))]

    record = json.loads(TRACE.dump(Transcript.of(messages))[0])

    assert record["request"]["messages"] == [{"role": "user", "content": "Depth?"}]
    assert record["response"]["choices"][0]["message"]["content"] == "6.2 m"


COOKED_TRACE: dict[str, Any] = {
    "messages": [
        {"id": "m0", "role": "user", "content": "Depth?", "tool_calls": None, "tool_use_id": None, "is_error": None},
        {"id": "m1", "role": "thinking", "content": "Ask.", "tool_calls": None, "tool_use_id": None, "is_error": None},
        {
            "id": "m2",
            "role": "tool_use",
            "content": "",
            "tool_calls": [{"name": "depth", "arguments": {"pier": 4}, "id": "k"}],
            "tool_use_id": None,
            "is_error": None,
        },
        {"id": "m3", "role": "tool_result", "content": "?", "tool_calls": None, "tool_use_id": "k", "is_error": True},
        {"id": "m4", "role": "assistant", "content": "6.2", "tool_calls": None, "tool_use_id": None, "is_error": None},
    ],
    "tools": [{"id": "t0", "name": "depth", "description": "", "parameters": {}, "is_server_side": False}],
    "requests": [
        {
            "id": "q1",
            "parent_id": None,
            "timestamp": 5,
            "request_messages": ["m0"],
            "response_messages": ["m1", "m2"],
            "model": "mint-1",
            "tools": ["t0"],
            "duration_ms": 3,
        },
        {
            "id": "q2",
            "parent_id": "q1",
            "timestamp": 9,
            "request_messages": ["m0", "m1", "m2", "m3"],
            "response_messages": ["m4"],
            "model": "mint-1",
            "tools": ["t0"],
            "duration_ms": 3,
        },
    ],
}


def test_a_cooked_trace_comes_back_as_it_was() -> None:
    """R-13: requests are branches of what they have in common."""
    transcript = COOKED.load(json.dumps(COOKED_TRACE))

    assert [entry.id for entry in transcript.entries] == ["m0", "m1", "m2", "m3", "m4"]
    assert dict(transcript.heads) == {"q1": "m2", "q2": "m4"}
    assert again(COOKED, COOKED_TRACE) == COOKED_TRACE
    assert guess(json.dumps(COOKED_TRACE)) is COOKED


def test_a_conversation_of_elsewhere_is_cooked() -> None:
    """R-15: an answer is a request of what was said before it."""
    call = Part("tool_call", tool_call_id="k", tool_name="depth", tool_args={"pier": 4})
    messages = [
        Message("developer", (Part("text", "Be brief."),)),
        Message("user", (Part("text", "Depth?"), Part("image", json={"url": "x"}))),
        Message("assistant", (Part("thinking", "Ask."), Part("text", "Wait."), call)),
        Message("tool", (Part("tool_result", tool_call_id="k", tool_output={"m": 6}),)),
        Message("assistant", (Part("text", "6.2"),), provider="anthropic"),
    ]

    cooked = json.loads(COOKED.dump(Transcript.of(messages))[0])

    roles = [(message["role"], message["content"]) for message in cooked["messages"]]
    assert roles == [
        ("system", "Be brief."),
        ("user", "Depth?"),
        ("user", "[image]"),
        ("thinking", "Ask."),
        ("assistant", "Wait."),
        ("tool_use", ""),
        ("tool_result", '{"m":6}'),
        ("assistant", "6.2"),
    ]
    assert [(each["parent_id"], len(each["request_messages"])) for each in cooked["requests"]] == [(None, 3), ("r0", 7)]


@pytest.mark.parametrize(
    "change",
    [
        {"messages": 1},
        {"tools": None},
        {"requests": [{"id": "q", "request_messages": ["m9"], "response_messages": []}]},
        {"requests": [{"id": "q", "request_messages": 1, "response_messages": []}]},
        {"messages": [{"id": "m0", "role": "x", "content": ""}]},
        {"messages": [{"id": "m0", "role": "user", "content": 1}]},
        {"messages": [{"id": "m0", "role": "tool_use", "content": "", "tool_calls": [1]}]},
        {"messages": [{"id": "m0", "role": "tool_use", "content": "", "tool_calls": True}]},
    ],
)
def test_what_is_no_cooked_trace_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(CodecError):
        COOKED.load(json.dumps({**COOKED_TRACE, **change}))
    with pytest.raises(CodecError):
        COOKED.load("[]")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"id":"1","message":{}}', 1),
        ('{"weft":2}', 1),
        ('{"weft":1}\n{"weft":1}', 2),
        ('{"weft":1}\n{"x":1}', 2),
        ('{"weft":1}\n{"end":{"heads":1}}', 2),
        ('{"weft":1}\n{"end":{"current":1}}', 2),
        ('{"weft":1}\n{"id":"1","message":{"role":"x","parts":[]}}', 2),
        ('{"weft":1}', 1),
        ("[", 1),
    ],
)
def test_lines_of_ours_that_do_not_fit_are_named(text: str, line: int) -> None:
    with pytest.raises(CodecError, match=f"line {line}"):
        WEFT.load(text)


def test_formats_are_found_and_added() -> None:
    with pytest.raises(UsageError, match="known:"):
        format_by_name("nothing")
    assert guess_by_name("x.STF.gz") is format_by_name("stf")
    assert guess_by_name("x.nothing") is None
    assert guess("nothing at all") is None
    made = Format("made-up", "for a test", carrying("many"), sniff=lambda _head: 2.0, read=lambda _source: iter(()))
    from weft.formats import registry

    try:
        register(made)
        assert format_by_name("made_up") is made is guess("x")
        assert made in list(formats())
        with pytest.raises(UsageError, match="read, not written"):
            made.dump([])
    finally:
        registry._added.pop("made-up")
        registry._names.cache_clear()
    with pytest.raises(ValueError, match="no ability"):
        carrying("nothing")
    with pytest.raises(UsageError, match="written, not read"):
        Format("w", "", carrying()).load(b"")


def test_losses_are_counted_and_only_their_first_places_kept() -> None:
    messages = [Message("user", (Part("text", str(number)),)) for number in range(30)]
    ledger = format_by_name("json").dump(Transcript.of(messages), places=10)[1]

    assert ledger.count == 30
    assert len(ledger.losses) == 10
    assert ledger.to_dict()["losses"][0]["count"] == 30
    assert str(ledger.losses[0]) == "entries[0].message.timestamp: timestamp lost: json has no place for it"
    assert Ledger().to_dict() == {"kept": {}, "losses": []}


def test_an_account_that_hides_something_is_found_out() -> None:
    one = WEFT.load('{"weft":1}\n{"id":"a","message":{"role":"user","parts":[]},"model":"x"}\n{"end":{}}')
    written, ledger = format_by_name("json").dump(one)
    read = format_by_name("json").load(written)

    assert unaccounted(one, read, ledger.losses) == []
    kept = [loss for loss in ledger.losses if loss.what != "model"]
    assert [found.place for found in unaccounted(one, read, kept)] == ["entries[0].model"]


def test_secrets_are_taken_out_wherever_they_stand() -> None:
    key = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 9 + "xyAA"
    lines = (
        '{"weft":1,"session":{"title":"KEY","extras":{"x":{"KEY":["KEY"]}}}}\n{"stray":{"format":"x","text":"KEY"}}\n'
        '{"id":"a","message":{"role":"tool","parts":[{"type":"tool_result","tool_output":{"x":"KEY"}}]},'
        '"extras":{"x":{"y":"KEY"}}}\n{"id":"b","message":{"role":"user","parts":[]}}\n{"end":{"session":{"cwd":"KEY"}}}'
    ).replace("KEY", key)
    hidden: list[Any] = []

    from weft.canon import gather
    from weft.formats import Source

    clean = next(gather(redacted(WEFT.pieces(Source.of(lines)), hidden)))

    assert key not in WEFT.dump(clean)[0].decode()
    assert {each.kind for each in hidden} == {"anthropic"}
    assert "entries[0].message.parts[0].tool_output.x" in {each.place for each in hidden}


def test_the_blobs_of_all_entries_are_one_store() -> None:
    from weft.blobs import BlobReference, InMemoryBlobStore
    from weft.canon import Entry
    from weft.errors import BlobNotFoundError

    stores = [InMemoryBlobStore(), InMemoryBlobStore()]
    parts = [Part("image", blob=store.put_blob(b"%d" % number)) for number, store in enumerate(stores)]
    pairs = zip(parts, stores, strict=True)
    one = Transcript(
        tuple(Entry(str(n), Message("user", (part,)), blobs=store) for n, (part, store) in enumerate(pairs))
    )
    blobs = EntryBlobs(one)

    assert [blobs.get_blob(part.blob) for part in parts if part.blob] == [b"0", b"1"]
    assert blobs.has_blob(blobs.put_blob(b"own"))
    gone = BlobReference("x", "y", None, "file", 1)
    assert not blobs.has_blob(gone)
    with pytest.raises(BlobNotFoundError):
        blobs.get_blob(gone)


@pytest.mark.parametrize(
    ("spelt", "name"),
    [("Claude.ai", "claude-ai"), ("claude_code", "claude-code"), ("UI-Message", "uimessage"), ("jsonl", "ndjson")],
)
def test_a_format_is_found_however_its_name_is_spelt(spelt: str, name: str) -> None:
    assert format_by_name(spelt).name == name
