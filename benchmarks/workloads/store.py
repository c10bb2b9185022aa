"""Appending turns and resolving threads; the same turns for weft, for bare sqlite3 and psycopg, and for llm.

All write to a disk of the system (benchmarks/.results, or a server's), wait for it with every turn, and keep the same
bytes. With WEFT_BENCH_POSTGRES weft's side is in that database; WEFT_BENCH_BARE is the one of bare psycopg.
"""

from __future__ import annotations

import atexit
import hashlib
import itertools
import os
import random
import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTHS = (1_000, 10_000)
FOLDER = Path(__file__).resolve().parents[1] / ".results"


def texts(count: int, seed: int) -> list[str]:
    """Make messages of about 1 kB of ordinary words."""
    luck = random.Random(seed)
    words = ["".join(luck.choices("etaoinshrdlu", k=luck.randrange(2, 9))) for _ in range(4000)]
    often = [1 / (n + 1) for n in range(len(words))]
    return [" ".join(luck.choices(words, often, k=luck.randrange(120, 260))) for _ in range(count)]


def functions(library: Any) -> dict[str, Callable[[], object]]:
    """Return what can be timed with this library."""
    FOLDER.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{library.__name__}-", dir=FOLDER))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sides = {"weft": _weft, "sqlite3": _sqlite3, "psycopg": _psycopg, "llm": _llm}
    return sides[library.__name__](library, folder)


def _weft(weft: Any, folder: Path) -> dict[str, Callable[[], object]]:
    server = os.environ.get("WEFT_BENCH_POSTGRES")
    store, said, last = weft.open_store(server or folder / "appending"), itertools.cycle(texts(4000, 1)), [None]
    number = itertools.count()

    def append() -> None:
        last[0] = store.add_turn(f"{next(number)} {next(said)}", continues=last[0]).id

    long = weft.open_store(server or folder / "long")
    ends = {
        length: long.import_messages(
            [
                {"role": "user" if n % 2 == 0 else "assistant", "content": f"{length} {n} {text}"}
                for n, text in enumerate(texts(length, 2))
            ]
        )[-1].id
        for length in LENGTHS
    }
    return {
        "append": append,
        "append_at_once": append,
        "resolve_1000": lambda: len(long.resolve(ends[1_000])["messages"]),
        "resolve_10000": lambda: len(long.resolve(ends[10_000])["messages"]),
        "same_answer": lambda: [len(long.resolve(end)["messages"]) for end in ends.values()],
    }


def _bare_row(n: int, text: str, thread: int) -> tuple[Any, ...]:
    # The fastest encoder and decoder there are, on the bare side too.
    from orjson import dumps  # noqa: PLC0415

    meta = {"role": "user", "content_type": "application/json", "options": {}, "continues": [f"{n - 1:025}"]}
    payload = dumps([{"type": "text", "text": text}])
    return f"{n:025}", thread, "gpt.turn", hashlib.sha256(payload).digest(), dumps(meta).decode(), payload


def _sqlite3(sqlite3: Any, folder: Path) -> dict[str, Callable[[], object]]:
    """One table, one index, nothing else: what any program would at least have to do."""
    from orjson import loads  # noqa: PLC0415

    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE turns (id TEXT PRIMARY KEY, thread INT, topic TEXT, hash BLOB, meta TEXT, payload BLOB)"
    )
    number = itertools.count()
    said = itertools.cycle(texts(4000, 1))
    insert = "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)"

    ready = [_bare_row(0, "", 0)]

    def append() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(insert, ready[-1])
        connection.execute("COMMIT")
        n = next(number)
        ready[-1] = _bare_row(n + 1, f"{n} {next(said)}", 0)  # a few microseconds that weft has to spend too

    def append_at_once() -> None:
        connection.execute(insert, ready[-1])
        n = next(number)
        ready[-1] = _bare_row(n + 1, f"{n} {next(said)}", 0)

    threads = sqlite3.connect(folder / "long.db")
    threads.execute(
        "CREATE TABLE turns (id TEXT PRIMARY KEY, thread INT, topic TEXT, hash BLOB, meta TEXT, payload BLOB)"
    )
    for length in LENGTHS:
        rows = (_bare_row(length * 10 + n, f"{length} {n} {text}", length) for n, text in enumerate(texts(length, 2)))
        threads.executemany(insert, rows)
    threads.execute("CREATE INDEX by_thread ON turns (thread, id)")
    threads.commit()

    def resolve(length: int) -> int:
        rows = threads.execute("SELECT meta, payload FROM turns WHERE thread = ? ORDER BY id", (length,))
        return len([(loads(meta), loads(payload)) for meta, payload in rows])

    return {
        "append": append,
        "append_at_once": append_at_once,
        "resolve_1000": lambda: resolve(1_000),
        "resolve_10000": lambda: resolve(10_000),
        "same_answer": lambda: [resolve(length) for length in LENGTHS],
    }


def _psycopg(psycopg: Any, _: Path) -> dict[str, Callable[[], object]]:
    """The same in PostgreSQL, on the server that weft's side uses too, with its durability."""
    from orjson import loads  # noqa: PLC0415

    connection = psycopg.connect(os.environ["WEFT_BENCH_BARE"])
    connection.execute(
        "CREATE TABLE turns (id text PRIMARY KEY, thread int, topic text, hash bytea, meta text, payload bytea)"
    )
    insert = "INSERT INTO turns VALUES (%s, %s, %s, %s, %s, %s)"
    for length in LENGTHS:
        rows = [_bare_row(length * 10 + n, f"{length} {n} {text}", length) for n, text in enumerate(texts(length, 2))]
        with connection.cursor() as cursor:
            cursor.executemany(insert, rows)
    connection.execute("CREATE INDEX by_thread ON turns (thread, id)")
    connection.commit()
    number, said = itertools.count(1_000_000), itertools.cycle(texts(4000, 1))

    def append() -> None:
        n = next(number)
        connection.execute(insert, _bare_row(n, f"{n} {next(said)}", 0), prepare=True)
        connection.commit()

    # Reading does not begin transactions, as it does not on weft's side.
    reading = psycopg.connect(os.environ["WEFT_BENCH_BARE"], autocommit=True)

    def append_at_once() -> None:
        n = next(number)
        reading.execute(insert, _bare_row(n, f"{n} {next(said)}", 0), prepare=True)

    def resolve(length: int) -> int:
        question = "SELECT meta, payload FROM turns WHERE thread = %s ORDER BY id"
        rows = reading.execute(question, (length,), prepare=True).fetchall()
        return len([(loads(meta), loads(payload)) for meta, payload in rows])

    return {
        "append": append,
        "append_at_once": append_at_once,
        "resolve_1000": lambda: resolve(1_000),
        "resolve_10000": lambda: resolve(10_000),
        "same_answer": lambda: [resolve(length) for length in LENGTHS],
    }


def _llm(llm: Any, folder: Path) -> dict[str, Callable[[], object]]:
    """Log a reply as `llm prompt` does."""
    # By name: whether they are installed beside weft too, for its own tests, must not matter.
    sqlite_utils, migrations = import_module("sqlite_utils"), import_module("llm.migrations")
    said = itertools.cycle(texts(4000, 1))
    number = itertools.count()

    class Echo(llm.Model):  # type: ignore[misc]
        model_id = "echo"
        can_stream = False

        def execute(self, prompt: Any, *_: Any, **__: Any) -> Any:
            yield prompt.prompt

    model = Echo()
    database = sqlite_utils.Database(folder / "logs.db")
    migrations.migrate(database)
    conversation = model.conversation()

    def append() -> None:
        response = conversation.prompt(f"{next(number)} {next(said)}")
        response.text()
        response.log_to_db(database)
        del conversation.responses[:]  # only the logging is of interest, not the growing request

    return {"append": append}
