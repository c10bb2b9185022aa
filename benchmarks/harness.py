"""How weft is measured: beside a peer, alternating with it, each in an interpreter of its own.

A workload is a file of plain functions that runs on either side (`benchmarks/workloads/`). Each side is one worker
process that loads it and times what it is told to; the harness asks one side, then the other, and swaps who is first
at every repeat, so that a machine that slows down slows down both. Peers come from PyPI into an environment of their
own under benchmarks/.peers, never into the project's.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

__all__ = ["HERE", "PEERS", "Case", "Options", "Peer", "Result", "compare", "report"]

HERE = Path(__file__).resolve().parent
PEERS = HERE / ".peers"
SLICE_SECONDS = 0.05  # one measurement lasts about this long: far above the clock's grain, short enough to alternate


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line chose."""

    repeats: int = 15


@dataclass(frozen=True, slots=True)
class Case:
    """One function of a workload, and how many times faster than the peer weft wants to be at it."""

    function: str
    what: str
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """A distribution on PyPI, pinned, in an environment of its own."""

    name: str
    version: str

    def python(self) -> Path:
        """Return the peer's interpreter, installing it the first time."""
        home = PEERS / f"{self.name}-{self.version}-py{sys.version_info.major}.{sys.version_info.minor}"
        python = home / "bin" / "python"
        if not (home / ".complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            uv = _uv()
            requirement = f"{self.name}=={self.version}"
            subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
            subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), requirement], check=True)
            (home / ".complete").touch()
        return python


@dataclass(frozen=True, slots=True)
class Result:
    """One case measured on both sides; times are medians, in microseconds a call."""

    benchmark: str
    case: Case
    peer: Peer
    weft_us: float
    peer_us: float
    ratio: float
    repeats: int

    @property
    def met(self) -> bool:
        return self.case.goal is None or self.ratio >= self.case.goal

    def as_json(self) -> str:
        """Return the result as one line for machines."""
        return json.dumps(
            {
                "benchmark": self.benchmark,
                "case": self.case.function,
                "weft_us": round(self.weft_us, 2),
                "peer": f"{self.peer.name} {self.peer.version}",
                "peer_us": round(self.peer_us, 2),
                "ratio": round(self.ratio, 2),
                "goal": self.case.goal,
                "met": self.met,
                "repeats": self.repeats,
                "python": platform.python_version(),
            }
        )


class Worker:
    """One side: a process that has loaded the workload and times its functions on request."""

    def __init__(self, python: Path, workload: str, library: str) -> None:
        command = [str(python), "-I", str(HERE / "worker.py"), str(HERE / "workloads" / f"{workload}.py"), library]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def time(self, function: str, loops: int) -> float:
        """Return the seconds one call took, averaged over `loops` calls."""
        return float(self._ask({"do": "time", "function": function, "loops": loops}))

    def answer(self, function: str) -> str:
        """Return what the function returns, as text: both sides must give the same."""
        return self._ask({"do": "answer", "function": function})

    def _ask(self, question: dict[str, object]) -> str:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the worker has no pipes")
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker for {self._process.args!r} died; its error is above")
        return str(json.loads(line))


def compare(
    benchmark: str, cases: Sequence[Case], *, peer: Peer, workload: str, check: str | None, options: Options
) -> list[Result]:
    """Measure every case on both sides, after making sure with `check` that both do the same work."""
    with (
        Worker(Path(sys.executable), workload, "weft") as ours,
        Worker(peer.python(), workload, peer.name.replace("-", "_")) as theirs,
    ):
        if check is not None and ours.answer(check) != theirs.answer(check):
            raise RuntimeError(f"{benchmark}: weft and {peer.name} do not give the same answer to {check}()")
        return [_measure(benchmark, case, peer, ours, theirs, options) for case in cases]


def _measure(benchmark: str, case: Case, peer: Peer, ours: Worker, theirs: Worker, options: Options) -> Result:
    loops = {side: _loops(side, case.function) for side in (ours, theirs)}
    times: dict[Worker, list[float]] = {ours: [], theirs: []}
    for repeat in range(options.repeats):
        for side in (ours, theirs) if repeat % 2 else (theirs, ours):
            times[side].append(side.time(case.function, loops[side]))
    ratio = median(their / our for our, their in zip(times[ours], times[theirs], strict=True))
    micro = 1e6
    return Result(
        benchmark, case, peer, median(times[ours]) * micro, median(times[theirs]) * micro, ratio, options.repeats
    )


def _loops(side: Worker, function: str) -> int:
    loops = 1
    while True:  # also warms the side up
        seconds = side.time(function, loops) * loops
        if seconds >= SLICE_SECONDS / 2:
            return max(1, round(loops * SLICE_SECONDS / seconds))
        loops *= 4


def report(results: Sequence[Result]) -> bool:
    """Print each result as a JSON line, then a table; True when every goal is met."""
    for result in results:
        print(result.as_json())
    peer = results[0].peer
    print(f"\n{'':<44} {'weft':>10}   {peer.name + ' ' + peer.version:>14}   {'ratio':>7}   goal")
    for result in results:
        goal = "" if result.case.goal is None else f">= {result.case.goal:g}x" + ("" if result.met else "  MISSED")
        times = f"{result.weft_us:>7.0f} us   {result.peer_us:>11.0f} us   {result.ratio:>6.2f}x"
        print(f"{result.case.what:<44} {times}   {goal}".rstrip())
    print()
    return all(result.met for result in results)


def _uv() -> str:
    local = HERE.parent / ".tools" / "bin" / "uv"
    found = str(local) if local.exists() else shutil.which("uv")
    if found is None:
        raise RuntimeError("uv not found: run `make setup` first")
    return found
