"""The end of tool servers when weft dies, however it dies [M-20].

A second, very small process holds the reading end of a pipe whose writing end only weft has. When weft is gone the pipe
ends, and what is still running of the process groups it was told about gets TERM, and KILL two seconds later. That also
reaches grandchildren, which a parent-death signal does not, and works on every POSIX system.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

__all__ = ["Guard"]

_SCRIPT = """
import os, signal, sys, time
groups, rest = set(), b""
while chunk := os.read(0, 4096):
    *lines, rest = (rest + chunk).split(b"\\n")
    for line in lines:
        (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
for number in (signal.SIGTERM, signal.SIGKILL) if groups else ():
    for group in groups:
        try:
            os.killpg(group, number)
        except OSError:
            pass
    time.sleep(2 if number == signal.SIGTERM else 0)
"""


class Guard:
    """Watches over the process groups of one weft process; does nothing where there are no process groups."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def start(self) -> None:
        """Have the guard running before the first server is."""
        async with self._lock:
            if self._process is not None and self._process.returncode is None:
                return
            if sys.platform == "win32" or not sys.executable:
                return
            # -I -S: nothing of the environment or of installed packages runs in it. Its own session, so that ctrl-c
            # and a killed terminal do not take it along.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", _SCRIPT,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True, env={},
            )  # fmt: skip

    def watch(self, group: int) -> None:
        """Look after a process group."""
        self._tell(b"+%d\n" % group)

    def release(self, group: int) -> None:
        """Forget a process group that has ended."""
        self._tell(b"-%d\n" % group)

    async def close(self) -> None:
        """Let the guard go."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 5)

    def _tell(self, line: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, RuntimeError):  # the guard was killed: servers still see their stdin end
                self._process.stdin.write(line)
