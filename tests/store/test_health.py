"""A first look at a store: what `weft doctor` prints."""

from __future__ import annotations

import shutil
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

import pytest

import weft
from weft.errors import StoreError
from weft.store import examine, health

if TYPE_CHECKING:
    from pathlib import Path


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def store(tmp_path: Path) -> weft.Store:
    opened = weft.open_store(tmp_path / "store")
    opened.add_turn("hello")
    return opened


def levels(store: weft.Store) -> dict[str, str]:
    return {finding.name: finding.level for finding in examine(store.frames)}


@pytest.mark.parametrize(("version", "level"), [((3, 51, 2), "note"), ((3, 51, 3), "good"), ((4, 0, 0), "good")])
def test_d12_an_old_sqlite_is_named_with_its_risk(
    store: weft.Store, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], level: str
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)

    assert levels(store)["sqlite"] == level


@pytest.mark.parametrize(("free", "level"), [(10**6, "bad"), (10**8, "note"), (10**9, "good")])
def test_a_full_disk_is_noticed(store: weft.Store, monkeypatch: pytest.MonkeyPatch, free: int, level: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(0, 0, free))

    assert levels(store)["space"] == level


def test_a_store_too_large_for_a_quick_look_says_so(store: weft.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        store.add_turn(f"{number} {'x' * 500}")
    monkeypatch.setattr(health, "_LOOK_SECONDS", -1)
    monkeypatch.setattr(health, "_STEPS", 1)

    assert levels(store)["health"] == "note"
    assert store.latest() is not None  # the connection goes on working


def test_a_database_that_cannot_be_read_is_a_finding(store: weft.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> list[object]:
        raise StoreError("gone")

    monkeypatch.setattr(store.frames, "ask", fails)

    assert levels(store)["health"] == "bad"


@pytest.mark.needs_postgres
def test_a_server_is_asked_for_its_version(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with weft.open_store(postgres_url) as store:
        assert levels(store) == {"postgresql": "good", "health": "good"}
        monkeypatch.setattr(store.frames, "stats", _refuses)
        assert levels(store) == {"health": "bad"}


def _refuses() -> object:
    raise StoreError("the server is gone")
