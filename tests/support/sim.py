"""A simulator for tests that are not async: the real server on loopback, its loop in a thread beside the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from weft.sim import Script, Simulator

__all__ = ["running", "running_simulator"]

_S = TypeVar("_S", bound=Simulator)


@contextmanager
def running_simulator(script: dict[str, Any] | Script | None = None) -> Iterator[Simulator]:
    """Run a simulator until the test is done with it. `script` may be plain data, as a file would hold it."""
    with running(Simulator(script if isinstance(script, Script) else Script.read(script or {}))) as simulator:
        yield simulator


@contextmanager
def running(simulator: _S) -> Iterator[_S]:
    """Run any simulator until the test is done with it."""
    started = threading.Event()
    loop = asyncio.new_event_loop()
    ended: asyncio.Event = asyncio.Event()

    async def run() -> None:
        async with simulator:
            started.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    assert started.wait(10), "the simulator did not start"
    try:
        yield simulator
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)
        loop.close()
