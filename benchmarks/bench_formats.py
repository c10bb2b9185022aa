"""Converting transcripts, beside decoding the same JSON with orjson and doing nothing else: the limit itself.

Each side runs in a process of its own and is measured by its processor time, so that a busy machine slows down none of
them; the peak memory of the process is beside it. WEFT_BENCH_MB is the size of the files (64); the goals are for 1,000.
"""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Options

__all__ = ["run"]

MB = 1 << 20
GOAL = 0.5  # of the decoder's speed
MEMORY_GOAL_MB = 300
WORDS = ["".join(random.Random(n).choices("abcdefghijklmnopqrstuvwxyz", k=2 + n % 9)) for n in range(4000)]  # noqa: S311

DECODE = """
import json, orjson, resource, sys, time
begin = time.process_time()
if sys.argv[2] == "lines":
    with open(sys.argv[1], "rb", buffering=1 << 20) as file:
        for line in file:
            orjson.loads(line)
else:
    orjson.loads(open(sys.argv[1], "rb").read())
print(json.dumps([time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""
CONVERT = """
import json, resource, sys, time
from weft.formats import Source, convert, format_by_name, formats
list(formats())
begin = time.process_time()
with Source.open(sys.argv[1]) as source, open("/dev/null", "wb") as sink:
    convert(source, sink, format_by_name(sys.argv[2]))
print(json.dumps([time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def _text(chance: random.Random, size: int) -> str:
    return " ".join(chance.choices(WORDS, k=size // 6))


def _messages() -> Iterator[dict[str, Any]]:
    """Give what an agent's session is: short words, calls, and long results; 2.4 kB each on average."""
    chance = random.Random(7)  # noqa: S311 - the same every time
    short = [_text(chance, chance.choice((60, 200, 500, 900))) for _ in range(600)]
    long = [_text(chance, chance.choice((800, 2000, 6000, 12000))) for _ in range(300)]
    number = 0
    while True:
        yield {"role": "user", "content": chance.choice(short)}
        for _ in range(4):
            number += 1
            call = {
                "name": "bash",
                "arguments": json.dumps({"command": chance.choice(short)[:120]}),
                "id": f"call_{number}",
            }
            yield {"role": "assistant", "content": chance.choice(short), "tool_calls": [call]}
            yield {"role": "tool", "content": chance.choice(long), "call_id": f"call_{number}"}
        yield {"role": "assistant", "content": chance.choice(short)}


def _chats() -> Iterator[dict[str, Any]]:
    """Give conversations as ChatGPT exports them, 20 messages each in a tree."""
    said = _messages()
    number = 0
    while True:
        number += 1
        mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
        for at in range(20):
            role = "assistant" if at % 2 else "user"
            mapping[f"n{at}"] = {
                "id": f"n{at}",
                "parent": f"n{at - 1}" if at else "root",
                "children": [f"n{at + 1}"] if at < 19 else [],
                "message": {
                    "id": f"n{at}",
                    "author": {"role": role, "metadata": {}},
                    "create_time": 1.7e9 + at,
                    "content": {"content_type": "text", "parts": [next(said)["content"]]},
                    "status": "finished_successfully",
                    "weight": 1.0,
                    "metadata": {"model_slug": "gpt-4o"},
                    "recipient": "all",
                },
            }
        yield {
            "title": f"Chat {number}",
            "create_time": 1.7e9,
            "mapping": mapping,
            "current_node": "n19",
            "id": f"c{number}",
        }


def _fill(
    path: Path, size_mb: int, values: Iterator[dict[str, Any]], before: bytes, between: bytes, after: bytes
) -> None:
    with path.open("wb", buffering=MB) as file:
        written = file.write(before)
        separator = b""
        while written < size_mb * MB:
            written += file.write(separator + orjson.dumps(next(values)))
            separator = between
        file.write(after)


def _measured(program: str, *args: str) -> tuple[float, float]:
    ran = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, check=True, text=True)
    seconds, peak_mb = json.loads(ran.stdout)
    return seconds, peak_mb


def run(options: Options | None = None) -> bool:
    """Measure and print; True when the goals are met."""
    size = int(os.environ.get("WEFT_BENCH_MB", "64"))
    repeats = max(1, min(options.repeats if options else 3, 3))
    print(f"formats: {size} MB, Python {platform.python_version()}, {repeats} runs each")
    met = True
    with tempfile.TemporaryDirectory() as folder:
        lines, array, chats = (Path(folder) / name for name in ("t.ndjson", "t.json", "conversations.json"))
        _fill(lines, size, _messages(), b"", b"\n", b"\n")
        _fill(array, size, _messages(), b"[", b",", b"]")
        _fill(chats, size, _chats(), b"[", b",", b"]")
        for path, kind, to, goal in (
            (lines, "lines", "json", GOAL),
            (lines, "lines", "ndjson", GOAL),
            (array, "array", "ndjson", GOAL),
            (lines, "lines", "stf", None),
            (lines, "lines", "weft", None),
            (lines, "lines", "markdown", None),
            (chats, "array", "weft", None),
        ):
            limits, times, peaks = [], [], []
            for _ in range(repeats):
                limits.append(_measured(DECODE, str(path), kind)[0])
                seconds, peak = _measured(CONVERT, str(path), to)
                times.append(seconds)
                peaks.append(peak)
            ratio = median(limits) / median(times)
            good = (goal is None or ratio >= goal) and max(peaks) < MEMORY_GOAL_MB
            met = met and good
            wanted = f" (goal {goal:.2f})" if goal else ""
            print(
                f"  {path.name:>18} to {to:<9} {size / median(times):7.0f} MB/s  {ratio:5.2f} of decoding{wanted}"
                f"  peak {max(peaks):4.0f} MB{'' if good else '  MISSED'}"
            )
    return met
