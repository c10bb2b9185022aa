"""Who may ask: host, origin and token, checked before anything else; and the headers every answer carries.

A page of any site the user visits can send requests to a port of this machine, and a name of its own can be made to
lead here. So a request counts only if it names the address that is served (W-02), comes from a page of that address or
from none (W-03), and holds the token (W-01). What changes something is never a GET (W-04).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any

from weft.web.answers import RefusedError, error_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["PAGE_POLICY", "Guard", "Keys", "host_names", "is_loopback"]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_DEFAULTS = ((b"content-security-policy", PAGE_POLICY.encode()), (b"cache-control", b"no-store"))
_TICKET_S = 300.0  # how long a browser may take to come up
_METHODS = frozenset({"GET", "HEAD", "POST"})
_OURS = frozenset({b"same-origin", b"none"})
SESSION = "/api/session"


class Keys:
    """The token of one run of the server, the cookie it is exchanged for, and tickets that open one browser each.

    A browser is started with its address as an argument, which other users of the machine can read; so that address
    has a ticket that is worth nothing once the page has used it.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Draw a token and a cookie: 256 bits each."""
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._tickets: dict[str, float] = {}
        self._now = now

    def __repr__(self) -> str:
        return "<Keys>"

    def ticket(self) -> str:
        """Give a token that works once, soon."""
        self._tickets = {ticket: until for ticket, until in self._tickets.items() if until > self._now()}
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = self._now() + _TICKET_S
        return ticket

    def exchange(self, given: str) -> str | None:
        """Give the cookie for a token or a ticket; None for anything else."""
        if _same(given, self.token):
            return self._session
        found = None
        for ticket in list(self._tickets):  # all of them, so that the time taken says nothing
            if _same(given, ticket):
                found = ticket
        if found is None or self._tickets.pop(found) <= self._now():
            return None
        return self._session

    def is_token(self, given: str) -> bool:
        """Tell whether this is the token."""
        return _same(given, self.token)

    def is_session(self, given: str) -> bool:
        """Tell whether this is the cookie."""
        return _same(given, self._session)


def _same(given: str, kept: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogatepass"), kept.encode())


def host_names(host: str, port: int) -> frozenset[str]:
    """Give the values of `Host` that name an address that is served, exactly as browsers write them."""
    names = {"127.0.0.1", "localhost"} if host == "127.0.0.1" else {f"[{host}]" if ":" in host else host}
    if host in ("localhost", "::1"):
        names.add("localhost")
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())


class Guard:
    """Lets through what may pass, answers the rest, and puts the headers on everything.

    `hosts` are the accepted values of `Host`; None accepts the address the connection came in at, which is what is
    left when every address of the machine is served: never a name, so no name can be made to lead here.
    """

    def __init__(self, app: ASGIApp, *, keys: Keys, hosts: Collection[str] | None, cookie: str) -> None:
        """Stand before an app."""
        self._app, self._keys, self._hosts, self._cookie = app, keys, hosts, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _with_headers(message.get("headers", ()))}
            await send(message)

        try:
            self._check(scope)
        except RefusedError as refusal:
            await error_response(refusal)(scope, receive, answer)
            return
        await self._app(scope, receive, answer)

    def _check(self, scope: Scope) -> None:
        headers = scope["headers"]
        host = _one(headers, b"host")
        if host is None:
            raise RefusedError(400, "host", "the request does not say which host it is for")
        if host not in (self._hosts if self._hosts is not None else _arrived_at(scope)):
            raise RefusedError(403, "host", "this address is not served here")
        origin = _one(headers, b"origin")
        if origin is not None and origin != f"http://{host}":
            raise RefusedError(403, "origin", "pages of other sites may not ask")
        method, path = scope["method"], scope["path"]
        if method not in _METHODS:
            raise RefusedError(405, "method", f"{method} is not spoken here")
        is_data = path.startswith(("/api/", "/_local")) or path == "/api"
        site = _one(headers, b"sec-fetch-site")
        if (is_data or method == "POST") and site is not None and site.encode() not in _OURS:
            raise RefusedError(403, "site", "pages of other sites may not ask")
        has_token = self._has_token(headers)
        if is_data and path != SESSION and not (has_token or self._has_session(headers)):
            raise RefusedError(403, "token", "the token is missing or not this server's: open the address it printed")
        if method == "POST":
            if not is_data:
                raise RefusedError(405, "method", "only the API takes what is posted")
            if origin is None and not has_token:
                raise RefusedError(403, "origin", "a request that changes something says which page it is from")
            kind = (_one(headers, b"content-type") or "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise RefusedError(415, "content_type", "send application/json")

    def _has_token(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        scheme, _, token = (_one(headers, b"authorization") or "").partition(" ")
        return scheme.lower() == "bearer" and self._keys.is_token(token.strip())

    def _has_session(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        for name, value in headers:
            if name == b"cookie":
                try:
                    found = SimpleCookie(value.decode("latin-1")).get(self._cookie)
                except CookieError:
                    continue
                if found is not None and self._keys.is_session(found.value):
                    return True
        return False


def _one(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> str | None:
    """Give a header that may be there once; said twice, it is not to be trusted."""
    found = [value for name, value in headers if name == wanted]
    if len(found) > 1:
        raise RefusedError(400, "header", f"{wanted.decode()} is said more than once")
    return found[0].decode("latin-1") if found else None


def _arrived_at(scope: Scope) -> frozenset[str]:
    server = scope.get("server")
    return host_names(str(server[0]), int(server[1])) if server and server[1] is not None else frozenset()


def _with_headers(given: Iterable[Any]) -> list[tuple[bytes, bytes]]:
    headers = [(name.lower(), value) for name, value in given]
    there = {name for name, _ in headers}
    return [*headers, *_HEADERS, *(default for default in _DEFAULTS if default[0] not in there)]
