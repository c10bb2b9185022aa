"""Connections for reading: one a thread, and none for threads that have ended."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import weft
from weft.store import rows


def opened(path: Path) -> int:
    """Count how often this process has a file open."""
    fds = Path("/proc/self/fd")
    return sum(os.path.realpath(fd) == str(path) for fd in fds.iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted by /proc")
def test_threads_that_have_ended_leave_no_connection_behind(sqlite_store: weft.Store, tmp_path: Path) -> None:
    """X-29: each has a cache of megabytes; a long answer, or a server, begins hundreds of short threads."""
    sqlite_store.add_turn("Hello.", bookmark="tides")
    path = (tmp_path / "store" / "weft.db").resolve()

    counts = []
    for _ in range(8):
        thread = threading.Thread(target=lambda: sqlite_store.search("hello"))
        thread.start()
        thread.join()
        counts.append(opened(path))

    assert max(counts[1:]) <= counts[0] + 1
    assert sqlite_store.turn("tides").text == "Hello."


def test_frames_of_a_topic_are_found_without_reading_the_turns(sqlite_store: weft.Store, tmp_path: Path) -> None:
    """The index over topics has everything but turns: who can be called is asked for at every start."""
    from weft.store.sqlite_files import open_reader

    sqlite_store.add_turn("Hello.")
    connection = open_reader(tmp_path / "store" / "weft.db")
    try:
        for sql, values in ((rows._ALL_OF_TOPIC, ("gpt.provider", -1)), (rows._LAST_OF_TOPIC, ("gpt.provider", 1))):
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
            assert plan[0].startswith("SEARCH f USING INDEX frames_by_topic")
    finally:
        connection.close()
