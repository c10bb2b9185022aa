"""Writing down what comes in: many events to a transaction, and never more in memory than a few of those."""

from __future__ import annotations

import asyncio
import threading
import time

import weft
from tests.support.stores import sqlite_store
from weft.chat.record import AHEAD, MOST, Recorder, append_frame
from weft.store import FrameWriter

__all__ = ["sqlite_store"]


def test_a_slow_disk_makes_the_sender_wait_instead_of_filling_memory(sqlite_store: weft.Store) -> None:
    """Issue 5: memory flat over a long stream, also where the store is held by another for a while."""
    question = sqlite_store.add_turn("Hm?")
    call_id = append_frame(sqlite_store, "gpt.call", {"continues": question.id})
    held, seen = threading.Event(), []

    def hold(_writer: FrameWriter) -> None:
        held.set()
        time.sleep(0.4)

    async def hear() -> Recorder:
        recorder = Recorder(sqlite_store, call_id, lambda event: seen.append(event["content"]))
        for number in range(AHEAD * MOST + 3 * MOST):
            recorder.add({"type": "text", "content": f"{number} "})
            if recorder.is_behind:
                waits.append(len(recorder._waiting))
                await recorder.catch_up()
        recorder.close()
        return recorder

    waits: list[int] = []
    other = threading.Thread(target=lambda: sqlite_store.frames.write(hold))
    other.start()
    held.wait(10)
    recorder = asyncio.run(hear())
    other.join()

    assert recorder.problem is None
    assert waits
    assert max(waits) == AHEAD
    kept = sqlite_store.frames.frames_of("gpt.recv")
    assert len(kept) == len(seen) == AHEAD * MOST + 3 * MOST
