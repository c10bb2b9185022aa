"""Removing, sweeping, purging."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import weft
from weft.errors import StoreBusyError, TurnNotFoundError, UsageError
from weft.store.lock import FileLock

SECRET = "hunter2-tops3cret-zebra"


def everything_on_disk(store: weft.Store) -> bytes:
    folder = store.frames.folder
    assert folder is not None
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


def test_a_branch_is_removed_back_to_its_fork(store: weft.Store) -> None:
    fork = store.add_turn("shared")
    a = store.add_turn("a", continues=fork.id)
    end = store.add_turn("b", continues=a.id)
    other = store.add_turn("other", continues=fork.id)

    would = store.rm(end.id, dry_run=True)
    gone = store.rm(end.id)

    assert set(would.turns) == set(gone.turns) == {a.id, end.id}
    with pytest.raises(TurnNotFoundError):
        store.turn(a.id)
    assert [turn.text for turn in store.thread(other.id)] == ["shared", "other"]
    assert [row.id for row in store.threads()] == [other.id]
    assert store.search("b") == []
    assert store.fsck() == []
    assert store.add_turn("new").id not in gone.turns


def test_a_turn_that_is_needed_is_not_removed(store: weft.Store) -> None:
    first = store.add_turn("a", bookmark="n")
    second = store.add_turn("b", continues="n")

    with pytest.raises(UsageError, match="1 turns continue"):
        store.rm(first.id)
    with pytest.raises(UsageError, match="bookmark"):
        store.rm(second.id)
    assert set(store.rm("n").turns) == {first.id, second.id}
    assert list(store.bookmarks()) == []


def test_shared_bytes_outlive_the_turn_that_brought_them(store: weft.Store) -> None:
    """B-07: content belongs to everyone who names it."""
    first, second = store.add_turn("same"), store.add_turn("same")
    large = [store.add_turn("L" * 150_000) for _ in range(2)]

    store.rm(first.id)
    store.rm(large[0].id)

    assert store.turn(second.id).text == "same"
    assert store.turn(large[1].id).text == "L" * 150_000
    assert store.fsck() == []


def test_gc_takes_old_turns_without_a_name_only_when_asked(store: weft.Store) -> None:
    kept = store.add_turn("kept", bookmark="n")
    unnamed = store.add_turn("unnamed")
    later = datetime.now(UTC) + timedelta(hours=1)

    assert store.gc().turns == ()
    assert store.gc(unnamed_before=datetime.now(UTC) - timedelta(hours=1)).turns == ()
    assert store.gc(unnamed_before=later, dry_run=True).turns == (unnamed.id,)
    assert store.gc(unnamed_before=later).turns == (unnamed.id,)
    assert store.log() == [kept]


def test_gc_sweeps_a_file_that_nothing_names(sqlite_store: weft.Store) -> None:
    """D-02: what a crash between file and row leaves behind."""
    turn = sqlite_store.add_turn("x" * 200_000)
    folder = sqlite_store.frames.folder
    assert folder is not None
    (folder / "content" / ("ab" * 32)).write_bytes(b"orphan")

    assert sqlite_store.gc(dry_run=True).files == 1
    swept = sqlite_store.gc()

    assert (swept.files, swept.bytes) == (1, 6)
    assert sqlite_store.turn(turn.id).text == "x" * 200_000
    assert sqlite_store.gc().files == 0


@pytest.mark.parametrize("size", [0, 200_000])
def test_a_purged_text_is_gone_from_every_file(sqlite_store: weft.Store, size: int) -> None:
    """K-09: pages, WAL, files, search index."""
    sqlite_store.add_turn(f"the key is {SECRET} {'x' * size}", bookmark="n")
    sqlite_store.add_turn(f'quoted "{SECRET}" é', continues="n", provider_ptr=f"ptr-{SECRET}")
    for n in range(20):
        sqlite_store.add_turn(f"filler {n}", continues="n")
    assert len(sqlite_store.search("tops3cret")) == 2
    sqlite_store.resolve("n")

    removed = sqlite_store.purge(text=SECRET)

    assert len(removed.turns) == 2
    assert sqlite_store.search("tops3cret") == []
    assert len(sqlite_store.search("filler")) == 20
    disk = everything_on_disk(sqlite_store)
    assert SECRET.encode() not in disk
    assert b"tops3cret" not in disk
    assert sqlite_store.thread("n")[0].text.startswith("the key is [purged]")
    assert sqlite_store.thread("n")[1].options == {"provider_ptr": "ptr-[purged]"}
    assert sqlite_store.fsck() == []


def test_the_file_of_a_purged_text_is_overwritten_before_it_is_removed(
    sqlite_store: weft.Store, tmp_path: Path
) -> None:
    """K-09: what is only unlinked can be found on the disk again; here through another name of the same bytes."""
    sqlite_store.add_turn("L" * 150_000 + SECRET)
    folder = sqlite_store.frames.folder
    assert folder is not None
    [file] = (Path(folder) / "content").iterdir()
    witness = tmp_path / "witness"
    witness.hardlink_to(file)

    sqlite_store.purge(text=SECRET)

    assert not file.exists()
    assert witness.read_bytes().strip(b"\0") == b""


def test_what_waits_to_be_stored_is_purged_too(tmp_path: Path) -> None:
    """K-09, D-10: the spool holds what was said while the store was locked, until it is next opened."""
    store = weft.open_store(tmp_path / "store", busy_seconds=0.05)
    store.add_turn(SECRET)
    with FileLock(tmp_path / "store" / "weft.lock").held(1):
        for said in (f"a key: {SECRET}", "nothing of note", SECRET):
            with pytest.raises(StoreBusyError):
                store.add_turn(said, provider_ptr=SECRET if "note" in said else None)
    spool = tmp_path / "store" / "spool"
    (spool / "torn.refused").write_bytes(b'{"payload": "' + SECRET.encode())

    assert len(store.purge(turn=store.log()[0].id).turns) == 2
    assert len(store.purge(text=SECRET).turns) == 3

    kept = b"".join(path.read_bytes() for path in spool.iterdir())
    decoded = b"".join(base64.b64decode(json.loads(path.read_bytes())["payload"]) for path in spool.iterdir())
    assert SECRET.encode() not in kept + decoded
    store.close()
    with weft.open_store(tmp_path / "store") as again:
        assert [turn.text for turn in again.log()] == ["[purged]", "nothing of note", "a key: [purged]", "[purged]"]
        assert again.log()[1].options == {"provider_ptr": "[purged]"}


def test_a_purged_turn_keeps_its_place(store: weft.Store) -> None:
    first = store.add_turn(SECRET)
    second = store.add_turn("after", continues=first.id)
    twin = store.add_turn(SECRET)

    assert set(store.purge(turn=first.id).turns) == {first.id, twin.id}

    assert [turn.text for turn in store.thread(second.id)] == ["[purged]", "after"]
    assert store.search("zebra") == []
    assert store.turn(first.id).meta["purged"] is True
    assert store.fsck() == []


def test_purge_wants_to_know_what(store: weft.Store) -> None:
    with pytest.raises(UsageError):
        store.purge()
    with pytest.raises(UsageError):
        store.purge(text=" a")
