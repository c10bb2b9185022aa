"""Servers for the tests of tools/: real ones, and one that misbehaves."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from tests.support.components import require
from weft.tools import Limits, Server, Toolbox

T = TypeVar("T")

HOSTILE = Path(__file__).resolve().parents[1] / "support" / "mcp" / "hostile.py"

# Short enough not to be waited for, long enough for a busy machine of two cores.
SHORT = Limits(start_s=10, call_s=10, hard_s=30, leave_s=0.2, term_s=0.4)

Run = Callable[[Callable[[Toolbox], Coroutine[Any, Any, T]]], T]


def hostile(*flags: str, name: str = "bad", **rest: Any) -> Server:
    """The misbehaving server, which needs nothing installed and so starts at once."""
    return Server(name=name, command=(sys.executable, "-I", "-S", str(HOSTILE), *flags), **rest)


def node(program: str, *arguments: str, name: str, **rest: Any) -> Server:
    """A reference server from npm."""
    return Server(name=name, command=(str(require("mcp-servers") / program), *arguments), **rest)


def python(program: str, *arguments: str, name: str, **rest: Any) -> Server:
    """A reference server from PyPI."""
    return Server(name=name, command=(str(require(program)), *arguments), **rest)


def using(servers: Any, work: Callable[[Toolbox], Coroutine[Any, Any, T]], **rest: Any) -> T:
    """Run something with a toolbox, and close it after."""

    async def run() -> T:
        options: dict[str, Any] = {"limits": SHORT, "environ": dict(os.environ)} | rest
        async with Toolbox(servers, **options) as toolbox:
            return await work(toolbox)

    return asyncio.run(run())


def said(block: dict[str, Any]) -> str:
    """The text of a result."""
    return "".join(item.get("text", "") for item in block["content"])


def alive(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped by someone else."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
