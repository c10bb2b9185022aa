"""The words of turns for the search, written after the turns themselves. PostgreSQL only.

An append writes the turn and no words: that would be a third of its time. Words are taken in afterwards, in batches: by
a short-lived thread of a program that writes much, and by whoever is about to search; the fact `indexed` says up to
which sequence number that is done. One at a time does it, holding that row. Sequence numbers become visible in order,
because a write holds the store's lock until it is committed, so none is passed over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg

from weft.errors import StoreError
from weft.store.base import TURN
from weft.store.postgres_care import words_of
from weft.store.postgres_rows import spelled
from weft.store.searching import entry_text

__all__ = ["ADD_WORDS", "HOLD", "PostgresIndex", "word_parts"]

BATCH = 256  # turns
_BATCH_BYTES = 16_000_000
_PART = 200_000  # characters of text in one tsvector, which holds 1 MB

_LAG = "SELECT (SELECT value::bigint FROM facts WHERE name = 'indexed'), (SELECT max(seq) FROM frames)"
HOLD = "SELECT value::bigint FROM facts WHERE name = 'indexed' FOR UPDATE"
_BEGIN = "SET LOCAL synchronous_commit = off"  # what is lost can be taken in again
_ADVANCE = "UPDATE facts SET value = ? WHERE name = 'indexed'"
_NEXT = "SELECT seq, size FROM frames WHERE seq > ? ORDER BY seq LIMIT ?"
_LOG = """
    SELECT f.seq, f.topic, f.role, b.name, f.flags, f.extra, coalesce(f.data, o.data)
    FROM frames f LEFT JOIN frames o ON o.seq = f.owner LEFT JOIN bookmarks b ON b.number = f.head
    WHERE f.seq > ? AND f.seq <= ? ORDER BY f.seq
"""
ADD_WORDS = """
    INSERT INTO words (seq, part, doc) VALUES (?, ?, ?::tsvector)
    ON CONFLICT (seq, part) DO UPDATE SET doc = excluded.doc
"""


class PostgresIndex:
    """Keeps the words of one store up with its log. `connect` lends this thread's connection, `let_go` closes it."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], let_go: Callable[[], None]) -> None:
        """Take where connections come from."""
        self._connect = connect
        self._let_go = let_go
        self._worker: threading.Thread | None = None
        self._written = 0

    def count(self, appended: int) -> None:
        """Count turns that were written; after many, take their words in beside the program."""
        self._written += appended
        if self._written >= BATCH and (self._worker is None or not self._worker.is_alive()):
            self._written = 0
            self._worker = threading.Thread(target=self._catch_up_quietly, name="weft-index", daemon=False)
            self._worker.start()

    def _catch_up_quietly(self) -> None:
        try:
            # What goes wrong here is met again, and reported, by the next search.
            with suppress(StoreError, psycopg.Error):
                self.catch_up()
        finally:
            self._let_go()

    def catch_up(self) -> int:
        """Take in every turn the log has and the index has not; give the number up to which that is done."""
        connection = self._connect()
        while True:
            done, last = connection.execute(spelled(_LAG), prepare=True).fetchone() or (0, 0)
            if done >= (last or 0):
                return int(done)
            with connection.transaction():
                _take_in(connection)

    def lag(self) -> tuple[int, int]:
        """Give the number up to which words are taken in, and the last there is."""
        done, last = self._connect().execute(spelled(_LAG), prepare=True).fetchone() or (0, 0)
        return int(done), int(last or 0)

    def join(self) -> None:
        """Wait for the thread."""
        worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join()


def _take_in(connection: psycopg.Connection[Any]) -> None:
    """Take in the next turns, a batch of them."""
    connection.execute(_BEGIN.encode())
    row = connection.execute(HOLD.encode()).fetchone()
    done = int(row[0]) if row else 0
    total, last = 0, done
    for seq, size in connection.execute(spelled(_NEXT), (done, BATCH), prepare=True).fetchall():
        total += size or 0
        if last > done and total > _BATCH_BYTES:
            break
        last = seq
    words = []
    for seq, topic, role, head, flags, extra, data in connection.execute(spelled(_LOG), (done, last), prepare=True):
        if topic == TURN:
            text = entry_text(role, head, flags, extra, data)
            words += [(seq, part, written) for part, written in enumerate(word_parts(text))]
    with connection.cursor() as cursor:
        cursor.executemany(spelled(ADD_WORDS), words)
    connection.execute(spelled(_ADVANCE), (str(last),))


def word_parts(text: str) -> Iterator[str]:
    """Cut a text for its tsvectors, between words."""
    start = 0
    while start < len(text):
        end = start + _PART
        if end < len(text):
            end = text.rfind(" ", start, end) + 1 or end
        yield words_of(text[start:end])
        start = end
