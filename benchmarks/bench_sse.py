"""Reading server-sent events: 2,000 events, bytes to parsed JSON, against `orjson.loads` of each data line alone.

The peer is the limit itself: the data lines cut out beforehand, and nothing done but parsing them. A ratio of 1 would
mean that framing costs nothing. Both sides run in one process and take turns.
"""

from __future__ import annotations

import json
import platform
import sys
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING

import orjson

from weft.wire.sse import SseParser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.harness import Options

__all__ = ["run"]

EVENTS = 2_000
# The network's usual gifts: all at once, a large read, a TCP segment or so, one event a time.
CHUNKS = {"whole": None, "64 KiB": 65_536, "4 KiB": 4096, "1 KiB": 1024, "one event": 0}
# At most this many times the limit when the bytes come in large reads. Small reads are shown, not judged: each has the
# price of its own call.
GOAL = {"openai": 1.75, "anthropic": 2.5}


def _openai() -> list[bytes]:
    return [
        b'data: {"id":"chatcmpl-9xTqZbC1","object":"chat.completion.chunk","created":1710000000,'
        b'"model":"gpt-4o-mini-2024-07-18","system_fingerprint":"fp_44132a4de3","choices":[{"index":0,'
        b'"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}]}\n\n' % number
        for number in range(EVENTS)
    ]


def _anthropic() -> list[bytes]:
    return [
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":" word%d"}}\n\n' % number
        for number in range(EVENTS)
    ]


def _cut(events: list[bytes], size_bytes: int | None) -> list[bytes]:
    stream = b"".join(events)
    if size_bytes == 0:
        return events
    step = size_bytes or len(stream)
    return [stream[at : at + step] for at in range(0, len(stream), step)]


def _limit(lines: Sequence[bytes]) -> None:
    loads = orjson.loads
    for line in lines:
        loads(line)


def _read(chunks: Sequence[bytes]) -> None:
    loads = orjson.loads
    parser = SseParser()
    for chunk in chunks:
        for event in parser.feed(chunk):
            loads(event.data)
    assert not parser.close()


def _frame(chunks: Sequence[bytes]) -> None:
    parser = SseParser()
    for chunk in chunks:
        parser.feed(chunk)


def _nanoseconds_per_event(work: Callable[[Sequence[bytes]], None], given: Sequence[bytes]) -> float:
    begin = perf_counter_ns()
    work(given)
    return (perf_counter_ns() - begin) / EVENTS


def _measure(events: list[bytes], size_bytes: int | None, repeats: int) -> tuple[float, float, float]:
    """Give the medians of the limit, of reading, and of framing alone."""
    chunks = _cut(events, size_bytes)
    lines = [event.data for chunk in _cut(events, None) for event in SseParser().feed(chunk)]
    assert len(lines) == EVENTS
    sides = ((_limit, lines), (_read, chunks), (_frame, chunks))
    times: list[list[float]] = [[], [], []]
    for _ in range(repeats):
        for side, (work, given) in zip(times, sides, strict=True):
            side.append(_nanoseconds_per_event(work, given))
    limit, reading, framing = map(median, times)
    return limit, reading, framing


def run(options: Options | None = None) -> bool:
    """Measure, print a JSON line and a table, and say whether the goals are met."""
    repeats = 10 * (options.repeats if options else 15)
    rows, met = [], True
    for dialect, events in (("openai", _openai()), ("anthropic", _anthropic())):
        for cut, size_bytes in CHUNKS.items():
            limit, reading, framing = _measure(events, size_bytes, repeats)
            row = {"dialect": dialect, "chunks": cut, "limit_ns": limit, "read_ns": reading, "framing_ns": framing}
            rows.append({**row, "ratio": reading / limit})
            met = met and (cut not in ("whole", "64 KiB") or reading / limit <= GOAL[dialect])
    rounded = [{k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    print(json.dumps({"benchmark": "sse", "python": platform.python_version(), "met": met, "rows": rounded}))
    print(f"\n{EVENTS} events, nanoseconds each; limit = orjson.loads of the data lines alone")
    print(f"{'stream':<11}{'chunks':<11}{'limit':>8}{'framing':>9}{'read':>8}{'ratio':>7}")
    for row in rounded:
        numbers = f"{row['limit_ns']:>8.0f}{row['framing_ns']:>9.0f}{row['read_ns']:>8.0f}{row['ratio']:>7.2f}"
        print(f"{row['dialect']:<11}{row['chunks']:<11}{numbers}")
    return met


if __name__ == "__main__":
    sys.exit(0 if run() else 1)
