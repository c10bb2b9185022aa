"""Running a law over many exchanges, in parts that can be shared out among processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tests.corpus.crossing import crossing_law, crossings
from tests.corpus.laws import BARS, NotApplicableError, replay_law, request_law, response_law, stream_law
from tests.corpus.load import by_dialect, exchanges, replays
from tests.corpus.mutate import mutation_law

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.corpus.load import Exchange

__all__ = ["Tally", "judge", "judge_mutations"]


@dataclass(slots=True)
class Tally:
    """How often a law held for a dialect, and where not."""

    law: str
    dialect: str
    tried: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)  # the exchange's id, and why

    def note(self, exchange: Exchange, reason: str | None) -> None:
        self.tried += 1
        if reason is not None:
            self.failures.append((exchange.id, reason))

    def add(self, other: Tally) -> None:
        self.tried += other.tried
        self.failures += other.failures

    @property
    def share(self) -> float:
        return 1 - len(self.failures) / self.tried if self.tried else 1.0

    @property
    def holds(self) -> bool:
        return self.share >= BARS[self.law]

    def told(self) -> str:
        lines = [f"{self.law} {self.dialect}: {self.tried - len(self.failures)} of {self.tried}"]
        return "\n  ".join(lines + [f"{exchange_id} {reason}" for exchange_id, reason in self.failures[:20]])


def judge(law: str, dialect: str, part: int = 0, of: int = 1) -> Tally:
    """Try a law on every `of`-th case of a dialect; of L4 the dialect is the later one, of L5 the target."""
    tally = Tally(law, dialect)
    cases = list(_cases(law, dialect))[part::of]
    for exchange, question in cases:
        try:
            tally.note(exchange, question())
        except NotApplicableError:
            continue
        except Exception as problem:  # noqa: BLE001  # one record that breaks weft must not hide the others
            tally.note(exchange, f"raised {type(problem).__name__}")
    return tally


def _cases(law: str, dialect: str) -> Iterator[tuple[Exchange, Callable[[], str | None]]]:
    match law:
        case "L1" | "L2" | "L3":
            asked = {"L1": request_law, "L2": response_law, "L3": stream_law}[law]
            for exchange in by_dialect().get(dialect, ()):
                yield exchange, partial(asked, exchange)
        case "L4":
            for earlier, later in replays():
                if later.dialect.name == dialect:
                    yield later, partial(replay_law, earlier, later)
        case "L5":
            for exchange in exchanges():
                if dialect in crossings(exchange):
                    yield exchange, partial(crossing_law, exchange, dialect)
        case _:
            raise ValueError(f"{law} is not a law of exchanges")


def judge_mutations(seeds: Iterable[int]) -> dict[str, Tally]:
    """Try L6 on a run of seeds; give a tally for each dialect whose records were broken."""
    tallies: dict[str, Tally] = {}
    for seed in seeds:
        exchange, reason = mutation_law(seed)
        name = exchange.dialect.name
        tallies.setdefault(name, Tally("L6", name)).note(exchange, reason)
    return tallies
