"""A tool server as a process: an argv list, its own group, an ending that is certain [M-02, M-03, M-07, M-16]."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress

from weft.errors import ToolError
from weft.tools.guard import Guard
from weft.tools.limits import Limits
from weft.tools.servers import Server
from weft.tools.visible import reveal

__all__ = ["Child"]

_POLL_S = 0.02
_WORDS = 400  # of its last words in an error message
_AFTERWARDS_S = 0.1


class Child:
    """One running server."""

    def __init__(self, process: asyncio.subprocess.Process, limits: Limits, guard: Guard) -> None:
        """Take charge of a process just started in a group of its own."""
        self._process = process
        self._limits = limits
        self._guard = guard
        self._tail = bytearray()
        self._listener = asyncio.create_task(self._listen())
        guard.watch(process.pid)

    @classmethod
    async def start(
        cls, server: Server, argv: tuple[str, ...], env: Mapping[str, str], limits: Limits, guard: Guard
    ) -> Child:
        """Start the server's command; no shell sees it."""
        await guard.start()
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                env=dict(env), cwd=server.cwd, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else str(problem)
            hint = "\n  write its arguments as words of their own" if len(argv) == 1 and " " in argv[0] else ""
            raise ToolError(f"server {server.name} did not start: {reason}: {server.shown()}{hint}") from problem
        return cls(process, limits, guard)

    @property
    def pid(self) -> int:
        """The process, and the group it leads."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended; None while it runs. Not `wait()`: that waits for its pipes too, which others may hold open."""
        return self._process.returncode

    async def read(self, size: int) -> bytes:
        """Give what it printed; nothing at its end."""
        assert self._process.stdout is not None  # noqa: S101 - started with a pipe
        return await self._process.stdout.read(size)

    async def write(self, data: bytes) -> None:
        """Hand it a message."""
        assert self._process.stdin is not None  # noqa: S101 - started with a pipe
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    def last_words(self) -> str:
        """Give what it last said on stderr, made safe to show."""
        return reveal(self._tail.decode("utf-8", "replace").strip())

    async def epitaph(self) -> str:
        """Say how it ended, if it did, and its last words."""
        with suppress(TimeoutError):  # its end and its last words may be a moment behind the end of its output
            await asyncio.wait_for(asyncio.shield(self._listener), _AFTERWARDS_S)
        await self._gone(_AFTERWARDS_S if self.returncode is None and self._listener.done() else 0)
        code = self.returncode
        how = "" if code is None else f"it was ended by signal {-code}" if code < 0 else f"exit status {code}"
        words = self.last_words()
        last = f"…{words[-_WORDS:]}" if len(words) > _WORDS else words
        return "\n".join(filter(None, (how, f"  its last words: {last}" if words else "")))

    async def stop(self, *, gently: bool) -> None:
        """End the whole group: stdin closed, then TERM, then KILL, each with its wait; no zombie stays."""
        if self._process.stdin is not None:
            with suppress(OSError, RuntimeError):
                self._process.stdin.close()
        if gently:
            await self._gone(self._limits.leave_s)
        for number in (signal.SIGTERM, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM):
            if not self._signal(number):
                break
            if await self._gone(self._limits.term_s) and not self._group_lives():
                break
        self._guard.release(self.pid)
        self._listener.cancel()
        with suppress(asyncio.CancelledError):
            await self._listener
        # A surviving grandchild may hold a pipe open; the transport is closed whatever it does.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
        await asyncio.sleep(0)

    async def _listen(self) -> None:
        """Keep reading stderr, so that it never fills up, and keep the last of it [M-07]."""
        assert self._process.stderr is not None  # noqa: S101 - started with a pipe
        while chunk := await self._process.stderr.read(65536):
            self._tail += chunk
            del self._tail[: -self._limits.stderr_bytes]

    async def _gone(self, seconds: float) -> bool:
        deadline = asyncio.get_running_loop().time() + seconds
        while self._process.returncode is None or self._group_lives():
            if asyncio.get_running_loop().time() >= deadline:
                return self._process.returncode is not None
            await asyncio.sleep(_POLL_S)
        return True

    def _signal(self, number: int) -> bool:
        """Send a signal to all of the group; False if there is nobody left."""
        try:
            if sys.platform == "win32":
                self._process.send_signal(number)
            else:
                os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _group_lives(self) -> bool:
        return sys.platform != "win32" and self._signal(0)
