from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from weft.blobs import BlobReference, BlobStore, FileBlobStore, InMemoryBlobStore, media_kind, media_type_of, put_file

if TYPE_CHECKING:
    from pathlib import Path

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    return InMemoryBlobStore() if request.param == "memory" else FileBlobStore(tmp_path / "blobs")


@pytest.mark.parametrize(
    ("name", "media_type", "kind"),
    [
        ("dock.png", "image/png", "image"),
        ("horn.mp3", "audio/mpeg", "audio"),
        ("pier.mp4", "video/mp4", "video"),
        ("log.pdf", "application/pdf", "file"),
        ("log.csv", "text/csv", "file"),
        ("log.json", "application/json", "file"),
        ("log.zzq", None, "file"),
        ("log", None, "file"),
        ("notes.md", "text/markdown", "file"),
        ("notes.txt", "text/plain", "file"),
        ("photo.webp", "image/webp", "image"),
        ("PHOTO.JPG", "image/jpeg", "image"),
        ("photo.jpeg", "image/jpeg", "image"),
        ("wave.gif", "image/gif", "image"),
        ("a.docx", WORD, "file"),
        ("a.xlsx", SHEET, "file"),
    ],
)
def test_a_file_is_typed_by_its_extension(name: str, media_type: str | None, kind: str) -> None:
    """M-40: the table of the model, and the extensions of threads.md section 8 before the platform's."""
    assert (media_type_of(name), media_kind(media_type_of(name))) == (media_type, kind)


def test_a_file_is_put_with_its_bytes_type_and_kind(store: BlobStore, tmp_path: Path) -> None:
    """M-40: a kind that is given wins."""
    path = tmp_path / "dock.png"
    path.write_bytes(b"picture")

    ref, named = put_file(store, path), put_file(store, str(path), kind="avatar")
    nameless = put_file(store, path, kind="")

    assert nameless.kind == ""
    assert ref == BlobReference(ref.id, ref.sha256, "image/png", "image", 7)
    assert (named.media_type, named.kind) == ("image/png", "avatar")
    assert [store.get_blob(each) for each in (ref, named)] == [b"picture", b"picture"]


def test_a_missing_file_is_the_systems_own_error(store: BlobStore, tmp_path: Path) -> None:
    """M-40."""
    with pytest.raises(FileNotFoundError):
        put_file(store, tmp_path / "gone.png")
    with pytest.raises(IsADirectoryError):
        put_file(store, tmp_path)

    assert store.list_blobs() == ()
