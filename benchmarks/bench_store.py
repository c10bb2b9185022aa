"""Keeping turns: appending beside bare inserts and beside llm 0.36, resolving, and first pages of a big store.

SQLite first, then PostgreSQL on a temporary cluster of its own, if its server programs are installed.
`python -m benchmarks.bench_store --full` asks stores of 1,000,000 turns (100,000 without it).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import weft
from benchmarks.harness import Case, Options, Peer, compare, report
from benchmarks.workloads.store import FOLDER, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.harness import Result

BARE = [
    Case("append", "append one turn, durable", goal=0.8),
    Case("append_at_once", "the same, beside begin, insert, commit in one"),
    Case("resolve_1000", "resolve a thread of 1,000 turns", goal=1 / 3),
    Case("resolve_10000", "resolve a thread of 10,000 turns"),
]
LLM = [Case("append", "append one turn, durable", goal=3)]
PAGE_MS = 50.0


@dataclass(frozen=True, slots=True)
class Bare(Peer):
    """A module of this very Python: sqlite3 or psycopg."""

    def python(self) -> Path:
        """Return the interpreter that runs this."""
        return Path(sys.executable)


def run(options: Options, *, turns: int = 100_000) -> bool:
    """Measure and print; True when the goals are met."""
    import sqlite3  # noqa: PLC0415

    bare = Bare("sqlite3", sqlite3.sqlite_version)
    beside_bare = compare("store", BARE, peer=bare, workload="store", check="same_answer", options=options)
    met = report(beside_bare)
    met &= report(compare("store", LLM, peer=Peer("llm", "0.36"), workload="store", check=None, options=options))
    _tidy()
    met &= _growth(beside_bare)
    folder = Path(tempfile.mkdtemp(dir=FOLDER))
    try:
        _fill(folder / "store", turns)
        met &= _disk() & _pages(folder / "store", f"{turns:,} turns")
    finally:
        shutil.rmtree(folder)
    return run_postgres(options, turns=turns) & met


def run_postgres(options: Options, *, turns: int = 100_000) -> bool:
    """Measure the same on a real PostgreSQL server, started for this with fsync on; True when the goals are met."""
    from tests.support.components import COMPONENTS  # noqa: PLC0415

    programs = COMPONENTS["postgres"].find()
    if programs is None:
        print(f"PostgreSQL is not measured: its server is not found; {COMPONENTS['postgres'].advice}")
        return True
    import psycopg  # noqa: PLC0415

    from tests.support.postgres import PostgresCluster  # noqa: PLC0415

    cluster = PostgresCluster(programs)
    try:
        cluster.start()
        with psycopg.connect(cluster.url()) as connection:
            version = connection.info.server_version // 10_000
        print(f"PostgreSQL {version}")
        urls = [cluster.url(cluster.create_database()) for _ in range(3)]
        os.environ.update(WEFT_BENCH_POSTGRES=urls[0], WEFT_BENCH_BARE=urls[1])
        bare = Bare("psycopg", psycopg.__version__)
        results = compare(
            "store on PostgreSQL", BARE, peer=bare, workload="store", check="same_answer", options=options
        )
        met = report(results) & _growth(results)
        _fill(urls[2], turns)
        met &= _pages(urls[2], f"{turns:,} turns, just loaded")
        with psycopg.connect(urls[2], autocommit=True) as connection:
            connection.execute("ANALYZE")  # what the server does by itself within a minute or so
        return _pages(urls[2], f"{turns:,} turns, analysed") & met
    finally:
        for name in ("WEFT_BENCH_POSTGRES", "WEFT_BENCH_BARE"):
            os.environ.pop(name, None)
        cluster.remove()
        _tidy()


def _tidy() -> None:
    """Remove what the workers left; they are ended by a signal and cannot do it themselves."""
    for left in FOLDER.iterdir():
        if left.name.startswith(("weft-", "sqlite3-", "psycopg-", "llm-")):
            shutil.rmtree(left)


def _growth(results: Sequence[Result]) -> bool:
    by_name = {result.case.function: result for result in results}
    cost = by_name["resolve_10000"].weft_us / by_name["resolve_1000"].weft_us
    return _line("10,000 turns cost of 1,000", cost, 11, "x")


def _disk() -> bool:
    """Store 1,000 requests that each resend their whole history, with messages of two kinds."""
    luck = random.Random(3)
    line = " ".join(texts(400, 3))
    agents = []
    for n in range(1000):
        start, size = luck.randrange(len(line) // 2), int(300 * 40 ** luck.random())
        agents.append(f"{n} {line[start : start + size]}")
    alike = [f"{n} {text}" for n, text in enumerate(texts(1000, 3))]
    met = _line("disk, messages of 0.3 to 12 kB as a coding agent's", _disk_of(agents), 1.3, "x")
    return _line("disk, messages of about 1 kB all", _disk_of(alike), 1.3, "x") & met


def _disk_of(said: Sequence[str]) -> float:
    folder = Path(tempfile.mkdtemp(dir=FOLDER))
    try:
        messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(said)]
        with weft.open_store(folder / "store") as store:
            for count in range(1, len(messages) + 1):
                store.import_messages(messages[:count])
            store.search("word")
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return size / sum(len(json.dumps(message)) for message in messages)
    finally:
        shutil.rmtree(folder)


def _fill(place: str | Path, turns: int) -> None:
    said = texts(5000, 5)
    with weft.open_store(place) as store:
        for start in range(0, turns, 5_000):
            store.import_messages(
                [{"role": "user", "content": f"{start + n} {said[n][:200]}"} for n in range(min(5_000, turns - start))]
            )
        store.add_turn("named", bookmark="named")
        store.search("catch up")


def _pages(place: str | Path, among: str) -> bool:
    """Ask a large store for its first pages."""
    word = texts(5000, 5)[0].split()[0]
    with weft.open_store(place) as store:
        questions: dict[str, Callable[[], Any]] = {
            "headish": lambda: store.find("named"),
            "log": lambda: store.log(limit=50),
            "threads": lambda: store.threads(limit=50),
            "search, common word": lambda: store.search(word),
            "search, one turn": lambda: store.search("4321"),
            "search, filtered": lambda: store.search(word, role="user"),
        }
        met = True
        for name, ask in questions.items():
            met &= _line(f"{name} among {among}", _median_ms(ask), PAGE_MS, " ms")
        return met


def _median_ms(ask: Callable[[], Any]) -> float:
    times = []
    for _ in range(7):
        begun = perf_counter()
        ask()
        times.append((perf_counter() - begun) * 1000)
    return median(times)


def _line(what: str, value: float, most: float, unit: str) -> bool:
    met = value <= most
    print(f"{what:<52} {value:>8.2f}{unit}   <= {most:g}{unit}{'' if met else '  MISSED'}")
    return met


if __name__ == "__main__":
    sys.exit(0 if run(Options(), turns=1_000_000 if "--full" in sys.argv else 100_000) else 1)
