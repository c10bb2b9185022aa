"""The recording proxy: listens, routes, and keeps the recorder supplied.

`Proxy` is what the other rooms see. It needs a table of routes and, to record, a `Recorder`; it asks the world for
nothing else. A translating proxy goes where `start_flow` decides what a request becomes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Self

from weft.errors import UsageError
from weft.proxy.connection import ClientConnection
from weft.proxy.flow import Flow
from weft.proxy.head import BadMessage, RequestHead
from weft.proxy.options import Options
from weft.proxy.routes import Routes
from weft.proxy.upstream import Pool
from weft.trace import Capture, Meta, Recorder, mask_target, masker_for, secrets_of

__all__ = ["Proxy"]

_BACKLOG = 1024
_SWEEP_SECONDS = 1.0
_UNRECORDED = frozenset({b"GET", b"HEAD", b"OPTIONS", b"DELETE", b"TRACE"})  # they have nothing to record [C-8]


class Proxy:
    """A proxy on a port."""

    def __init__(
        self,
        routes: Routes,
        recorder: Recorder | None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        options: Options | None = None,
    ) -> None:
        """Say what it does; it listens once it is entered."""
        self.options = options or Options()
        self.clients: set[ClientConnection] = set()
        self.flows: set[Flow] = set()
        self.host, self.port = host, port
        self.loop: asyncio.AbstractEventLoop = None  # type: ignore[assignment]  # of whoever enters it
        self._routes = routes
        self._recorder = recorder
        self._pool: Pool = None  # type: ignore[assignment]
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Give the address it listens on."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def connections_made(self) -> int:
        """Tell how many connections to far sides were made."""
        return self._pool.made

    async def __aenter__(self) -> Self:
        """Listen."""
        self.loop = asyncio.get_running_loop()
        self._pool = Pool(self.options, self.loop)
        try:
            self._server = await self.loop.create_server(
                lambda: ClientConnection(self), self.host, self.port, backlog=_BACKLOG
            )
        except OSError as problem:
            why = str(problem.strerror or problem).rpartition("): ")[2]  # asyncio says the address once more
            raise UsageError(f"cannot listen on {self.host} port {self.port}: {why}\n  try another: --port 0") from None
        self.port = self._server.sockets[0].getsockname()[1]
        self._sweeping = self.loop.create_task(self._sweep())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop: what is under way is broken off, and recorded as far as it got."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._server is not None:
            self._server.close()
        for flow in list(self.flows):
            if not flow.is_done:
                flow.abandon("killed")
        for client in list(self.clients):
            client.flow = None
            client.transport.abort()
        self._pool.close()
        await asyncio.sleep(0)  # let the closed transports say so

    def start_flow(self, client: ClientConnection, request: RequestHead) -> tuple[Flow, bytes]:
        """Decide what becomes of a request: where it goes, with which head, and how it is recorded."""
        found = self._routes.find(request.target, request.headers)
        if found is None:
            names = ", ".join(f"/{name}/" for name in self._routes.providers)
            raise BadMessage(
                404,
                f"no provider is meant by this path; begin it with one of {names}"
                if names
                else "the request's target is not understood",
            )
        route, target, provider = found
        lines: Sequence[bytes] = request.lines
        upgrades = request.upgrade == b"websocket"
        if upgrades:
            lines = [*lines, b"Connection: Upgrade", b"Upgrade: websocket"]
        else:
            request.upgrade = b""
        head = b"\r\n".join(
            (b"%b %b HTTP/1.1" % (request.method, target), b"Host: " + route.host_header, *lines, b"", b"")
        )
        flow = Flow(client, request, route, self._capture(request, target, provider, upgrades=upgrades), self._pool)
        self.flows.add(flow)
        return flow, head

    def _capture(self, request: RequestHead, target: bytes, provider: str | None, *, upgrades: bool) -> Capture | None:
        if self._recorder is None or (request.method in _UNRECORDED and not upgrades):
            return None
        secrets = secrets_of(request.headers, request.target)
        masker = masker_for(secrets)
        meta = Meta(
            method=request.method.decode(),
            path=mask_target(target, masker),
            provider=provider,
            request_type=request.media_type,
            request_encoding=request.encoding,
            key_id=self.options.name_key(secrets[0]) if secrets and self.options.name_key is not None else None,
        )
        return self._recorder.begin(meta, masker)

    def log_flow(self, flow: Flow) -> None:
        """Tell of an exchange that is over."""
        if self.options.log is not None:
            self.options.log(flow.summary())

    async def _sweep(self) -> None:
        """See to it, now and then, that nothing hangs around for ever."""
        while True:
            await asyncio.sleep(min(_SWEEP_SECONDS, self.options.idle_seconds / 4))
            now = self.loop.time()
            for flow in list(self.flows):
                flow.check(now)
                if flow.is_done:
                    self.flows.discard(flow)
            for client in list(self.clients):
                if client.flow is None and now - client.last_active > self.options.client_idle_seconds:
                    client.close()
            self._pool.sweep()
