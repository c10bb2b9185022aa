"""RecordingTransport where things do not go well, sync and async."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.proxying import Said, answer, chunk, far_side, sse_head
from weft.trace import Recorder, RecordingTransport, open_sink


async def _reply(said: Said, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if said.payload == b'{"cut":1}':
        writer.write(sse_head() + chunk(b"data: 1\n\n"))
        await writer.drain()
        raise ConnectionError
    if said.payload == b'{"wait":1}':
        await asyncio.sleep(5)
    writer.write(answer(b'{"got":%d}' % len(said.payload)))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _expect(records: list[dict[str, Any]]) -> None:
    streamed, cut, late, left = records
    assert (streamed["request"], streamed["response"], streamed["state"]) == ({"a": 1}, {"got": 7}, "complete")
    assert (cut["reason"], cut["response"]["sse_lines"]) == ("upstream_reset", ["data: 1"])
    assert (late["reason"], late["response"]) == ("timeout", None)
    assert late["error"].startswith("ReadTimeout")
    assert left["reason"] == "client_closed"


def test_a_sync_client_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"

    def pieces() -> Iterator[bytes]:
        yield b'{"a":'
        yield b"1}"

    def work(url: str) -> None:
        kind = {"content-type": "application/json"}
        with httpx2.Client(transport=RecordingTransport(str(path)), timeout=0.5) as client:
            assert client.post(f"{url}/x", content=pieces(), headers=kind).json() == {"got": 7}
            with pytest.raises(httpx2.RemoteProtocolError):
                client.post(f"{url}/x", json={"cut": 1})
            with pytest.raises(httpx2.ReadTimeout):
                client.post(f"{url}/x", json={"wait": 1})
            with client.stream("POST", f"{url}/x", json={"left": 1}) as response:
                assert response.status_code == 200
            assert client.get(f"{url}/x").status_code == 200

    async def run() -> None:
        async with far_side(_reply) as far:
            await asyncio.to_thread(work, far.url)

    asyncio.run(run())
    _expect(_lines(path))


def test_an_async_client_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"a":'
        yield b"1}"

    async def run() -> None:
        kind = {"content-type": "application/json"}
        recorder = Recorder(open_sink(str(path)))  # one's own stays open
        async with far_side(_reply) as far:
            url = far.url
            async with httpx2.AsyncClient(transport=RecordingTransport(recorder), timeout=0.5) as client:
                assert (await client.post(f"{url}/x", content=pieces(), headers=kind)).json() == {"got": 7}
                with pytest.raises(httpx2.RemoteProtocolError):
                    await client.post(f"{url}/x", json={"cut": 1})
                with pytest.raises(httpx2.ReadTimeout):
                    await client.post(f"{url}/x", json={"wait": 1})
                async with client.stream("POST", f"{url}/x", json={"left": 1}) as response:
                    assert response.status_code == 200
                assert (await client.get(f"{url}/x")).status_code == 200
                waiting = asyncio.create_task(client.post(f"{url}/x", json={"wait": 1}))
                await asyncio.sleep(0.1)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
        assert recorder.flush()
        assert recorder.close().recorded == 5

    asyncio.run(run())
    *usual, cancelled = _lines(path)
    _expect(usual)
    assert (cancelled["reason"], cancelled["request"]) == ("client_closed", {"wait": 1})
