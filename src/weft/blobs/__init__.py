"""Bytes kept beside a conversation: pictures, documents, sealed provider state.

The front door of the room: references, the store protocol, and the two stores that come with weft.
"""

from __future__ import annotations

from weft.blobs.directory import FileBlobStore
from weft.blobs.media import media_kind, media_type_of, put_file
from weft.blobs.memory import InMemoryBlobStore
from weft.blobs.reference import BlobEntry, BlobReference, PruneReport
from weft.blobs.store import BlobStore

__all__ = [
    "BlobEntry",
    "BlobReference",
    "BlobStore",
    "FileBlobStore",
    "InMemoryBlobStore",
    "PruneReport",
    "media_kind",
    "media_type_of",
    "put_file",
]
