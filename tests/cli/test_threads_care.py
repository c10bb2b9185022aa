"""weft rm, gc, purge, fsck, backup, doctor and stats: taking away, and looking after."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import weft as library
from tests.support.cli import Weft, in_terminal, program

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-very-secret-4711"


@pytest.fixture
def thread(weft: Weft) -> dict[str, str]:
    ids = {"one": weft("add", "one", "-b", "t").id}
    for name in ("two", "three"):
        ids[name] = weft("add", "-c", "t", name).id
    return ids


def database(tmp_path: Path) -> sqlite3.Connection:
    return sqlite3.connect(tmp_path / "home" / "weft.db")


# -- rm and gc ---------------------------------------------------------------------------------------------------------


def test_rm_removes_the_end_of_a_thread_and_says_what(weft: Weft, thread: dict[str, str]) -> None:
    weft("branch", "kept", thread["one"])
    tried = weft("rm", "t", "--dry-run")
    assert (tried.lines, tried.err) == ([thread["two"], thread["three"]], "2 turns would go\n")
    assert len(weft("log", "--all").lines) == 3

    done = weft("rm", "t")

    assert (done.lines, done.err) == ([thread["two"], thread["three"]], "2 turns removed\n")
    assert [row["id"] for row in weft("log", "--all", "--json").json] == [thread["one"]]
    assert weft("fsck").status == 0


def test_rm_of_the_middle_needs_a_word(weft: Weft, thread: dict[str, str]) -> None:
    refused = weft("rm", thread["two"], ok=False)
    assert refused.status == 1
    assert "(--with-rest)" in refused.err
    assert "delete the bookmark first" in weft("rm", thread["three"], ok=False).err

    weft("bookmark", "delete", "t")
    assert weft("rm", thread["two"], "--with-rest", "--json").json["turns"] == list(thread.values())


def test_rm_asks_on_a_terminal(weft: Weft, thread: dict[str, str]) -> None:
    status, shown = in_terminal("rm", "t", typed=[("[y/N]", "n")])
    assert (status, "Remove 3 turns for good? This cannot be undone." in shown) == (130, True)
    assert len(weft("log", "--all").lines) == 3

    assert in_terminal("rm", thread["three"], "--yes")[0] == 1
    assert in_terminal("rm", "t", typed=[("[y/N]", "y")])[0] == 0
    assert weft("log", "--all").out == ""


def test_gc_sweeps_and_removes_what_has_no_name(weft: Weft, thread: dict[str, str]) -> None:
    lone = weft("add", "nobody's").id
    assert weft("gc").err == "0 turns removed\n"
    time.sleep(0.01)

    assert weft("gc", "--unnamed-before", "0m", "--dry-run").lines == [lone]
    assert weft("gc", "--unnamed-before", "30d", "--json").json == {
        "turns": [],
        "files": 0,
        "bytes": 0,
        "dry_run": False,
    }
    assert weft("gc", "--unnamed-before", "0m").lines == [lone]
    assert len(weft("log", "--all").lines) == len(thread)
    assert weft("gc", "--unnamed-before", "soon", ok=False).status == 1


def test_gc_sweeps_files(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("x" * 300_000)
    made = weft("doc", str(tmp_path / "big.txt")).id
    files = [path for path in (tmp_path / "home" / "content").rglob("*") if path.is_file()]
    assert files
    assert weft("rm", made).status == 0
    orphan = files[0]
    orphan.parent.mkdir(parents=True, exist_ok=True)
    orphan.write_bytes(b"left behind")

    assert "1 file (11 B) would go" in weft("gc", "--dry-run").err
    assert "1 file (11 B) removed" in weft("gc").err
    assert not orphan.exists()


# -- purge -------------------------------------------------------------------------------------------------------------


def holding(folder: Path, text: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_k09_a_purged_text_is_nowhere(weft: Weft, tmp_path: Path) -> None:
    weft("add", f"my key is {SECRET}, keep it", "-b", "t")
    weft("add", "-c", "t", "-j", f'{{"type":"tool_use","name":"x","input":{{"key":"{SECRET}"}}}}')
    weft("search", "very")
    assert holding(tmp_path / "home", SECRET)

    ran = weft("purge", "--text", SECRET, "--yes")

    assert ran.out == "purged from 2 places\n"
    assert holding(tmp_path / "home", SECRET) == []
    assert weft("ctx", "resolve", "t").json["messages"][0]["content"][0]["text"] == "my key is [purged], keep it"
    assert weft("search", SECRET).out == ""
    assert weft("fsck").status == 0


def test_a_turn_is_purged_and_its_place_kept(weft: Weft, thread: dict[str, str], tmp_path: Path) -> None:
    weft("edit", thread["two"], "--text", SECRET)
    middle = weft("ctx", "list", "t").json[1]["id"]

    weft("purge", middle[:20], "--yes")

    assert holding(tmp_path / "home", SECRET) == []
    assert [one["content"][0]["text"] for one in weft("ctx", "list", "t").json] == ["one", "[purged]", "three"]


def test_purge_reads_the_secret_from_a_pipe_or_asks_for_it_unseen(weft: Weft) -> None:
    weft("add", f"it is {SECRET}", "-b", "t")
    assert program("purge", "--text", "-", "--yes", stdin=f"{SECRET}\n".encode()).out == "purged from 1 place\n"

    weft("add", f"again {SECRET}", "-c", "t")
    status, shown = in_terminal("purge", "--text", "-", typed=[("Text to forget", SECRET), ("[y/N]", "y")])
    assert (status, "purged from 1 place" in shown, SECRET in shown) == (0, True, False)


def test_purge_asks_and_without_a_terminal_needs_a_yes(weft: Weft) -> None:
    weft("add", f"it is {SECRET}", "-b", "t")

    refused = weft("purge", "t", ok=False)
    assert (refused.status, refused.err) == (
        1,
        "weft: this cannot be undone; nobody is there to ask, so say --yes\n",
    )
    assert in_terminal("purge", "t", typed=[("[y/N]", "n")])[0] == 130
    assert SECRET in weft("log", "t").out
    assert weft("purge", ok=False).status == weft("purge", "t", "--text", "x", ok=False).status == 2
    assert "nothing holds that" in weft("purge", "--text", "not there", "--yes").err
    assert weft("purge", "--text", "ab", "--yes", ok=False).status == 1
    assert weft("purge", "t", "--yes", "--json").json["dry_run"] is False


# -- fsck --------------------------------------------------------------------------------------------------------------


def test_d22_fsck_names_each_problem_and_exits_with_1(weft: Weft, thread: dict[str, str], tmp_path: Path) -> None:
    with closing(database(tmp_path)) as connection:
        connection.execute("UPDATE frames SET data = ? WHERE id = ?", (b"[]", thread["two"]))
        connection.execute("UPDATE frames SET parent = 4711 WHERE id = ?", (thread["three"],))
        connection.commit()

    ran, problems = weft("fsck", ok=False), weft("fsck", "--json", ok=False)

    assert (ran.status, problems.status) == (1, 1)
    assert {problem["kind"] for problem in problems.json} >= {"hash", "dangling"}
    assert thread["two"] in ran.out
    assert thread["three"] in ran.out
    assert "found" in ran.err


def test_a_file_that_is_no_database_is_one_line(weft: Weft, thread: dict[str, str], tmp_path: Path) -> None:
    assert thread
    (tmp_path / "home" / "weft.db").write_bytes(b"this is no database, whatever its name" * 100)
    for command in (["fsck"], ["log"], ["add", "x"]):
        ran = program(*command)
        assert (ran.status, ran.out, ran.err.count("\n")) == (1, "", 1), command
    assert weft("doctor", ok=False).status == 1


def test_d16_a_newer_store_is_refused_and_untouched(weft: Weft, thread: dict[str, str], tmp_path: Path) -> None:
    assert thread
    path = tmp_path / "home" / "weft.db"
    with closing(database(tmp_path)) as connection:
        connection.execute("PRAGMA user_version=99")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = hashlib.sha256(path.read_bytes()).hexdigest()

    for command in (["add", "x"], ["log"], ["rm", "t"], ["purge", "t", "--yes"], ["backup", str(tmp_path / "b")]):
        ran = weft(*command, ok=False)
        assert (ran.status, "newer weft" in ran.err) == (1, True)
    assert weft("doctor", ok=False).status == 1
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


# -- backup ------------------------------------------------------------------------------------------------------------


def test_d17_a_backup_is_a_store(weft: Weft, thread: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("x" * 300_000)
    weft("doc", str(tmp_path / "big.txt"), "-b", "big")
    copy = str(tmp_path / "copy")

    assert weft("backup", copy).id == copy
    weft("rm", "t")

    assert [row["id"] for row in weft("log", "t", "--store", copy, "--json").json] == list(reversed(thread.values()))
    assert weft("fsck", "--store", copy).out == "no problems in 4 turns\n"
    again = weft("backup", copy, ok=False)
    assert (again.status, "not empty" in again.err) == (1, True)


# -- doctor and stats --------------------------------------------------------------------------------------------------


def test_c10_doctor_reports_version_risk_modes_space_and_health(weft: Weft, thread: dict[str, str]) -> None:
    assert thread
    begun = time.perf_counter()
    ran = weft("doctor")
    took = time.perf_counter() - begun
    findings = {one["name"]: (one["level"], one["message"]) for one in weft("doctor", "--json").json}

    assert took < 2
    assert findings["sqlite"][1].startswith(sqlite3.sqlite_version)
    if sqlite3.sqlite_version_info < (3, 51, 3):
        assert findings["sqlite"][0] == "note"
        assert "checkpoint" in findings["sqlite"][1]
    assert findings["journal"][1].startswith("wal")
    assert findings["modes"] == ("good", "only you can read the store's files")
    assert findings["health"][0] == "good"
    assert "MB free" in findings["space"][1]
    assert [line.split()[1] for line in ran.lines if not line.startswith(" ")] == list(findings)


def test_doctor_sees_open_modes_waiting_turns_and_missing_stores(
    weft: Weft, thread: dict[str, str], tmp_path: Path
) -> None:
    assert thread
    (tmp_path / "home").chmod(0o755)
    spool = tmp_path / "home" / "spool"
    spool.mkdir(exist_ok=True)
    (spool / "x.json").write_text("{}")
    home = str(tmp_path / "home")

    findings = {one["name"]: one for one in weft("doctor", "--store", home, "--json").json}

    assert findings["modes"]["level"] == findings["spool"]["level"] == "note"
    missing = weft("doctor", "--store", str(tmp_path / "nosuch"), ok=False)
    assert (missing.status, "BAD   store" in missing.out) == (1, True)


def test_doctor_finds_a_damaged_page(weft: Weft, tmp_path: Path) -> None:
    for n in range(60):
        weft("add", f"{n} " + "x" * 3000)
    path = tmp_path / "home" / "weft.db"
    with closing(database(tmp_path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        for page in range(5, 40, 3):
            file.seek(page * size)
            file.write(os.urandom(64))

    ran = weft("doctor", ok=False)

    assert (ran.status, "BAD   health" in ran.out) == (1, True)
    assert weft("fsck", ok=False).status == 1


def test_stats_counts_what_is_kept(weft: Weft, thread: dict[str, str], tmp_path: Path) -> None:
    assert thread
    counts = weft("stats", "--json").json

    assert (counts["turns"], counts["threads"], counts["bookmarks"], counts["backend"]) == (3, 1, 1, "sqlite")
    lines = weft("stats").lines
    assert lines[0].split() == ["store", str(tmp_path / "home" / "weft.db")]
    assert lines[2].split() == ["turns", "3"]


def test_d07_a_read_only_store_can_be_read_and_says_why_not_written(
    weft: Weft, thread: dict[str, str], tmp_path: Path
) -> None:
    """D-07: one line, no traceback, and nothing changed. Root may write anywhere, unless it gives that up."""
    assert thread
    home = tmp_path / "home"
    before = weft("log", "t", "--json").json
    humble = ("setpriv", "--bounding-set", "-dac_override") if os.geteuid() == 0 else ()
    kept = [home, *home.rglob("*")]
    modes = [path.stat().st_mode for path in kept]
    for path, mode in zip(kept, modes, strict=True):
        path.chmod(mode & ~0o222)
    try:
        read, refused = program("log", "t", "--json", under=humble), program("add", "x", under=humble)
    finally:
        for path, mode in zip(kept, modes, strict=True):
            path.chmod(mode)

    assert (read.status, read.json) == (0, before)
    assert (refused.status, refused.out, len(refused.err.splitlines())) == (1, "", 1), refused.err
    assert "Traceback" not in refused.err
    assert weft("log", "t", "--json").json == before


# -- PostgreSQL --------------------------------------------------------------------------------------------------------


@pytest.mark.needs_postgres
def test_the_same_commands_work_over_postgresql(
    weft: Weft, postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WEFT_STORE", postgres_url)
    question = weft("add", "When is high water?", "-b", "tides").id
    weft("add", "-c", "tides", "--role", "assistant", f"At 06:10. {SECRET}")
    weft("branch", "neap", question)
    weft("add", "-c", "neap", "And at neaps?")
    weft("merge", "tides", "neap", "-b", "both")
    weft("edit", question[:14], "--text", "When is low water?", "--end", "tides", "-b", "low")

    assert weft("log", "--graph", "--all", "-n", "0").out.count("●") == 6
    assert len(weft("threads", "--json").json) == 2
    assert [hit["role"] for hit in weft("search", "neaps", "--json").json] == ["user"]
    assert weft("diff", "tides", "low", "--json").json["steps"][0]["what"] == "changed"
    assert weft("show", "low", "--json").json["role"] == "assistant"
    assert weft("purge", "--text", SECRET, "--yes").out == "purged from 2 places\n"
    assert weft("fsck").out == "no problems in 6 turns\n"
    assert weft("rm", "low", "--dry-run").err == "2 turns would go\n"
    assert weft("gc", "--dry-run").status == 0
    assert {one["level"] for one in weft("doctor", "--json").json} == {"good"}
    assert weft("stats", "--json").json["backend"] == "postgresql"
    refused = weft("backup", str(tmp_path / "x"), ok=False)
    assert (refused.status, "pg_dump" in refused.err) == (1, True)
    assert weft("log", "--store", str(postgres_url), "nosuch", ok=False).status == 5


def test_a_server_that_is_not_there_is_one_clear_error(weft: Weft) -> None:
    for command in (["log"], ["doctor"]):
        ran = weft(*command, "--store", "postgresql://nobody:hidden@127.0.0.1:1/none", ok=False)
        assert ran.status == 1
        assert "Traceback" not in ran.err
        assert "hidden" not in ran.err + ran.out


def test_the_library_opens_what_the_command_wrote(weft: Weft, tmp_path: Path) -> None:
    weft("add", "hello", "-b", "t")
    with library.open_store(tmp_path / "home") as store:
        assert store.thread("t").title == "hello"
