"""Starting: `--version`, and the first byte of a question on the wire, over bare Python and beside llm 0.36.

Each measurement is a fresh process, as a person starts it; sides take turns. The question is asked from a store of
100,000 turns. What is waited for is the first byte that arrives at a socket on loopback.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import weft
from benchmarks.harness import Options, Peer

VERSION_MS, FIRST_BYTE_MS = 80.0, 250.0
TURNS = 100_000
KEY = "sk-any-0123456789"


def run(options: Options) -> bool:
    """Measure and print; True when the goals are met."""
    llm = Peer("llm", "0.36").python().with_name("llm")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        _fill(home / "weft", TURNS)
        (home / "llm").mkdir()
        ours = [sys.executable, "-m", "weft.cli"]
        bare = _times(lambda: _whole([sys.executable, "-c", "pass"], {}), options.repeats)
        version = _beside(
            lambda: _whole([*ours, "--version"], {}), lambda: _whole([str(llm), "--version"], {}), options.repeats
        )
        asked = _beside(lambda: _weft(ours, home), lambda: _llm(llm, home), options.repeats)
    print(f"\nbare Python starts in {bare:.0f} ms\n\n{'':<44} {'weft':>10}   {'llm 0.36':>10}   goal, over bare Python")
    met = _line("--version", version, bare, VERSION_MS)
    return _line(f"a question's first byte, of {TURNS:,} turns", asked, bare, FIRST_BYTE_MS) and met


def _line(what: str, times: tuple[float, float], bare: float, goal: float) -> bool:
    met = times[0] - bare < goal
    print(f"{what:<44} {times[0]:>7.0f} ms   {times[1]:>7.0f} ms   < {goal:.0f} ms{'' if met else '  MISSED'}")
    return met


def _beside(ours: Callable[[], float], theirs: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Give both sides' medians in ms; they take turns, so that a machine that slows down slows down both."""
    both = [(ours(), theirs()) for _ in range(repeats + 1)][1:]  # the first fills the disk's cache
    return median(one for one, _ in both), median(other for _, other in both)


def _times(measure: Callable[[], float], repeats: int) -> float:
    return median(measure() for _ in range(repeats))


def _whole(command: Sequence[str], environ: Mapping[str, str]) -> float:
    began = perf_counter()
    subprocess.run(
        command, env={**os.environ, **environ}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True
    )
    return (perf_counter() - began) * 1000


def _weft(command: Sequence[str], home: Path) -> float:
    def line(url: str) -> tuple[list[str], dict[str, str]]:
        environ = {"WEFT_HOME": str(home / "weft"), "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}
        return [*command, "-m", "openai/mint-1", "-c", "tides", "When is high water?"], environ

    return _first_byte(line)


def _llm(llm: Path, home: Path) -> float:
    def line(url: str) -> tuple[list[str], dict[str, str]]:
        models = f'- model_id: mint\n  model_name: mint-1\n  api_base: "{url}/v1"\n'
        (home / "llm" / "extra-openai-models.yaml").write_text(models)
        return [str(llm), "-m", "mint", "When is high water?"], {
            "LLM_USER_PATH": str(home / "llm"),
            "OPENAI_API_KEY": KEY,
        }

    return _first_byte(line)


def _first_byte(line: Callable[[str], tuple[list[str], dict[str, str]]]) -> float:
    with socket.create_server(("127.0.0.1", 0)) as place:
        place.settimeout(60)
        command, environ = line(f"http://127.0.0.1:{place.getsockname()[1]}")
        began = perf_counter()
        running = subprocess.Popen(
            command,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            connection, _ = place.accept()
            connection.recv(1)
            took = perf_counter() - began
            connection.close()
        finally:
            running.kill()
            running.wait()
    return took * 1000


def _fill(folder: Path, turns: int) -> None:
    """Keep so many turns, in threads of a thousand."""
    with weft.open_store(folder) as store:
        for start in range(0, turns, 1000):
            store.import_messages(
                [{"role": "user", "content": f"{start + n}: when is high water?"} for n in range(1000)]
            )
        store.add_turn("Hello.", bookmark="tides")


if __name__ == "__main__":
    run(Options())
