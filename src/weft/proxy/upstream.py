"""Connections to the far sides: made, kept for reuse, and listened to.

A connection carries one exchange at a time. An unused one that has something to read is dead, or mad, and is not used:
so a request is never written to a connection that is known to be closed, and never written twice [X-19].
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import select
import socket
import ssl
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from weft.proxy.head import BadMessage
from weft.proxy.options import Options

if TYPE_CHECKING:
    from weft.proxy.flow import Flow
    from weft.proxy.routes import Route

__all__ = ["Pool", "Upstream", "failure_of"]

_HIGH_WATER = 1 << 18
_MOST_IDLE = 128  # unused connections to one origin
# Addresses that answer to nobody else than this machine: clouds keep their credentials there.
_METADATA = frozenset({ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200")})


class Upstream(asyncio.Protocol):
    """One connection to a far side."""

    __slots__ = (
        "_poll",
        "flow",
        "idle_since",
        "is_lost",
        "is_paused",
        "keep_seconds",
        "origin",
        "pool",
        "transport",
        "uses",
    )

    def __init__(self, pool: Pool, origin: tuple[str, str, int]) -> None:
        """Belong to a pool."""
        self.pool = pool
        self.origin = origin
        self.flow: Flow | None = None
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # set before anything else happens
        self.is_lost = False
        self.is_paused = False
        self.uses = 0
        self.idle_since = 0.0
        self.keep_seconds = 0.0
        self._poll: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the connection up."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by name
        self.transport.set_write_buffer_limits(high=_HIGH_WATER)
        self._poll = select.poll()
        self._poll.register(
            transport.get_extra_info("socket").fileno(), select.POLLIN | select.POLLHUP | select.POLLERR
        )

    def data_received(self, data: bytes) -> None:
        """Hand on what the far side says."""
        if self.flow is not None:
            self.flow.upstream_data(data)
        else:
            self.close()  # nobody asked

    def eof_received(self) -> bool:
        """Take the end; the connection is closed with it."""
        if self.flow is not None:
            self.flow.upstream_eof()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and tell who is using it."""
        self.is_lost = True
        self.pool.forget(self)
        if self.flow is not None:
            flow, self.flow = self.flow, None
            flow.upstream_lost(exc)

    def pause_writing(self) -> None:
        """Hold the client back: the far side is slow to read."""
        self.is_paused = True
        if self.flow is not None:
            self.flow.hold_client()

    def resume_writing(self) -> None:
        """Let the client go on."""
        self.is_paused = False
        if self.flow is not None:
            self.flow.release_client()

    def is_usable(self) -> bool:
        """Tell whether an unused connection is still good: open, and with nothing to read."""
        if self.is_lost or self.transport.is_closing():
            return False
        try:
            return not self._poll.poll(0)
        except (OSError, ValueError):
            return False

    def close(self) -> None:
        """Close at once; what is not sent stays unsent."""
        self.flow = None
        self.pool.forget(self)
        if not self.is_lost:
            self.transport.abort()


class _Asking(asyncio.Protocol):
    """Waits for a proxy's answer to CONNECT."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.head: asyncio.Future[bytes] = loop.create_future()
        self._heard = b""

    def data_received(self, data: bytes) -> None:
        self._heard += data
        if not self.head.done() and (b"\r\n\r\n" in self._heard or len(self._heard) > 1 << 16):
            self.head.set_result(self._heard)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.head.done():
            self.head.set_exception(OSError(f"the proxy hung up{f': {exc}' if exc else ''}"))


class Pool:
    """The connections of one proxy."""

    def __init__(self, options: Options, loop: asyncio.AbstractEventLoop) -> None:
        """Begin without any."""
        self.options = options
        self._loop = loop
        self._idle: dict[tuple[str, str, int], list[Upstream]] = {}
        self._trust: ssl.SSLContext | None = None
        self.made = 0

    def take(self, route: Route) -> Upstream | None:
        """Give an unused connection that is still good, if there is one."""
        idle = self._idle.get(route.origin)
        while idle:
            upstream = idle.pop()
            if self._loop.time() - upstream.idle_since < upstream.keep_seconds and upstream.is_usable():
                upstream.uses += 1
                return upstream
            upstream.close()
        return None

    def give_back(self, upstream: Upstream, idle_seconds: float | None) -> None:
        """Keep a connection for the next request."""
        default = self.options.reuse_tls_seconds if upstream.origin[0] == "https" else self.options.reuse_seconds
        keep = default if idle_seconds is None else max(0.0, idle_seconds - 1.0)
        idle = self._idle.setdefault(upstream.origin, [])
        upstream.flow = None
        if keep <= 0 or len(idle) >= _MOST_IDLE or upstream.is_lost:
            upstream.close()
            return
        upstream.keep_seconds, upstream.idle_since = keep, self._loop.time()
        idle.append(upstream)

    def forget(self, upstream: Upstream) -> None:
        """Drop a connection that is gone."""
        idle = self._idle.get(upstream.origin)
        if idle and upstream in idle:
            idle.remove(upstream)

    def sweep(self) -> None:
        """Close what has been unused for too long."""
        now = self._loop.time()
        for idle in self._idle.values():
            for upstream in [one for one in idle if now - one.idle_since >= one.keep_seconds]:
                upstream.close()

    def close(self) -> None:
        """Close everything unused."""
        for idle in list(self._idle.values()):
            for upstream in list(idle):
                upstream.close()

    async def connect(self, route: Route) -> Upstream:
        """Make a connection; TimeoutError after the time allowed, OSError when it fails."""
        self.made += 1
        async with asyncio.timeout(self.options.connect_seconds):
            proxy = self.options.way.proxy_for(f"{route.scheme}://{route.host}:{route.port}/")
            if proxy is not None:
                return await self._connect_through(route, proxy)
            tls = self._context() if route.scheme == "https" else None
            problem: OSError | None = None
            for family, address in await self._resolve(route.host, route.port):
                try:
                    return await self._open(route, address, family, tls)
                except ssl.SSLError:
                    raise
                except OSError as failed:
                    problem = failed
            raise problem or OSError(f"no address is known for {route.host}")

    async def _open(self, route: Route, address: str, family: int, tls: ssl.SSLContext | None) -> Upstream:
        _, upstream = await self._loop.create_connection(
            lambda: Upstream(self, route.origin),
            address,
            route.port,
            family=family,
            ssl=tls,
            server_hostname=route.host if tls is not None else None,
            ssl_handshake_timeout=self.options.connect_seconds if tls is not None else None,
        )
        return upstream

    async def _resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        """Look a name up; addresses that no configuration by others may lead to are left out [X-24]."""
        try:
            addresses = [(0, str(ipaddress.ip_address(host)))]
        except ValueError:
            found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys((family, str(place[0])) for family, _, _, _, place in found))
        allowed = [one for one in addresses if self.options.allow_link_local or not is_forbidden(one[1])]
        if addresses and not allowed:
            raise PermissionError(
                f"{host} is a link-local or metadata address; only whoever starts the proxy may allow that"
            )
        return allowed

    async def _connect_through(self, route: Route, proxy: str) -> Upstream:
        """Ask an HTTP proxy for a tunnel; for plain targets too, which every proxy that allows the port can do."""
        parts = urlsplit(proxy)
        if parts.scheme != "http" or not parts.hostname:
            raise OSError("the proxy that the environment names is not an http:// one")
        where = f"[{route.host}]" if ":" in route.host else route.host
        asking = [f"CONNECT {where}:{route.port} HTTP/1.1", f"Host: {where}:{route.port}"]
        if parts.username:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            asking.append(f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}")
        link, asked = await self._loop.create_connection(lambda: _Asking(self._loop), parts.hostname, parts.port or 80)
        try:
            link.write("\r\n".join([*asking, "", ""]).encode())
            head = await asked.head
            if head[:5] != b"HTTP/" or head[9:10] != b"2":
                said = head.partition(b"\r\n")[0].decode("latin-1")
                raise OSError(f"the proxy refused: {said}")  # noqa: TRY301
            upstream = Upstream(self, route.origin)
            if route.scheme != "https":
                link.set_protocol(upstream)
                upstream.connection_made(link)
                return upstream
            secured = await self._loop.start_tls(
                link, upstream, self._context(), server_hostname=route.host, ssl_handshake_timeout=10.0
            )
        except BaseException:
            link.abort()
            raise
        if secured is None:
            raise OSError("the far side hung up")
        upstream.connection_made(secured)
        return upstream

    def _context(self) -> ssl.SSLContext:
        if self._trust is None:
            trust = self.options.way.trust()
            self._trust = trust if isinstance(trust, ssl.SSLContext) else ssl.create_default_context()
            self._trust.set_alpn_protocols(["http/1.1"])
        return self._trust


def is_forbidden(address: str) -> bool:
    """Tell whether an address is one that only the owner may choose [X-24]."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip.is_link_local or ip in _METADATA


def failure_of(problem: BaseException) -> tuple[int, str]:
    """Give the status and the words for a connection that could not be made."""
    match problem:
        case TimeoutError():
            return 504, "the far side did not take the connection in time"
        case ssl.SSLCertVerificationError():
            return 502, f"the far side's certificate is not trusted: {problem.verify_message}"
        case BadMessage():
            return problem.status, str(problem)
        case _:
            return 502, f"the far side cannot be reached: {str(problem) or type(problem).__name__}"
