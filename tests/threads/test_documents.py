"""T-46 to T-50: files as turns."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import weft
from weft.errors import InvalidContentError, UsageError
from weft.threads.documents import LARGEST_DOCUMENT, sniff

TYPES = {
    "a.pdf": "application/pdf",
    "a.TXT": "text/plain",
    "a.md": "text/markdown",
    "a.json": "application/json",
    "a.csv": "text/csv",
    "a.jpg": "image/jpeg",
    "a.JPEG": "image/jpeg",
    "a.png": "image/png",
    "a.webp": "image/webp",
    "a.gif": "image/gif",
    "a.docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "a.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@pytest.mark.parametrize("path", ["missing.txt", "."])
def test_what_is_no_file_is_an_error_with_its_path(store: weft.Store, tmp_path: Path, path: str) -> None:
    """T-46."""
    with pytest.raises(UsageError, match=str(tmp_path / path)):
        store.document(tmp_path / path)


def test_the_limit_is_a_hundred_million_bytes(store: weft.Store, tmp_path: Path) -> None:
    """T-47: exactly that is accepted, one byte more is not."""
    path = tmp_path / "big.txt"
    path.touch()
    os.truncate(path, LARGEST_DOCUMENT)
    assert store.document(path).meta["file_size"] == 100_000_000

    os.truncate(path, LARGEST_DOCUMENT + 1)
    with pytest.raises(InvalidContentError, match="100000001"):
        store.document(path)


def test_what_a_document_says_of_itself(store: weft.Store, tmp_path: Path) -> None:
    """T-48, T-49, acceptance 4: no continues, no options; head and cache only when asked for."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b")

    turn = store.document(path)

    assert turn.meta == {
        "role": "user",
        "type": "document",
        "content_type": "text/csv",
        "document_name": "t.csv",
        "original_path": str(path),
        "file_size": 3,
    }
    assert store.turn(turn.id).to_dict() == turn.to_dict()
    assert turn.content == [
        {"type": "document", "source": {"type": "base64", "media_type": "text/csv", "data": "YSxi"}}
    ]
    named = store.document(path, name="Table", cache=True, bookmark="table")
    assert (named.meta["document_name"], named.meta["cache"], named.meta["head"]) == ("Table", True, "table")
    assert store.add_turn("what is this?", continues="table").thread.messages[0]["cache"] is True


@pytest.mark.parametrize("name", sorted(TYPES))
def test_listed_extensions_have_their_types(store: weft.Store, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")

    assert store.document(tmp_path / name).meta["content_type"] == TYPES[name]


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("plain", b"just text", "text/plain"),
        ("plain.weird", "größe".encode(), "text/plain"),
        ("pic", b"\x89PNG\r\n\x1a\n....", "image/png"),
        ("noise.bin", b"\xff\xfe\x00\x01", "application/octet-stream"),
        ("nul.dat", b"a\0b", "application/octet-stream"),
        ("riff", b"RIFF....WEBPVP8 ", "image/webp"),
        ("office", b"PK\x03\x04......word/document.xml", TYPES["a.docx"]),
        ("archive.zip", b"PK\x03\x04......other", "application/zip"),
        ("movie.mp4", b"\0\0\0\x18ftypmp42", "video/mp4"),
    ],
)
def test_other_files_are_known_by_their_bytes(
    store: weft.Store, tmp_path: Path, name: str, data: bytes, media_type: str
) -> None:
    """Section 8: a warning names the detected type."""
    (tmp_path / name).write_bytes(data)

    with pytest.warns(UserWarning, match=media_type):
        turn = store.document(tmp_path / name)

    assert turn.meta["content_type"] == media_type == sniff(data)


def test_later_changes_of_the_file_do_not_matter(store: weft.Store, tmp_path: Path) -> None:
    """T-50."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"before")
    turn = store.document(path)
    path.write_bytes(b"after")

    assert store.turn(turn.id).data == b"before"


def test_a_large_document_comes_back_whole(store: weft.Store, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    path = tmp_path / "a.pdf"
    path.write_bytes(data)

    first, second = store.document(path), store.document(path, name="again")

    assert store.turn(first.id).data == store.turn(second.id).data == data
    assert store.frames.payload(str(first.hash)) == data
    assert store.stats().payloads == 1
    assert store.fsck() == []
