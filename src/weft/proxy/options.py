"""How a proxy behaves: limits, times, and the way out. Values with the reason they are what they are."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

__all__ = ["DirectWay", "OnDisconnect", "Options", "Way"]

OnDisconnect: TypeAlias = Literal["close", "drain"]


class Way(Protocol):
    """The way out, as the environment says: which proxy stands before an address, whose certificates are trusted."""

    def proxy_for(self, url: str) -> str | None:
        """Give the proxy of an address, or None for the straight way."""
        ...

    def trust(self) -> ssl.SSLContext | bool:
        """Give what decides whose certificates are believed; True for the system's own."""
        ...


class DirectWay:
    """The straight way, with the system's certificates."""

    def proxy_for(self, url: str) -> str | None:  # noqa: ARG002
        """Give no proxy."""
        return None

    def trust(self) -> ssl.SSLContext | bool:
        """Trust what the system trusts."""
        return True


@dataclass(frozen=True, slots=True)
class Options:
    """How a proxy behaves."""

    on_disconnect: OnDisconnect = "close"
    connect_seconds: float = 10.0
    idle_seconds: float = 600.0  # without a byte from the far side
    client_idle_seconds: float = 600.0  # a kept connection without a request
    # How long an unused connection is kept when the far side does not say. Servers drop them after 5 s and more
    # (uvicorn, node); the big providers after a minute and more. A request is never sent twice, so rather too short.
    reuse_seconds: float = 4.0
    reuse_tls_seconds: float = 45.0
    drain_bytes: int = 64 << 20
    drain_seconds: float = 600.0
    allow_link_local: bool = False  # the owner may; a metadata service lives there
    way: Way = field(default_factory=DirectWay)
    name_key: Callable[[bytes], str] | None = (
        None  # a keyed fingerprint, so that exchanges of one key can be told [K-04]
    )
    log: Callable[[str], None] | None = None  # one line a request; no header, no body, no query
