"""The providers' own clients through the proxy to the simulator: whole and streamed, with tools, all at once."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path
from typing import Any

import httpx2
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, at import
    import anthropic
    import openai
    from google import genai
    from google.genai import types

from tests.support.proxying import recording
from weft.proxy import Routes, route_to
from weft.sim import Script, Simulator
from weft.trace import RecordingTransport
from weft.wire import detect

SCHEMA = {"type": "object", "properties": {"pier": {"type": "integer"}}}
CALL = 'How deep? [[tool depth {"pier": 4}]]'
KEY = "sk-client-0123456789abcdefghij"


async def _openai_calls(client: openai.AsyncOpenAI) -> None:
    tools: Any = [{"type": "function", "function": {"name": "depth", "parameters": SCHEMA}}]
    whole = await client.chat.completions.create(model="sim", messages=[{"role": "user", "content": CALL}], tools=tools)
    assert whole.choices[0].message.tool_calls[0].function.name == "depth"  # type: ignore[index,union-attr]
    stream = await client.chat.completions.create(
        model="sim", messages=[{"role": "user", "content": "hello"}], stream=True
    )
    assert "".join([part.choices[0].delta.content or "" async for part in stream if part.choices]) == "You said: hello"
    told = await client.responses.create(model="sim", input="hello there")
    assert told.output_text == "You said: hello there"
    async with client.responses.stream(model="sim", input="again") as events:
        async for _ in events:
            pass


async def _anthropic_calls(client: anthropic.AsyncAnthropic) -> None:
    tools: Any = [{"name": "depth", "input_schema": SCHEMA}]
    whole = await client.messages.create(
        model="sim", max_tokens=99, messages=[{"role": "user", "content": CALL}], tools=tools
    )
    assert whole.stop_reason == "tool_use"
    async with client.messages.stream(
        model="sim", max_tokens=99, messages=[{"role": "user", "content": "hello"}]
    ) as stream:
        assert await stream.get_final_text() == "You said: hello"


async def _gemini_calls(client: genai.Client) -> None:
    declared = types.FunctionDeclaration(name="depth", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    whole = await client.aio.models.generate_content(model="sim", contents=CALL, config=config)
    assert whole.function_calls
    pieces = [
        part.text or "" async for part in await client.aio.models.generate_content_stream(model="sim", contents="hello")
    ]
    assert "".join(pieces) == "You said: hello"


def test_official_clients_at_once_leave_valid_traces(tmp_path: Path) -> None:
    """Three providers behind one proxy; every record is whole, of the right dialect, and free of keys."""

    async def run() -> None:
        async with Simulator(Script()) as sim:
            table = {
                "openai": route_to(f"{sim.url}/v1", "openai"),
                "anthropic": route_to(sim.url, "anthropic"),
                "gemini": route_to(sim.url, "gemini"),
            }
            async with recording(Routes(table=table), tmp_path) as rig:
                one = openai.AsyncOpenAI(api_key=KEY, base_url=f"{rig.url}/openai/v1")
                two = anthropic.AsyncAnthropic(api_key=KEY, base_url=f"{rig.url}/anthropic")
                three = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=f"{rig.url}/gemini"))
                rounds = 4
                await asyncio.gather(
                    *(_openai_calls(one) for _ in range(rounds)),
                    *(_anthropic_calls(two) for _ in range(rounds)),
                    *(_gemini_calls(three) for _ in range(rounds)),
                )
                await one.close()
                await two.close()
                await three.aio.aclose()
                records = await rig.records()
                assert len(records) == rounds * 8
                assert {record["state"] for record in records} == {"complete"}
                providers = sorted(record["provider"] for record in records)
                assert providers == ["anthropic"] * 8 + ["gemini"] * 8 + ["openai"] * 16
                expected = {
                    "anthropic": {"anthropic"},
                    "gemini": {"gemini"},
                    "openai": {"openai_chat", "openai_responses"},
                }
                for record in records:
                    if "tools" not in record["request"]:
                        continue  # without them, some requests fit two dialects
                    assert detect(record["request"]) in expected[record["provider"]]
                streams = [record for record in records if record["response"].get("stream")]
                assert len(streams) == rounds * 4
                assert KEY.encode() not in rig.path.read_bytes()

    asyncio.run(run())


def test_a_transport_records_a_programs_own_calls(tmp_path: Path) -> None:
    """RecordingTransport: official clients take it as their http_client, async and not; records are the proxy's."""
    path = tmp_path / "own.jsonl"

    async def run() -> None:
        async with Simulator(Script()) as sim:
            transport = RecordingTransport(str(path))
            one = openai.AsyncOpenAI(
                api_key=KEY, base_url=f"{sim.url}/v1", http_client=httpx2.AsyncClient(transport=transport)
            )
            await _openai_calls(one)
            await one.models.list()
            await one.close()

            def blocking() -> None:
                with RecordingTransport(str(path), turn_id="turn-1") as sync:
                    client = anthropic.Anthropic(
                        api_key=KEY, base_url=sim.url, http_client=httpx2.Client(transport=sync)
                    )
                    client.messages.create(model="sim", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
                    with client.messages.stream(
                        model="sim", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
                    ) as stream:
                        next(iter(stream))
                    with pytest.raises(anthropic.APIConnectionError):
                        anthropic.Anthropic(
                            api_key=KEY,
                            base_url="http://127.0.0.1:9",
                            max_retries=0,
                            http_client=httpx2.Client(transport=sync),
                        ).messages.create(model="sim", max_tokens=9, messages=[])

            await asyncio.to_thread(blocking)

    asyncio.run(run())
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [record["path"] for record in records] == [
        "/v1/chat/completions",
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/responses",
        "/v1/messages",
        "/v1/messages",
        "/v1/messages",
    ]
    assert [record.get("reason") for record in records[:5]] == [None] * 5
    assert records[5]["reason"] in (None, "client_closed")  # the client may have read on while closing
    assert (records[6]["response"], records[6]["reason"]) == (None, "error")
    assert [record.get("turn_id") for record in records[3:]] == [None, "turn-1", "turn-1", "turn-1"]
    assert KEY.encode() not in path.read_bytes()


def test_a_failing_async_call_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"

    async def run() -> None:
        async with RecordingTransport(str(path)) as transport, httpx2.AsyncClient(transport=transport) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.post("http://127.0.0.1:9/v1/x?key=secret-secret", json={"a": 1})

    asyncio.run(run())
    first = json.loads(path.read_bytes().splitlines()[0])
    assert (first["request"], first["response"], first["path"]) == ({"a": 1}, None, "/v1/x?key=****")
    assert first["error"].startswith("ConnectError")
