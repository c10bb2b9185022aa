"""A real PostgreSQL server for tests: one temporary cluster per test process, on a socket and a loopback port.

Durability is as in production (fsync stays on), so that crash tests mean something. The server refuses to run as
root; started by root it runs as an unprivileged user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from tests.support.components import require

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "PostgresCluster",
    "postgres",
    "postgres_database",
    "postgres_store_database",
    "postgres_store_url",
    "postgres_url",
]

SUPERUSER = "weft"
# The signals of `pg_ctl stop`: wait for clients, disconnect them, or stop as in a crash (recovery at next start).
SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
PATIENCE_SECONDS = 60.0
_DISCONNECT_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class _RunAs(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


class PostgresCluster:
    """A cluster in a folder of its own, that can be stopped in every way, started again and removed."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._run_as = _unprivileged()
        # /tmp rather than $TMPDIR: a socket's path may have 107 bytes at most.
        self._base = Path(tempfile.mkdtemp(prefix="weft-pg-", dir="/tmp" if Path("/tmp").is_dir() else None))  # noqa: S108
        self._data = self._base / "data"
        self._log = self._base / "server.log"
        self._server: subprocess.Popen[bytes] | None = None
        self.port = 0
        if "user" in self._run_as:
            os.chown(self._base, self._run_as["user"], self._run_as["group"])
        self._initdb()

    @property
    def running(self) -> bool:
        return self._server is not None and self._server.poll() is None

    def url(self, database: str = "postgres", *, over: Literal["tcp", "socket"] = "tcp") -> str:
        """Return the address of a database of this cluster."""
        if over == "socket":
            return f"postgresql://{SUPERUSER}@/{database}?host={self._base}&port={self.port}"
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it answers; after the first start the port stays the same."""
        if self.running:
            return
        self.port = self.port or _free_port()
        options = [f"-k{self._base}", "-h127.0.0.1", f"-p{self.port}", "-cfsync=on", "-cmax_connections=100"]
        command = [str(self._programs / "postgres"), "-D", str(self._data), *options]
        with self._log.open("ab") as log:
            self._server = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._base, **self._run_as)
        self._wait_until_ready(self._server)

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop the server; `immediate` is as a crash, everything acknowledged must survive it."""
        if self._server is None:
            return
        self._server.send_signal(SIGNALS[mode])
        self._server.wait(PATIENCE_SECONDS)
        self._server = None

    def restart(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        self.stop(mode)
        self.start()

    def create_database(self) -> str:
        """Create an empty database and return its name."""
        name = f"t_{uuid4().hex}"
        self._administer("CREATE DATABASE {}", name)
        return name

    def drop_database(self, name: str) -> None:
        self._administer("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def remove(self) -> None:
        """Stop the server and delete the cluster."""
        self.stop("immediate")
        shutil.rmtree(self._base)

    def empty_database(self, name: str) -> None:
        """Leave nothing in a database, and nobody connected to it: a fifth of the time of making a new one."""
        with closing(psycopg.connect(self.url(name), autocommit=True)) as connection:
            connection.execute(_DISCONNECT_OTHERS)
            connection.execute("SET synchronous_commit = off")
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")

    def empty_tables(self, name: str, *, but: str) -> None:
        """Leave all tables of a database as they are, and no row in any but one; nobody stays connected."""
        with closing(psycopg.connect(self.url(name), autocommit=True)) as connection:
            connection.execute(_DISCONNECT_OTHERS)
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            # replica: rows are not deleted one by one for those that refer to them, since all go.
            commands: list[sql.Composable] = [sql.SQL("SET session_replication_role = replica")]
            commands += [sql.SQL("DELETE FROM {}").format(sql.Identifier(table)) for (table,) in tables if table != but]
            connection.execute(sql.SQL("; ").join(commands))

    def _administer(
        self, statement: Literal["CREATE DATABASE {}", "DROP DATABASE IF EXISTS {} WITH (FORCE)"], name: str
    ) -> None:
        with closing(psycopg.connect(self.url(), autocommit=True)) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))

    def _initdb(self) -> None:
        command = [str(self._programs / "initdb"), "-D", str(self._data), "-U", SUPERUSER]
        # --no-sync: nothing is lost if the machine dies while an empty cluster is made; the server itself syncs.
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        subprocess.run([*command, *options], check=True, capture_output=True, cwd=self._base, **self._run_as)

    def _wait_until_ready(self, server: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError as error:
                if server.poll() is not None or time.monotonic() > deadline:
                    log = self._log.read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"PostgreSQL did not start: {log}") from error
                time.sleep(0.02)
            else:
                return


def _unprivileged() -> _RunAs:
    if os.getuid() != 0:
        return {}
    known = {user.pw_name: user for user in pwd.getpwall()}
    user = known.get("postgres") or known["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresCluster]:
    """The cluster of this test process. A test that stops it starts it again."""
    programs = require("postgres")
    with ExitStack() as stack:
        cluster = PostgresCluster(programs)
        stack.callback(cluster.remove)
        cluster.start()
        yield cluster


@pytest.fixture(scope="session")
def postgres_database(postgres: PostgresCluster) -> str:
    """The one database that tests take turns with."""
    return postgres.create_database()


@pytest.fixture
def postgres_url(postgres: PostgresCluster, postgres_database: str) -> Iterator[str]:
    """The address of an empty database that no other test uses at the time."""
    postgres.start()  # an earlier test may have failed between stop and start
    postgres.empty_database(postgres_database)
    yield postgres.url(postgres_database)
    postgres.start()


@pytest.fixture(scope="session")
def postgres_store_database(postgres: PostgresCluster) -> str:
    """A database with the tables of a store, that tests take turns with."""
    import weft

    name = postgres.create_database()
    weft.open_store(postgres.url(name)).close()
    return name


@pytest.fixture
def postgres_store_url(postgres: PostgresCluster, postgres_store_database: str) -> str:
    """The address of an empty store in PostgreSQL: emptied, which is much faster than made."""
    postgres.start()  # an earlier test may have failed between stop and start
    postgres.empty_tables(postgres_store_database, but="weft_version")
    with closing(psycopg.connect(postgres.url(postgres_store_database), autocommit=True)) as connection:
        connection.execute("INSERT INTO facts VALUES ('indexed', '0')")  # as the last step of the tables leaves it
    return postgres.url(postgres_store_database)
