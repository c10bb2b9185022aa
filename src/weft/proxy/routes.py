"""Where a request goes: to the one target, or to the provider that its path or its headers name.

The destination comes from this table and from nowhere else: nothing that a client sends can change it [X-22, X-23].
Which addresses the table holds is told from outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from weft.errors import UsageError

__all__ = ["Headers", "Route", "Routes", "guess_provider", "route_to"]

Headers = Sequence[tuple[bytes, bytes]]

_ABSOLUTE = re.compile(rb"[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*", re.DOTALL)
# Who is meant where no prefix says so: paths that only one has, then headers, then paths that several have. Read off
# the providers' own API references.
_BY_HEADER = ((b"anthropic-version", "anthropic"), (b"x-goog-api-key", "gemini"), (b"x-goog-api-client", "gemini"))
_BY_PATH = (
    (re.compile(rb"/v1/messages(?:/|\?|$)|/v1/complete(?:\?|$)"), "anthropic"),
    (re.compile(rb"/v1(?:alpha|beta)?/(?:models|tunedModels)/[^/?]+:[a-zA-Z]+|/v1beta/"), "gemini"),
    (re.compile(rb"/model/[^/?]+/(?:converse|invoke)"), "bedrock"),
    (re.compile(rb"/v2/(?:chat|embed|rerank)(?:\?|$)"), "cohere"),
    (re.compile(rb"/api/(?:chat|generate|tags|show|embed)(?:\?|$)"), "ollama"),
    (re.compile(rb"(?:/v1)?/(?:chat/completions|responses|embeddings)(?:/|\?|$)"), "openai"),
)
_BY_SHARED_PATH = ((re.compile(rb"/v1/|/(?:completions|models)(?:/|\?|$)"), "openai"),)


@dataclass(frozen=True, slots=True)
class Route:
    """One far side: its origin, what its paths begin with, and whose it is."""

    scheme: str
    host: str
    port: int
    base: bytes  # of the path, without a slash at the end
    provider: str | None
    host_header: bytes
    names: tuple[str, ...] = ()

    @property
    def origin(self) -> tuple[str, str, int]:
        """Name what a connection leads to."""
        return self.scheme, self.host, self.port


def route_to(url: str, provider: str | None = None) -> Route:
    """Read the address of a far side."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as problem:
        raise UsageError(f"the target is no address: {problem}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"the target is no address: {_plain(url)!r}\n  it looks like https://api.openai.com")
    if parts.query or parts.fragment or parts.username or parts.password:
        raise UsageError("the target must not have a query, a fragment or a password in it")
    host = parts.hostname
    named = f"[{host}]" if ":" in host else host
    default = 443 if parts.scheme == "https" else 80
    header = named if port in (None, default) else f"{named}:{port}"
    base = parts.path.rstrip("/").encode("utf-8", "surrogateescape")
    if re.search(rb"[\x00-\x20\x7f]", base):
        raise UsageError("the target's path has a blank or a control character in it")
    try:
        host_header = header.encode("idna" if not header.isascii() else "ascii")
    except UnicodeError:
        raise UsageError(f"the target's host is no name: {_plain(host)!r}") from None
    return Route(parts.scheme, host, port or default, base, provider, host_header)


class Routes:
    """The table: one target for everything, or one a provider."""

    __slots__ = ("_only", "_table")

    def __init__(self, only: Route | None = None, table: Mapping[str, Route] | None = None) -> None:
        """Take the one target, or the table by prefix."""
        self._only = only
        self._table = {name.encode(): route for name, route in (table or {}).items()}

    @property
    def providers(self) -> list[str]:
        """Name the prefixes."""
        return [name.decode() for name in self._table]

    def find(self, target: bytes, headers: Headers) -> tuple[Route, bytes, str | None] | None:
        """Give the far side of a request, the target to ask it for, and whose it is; None if nobody is meant.

        Path bytes are kept as they are, whatever they look like.
        """
        if target[:1] != b"/":
            if (
                absolute := _ABSOLUTE.match(target)
            ) is not None:  # as to a forward proxy: who is named there is ignored
                target = target[absolute.end() :]
                if target[:1] != b"/":
                    target = b"/" + target
            elif target != b"*":
                return None
        if self._only is not None:
            provider = self._only.provider or guess_provider(target, headers)
            return self._only, self._only.base + target if target != b"*" else target, provider
        prefix, slash, rest = target[1:].partition(b"/")
        if not slash:
            prefix, question, rest = target[1:].partition(b"?")
            rest = question + rest
        if (route := self._table.get(prefix)) is not None:
            return route, _joined(route.base, b"/" + rest if slash else rest or b"/"), route.provider
        name = guess_provider(target, headers)
        if name is None or (route := self._table.get(name.encode())) is None:
            return None
        return route, _joined(route.base, target), name


def _joined(base: bytes, target: bytes) -> bytes:
    """Put a path behind an address. Clients leave out what the address has already (`/v1`), or say it again."""
    if base and (target == base or target.startswith((base + b"/", base + b"?"))):
        return target
    return base + target


def guess_provider(target: bytes, headers: Headers) -> str | None:
    """Tell who is meant by a request, from its path and headers."""
    for pattern, provider in _BY_PATH:
        if pattern.match(target):
            return provider
    named = {name for name, _ in headers}
    for header, provider in _BY_HEADER:
        if header in named:
            return provider
    return next((provider for pattern, provider in _BY_SHARED_PATH if pattern.match(target)), None)


def _plain(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//****@", url)
