"""HTTP/1.1 on asyncio streams with h11: one connection, one request after another.

Only what a provider's API needs: bodies of bounded size, whole responses, chunked streams written frame by frame,
and connections that drop or fall silent when the script says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import h11

__all__ = ["MAX_BODY_BYTES", "Handler", "Request", "Response", "serve_connection"]

MAX_BODY_BYTES = 32 * 1024 * 1024  # as Anthropic has it
_READ_BYTES = 64 * 1024
REASONS = {int(status): status.phrase for status in HTTPStatus}


@dataclass(slots=True)
class Request:
    """A request as it came; `oversize` if its body was longer than is taken, and then the body is empty."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    oversize: bool = False


@dataclass(slots=True)
class Response:
    """A response: a body, or frames. `cut` and `stall` count frames; in a whole body anything is after the first."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    frames: Iterator[bytes] | None = None
    cut: int | None = None
    stall: int | None = None
    slow_ms: float = 0.0


Handler = Callable[[Request], Awaitable[Response]]


class _DroppedError(Exception):
    """The connection ends here, on purpose."""


async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handler) -> None:
    """Answer the requests of one connection until either side is done."""
    wire = _Connection(reader, writer)
    try:
        while (request := await wire.receive()) is not None:
            await wire.send(await handle(request), request.method)
            if not wire.is_reusable():
                break
    except (_DroppedError, ConnectionError, h11.ProtocolError):
        pass  # cut by the script, gone by itself, or not HTTP: there is nobody to tell
    finally:
        writer.close()


class _Connection:
    """One connection: bytes to events and back."""

    __slots__ = ("_http", "_reader", "_writer")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._http = h11.Connection(h11.SERVER)
        self._reader = reader
        self._writer = writer

    async def receive(self) -> Request | None:
        """Read the next request; None when the client has closed."""
        request: h11.Request | None = None
        body = bytearray()
        oversize = False
        while True:
            match await self._event():
                case h11.Request() as head:
                    request = head
                case h11.Data(data=data):
                    oversize = oversize or len(body) + len(data) > MAX_BODY_BYTES
                    if not oversize:
                        body += data
                case h11.EndOfMessage():
                    break
                case _:
                    return None
        if request is None:
            return None
        headers = {
            bytes(name).decode("latin-1").lower(): bytes(value).decode("latin-1") for name, value in request.headers
        }
        method, target = bytes(request.method).decode("ascii"), bytes(request.target).decode("latin-1")
        return Request(method, target, headers, b"" if oversize else bytes(body), oversize)

    async def _event(self) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                await self._write(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._reader.read(_READ_BYTES))

    async def send(self, response: Response, method: str) -> None:
        """Write a response."""
        headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in response.headers.items()]
        streams = response.frames is not None
        if streams:
            headers.append((b"transfer-encoding", b"chunked"))
        else:
            headers.append((b"content-length", str(len(response.body)).encode()))
        reason = REASONS.get(response.status, "Overloaded")
        await self._write(h11.Response(status_code=response.status, headers=headers, reason=reason.encode()))
        frames = response.frames if response.frames is not None else iter((response.body,))
        sent = 0
        for frame in frames:
            await self._befall(response, sent, frame, whole=not streams)
            if response.slow_ms:
                await asyncio.sleep(response.slow_ms / 1000)
            if method != "HEAD":
                await self._write(h11.Data(data=frame))
            sent += 1
        await self._befall(response, sent, b"", whole=False)
        await self._write(h11.EndOfMessage())

    async def _befall(self, response: Response, sent: int, frame: bytes, *, whole: bool) -> None:
        """Drop the connection or fall silent, if it is time; of a whole body half has gone by then."""
        due = [limit for limit in (response.cut, response.stall) if limit is not None and (whole or sent == limit)]
        if not due:
            return
        if whole and len(frame) > 1:
            await self._write(h11.Data(data=frame[: len(frame) // 2]))
        if response.cut is None:
            while await self._reader.read(_READ_BYTES):  # until the client has had enough
                pass
        raise _DroppedError

    async def _write(self, event: h11.Event) -> None:
        written = self._http.send(event)
        if written:
            self._writer.write(written)
            await self._writer.drain()

    def is_reusable(self) -> bool:
        """Get ready for the next request, if there may be one."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True
