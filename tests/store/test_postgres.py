"""D-18, D-19: a server that goes away, and many clients."""

from __future__ import annotations

import threading
import time

import pytest

import weft
from tests.support.postgres import PostgresCluster
from weft.errors import StoreError, WeftError

STOPS = [(2, 3), pytest.param((20, 8), marks=pytest.mark.soak)]
pytestmark = pytest.mark.needs_postgres


@pytest.mark.parametrize("how", STOPS)
def test_nothing_acknowledged_is_lost_when_the_server_dies(
    postgres: PostgresCluster, postgres_url: str, how: tuple[int, int]
) -> None:
    """D-18: stopped as in a crash, under writers; nothing lost, nothing twice, clients go on."""
    stops, writers = how
    weft.open_store(postgres_url).close()
    done: dict[str, str] = {}
    reported: list[WeftError] = []
    is_over = threading.Event()

    def write(tag: int) -> None:
        with weft.open_store(postgres_url) as store:
            number, last = 0, None
            while not is_over.is_set():
                try:
                    last = store.add_turn(f"{tag}-{number}", continues=last).id
                    done[last] = f"{tag}-{number}"
                except WeftError as error:
                    reported.append(error)
                number += 1

    threads = [threading.Thread(target=write, args=(tag,)) for tag in range(writers)]
    for thread in threads:
        thread.start()
    for _ in range(stops):
        time.sleep(0.4)
        postgres.stop("immediate")
        time.sleep(0.1)
        postgres.start()
        before = len(done)
        deadline = time.monotonic() + 15
        while len(done) < before + writers and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(done) > before
    is_over.set()
    for thread in threads:
        thread.join()

    with weft.open_store(postgres_url) as store:
        found = {turn.id: turn.text for turn in store.log(limit=1_000_000)}
        assert done.items() <= found.items()
        assert len(set(found.values())) == len(found)  # no turn twice
        assert store.fsck() == []


def test_a_server_that_stays_away_is_reported(
    postgres: PostgresCluster, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.store import postgres as backend

    monkeypatch.setattr(backend, "_PATIENCE", 0.5)
    with weft.open_store(postgres_url) as store:
        store.add_turn("x")
        postgres.stop("immediate")
        try:
            with pytest.raises(StoreError):
                store.add_turn("y")
            with pytest.raises(StoreError):
                store.resolve()
        finally:
            postgres.start()
        assert [turn.text for turn in store.log()] == ["x"]


def test_a_newer_database_is_refused(postgres_url: str) -> None:
    """D-16."""
    import psycopg

    weft.open_store(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("INSERT INTO weft_version VALUES (99)")
    connection.close()

    with pytest.raises(StoreError, match="newer weft"):
        weft.open_store(postgres_url)


def test_a_lock_held_by_another_client_is_waited_for(postgres_url: str) -> None:
    """D-10."""
    import psycopg

    from weft.errors import StoreBusyError

    with weft.open_store(postgres_url, busy_seconds=0.2) as store, psycopg.connect(postgres_url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (0x77656674,))
        with pytest.raises(StoreBusyError, match="spool"):
            store.add_turn("kept")
        other.rollback()
        assert store.unspool() == 1
        assert store.turn(store.log()[0].id).text == "kept"
    other.close()


def test_a_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """K-02."""
    from weft.store import postgres as backend

    monkeypatch.setattr(backend, "_PATIENCE", 0.0)

    with pytest.raises(StoreError) as error:
        weft.open_store("postgresql://me:s3cret@127.0.0.1:1/none")

    assert "s3cret" not in str(error.value)


@pytest.mark.soak
@pytest.mark.parametrize("seconds", [300])
def test_list_append_has_no_lost_update(postgres_url: str, seconds: int) -> None:
    """D-19: every append to a name is seen by the next one; the heads form one chain."""
    with weft.open_store(postgres_url) as store:
        store.add_turn("0", bookmark="list")
    is_over = time.monotonic() + seconds
    counts: list[int] = []

    def write(tag: int) -> None:
        count = 0
        with weft.open_store(postgres_url) as store:
            while time.monotonic() < is_over:
                store.add_turn(f"{tag} {count}", continues="list")
                count += 1
        counts.append(count)

    threads = [threading.Thread(target=write, args=(tag,)) for tag in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with weft.open_store(postgres_url) as store:
        assert len(store.thread("list")) == sum(counts) + 1
        assert len(store.threads()) == 1
