"""A provider that answers by script: real HTTP on loopback, byte for byte as the test wants it, hang-ups included."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Answer", "Asked", "Upstream", "sse", "upstream"]


@dataclass(slots=True)
class Answer:
    """One answer: a status, headers, and the pieces of its body. None among the pieces is a pause until hang-up."""

    pieces: Sequence[bytes | float | None] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: bool = False  # hang up in the middle of the body
    drop: bool = False  # hang up before a word is said
    raw: bytes | None = None  # say this instead, whatever it is
    close_delimited: bool = False  # no length is said: the end of the connection is the end of the body

    @classmethod
    def json(cls, value: Any, status: int = 200, **headers: str) -> Answer:
        named = {name.replace("_", "-"): said for name, said in headers.items()}
        return cls([json.dumps(value).encode()], status, named)


@dataclass(slots=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Upstream:
    """The provider: where it is, what it was asked, and how many connections were made and are open."""

    url: str
    answers: list[Answer]
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)  # the caller closed while an answer was under way

    def answer(self) -> Answer:
        """The next answer of the script; the last one stays."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def sse(*events: Any, done: bool = False) -> list[bytes]:
    """Write events as an SSE stream; a tuple is an event with its type."""
    pieces = []
    for event in events:
        if isinstance(event, tuple):
            pieces.append(f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n".encode())
        else:
            pieces.append(f"data: {json.dumps(event)}\n\n".encode())
    return [*pieces, b"data: [DONE]\n\n"] if done else pieces


@asynccontextmanager
async def upstream(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Upstream]:
    """Listen on a free port of loopback while the block runs."""
    far = Upstream("", list(answers) or [Answer.json({})])
    server = await asyncio.start_server(lambda r, w: _serve(far, r, w), "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    far.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield far
    finally:
        server.close()
        await server.wait_closed()


async def _serve(far: Upstream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    far.connections += 1
    try:
        while await _exchange(far, reader, writer):
            pass
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        pass  # the caller is gone, or the test is over
    finally:
        writer.close()


async def _exchange(far: Upstream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    far.asked.append(Asked(method, path, headers, body))
    far.was_asked.set()
    answer = far.answer()
    if answer.drop:
        return False
    if answer.raw is not None:
        writer.write(answer.raw)
        await writer.drain()
        return False
    return await _tell(far, answer, reader, writer)


async def _tell(far: Upstream, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    said = {"content-type": answer.content_type, **answer.headers}
    said |= {"connection": "close"} if answer.close_delimited else {"transfer-encoding": "chunked"}
    lines = [f"HTTP/1.1 {answer.status} Whatever", *(f"{name}: {value}" for name, value in said.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    for piece in answer.pieces:
        if piece is None or isinstance(piece, float):
            gone = asyncio.ensure_future(reader.read(1))  # nothing more is asked: only the end can come
            done, _ = await asyncio.wait([gone], timeout=piece)
            if done:
                far.hung_up.set()
                return False
            gone.cancel()
        elif piece:
            writer.write(piece if answer.close_delimited else b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
    if answer.cut or answer.close_delimited:
        return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
