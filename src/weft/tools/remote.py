"""Tool servers at an address: streamable HTTP, bounded, and never led astray [M-19].

The SDK follows a redirect only within the address's own origin. Here the rest: http and https only, no proxy from the
environment, and a name is resolved once, checked, and connected to by the very address that was checked; one inside a
private network has to be named as such by the owner.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import httpcore2
import httpx2

from weft.tools.limits import Limits
from weft.tools.links import check_link
from weft.tools.visible import reveal_line

__all__ = ["http_client", "is_private"]

CONNECT_S = 10.0
_LOCAL_NAMES = ("localhost", ".localhost")


def http_client(url: str, headers: Mapping[str, str], limits: Limits, *, private: bool) -> httpx2.AsyncClient:
    """Make the client that talks to one server, and to no one else."""
    host = httpx2.URL(check_link(url)).host
    backend = _Checked(allowed=host if private or _names_private(host) else None)
    transport = _Bounded(limits.message_bytes, backend)
    # The read limit is the hard one: a stream may be silent as long as a call may last.
    timeout = httpx2.Timeout(limits.start_s, connect=min(CONNECT_S, limits.start_s), read=limits.hard_s)
    return httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=transport, trust_env=False)


def is_private(address: str) -> bool:
    """Tell whether an address is anything but a public one: loopback, private, link-local, reserved."""
    number = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is not None:
        number = number.ipv4_mapped
    return not number.is_global or number.is_multicast


def _names_private(host: str) -> bool:
    """Tell whether the address itself says that it is private, so that writing it down was meant."""
    if host == _LOCAL_NAMES[0] or host.endswith(_LOCAL_NAMES[1]):
        return True
    try:
        return is_private(host)
    except ValueError:
        return False


class _Checked(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were looked at first."""

    def __init__(self, *, allowed: str | None) -> None:
        self._allowed = allowed
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await _resolve(host, port)
        if host != self._allowed and (inside := [address for address in addresses if is_private(address)]):
            raise httpcore2.ConnectError(
                f"{host} leads to {inside[0]}, inside a private network; if that is meant: private = true"
            )
        problem: Exception | None = None
        for address in addresses:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
        raise problem or httpcore2.ConnectError(f"{host} has no address")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _resolve(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as problem:
        raise httpcore2.ConnectError(f"{reveal_line(host)}: {problem.strerror or problem}") from problem
    return list(dict.fromkeys(str(info[4][0]) for info in found))


class _Bounded(httpx2.AsyncHTTPTransport):
    """Refuses an answer that is no stream of events and is longer than a message may be [M-06]."""

    def __init__(self, message_bytes: int, backend: httpcore2.AsyncNetworkBackend) -> None:
        super().__init__(trust_env=False)
        # httpx2 has no option for where names lead; its pool has.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False), network_backend=backend
        )
        self._limit = message_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            stream = response.stream
            if isinstance(stream, httpx2.AsyncByteStream):
                response.stream = _Counted(stream, self._limit)
        return response


class _Counted(httpx2.AsyncByteStream):
    """A body that is cut off, with an error, at its limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._limit:
                raise httpx2.StreamError(f"an answer of more than {self._limit} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
