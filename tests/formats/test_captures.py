"""Captures of traffic by other tools: HAR files and claude-trace's logs."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_agent_sessions import shape
from weft.errors import CodecError
from weft.formats import format_by_name, guess

REQUEST = {"model": "claude-x", "max_tokens": 9, "system": "Be brief.", "messages": [{"role": "user", "content": "hi"}]}
RESPONSE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "text", "text": "Hello."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
STREAM = (
    'data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant",'
    '"content":"Hel"}}]}\n\n'
    'data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"lo."},'
    '"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


def har(*entries: dict[str, Any]) -> str:
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": list(entries)}})


def entry(url: str, body: Any, content: dict[str, Any], **more: Any) -> dict[str, Any]:
    posted = {"mimeType": "application/json", "text": body if isinstance(body, str) else json.dumps(body)}
    request = {"method": "POST", "url": url, "headers": [{"name": "x-api-key", "value": "hidden"}], "postData": posted}
    response = {"status": 200, "content": content}
    return {"startedDateTime": "2026-01-01T00:00:00Z", "time": 12.4, "request": request, "response": response, **more}


def test_calls_of_models_are_found_among_all_that_a_browser_loads() -> None:
    streamed = {
        "mimeType": "text/event-stream",
        "text": base64.b64encode(STREAM.encode()).decode(),
        "encoding": "base64",
    }
    picture = {"startedDateTime": "", "time": 1, "request": {"method": "GET", "url": "https://x/y.png"}, "response": {}}
    data = har(
        picture,
        entry(
            "https://api.example/v1/messages", REQUEST, {"mimeType": "application/json", "text": json.dumps(RESPONSE)}
        ),
        entry("https://x/telemetry", {"events": [1]}, {"text": "ok"}),
        entry("https://y/v1/chat/completions", {"model": "m", "messages": REQUEST["messages"]}, streamed),
    )
    kind = format_by_name("har")

    first, second = kind.transcripts(data)

    assert [each[2:] for each in shape(first)][-2:] == [("user", ["text"]), ("assistant", ["text"])]
    assert [part.text for part in second.entries[-1].message.parts if part.type == "text"] == ["Hello."]
    assert first.entries[-1].usage is not None
    assert "hidden" not in json.dumps(first.to_dict())
    assert guess(data) is kind


def test_an_entry_without_a_response_is_named() -> None:
    with pytest.raises(CodecError, match=r"log\.entries\[0\]"):
        list(format_by_name("har").transcripts(har({"request": {}})))


def test_a_log_of_claude_trace_is_read_exchange_by_exchange() -> None:
    request = {"timestamp": 1767225600.0, "method": "POST", "url": "https://api.example/v1/messages?beta=true"}
    request |= {"headers": {"x-api-key": "hidden"}, "body": REQUEST}
    response = {"timestamp": 1767225601.5, "status_code": 200, "headers": {}, "body": RESPONSE}
    lines = [
        {"request": request, "response": response, "logged_at": "2026-01-01T00:00:02Z"},
        {"request": request, "response": None, "logged_at": "2026-01-01T00:00:03Z", "note": "cut"},
    ]
    data = "\n".join(json.dumps(line) for line in lines)
    kind = format_by_name("claude-trace")

    whole, cut = kind.transcripts(data)

    assert (whole.session.model, whole.entries[-1].finish_reason) == ("claude-x", "stop")
    assert [each[2] for each in shape(cut)] == [each[2] for each in shape(whole)][:-1]
    assert "hidden" not in json.dumps(whole.to_dict())
    assert guess(data) is kind


def test_a_stream_caught_raw_is_put_together() -> None:
    lines = [
        'data: {"type":"message_start","message":{"id":"m","model":"claude-x","usage":{"input_tokens":1}}}',
        'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello."}}',
        'data: {"type":"content_block_stop","index":0}',
        'data: {"type":"message_stop"}',
    ]
    request = {"timestamp": 1.0, "method": "POST", "url": "https://x/v1/messages", "headers": {}, "body": REQUEST}
    response = {"timestamp": 2.0, "status_code": 200, "headers": {}, "body_raw": "\n\n".join(lines)}

    transcript = format_by_name("claude-trace").load(json.dumps({"request": request, "response": response}))

    assert [part.text for part in transcript.entries[-1].message.parts] == ["Hello."]


LONG = {**REQUEST, "system": "Be brief. " * 50_000}
RECORD = {"id": "q1", "timestamp": "2026-01-01T00:00:00Z", "duration_ms": 5, "request": LONG, "response": RESPONSE}
PAIR = {
    "request": {"timestamp": 1.0, "method": "POST", "url": "https://x/v1/messages", "headers": {}, "body": LONG},
    "response": {"timestamp": 2.0, "status_code": 200, "headers": {}, "body": RESPONSE},
    "logged_at": "2026-01-01T00:00:02Z",
}


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        (json.dumps(RECORD) + "\n", "t.jsonl", "trace"),
        (json.dumps([RECORD], indent=1), "t.json", "trace"),
        ("no record\n[1]\n" + json.dumps({**RECORD, "request": REQUEST}) + "\n", "t.jsonl", "trace"),
        ("no record\n" + json.dumps(RECORD) + "\n", "t.jsonl", "trace"),
        (json.dumps(PAIR) + "\n", "log.jsonl", "claude-trace"),
    ],
    ids=["lines", "a list", "a bad first line", "a bad first line and a long one", "claude-trace"],
)
def test_a_capture_is_known_however_long_its_first_request_is(text: str, name: str, kind: str, tmp_path: Path) -> None:
    """J-08: an agent's first request, tools and instructions included, is longer than any look at a file."""
    path = tmp_path / name
    path.write_text(text)

    assert guess(path) is format_by_name(kind)
