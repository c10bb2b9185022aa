from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from tests.support.postgres import PostgresCluster

pytestmark = pytest.mark.needs_postgres


def _rows(url: str) -> list[tuple[int]]:
    with closing(psycopg.connect(url)) as connection:
        return connection.execute("SELECT n FROM kept ORDER BY n").fetchall()


def _keep(url: str, number: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (n integer)")
        connection.execute("INSERT INTO kept VALUES (%s)", (number,))


def test_each_test_has_an_empty_durable_database(postgres_url: str) -> None:
    with closing(psycopg.connect(postgres_url)) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        fsync = connection.execute("SHOW fsync").fetchone()

    assert (tables, fsync) == ((0,), ("on",))


def test_the_socket_and_the_port_lead_to_the_same_database(postgres: PostgresCluster, postgres_url: str) -> None:
    _keep(postgres_url, 7)

    assert _rows(postgres.url(postgres_url.rpartition("/")[2], over="socket")) == [(7,)]


def test_what_was_committed_survives_an_immediate_stop(postgres: PostgresCluster, postgres_url: str) -> None:
    _keep(postgres_url, 1)

    postgres.stop("immediate")
    stopped = postgres.running
    postgres.start()

    assert (stopped, _rows(postgres_url)) == (False, [(1,)])


def test_a_stopped_server_refuses_and_the_same_address_works_after_a_restart(
    postgres: PostgresCluster, postgres_url: str
) -> None:
    _keep(postgres_url, 2)
    postgres.stop()

    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres_url)

    postgres.restart()
    assert _rows(postgres_url) == [(2,)]
