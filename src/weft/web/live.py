"""The hub: what happens, told to every open page as server-sent events.

Events come from threads that read files and from runs; pages come and go. The last ones are kept, so that a page whose
line broke goes on where it was; one that was away for too long, or does not keep up, is told to ask anew.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from weft.jsontext import dumps

__all__ = ["Hub"]

KEPT = 4_000  # events, for pages that come back
WAITING = 2_000  # events one page may be behind
PING_S = 15.0
_RESET: Mapping[str, Any] = {"type": "reset"}


class Hub:
    """Tells events to pages. `publish` may be called from any thread; following needs the loop."""

    def __init__(self, *, kept: int = KEPT, waiting: int = WAITING, ping_s: float = PING_S) -> None:
        """Begin with nothing told."""
        self._run = secrets.token_hex(4)  # so that the numbers of an earlier server mean nothing here
        self._numbers = itertools.count(1)
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=kept)
        self._pages: set[_Page] = set()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting, self._ping_s = waiting, ping_s
        self._closed = False

    @property
    def has_pages(self) -> bool:
        """Tell whether anyone listens."""
        return bool(self._pages)

    def publish(self, event: Mapping[str, Any]) -> None:
        """Tell an event to every page."""
        data = dumps(event)
        with self._lock:
            number = next(self._numbers)
            self._kept.append((number, data))
            for page in self._pages:
                page.put(number, data)
            loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._wake)
            except RuntimeError:  # the loop has ended meanwhile; nobody is left to be told
                return

    def close(self) -> None:
        """End every stream; called on the loop."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        for page in list(self._pages):
            page.ready.set()

    async def follow(self, last_id: str | None, hello: Callable[[], Mapping[str, Any]]) -> AsyncIterator[bytes]:
        """Give the stream of one page: `hello`, what it missed, and everything from now on."""
        page = _Page(self._waiting)
        with self._lock:
            self._loop = asyncio.get_running_loop()
            missed = self._missed(last_id)
            newest = self._kept[-1][0] if self._kept else 0
            self._pages.add(page)
        try:
            yield self._frame(newest if missed is None else _number(last_id), dumps(hello()))
            if missed is None:
                yield self._frame(newest, dumps(_RESET))
            for number, data in missed or ():
                yield self._frame(number, data)
            while not self._closed:
                for number, data in page.take():
                    yield self._frame(number, data)
                try:
                    async with asyncio.timeout(self._ping_s):
                        await page.ready.wait()
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            with self._lock:
                self._pages.discard(page)

    def _missed(self, last_id: str | None) -> list[tuple[int, bytes]] | None:
        """Give the events since one; None if some are not kept any more."""
        if not last_id:
            return []
        run, _, _ = last_id.partition("-")
        number = _number(last_id)
        oldest = self._kept[0][0] if self._kept else 1
        if run != self._run or number < oldest - 1:
            return None
        return [each for each in self._kept if each[0] > number]

    def _frame(self, number: int, data: bytes) -> bytes:
        return b"id: %s-%d\ndata: %s\n\n" % (self._run.encode(), number, data)


class _Page:
    """One open page: what waits to be sent to it."""

    __slots__ = ("_most", "_queue", "ready")

    def __init__(self, most: int) -> None:
        self._queue: deque[tuple[int, bytes]] = deque()
        self._most = most
        self.ready = asyncio.Event()

    def put(self, number: int, data: bytes) -> None:
        if len(self._queue) >= self._most:  # it does not keep up: it asks anew when it does
            self._queue.clear()
            data = dumps(_RESET)
        self._queue.append((number, data))

    def take(self) -> list[tuple[int, bytes]]:
        self.ready.clear()
        taken = []
        while self._queue:
            taken.append(self._queue.popleft())
        return taken


def _number(last_id: str | None) -> int:
    _, _, digits = (last_id or "").partition("-")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 18 else 0
