"""A provider that answers from a recording, asked by the providers' own clients."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.sim.clients import anthropic_client, bedrock_client, gemini_client, openai_client
from tests.support.agents import agent_trace, claude_record, openai_record, sse
from tests.support.sim import running, running_simulator
from weft.sim import Replayer

USER: dict[str, Any] = {"role": "user", "content": "How deep?"}
SIX: list[dict[str, Any]] = [{"type": "text", "text": "Six metres."}]


def test_a_client_gets_what_was_answered_then() -> None:
    """Requirement: matched by the body as JSON; whole and streamed, each way from either recording."""
    whole = claude_record(1, [USER], SIX)
    chunks: list[dict[str, Any]] = [
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-5",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}],
        }
        for text in ("Nine ", "metres.")
    ]
    end = {**chunks[0], "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    streamed = {**openai_record(2, [USER], ""), "response": sse(*chunks, end)}
    streamed["request"] |= {"stream": True}
    streamed["response"]["sse_lines"].append("data: [DONE]")

    with running(Replayer([whole, streamed], match="exact")) as server:
        anthropic, openai = anthropic_client(server), openai_client(server)
        asked: dict[str, Any] = {"model": "claude-sonnet-4-6", "max_tokens": 1000, "messages": [USER]}
        told = anthropic.messages.create(**asked)
        with anthropic.messages.stream(**asked) as stream:
            heard = stream.get_final_message()
        pieces = [
            chunk.choices[0].delta.content
            for chunk in openai.chat.completions.create(model="gpt-5", messages=[USER], stream=True)
        ]
        put_together = openai.chat.completions.create(model="gpt-5", messages=[USER])
        models = [model.id for model in anthropic.models.list()]

    assert told.content[0].text == heard.content[0].text == "Six metres."
    assert told.usage.output_tokens == 5
    assert pieces == ["Nine ", "metres.", None]
    assert put_together.choices[0].message.content == "Nine metres."
    assert models == ["claude-sonnet-4-6", "gpt-5"]


def test_streams_keep_their_frames() -> None:
    lines = ["event: ping", "data: {}", ": a comment", 'data: {"a":1}', "data: [DONE]"]
    record = {**openai_record(1, [USER], ""), "response": {"stream": True, "sse_lines": lines}}

    with running(Replayer([record])) as server:
        body = {"model": "gpt-5", "messages": [USER], "stream": True}
        answer = httpx2.post(f"{server.address('openai')}/chat/completions", json=body)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text == 'event: ping\ndata: {}\n\n: a comment\ndata: {"a":1}\n\ndata: [DONE]\n\n'


def test_asked_again_the_answers_come_in_their_order() -> None:
    records = [claude_record(n, [USER], [{"type": "text", "text": text}]) for n, text in enumerate(("one", "two"))]

    with running(Replayer(records)) as server:
        client = anthropic_client(server)
        texts = [
            client.messages.create(model="claude-sonnet-4-6", max_tokens=1000, messages=[USER]).content[0].text
            for _ in range(4)
        ]

    assert sorted(texts[:2]) == sorted(texts[2:]) == ["one", "two"]
    assert texts[:2] == ["one", "two"]


def test_the_closest_conversation_that_asks_the_same_answers() -> None:
    """A client that says the date in its system text is answered all the same, unless only the very request will do."""
    trace = agent_trace(6)
    asked = dict(trace[4]["request"])
    asked["system"] = "Another day."
    url = "/v1/messages"

    with running(Replayer(trace)) as near, running(Replayer(trace, match="exact")) as exact:
        found = httpx2.post(near.url + url, json=asked)
        missed = httpx2.post(exact.url + url, json=asked)

    assert found.json() == trace[4]["response"]
    assert missed.status_code == 404
    assert exact.missed == 1


def test_a_miss_names_the_nearest_request_and_the_first_difference() -> None:
    records = [
        claude_record(1, [USER], SIX),
        claude_record(
            2, [USER, {"role": "assistant", "content": "Six."}, {"role": "user", "content": "And there?"}], SIX
        ),
    ]
    asked = [USER, {"role": "assistant", "content": "Six."}, {"role": "user", "content": "And elsewhere?"}]

    with running(Replayer(records)) as server:
        body = {"model": "claude-sonnet-4-6", "max_tokens": 1000, "messages": asked}
        message = httpx2.post(f"{server.url}/v1/messages", json=body).json()["error"]["message"]
        other = {"model": "claude-opus-4-5", "max_tokens": 1000, "messages": [{"role": "user", "content": "?"}]}
        model = httpx2.post(f"{server.url}/v1/messages", json=other).json()["error"]["message"]

    assert "the nearest is c2: message 2 is" in message
    assert "elsewhere" in message
    assert 'model is "claude-opus-4-5" here and "claude-sonnet-4-6" there' in model


def test_in_sequence_one_answer_follows_another() -> None:
    records = [claude_record(n, [], [{"type": "text", "text": str(n)}]) for n in range(2)]

    with running(Replayer(records, match="sequence")) as server:
        answers = [httpx2.post(f"{server.url}/v1/messages", json={"any": n}) for n in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 404]
    assert [answer.json()["content"][0]["text"] for answer in answers[:2]] == ["0", "1"]
    assert "all 2 recorded answers" in answers[2].text


def test_errors_and_odd_answers_are_given_as_they_were() -> None:
    """X-07: status and body of a refusal come again; a lost connection is said to be one."""
    refused = {
        **claude_record(1, [USER], []),
        "status": 529,
        "response": {"type": "error", "error": {"message": "busy"}},
    }
    lost = {**claude_record(2, [], []), "response": None, "error": "reset by peer"}
    page = {**claude_record(3, [{"role": "user", "content": "x"}], []), "response": {"raw": "<html>"}}
    listed = {**claude_record(4, [{"role": "user", "content": "y"}], []), "response": [{"error": 1}]}

    with running(Replayer([refused, lost, page, listed])) as server:
        answers = [
            httpx2.post(f"{server.url}/v1/messages", json=one["request"]) for one in (refused, lost, page, listed)
        ]
        broken = httpx2.post(f"{server.url}/v1/messages", content=b"{")

    assert [answer.status_code for answer in answers] == [529, 502, 200, 200]
    assert answers[0].json() == refused["response"]
    assert "reset by peer" in answers[1].text
    assert answers[2].text == "<html>"
    assert answers[3].json() == [{"error": 1}]
    assert broken.status_code == 400


def test_what_real_clients_asked_is_answered_to_real_clients(tmp_path: Any) -> None:
    """Recorded against the simulator, answered without it: Gemini and Bedrock have their models in the path."""
    from weft.trace import RecordingTransport, TraceFile

    output = tmp_path / "trace.jsonl"
    with running_simulator() as sim, httpx2.Client(transport=RecordingTransport(str(output)), timeout=30) as client:
        headers = {"x-goog-api-key": "any", "authorization": "Bearer any"}
        gemini = {"contents": [{"role": "user", "parts": [{"text": "How deep?"}]}]}
        converse = {"messages": [{"role": "user", "content": [{"text": "How deep?"}]}]}
        client.post(f"{sim.url}/v1beta/models/gemini-2.5-pro:generateContent", json=gemini, headers=headers)
        client.post(f"{sim.url}/model/anthropic.claude-v3/converse-stream", json=converse, headers=headers)
    recording = TraceFile(output)
    assert recording.refresh() == 2
    records = [recording.record(request) for request in recording.cooked().requests]

    with running(Replayer(records)) as server:
        gemini_sdk = gemini_client(server)  # closes its connections when it is forgotten
        told = gemini_sdk.models.generate_content(model="gemini-2.5-pro", contents="How deep?")
        heard = bedrock_client(server).converse_stream(
            modelId="anthropic.claude-v3", messages=[{"role": "user", "content": [{"text": "How deep?"}]}]
        )
        pieces = [
            event["contentBlockDelta"]["delta"]["text"] for event in heard["stream"] if "contentBlockDelta" in event
        ]

    assert told.text == "".join(pieces) == "You said: How deep?"


def test_an_empty_recording_answers_nothing() -> None:
    with running(Replayer([])) as server:
        answer = httpx2.post(f"{server.url}/v1/messages", json={"messages": []})

    assert (answer.status_code, json.loads(answer.text)["type"]) == (404, "error")
    assert "nothing is recorded" in answer.text
    assert len(Replayer([])) == 0


@pytest.mark.parametrize("framing", ["ndjson"])
def test_lines_of_json_are_given_as_lines(framing: str) -> None:
    events = [{"message": {"role": "assistant", "content": "Six."}, "done": False}, {"done": True}]
    record = {
        **openai_record(1, [USER], ""),
        "path": "/api/chat",
        "response": {"stream": True, "framing": framing, "events": events},
    }

    with running(Replayer([record], match="sequence")) as server:
        answer = httpx2.post(
            f"{server.url}/v1/chat/completions", json={"model": "m", "messages": [USER], "stream": True}
        )

    assert [json.loads(line) for line in answer.text.splitlines()] == events
