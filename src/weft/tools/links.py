"""Addresses that a tool server hands to a person to open: checked first, and opened without a shell [M-19]."""

from __future__ import annotations

import asyncio
import sys
from urllib.parse import urlsplit

from weft.errors import ToolError, UsageError
from weft.tools.visible import hidden_marks, reveal_line

__all__ = ["OPENERS", "check_link", "open_link"]

OPENERS = {"darwin": ("open",), "win32": ("rundll32", "url.dll,FileProtocolHandler")}
_SPACE = frozenset(" \t\r\n")


def check_link(url: str) -> str:
    """Give the address back if it is plain http or https to a named host; refuse every other kind."""
    shown = reveal_line(url[:200])
    if hidden_marks(url) or _SPACE & set(url):
        raise UsageError(f"refused an address with characters that hide where it leads: {shown}")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        raise UsageError(f"refused an address that cannot be read: {shown} ({problem})") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageError(f"refused an address that is not http or https: {shown}")
    if parts.username or parts.password:
        raise UsageError(f"refused an address with a name or password in it: {reveal_line(host)}")
    return url


async def open_link(url: str, *, opener: tuple[str, ...] | None = None) -> None:
    """Open a checked address in the person's browser: a program and its arguments, no shell between."""
    command = opener or OPENERS.get(sys.platform, ("xdg-open",))
    try:
        child = await asyncio.create_subprocess_exec(
            *command, check_link(url), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL
        )
    except OSError as problem:
        raise ToolError(f"no browser could be opened ({problem.strerror}); open this yourself: {url}") from problem
    await child.wait()
