"""The recording proxy: bytes pass unchanged, a copy is kept.

The front door of the room: `Proxy`, the table of `Routes` it follows, and the `Options` of its behaviour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.proxy.options import OnDisconnect, Options, Way
from weft.proxy.routes import Route, Routes, guess_provider, route_to
from weft.proxy.server import Proxy

if TYPE_CHECKING:
    from weft.proxy.translating import TranslatingProxy as TranslatingProxy
    from weft.proxy.translating import Translation as Translation

__all__ = [
    "OnDisconnect",
    "Options",
    "Proxy",
    "Route",
    "Routes",
    "TranslatingProxy",
    "Translation",
    "Way",
    "guess_provider",
    "route_to",
]


def __getattr__(name: str) -> object:
    """Load what translates when it is asked for: it needs a client and all dialects, which recording does not."""
    if name not in ("TranslatingProxy", "Translation"):
        raise AttributeError(f"module 'weft.proxy' has no attribute {name!r}")
    from weft.proxy import translating  # noqa: PLC0415

    return getattr(translating, name)
