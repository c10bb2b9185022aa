"""WebSockets pass through, compressed or not, and their messages are recorded (Codex speaks Responses that way)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from tests.support.proxying import Said, answer, ask, connected, far_side, read_message, recording, until
from weft.proxy.websocket import FrameTap
from weft.trace import Masker, Meta
from weft.trace.capture import Capture


@pytest.mark.parametrize("compression", [None, "deflate"])
def test_messages_of_both_sides_are_recorded(tmp_path: Path, compression: str | None) -> None:
    """X-27: frames as they are, messages in the record; the key in the headers is not."""
    key = "sk-websocket-0123456789"

    async def speak(far: ServerConnection) -> None:
        async for message in far:
            await far.send(json.dumps({"type": "response.created", "echo": len(message), "key": key}))
            await far.send(b"\x00\xffbinary")
            await far.send(["frag", "men", "ted"])

    async def run() -> None:
        async with serve(speak, "127.0.0.1", 0, compression=compression) as server:
            port = server.sockets[0].getsockname()[1]
            async with recording(f"http://127.0.0.1:{port}", tmp_path) as rig:
                url = rig.url.replace("http", "ws") + "/v1/responses"
                headers = {"Authorization": f"Bearer {key}"}
                async with connect(url, additional_headers=headers, compression=compression, proxy=None) as client:
                    for size in (10, 300, 70_000):
                        await client.send(json.dumps({"type": "response.create", "pad": "x" * size}))
                        assert json.loads(await client.recv())["key"] == key
                        assert await client.recv() == b"\x00\xffbinary"
                        assert await client.recv() == "fragmented"
                await until(lambda: rig.recorder.tally.recorded == 1)
                records = await rig.records()
                (record,) = records
                assert (record["method"], record["status"], record["state"]) == ("GET", 101, "complete")
                assert record["request"] == {"type": "response.create", "pad": "x" * 10}
                assert record["response"] is None
                said = [(frame["from"], frame.get("text", frame.get("base64"))) for frame in record["frames"]]
                assert [who for who, _ in said] == ["client", "server", "server", "server"] * 3
                assert len(said[8][1]) > 70_000
                assert said[1][1].endswith('"key": "****"}')
                assert said[2][1] == "AP9iaW5hcnk="
                assert said[3][1] == "fragmented"
                assert key.encode() not in rig.path.read_bytes()

    asyncio.run(run())


def test_a_far_side_that_will_not_switch_answers_as_usual(tmp_path: Path) -> None:
    async def reply(said: Said, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert said.get("upgrade") == "websocket"
        writer.write(answer(b"{}", "426 Upgrade Required", b"Upgrade: h3"))

    async def run() -> None:
        request = (
            b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Key: a\r\n\r\n"
        )
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            got = await ask(rig.url, request)
            assert (got.status, got.get("upgrade")) == (426, "h3")
            assert await rig.records() == []

    asyncio.run(run())


def test_what_follows_the_switch_at_once_is_not_lost(tmp_path: Path) -> None:
    """Bytes that come in the same packet as either head belong to the tunnel."""

    async def reply(_said: Said, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x02hi")
        writer.write(await reader.readexactly(8))
        await writer.drain()
        await reader.read()
        raise ConnectionError

    async def run() -> None:
        request = b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        frame = b"\x81\x82abcd" + bytes(a ^ b for a, b in zip(b"yo", b"ab", strict=True))
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            async with connected(rig.url) as (reader, writer):
                writer.write(request + frame)
                assert (await read_message(reader, is_reply=True)).status == 101
                assert await reader.readexactly(12) == b"\x81\x02hi" + frame
            await until(lambda: rig.recorder.tally.recorded == 1)
            records = await rig.records()
            assert [frame["text"] for frame in records[0]["frames"]] in (["hi", "yo", "yo"], ["yo", "hi", "yo"])
            assert records[0]["reason"] == "client_closed"  # nobody said goodbye

    asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "note"),
    [(b"\x81\x7f" + (1 << 40).to_bytes(8), "a frame of 1099511627776 bytes"), (b"\xc1\x03abc", "Error -3")],
)
def test_frames_that_cannot_be_read_end_the_listening_alone(data: bytes, note: str) -> None:
    capture = Capture(Meta(), Masker(()), None, limit_bytes=100)
    tap = FrameTap(capture, [b"Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover"])

    tap.feed(data, from_client=False)
    tap.feed(b"\x81\x02hi", from_client=False)
    tap.feed(b"\x81\x02ho", from_client=True)

    _, clean = capture.drain(is_last=True)
    assert [frame["text"] for _, frame in clean if frame.get("text")] == ["ho"]
    assert len(capture.meta.notes) == 1
    assert note in capture.meta.notes[0]
