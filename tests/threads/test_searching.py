"""Searching text, tool arguments and tool results; the same finds on both backends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import weft
from weft.errors import UsageError


@pytest.fixture
def library(store: weft.Store) -> weft.Store:
    store.add_turn("The harbour master's foo-bar log, naïve GRÖSSE", bookmark="notes")
    store.add_turn(
        [{"type": "tool_use", "id": "1", "name": "sonar___depth", "input": {"pier": 42, "unit": "fathom"}}],
        json=True,
        role="assistant",
        continues="notes",
    )
    store.add_turn(
        [
            {
                "type": "tool_result",
                "name": "sonar___depth",
                "tool_use_id": "1",
                "content": [{"type": "text", "text": "six metres"}],
            }
        ],
        json=True,
        continues="notes",
    )
    store.add_turn("東京タワーへ行く", role="system")
    return store


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("harbour", [0]),
        ("HARBOUR", [0]),
        ("harb*", [0]),
        ("harb", []),
        ('"harbour master"', [0]),
        ('"master harbour"', []),
        ("foo-bar", [0]),
        ("bar-foo", []),
        ("naive grosse", [0]),
        ("naïve", [0]),
        ("fathom", [1]),
        ("42 pier", [1]),
        ("sonar", [2, 1]),
        ("metres", [2]),
        ("harbour metres", []),
        ("東京", [3]),
        ("京東", []),
        ('AND OR "NOT" NEAR(', []),
        ("harbour'; DROP TABLE frames", []),
        ("zqxr", []),
    ],
)
def test_words_phrases_and_beginnings(library: weft.Store, query: str, found: list[int]) -> None:
    turns = library.log()[::-1]

    assert [hit.id for hit in library.search(query)] == [turns[n].id for n in found]


def test_filters_narrow_the_search(library: weft.Store) -> None:
    turns = library.log()[::-1]

    assert [hit.id for hit in library.search("sonar", role="assistant")] == [turns[1].id]
    assert [hit.id for hit in library.search("", bookmark="notes")] == [turn.id for turn in turns[2::-1]]
    assert library.search("sonar", bookmark="other") == []
    now = datetime.now(UTC)
    assert library.search("harbour", since=now + timedelta(hours=1)) == []
    assert library.search("harbour", until=now - timedelta(hours=1)) == []
    assert len(library.search("harbour", since=now - timedelta(hours=1), until=now + timedelta(hours=1))) == 1
    with pytest.raises(UsageError):
        library.search("  ")


def test_hits_come_newest_first_in_pages(store: weft.Store) -> None:
    turns = [store.add_turn(f"word {n} common phrase") for n in range(25)]

    first = store.search('"common phrase"', limit=10)
    second = store.search('"common phrase"', limit=20, before=first[-1].id)

    assert [hit.id for hit in [*first, *second]] == [turn.id for turn in turns[::-1]]
    assert first[0].snippet == "word 24 common phrase"


def test_a_turn_is_found_as_soon_as_it_is_written(store: weft.Store) -> None:
    for n in range(40):
        turn = store.add_turn(f"needle{n}")
        assert [hit.id for hit in store.search(f"needle{n}")] == [turn.id]


def test_a_very_long_text_is_found_to_its_end(store: weft.Store) -> None:
    turn = store.add_turn(" ".join(f"w{n}" for n in range(150_000)) + " lastword")

    assert [hit.id for hit in store.search("lastword")] == [turn.id]
