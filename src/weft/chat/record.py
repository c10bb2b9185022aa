"""What is written down while an answer comes in: `gpt.recv` frames, in order, many to a transaction.

A transaction is a wait for the disk. An answer of two thousand pieces would wait two thousand times, so pieces are
gathered for a moment and written by a thread beside the loop; showing them waits for nothing. Only who sends faster
than a disk can write is made to wait, so that memory does not fill with what is still to be written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from weft.errors import StoreError
from weft.jsontext import dumps
from weft.store import Draft, FrameWriter
from weft.threads import Store

__all__ = ["CALL", "ERROR", "RECV", "OnEvent", "Recorder", "append_frame"]

CALL, RECV, ERROR = "gpt.call", "gpt.recv", "gpt.error"
GATHER_S = 0.1  # how much of an answer a crash may take from the log
MOST = 2_000  # events of one transaction
AHEAD = 4  # transactions that may wait for the disk

OnEvent = Callable[[Mapping[str, Any]], None]


def append_frame(store: Store, topic: str, meta: Mapping[str, Any], payload: bytes | None = None) -> str:
    """Add one frame to the log; give its id."""
    return store.frames.write(lambda writer: writer.append(Draft(topic, dict(meta), payload)))[0]


class Recorder:
    """Keeps the events of one call and shows them. `close()` waits until all is on disk."""

    def __init__(self, store: Store, call_id: str, on_event: OnEvent | None = None) -> None:
        """Record for one call."""
        self._store = store
        self._meta = {"frame_id": call_id}
        self._on_event = on_event
        self._gathered: list[Mapping[str, Any]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[None]] = deque()
        self.problem: StoreError | None = None  # what kept events from being written, if anything did; after close()

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one event."""
        self._gathered.append(event)
        if len(self._gathered) >= MOST:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self._flush)
        if self._on_event is not None:
            self._on_event(event)

    @property
    def is_behind(self) -> bool:
        """Whether the disk has too much to do already."""
        self._settle(done_only=True)
        return len(self._waiting) >= AHEAD

    async def catch_up(self) -> None:
        """Wait until the disk has less to do."""
        await asyncio.wait([asyncio.wrap_future(self._waiting[0])])

    def close(self) -> None:
        """Write what is left. It waits for the disk, and may be called when the loop is being stopped."""
        self._flush()
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None
        self._settle()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._gathered:
            return
        batch, self._gathered = self._gathered, []
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "weft-recv")
        self._waiting.append(self._thread.submit(self._write, batch))

    def _settle(self, *, done_only: bool = False) -> None:
        """Look at what became of the transactions, oldest first."""
        while self._waiting and (self._waiting[0].done() or not done_only):
            error = self._waiting.popleft().exception()
            if isinstance(error, StoreError):
                self.problem = self.problem or error

    def _write(self, batch: list[Mapping[str, Any]]) -> None:
        def work(writer: FrameWriter) -> None:
            for event in batch:
                writer.append(Draft(RECV, dict(self._meta), dumps(event)))

        self._store.frames.write(work)
