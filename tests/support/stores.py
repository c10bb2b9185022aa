"""Stores for tests: every test that takes `store` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import weft

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["frame_of", "sqlite_store", "store", "store_url", "texts"]

BACKENDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.needs_postgres)]


@pytest.fixture(params=BACKENDS)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store of each backend."""
    if request.param == "sqlite":
        return str(tmp_path / "store")
    return str(request.getfixturevalue("postgres_store_url"))


@pytest.fixture
def store(store_url: str) -> Iterator[weft.Store]:
    """An empty store of each backend; it must be sound when the test is done."""
    with weft.open_store(store_url, busy_seconds=10) as opened:
        yield opened


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[weft.Store]:
    """An empty store in a folder."""
    with weft.open_store(tmp_path / "store", busy_seconds=10) as opened:
        yield opened


def texts(messages: list[dict[str, object]]) -> list[str]:
    """Give the first text of each message."""
    return [message["content"][0]["text"] for message in messages]  # type: ignore[index]


def frame_of(turn_id: str, **meta: object) -> dict[str, object]:
    """Build a frame by hand, as another program may have written it."""
    return {"topic": "gpt.turn", "id": turn_id, "meta": meta}
