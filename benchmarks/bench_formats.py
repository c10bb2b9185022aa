"""Converting transcripts, beside decoding the same JSON with orjson and doing nothing else: the limit itself.

Each side runs in a process of its own, with the same modules loaded, and is measured by its processor time, so that a
busy machine slows down none of them; the peak memory of the process is beside it. WEFT_BENCH_MB is the size of the
files (64); the goals are for 1,000. One chat of an export is 16 MB at most: a long one, and it is held as a whole.
"""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import uuid
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
CHAT_MB = 16
WORDS = ["".join(random.Random(n).choices("abcdefghijklmnopqrstuvwxyz", k=2 + n % 9)) for n in range(4000)]

DECODE = """
import json, orjson, resource, sys, time
from weft.formats import formats
list(formats())  # the same heap as the other side: in a bare one, glibc gives memory back after each line
begin = time.process_time()
if sys.argv[2] == "lines":
    with open(sys.argv[1], "rb", buffering=1 << 20) as file:
        for line in file:
            orjson.loads(line)
else:
    orjson.loads(open(sys.argv[1], "rb").read())
"""
CONVERT = """
import json, resource, sys, time
from weft.formats import Source, convert, format_by_name, formats
list(formats())
begin = time.process_time()
with Source.open(sys.argv[1]) as source, open("/dev/null", "wb") as sink:
    convert(source, sink, format_by_name(sys.argv[2]))
"""


END = """
seconds = time.process_time() - begin
try:
    peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
except OSError:  # not Linux; there, rusage would count what the parent had
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([seconds, peak / 1024]))
"""


def _text(chance: random.Random, size: int) -> str:
    return " ".join(chance.choices(WORDS, k=size // 6))


def _messages() -> Iterator[dict[str, Any]]:
    """Give what an agent's session is: short words, calls, and long results; 2.4 kB each on average."""
    chance = random.Random(7)
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


def _session() -> Iterator[dict[str, Any]]:
    """Give the lines of a session of Claude Code: a block each, results twice, and much about them."""
    chance = random.Random(7)
    said = _messages()
    last = None
    common: dict[str, Any] = {
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/harbour",
        "version": "2.0.14",
    }
    common |= {"sessionId": str(uuid.UUID(int=7, version=4)), "gitBranch": "main"}

    def line(kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        nonlocal last
        name = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        time = f"2026-03-01T09:{chance.randrange(60):02}:{chance.randrange(60):02}.000Z"
        made = {"parentUuid": last, **common, "type": kind, "message": message, "uuid": name, "timestamp": time, **more}
        last = name
        return made

    def answer(name: str, block: dict[str, Any]) -> dict[str, Any]:
        usage: dict[str, Any] = {
            "input_tokens": 4,
            "cache_creation_input_tokens": 120,
            "cache_read_input_tokens": 21000,
        }
        usage |= {"output_tokens": 90, "service_tier": "standard"}
        around = {"model": "claude-sonnet-4-5", "id": f"msg_{name}", "type": "message", "role": "assistant"}
        ended = {"content": [block], "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}
        return line("assistant", {**around, **ended}, requestId=f"req_{name}")

    for message in said:
        name = "".join(chance.choices("abcdefghijkmnopqrstuvwxyz", k=24))
        if message["role"] == "user":
            yield line("user", message)
        elif message["role"] == "assistant":
            yield answer(name, {"type": "text", "text": message["content"]})
            for call in message.get("tool_calls", ()):
                block = {"type": "tool_use", "id": call["id"], "name": "Bash", "input": json.loads(call["arguments"])}
                yield answer(name, block)
        else:
            result = {"tool_use_id": message["call_id"], "type": "tool_result", "content": message["content"]}
            shown = {"stdout": message["content"], "stderr": "", "interrupted": False, "isImage": False}
            yield line("user", {"role": "user", "content": [result]}, toolUseResult=shown)


def _chats(size: int = 20) -> Iterator[dict[str, Any]]:
    """Give conversations as ChatGPT exports them, a tree of messages each."""
    said = _messages()
    number = 0
    while True:
        number += 1
        mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
        for at in range(size):
            role = "assistant" if at % 2 else "user"
            mapping[f"n{at}"] = {
                "id": f"n{at}",
                "parent": f"n{at - 1}" if at else "root",
                "children": [f"n{at + 1}"] if at < size - 1 else [],
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
            "current_node": f"n{size - 1}",
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
    ran = subprocess.run([sys.executable, "-c", program + END, *args], capture_output=True, check=True, text=True)
    seconds, peak_mb = json.loads(ran.stdout)
    return seconds, peak_mb


def run(options: Options | None = None) -> bool:
    """Measure and print; True when the goals are met."""
    size = int(os.environ.get("WEFT_BENCH_MB", "64"))
    repeats = max(1, min(options.repeats if options else 3, 3))
    print(f"formats: {size} MB, Python {platform.python_version()}, {repeats} runs each")
    met = True
    with tempfile.TemporaryDirectory() as folder:
        names = ("t.ndjson", "t.json", "conversations.json", "chat.json", "session.jsonl")
        lines, array, chats, chat, session = (Path(folder) / name for name in names)
        _fill(lines, size, _messages(), b"", b"\n", b"\n")
        _fill(array, size, _messages(), b"[", b",", b"]")
        _fill(chats, size, _chats(), b"[", b",", b"]")
        # One conversation, for a file of messages holds one.
        chat.write_bytes(b"[" + orjson.dumps(next(_chats(min(size, CHAT_MB) * 400))) + b"]")
        _fill(session, size, _session(), b"", b"\n", b"\n")
        for path, kind, to in (
            (lines, "lines", "json"),
            (lines, "lines", "ndjson"),
            (array, "array", "ndjson"),
            (lines, "lines", "stf"),
            (lines, "lines", "weft"),
            (lines, "lines", "markdown"),
            (chats, "array", "weft"),
            (chat, "array", "ndjson"),
            (session, "lines", "ndjson"),
            (session, "lines", "weft"),
            (session, "lines", "codex"),
            (session, "lines", "claude-code"),
        ):
            limits, times, peaks = [], [], []
            for _ in range(repeats):
                limits.append(_measured(DECODE, str(path), kind)[0])
                seconds, peak = _measured(CONVERT, str(path), to)
                times.append(seconds)
                peaks.append(peak)
            ratio = median(limits) / median(times)
            good = ratio >= GOAL and max(peaks) < MEMORY_GOAL_MB
            met = met and good
            speed = path.stat().st_size / MB / median(times)
            print(
                f"  {path.name:>18} to {to:<9} {speed:7.0f} MB/s  {ratio:5.2f} of decoding (goal {GOAL:.2f})"
                f"  peak {max(peaks):4.0f} MB (goal {MEMORY_GOAL_MB}){'' if good else '  MISSED'}"
            )
    return met
