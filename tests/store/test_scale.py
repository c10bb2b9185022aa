"""G-01, G-05 and the bars of issue 4 that are about counts, not clocks; the clocks are in benchmarks/."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

import weft

LENGTHS = [2_000, pytest.param(100_000, marks=pytest.mark.soak)]
STORES = [pytest.param(1_000_000, marks=pytest.mark.soak)]


def history(count: int, size: int = 10) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"message {n} {'x' * size}"} for n in range(count)]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_long_thread_is_walked_without_recursion(store: weft.Store, length: int) -> None:
    """G-01."""
    turns = store.import_messages(history(length))

    begun = time.perf_counter()
    resolved = store.resolve(turns[-1].id)
    took = time.perf_counter() - begun

    assert len(resolved["messages"]) == length
    assert len(store.list(turns[-1].id)) == length
    assert len(store.thread(turns[-1].id, order="branch")) == length
    assert len(store.context(turns[-1].id)) == length
    assert store.threads()[0].turns == length
    assert took < 5
    merged = store.merge(turns[-1].id, store.add_turn("other").id)
    assert len(store.thread(merged.id)) == length + 2


def test_the_number_of_statements_does_not_grow(sqlite_store: weft.Store) -> None:
    """Issue 4: a whole thread in one query."""
    counts = []
    for length in (10, 500):
        turns = sqlite_store.import_messages(history(length))
        statements: list[str] = []
        with sqlite_store.frames.reading() as connection:  # type: ignore[attr-defined]
            connection.set_trace_callback(statements.append)
        sqlite_store.resolve(turns[-1].id)
        with sqlite_store.frames.reading() as connection:  # type: ignore[attr-defined]
            connection.set_trace_callback(None)
        counts.append(len(statements))

    assert counts[0] == counts[1] <= 2


def test_the_log_is_never_scanned(sqlite_store: weft.Store) -> None:
    """G-05: headish lookups use an index."""
    sqlite_store.add_turn("x", bookmark="b")
    folder = sqlite_store.frames.folder
    assert folder is not None
    connection = sqlite3.connect(folder / "weft.db")
    from weft.store import rows

    for statement, parameters in (
        (rows._SPOT_BY_ID, ("i",)),
        (rows._SPOT_BY_BOOKMARK, ("b",)),
        (rows._NEWEST, ()),
        (rows._PREFIX, ("0", "1", 5)),
    ):
        plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))
        assert "SCAN b" not in plan.replace("SCAN bookmarks", "")
        assert "SCAN frames" not in plan or "USING INDEX" in plan, plan
    connection.close()


def test_resent_histories_cost_what_is_new(tmp_path: Path) -> None:
    """Issue 4: 1.3 times the bytes of the distinct messages at most (sizes of a coding agent's messages)."""
    luck = random.Random(4)
    often = [1 / (n + 1) for n in range(3000)]  # as words are in any language
    words = ["".join(luck.choices("abcdefghijklmnop", k=luck.randrange(2, 10))) for _ in range(3000)]
    messages = [
        {
            "role": "user" if n % 2 == 0 else "assistant",
            "content": " ".join(luck.choices(words, often, k=luck.randrange(40, 900))),
        }
        for n in range(300)
    ]
    folder = tmp_path / "store"
    with weft.open_store(folder) as store:
        for count in range(1, len(messages) + 1):
            store.import_messages(messages[:count])
        distinct = store.stats().payload_bytes
        store.search("abc")
    files = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    assert files <= 1.3 * distinct


@pytest.mark.parametrize("size", STORES)
def test_a_large_store_answers_at_once(store: weft.Store, size: int) -> None:
    """G-05 and issue 4: first pages under 50 ms, a bookmark under 5 ms, among a million turns that were just loaded."""
    for start in range(0, size, 10_000):
        store.import_messages(
            [{"role": "user", "content": f"turn {start + n} word{(start + n) % 977}"} for n in range(10_000)]
        )
    store.add_turn("named", bookmark="n")
    store.search("warm")
    for limit_ms, ask in (
        (5, lambda: store.find("n")),
        (50, lambda: store.log(limit=50)),
        (50, lambda: store.threads(limit=50)),
        (50, lambda: store.search("word12")),
        (50, lambda: store.search("turn", role="user")),
        (50, lambda: store.search("123456")),
    ):
        begun = time.perf_counter()
        ask()
        assert (time.perf_counter() - begun) * 1000 < limit_ms
