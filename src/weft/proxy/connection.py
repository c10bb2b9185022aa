"""A client's connection: reads requests, one after another, and starts a flow for each.

The next request of a connection waits until the answer to the one before is through, so answers come in order [X-19].
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from weft.proxy.body import Body, ChunkedBody, LengthBody
from weft.proxy.flow import Flow
from weft.proxy.head import BadMessage, RequestHead, read_request_head

if TYPE_CHECKING:
    from weft.proxy.server import Proxy

__all__ = ["ClientConnection"]

_LONGEST_HEAD = 1 << 17
_HIGH_WATER = 1 << 18
_WAITING_BYTES = 1 << 16  # of requests that wait for their turn
_LINGER_SECONDS = 1.0
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: no goodbye


class ClientConnection(asyncio.Protocol):
    """One client."""

    __slots__ = (
        "_body",
        "_buffer",
        "_is_held",
        "_is_lingering",
        "_proxy",
        "flow",
        "is_paused",
        "is_tunnel",
        "last_active",
        "loop",
        "must_close",
        "transport",
    )

    def __init__(self, proxy: Proxy) -> None:
        """Belong to a proxy."""
        self._proxy = proxy
        self.loop = proxy.loop
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # set before anything else happens
        self.flow: Flow | None = None
        self.must_close = False  # after this answer
        self.is_paused = False  # it reads more slowly than the far side writes
        self.is_tunnel = False
        self.last_active = self.loop.time()
        self._is_lingering = False  # refused; what it still says is not heard
        self._is_held = False  # we do not read from it for now
        self._buffer = b""
        self._body: Body | None = None

    # -- what asyncio calls ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the connection up."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by name
        self.transport.set_write_buffer_limits(high=_HIGH_WATER)
        self._proxy.clients.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell the flow; it knows what to do without a client."""
        self._proxy.clients.discard(self)
        flow, self.flow = self.flow, None
        if flow is not None:
            flow.client_lost()
            if flow.is_done:
                self._proxy.flows.discard(flow)

    def eof_received(self) -> bool:
        """Take a client that stops sending for one that is gone: nothing tells the two apart [X-01]."""
        return False

    def pause_writing(self) -> None:
        """Hold the far side back."""
        self.is_paused = True
        if self.flow is not None and self.flow.upstream is not None:
            self.flow.upstream.transport.pause_reading()

    def resume_writing(self) -> None:
        """Let the far side go on."""
        self.is_paused = False
        if self.flow is not None and self.flow.upstream is not None:
            self.flow.last_active = self.loop.time()
            self.flow.upstream.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Read what the client says."""
        if self.is_tunnel and self.flow is not None:
            self.flow.tunnel_from_client(data)
            return
        if self._is_lingering:
            return
        if self._body is not None and not self._buffer:
            self._read_body(data, 0)
            return
        self._buffer = self._buffer + data if self._buffer else data
        if self.flow is not None:
            if len(self._buffer) > _WAITING_BYTES:
                self.hold()
            return
        self._read_next()

    # -- reading -----------------------------------------------------------------------------------------------------

    def _read_next(self) -> None:
        """Read a head, if there is a whole one, and start its flow."""
        buffer = self._buffer
        if buffer[:2] == b"\r\n":
            buffer = self._buffer = buffer.lstrip(b"\r\n")  # left over from the body before (RFC 9112, 2.2)
        end = buffer.find(b"\r\n\r\n")
        if end > _LONGEST_HEAD or (end < 0 and len(buffer) > _LONGEST_HEAD):
            self.refuse(431, "the request's head is too long")
            return
        if end < 0:
            if buffer.count(b"\n") != buffer.count(b"\r\n"):
                self.refuse(400, "a line of the request's head ends in a bare line feed")
            return
        try:
            request = read_request_head(buffer[:end])
            self._start(request, buffer, end + 4)
        except BadMessage as problem:
            self.refuse(problem.status, str(problem))

    def _start(self, request: RequestHead, buffer: bytes, at: int) -> None:
        self._buffer = b""
        self.must_close = not request.keeps_alive
        if request.is_chunked:
            body: Body = ChunkedBody(400)
        else:
            body = LengthBody(request.length or 0)
        proxy = self._proxy
        if request.target == b"/health" and request.method in (b"GET", b"HEAD") and body.is_done:
            self._buffer = buffer[at:]
            self._answer(200, b'{"status": "ok"}', has_body=request.method == b"GET")
            return
        if request.method == b"CONNECT":
            raise BadMessage(501, "this is no forward proxy: set a base URL instead")
        flow, head = proxy.start_flow(self, request)
        payload: list[bytes] = []
        end = at
        if len(buffer) > at and not body.is_done:
            end = body.feed(buffer, at, payload)  # may raise: nothing was sent yet
        if request.expects and not body.is_done:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.flow = flow
        flow.is_request_done = body.is_done
        self._body = None if body.is_done else body
        self._buffer = buffer[end:]
        flow.start(head, buffer[at:end], payload)

    def _read_body(self, data: bytes, at: int) -> None:
        body, flow = self._body, self.flow
        assert body is not None  # noqa: S101
        payload: list[bytes] = []
        try:
            end = body.feed(data, at, payload)
        except BadMessage as problem:
            self._body = None
            if flow is not None:
                flow.abandon("error")
                self.flow_ended(flow)
            self.refuse(problem.status, str(problem))
            return
        if flow is not None:
            flow.request_data(data if end == len(data) else data[:end], payload)
        if body.is_done:
            self._body = None
            self._buffer = data[end:]
            if flow is not None:
                flow.request_done()

    # -- what flows call ---------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send to the client."""
        self.transport.write(data)

    def hold(self) -> None:
        """Read no more for now."""
        if not self._is_held:
            self._is_held = True
            self.transport.pause_reading()

    def release(self) -> None:
        """Read again."""
        if self._is_held:
            self._is_held = False
            self.transport.resume_reading()

    def become_tunnel(self) -> None:
        """Pass everything on from now on."""
        self.is_tunnel = True
        waiting, self._buffer = self._buffer, b""
        self.release()
        if waiting and self.flow is not None:
            self.flow.tunnel_from_client(waiting)

    def flow_done(self, flow: Flow) -> None:
        """Go on to the next request: this one is answered."""
        self._proxy.log_flow(flow)
        self._proxy.flows.discard(flow)
        self.flow = None
        self.last_active = self.loop.time()
        if self.must_close or self._body is not None:  # answered before the request was all said: it never will be
            self.close()
            return
        self.release()
        if self._buffer:
            self._read_next()

    def flow_ended(self, flow: Flow) -> None:
        """Forget a flow that did not end well; the connection is on its way out."""
        self._proxy.log_flow(flow)
        self._proxy.flows.discard(flow)
        self.flow = None

    def refuse(self, status: int, why: str) -> None:
        """Answer with an error of our own, and hang up."""
        self.must_close = True
        error = {"error": {"message": why, "type": "proxy_error"}}
        self._answer(status, json.dumps(error, ensure_ascii=False).encode("utf-8", "replace"))

    def _answer(self, status: int, body: bytes, *, has_body: bool = True) -> None:
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = "Error"
        closes = "Connection: close\r\n" if self.must_close else ""
        about = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{closes}"
        self.transport.write(f"HTTP/1.1 {status} {phrase}\r\n{about}\r\n".encode() + (body if has_body else b""))
        if self.must_close:
            self._linger()
        elif self._buffer:
            self.loop.call_soon(self._read_if_idle)

    def _linger(self) -> None:
        """Hang up, but listen on for a moment.

        Closing with something unread resets the connection, and the client might lose the answer to its own upload.
        """
        if self.transport.is_closing() or not self.transport.can_write_eof():
            self.close()
            return
        self._is_lingering = True
        self._buffer = b""
        self._body = None
        self.release()
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.close)

    def _read_if_idle(self) -> None:
        if self.flow is None and self._buffer and not self.transport.is_closing():
            self._read_next()

    def break_off(self, *, resets: bool) -> None:
        """Hang up so that the client sees that something is missing.

        Where the body's form says how long it is, closing is enough; where the end of the connection is its end, only
        a reset tells. What was written is still sent first.
        """
        if resets:
            with suppress(OSError, AttributeError):
                link = self.transport.get_extra_info("socket")
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.close()

    def close(self) -> None:
        """Hang up, once everything is sent."""
        if not self.transport.is_closing():
            self.transport.close()
