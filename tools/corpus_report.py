"""`make corpus`: every law over every recorded exchange, as a table, a list of failures and a page of the docs.

Only figures, ids and reasons are written; nothing that was said in the corpus. The exit status is 1 if a law is
under its bar.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.corpus.laws import BARS, LAWS
from tests.corpus.mutate import SEEDS
from tests.corpus.run import Tally, judge, judge_mutations
from tests.corpus.types import TARGETS
from tests.support.components import COMPONENTS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "corpus-laws.md"
SHARDS = 20
LISTED = 20  # ids given for one reason; the rest are counted

INTRODUCTION = """# The laws of the corpus

weft is tried on real traffic: recorded exchanges with every provider (`WEFT_CORPUS`, default `../shared/corpus`).
This page is written by `make corpus`. A cell is how often the law held, of how often it could be asked. Under L5 the
column is the dialect that requests of all others were taken to; under L6 it is the dialect of the record that was
broken.
"""


def run_all(workers: int, seeds: int) -> dict[str, dict[str, Tally]]:
    """Try every law on everything."""
    tallies = {law: {name: Tally(law, name) for name in TARGETS} for law in LAWS}
    with ProcessPoolExecutor(workers) as pool:
        broken = [pool.submit(judge_mutations, range(shard, seeds, SHARDS)) for shard in range(SHARDS)]
        judged = [pool.submit(judge, law, name) for law in LAWS if law != "L6" for name in TARGETS]
        for done in judged:
            tally = done.result()
            tallies[tally.law][tally.dialect].add(tally)
        for shard in broken:
            for name, tally in shard.result().items():
                tallies["L6"].setdefault(name, Tally("L6", name)).add(tally)
    return tallies


def table(tallies: dict[str, dict[str, Tally]]) -> Iterator[str]:
    """Give the lines of the table."""
    yield f"| law | bar | {' | '.join(TARGETS)} | all |"
    yield f"|---|---|{'---|' * (len(TARGETS) + 1)}"
    for law, by_name in tallies.items():
        cells = [_cell(by_name[name]) for name in TARGETS]
        yield f"| {law} | {BARS[law]:.1%} | {' | '.join(cells)} | {_cell(_whole(law, by_name), share=True)} |"


def _cell(tally: Tally, *, share: bool = False) -> str:
    if not tally.tried:
        return "-"
    counts = f"{tally.tried - len(tally.failures):,} / {tally.tried:,}"
    return f"{counts} ({_floor(tally.share)})" if share else counts


def _floor(share: float) -> str:
    """Write a share without rounding a miss away."""
    return f"{int(share * 10_000) / 100:.2f} %"


def _whole(law: str, by_name: dict[str, Tally]) -> Tally:
    whole = Tally(law, "all")
    for tally in by_name.values():
        whole.add(tally)
    return whole


def failures(tallies: dict[str, dict[str, Tally]]) -> Iterator[str]:
    """Give the failures of each law: every reason once, with the ids it was found for."""
    for law, by_name in tallies.items():
        reasons: dict[tuple[str, str], list[str]] = {}
        for name, tally in by_name.items():
            for exchange_id, reason in tally.failures:
                seed, _, rest = reason.partition(": ") if law == "L6" else ("", "", reason)
                found = reasons.setdefault((name, re.sub(r"\d+", "#", rest)), [])
                found.append(f"`{exchange_id}` ({seed})" if seed else f"`{exchange_id}`")
        if not reasons:
            continue
        yield f"### {law}"
        yield ""
        for (name, reason), ids in sorted(reasons.items(), key=lambda each: -len(each[1])):
            more = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
            yield f"- {name}, {len(ids)}: {reason}: {', '.join(ids[:LISTED])}{more}"
        yield ""


def page(tallies: dict[str, dict[str, Tally]]) -> str:
    """Write the page of the docs."""
    missed = list(failures(tallies)) or ["None.", ""]
    explained = [f"- **{law}** {meaning}" for law, meaning in LAWS.items()]
    return "\n".join([INTRODUCTION, *explained, "", *table(tallies), "", "## Where a law did not hold", "", *missed])


def main() -> int:
    """Run the laws, print the report and write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--seeds", type=int, default=SEEDS, help="how many mutations L6 tries")
    options.add_argument("--no-page", action="store_true", help="print only")
    given = options.parse_args()
    if (folder := COMPONENTS["corpus"].find()) is None:
        print(f"no corpus: {COMPONENTS['corpus'].advice}", file=sys.stderr)
        return 1
    print(f"corpus: {folder}", file=sys.stderr)
    tallies = run_all(given.workers, given.seeds)
    print("\n".join([*table(tallies), "", *failures(tallies)]))
    if not given.no_page:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(tallies).rstrip() + "\n", encoding="utf-8")
    short = [law for law, by_name in tallies.items() if not _whole(law, by_name).holds]
    if short:
        print(f"under their bar: {', '.join(short)}", file=sys.stderr)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
