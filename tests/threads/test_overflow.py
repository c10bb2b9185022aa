"""What was too long for a turn: kept beside the store, and gone when the turn is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import weft
from weft.blobs import BlobReference


def cut(store: weft.Store, text: str) -> tuple[str, BlobReference]:
    """Keep a text whole and a turn that has its beginning, as a tool's long result is kept."""
    ref = store.overflow.open().put_blob(text.encode(), media_type="text/plain")
    said = f"{text[:5]}\n\n[cut by weft: {len(text)} bytes in all; the whole is kept as blob {ref.id}]"
    block = {"type": "tool_result", "name": "log", "tool_use_id": "c1", "content": [{"type": "text", "text": said}]}
    return store.add_turn([block], json=True).id, ref


def test_a_blob_is_found_by_its_name_and_its_beginning(sqlite_store: weft.Store) -> None:
    assert sqlite_store.overflow.entry("0" * 32) is None

    _, ref = cut(sqlite_store, "water " * 100)

    for name in (ref.id, ref.id[:12]):
        entry = sqlite_store.overflow.entry(name)
        assert entry is not None
        assert sqlite_store.overflow.open().get_blob(entry.ref) == b"water " * 100
    cut(sqlite_store, "another")
    assert sqlite_store.overflow.entry("") is None  # more than one has that beginning


def test_k09_a_purged_turn_takes_its_blob_along(sqlite_store: weft.Store) -> None:
    turn, ref = cut(sqlite_store, "a secret " * 100)
    _, other = cut(sqlite_store, "no matter " * 100)

    sqlite_store.purge(turn=turn)

    blobs = sqlite_store.overflow.open()
    assert (blobs.has_blob(ref), blobs.has_blob(other)) == (False, True)


def test_k09_a_purged_text_takes_blobs_along_that_have_it(sqlite_store: weft.Store) -> None:
    """K-09: wherever it stands in them, also across the pieces in which they are read."""
    _, ref = cut(sqlite_store, "x" * (1 << 20) + "hunter2" + "y" * 100)
    _, other = cut(sqlite_store, "x" * 1000)

    sqlite_store.purge(text="hunter2")

    blobs = sqlite_store.overflow.open()
    assert (blobs.has_blob(ref), blobs.has_blob(other)) == (False, True)


def test_blobs_that_no_turn_names_are_swept_once_they_have_settled(sqlite_store: weft.Store) -> None:
    """B-07: a blob is put before its turn is; one that was put just now is left alone."""
    _, named = cut(sqlite_store, "a" * 100)
    lost = sqlite_store.overflow.open().put_blob(b"b" * 100)

    assert sqlite_store.gc().files == 0
    later = datetime.now(UTC) + timedelta(hours=2)
    assert [entry.ref.id for entry in sqlite_store.overflow.unnamed(sqlite_store, later)] == [lost.id]
    assert sqlite_store.overflow.open().has_blob(named)
    assert sqlite_store.overflow.forget([lost.id, lost.id]) == 1


def test_a_backup_has_them_too(sqlite_store: weft.Store, tmp_path: Path) -> None:
    _, ref = cut(sqlite_store, "a" * 100)

    sqlite_store.backup(tmp_path / "copy")

    with weft.open_store(tmp_path / "copy") as copy:
        assert copy.overflow.open().get_blob(ref) == b"a" * 100
        assert copy.fsck() == []


@pytest.mark.parametrize("size", [1, 7])
def test_a_text_is_found_at_any_place(sqlite_store: weft.Store, size: int) -> None:
    wanted = "abcdefgh"[:size]
    _, ref = cut(sqlite_store, f"{'-' * 500}{wanted}")

    assert sqlite_store.overflow.holding(wanted) == [ref.id]
    assert sqlite_store.overflow.holding("zz") == []


def test_d22_damage_in_a_long_result_is_found(sqlite_store: weft.Store) -> None:
    """D-22, B-03: fsck names the blob that is not what it was, and no other."""
    _, damaged = cut(sqlite_store, "water " * 100)
    cut(sqlite_store, "tides " * 100)
    clean = list(sqlite_store.fsck())
    place = sqlite_store.overflow.folder / f"{damaged.id}.blob"
    content = bytearray(place.read_bytes())
    content[3] ^= 1
    place.write_bytes(content)

    problems = sqlite_store.fsck()

    assert clean == []
    assert [(problem.kind, problem.subject) for problem in problems] == [("blob", damaged.id)]
