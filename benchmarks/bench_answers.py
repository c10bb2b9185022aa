"""An answer coming in: how soon a token is shown after it arrived, and what a long stream takes of memory.

Both beside llm 0.36, each side a fresh process with its output in a pipe, asking a server on loopback that sends Chat
Completions chunks as OpenAI's does. Shown is when the text can be read from the pipe, after it was sent to the socket;
memory is the most a process ever held (its peak resident size), over what it holds for a short answer.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.bench_cli import KEY, installed
from benchmarks.harness import Options, Peer

SHOWN_MS = 10.0
GROWTH_MB = 16.0  # between a stream of 10 MB and one of 100 MB
SIZES_MB = (1, 10, 100)
PIECE = "tide"  # as long as tokens are
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def run(options: Options) -> bool:
    """Measure and print; True when the goals are met."""
    llm = Peer("llm", "0.36").python().with_name("llm")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "llm").mkdir()
        sides: tuple[Callable[[str], _Side], ...] = (lambda url: _weft(home, url), lambda url: _llm(llm, home, url))
        shown = [[_shown(side) for side in sides] for _ in range(options.repeats + 1)][1:]
        held = {size: [_peak(side, size) for side in sides] for size in SIZES_MB}
    print(f"\n{'':<44} {'weft':>10}   {'llm 0.36':>10}   goal")
    ours, theirs = (median(times[at] for times in shown) for at in (0, 1))
    met = ours < SHOWN_MS
    print(_line("a token, from its arrival to being shown", f"{ours:.1f} ms", f"{theirs:.1f} ms", "< 10 ms", met=met))
    for size, peaks in held.items():
        print(_line(f"peak memory, a stream of {size} MB", f"{peaks[0]:.0f} MB", f"{peaks[1]:.0f} MB", "", met=True))
    growth = [held[100][at] - held[10][at] for at in (0, 1)]
    flat = growth[0] < GROWTH_MB
    what = "growth from 10 MB to 100 MB"
    print(_line(what, f"{growth[0]:.0f} MB", f"{growth[1]:.0f} MB", f"< {GROWTH_MB:.0f} MB", met=flat))
    return met and flat


def _line(what: str, ours: str, theirs: str, goal: str, *, met: bool) -> str:
    return f"{what:<44} {ours:>10}   {theirs:>10}   {goal}{'' if met else '  MISSED'}"


@dataclass(frozen=True, slots=True)
class _Side:
    command: list[str]
    environ: dict[str, str]

    def start(self, stdout: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command, env=self.environ, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL
        )


def _weft(home: Path, url: str) -> _Side:
    environ = {"WEFT_HOME": str(home / "weft"), "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}
    return _Side([sys.executable, "-m", "weft.cli", "-m", "openai/mint-1", "When is high water?"], installed(environ))


def _llm(llm: Path, home: Path, url: str) -> _Side:
    models = f'- model_id: mint\n  model_name: mint-1\n  api_base: "{url}/v1"\n'
    (home / "llm" / "extra-openai-models.yaml").write_text(models)
    environ = {"LLM_USER_PATH": str(home / "llm"), "OPENAI_API_KEY": KEY}
    return _Side([str(llm), "-m", "mint", "When is high water?"], installed(environ))


# -- the two questions -----------------------------------------------------------------------------------------------


def _shown(side: Callable[[str], _Side]) -> float:
    """Give the ms from sending a token to reading it from the pipe; the connection has been quiet for a moment."""
    sent: list[float] = []

    def answer(connection: socket.socket) -> None:
        connection.sendall(HEAD + _chunk("So"))
        time.sleep(0.3)
        sent.append(time.perf_counter())
        connection.sendall(_chunk(" quick"))
        time.sleep(0.2)
        connection.sendall(_END)

    with _server(answer) as url:
        running = side(url).start(subprocess.PIPE)
        if running.stdout is None:
            raise RuntimeError("the process has no pipe")
        said, at = b"", 0.0
        while piece := os.read(running.stdout.fileno(), 65536):
            said += piece
            if b"quick" in said and not at:
                at = time.perf_counter()
        running.stdout.close()
        if running.wait() != 0 or not at:
            raise RuntimeError(f"{running.args!r} did not answer")
    return (at - sent[0]) * 1000


def _peak(side: Callable[[str], _Side], size_mb: int) -> float:
    """Give the most memory a process held, in MB, while a stream of so many MB came in."""
    one = _chunk(PIECE)
    block = one * (65536 // len(one))

    def answer(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        for _ in range(size_mb * 1_000_000 // len(block)):
            connection.sendall(block)
        connection.sendall(_END)

    with _server(answer) as url:
        running = side(url).start(subprocess.DEVNULL)
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = status
        if status != 0:
            raise RuntimeError(f"{running.args!r} did not answer")
    return used.ru_maxrss / 1024


# -- the far side ----------------------------------------------------------------------------------------------------


def _chunk(text: str | None, finish: str | None = None) -> bytes:
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mint-1", "choices": [choice]}
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


_END = _chunk(None, "stop") + b"data: [DONE]\n\n"


@contextmanager
def _server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Answer one question on loopback."""

    def serve() -> None:
        connection, _ = place.accept()
        with connection:
            _hear(connection)
            answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as place:
        place.settimeout(120)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{place.getsockname()[1]}"
        thread.join(10)


def _hear(connection: socket.socket) -> None:
    """Read a request to its end, so that closing does not cut the answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)


if __name__ == "__main__":
    run(Options())
