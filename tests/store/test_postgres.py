"""D-18, D-19: a server that goes away, and many clients."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

import weft
from tests.support.postgres import PostgresCluster
from weft.errors import StoreError, WeftError
from weft.store import postgres_care
from weft.store.migrations import POSTGRES
from weft.threads.append import addition_from

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


def test_an_older_database_is_brought_up_to_date(postgres_url: str) -> None:
    """D-15: from every earlier version; what was indexed by then is not indexed again."""
    for version in range(1, len(POSTGRES)):
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            postgres_care.migrate(connection, POSTGRES[:version], 0x77656674)
            connection.execute("INSERT INTO frames (seq, id, topic, flags) VALUES (7, %s, 'other', 0)", ("0" * 25,))
        with weft.open_store(postgres_url) as store:
            assert store.add_turn("quay").id
            assert len(store.search("quay")) == 1
            assert store.frames._index.lag() == (8, 8)  # type: ignore[attr-defined]
            assert store.stats().version == len(POSTGRES)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")


def test_a_newer_database_is_refused(postgres_url: str) -> None:
    """D-16."""
    weft.open_store(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("INSERT INTO weft_version VALUES (99)")
    connection.close()

    with pytest.raises(StoreError, match="newer weft"):
        weft.open_store(postgres_url)


@pytest.mark.parametrize("written", [0, 1])
def test_a_lock_held_by_another_client_is_waited_for(postgres_store_url: str, written: int) -> None:
    """D-10: also by a client that was the last to write, whose next turn is a single statement."""
    from weft.errors import StoreBusyError

    with weft.open_store(postgres_store_url, busy_seconds=0.2) as store, psycopg.connect(postgres_store_url) as other:
        for n in range(written):
            store.add_turn(str(n))
        other.execute("SELECT pg_advisory_xact_lock(%s)", (0x77656674,))
        with pytest.raises(StoreBusyError, match="spool"):
            store.add_turn("kept")
        other.rollback()
        assert store.unspool() == 1
        assert store.turn(store.log()[0].id).text == "kept"
    other.close()


# -- few round trips ---------------------------------------------------------------------------------------------------


def round_trips(store: weft.Store, folder: Path, doing: Callable[[], object]) -> int:
    """Count how often the client waits for the server, by libpq's own trace of what it sends."""
    doing()  # statements are prepared the first time
    connection = store.frames._connect()  # type: ignore[attr-defined]
    with (folder / "trace").open("w+b") as file:
        connection.pgconn.trace(file.fileno())
        doing()
        connection.pgconn.untrace()
    return len(re.findall(r"\tF\t\d+\t(?:Sync|Query)\b", (folder / "trace").read_text()))


def test_a_turn_that_continues_ones_last_is_one_round_trip(postgres_store_url: str, tmp_path: Path) -> None:
    """Issue 4: durable in the time of a bare insert; anything else takes a few."""
    with weft.open_store(postgres_store_url) as store:
        root = store.add_turn("first", bookmark="n")
        last = [store.add_turn("second", continues="n").id]

        def reply() -> None:
            said = addition_from("an answer", role="assistant", continues="n")
            store.add(replace(said, extra={"message": {"model": "m"}}))

        def more() -> None:
            last[0] = store.add_turn(f"more {last[0]}", continues=last[0]).id

        assert round_trips(store, tmp_path, more) == 1
        assert round_trips(store, tmp_path, lambda: store.add_turn("by name", continues="n")) == 1
        assert round_trips(store, tmp_path, reply) == 1
        assert round_trips(store, tmp_path, lambda: store.add_turn("a new thread")) == 1
        assert round_trips(store, tmp_path, lambda: store.add_turn("a branch", continues=root.id)) <= 4
        with weft.open_store(postgres_store_url) as other:

            def after_another() -> None:
                other.add_turn("by another")
                more()

            assert round_trips(store, tmp_path, after_another) <= 4
        assert store.fsck() == []


def test_clients_that_take_turns_see_each_other(postgres_store_url: str) -> None:
    """T-8, T-26: what a client remembers of its last write is not taken for true when another has written."""
    with weft.open_store(postgres_store_url) as one, weft.open_store(postgres_store_url) as two:
        first = one.add_turn("1", bookmark="n")
        assert two.add_turn("2", continues="n").meta["continues"] == [first.id]
        assert [turn.text for turn in one.add_turn("3", continues="n").thread] == ["1", "2", "3"]
        two.delete_bookmark("n")
        assert one.add_turn("its own thread", bookmark="n").meta["continues"] == []
        moved = two.add_turn("elsewhere", bookmark="n", move_bookmark=True)
        with pytest.raises(WeftError, match=moved.id):
            one.add_turn("not here", bookmark="n")
        two.rm("n")
        one.add_turn("twice", bookmark="other")
        ids = [turn.id for turn in one.log()]
        assert ids == sorted(ids, reverse=True)
        assert [len(set(ids)), one.fsck(), two.fsck()] == [len(ids), [], []]


def test_a_write_that_only_looks_is_done_on_what_is_true(postgres_store_url: str) -> None:
    with weft.open_store(postgres_store_url) as one, weft.open_store(postgres_store_url) as two:
        turn = one.add_turn("gone soon")
        two.rm(turn.id)

        assert one.frames.write(lambda writer: writer.spots([turn.id])) == [None]


def test_the_servers_own_settings_take_no_promise_back(postgres_store_url: str) -> None:
    """D-11 and acknowledged is on disk: a server may be set to commit early, or to read as of the beginning."""
    odd = "-csynchronous_commit%3Doff%20-cdefault_transaction_isolation%3Dserializable"
    stores = [weft.open_store(f"{postgres_store_url}?options={odd}") for _ in range(2)]
    stores[0].add_turn("0", bookmark="n")

    def write(store: weft.Store) -> None:
        for n in range(20):
            store.add_turn(str(n), continues="n")

    threads = [threading.Thread(target=write, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(stores[0].thread("n")) == 41
    assert stores[0].frames.ask("SHOW synchronous_commit") == [("on",)]  # type: ignore[attr-defined]
    for store in stores:
        store.close()


# -- what is built from the log ----------------------------------------------------------------------------------------


def test_the_newest_turn_is_found_whoever_may_write(postgres_store_url: str) -> None:
    """Words are taken in after their turns, by whoever searches; one who may not write reads what is missing."""
    with weft.open_store(postgres_store_url) as store:
        for n in range(3):
            store.add_turn(f"quay {n}")
        with weft.open_store(postgres_store_url, read_only=True) as reader:
            assert [hit.snippet for hit in reader.search("quay")] == ["quay 2", "quay 1", "quay 0"]
            assert len(store.search("quay")) == 3
            store.add_turn("quay 3")
            assert [hit.snippet for hit in reader.search("quay", limit=2)] == ["quay 3", "quay 2"]
            assert [hit.snippet for hit in reader.search("quay", before=store.log()[1].id)] == ["quay 1", "quay 0"]


def test_much_that_is_written_is_indexed_beside(postgres_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and the server's statistics: neither waits for a search, or for the server's own care."""
    from weft.store import postgres as backend

    monkeypatch.setattr(backend, "_ANALYSE_AFTER", 300)
    with weft.open_store(postgres_store_url) as store:
        store.import_messages([{"role": "user", "content": f"pier {n}"} for n in range(600)])
        store.frames._index.join()  # type: ignore[attr-defined]
        assert store.frames._index.lag() == (600, 600)  # type: ignore[attr-defined]
        counted = "SELECT reltuples FROM pg_class WHERE relname = 'frames'"
        assert store.frames.ask(counted)[0][0] >= 600  # type: ignore[attr-defined]
        store.import_messages([{"role": "user", "content": f"berth {n}"} for n in range(10)])
        store.purge(text="berth 7")
        assert [len(store.search(word, limit=1000)) for word in ("pier", "berth", "7")] == [600, 9, 1]


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
