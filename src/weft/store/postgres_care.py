"""Looking after a PostgreSQL store: versions, checking, counting, forgetting."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from weft.errors import BlobNotFoundError
from weft.store.base import Problem, Query, StoreStats
from weft.store.checking import check_rows
from weft.store.searchtext import facet

if TYPE_CHECKING:
    import psycopg

    from weft.store.postgres import PostgresFrames

__all__ = ["check", "migrate", "query_text", "scrub", "stats", "version", "without_password", "words_of"]

_LONGEST = 500  # characters of a word that are told apart; PostgreSQL takes 2046 bytes
_WORD = re.compile(r"[^\W_]{1,500}")
_APART = bytes(c if chr(c).isalnum() else 32 for c in range(128)) + bytes(128)  # ASCII: all but words is space
_HAS_TABLE = "SELECT to_regclass('weft_version') IS NOT NULL"
_COUNTS = """
    SELECT (SELECT count(*) FROM frames), (SELECT count(*) FROM frames WHERE topic = 'gpt.turn'),
        (SELECT count(*) FROM bookmarks WHERE seq IS NOT NULL),
        (SELECT count(*) FROM frames WHERE owner IS NULL AND hash IS NOT NULL),
        (SELECT coalesce(sum(size), 0) FROM frames WHERE owner IS NULL AND hash IS NOT NULL),
        (SELECT count(*) FROM frames WHERE topic = 'gpt.turn' AND root = seq)
"""


def version(connection: psycopg.Connection[Any]) -> int:
    """Read the version of the tables; 0 when there are none."""
    row = connection.execute(_HAS_TABLE).fetchone()
    if row is None or not row[0]:
        return 0
    found = connection.execute("SELECT max(version) FROM weft_version").fetchone()
    return int(found[0] or 0) if found else 0


def migrate(connection: psycopg.Connection[Any], steps: Sequence[Sequence[str]], lock_key: int) -> None:
    """Bring the tables to the newest version, each step whole or not at all [D-15]."""
    for number in range(len(steps)):
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key,))
            if version(connection) > number:
                continue  # done before, or by another client while we waited
            connection.execute("CREATE TABLE IF NOT EXISTS weft_version (version integer PRIMARY KEY)")
            for statement in steps[number]:
                connection.execute(statement.encode())
            connection.execute("INSERT INTO weft_version VALUES (%s)", (number + 1,))


def words_of(text: str) -> str:
    """Write each word of a text once, as a tsvector is written.

    PostgreSQL's own parser is not asked: it would see URLs, numbers and tags in them (and a word like 1e5abc as two),
    and takes longer than everything else in an append.
    """
    if text.isascii():
        words = set(text.encode().translate(_APART).split())
        if len(max(words, key=len, default=b"")) <= _LONGEST:
            return b" ".join(words).decode()
    return " ".join(set(_WORD.findall(text)))


def query_text(query: Query) -> str:
    """Write a query as a tsquery is written. Words are letters and digits only, so none is an operator."""
    words = [f"{word[:-1][:_LONGEST]}:*" if word.endswith("*") else word[:_LONGEST] for word in query.words]
    words += [word[:_LONGEST] for phrase in query.phrases for word in phrase]
    words += [
        facet(kind, value)
        for kind, value in (("r", query.role), ("m", query.model), ("h", query.bookmark))
        if value is not None
    ]
    return " & ".join(words)


def check(ask: Callable[..., list[Any]]) -> list[Problem]:
    """Look for damage in the rows."""

    def no_file(digest: bytes) -> bytes:
        raise BlobNotFoundError(digest.hex())

    return check_rows(ask, no_file)


def scrub(connection: psycopg.Connection[Any]) -> None:
    """Rewrite the tables, so that nothing of what was removed stays in their pages."""
    for table in ("frames", "words", "edges", "refs", "bookmarks", "chunks", "exchanges", "sessions"):
        connection.execute(f"VACUUM FULL {table}".encode())
    connection.execute("CHECKPOINT")


def stats(store: PostgresFrames, store_version: int) -> StoreStats:
    """Count what is kept, and what it takes."""
    from weft.store.exchanges import Exchanges  # noqa: PLC0415  # only care needs it

    frames, turns, bookmarks, payloads, payload_bytes, threads = store.ask(_COUNTS)[0]
    disk = store.ask("SELECT pg_database_size(current_database())")[0][0]
    server = store.ask("SHOW server_version")[0][0]
    details = {"postgresql": server, "url": without_password(store.url), **Exchanges(store).counts()}
    return StoreStats(
        frames, turns, threads, bookmarks, payloads, int(payload_bytes), disk, "postgresql", store_version, details
    )


def without_password(url: str) -> str:
    """Give an address that can be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}:***@{host}"))
