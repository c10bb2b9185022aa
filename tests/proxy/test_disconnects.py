"""Clients that leave, far sides that break, proxies that are killed: what was seen is kept, and nothing is invented."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path
from typing import Any

import pytest

from tests.support.proxying import (
    Rig,
    Said,
    answer,
    ask,
    chunk,
    connected,
    far_side,
    post,
    read_message,
    recording,
    sse_head,
    until,
    within,
)
from weft.trace import open_sink, recover

EVENTS = [b'data: {"choices":[{"delta":{"content":"word %d"}}]}\n\n' % number for number in range(40)]


async def _until_hang_up(reader: Reader) -> None:
    await reader.read(1)
    raise ConnectionError


@pytest.mark.parametrize("seed", [1])
def test_a_client_that_leaves_a_stream_leaves_a_record(tmp_path: Path, seed: int) -> None:
    """X-01, C-11: 100 runs at a random chunk: every byte so far, the far side closed in 1 s, a record in 2 s."""
    rng = random.Random(seed)
    stops = [rng.randrange(1, len(EVENTS)) for _ in range(100)]

    async def run() -> None:
        async def reply(said: Said, reader: Reader, writer: Writer) -> None:
            stop = json.loads(said.payload)["stop"]
            writer.write(sse_head() + b"".join(chunk(event) for event in EVENTS[:stop]))
            await writer.drain()
            await _until_hang_up(reader)

        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:

            async def leave(stop: int) -> None:
                async with connected(rig.url) as (reader, writer):
                    writer.write(post("/v1/chat/completions", b'{"stream":true,"stop":%d}' % stop))
                    await reader.readuntil(b"\r\n\r\n")
                    await reader.readexactly(sum(len(chunk(event)) for event in EVENTS[:stop]))

            for at in range(0, 100, 10):
                await asyncio.gather(*(leave(stop) for stop in stops[at : at + 10]))
                told = at + 10
                assert await until(lambda told=told: far.closed == told, 2) < within(1)  # type: ignore[misc]
            began = time.monotonic()
            records = await rig.records()
            assert time.monotonic() - began < within(2)
            assert len(records) == 100
            for record in records:
                seen = [event.decode().strip() for event in EVENTS[: record["request"]["stop"]]]
                assert record["response"]["sse_lines"] == seen
                assert (record["state"], record["reason"], record["error"]) == ("incomplete", "client_closed", None)

    asyncio.run(run())


def test_a_client_that_leaves_before_the_first_byte(tmp_path: Path) -> None:
    """X-02: the far side is closed within 1 s, and the request recorded."""

    async def reply(_said: Said, reader: Reader, _writer: Writer) -> None:
        await _until_hang_up(reader)

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            async with connected(rig.url) as (_, writer):
                writer.write(post("/v1/x", b'{"a":1}'))
                await until(lambda: far.asked)
            assert await until(lambda: far.closed == 1) < within(1)
            (record,) = await rig.records()
            assert (record["request"], record["response"], record["reason"]) == ({"a": 1}, None, "client_closed")

    asyncio.run(run())


def test_a_client_that_leaves_in_the_middle_of_its_request(tmp_path: Path) -> None:
    async def run() -> None:
        async with far_side(lambda *_: asyncio.sleep(0)) as far, recording(far.url, tmp_path) as rig:
            async with connected(rig.url) as (_, writer):
                writer.write(post("/v1/x", b'{"a":1}').replace(b"Content-Length: 7", b"Content-Length: 99"))
                await until(lambda: rig.proxy.flows)
            (record,) = await _records_when(rig, 1)
            assert (record["request"], record["reason"]) == ({"a": 1}, "client_closed")

    asyncio.run(run())


async def _records_when(rig: Rig, count: int) -> list[dict[str, Any]]:
    for _ in range(200):
        if len(records := await rig.records()) >= count:
            return records
        await asyncio.sleep(0.02)
    raise AssertionError("the record did not come")


@pytest.mark.parametrize(("limit", "reason"), [(1 << 20, None), (300, "client_closed")])
def test_draining_reads_on_for_the_record(tmp_path: Path, limit: int, reason: str | None) -> None:
    """X-03: read to the end, complete, noted as drained; but only so far."""

    async def run() -> None:
        left = asyncio.Event()

        async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
            writer.write(sse_head() + chunk(EVENTS[0]))
            await left.wait()
            for event in EVENTS[1:]:
                writer.write(chunk(event))
                await writer.drain()
                await asyncio.sleep(0)
            writer.write(chunk(b"data: [DONE]\n\n") + chunk(b""))

        async with (
            far_side(reply) as far,
            recording(far.url, tmp_path, on_disconnect="drain", drain_bytes=limit) as rig,
        ):
            async with connected(rig.url) as (reader, writer):
                writer.write(post("/v1/x", b'{"stream":true}'))
                await reader.readuntil(EVENTS[0])
            await until(lambda: not rig.proxy.clients)
            left.set()
            (record,) = await _records_when(rig, 1)
            assert (record["drained"], record.get("reason")) == (True, reason)
            if reason is None:
                assert len(record["response"]["sse_lines"]) == len(EVENTS) + 1

    asyncio.run(run())


@pytest.mark.parametrize("framing", ["chunked", "length", "none"])
def test_a_far_side_that_breaks_off_is_seen_as_broken(tmp_path: Path, framing: str) -> None:
    """X-04: no clean end, no invented event; what came is recorded as `upstream_reset`."""

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        kind = b"Content-Type: text/event-stream\r\n"
        if framing == "chunked":
            writer.write(sse_head() + chunk(EVENTS[0]))
        elif framing == "length":
            writer.write(b"HTTP/1.1 200 OK\r\n" + kind + b"Content-Length: 5000\r\n\r\n" + EVENTS[0])
        else:
            writer.write(b"HTTP/1.1 200 OK\r\n" + kind + b"\r\n" + EVENTS[0])
        await writer.drain()
        await asyncio.sleep(0.05)
        link = writer.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")  # a reset
        raise ConnectionError

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig, connected(rig.url) as (reader, writer):
            writer.write(post("/v1/x", b'{"stream":true}'))
            await reader.readuntil(b"\r\n\r\n")
            seen = b""
            broken = False
            try:
                while piece := await reader.read(1000):
                    seen += piece
            except ConnectionResetError:
                broken = True
            assert seen == (chunk(EVENTS[0]) if framing == "chunked" else EVENTS[0])
            assert broken or framing != "none"  # where only a reset can tell
            (record,) = await rig.records()
            assert record["response"]["sse_lines"] == [EVENTS[0].decode().strip()]
            assert (record["reason"], record["error"]) == ("upstream_reset", None)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (b"data: [DONE]\n\n", None),
        (b'event: message_stop\ndata: {"type":"message_stop"}\n\n', None),
        (b'data: {"choices":[{"finish_reason":"stop"}]}\n\n', None),
        (b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n', None),
        (b'data: {"type":"response.completed"}\n\n', None),
        (b'data: {"choices":[{"finish_reason":null}]}\n\n', "truncated"),
        (b'data: {"text":"data: [DONE] \\"type\\":\\"message_stop\\""}\n\n', "truncated"),
        (b"", "truncated"),
    ],
)
def test_a_stream_that_ends_without_saying_so_is_truncated(tmp_path: Path, end: bytes, reason: str | None) -> None:
    """X-05, S-06: passed as it is; no `stop` is invented."""

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(sse_head() + chunk(EVENTS[0] + end) + chunk(b""))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            got = await ask(rig.url, post("/v1/x", b'{"stream":true}'))
            assert got.payload == EVENTS[0] + end
            (record,) = await rig.records()
            assert record.get("reason") == reason
            assert "\n".join(record["response"]["sse_lines"]) in (EVENTS[0] + end).decode().replace("\n\n", "\n")

    asyncio.run(run())


def test_a_far_side_that_cannot_be_reached(tmp_path: Path) -> None:
    """C-10: 502, an error of type proxy_error; the record has `error` and no response."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def run() -> None:
        async with recording(f"http://127.0.0.1:{port}", tmp_path) as rig:
            for stream in (b"true", b"false"):
                got = await ask(rig.url, post("/v1/x", b'{"stream":%b}' % stream))
                assert (got.status, json.loads(got.payload)["error"]["type"]) == (502, "proxy_error")
            for record in await rig.records():
                assert record["response"] is None
                assert record["error"].startswith("the far side cannot be reached")

    asyncio.run(run())


def test_a_far_side_that_hangs_up_or_talks_nonsense(tmp_path: Path) -> None:
    replies = [
        b"",
        b"SMTP ready\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 101 Switch\r\n\r\n",
    ]
    broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(replies.pop(0))
        await writer.drain()
        raise ConnectionError

    async def run() -> None:
        replies.append(broken)
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            for _ in range(4):
                assert (await ask(rig.url, post("/v1/x", b"{}"))).status == 502
            with pytest.raises(ValueError, match="zz"):
                await ask(rig.url, post("/v1/x", b"{}"))
            assert [record["reason"] for record in await rig.records()] == [
                "upstream_reset", "error", "error", "error", "upstream_reset",
            ]  # fmt: skip

    asyncio.run(run())


def test_silence_has_a_limit(tmp_path: Path) -> None:
    """X-25: 504 before an answer, a broken transfer in the middle of one; recorded as `timeout`."""

    async def reply(said: Said, reader: Reader, writer: Writer) -> None:
        if b"stream" in said.payload:
            writer.write(sse_head() + chunk(EVENTS[0]))
        await _until_hang_up(reader)

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path, idle_seconds=0.3) as rig:
            got = await ask(rig.url, post("/v1/x", b"{}"))
            assert (got.status, json.loads(got.payload)["error"]["type"]) == (504, "proxy_error")
            with pytest.raises(asyncio.IncompleteReadError):
                await ask(rig.url, post("/v1/x", b'{"stream":true}'))
            first, second = await rig.records()
            assert (first["reason"], first["response"]) == ("timeout", None)
            assert (second["reason"], second["response"]["sse_lines"]) == ("timeout", [EVENTS[0].decode().strip()])
            assert far.closed == 2

    asyncio.run(run())


def test_the_usual_limits_are_those_of_the_specification() -> None:
    """X-25: 10 s to connect, 600 s of silence."""
    from weft.proxy import Options

    assert (Options().connect_seconds, Options().idle_seconds) == (10.0, 600.0)


def test_a_connection_that_is_not_taken_in_time(tmp_path: Path) -> None:
    """X-25: 504 when the far side does not even take the connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        fillers = []
        for _ in range(3):  # the queue of a server that accepts nobody
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
            fillers.append(filler)

        async def run() -> None:
            async with recording(f"http://127.0.0.1:{deaf.getsockname()[1]}", tmp_path, connect_seconds=0.3) as rig:
                assert (await ask(rig.url, post("/v1/x", b"{}"))).status == 504
                assert (await rig.records())[0]["reason"] == "timeout"

        asyncio.run(run())
        for filler in fillers:
            filler.close()


# -- kill -9 -----------------------------------------------------------------------------------------------------------


def _kill_runs(folder: Path, runs: int, seed: int) -> None:  # noqa: PLR0915 - one story
    """Kill a proxy in the middle of streams; everything up to a second before must be there when it is next opened."""
    rng = random.Random(seed)
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=speak, args=(link,), daemon=True).start()

    def speak(link: socket.socket) -> None:
        link.recv(65536)
        try:
            link.sendall(sse_head())
            for number in range(10_000):
                link.sendall(chunk(b'data: {"n":%d}\n\n' % number))
                time.sleep(0.01)
        except OSError:
            pass
        link.close()

    threading.Thread(target=serve, daemon=True).start()
    target = f"http://127.0.0.1:{server.getsockname()[1]}"
    for number in range(runs):
        path = folder / f"{number}.jsonl"
        seen: list[tuple[float, int]] = []  # by the client, so by the proxy
        got = b""
        command = [sys.executable, "-m", "weft.cli", "proxy", "--target", target, "--port", "0", "-o", str(path)]
        proxy = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert proxy.stdout is not None
        url = proxy.stdout.readline().decode().strip()
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as client:
            client.sendall(post("/v1/chat/completions", b'{"stream":true,"run":%d}' % number))
            client.settimeout(5)
            end = time.monotonic() + rng.uniform(1.3, 1.9)
            while time.monotonic() < end:
                got += client.recv(65536)
                seen.append((time.monotonic(), got.count(b"data: ")))
            os.kill(proxy.pid, signal.SIGKILL)
            killed = time.monotonic()
            proxy.wait()
            proxy.stdout.close()
        assert path.read_bytes() == b""
        sink = open_sink(str(path))
        assert recover(sink) == 1
        assert recover(sink) == 0
        sink.close()
        record = json.loads(path.read_bytes())
        assert record["request"] == {"stream": True, "run": number}
        assert (record["state"], record["reason"]) == ("incomplete", "killed")
        must_have = max(count for at, count in seen if at < killed - 1.0)
        lines = record["response"]["sse_lines"]
        assert lines == [f'data: {{"n":{n}}}' for n in range(len(lines))]
        assert len(lines) >= must_have > 0
        assert [one.name for one in folder.glob(f"{number}.*")] == [path.name]
    server.close()


def test_what_a_killed_proxy_saw_is_found_again(tmp_path: Path) -> None:
    """X-06: once, in the default run."""
    _kill_runs(tmp_path, 1, seed=6)


@pytest.mark.soak
def test_what_fifty_killed_proxies_saw_is_found_again(tmp_path: Path) -> None:
    """X-06: 50 runs."""
    _kill_runs(tmp_path, 50, seed=66)


def test_stopping_the_proxy_records_what_is_under_way(tmp_path: Path) -> None:
    """D-05: as far as it got, `killed`, at once."""

    async def reply(_said: Said, reader: Reader, writer: Writer) -> None:
        writer.write(sse_head() + chunk(EVENTS[0]))
        await _until_hang_up(reader)

    async def run() -> None:
        async with far_side(reply) as far:
            async with recording(far.url, tmp_path) as rig, connected(rig.url) as (reader, writer):
                writer.write(post("/v1/x", b'{"stream":true}'))
                await reader.readuntil(EVENTS[0])
                await rig.proxy.__aexit__()
                assert await reader.read() == b"\r\n"  # what was on its way, and no end
            record = json.loads(rig.path.read_bytes())
            assert (record["reason"], len(record["response"]["sse_lines"])) == ("killed", 1)

    asyncio.run(run())


def test_an_answer_before_the_request_is_all_said(tmp_path: Path) -> None:
    """A far side may refuse a body it has not seen, and hang up; the connection is not used again."""

    async def early(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(b"{}", "413 Too Large", b"Connection: close"))
        await writer.drain()
        await reader.read()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(early, "127.0.0.1", 0)
        target = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, recording(target, tmp_path) as rig, connected(rig.url) as (reader, writer):
            writer.write(post("/v1/x", b"").replace(b"Content-Length: 0", b"Content-Length: 1000"))
            got = await read_message(reader, is_reply=True)
            assert got.status == 413
            assert await reader.read() == b""

    asyncio.run(run())


def test_an_early_answer_of_a_far_side_that_listens_on(tmp_path: Path) -> None:
    """The rest of the request goes on, and both connections are used again."""

    async def early(reader: Reader, writer: Writer) -> None:
        for _ in range(2):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(b'{"early":1}'))
            await writer.drain()
            assert await reader.readexactly(1000) == b"x" * 1000
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(early, "127.0.0.1", 0)
        target = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, recording(target, tmp_path) as rig, connected(rig.url) as (reader, writer):
            for _ in range(2):
                writer.write(post("/v1/x", b"").replace(b"Content-Length: 0", b"Content-Length: 1000"))
                assert (await read_message(reader, is_reply=True)).payload == b'{"early":1}'
                writer.write(b"x" * 1000)
            await until(lambda: rig.recorder.tally.recorded == 2)
            assert rig.proxy.connections_made == 1
            assert [record["request"] for record in await rig.records()] == [{"raw": "x" * 1000}] * 2

    asyncio.run(run())


def test_draining_has_an_end(tmp_path: Path) -> None:
    """X-03: by time, too."""

    async def reply(_said: Said, reader: Reader, writer: Writer) -> None:
        writer.write(sse_head() + chunk(EVENTS[0]))
        await _until_hang_up(reader)

    async def run() -> None:
        limits: dict[str, Any] = {"on_disconnect": "drain", "drain_seconds": 0.1, "idle_seconds": 1.0}
        async with far_side(reply) as far, recording(far.url, tmp_path, **limits) as rig:
            async with connected(rig.url) as (reader, writer):
                writer.write(post("/v1/x", b'{"stream":true}'))
                await reader.readuntil(EVENTS[0])
            (record,) = await _records_when(rig, 1)
            assert (record["drained"], record["reason"]) == (True, "client_closed")
            assert await until(lambda: far.closed == 1) < within(1)

    asyncio.run(run())


def test_a_large_request_waits_for_a_slow_connection(tmp_path: Path) -> None:
    """While the far side is being connected, a client is read only so far."""
    body = b'{"pad":"' + b"x" * 3_000_000 + b'"}'

    async def reply(said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer(b"%d" % len(said.payload)))

    async def run() -> None:
        async with far_side(reply) as far, recording(far.url, tmp_path) as rig:
            pool = rig.proxy._pool
            connect = pool.connect
            held: list[bool] = []

            async def slowly(route: Any) -> Any:
                await asyncio.sleep(0.2)
                held.extend(client._is_held for client in rig.proxy.clients)
                return await connect(route)

            pool.connect = slowly  # type: ignore[method-assign]
            got = await ask(rig.url, post("/v1/x", body))
            assert got.payload == b"%d" % len(body)
            assert held == [True]

    asyncio.run(run())


def test_an_unused_client_connection_is_closed_in_time(tmp_path: Path) -> None:
    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer())

    async def run() -> None:
        limits: dict[str, Any] = {"client_idle_seconds": 0.1, "idle_seconds": 0.4, "reuse_seconds": 0.1}
        async with far_side(reply) as far, recording(far.url, tmp_path, **limits) as rig:
            async with connected(rig.url) as (reader, writer):
                writer.write(post("/v1/x", b"{}"))
                await read_message(reader, is_reply=True)
                assert await asyncio.wait_for(reader.read(), 5) == b""
            await until(lambda: far.closed == 1)

    asyncio.run(run())


def test_a_proxy_without_a_recorder_passes_all_the_same() -> None:
    from weft.proxy import Proxy, Routes, route_to

    async def reply(_said: Said, _reader: Reader, writer: Writer) -> None:
        writer.write(answer())

    async def run() -> None:
        async with far_side(reply) as far, Proxy(Routes(route_to(far.url)), None) as proxy:
            assert (await ask(proxy.url, post("/v1/x", b"{}"))).status == 200
            async with connected(proxy.url) as (_, writer):
                writer.write(post("/v1/x", b"").replace(b"Content-Length: 0", b"Content-Length: 9"))
                await until(lambda: proxy.flows)
            await until(lambda: not proxy.flows)

    asyncio.run(run())


def test_an_upload_that_is_refused_still_hears_why(tmp_path: Path) -> None:
    """A reset would take the answer away from a client that is still sending."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def run() -> None:
        async with recording(f"http://127.0.0.1:{port}", tmp_path) as rig, connected(rig.url) as (reader, writer):
            writer.write(post("/v1/x", b"").replace(b"Content-Length: 0", b"Content-Length: 30000000"))
            for _ in range(20):
                writer.write(bytes(1_000_000))
                await asyncio.sleep(0.005)
            assert (await read_message(reader, is_reply=True)).status == 502
            assert await reader.read() == b""

    asyncio.run(run())
