"""Recordings into threads: what `weft import` does with a trace, and with a session that is in the store already."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

import click

from weft.cli.render import counted, json_text, note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from weft.threads import Store
    from weft.trace import ImportReport

__all__ = ["PARTIAL", "import_session", "import_trace"]

PARTIAL = 3  # some records could not be read or imported; the others are in the store
_SHOWN = 10


def import_trace(store: Store, path: str, *, as_json: bool) -> int:
    """Import a trace, - for stdin; tell what came of it and give the exit status."""
    from weft.trace import read_records

    torn: list[tuple[int, str]] = []
    source = sys.stdin.buffer if path == "-" else Path(path)
    records = read_records(source, lambda problem: torn.append((problem.place.line, problem.message)))
    name = "stdin" if path == "-" else str(Path(path).resolve())
    taken = _take_lines(store, ((place.line, line) for place, line in records), name)
    taken.bad_lines += torn
    return _tell(taken, as_json=as_json)


def import_session(store: Store, text: str, *, as_json: bool) -> int:
    """Import a session that was recorded into the store; tell what came of it and give the exit status."""
    return _tell(_take_session(store, text), as_json=as_json)


def _tell(taken: Taken, *, as_json: bool) -> int:
    report, problems = taken.report, taken.problems
    status = PARTIAL if problems else 0
    if as_json:
        summary = {"requests": taken.requests, "new_turns": report.new_turns, "session": taken.session}
        click.echo(json_text({**summary, "problems": problems}))
        return status
    kept = f"; kept as session {taken.session}" if taken.session else ""
    click.echo(f"{counted(report.imported, 'request')}, {counted(report.new_turns, 'new turn')}{kept}")
    for problem in problems[:_SHOWN]:
        note(problem)
    if len(problems) > _SHOWN:
        note(f"… and {len(problems) - _SHOWN} more")
    if taken.last is not None:
        note(f'go on from a request by its id: weft ask -c {taken.last} "…"; see all: weft trace ls')
    return status


@dataclass(slots=True)
class Taken:
    """What came of a recording: its requests as turns, the session it is kept as if it is new, and what was wrong."""

    report: ImportReport
    session: str | None = None
    bad_lines: list[tuple[int, str]] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Everything that was left out, by line [J-08]."""
        wrong = [*self.bad_lines, *((one.line, str(one.problem)) for one in self.report.problems)]
        return [f"line {line}: {problem}" for line, problem in sorted(wrong)]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests that became turns, as plain data."""
        return [
            {"id": one.id, "turn_id": one.turn_id, "new_turns": one.new_turns}
            for one in self.report.requests
            if one.turn_id is not None
        ]

    @property
    def last(self) -> str | None:
        """The id of the last request that can be continued."""
        return next((one.id for one in reversed(self.report.requests) if one.turn_id is not None), None)


def _take_lines(store: Store, lines: Iterable[tuple[int, bytes]], source: str) -> Taken:
    """Keep the lines of a trace as a session, and make turns of its requests. A bad line is told, the rest goes on."""
    from weft.jsontext import loads
    from weft.trace import import_exchanges, keep_lines

    bad: list[tuple[int, str]] = []
    good: list[bytes] = []
    records: list[tuple[int, dict[str, Any]]] = []
    for number, given in lines:
        line = given.rstrip()
        try:
            record = loads(line)
        except ValueError as error:
            bad.append((number, f"not JSON: {error}"))
            continue
        if not isinstance(record, dict) or "request" not in record:
            bad.append((number, "not a record: it has no request"))
            continue
        good.append(line)
        records.append((number, record))
    session, added, _ = keep_lines(store.frames, good, {"kind": "import", "source": source})
    report = import_exchanges(store.frames, records, now_ms=int(time() * 1000))
    return Taken(report, session if added else None, bad)


def _take_session(store: Store, text: str) -> Taken:
    """Make turns of the requests of a recorded session."""
    from weft.jsontext import loads
    from weft.store import Exchanges
    from weft.trace import find_session, import_exchanges, records_of

    exchanges = Exchanges(store.frames)
    session = find_session(exchanges, text or None)
    records = ((number, loads(line)) for number, line in records_of(exchanges, session.number))
    return Taken(import_exchanges(store.frames, records, now_ms=int(time() * 1000)))
