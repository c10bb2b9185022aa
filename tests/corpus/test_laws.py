"""The laws of the corpus (issue 3), over every recorded exchange whose dialect weft knows.

`make corpus` runs them all and writes docs/reference/corpus-laws.md; here L6 tries a quarter of its mutations, and
all of them in a soak.
"""

from __future__ import annotations

import pytest

from tests.corpus.laws import BARS, LAWS
from tests.corpus.load import by_dialect
from tests.corpus.mutate import SEEDS
from tests.corpus.run import judge, judge_mutations
from tests.corpus.types import TARGETS

pytestmark = pytest.mark.corpus

SHARDS = 10
USUAL_SEEDS = SEEDS // 4


@pytest.mark.parametrize("dialect", TARGETS)
@pytest.mark.parametrize("law", ["L1", "L2", "L3", "L4"])
def test_the_law_holds_for_the_recorded_exchanges(law: str, dialect: str) -> None:
    tally = judge(law, dialect)

    assert tally.holds, tally.told()


@pytest.mark.parametrize("target", TARGETS)
def test_every_request_crosses_to_another_provider(target: str) -> None:
    """L5: what the provider's own types accept, with every loss told."""
    tally = judge("L5", target)

    assert tally.tried
    assert tally.holds, tally.told()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_broken_records_are_read_or_refused(shard: int) -> None:
    """L6."""
    _assert_unbroken(range(shard, USUAL_SEEDS, SHARDS))


@pytest.mark.soak
@pytest.mark.parametrize("shard", range(SHARDS))
def test_all_broken_records_are_read_or_refused(shard: int) -> None:
    """L6, the rest."""
    _assert_unbroken(range(USUAL_SEEDS + shard, SEEDS, SHARDS))


def _assert_unbroken(seeds: range) -> None:
    tallies = judge_mutations(seeds)
    assert sum(tally.tried for tally in tallies.values()) == len(seeds)
    assert all(tally.holds for tally in tallies.values()), "\n".join(tally.told() for tally in tallies.values())


def test_every_dialect_that_can_be_a_target_was_recorded() -> None:
    assert set(TARGETS) <= set(by_dialect())


def test_every_law_has_a_bar() -> None:
    assert list(BARS) == list(LAWS)
