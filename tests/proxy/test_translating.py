"""The translating proxy: official clients of one provider against a simulator of another. X-32."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import threading
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]
import httpx2
import pytest

from tests.support.sim import running_simulator
from weft.blobs import InMemoryBlobStore
from weft.client import Client, Secret, Target
from weft.providers import provider
from weft.proxy import TranslatingProxy, Translation
from weft.trace import Recorder, open_sink
from weft.trace.decoding import zstd_module
from weft.wire import StreamReader, dialect, dialect_of_path, recorded_reply

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they warn about while they are imported is theirs
    import anthropic
    import openai
    from google import genai
    from google.genai import types

HI = [{"role": "user", "content": "hi"}]
GEMINI_HI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
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


@pytest.fixture(autouse=True)
def _clients_go_with_their_test() -> Iterator[None]:
    """Let go of the official clients' connections here: they leave closing them to the collector, which warns."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def records(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_bytes().splitlines()]


@pytest.mark.parametrize(
    ("path", "asked", "framing"),
    [
        (
            "/model/m/converse-stream",
            {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
            "application/vnd.amazon.eventstream",
        ),
        ("/v2/chat", {"model": "m", "messages": HI, "stream": True}, "text/event-stream"),
        ("/api/chat", {"model": "m", "messages": HI}, "application/x-ndjson"),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", GEMINI_HI, "text/event-stream"),
        ("/v1beta/models/m:streamGenerateContent", GEMINI_HI, "application/json"),
    ],
)
def test_a_stream_is_framed_and_recorded_as_its_client_speaks(
    path: str, asked: dict[str, Any], framing: str, tmp_path: Path
) -> None:
    """X-32: the media type is the one that the client's provider gives, and what was told is read from the record."""
    output = tmp_path / "t.jsonl"
    with translating("anthropic", output) as proxy:
        answer = httpx2.post(proxy.url + path, json=asked)

    assert (answer.status_code, answer.headers["content-type"]) == (200, framing)
    told = dialect_of_path(path) or ""
    decoder: Any = dialect(told).StreamDecoder()
    reader = StreamReader(decoder, framing)
    reader.feed(answer.content)
    reader.close()
    assert [part.text for part in decoder.reply.message.parts] == ["You said: hi"]
    (record,) = records(output)
    kept = recorded_reply(record["response"], dialect(told), InMemoryBlobStore())
    assert kept is not None
    assert kept.message is not None
    assert [part.text for part in kept.message.parts] == ["You said: hi"]


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
    """X-27: with a reason, and never by asking the model: counting tokens has the very body of a question."""
    count = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "system": "Be brief."}
    with translating("openai", tmp_path / "t.jsonl") as proxy:
        odd = httpx2.post(f"{proxy.url}/v1/messages", content=b"{")
        listed = httpx2.post(f"{proxy.url}/v1/messages", json=[])
        unknown = httpx2.post(f"{proxy.url}/telemetry", json={"events": []})
        counted = httpx2.post(f"{proxy.url}/v1/messages/count_tokens", json=count)
        embedded = httpx2.post(f"{proxy.url}/v1/embeddings", json={"model": "m", "input": "hi"})
        files = httpx2.get(f"{proxy.url}/v1/files")
        removed = httpx2.delete(f"{proxy.url}/v1/models/m")
        health = httpx2.get(f"{proxy.url}/health")

    answers = (odd, listed, unknown, counted, embedded, files, removed, health)
    assert [answer.status_code for answer in answers] == [400, 400, 404, 404, 404, 501, 501, 200]
    assert counted.json()["type"] == "error"
    assert embedded.json()["error"]["message"] == "this is no question of a dialect that is known here"


def packed(coding: str, data: bytes) -> bytes:
    match coding:
        case "gzip":
            return gzip.compress(data)
        case "deflate":
            return zlib.compress(data)
        case "br":
            return bytes(brotli.compress(data))
        case "zstd":
            return bytes(zstd_module().compress(data))
    return packed("gzip", packed("zstd", data))


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "zstd, gzip"])
def test_a_packed_request_is_unpacked_and_translated(coding: str, tmp_path: Path) -> None:
    """X-15: a client may pack its body in any way that a provider takes."""
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}).encode()
    with translating("openai", tmp_path / "t.jsonl") as proxy:
        headers = {"content-encoding": coding, "content-type": "application/json"}
        answer = httpx2.post(f"{proxy.url}/v1/messages", content=packed(coding, body), headers=headers)

    assert (answer.status_code, answer.json()["content"][0]["text"]) == (200, "You said: hi")
    [record] = records(tmp_path / "t.jsonl")
    assert record["request"]["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("coding", "content", "status"),
    [
        ("gzip", b"x", 400),
        ("gzip", gzip.compress(b'{"model": "m"}')[:-9], 400),
        ("snappy", b"x", 415),
        ("gzip", gzip.compress(b" " * (65 << 20)), 413),
    ],
    ids=["damaged", "cut", "unknown", "a bomb"],
)
def test_what_cannot_be_unpacked_is_refused(coding: str, content: bytes, status: int, tmp_path: Path) -> None:
    """X-16, X-32: by a status that says why, in the client's words; a bomb goes off within bounds."""
    with translating("openai", tmp_path / "t.jsonl") as proxy:
        headers = {"content-encoding": coding, "content-type": "application/json"}
        answer = httpx2.post(f"{proxy.url}/v1/messages", content=content, headers=headers, timeout=30)

    assert (answer.status_code, answer.json()["type"]) == (status, "error")


def test_clients_list_the_model_that_answers(tmp_path: Path) -> None:
    """X-27: in each client's own form; one that is asked for by name is there, as every name is answered."""
    with translating("openai", tmp_path / "t.jsonl") as proxy, ExitStack() as closing:
        ours = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="any", max_retries=0)
        claude = anthropic.Anthropic(base_url=proxy.url, api_key="any", max_retries=0)
        gemini = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=proxy.url))
        closing.enter_context(ours)
        closing.enter_context(claude)
        closing.enter_context(gemini)
        listed = [
            [model.id for model in ours.models.list()],
            [model.id for model in claude.models.list()],
            [model.name for model in gemini.models.list()],
        ]
        named = [
            ours.models.retrieve("gpt/x").id,
            claude.models.retrieve("claude-x").id,
            gemini.models.get(model="gemini-x").name,
        ]
        head = httpx2.head(f"{proxy.url}/openai/v1/models")
        ollama = httpx2.get(f"{proxy.url}/api/tags").json()
        cohere = httpx2.get(f"{proxy.url}/cohere/v1/models").json()
        bedrock = httpx2.get(f"{proxy.url}/foundation-models").json()

    assert listed == [["mint-1"], ["mint-1"], ["models/mint-1"]]
    assert named == ["gpt/x", "claude-x", "models/gemini-x"]
    assert (head.status_code, head.content) == (200, b"")
    assert (ollama["models"][0]["name"], cohere["models"][0]["name"]) == ("mint-1", "mint-1")
    assert bedrock["modelSummaries"][0]["modelId"] == "mint-1"


@pytest.mark.parametrize("stream", [False, True])
def test_thinking_is_told_whole_and_streamed_alike(stream: bool, tmp_path: Path) -> None:
    """X-32: what a stream carries, a whole answer does too."""
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "[[think Hm.]] hi"}]}
    with translating("anthropic", tmp_path / "t.jsonl") as proxy:
        answer = httpx2.post(f"{proxy.url}/v1/chat/completions", json=body)

    assert "weft-not-carried" not in answer.headers
    assert "Hm." in answer.text


def test_a_client_that_leaves_ends_the_exchange(tmp_path: Path) -> None:
    """X-01: what it had heard is recorded, as cut off by the client; the proxy answers others."""
    output = tmp_path / "t.jsonl"
    body = {"model": "m", "max_tokens": 99, "stream": True}
    body["messages"] = [{"role": "user", "content": "[[slow 40ms]] [[long 400]]"}]
    with translating("openai", output) as proxy:
        with httpx2.stream("POST", f"{proxy.url}/v1/messages", json=body) as answer:
            heard = next(answer.iter_text())
        end = time.monotonic() + 5
        while not output.read_bytes().endswith(b"\n") and time.monotonic() < end:
            time.sleep(0.05)
        other = httpx2.post(f"{proxy.url}/v1/messages", json={**body, "stream": False, "messages": HI})

    assert other.status_code == 200
    record = records(output)[0]
    assert (record["state"], record["reason"]) == ("incomplete", "client_closed")
    assert heard.splitlines()[0] in record["response"]["sse_lines"]


def test_what_is_too_long_is_refused_without_being_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """X-12: a request beyond what can be translated is told so, and the connection goes on."""
    from weft.proxy import translating as module

    monkeypatch.setattr(module, "_LONGEST_BODY", 1 << 16)
    with translating("openai", tmp_path / "t.jsonl") as proxy, httpx2.Client(base_url=proxy.url) as client:
        large = client.post("/v1/messages", json={"model": "m", "messages": HI, "pad": "x" * (1 << 20)})
        small = client.post("/v1/messages", json={"model": "m", "max_tokens": 9, "messages": HI})

    assert (large.status_code, large.json()["error"]["type"]) == (413, "request_too_large")
    assert small.status_code == 200


def test_how_long_to_wait_is_passed_on(tmp_path: Path) -> None:
    """X-07: a client's own patience needs the far side's word for it."""
    with translating("openai", tmp_path / "t.jsonl") as proxy:
        body = {"model": "m", "max_tokens": 9}
        body["messages"] = [{"role": "user", "content": "hi [[error 429 retry-after=90]]"}]
        answer = httpx2.post(f"{proxy.url}/v1/messages", json=body)

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "90")


def test_the_clients_key_goes_nowhere(tmp_path: Path) -> None:
    """K-01: the target is called with its own key, and neither is written down."""
    output = tmp_path / "t.jsonl"
    with translating("openai", output) as proxy:
        client = anthropic.Anthropic(base_url=proxy.url, api_key="canary-of-the-client", max_retries=0)
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])

    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"canary" not in written
    assert b"any-key" not in written
