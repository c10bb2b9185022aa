"""D-20, D-22: two backends that say the same, and damage that is found."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import weft
from weft.errors import StoreError, WeftError

Damage = Callable[[sqlite3.Connection, Path], None]


def sql(statement: str) -> Damage:
    def damage(connection: sqlite3.Connection, folder: Path) -> None:
        del folder
        connection.execute(statement)

    return damage


def forced(column: str, value: str) -> Damage:
    """Write what the table would refuse, as a flipped byte in the header of a row does."""

    def damage(connection: sqlite3.Connection, folder: Path) -> None:
        del folder
        connection.execute("PRAGMA writable_schema=1")
        loosened = "replace(replace(sql, 'STRICT', ''), ' NOT NULL', '')"
        connection.execute(f"UPDATE sqlite_schema SET sql = {loosened} WHERE type = 'table' AND name = 'frames'")  # noqa: S608
        connection.execute("PRAGMA writable_schema=RESET")
        connection.execute(f"UPDATE frames SET {column} = {value} WHERE seq = 3")  # noqa: S608  # of the table below

    return damage


def flip(position: int) -> Damage:
    def damage(connection: sqlite3.Connection, folder: Path) -> None:
        del connection
        (file,) = (folder / "content").iterdir()
        data = bytearray(file.read_bytes())
        data[position] ^= 1
        file.write_bytes(data)

    return damage


def lose(connection: sqlite3.Connection, folder: Path) -> None:
    del connection
    (file,) = (folder / "content").iterdir()
    file.unlink()


def cut(connection: sqlite3.Connection, folder: Path) -> None:
    del connection
    (file,) = (folder / "content").iterdir()
    file.write_bytes(b"short")


DAMAGE: dict[str, tuple[Damage, str]] = {
    "flipped byte in a file": (flip(0), "content"),
    "flipped byte in the middle": (flip(70_000), "content"),
    "missing file": (lose, "content"),
    "truncated file": (
        cut,
        "content",
    ),
    "flipped byte in a row": (sql("UPDATE frames SET data = zeroblob(length(data)) WHERE seq = 2"), "hash"),
    "other content": (sql("UPDATE frames SET data = x'5b5d' WHERE seq = 3"), "hash"),
    "wrong hash": (sql("UPDATE frames SET hash = zeroblob(32) WHERE seq = 2"), "hash"),
    "missing bytes": (sql("UPDATE frames SET data = NULL WHERE seq = 2"), "payload"),
    "missing owner": (sql("UPDATE frames SET owner = 999 WHERE seq = 4"), "payload"),
    "wrong owner": (sql("UPDATE frames SET owner = 2 WHERE seq = 4"), "payload"),
    "bytes nobody names": (sql("UPDATE frames SET hash = NULL WHERE seq = 3"), "payload"),
    "dangling parent": (sql("UPDATE frames SET parent = 999 WHERE seq = 3"), "dangling"),
    "parent row gone": (sql("DELETE FROM frames WHERE seq = 2"), "dangling"),
    "dangling second parent": (sql("UPDATE edges SET parent = 999"), "dangling"),
    "cycle of one": (sql("UPDATE frames SET parent = 2 WHERE seq = 2"), "cycle"),
    "cycle of three": (sql("UPDATE frames SET parent = 4 WHERE seq = 2"), "cycle"),
    "cycle through an edge": (sql("UPDATE edges SET parent = child"), "cycle"),
    "unreadable meta": (sql("UPDATE frames SET extra = '{' WHERE seq = 3"), "meta"),
    "unreadable options": (sql("UPDATE frames SET options = 'nope' WHERE seq = 3"), "meta"),
    "bookmark to nowhere": (sql("UPDATE bookmarks SET seq = 999"), "bookmark"),
    "wrong root": (sql("UPDATE frames SET root = 3 WHERE seq = 2"), "lineage"),
    "wrong role": (sql("UPDATE frames SET role = 'qser' WHERE seq = 3"), "role"),
    "no flags": (forced("flags", "NULL"), "row"),
    "no topic": (forced("topic", "NULL"), "row"),
    "bytes for an id": (forced("id", "x'07'"), "row"),
    "a text for a hash": (forced("hash", "'sha256-'"), "row"),
    "wrong depth": (sql("UPDATE frames SET depth = 7 WHERE seq = 3"), "lineage"),
    "no JSON in a payload": (sql("UPDATE frames SET flags = flags | 2 WHERE seq = 6"), "payload"),
}


def build(store: weft.Store) -> None:
    first = store.add_turn("one", bookmark="n")
    second = store.add_turn("two", continues=first.id)
    third = store.add_turn("three", continues=second.id)
    store.add_turn("one", continues=third.id, search=True)
    store.add_turn("merge", continues=[third.id, first.id])
    store.import_frames([({"topic": "gpt.turn", "id": "01q8v1n0c5h2t7d9k4m6p8r1s", "meta": {}}, b"plain")])
    store.add_turn("L" * 150_000)


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_and_named(tmp_path: Path, name: str) -> None:
    """D-22."""
    damage, kind = DAMAGE[name]
    folder = tmp_path / "store"
    with weft.open_store(folder) as store:
        build(store)
        ids = [turn.id for turn in store.log()]
        assert store.fsck() == []
    connection = sqlite3.connect(folder / "weft.db", isolation_level=None)
    damage(connection, folder)
    connection.close()

    with weft.open_store(folder) as store:
        problems = store.fsck()
        assert kind in {problem.kind for problem in problems}, problems
        assert all(problem.message and problem.subject for problem in problems)
        for turn_id in ids:
            with suppress(WeftError, ValueError):  # nothing hangs, nothing crashes, nothing wrong is given out
                store.resolve(turn_id)


def test_what_continues_a_circle_is_told_from_it_in_time(tmp_path: Path) -> None:
    """D-22, G-01: a circle is named by the turns on it, however long the thread that continues it."""
    folder = tmp_path / "store"
    count = 8_000
    with weft.open_store(folder) as store:
        turns = store.import_messages([{"role": "user", "content": f"turn {n}"} for n in range(count)])
    connection = sqlite3.connect(folder / "weft.db", isolation_level=None)
    connection.execute("UPDATE frames SET parent = 3 WHERE seq = 2")
    connection.close()

    with weft.open_store(folder) as store:
        began = time.process_time()
        circles = [problem.message for problem in store.fsck() if problem.kind == "cycle"]
        took = time.process_time() - began

    assert circles == [f"turns continue each other in a circle: {turns[1].id}, {turns[2].id}"]
    assert took < 3  # by walking up from each of them it takes four


def test_a_damaged_page_is_found(tmp_path: Path) -> None:
    """D-22: in the database file itself."""
    folder = tmp_path / "store"
    with weft.open_store(folder) as store:
        for n in range(50):
            store.add_turn(f"{n} " * 100)
    data = bytearray((folder / "weft.db").read_bytes())
    page = len(data) // 4096 - 3
    data[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    (folder / "weft.db").write_bytes(data)

    with weft.open_store(folder) as store:
        assert store.fsck() != []


def test_a_lost_or_damaged_index_is_built_again(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with weft.open_store(folder) as store:
        turn = store.add_turn("needle")
        assert len(store.search("needle")) == 1
    for content in (None, b"not a database at all" * 300):
        for path in folder.glob("index.db*"):
            path.unlink()
        if content is not None:
            (folder / "index.db").write_bytes(content)
        with weft.open_store(folder) as store:
            assert [hit.id for hit in store.search("needle")] == [turn.id]
            assert len(store.threads()) == 1


def test_an_index_that_is_damaged_inside_is_named_and_built_again(tmp_path: Path) -> None:
    """D-22: its first pages are sound, so it opens."""
    folder = tmp_path / "store"
    with weft.open_store(folder) as store:
        store.import_messages([{"role": "user", "content": f"needle {n} {'hay ' * 50}"} for n in range(300)])
        assert len(store.search("needle", limit=500)) == 300
    path = folder / "index.db"
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    path.write_bytes(data)

    with weft.open_store(folder) as store:
        assert [problem.kind for problem in store.fsck()] == ["index"]
        assert len(store.search("needle", limit=500)) == 300
        assert len(store.threads()) == 1
        assert store.fsck() == []


def test_a_list_of_tables_that_is_no_text_is_damage_too(tmp_path: Path) -> None:
    """D-22: SQLite quotes it in what it says, and Python cannot read that."""
    folder = tmp_path / "store"
    with weft.open_store(folder) as store:
        store.add_turn("one")
    path = folder / "weft.db"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"CREATE TABLE frames", b"CR\xc4\x80\xc4\xc4 TABLE fr\xc4mes"))

    with pytest.raises(StoreError, match="is damaged"):
        weft.open_store(folder)


SCRIPT = [
    ("plain", {}),
    ("nul \0 and lone \ud800 surrogate \udc00", {"respond": True}),
    (["größe", "日本語", "\x7f\x01"], {"respond": True, "servers": ["a\0b"], "search": False}),
    ("named", {"respond": True, "bookmark": "b", "cache": True, "role": "assistant"}),
    ("carried", {"continues": "b", "provider_ptr": "kilo\ud800"}),
]


def test_both_backends_say_the_same(tmp_path: Path, postgres_url: str) -> None:
    """D-20: the same script, equal exports byte for byte, NUL and lone surrogates included."""
    exports = []
    for url in (str(tmp_path / "store"), postgres_url):
        with weft.open_store(url) as store:
            turns = [store.add_turn(content, **parameters) for content, parameters in SCRIPT]  # type: ignore[arg-type]
            store.add_turn({"type": "odd", "n": 12345678901234567890123, "f": 1.0}, json=True, continues=turns[0].id)
            store.merge(turns[1].id, turns[4].id)
            names = {turn.id: f"t{n}" for n, turn in enumerate(store.log()[::-1])}
            text = repr(
                [
                    (
                        turn.hash,
                        turn.data,
                        turn.meta,
                        store.resolve(turn.id),
                        [hit.id for hit in store.search("surrogate größe")],
                    )
                    for turn in store.log()[::-1]
                ]
                + [store.threads(), list(store.bookmarks()), [hit.id for hit in store.search("nul")]]
            )
            for turn_id, name in names.items():
                text = text.replace(turn_id, name)
            exports.append(text)
            assert store.fsck() == []

    assert exports[0] == exports[1]


test_both_backends_say_the_same = pytest.mark.needs_postgres(test_both_backends_say_the_same)
