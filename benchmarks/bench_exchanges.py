"""Recorded exchanges in a store: what a session costs on disk, and keeping, reading, cooking and importing it.

Beside `orjson.loads` of every line of the same trace, the least a reader can do. `python -m benchmarks.bench_exchanges
TRACE` measures a trace of your own; without one, an agent's session is made up.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import orjson

from benchmarks.harness import Options
from tests.support.agents import agent_trace, as_lines
from weft.store import Exchanges, open_frames
from weft.threads import open_store
from weft.trace import find_recording, import_exchanges, keep_lines, records_of

DISK = 1.3  # times the distinct content
REQUESTS = 300


def run(options: Options, trace: Path | None = None) -> bool:
    """Measure and print; True when the goals are met."""
    lines = as_lines(agent_trace(REQUESTS, text_bytes=1500)) if trace is None else trace.read_bytes().splitlines()
    repeats = max(3, options.repeats // 5)
    base = _timed(lambda: [orjson.loads(line) for line in lines], repeats)
    folder = Path(tempfile.mkdtemp())
    try:
        return _measured(lines, folder, base, repeats)
    finally:
        shutil.rmtree(folder)


def _measured(lines: list[bytes], folder: Path, base: float, repeats: int) -> bool:
    empty = _disk(folder / "empty", [])
    times = [_timed(lambda n=n: _keep(folder / f"s{n}", lines), 1) for n in range(repeats)]  # type: ignore[misc]
    disk = _disk(folder / "disk", lines) - empty
    distinct = _distinct(lines)
    frames = open_frames(folder / "s0")
    store = open_store(folder / "s0")
    session = Exchanges(frames).sessions()[0].id
    read = _timed(lambda: sum(1 for _ in records_of(Exchanges(frames))), repeats)
    cooked = _timed(lambda: find_recording(store, session).refresh(), repeats)
    recording = find_recording(store, session)
    recording.refresh()
    recording.cooked()
    last = json.loads(lines[-1])
    new = [orjson.dumps({**last, "id": f"new-{n}"}) for n in range(repeats)]
    one = []
    for line in new:
        keep_lines(frames, [line], {}, session_id=session)
        one.append(_timed(lambda: (recording.refresh(), recording.cooked()), 1))
    records = [orjson.loads(line) for line in lines]
    imported = _timed(lambda: import_exchanges(store.frames, records, now_ms=1), 1)
    again = _timed(lambda: import_exchanges(store.frames, records, now_ms=1), 1)
    print(f"{len(lines)} requests, {sum(map(len, lines)):,} bytes; distinct content {distinct:,}, on disk {disk:,}")
    print(f"disk beside distinct content: {disk / distinct:.2f}x (goal {DISK}x)")
    for what, seconds in (
        ("keep, durable", median(times)),
        ("read back, byte for byte", read),
        ("cook from the store", cooked),
        ("import as turns", imported),
        ("import again", again),
    ):
        print(f"{what}: {seconds / base:.2f}x orjson.loads of every line")
    print(f"one more request, cooked: {median(one) / cooked:.4f} of cooking all")
    store.close()
    frames.close()
    return disk / distinct <= DISK


def _keep(folder: Path, lines: list[bytes]) -> None:
    frames = open_frames(folder)
    keep_lines(frames, lines, {"kind": "import"})
    frames.close()


def _disk(folder: Path, lines: list[bytes]) -> int:
    _keep(folder, lines)
    frames = open_frames(folder)
    frames.scrub()
    size = frames.stats().disk_bytes
    frames.close()
    return size


def _distinct(lines: list[bytes]) -> int:
    """Count the bytes of distinct messages, tools, system texts and responses."""
    seen: set[bytes] = set()
    for line in lines:
        record: dict[str, Any] = orjson.loads(line)
        for key in ("messages", "contents", "input", "tools", "system"):
            value = record["request"].get(key)
            seen.update(orjson.dumps(item) for item in (value if isinstance(value, list) else ()))
        seen.add(orjson.dumps(record["response"]))
    return sum(map(len, seen))


def _timed(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return median(times)


if __name__ == "__main__":
    sys.exit(0 if run(Options(), Path(sys.argv[1]) if len(sys.argv) > 1 else None) else 1)
