"""What FileBlobStore keeps on disk, and what it makes of a disk that is not as it left it."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import secrets
import stat
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from weft.blobs import BlobReference, FileBlobStore, directory
from weft.errors import BadBlobIdError, BlobIntegrityError, BlobNotFoundError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BAD_IDS = [
    "../x",
    "../../etc/passwd",
    "/etc/passwd",
    "a\0b",
    "\0" * 32,
    "a" * 300,
    "a" * 31,
    "a" * 33,
    "",
    ".",
    "A" * 32,
    "%2e%2e%2f" + "a" * 23,
    "a" * 32 + "\n",
    "a" * 30 + "/a",
    "\u0660" * 32,
]


@pytest.fixture
def store(tmp_path: Path) -> FileBlobStore:
    return FileBlobStore(tmp_path / "blobs")


def names(store: FileBlobStore) -> set[str]:
    """Every file of a store, relative to its root."""
    return {str(path.relative_to(store.root)) for path in store.root.rglob("*") if not path.is_dir()}


def snapshot(root: Path) -> dict[str, tuple[Any, ...]]:
    """All that a write would change."""
    found = {}
    for path in [root, *root.rglob("*")]:
        facts = path.lstat()
        found[str(path)] = (facts.st_ino, facts.st_mode, facts.st_mtime_ns, facts.st_size, facts.st_nlink)
    return found


def sidecar(ref: BlobReference, **changes: Any) -> dict[str, Any]:
    record = {
        "id": ref.id,
        "sha256": ref.sha256,
        "media_type": ref.media_type,
        "kind": ref.kind,
        "size": ref.size,
        "created_at": "2026-03-01T12:00:00+00:00",
        "last_accessed_at": None,
    }
    return record | changes


def test_the_root_is_made_with_its_parents_and_for_its_owner_alone(tmp_path: Path) -> None:
    """M-35: and M-39, `root` gives it back."""
    store = FileBlobStore(str(tmp_path / "a" / "b"))
    ref = store.put_blob(b"secret")

    assert store.root == tmp_path / "a" / "b"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [store.root, *store.root.rglob("*")]}
    assert modes == {
        "b": 0o700,
        "content": 0o700,
        ref.sha256: 0o600,
        f"{ref.id}.blob": 0o600,
        f"{ref.id}.meta.json": 0o600,
    }


def test_a_blob_is_a_payload_and_a_sidecar(store: FileBlobStore) -> None:
    """M-35: with these fields and no others."""
    ref = store.put_blob(b"bytes", media_type="image/png", kind="image")

    record = json.loads((store.root / f"{ref.id}.meta.json").read_bytes())

    assert (store.root / f"{ref.id}.blob").read_bytes() == b"bytes"
    assert record == sidecar(
        ref, media_type="image/png", kind="image", created_at=store.list_blobs()[0].created_at.isoformat()
    )
    assert names(store) == {f"{ref.id}.blob", f"{ref.id}.meta.json", f"content/{ref.sha256}"}


def test_a_store_that_is_opened_again_knows_all_it_knew(store: FileBlobStore) -> None:
    """M-36: times included."""
    first, second = store.put_blob(b"a", kind="image"), store.put_blob(b"b", media_type="text/plain")
    store.get_blob(second)

    again = FileBlobStore(store.root)

    assert again.list_blobs() == store.list_blobs()
    assert [entry.last_accessed_at is None for entry in again.list_blobs() if entry.ref == second] == [False]
    assert (again.get_blob(first), again.get_blob(second)) == (b"a", b"b")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: b"",
        lambda _: b"{",
        lambda _: b"[]",
        lambda _: b"null",
        lambda ref: json.dumps(sidecar(ref, id="0" * 32)).encode(),
        lambda ref: json.dumps(sidecar(ref, id=7)).encode(),
        lambda ref: json.dumps(sidecar(ref, sha256=None)).encode(),
        lambda ref: json.dumps(sidecar(ref, sha256="../../x")).encode(),
        lambda ref: json.dumps(sidecar(ref, size="5")).encode(),
        lambda ref: json.dumps(sidecar(ref, kind=None)).encode(),
        lambda ref: json.dumps(sidecar(ref, media_type=5)).encode(),
        lambda ref: json.dumps(sidecar(ref, created_at="yesterday")).encode(),
        lambda ref: json.dumps(sidecar(ref, created_at=None)).encode(),
        lambda ref: json.dumps(sidecar(ref, last_accessed_at=5)).encode(),
        lambda ref: json.dumps({"id": ref.id}).encode(),
    ],
)
def test_a_sidecar_that_makes_no_sense_is_skipped_and_its_payload_still_read(
    store: FileBlobStore, spoil: Callable[[BlobReference], bytes]
) -> None:
    """M-36: silently; the payload is readable through its reference."""
    ref, good = store.put_blob(b"bytes"), store.put_blob(b"good")
    (store.root / f"{ref.id}.meta.json").write_bytes(spoil(ref))

    again = FileBlobStore(store.root)

    assert [entry.ref for entry in again.list_blobs()] == [good]
    assert (again.has_blob(ref), again.get_blob(ref)) == (True, b"bytes")


def test_a_sidecar_time_without_a_zone_is_in_utc(store: FileBlobStore) -> None:
    ref = store.put_blob(b"bytes")
    (store.root / f"{ref.id}.meta.json").write_text(json.dumps(sidecar(ref, created_at="2026-03-01T12:00:00")))

    again = FileBlobStore(store.root)

    assert [entry.created_at for entry in again.list_blobs()] == [datetime(2026, 3, 1, 12, tzinfo=UTC)]


def test_a_sidecar_without_its_payload_and_one_of_a_strange_name_are_skipped(store: FileBlobStore) -> None:
    """M-36."""
    ref = store.put_blob(b"bytes")
    (store.root / f"{ref.id}.blob").unlink()
    (store.root / "strange.meta.json").write_text(json.dumps(sidecar(replace(ref, id="strange"))))

    assert FileBlobStore(store.root).list_blobs() == ()


def test_a_payload_without_a_sidecar_is_read_but_not_listed(store: FileBlobStore) -> None:
    """M-36: what a crash between the two leaves [M-38]."""
    ref = store.put_blob(b"bytes")
    (store.root / f"{ref.id}.meta.json").unlink()

    again = FileBlobStore(store.root)

    assert (again.list_blobs(), again.has_blob(ref), again.get_blob(ref)) == ((), True, b"bytes")
    assert names(again) == {f"{ref.id}.blob", f"content/{ref.sha256}"}


@pytest.mark.parametrize("bad", BAD_IDS)
def test_b05_an_id_of_another_form_is_a_bad_blob_id(store: FileBlobStore, bad: str) -> None:
    """B-05: one error, which is a "not found" to those who ask for that [M-37]."""
    ref = BlobReference(bad, "0" * 64, None, "file", 0)

    with pytest.raises(BadBlobIdError, match="bad blob id") as caught:
        store.get_blob(ref)

    assert isinstance(caught.value, BlobNotFoundError)
    assert caught.value.blob_id == bad
    assert len(str(caught.value)) < 200
    assert (store.has_blob(ref), store.delete_blob(ref), store.delete_blob(bad)) == (False, False, False)
    with pytest.raises(BadBlobIdError):
        list(store.read_chunks(ref))


def test_b05_a_bad_id_never_reaches_the_file_system(tmp_path: Path) -> None:
    """B-05: "no file-system access", as Python's own audit sees it."""
    program = """
import json, sys
from weft.blobs import BlobReference, FileBlobStore
from weft.errors import BadBlobIdError
store, seen, watching = FileBlobStore(sys.argv[1]), [], False
sys.addaudithook(lambda event, args: watching and seen.append(event))
for bad in json.loads(sys.argv[2]):
    ref = BlobReference(bad, "0" * 64, None, "file", 0)
    watching = True
    try:
        store.get_blob(ref)
    except BadBlobIdError:
        pass
    store.has_blob(ref), store.delete_blob(ref)
    watching = False
watching = True
store.has_blob(BlobReference("a" * 32, "0" * 64, None, "file", 0))
store.put_blob(b"x")
watching = False
print(json.dumps(sorted(set(seen))))
print(seen.index("os.mkdir"))
"""
    command = [sys.executable, "-c", program, str(tmp_path), json.dumps(BAD_IDS)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)

    events, first = result.stdout.splitlines()
    assert "open" in json.loads(events)  # the hook does see a store at work
    assert int(first) <= 1  # and the first thing it saw belongs to the put at the end: os.open of the root, mkdir


def test_a_path_that_leads_outside_is_not_found(store: FileBlobStore, tmp_path: Path) -> None:
    """M-37: even where there is a file."""
    (tmp_path / "x.blob").write_bytes(b"outside")
    ref = BlobReference("../x", hashlib.sha256(b"outside").hexdigest(), None, "file", 7)

    with pytest.raises(BlobNotFoundError):
        store.get_blob(ref)

    assert (store.has_blob(ref), store.delete_blob(ref)) == (False, False)
    assert (tmp_path / "x.blob").exists()


def test_a_sidecar_cannot_point_a_delete_outside(store: FileBlobStore, tmp_path: Path) -> None:
    """M-37: the digest in a sidecar becomes a file name too."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    ref = store.put_blob(b"bytes")
    (store.root / f"{ref.id}.meta.json").write_text(json.dumps(sidecar(ref, sha256="../../victim")))

    FileBlobStore(store.root).delete_blob(ref)

    assert victim.exists()


def test_a_payload_that_vanished_is_dropped_from_the_list(store: FileBlobStore) -> None:
    """M-38: and deleting it removes the sidecar, but is no removal."""
    ref, kept = store.put_blob(b"bytes"), store.put_blob(b"kept")
    (store.root / f"{ref.id}.blob").unlink()

    assert [entry.ref for entry in store.list_blobs()] == [kept]
    assert store.delete_blob(ref) is False
    assert names(store) == {f"{kept.id}.blob", f"{kept.id}.meta.json", f"content/{kept.sha256}"}


def test_the_payload_is_whole_before_the_sidecar_names_it(store: FileBlobStore) -> None:
    """M-38: whoever lists a folder while it is written sees whole blobs only."""

    class Watched(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            seen.append(
                (FileBlobStore(store.root).list_blobs(), {name for name in names(store) if ".tmp-" not in name})
            )
            return super().read(size)

    seen: list[tuple[Any, set[str]]] = []
    store.put_stream(Watched(b"x" * 3_000_000))

    assert seen == [((), set())] * 4
    assert len(store.list_blobs()) == 1


def test_a_source_that_breaks_off_leaves_nothing(store: FileBlobStore) -> None:
    """M-38."""

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise ConnectionError("gone")
            return super().read(size)

    with pytest.raises(ConnectionError):
        store.put_stream(Broken(b"x" * 3_000_000))

    assert names(store) == set()


def test_a_disk_that_fills_up_leaves_nothing_behind(store: FileBlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """M-38: a payload that nobody has a reference to would stay for ever."""
    kept = store.put_blob(b"kept")
    before = names(store)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(directory, "_write_sidecar", full)
        with pytest.raises(OSError, match="No space left"):
            store.put_blob(b"new")

    assert names(store) == before
    assert store.get_blob(kept) == b"kept"


def test_equal_bytes_are_on_disk_once(store: FileBlobStore) -> None:
    """B-02, in one process: M-25 allows sharing underneath."""
    refs = [store.put_blob(b"same") for _ in range(5)]

    assert len({(store.root / f"{ref.id}.blob").stat().st_ino for ref in refs}) == 1


def test_shared_bytes_go_with_their_last_reference(store: FileBlobStore) -> None:
    """M-28: deleting one of two keeps the other; deleting both keeps nothing."""
    first, second = store.put_blob(b"same"), store.put_blob(b"same")

    store.delete_blob(first)
    kept = store.get_blob(second)
    store.delete_blob(second)

    assert kept == b"same"
    assert names(store) == set()


def test_what_another_process_put_can_be_deleted_to_the_last_byte(store: FileBlobStore) -> None:
    """M-28: a reference may come from elsewhere, so the index of this store does not have it."""
    other = FileBlobStore(store.root)
    ref = other.put_blob(b"theirs")

    assert store.delete_blob(ref) is True
    assert names(store) == set()


def test_b03_a_flipped_byte_is_found(store: FileBlobStore) -> None:
    """B-03: model.md acceptance case 12, both digests in the error; bad bytes are never returned."""
    ref = store.put_blob(b"bytes")
    (store.root / f"{ref.id}.blob").write_bytes(b"bytez")
    actual = hashlib.sha256(b"bytez").hexdigest()

    for read in (store.get_blob, lambda ref: list(store.read_chunks(ref)), FileBlobStore(store.root).get_blob):
        with pytest.raises(BlobIntegrityError) as caught:
            read(ref)
        assert (caught.value.blob_id, caught.value.expected, caught.value.actual) == (ref.id, ref.sha256, actual)


def test_b04_putting_over_damaged_bytes_repairs_them(store: FileBlobStore) -> None:
    """B-04: the name `content/<sha256>` is never trusted; all who shared the damage get sound bytes."""
    old, other = store.put_blob(b"bytes"), store.put_blob(b"other")
    (store.root / "content" / old.sha256).write_bytes(b"damaged")

    new = store.put_blob(b"bytes")

    assert [store.get_blob(ref) for ref in (old, new, other)] == [b"bytes", b"bytes", b"other"]
    assert {name for name in names(store) if ".tmp-" in name} == set()
    assert len({(store.root / f"{ref.id}.blob").stat().st_ino for ref in (old, new)}) == 1


def test_b04_a_reference_with_sound_bytes_of_its_own_is_left_alone(store: FileBlobStore) -> None:
    old, gone = store.put_blob(b"bytes"), store.put_blob(b"bytes")
    (store.root / f"{gone.id}.blob").unlink()
    shared = store.root / "content" / old.sha256
    shared.unlink()
    shared.write_bytes(b"damaged")
    before = (store.root / f"{old.id}.blob").stat().st_ino

    new = store.put_blob(b"bytes")

    assert (store.root / f"{old.id}.blob").stat().st_ino == before
    assert (store.get_blob(old), store.get_blob(new), store.has_blob(gone)) == (b"bytes", b"bytes", False)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_b06_what_is_planted_in_place_of_a_payload_is_not_read(store: FileBlobStore, tmp_path: Path, kind: str) -> None:
    """B-06: an error at once; a FIFO must not make us wait."""
    ref = store.put_blob(b"bytes")
    payload, secret = store.root / f"{ref.id}.blob", tmp_path / "secret"
    secret.write_bytes(b"bytes")
    payload.unlink()
    plant(kind, payload, secret)

    with pytest.raises(StoreError, match="symbolic link" if kind == "link" else "not an ordinary file"):
        store.get_blob(ref)

    assert (store.has_blob(ref), store.list_blobs(), FileBlobStore(store.root).list_blobs()) == (False, (), ())


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_b06_what_is_planted_in_place_of_shared_bytes_is_not_used(
    store: FileBlobStore, tmp_path: Path, kind: str
) -> None:
    """B-06: not even when it leads to the right bytes."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"bytes")
    first = store.put_blob(b"other")
    plant(kind, store.root / "content" / hashlib.sha256(b"bytes").hexdigest(), secret)

    with pytest.raises(StoreError, match="refusing"):
        store.put_blob(b"bytes")

    assert secret.read_bytes() == b"bytes"
    assert [entry.ref for entry in store.list_blobs()] == [first]
    assert {name for name in names(store) if ".tmp-" in name} == set()


def plant(kind: str, place: Path, target: Path) -> None:
    if kind == "link":
        place.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.mkdir()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_b06_a_content_folder_that_is_none_is_refused(tmp_path: Path, kind: str) -> None:
    """B-06: nothing is written, swept or deleted through a planted link."""
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "blobs"
    elsewhere.mkdir()
    root.mkdir()
    stale = elsewhere / ".tmp-0000"
    stale.write_bytes(b"not ours")
    os.utime(stale, (0, 0))
    if kind == "link":
        (root / "content").symlink_to(elsewhere)
    else:
        (root / "content").write_bytes(b"")

    store = FileBlobStore(root)
    with pytest.raises(StoreError, match="'content' is a link or a file, not a folder; refusing to use it"):
        store.put_blob(b"bytes")

    assert [path.name for path in elsewhere.iterdir()] == [".tmp-0000"]
    assert store.list_blobs() == ()


def test_b06_a_delete_does_not_reach_through_a_planted_folder(store: FileBlobStore, tmp_path: Path) -> None:
    ref = store.put_blob(b"bytes")
    elsewhere = tmp_path / "elsewhere"
    (store.root / "content").rename(elsewhere)
    (store.root / "content").symlink_to(elsewhere)

    assert store.delete_blob(ref) is True
    store.prune_blobs(max_bytes=0)

    assert [path.name for path in elsewhere.iterdir()] == [ref.sha256]


def test_b06_a_link_planted_at_the_temporary_name_is_not_followed(
    store: FileBlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B-06: the name cannot be guessed; if it were, O_EXCL still refuses."""
    store.put_blob(b"first")
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (store.root / "content" / ".tmp-guessed").symlink_to(victim)
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")

    with pytest.raises(FileExistsError):
        store.put_blob(b"bytes")

    assert victim.read_bytes() == b"precious"


def test_b06_a_link_in_place_of_a_sidecar_is_not_followed(store: FileBlobStore, tmp_path: Path) -> None:
    ref = store.put_blob(b"bytes")
    planted, elsewhere = store.root / f"{ref.id}.meta.json", tmp_path / "meta.json"
    planted.rename(elsewhere)
    planted.symlink_to(elsewhere)
    before = elsewhere.read_bytes()

    again = FileBlobStore(store.root)
    again.get_blob(ref)
    store.get_blob(ref)

    assert again.list_blobs() == ()
    assert elsewhere.read_bytes() == before


def test_b09_a_store_that_may_only_be_read_is_read_and_not_written(store: FileBlobStore) -> None:
    """B-09: by whoever; root could write, but was told not to."""
    ref = store.put_blob(b"bytes")
    (store.root / "content" / ".tmp-left").write_bytes(b"")
    os.utime(store.root / "content" / ".tmp-left", (0, 0))
    for folder in (store.root, store.root / "content"):
        folder.chmod(0o555)
    before = snapshot(store.root)

    again = FileBlobStore(store.root)
    read = (again.get_blob(ref), b"".join(again.read_chunks(ref)), again.has_blob(ref), len(again.list_blobs()))
    after = snapshot(store.root)
    for folder in (store.root, store.root / "content"):
        folder.chmod(0o755)

    assert read == (b"bytes", b"bytes", True, 1)
    assert after == before


def test_b01_temporary_files_are_swept_once_their_writer_must_be_gone(store: FileBlobStore) -> None:
    """B-01: older than an hour, at open."""
    ref = store.put_blob(b"bytes")
    hour_ago = time.time() - 3600
    for folder in (store.root, store.root / "content"):
        for name, age in ((".tmp-young", -60), (".tmp-old", 60)):
            (folder / name).write_bytes(b"half")
            os.utime(folder / name, (hour_ago - age, hour_ago - age))

    again = FileBlobStore(store.root)

    assert {name for name in names(again) if ".tmp-" in name} == {".tmp-young", "content/.tmp-young"}
    assert again.get_blob(ref) == b"bytes"


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_without_hard_links_every_blob_has_bytes_of_its_own(
    store: FileBlobStore, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Some file systems have none, and each allows only so many to one file."""

    def no_links(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", no_links)
        first, second = store.put_blob(b"same"), store.put_blob(b"same")

    assert names(store) == {f"{ref.id}.{end}" for ref in (first, second) for end in ("blob", "meta.json")}
    assert store.delete_blob(first) is True
    assert FileBlobStore(store.root).get_blob(second) == b"same"


def test_a_link_that_fails_for_another_reason_is_an_error(
    store: FileBlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", broken)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            store.put_blob(b"bytes")

    assert names(store) == set()


def test_bytes_that_others_keep_dropping_are_kept_all_the_same(
    store: FileBlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B-07, at its worst: another process removes the shared file between every two steps."""
    real = os.link

    def link_then_drop(source: str, target: str, **how: Any) -> None:
        real(source, target, **how)
        if len(target) == 64:
            (store.root / "content" / target).unlink()

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link_then_drop)
        ref = store.put_blob(b"bytes")

    assert store.get_blob(ref) == b"bytes"
    assert names(store) == {f"{ref.id}.blob", f"{ref.id}.meta.json"}


def test_chunks_are_the_bytes_in_order_and_an_access(store: FileBlobStore) -> None:
    ref = store.put_blob(bytes(range(256)) * 10)

    chunks = list(store.read_chunks(ref, size=1000))

    assert [len(chunk) for chunk in chunks] == [1000, 1000, 560]
    assert b"".join(chunks) == bytes(range(256)) * 10
    assert store.list_blobs()[0].last_accessed_at is not None


def test_b08_a_prune_that_was_killed_is_finished_by_the_next(store: FileBlobStore) -> None:
    """B-08: after any step of a delete, nothing that is listed is damaged, and the next prune leaves no trace."""
    refs = [store.put_blob(data) for data in (b"one", b"two", b"three", b"kept")]
    (store.root / f"{refs[0].id}.blob").unlink()  # killed after the payload
    (store.root / f"{refs[1].id}.blob").unlink()  # killed after the sidecar
    (store.root / f"{refs[1].id}.meta.json").unlink()
    again = FileBlobStore(store.root)

    again.prune_blobs(max_bytes=4)

    assert [again.get_blob(entry.ref) for entry in again.list_blobs()] == [b"kept"]
    assert names(again) == {f"{refs[3].id}.blob", f"{refs[3].id}.meta.json", f"content/{refs[3].sha256}"}


def test_b08_a_dry_run_and_a_prune_without_a_limit_leave_everything(store: FileBlobStore) -> None:
    """M-32."""
    ref = store.put_blob(b"one")
    (store.root / f"{ref.id}.blob").unlink()
    before = names(store)

    store.prune_blobs()
    store.prune_blobs(max_bytes=0, dry_run=True)

    assert names(store) == before
