"""D-01 to D-22 and K-05 on SQLite, with real processes, real kills and real faults."""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest

import weft
from tests.support.components import require
from weft.errors import StoreBusyError, StoreError, WeftError
from weft.store import sqlite_files
from weft.store.migrations import SQLITE

PROJECT = Path(__file__).resolve().parents[2]
# (default run, soak): the numbers of spec/hardening.md are those of the soak.
KILLS = [6, pytest.param(200, marks=pytest.mark.soak)]
FILE_KILLS = [3, pytest.param(100, marks=pytest.mark.soak)]
CUTS = [30, pytest.param(200, marks=pytest.mark.soak)]
CROWDS = [(4, 25), pytest.param((8, 500), marks=pytest.mark.soak)]
ROUNDS = [40, pytest.param(1000, marks=pytest.mark.soak)]


def start(doing: str, *arguments: object, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.workers", doing, *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )


def run(doing: str, *arguments: object, env: dict[str, str] | None = None) -> list[str]:
    process = start(doing, *arguments, env=env)
    out, err = process.communicate(timeout=110)
    assert "Traceback" not in err, err
    return out.splitlines()


def acknowledged(out: IO[str] | None) -> dict[str, str]:
    assert out is not None
    lines = [line.split() for line in out.read().splitlines()]
    return {parts[0]: parts[1] for parts in lines if len(parts) == 2}


@pytest.mark.parametrize("runs", KILLS)
def test_nothing_acknowledged_is_lost_to_a_kill(store_url: str, runs: int) -> None:
    """D-01: kill -9 at a random moment of appending; payloads are rows, and on SQLite also files."""
    luck = random.Random(runs)
    url = store_url
    begun = time.monotonic()
    with start("append_in_children", url) as writers:
        assert writers.stdin is not None
        assert writers.stdout is not None
        for number in range(runs):
            writers.stdin.write(f"r{number} {luck.choice([20, 2000, 150_000])}\n")
            writers.stdin.flush()
            child = int(writers.stdout.readline())
            said = [writers.stdout.readline()]
            time.sleep(luck.uniform(0.005, 0.06))
            os.kill(child, signal.SIGKILL)
            said += iter(writers.stdout.readline, "killed\n")
            done = [line.split() for line in said]
            with weft.open_store(url) as store:
                for turn_id, n in done:
                    assert store.turn(turn_id).text.startswith(f"r{number} {n} ")
                assert len(store.thread(done[-1][0])) == len(done)
        writers.stdin.close()
    with weft.open_store(url) as store:
        assert store.fsck() == []
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("runs", FILE_KILLS)
def test_no_row_lacks_its_file(tmp_path: Path, runs: int) -> None:
    """D-02: killed between file and row; what is left over is swept."""
    url = tmp_path / "store"
    for _ in range(runs):
        process = start("die_after_file", url)
        process.communicate()
        assert process.returncode == -signal.SIGKILL

    with weft.open_store(url) as store:
        assert store.fsck() == []
        assert store.stats().turns == 0
        assert store.gc().files == runs
        assert store.gc().files == 0


def test_bytes_reach_the_disk_in_order(tmp_path: Path) -> None:
    """D-03: file synced, renamed, folder synced, WAL synced, acknowledged; in every append."""
    strace = str(require("strace"))
    url, trace, count = tmp_path / "store", tmp_path / "trace", 100
    command = [sys.executable, "-m", "tests.store.workers", "append", str(url), str(count), "s", "120000"]
    calls = "trace=openat,fsync,fdatasync,rename,write"
    tracing = [strace, "-f", "-y", "-e", calls, "-o", str(trace), *command]
    subprocess.run(tracing, cwd=PROJECT, check=True, capture_output=True)

    steps = []
    for line in trace.read_text(errors="replace").splitlines():
        if re.search(r"fsync\(\d+<[^>]*\.tmp-", line):
            steps.append("file")
        elif re.search(r"rename\(\"[^\"]*\.tmp-", line):
            steps.append("rename")
        elif re.search(r"fsync\(\d+<[^>]*/content>", line):
            steps.append("folder")
        elif re.search(r"(fsync|fdatasync)\(\d+<[^>]*weft\.db-wal", line):
            steps.append("wal")
        elif re.search(r"write\(1<", line):
            steps.append("said")
    text = " ".join(steps)
    assert text.count("said") == count
    assert len(re.findall(r"file rename folder wal(?: wal)* said", text)) == count


@pytest.mark.parametrize("cuts", CUTS)
def test_a_cut_wal_is_a_prefix_of_the_commits(tmp_path: Path, cuts: int) -> None:
    """D-04: whatever of the WAL is left, whole commits are read."""
    store = weft.open_store(tmp_path / "store")
    turns, last = [], None
    for n in range(60):
        last = store.add_turn(f"turn {n} {'y' * (n * 13)}", continues=last).id
        turns.append(last)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "store", copy)
    store.close()
    wal = (copy / "weft.db-wal").read_bytes()
    luck = random.Random(cuts)

    for number in range(cuts):
        cut = tmp_path / f"cut{number}"
        cut.mkdir(mode=0o700)
        shutil.copy(copy / "weft.db", cut / "weft.db")
        (cut / "weft.db-wal").write_bytes(wal[: luck.randrange(len(wal))])
        try:
            opened = weft.open_store(cut)
        except StoreError:
            continue  # cut before the tables were there
        with opened:
            found = [turn.id for turn in opened.log(limit=1000)][::-1]
            assert found == turns[: len(found)]
            assert opened.fsck() == []
        shutil.rmtree(cut)


def test_a_full_disk_is_said_and_survived(tmp_path: Path) -> None:
    """D-06: a small tmpfs; earlier turns intact, works again after space is freed."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(small)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk needs mount, and that needs root")
    try:
        folder = small / "store"
        folder.mkdir(mode=0o700)
        (folder / "ballast").write_bytes(b"\0" * 1_000_000)
        full, again, summary = run("fill_disk", folder)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
    assert int(full.split()[1]) > 10
    assert again.startswith("again ")
    assert summary == "missing 0 problems 0"


def test_a_store_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    """D-07, B-09: reads and searches work, a write is one line."""
    folder = tmp_path / "store"
    with weft.open_store(folder) as store:
        store.add_turn("some text", bookmark="n")
        store.add_turn("L" * 150_000, continues="n")
        store.search("text")
        store.add_turn("more text", continues="n")
    for path in [tmp_path, *tmp_path.parents]:
        if path.stat().st_uid == os.getuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    # Nobody may not write what is covered, nor read the library that would.
    said = run("as_nobody", folder, env={"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": ""})

    folder.chmod(0o755)
    assert said[0] == "some text " + "L" * 150_000 + " more text"
    assert said[1] == "2 1 1"
    assert "cannot be written" in said[2] or "cannot be opened" in said[2]
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
int fdatasync(int fd) {
    const char *fault = getenv("WEFT_FAULT");
    if (fault && access(fault, F_OK) == 0) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
int fsync(int fd) {
    const char *fault = getenv("WEFT_FAULT");
    if (fault && access(fault, F_OK) == 0) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
"""


def test_a_failing_sync_is_not_acknowledged(tmp_path: Path) -> None:
    """D-08: the append fails, and the next one uses another connection."""
    gcc = str(require("gcc"))  # the fault is made by a small C library
    (tmp_path / "shim.c").write_text(SHIM)
    library = tmp_path / "shim.so"
    subprocess.run([gcc, "-shared", "-fPIC", "-o", str(library), str(tmp_path / "shim.c"), "-ldl"], check=True)
    fault, url = tmp_path / "fault", tmp_path / "store"
    with weft.open_store(url) as store:
        store.add_turn("before")
    fault.touch()

    said = run("try_to_write", url, env={"LD_PRELOAD": str(library), "WEFT_FAULT": str(fault)})

    assert said[0].startswith("error ")
    assert said[1].startswith("ok ")
    with weft.open_store(url) as store:
        assert [turn.text for turn in store.log()] == ["try 1", "before"]
        assert store.fsck() == []


@pytest.mark.parametrize("crowd", CROWDS)
def test_many_processes_write_at_once(store_url: str, crowd: tuple[int, int]) -> None:
    """D-09, T-8: every turn there, ids unique and in order, nobody told of a lock."""
    processes, count = crowd
    weft.open_store(store_url).close()
    writers = [start("append", store_url, count, f"p{n}") for n in range(processes)]
    done: dict[str, str] = {}
    for writer in writers:
        out, err = writer.communicate(timeout=3000)
        assert err == ""
        lines = [line.split()[0] for line in out.splitlines()]
        assert lines == sorted(lines)
        done.update(dict.fromkeys(lines, ""))

    with weft.open_store(store_url) as store:
        assert len(done) == processes * count == store.stats().turns
        assert [row.turns for row in store.threads()] == [count] * processes
        assert store.fsck() == []


def test_a_locked_store_is_waited_for_and_then_spooled(tmp_path: Path) -> None:
    """D-10: one line of error, and what was said is not lost."""
    url = tmp_path / "store"
    store = weft.open_store(url, busy_seconds=0.2)
    first = store.add_turn("first", bookmark="n")
    holder = start("hold_lock", url, 30)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"

    begun = time.monotonic()
    with pytest.raises(StoreBusyError, match="spool") as error:
        store.add_turn("the reply", continues="n", role="assistant", cache=True)
    waited = time.monotonic() - begun
    assert len(store.thread("n")) == 1  # reading goes on
    holder.kill()
    holder.communicate()

    assert 0.15 < waited < 5
    assert "\n" not in str(error.value)
    store.close()
    with weft.open_store(url) as again:
        reply = again.turn("n")
        assert (reply.text, reply.role, reply.cache, reply.meta["continues"]) == (
            "the reply",
            "assistant",
            True,
            [first.id],
        )
        assert not list((url / "spool").iterdir())


def test_a_lock_that_is_freed_in_time_is_no_error(tmp_path: Path) -> None:
    """D-10, D-12."""
    url = tmp_path / "store"
    with weft.open_store(url) as store:
        store.add_turn("first")
        holder = start("hold_lock", url, 0.4)
        assert holder.stdout is not None
        holder.stdout.readline()
        store.add_turn("second")
        holder.communicate()
        assert store.stats().turns == 2


@pytest.mark.parametrize("rounds", ROUNDS)
def test_two_writers_of_one_name_never_overwrite(store_url: str, rounds: int) -> None:
    """D-11: one wins, the other continues it or gets a conflict."""
    stores = [weft.open_store(store_url), weft.open_store(store_url)]
    conflicts = []

    def write(which: int) -> None:
        for n in range(rounds):
            try:
                stores[which].add_turn(f"{which} {n}", bookmark=f"round{n}")
            except WeftError as error:
                conflicts.append(error)
            stores[which].add_turn("on", continues=f"round{n}")

    threads = [threading.Thread(target=write, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(conflicts) == rounds
    assert stores[0].stats().turns == 3 * rounds
    for n in range(rounds):
        assert len(stores[0].thread(f"round{n}")) == 3
    for store in stores:
        store.close()


def test_a_killed_upgrade_leaves_no_half_schema(tmp_path: Path) -> None:
    """D-15: stopped at every statement, the next start finishes."""

    class Killed(BaseException):
        pass

    class Dying(sqlite3.Connection):
        left = 0

        def execute(self, *args: object) -> sqlite3.Cursor:
            Dying.left -= 1
            if Dying.left < 0:
                raise Killed
            return super().execute(*args)  # type: ignore[arg-type]

    path = tmp_path / "weft.db"
    for left in range(3, 3 + len(SQLITE[0]) + 3):
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path, isolation_level=None, factory=Dying)
        Dying.left = left
        with pytest.raises(Killed):
            sqlite_files.migrate(connection, path, SQLITE)
        Dying.left = 1000
        connection.close()
        check = sqlite3.connect(path, isolation_level=None)
        assert check.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
        sqlite_files.migrate(check, path, SQLITE)
        assert check.execute("PRAGMA user_version").fetchone() == (len(SQLITE),)
        check.close()


@pytest.mark.parametrize(
    ("pragma", "reason"), [("user_version=99", "newer weft"), ("application_id=7", "another program")]
)
def test_a_store_of_another_make_is_left_untouched(tmp_path: Path, pragma: str, reason: str) -> None:
    """D-16: refused with a reason, byte for byte as it was."""
    url = tmp_path / "store"
    with weft.open_store(url) as store:
        store.add_turn("x")
    with sqlite3.connect(url / "weft.db") as connection:
        connection.execute(f"PRAGMA {pragma}")
    connection.close()
    before = hashlib.sha256((url / "weft.db").read_bytes()).digest()

    with pytest.raises(StoreError, match=reason):
        weft.open_store(url)

    assert hashlib.sha256((url / "weft.db").read_bytes()).digest() == before


def test_a_backup_while_writing_is_a_sound_prefix(tmp_path: Path) -> None:
    """D-17."""
    url = tmp_path / "store"
    with weft.open_store(url) as store:
        store.add_turn("L" * 150_000)
    writer = start("append", url, 100_000, "w", 500)
    assert writer.stdout is not None
    writer.stdout.readline()
    with weft.open_store(url) as store:
        for n in range(3):
            store.backup(tmp_path / f"backup{n}")
        with pytest.raises(StoreError, match="not empty"):
            store.backup(tmp_path / "backup0")
    writer.kill()
    writer.communicate()

    with weft.open_store(url) as store:
        whole = [turn.id for turn in store.log(limit=1_000_000)][::-1]
    for n in range(3):
        with weft.open_store(tmp_path / f"backup{n}") as copy:
            found = [turn.id for turn in copy.log(limit=1_000_000)][::-1]
            assert found == whole[: len(found)]
            assert len(found) > 0
            assert copy.fsck() == []
            copy.add_turn("goes on", respond=True)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_is_private_from_its_creation(tmp_path: Path, umask: int) -> None:
    """K-05: folder 0700, files 0600, no later chmod."""
    before = os.umask(umask)
    try:
        store = weft.open_store(tmp_path / "new" / "store")
        store.add_turn("x" * 150_000)
        store.search("x")
        store.backup(tmp_path / "backup")
    finally:
        os.umask(before)

    paths = [path for top in ("new/store", "backup") for path in [tmp_path / top, *(tmp_path / top).rglob("*")]]
    names = {path.name for path in paths}
    assert {"weft.db", "weft.db-wal", "weft.db-shm", "index.db", "weft.lock", "content"} <= names
    for path in paths:
        assert oct(path.stat().st_mode & 0o777) == oct(0o700 if path.is_dir() else 0o600), path
    store.close()


def test_threads_share_a_store(store: weft.Store) -> None:
    """Safe across threads: eight write and read at once."""
    failures: list[BaseException] = []

    def work(tag: int) -> None:
        try:
            last = None
            for n in range(12):
                last = store.add_turn(f"{tag} {n}", continues=last).id
                assert len(store.thread(last)) == n + 1
        except BaseException as error:  # noqa: BLE001  # whatever it is, the test must see it
            failures.append(error)

    threads = [threading.Thread(target=work, args=(tag,)) for tag in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert sorted(row.turns for row in store.threads()) == [12] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_store_survives_a_fork(sqlite_store: weft.Store) -> None:
    sqlite_store.add_turn("parent", bookmark="n")
    sqlite_store.resolve("n")
    child = os.fork()
    if child == 0:
        try:
            sqlite_store.add_turn("child", continues="n")
            os._exit(0 if len(sqlite_store.thread("n")) == 2 else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    sqlite_store.add_turn("parent again", continues="n")
    assert [turn.text for turn in sqlite_store.thread("n")] == ["parent", "child", "parent again"]


@pytest.mark.soak
@pytest.mark.parametrize("seconds", [600])
def test_writers_and_checkpoints_do_no_harm(tmp_path: Path, seconds: int) -> None:
    """D-13: four writers, forced checkpoints, integrity asked every minute."""
    url = tmp_path / "store"
    weft.open_store(url).close()
    writers = [start("append", url, 10_000_000, f"w{n}", 3000) for n in range(4)]
    readers = [threading.Thread(target=writer.communicate) for writer in writers]
    for reader in readers:
        reader.start()
    deadline = time.monotonic() + seconds
    with weft.open_store(url) as store:
        while time.monotonic() < deadline:
            store.frames.scrub()
            time.sleep(min(60, seconds / 10))
            assert run("check_integrity", url) == ["ok"]
        for writer in writers:
            writer.kill()
        for reader in readers:
            reader.join()
        assert store.fsck() == []


@pytest.mark.soak
@pytest.mark.parametrize("seconds", [600])
def test_a_long_reader_does_not_let_the_wal_grow_for_ever(tmp_path: Path, seconds: int) -> None:
    """D-14: the view is stable; 64 MB at most are left after release."""
    url = tmp_path / "store"
    with weft.open_store(url) as store:
        store.add_turn("first")
        reader = sqlite3.connect(f"file:{url}/weft.db?mode=ro", uri=True, isolation_level=None)
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM frames").fetchone() == (1,)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            store.add_turn("x" * 50_000 + str(time.monotonic()))
        assert reader.execute("SELECT count(*) FROM frames").fetchone() == (1,)
        reader.close()
        for n in range(3000):
            store.add_turn(str(n))
        assert (url / "weft.db-wal").stat().st_size <= 80_000_000
