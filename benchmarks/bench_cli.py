"""Starting: `--version`, and the first byte of a question on the wire, over bare Python and beside llm 0.36.

Each measurement is a fresh process, as a person starts it; sides take turns, bare Python among them. All have their
modules compiled, as what is installed has. The question is asked from a store of 100,000 turns. What is waited for is
the first byte that arrives at a socket on loopback. Beside the time on the clock stands that of the processor: on a
machine with other work they differ.
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
from typing import NamedTuple

import weft
from benchmarks.harness import PEERS, Options, Peer

VERSION_MS, FIRST_BYTE_MS = 80.0, 250.0
TURNS = 100_000
COMPILED = PEERS / "compiled"
KEY = "sk-any-0123456789"


def run(options: Options) -> bool:
    """Measure and print; True when the goals are met."""
    llm = Peer("llm", "0.36").python().with_name("llm")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        _fill(home / "weft", TURNS)
        (home / "llm").mkdir()
        ours = [sys.executable, "-m", "weft.cli"]
        version = _beside(
            lambda: _whole([*ours, "--version"]), lambda: _whole([str(llm), "--version"]), options.repeats
        )
        asked = _beside(lambda: _weft(ours, home), lambda: _llm(llm, home), options.repeats)
    print(f"\nover bare Python (processor alone){'':<10} {'weft':>16}   {'llm 0.36':>16}   goal")
    met = _line("--version", version, VERSION_MS)
    return _line(f"a question's first byte, of {TURNS:,} turns", asked, FIRST_BYTE_MS) and met


class _Took(NamedTuple):
    """What a start took, in ms: on the clock, and of a processor."""

    clock: float
    processor: float


def _line(what: str, times: tuple[_Took, _Took], goal: float) -> bool:
    met = times[0].clock < goal
    ours, theirs = (f"{time.clock:.0f} ({time.processor:.0f}) ms" for time in times)
    print(f"{what:<44} {ours:>16}   {theirs:>16}   < {goal:.0f} ms{'' if met else '  MISSED'}")
    return met


def _beside(ours: Callable[[], _Took], theirs: Callable[[], _Took], repeats: int) -> tuple[_Took, _Took]:
    """Give both sides' medians over bare Python; all three take turns, so that a slow moment slows down all."""
    rounds = [(_whole([sys.executable, "-c", "pass"]), ours(), theirs()) for _ in range(repeats + 2)]
    rounds = rounds[2:]  # the first ones compile modules and fill the disk's cache
    one, other = (
        _Took(*(median(each[side][what] - each[0][what] for each in rounds) for what in (0, 1))) for side in (1, 2)
    )
    return one, other


def installed(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the environment of an installed program: its modules are compiled once and kept."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, "PYTHONPYCACHEPREFIX": str(COMPILED), **(more or {})}


def _whole(command: Sequence[str]) -> _Took:
    began = perf_counter()
    running = subprocess.Popen(command, env=installed(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    processor = _ended(running)
    if running.returncode != 0:
        raise RuntimeError(f"{command!r} failed")
    return _Took((perf_counter() - began) * 1000, processor)


def _ended(running: subprocess.Popen[bytes]) -> float:
    """Wait for a process; give the ms of a processor it used."""
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    return (used.ru_utime + used.ru_stime) * 1000


def _weft(command: Sequence[str], home: Path) -> _Took:
    def line(url: str) -> tuple[list[str], dict[str, str]]:
        environ = {"WEFT_HOME": str(home / "weft"), "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}
        return [*command, "-m", "openai/mint-1", "-c", "tides", "When is high water?"], environ

    return _first_byte(line)


def _llm(llm: Path, home: Path) -> _Took:
    def line(url: str) -> tuple[list[str], dict[str, str]]:
        models = f'- model_id: mint\n  model_name: mint-1\n  api_base: "{url}/v1"\n'
        (home / "llm" / "extra-openai-models.yaml").write_text(models)
        return [str(llm), "-m", "mint", "When is high water?"], {
            "LLM_USER_PATH": str(home / "llm"),
            "OPENAI_API_KEY": KEY,
        }

    return _first_byte(line)


def _first_byte(line: Callable[[str], tuple[list[str], dict[str, str]]]) -> _Took:
    with socket.create_server(("127.0.0.1", 0)) as place:
        place.settimeout(60)
        command, environ = line(f"http://127.0.0.1:{place.getsockname()[1]}")
        began = perf_counter()
        running = subprocess.Popen(
            command,
            env=installed(environ),
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
            processor = _ended(running)
    return _Took(took * 1000, processor)


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
