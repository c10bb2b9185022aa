"""A pytest plugin: coverage as a table by room, and a failure for a room under the floor.

Loaded with `-p tools.coverage_by_room` beside `--cov`. It works inside pytest so that pytest's own summary stays the
last line of the output and counts a room under the floor among the failures.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from _pytest.terminal import TerminalReporter

__all__ = ["FLOOR", "Room", "by_room"]

FLOOR = 90.0
PACKAGE = Path(__file__).resolve().parent.parent / "src" / "weft"
ROOMS = pytest.StashKey["list[Room]"]()


@dataclass(slots=True)
class Room:
    """How much of one room ran: statements and branches, as coverage counts them."""

    name: str
    files: int = 0
    possible: int = 0
    covered: int = 0

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.possible if self.possible else 100.0

    @property
    def enough(self) -> bool:
        return self.percent >= FLOOR


def by_room(counts: Iterable[tuple[Path, int, int]]) -> list[Room]:
    """Sum (file, possible, covered) by room; a module beside the rooms counts as a room of its own name."""
    rooms: dict[str, Room] = defaultdict(lambda: Room(""))
    for path, possible, covered in counts:
        first = path.relative_to(PACKAGE).parts[0]
        name = PACKAGE.name if first == "__init__.py" else first.removesuffix(".py")
        room = rooms[name]
        room.name = name
        room.files += 1
        room.possible += possible
        room.covered += covered
    return [rooms[name] for name in sorted(rooms)]


def _measure(data: coverage.Coverage) -> list[Room]:
    counts = []
    for path in sorted(PACKAGE.rglob("*.py")):
        numbers = data._analyze(str(path)).numbers  # noqa: SLF001 - the only way to counts without a report file
        possible = numbers.n_statements + numbers.n_branches
        counts.append((path, possible, numbers.n_executed + numbers.n_executed_branches))
    return by_room(counts)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """After all tests, and after pytest-cov has combined what its workers saw, judge the rooms."""
    result = yield
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly or not config.pluginmanager.hasplugin("_cov"):
        return result
    data = coverage.Coverage()
    data.load()
    rooms = _measure(data)
    config.stash[ROOMS] = rooms
    reporter: TerminalReporter = config.pluginmanager.getplugin("terminalreporter")
    for room in rooms if _whole_run(session) else ():
        if not room.enough:
            # Straight into the reporter's books: a dot or an F for it among the tests' own would only confuse.
            reporter.stats.setdefault("failed", []).append(_failure(room))
            session.testsfailed += 1
    return result


def _whole_run(session: pytest.Session) -> bool:
    """Some tests only, or a run broken off, say nothing about how much all tests cover."""
    config = session.config
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    return everything and not session.shouldstop and not session.shouldfail


def _failure(room: Room) -> pytest.TestReport:
    name = f"coverage::{room.name}"
    text = f"coverage of {room.name} is {room.percent:.1f} %, under the floor of {FLOOR:.0f} %"
    return pytest.TestReport(
        nodeid=name,
        location=("pyproject.toml", None, name),
        keywords={},
        outcome="failed",
        longrepr=text,
        when="call",
    )


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Print the table."""
    rooms = config.stash.get(ROOMS, None)
    if rooms is None:
        return
    terminalreporter.section(f"coverage by room (floor {FLOOR:.0f} %)")
    total = Room(
        "total",
        sum(room.files for room in rooms),
        sum(room.possible for room in rooms),
        sum(room.covered for room in rooms),
    )
    for room in [*rooms, total]:
        mark = "" if room.enough else "   under the floor"
        terminalreporter.line(f"{room.name:<12} {room.files:>4} files {room.percent:>7.1f} %{mark}")
