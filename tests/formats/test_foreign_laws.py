"""The laws of formats, for those of other tools that are written here."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings

from tests.corpus.load import exchanges
from tests.formats.test_laws import transcript_of
from tests.support.transcripts import transcripts
from weft.canon import Transcript
from weft.errors import CodecError
from weft.formats import Format, format_by_name, lockstep, proof, unaccounted

WRITTEN = (
    "claude-code",
    "codex",
    "uimessage",
    "langchain",
    "pydantic-ai",
    "openai-finetuning",
    "sharegpt",
    "atif",
    "inspect",
    "otel",
)
KINDS = [format_by_name(name) for name in WRITTEN]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=10)
@given(given_one=transcripts())
def test_the_account_explains_every_difference_and_a_second_trip_makes_none(
    kind: Format, given_one: Transcript
) -> None:
    """The second and third law: what a format cannot hold is in its account, by place; and it is lost only once."""
    written, ledger = kind.dump(given_one, places=None)
    once = kind.load(written)
    again, second = kind.dump(once)

    assert unaccounted(given_one, once, ledger.losses) == []
    assert (kind.load(again), second.losses) == (once, [])


@pytest.mark.parametrize("name", ["claude-code", "codex"])
@settings(max_examples=25)
@given(given_one=transcripts())
def test_a_session_that_is_read_back_while_it_is_written_has_as_true_an_account(
    name: str, given_one: Transcript
) -> None:
    """The second law, for sessions too long to be held: entries are lined up in windows."""
    kind = format_by_name(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof, "HELD_PIECES", 1)
        patch.setattr(lockstep, "WINDOW", 3)
        written, ledger = kind.dump(given_one, places=None)
    once = kind.load(written)

    assert unaccounted(given_one, once, ledger.losses) == []


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=500)
@given(given_one=transcripts())
def test_the_laws_hold_for_many_conversations(kind: Format, given_one: Transcript) -> None:
    """The second and third law, with more examples."""
    written, ledger = kind.dump(given_one, places=None)
    once = kind.load(written)

    assert unaccounted(given_one, once, ledger.losses) == []
    assert kind.dump(once)[1].losses == []


def test_a_line_that_is_no_json_is_named() -> None:
    for name in ("claude-code", "codex", "gemini-cli", "pi"):
        with pytest.raises(CodecError, match="line 2"):
            list(format_by_name(name).transcripts(b'{"type":"x"}\n{"type":\n'))


# -- the corpus --------------------------------------------------------------------------------------------------------


def broken_laws(kind: Format, given_one: Transcript) -> list[Any]:
    """Try the second and the third law on one conversation; give what breaks them."""
    written, ledger = kind.dump(given_one, places=None)
    once = kind.load(written)
    again, second = kind.dump(once)
    return [
        *unaccounted(given_one, once, ledger.losses),
        *second.losses,
        *([] if kind.load(again) == once else [again]),
    ]


def check_corpus(chosen: list[Any]) -> int:
    count = 0
    broken: list[Any] = []
    for exchange in chosen:
        given_one = transcript_of(exchange)
        if given_one is None:
            continue
        count += 1
        broken += [(exchange.id, kind, what) for kind in KINDS for what in broken_laws(kind, given_one)]
    assert broken == []
    return count


@pytest.mark.corpus
def test_recorded_conversations_become_files_of_other_tools() -> None:
    chosen = random.Random(9).sample(exchanges(), 24)

    assert check_corpus(chosen) > 12


@pytest.mark.corpus
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_every_recorded_conversation_becomes_files_of_other_tools() -> None:
    assert check_corpus(list(exchanges())) > 3000
