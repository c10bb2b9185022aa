"""Recorded requests as turns: prefixes stored once, forks as branches, each request with a name to continue from.

Every message becomes a turn, found again if it is there already below the same turns. A request ends in the turn of its
answer. What else it said (tools, settings: the RunSpec) is content of its own, kept once and named by `options.request`
of that turn; where its cache marks were and how the client spelled it are small options beside it. So continuing the
turn sends what the captured program would have sent, to the same provider or any other (`weft.chat.captured`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.errors import WeftError
from weft.store import FrameStore
from weft.trace.asked import Asked, Memory, digest_of, read_asked
from weft.trace.opened import error_of
from weft.trace.turntree import ImportedRequest, TurnTree

__all__ = ["ImportReport", "import_exchanges"]

_BATCH = 64


@dataclass(slots=True)
class ImportReport:
    """What became of all of them."""

    requests: list[ImportedRequest] = field(default_factory=list)

    @property
    def imported(self) -> int:
        """How many became turns, or were turns already."""
        return sum(one.turn_id is not None for one in self.requests)

    @property
    def new_turns(self) -> int:
        """How many turns were written."""
        return sum(one.new_turns for one in self.requests)

    @property
    def problems(self) -> list[ImportedRequest]:
        """Those that could not be imported."""
        return [one for one in self.requests if one.problem is not None]


def import_exchanges(
    store: FrameStore, records: Iterable[Mapping[str, Any] | tuple[int, Mapping[str, Any]]], *, now_ms: int
) -> ImportReport:
    """Turn recorded requests into turns; those that are turns already are left as they are.

    A record may come with its line number. One that is no conversation is reported and left out.
    """
    report = ImportReport()
    asked: list[Asked | ImportedRequest] = []
    memory = Memory()
    tree = TurnTree(memory.echoes, now_ms)
    for number, given in enumerate(records, 1):
        line, record = given if isinstance(given, tuple) else (number, given)
        name = record.get("id")
        name = name if isinstance(name, str) and name else f"r{line - 1}"
        try:
            digest = digest_of(record)
            asked.append(tree.known(store, line, name, digest) or read_asked(line, name, record, memory, digest))
        except (WeftError, RecursionError, ValueError) as error:
            why = error_of(record)
            asked.append(ImportedRequest(line, name, problem=f"{error}" + (f" ({why})" if why else "")))
    for start in range(0, len(asked), _BATCH):
        part = asked[start : start + _BATCH]
        todo = [one for one in part if isinstance(one, Asked)]
        fresh = iter(tree.keep(store, todo) if todo else ())
        report.requests += [next(fresh) if isinstance(one, Asked) else one for one in part]
    return report
