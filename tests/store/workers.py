"""What the durability tests run in other processes: `python -m tests.store.workers DOING ARGUMENT…`.

A worker prints the id of each turn only after the store has acknowledged it, so what is printed must survive anything.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

import weft
from weft.errors import WeftError
from weft.store.content import ContentFolder


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def append(url: str, count: str, tag: str, size: str = "20") -> None:
    """Append a chain of turns, each acknowledged by a line."""
    store = weft.open_store(url, busy_seconds=60)
    last: str | None = None
    for n in range(int(count)):
        last = store.add_turn(f"{tag} {n} " + tag[0] * int(size), continues=last).id
        say(f"{last} {n}")
    store.close()


def append_in_children(url: str) -> None:
    """For each line `tag size` read, append in a child of its own until that is killed [D-01].

    Forked, because loading Python and its modules 200 times takes longer than all the appending.
    """
    weft.open_store(url).close()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            say(str(os.getpid()))
            append(url, "100000", *line.split())
            return
        os.waitpid(child, 0)
        say("killed")


def die_after_file(url: str) -> None:
    """Be killed between the payload's file and its row [D-02]."""
    put = ContentFolder.put

    def put_and_die(self: ContentFolder, digest: bytes, data: bytes) -> None:
        put(self, digest, data)
        os.kill(os.getpid(), signal.SIGKILL)

    ContentFolder.put = put_and_die  # type: ignore[method-assign]
    weft.open_store(url).add_turn("x" * 200_000 + str(time.time()))


def hold_lock(url: str, seconds: str) -> None:
    """Hold the store's write lock [D-10]."""
    store = weft.open_store(url)

    def wait(writer: object) -> None:
        del writer
        say("held")
        time.sleep(float(seconds))

    store.frames.write(wait)


def try_to_write(url: str) -> None:
    """Append twice and say what happened; for disks that refuse."""
    store = weft.open_store(url)
    for n in range(2):
        try:
            say(f"ok {store.add_turn(f'try {n}').id}")
        except WeftError as error:
            say(f"error {error}")
        Path(os.environ["WEFT_FAULT"]).unlink(missing_ok=True)


def as_nobody(url: str) -> None:
    """Read and try to write a store that one may only read [D-07]."""
    for module in ("weft.threads", "weft.store.sqlite", "click", "encodings.idna", "locale"):
        importlib.import_module(module)  # nobody may not read the libraries of root's own Python
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    store = weft.open_store(url)
    say(" ".join(turn.text for turn in store.thread("n")))
    say(f"{len(store.search('text'))} {len(store.threads())} {len(store.turn('n').parents[0].children)}")
    try:
        store.add_turn("no")
    except WeftError as error:
        say(str(error))


def fill_disk(url: str) -> None:
    """Append until the disk is full, make room, append again [D-06]."""
    store = weft.open_store(url)
    folder = Path(url)
    done = []
    with contextlib.suppress(WeftError):
        for n in range(10_000):
            done.append(store.add_turn(f"{n} " + os.urandom(3000).hex()).id)  # noqa: PERF401  # until it fails
    say(f"full {len(done)}")
    (folder / "ballast").unlink()
    say(f"again {store.add_turn('room').id}")
    missing = [turn_id for turn_id in done if not store.turn(turn_id).text]
    say(f"missing {len(missing)} problems {len(store.fsck())}")


def check_integrity(url: str) -> None:
    """Ask SQLite itself."""
    connection = sqlite3.connect(Path(url) / "weft.db")
    say(str(connection.execute("PRAGMA integrity_check").fetchone()[0]))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
