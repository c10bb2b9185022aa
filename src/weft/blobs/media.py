"""What kind of file this is, by its name; and putting a file into a store.

One table serves blobs and document turns, so that both call `notes.md` the same thing [M-40].
"""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path

from weft.blobs.directory import FileBlobStore
from weft.blobs.reference import BlobReference
from weft.blobs.store import BlobStore

__all__ = ["EXTENSIONS", "media_kind", "media_type_of", "put_file"]

# These win over the platform's table, which differs between systems and misses half of them.
EXTENSIONS = {
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".json": "application/json",
    ".csv": "text/csv",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def media_type_of(path: str | os.PathLike[str]) -> str | None:
    """Tell the media type by the extension, or None if neither table knows it."""
    name = Path(path).name
    return EXTENSIONS.get(Path(name).suffix.lower()) or mimetypes.guess_type(name, strict=True)[0]


def media_kind(media_type: str | None) -> str:
    """Sort a media type into `image`, `audio`, `video` or `file`."""
    major = (media_type or "").partition("/")[0]
    return major if major in ("image", "audio", "video") else "file"


def put_file(store: BlobStore, path: str | os.PathLike[str], *, kind: str | None = None) -> BlobReference:
    """Put a file's bytes into `store`, typed by its extension; a missing file is the system's own error."""
    media_type = media_type_of(path)
    kind = media_kind(media_type) if kind is None else kind
    if isinstance(store, FileBlobStore):
        # Straight from disk to disk: a file larger than memory still goes in.
        with open(path, "rb") as source:
            return store.put_stream(source, media_type=media_type, kind=kind)
    return store.put_blob(Path(path).read_bytes(), media_type=media_type, kind=kind)
