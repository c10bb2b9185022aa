"""Files as turns: the bytes as they are, with a media type by name or, failing that, by their first bytes."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from weft.blobs import media_type_of
from weft.errors import InvalidContentError, UsageError
from weft.threads.append import Addition
from weft.threads.headish import check_bookmark_name

__all__ = ["LARGEST_DOCUMENT", "document_from", "sniff"]

LARGEST_DOCUMENT = 100_000_000  # bytes [T-47]

# The first bytes of files one meets without a name to go by.
_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"{\\rtf", "application/rtf"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_OFFICE = (
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
)
# The types the specification lists by extension. Others are sniffed: a platform's table is not the same everywhere.
_LISTED = {"pdf", "txt", "md", "json", "csv", "jpg", "jpeg", "png", "webp", "gif", "docx", "xlsx"}


def sniff(data: bytes) -> str:
    """Tell a media type by the bytes: a signature, then whether it is text."""
    start = data[:4096]
    if start[:4] == b"RIFF" and start[8:12] in _RIFF:
        return _RIFF[start[8:12]]
    if start[4:8] == b"ftyp":
        return "audio/mp4" if start[8:12] == b"M4A " else "video/mp4"
    for signature, media_type in _SIGNATURES:
        if start.startswith(signature):
            if media_type == "application/zip":
                return next((office for name, office in _OFFICE if name in start), media_type)
            return media_type
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "application/octet-stream" if b"\0" in data else "text/plain"


def document_from(
    path: str | os.PathLike[str], *, name: str | None = None, cache: bool = False, bookmark: str | None = None
) -> Addition:
    """Read a file into a turn to add [T-46 to T-50]."""
    place = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100  # resolve() would follow links
    data = _read(place)
    media_type = media_type_of(place.name) if place.suffix.lower().removeprefix(".") in _LISTED else None
    if media_type is None:
        media_type = sniff(data)
        warnings.warn(f"{place.name}: type detected from its content: {media_type}", stacklevel=3)
    meta: dict[str, Any] = {
        "type": "document",
        "content_type": media_type,
        "document_name": place.name if name is None else name,
        "original_path": os.fsencode(place).decode("utf-8", "replace"),
        "file_size": len(data),
    }
    return Addition(
        data,
        options=None,
        bookmark=None if bookmark is None else check_bookmark_name(bookmark),
        cache=cache,
        content_type=None,
        extra=meta,
        is_linked=False,
    )


def _read(place: Path) -> bytes:
    if not place.exists():
        raise UsageError(f"there is no file {place}")
    if not place.is_file():
        raise UsageError(f"{place} is not a file")
    try:
        with place.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST_DOCUMENT:
                raise InvalidContentError(_too_large(place, size))
            data = file.read(LARGEST_DOCUMENT + 1)
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_DOCUMENT:
        raise InvalidContentError(_too_large(place, len(data)))
    return data


def _too_large(place: Path, size: int) -> str:
    return f"{place} has {size} bytes; a document has {LARGEST_DOCUMENT} (100 MB) at most"
