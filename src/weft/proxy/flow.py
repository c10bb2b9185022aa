"""A flow: one exchange on its way through, from the client's head to the last byte of the answer.

Bytes go on in the call in which they come, before anything else is done with them; the recording gets references to the
same bytes. The slower side holds the faster one back, so that nothing piles up in between [X-11].
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from weft.proxy.body import Body, ChunkedBody, EndlessBody, LengthBody
from weft.proxy.head import BadMessage, RequestHead, ResponseHead, read_response_head
from weft.proxy.upstream import Pool, Upstream, failure_of
from weft.proxy.websocket import FrameTap

if TYPE_CHECKING:
    from weft.proxy.connection import ClientConnection
    from weft.proxy.routes import Route
    from weft.trace import Capture, Reason

__all__ = ["Flow"]

_LONGEST_HEAD = 1 << 18
_REST_SECONDS = 5.0  # how long the rest of a request is waited for once it is answered
_HELD_BYTES = 1 << 18  # of a request's body, while the far side is being connected


class Flow:
    """One exchange."""

    __slots__ = (
        "_answered_at",
        "_body",
        "_buffer",
        "_dechunks",
        "_drained_bytes",
        "_early",
        "_head",
        "_loop",
        "_opening",
        "_pool",
        "_route",
        "_tap",
        "began",
        "capture",
        "client",
        "has_answered",
        "is_done",
        "is_draining",
        "is_request_done",
        "is_tunnel",
        "last_active",
        "request",
        "upstream",
    )

    def __init__(
        self, client: ClientConnection, request: RequestHead, route: Route, capture: Capture | None, pool: Pool
    ) -> None:
        """Begin, with the request's head read."""
        self.client: ClientConnection | None = client
        self.request = request
        self.capture = capture
        self.upstream: Upstream | None = None
        self.is_done = False
        self.is_request_done = False
        self.is_draining = False
        self.is_tunnel = False
        self.has_answered = False  # the client has had the beginning of an answer
        self._route = route
        self._pool = pool
        self._loop = client.loop
        self.began = self.last_active = self._loop.time()
        self._head: ResponseHead | None = None
        self._body: Body | None = None
        self._buffer = b""
        self._early: list[bytes] = []  # to send once there is a connection
        self._opening: asyncio.Task[None] | None = None
        self._dechunks = False
        self._drained_bytes = 0
        self._answered_at = 0.0
        self._tap: FrameTap | None = None

    # -- towards the far side ----------------------------------------------------------------------------------------

    def start(self, head: bytes, raw: bytes, payload: list[bytes]) -> None:
        """Send the head, and what came with it; `payload` is what of that is the body's own."""
        if self.capture is not None:
            for piece in payload:
                self.capture.request_data(piece)
        data = head + raw if raw else head
        upstream = self._pool.take(self._route)
        if upstream is not None:
            self._attach(upstream)
            upstream.transport.write(data)
            return
        self._early.append(data)
        self._opening = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        try:
            upstream = await self._pool.connect(self._route)
        except (OSError, TimeoutError, ValueError) as problem:
            status, why = failure_of(problem)
            self._fail(status, why, "timeout" if status == 504 else "error")
            return
        if self.is_done:
            upstream.close()
            return
        self._attach(upstream)
        upstream.transport.writelines(self._early)
        self._early.clear()
        if not upstream.is_paused:
            self.release_client()

    def _attach(self, upstream: Upstream) -> None:
        self.upstream = upstream
        upstream.flow = self
        if self.client is not None and self.client.is_paused:
            upstream.transport.pause_reading()

    def request_data(self, raw: bytes, payload: list[bytes]) -> None:
        """Pass on a piece of the request's body; `payload` is what of it is the body's own."""
        self.last_active = self._loop.time()
        if self.upstream is not None:
            self.upstream.transport.write(raw)
        elif not self.is_done:
            self._early.append(raw)
            if sum(map(len, self._early)) > _HELD_BYTES:
                self.hold_client()
        if self.capture is not None:
            for piece in payload:
                self.capture.request_data(piece)

    def hold_client(self) -> None:
        """Read no more from the client for now."""
        if self.client is not None:
            self.client.hold()

    def release_client(self) -> None:
        """Read from the client again."""
        if self.client is not None:
            self.client.release()

    # -- from the far side -------------------------------------------------------------------------------------------

    def upstream_data(self, data: bytes) -> None:
        """Pass on what the far side says."""
        self.last_active = self._loop.time()
        if self.is_tunnel:
            self._tunnel_data(data)
            return
        if self._body is None:
            self._buffer = data = self._buffer + data if self._buffer else data
            try:
                self._read_heads()
            except BadMessage as problem:
                self._fail(problem.status, str(problem), "error")
            return
        self._pass_body(b"", data, 0)

    def _read_heads(self) -> None:
        """Read the head, and any 1xx before it."""
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _LONGEST_HEAD:
                    raise BadMessage(502, "the far side's head is too long")
                return
            head = read_response_head(self._buffer[:end])
            rest = self._buffer[end + 4 :]
            if head.status == 101:
                self._switch(head, rest)
                return
            if head.status < 200:
                self._buffer = rest
                if head.status != 100 and self.client is not None and not self.request.is_old:
                    self.client.write(b"\r\n".join((head.status_line, *head.lines, b"", b"")))
                if not rest:
                    return
                continue
            self._buffer = b""
            self._begin_answer(head, rest)
            return

    def _begin_answer(self, head: ResponseHead, rest: bytes) -> None:
        self._head = head
        if self.request.method == b"HEAD" or head.has_no_body:
            self._body = LengthBody(0)
        elif head.is_chunked:
            self._body = ChunkedBody(502)
        elif head.length is not None:
            self._body = LengthBody(head.length)
        else:
            self._body = EndlessBody()
        lines = head.lines
        client = self.client
        if client is not None:
            ends_with_connection = isinstance(self._body, EndlessBody)
            if self.request.is_old and head.is_chunked:
                self._dechunks = ends_with_connection = True
                lines = [line for line in lines if not line.lower().startswith((b"transfer-encoding:", b"trailer:"))]
            if ends_with_connection:
                client.must_close = True
            if client.must_close:
                lines = [*lines, b"Connection: close"]
            elif self.request.is_old:
                lines = [*lines, b"Connection: keep-alive"]
        if self.capture is not None:
            self.capture.response_head(head.status, head.media_type, head.encoding)
        self.has_answered = True
        self._pass_body(b"\r\n".join((head.status_line, *lines, b"", b"")), rest, 0)

    def _pass_body(self, head: bytes, data: bytes, at: int) -> None:
        body = self._body
        assert body is not None  # noqa: S101
        payload: list[bytes] = []
        problem: BadMessage | None = None
        end = len(data)
        if not body.is_done and data:
            try:
                end = body.feed(data, at, payload)
            except BadMessage as broken:
                problem = broken  # what the far side said is passed on; that it makes no sense is for the client to see
        elif data:
            end = at  # more than was announced: not ours
        client = self.client
        if client is not None:
            raw = b"".join(payload) if self._dechunks else data if end == len(data) else data[:end]
            if head or raw:
                client.write(head + raw if head and raw else head or raw)
        elif self.is_draining:
            self._drained_bytes += end
        if self.capture is not None:
            for piece in payload:
                self.capture.response_data(piece)
        if problem is not None:
            self._break(str(problem))
        elif body.is_done:
            if (
                self.is_request_done
                or self.client is None
                or self.client.must_close
                or not self._stays(end < len(data))
            ):
                self._finish(has_extra=end < len(data))
            else:
                self._answered_at = self._loop.time()  # before the request was all said: what is left of it goes on
        elif self.is_draining and self._drained_bytes > self._pool.options.drain_bytes:
            self.abandon("client_closed")

    def _finish(self, *, has_extra: bool = False) -> None:
        """End well: the answer is whole."""
        head, upstream = self._head, self.upstream
        self.is_done = True
        self.upstream = None
        if upstream is not None:
            upstream.flow = None
            if head is not None and self.is_request_done and self._stays(has_extra):
                self._pool.give_back(upstream, head.idle_seconds)
            else:
                upstream.close()
        if self.capture is not None:
            self.capture.end(drained=self.is_draining)
        client, self.client = self.client, None
        if client is not None:
            client.flow_done(self)

    def _stays(self, has_extra: bool) -> bool:
        """Tell whether the far side's connection can be used again."""
        keeps = self._head is not None and self._head.keeps_alive
        return keeps and not has_extra and not isinstance(self._body, EndlessBody)

    def request_done(self) -> None:
        """Take note that the request is all said; its answer may be through already."""
        self.is_request_done = True
        if self._answered_at and not self.is_done:
            self._finish()

    def upstream_eof(self) -> None:
        """Take the far side's end."""
        if self.is_done:
            return
        if self.is_tunnel:
            self._end_tunnel()
        elif self._answered_at:
            self._finish()
        elif isinstance(self._body, EndlessBody):
            self._body.is_done = True
            self._finish()
        else:
            self._lost("the far side hung up")

    def upstream_lost(self, exc: Exception | None) -> None:
        """Take the loss of the far side's connection."""
        if self.is_done:
            return
        if self.is_tunnel:
            self._end_tunnel()
        elif self._answered_at:
            self._finish()
        else:
            self._lost(f"the far side broke the connection{f': {exc}' if exc else ''}")

    def _lost(self, why: str) -> None:
        if self.has_answered:
            self._break(why)
        else:
            self._fail(502, f"{why} before it answered", "upstream_reset")

    def _break(self, why: str, reason: Reason = "upstream_reset") -> None:
        """End a transfer that began and cannot go on: the client must see that it is broken [X-04]."""
        self.is_done = True
        self._close_upstream()
        if self.capture is not None:
            self.capture.end(reason, why, drained=self.is_draining)
        client, self.client = self.client, None
        if client is not None:
            client.break_off(resets=isinstance(self._body, EndlessBody) or self._dechunks)
            client.flow_ended(self)

    def _fail(self, status: int, why: str, reason: Reason) -> None:
        """Answer in the far side's place: there will be no answer of its own."""
        if self.is_done:
            return
        if self.has_answered:
            self._break(why)
            return
        self.is_done = True
        self._close_upstream()
        if self.capture is not None:
            self.capture.end(reason, why)
        client, self.client = self.client, None
        if client is not None:
            client.refuse(status, why)
            client.flow_ended(self)

    def _close_upstream(self) -> None:
        upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.close()
        if self._opening is not None and not self._opening.done() and self._opening is not _current_task():
            self._opening.cancel()

    # -- when it takes too long, or nobody wants it any more -----------------------------------------------------------

    def check(self, now: float) -> None:
        """Give up what has been silent for too long [X-25]."""
        options = self._pool.options
        if self.is_done or self.is_tunnel:
            return
        if self._answered_at:
            if now - self._answered_at > _REST_SECONDS:
                self._finish()
        elif self.is_draining and now - self.began > options.drain_seconds:
            self.abandon("client_closed")
        elif now - self.last_active > options.idle_seconds:
            if self.client is not None and self.client.is_paused:
                return  # it is the client who does not read
            self._time_out()

    def _time_out(self) -> None:
        why = f"nothing came from the far side for {self._pool.options.idle_seconds:g} s"
        if self.has_answered:
            self._break(why, "timeout")
        else:
            self._fail(504, why, "timeout")

    def summary(self) -> str:
        """Say in one line what became of it: no header, no query."""
        status = str(self._head.status) if self._head is not None else "-"
        path = self.request.target.partition(b"?")[0].decode("utf-8", "backslashreplace")
        if self.capture is not None:
            path = self.capture.masker.mask(path.encode()).decode()
        milliseconds = int((self._loop.time() - self.began) * 1000)
        return f"{status} {self.request.method.decode()} {path} {milliseconds}ms"

    def client_lost(self) -> None:
        """Go on without the client, or stop [X-01, X-03]."""
        self.client = None
        if self.is_done:
            return
        if self.is_tunnel:
            self._end_tunnel()
        elif self._pool.options.on_disconnect == "drain" and self.is_request_done and self.capture is not None:
            self.is_draining = True
            self.began = self._loop.time()
            if self.upstream is not None:
                self.upstream.transport.resume_reading()
        else:
            self.abandon("client_closed")

    def abandon(self, reason: Reason) -> None:
        """Stop here."""
        self.is_done = True
        self._close_upstream()
        if self.capture is not None:
            self.capture.end(reason, drained=self.is_draining)

    # -- WebSocket -----------------------------------------------------------------------------------------------------

    def _switch(self, head: ResponseHead, rest: bytes) -> None:
        """Become a tunnel: both sides speak something else now."""
        client = self.client
        if client is None or not self.request.upgrade:
            raise BadMessage(502, "the far side switched protocols without being asked")
        self.is_tunnel = self.has_answered = True
        self._buffer = b""
        if self.capture is not None:
            self.capture.response_head(101, head.media_type, "")
            self._tap = FrameTap(self.capture, head.lines)
        lines = [*head.lines, b"Connection: Upgrade"]
        client.write(b"\r\n".join((head.status_line, *lines, b"", b"")))
        client.become_tunnel()
        if rest:
            self._tunnel_data(rest)

    def _tunnel_data(self, data: bytes) -> None:
        if self.client is not None:
            self.client.write(data)
        if self._tap is not None:
            self._tap.feed(data, from_client=False)

    def tunnel_from_client(self, data: bytes) -> None:
        """Pass on what the client says through the tunnel."""
        if self.upstream is not None:
            self.upstream.transport.write(data)
        if self._tap is not None:
            self._tap.feed(data, from_client=True)

    def _end_tunnel(self) -> None:
        self.is_done = True
        upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.flow = None
            upstream.transport.close()
        if self.capture is not None:
            is_closed = self._tap is None or self._tap.is_closed
            self.capture.end(None if is_closed else "client_closed" if self.client is None else "upstream_reset")
        client, self.client = self.client, None
        if client is not None:
            client.close()
            client.flow_ended(self)


def _current_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
