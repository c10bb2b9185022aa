"""The blobs of a whole transcript as one store: each entry has its own, and this one asks them."""

from __future__ import annotations

from weft.blobs import BlobReference, InMemoryBlobStore
from weft.canon import Transcript

__all__ = ["EntryBlobs"]


class EntryBlobs(InMemoryBlobStore):
    """Gives the bytes of any part of a transcript; what is put into it is its own."""

    __slots__ = ("_transcript",)

    def __init__(self, transcript: Transcript) -> None:
        """Ask the entries of a transcript."""
        super().__init__(hashed=True)
        self._transcript = transcript

    def get_blob(self, ref: BlobReference) -> bytes:
        """Give the bytes of the first entry that has them."""
        for entry in self._transcript.entries:
            if entry.blobs.has_blob(ref):
                return entry.blobs.get_blob(ref)
        return super().get_blob(ref)

    def has_blob(self, ref: BlobReference) -> bool:
        """Tell whether an entry has them."""
        return any(entry.blobs.has_blob(ref) for entry in self._transcript.entries) or super().has_blob(ref)
