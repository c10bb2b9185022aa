"""The translating proxy: official clients of one provider against a simulator of another. X-32."""

from __future__ import annotations

import asyncio
import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.sim import running_simulator
from weft.client import Client, Secret, Target
from weft.providers import provider
from weft.proxy import TranslatingProxy, Translation
from weft.trace import Recorder, open_sink

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they warn about while they are imported is theirs
    import anthropic
    import openai
    from google import genai
    from google.genai import types

TOOL = {"type": "object", "properties": {"pier": {"type": "integer"}}, "required": ["pier"]}


@dataclass
class Running:
    """A translating proxy under test, and what it told."""

    url: str
    losses: list[str] = field(default_factory=list)


@contextmanager
def translating(to: str, output: Path, *, strict: bool = False) -> Iterator[Running]:
    """Run a simulator and a proxy that translates for it; `to` is a provider of the table."""
    with running_simulator() as simulator:
        rows = {"anthropic": "", "openai": "/v1", "openai-responses": "/v1", "gemini": "", "cohere": "", "bedrock": ""}
        row = replace(provider(to), base_url=simulator.url + rows[to])
        target = Target(row, "mint-1", Secret("any-key"))
        recorder = Recorder(open_sink(str(output)))
        loop = asyncio.new_event_loop()
        ready, ended = threading.Event(), asyncio.Event()
        running = Running("")

        async def run() -> None:
            async with Client() as client:
                translation = Translation(client, target, strict, running.losses.append)
                async with TranslatingProxy(translation, recorder) as proxy:
                    running.url = proxy.url
                    ready.set()
                    await ended.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
        thread.start()
        assert ready.wait(10)
        try:
            yield running
        finally:
            loop.call_soon_threadsafe(ended.set)
            thread.join(10)
            loop.close()
            recorder.close()


def records(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_bytes().splitlines()]


@pytest.mark.parametrize("to", ["openai", "openai-responses", "gemini", "cohere", "bedrock"])
def test_a_client_of_claude_works_against_every_other_dialect(to: str, tmp_path: Path) -> None:
    with translating(to, tmp_path / "t.jsonl") as proxy:
        client = anthropic.Anthropic(base_url=proxy.url, api_key="any", max_retries=0)
        whole = client.messages.create(
            model="claude-x", max_tokens=99, system="Be brief.", messages=[{"role": "user", "content": "hi"}]
        )
        with client.messages.stream(
            model="claude-x", max_tokens=99, messages=[{"role": "user", "content": "hi"}]
        ) as stream:
            streamed = stream.get_final_message()

    assert [block.text for block in whole.content if block.type == "text"] == ["You said: hi"]
    assert [block.text for block in streamed.content if block.type == "text"] == ["You said: hi"]
    assert (whole.stop_reason, streamed.stop_reason) == ("end_turn", "end_turn")
    assert streamed.usage.output_tokens > 0


@pytest.mark.parametrize("to", ["anthropic", "gemini"])
def test_a_client_of_openai_works_against_every_other_dialect(to: str, tmp_path: Path) -> None:
    with translating(to, tmp_path / "t.jsonl") as proxy:
        client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="any", max_retries=0)
        chat = client.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": "hi"}])
        chunks = client.chat.completions.create(
            model="gpt-x", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        told = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        response = client.responses.create(model="gpt-x", input="hi")

    assert (chat.choices[0].message.content, told, response.output_text) == ("You said: hi",) * 3


def test_a_client_of_gemini_works_against_claude(tmp_path: Path) -> None:
    with translating("anthropic", tmp_path / "t.jsonl") as proxy:
        client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=proxy.url))
        whole = client.models.generate_content(model="gemini-x", contents="hi")
        told = "".join(
            chunk.text or "" for chunk in client.models.generate_content_stream(model="gemini-x", contents="hi")
        )

    assert (whole.text, told) == ("You said: hi", "You said: hi")


@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_with_tools_goes_through_in_both_directions(stream: bool, tmp_path: Path) -> None:
    """Calls and results are told again with their ids, so a client of Claude can use tools with OpenAI's model."""
    asked = 'Depth? [[tool depth {"pier": 4}]]'
    messages: list[Any] = [{"role": "user", "content": asked}]
    tools: list[Any] = [{"name": "depth", "description": "Sounds.", "input_schema": TOOL}]
    with translating("openai", tmp_path / "t.jsonl") as proxy:
        client = anthropic.Anthropic(base_url=proxy.url, api_key="any", max_retries=0)

        def ask() -> Any:
            if not stream:
                return client.messages.create(model="m", max_tokens=99, messages=messages, tools=tools)
            with client.messages.stream(model="m", max_tokens=99, messages=messages, tools=tools) as events:
                return events.get_final_message()

        first = ask()
        call = next(block for block in first.content if block.type == "tool_use")
        messages += [
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "6 m"}]},
        ]
        second = ask()

    assert (first.stop_reason, call.name, call.input) == ("tool_use", "depth", {"pier": 4})
    assert second.stop_reason == "end_turn"


def test_what_cannot_be_carried_is_told_and_recorded(tmp_path: Path) -> None:
    """X-32: a loss is in the answer's head, in the recording, and said to whoever runs the proxy."""
    output = tmp_path / "t.jsonl"
    body = {
        "model": "m",
        "max_tokens": 99,
        "top_k": 4,
        "messages": [{"role": "user", "content": "hi"}],
    }
    with translating("openai", output) as proxy:
        answer = httpx2.post(f"{proxy.url}/v1/messages", json=body, headers={"anthropic-version": "2023-06-01"})

    assert answer.status_code == 200
    assert answer.headers["weft-not-carried"] == "1"
    assert any("top_k" in loss for loss in proxy.losses)
    [record] = records(output)
    assert any("top_k" in note for note in record["notes"])


def test_under_strict_a_loss_is_a_refusal(tmp_path: Path) -> None:
    """X-32: an explicit 400, in the client's words."""
    with translating("openai", tmp_path / "t.jsonl", strict=True) as proxy:
        client = anthropic.Anthropic(base_url=proxy.url, api_key="any", max_retries=0)

        with pytest.raises(anthropic.BadRequestError, match="top_k"):
            client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], extra_body={"top_k": 4}
            )


@pytest.mark.parametrize(("status", "kind"), [(429, anthropic.RateLimitError), (500, anthropic.InternalServerError)])
def test_an_error_of_the_far_side_is_one_of_the_clients(
    status: int, kind: type[anthropic.APIStatusError], tmp_path: Path
) -> None:
    """X-07, as far as it goes between dialects: the same status, told in the client's words."""
    with translating("openai", tmp_path / "t.jsonl") as proxy:
        client = anthropic.Anthropic(base_url=proxy.url, api_key="any", max_retries=0, timeout=60)

        with pytest.raises(kind) as told:
            client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": f"hi [[error {status}]]"}]
            )

    assert told.value.status_code == status


def test_a_stream_cut_short_is_cut_short_for_the_client_too(tmp_path: Path) -> None:
    """X-04: no end is invented."""
    output = tmp_path / "t.jsonl"
    with translating("openai", output) as proxy:
        body = {"model": "m", "max_tokens": 99, "stream": True}
        body["messages"] = [{"role": "user", "content": "a b c d e f g h [[cut 3]]"}]
        with (
            pytest.raises(httpx2.HTTPError),
            httpx2.stream("POST", f"{proxy.url}/v1/messages", json=body) as answer,
        ):
            list(answer.iter_bytes())

    [record] = records(output)
    assert (record["state"], record["reason"]) == ("incomplete", "upstream_reset")
    assert not any("message_stop" in line for line in record["response"]["sse_lines"])


def test_what_is_no_question_to_a_model_is_refused(tmp_path: Path) -> None:
    with translating("openai", tmp_path / "t.jsonl") as proxy:
        listed = httpx2.get(f"{proxy.url}/v1/models")
        odd = httpx2.post(f"{proxy.url}/v1/messages", content=b"{")
        packed = httpx2.post(f"{proxy.url}/v1/messages", content=b"x", headers={"content-encoding": "gzip"})
        unknown = httpx2.post(f"{proxy.url}/telemetry", json={"events": []})
        health = httpx2.get(f"{proxy.url}/health")

    codes = [answer.status_code for answer in (listed, odd, packed, unknown, health)]
    assert codes == [501, 400, 415, 404, 200]


def test_the_clients_key_goes_nowhere(tmp_path: Path) -> None:
    """K-01: the target is called with its own key, and neither is written down."""
    output = tmp_path / "t.jsonl"
    with translating("openai", output) as proxy:
        client = anthropic.Anthropic(base_url=proxy.url, api_key="canary-of-the-client", max_retries=0)
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])

    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"canary" not in written
    assert b"any-key" not in written
