"""What a tool is called in front of a model: `server___tool`, and the map that leads back [T-73, M-09].

Names are never taken apart to find out whom to call. What is shown is made fit for every provider (letters, digits,
`_` and `-`, at most 64); where that changes a name or makes two alike, the later one carries a short hash.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

from weft.errors import UsageError
from weft.tools.visible import hidden_marks, reveal_line

__all__ = ["SEPARATOR", "Names", "Route", "check_server_name", "split_name"]

SEPARATOR = "___"
SHOWN_MAX = 64  # what OpenAI and Gemini take; Anthropic takes 128
TOOL_MAX = 256  # MCP says 128 at most; a little patience costs nothing, 10 KB does
SERVER_MAX = 64
_HASH = 8
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_SERVER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@/ -]*")


@dataclass(frozen=True, slots=True)
class Route:
    """Where a shown name leads: the server (None for a Python function) and the name the server itself uses."""

    server: str | None
    tool: str


@dataclass(slots=True)
class Names:
    """Shown names and their routes, one to one."""

    _routes: dict[str, Route] = field(default_factory=dict)
    _shown: dict[Route, str] = field(default_factory=dict)

    def add(self, route: Route) -> tuple[str, str | None]:
        """Give the shown name for a route, and a notice if it could not be the plain one."""
        if (known := self._shown.get(route)) is not None:
            return known, None
        check_tool_name(route)
        plain = route.tool if route.server is None else f"{route.server}{SEPARATOR}{route.tool}"
        fit = _UNFIT.sub("_", plain)
        shown, notice = fit, None
        if len(fit) > SHOWN_MAX or fit in self._routes or not fit[0].isalnum():
            digest = hashlib.sha256(f"{route.server}\0{route.tool}".encode()).hexdigest()[:_HASH]
            shown = f"{fit[: SHOWN_MAX - _HASH - 1]}_{digest}"
        if (other := self._routes.get(fit)) is not None:
            notice = f"{_place(route)} and {_place(other)} clash as {fit}; the first is shown as {shown}"
        elif shown != plain:
            notice = f"{_place(route)} is shown to models as {shown}"
        self._routes[shown] = route
        self._shown[route] = shown
        return shown, notice

    def find(self, shown: str) -> Route | None:
        """Look a shown name up; there is no other way back."""
        return self._routes.get(shown)


def check_server_name(name: str) -> str:
    """Give the name back if a server may have it, or say why not."""
    if not 0 < len(name) <= SERVER_MAX:
        raise UsageError(f"a server's name has 1 to {SERVER_MAX} characters, not {len(name)}")
    if SEPARATOR in name:
        raise UsageError(f"{name}: three underscores separate server and tool, so a server's name has none")
    if not _SERVER.fullmatch(name.replace("_", "-")):
        raise UsageError(f"{reveal_line(name)}: a server's name is letters, digits and . _ - @ / only")
    return name


def check_tool_name(route: Route) -> None:
    """Refuse a tool name that nobody could read or send [M-09]."""
    name = route.tool
    if not name.strip():
        raise UsageError(f"{_place(route)}: a tool without a name")
    if len(name) > TOOL_MAX:
        raise UsageError(f"{_place(route)}: a tool's name of {len(name)} characters; {TOOL_MAX} at most")
    if marks := hidden_marks(name, space=""):
        raise UsageError(f"{_place(route)}: a tool's name with characters nobody sees: {' '.join(marks)}")


def split_name(shown: str) -> Route | None:
    """Read a name out of stored history, where no map was kept: split at the first separator [T-73]."""
    server, separator, tool = shown.partition(SEPARATOR)
    return Route(server, tool) if separator and server and tool else None


def _place(route: Route) -> str:
    name = reveal_line(route.tool[:80]) + ("…" if len(route.tool) > 80 else "")
    return f"tool {name!r}" if route.server is None else f"tool {name!r} of server {route.server}"
