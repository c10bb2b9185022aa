"""A far side that does as the test says, a recording proxy before it, and a client that sees every byte."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.proxy import Options, Proxy, Routes, route_to
from weft.trace import Exchange, Recorder, open_sink

__all__ = [
    "Far",
    "Rig",
    "Said",
    "answer",
    "ask",
    "chunk",
    "connected",
    "far_side",
    "post",
    "read_message",
    "recording",
    "sse_head",
    "until",
    "within",
]

Reply = Callable[["Said", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class Said:
    """One HTTP message, byte for byte."""

    head: bytes
    body: bytes  # as framed on the wire
    payload: bytes

    @property
    def first(self) -> bytes:
        return self.head.split(b"\r\n")[0]

    @property
    def status(self) -> int:
        return int(self.head.split(b" ", 2)[1])

    @property
    def target(self) -> bytes:
        return self.head.split(b" ", 2)[1]

    @property
    def lines(self) -> list[bytes]:
        return self.head.split(b"\r\n")[1:-2]

    def get(self, name: str) -> str | None:
        found = self.all(name)
        return found[0] if found else None

    def all(self, name: str) -> list[str]:
        pairs = (line.decode("latin-1").partition(":") for line in self.lines)
        return [value.strip() for key, _, value in pairs if key.lower() == name]


async def read_message(reader: asyncio.StreamReader, *, is_reply: bool = False, to_head: bool = False) -> Said:
    """Read one message; IncompleteReadError says that it was broken off."""
    head = await reader.readuntil(b"\r\n\r\n")
    said = Said(head, b"", b"")
    if to_head or (is_reply and said.status in (101, 204, 304)):
        return said
    if (length := said.get("content-length")) is not None:
        said.body = said.payload = await reader.readexactly(int(length))
    elif said.get("transfer-encoding") == "chunked":
        while True:
            line = await reader.readuntil(b"\r\n")
            said.body += line
            size = int(line.split(b";")[0], 16)
            if not size:
                break
            data = await reader.readexactly(size + 2)
            said.body += data
            said.payload += data[:-2]
        while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
            said.body += line
        said.body += b"\r\n"
    elif is_reply:
        said.body = said.payload = await reader.read()
    return said


@dataclass(slots=True)
class Far:
    """The far side: what it was asked, how often it was connected to, and what became of its connections."""

    url: str = ""
    asked: list[Said] = field(default_factory=list)
    connections: int = 0
    closed: int = 0  # connections that ended

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@asynccontextmanager
async def far_side(reply: Reply, **serving: Any) -> AsyncIterator[Far]:
    """Serve on loopback: `reply` writes the answer to each request. Returning without one hangs up."""
    far = Far()
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        far.connections += 1
        try:
            while True:
                said = await read_message(reader)
                far.asked.append(said)
                await reply(said, reader, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            far.closed += 1
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 22, **serving)
    scheme = "https" if serving.get("ssl") else "http"
    far.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield far
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.sleep(0)


def answer(body: bytes = b"{}", status: str = "200 OK", *headers: bytes, kind: str = "application/json") -> bytes:
    """Give a whole answer with a length."""
    lines = [f"HTTP/1.1 {status}".encode(), f"Content-Type: {kind}".encode(), *headers]
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", body])


def sse_head(*headers: bytes) -> bytes:
    """Give the head of a stream of events in chunks."""
    lines = [
        b"HTTP/1.1 200 OK",
        b"Content-Type: text/event-stream; charset=utf-8",
        b"Transfer-Encoding: chunked",
        *headers,
    ]
    return b"\r\n".join([*lines, b"", b""])


def chunk(data: bytes) -> bytes:
    """Frame a chunk; none is the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data)


@dataclass(slots=True)
class Rig:
    """A recording proxy and its output."""

    proxy: Proxy
    recorder: Recorder
    path: Path

    @property
    def url(self) -> str:
        return self.proxy.url

    async def records(self) -> list[dict[str, Any]]:
        """Give what is recorded so far, everything finished included."""
        assert await asyncio.to_thread(self.recorder.flush, 20)
        return [json.loads(line) for line in self.path.read_bytes().splitlines()]  # bytes: only LF ends a line

    async def exchanges(self) -> list[Exchange]:
        return [Exchange.from_record(record) for record in await self.records()]


@asynccontextmanager
async def recording(
    target: str | Routes,
    folder: Path,
    *,
    name: str = "trace.jsonl",
    recorder: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[Rig]:
    """Run a proxy before a target, recording into `folder`."""
    path = folder / name
    keeper = Recorder(open_sink(str(path)), **(recorder or {}))
    routes = target if isinstance(target, Routes) else Routes(route_to(target))
    try:
        async with Proxy(routes, keeper, options=Options(**options)) as proxy:
            yield Rig(proxy, keeper, path)
    finally:
        await asyncio.to_thread(keeper.close)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to an address."""
    port = int(url.rpartition(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError, OSError):
            await writer.wait_closed()


def post(path: str, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """Give a POST as bytes."""
    lines = [f"POST {path} HTTP/1.1", "Host: proxy", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def ask(url: str, request: bytes, *, to_head: bool = False) -> Said:
    """Send bytes on a connection of their own, and read one answer."""
    async with connected(url) as (reader, writer):
        writer.write(request)
        return await asyncio.wait_for(read_message(reader, is_reply=True, to_head=to_head), 20)


def within(seconds: float) -> float:
    """Give the time that so many seconds of a machine of one's own take on this one."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


async def until(is_so: Callable[[], Any], seconds: float = 5.0) -> float:
    """Wait until something is so; give how long it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not is_so():
        assert loop.time() - began < within(seconds), "it did not happen in time"
        await asyncio.sleep(0.005)
    return loop.time() - began
