"""A blob store that lives as long as the process: the default of every Context."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Self

from weft.blobs.reference import BlobEntry, BlobReference, PruneReport
from weft.blobs.store import blob_id_of, new_blob_id, payload_of, prune, sort_and_filter, utc_now
from weft.errors import BlobIntegrityError, BlobNotFoundError

__all__ = ["InMemoryBlobStore"]


class InMemoryBlobStore:
    """Keeps payloads in a dictionary. Equal to itself alone."""

    __slots__ = ("_hashed", "_kept")

    def __init__(self, *, hashed: bool = False) -> None:
        """Start empty. If `hashed`, ids are taken from the bytes and not made up: the same ones have the same id."""
        self._kept: dict[str, tuple[BlobEntry, bytes]] = {}
        self._hashed = hashed

    @classmethod
    def from_preloaded(cls, blobs: Mapping[str, tuple[BlobReference, bytes]]) -> Self:
        """Build a store around payloads that exist already, without checking their digests [M-39]."""
        store = cls()
        now = utc_now()
        store._kept = {ref.id: (BlobEntry(ref, now), bytes(data)) for ref, data in blobs.values()}
        return store

    def __repr__(self) -> str:
        """Show how much is kept, not what."""
        return f"InMemoryBlobStore({len(self._kept)} blobs)"

    def __len__(self) -> int:
        """Count the blobs."""
        return len(self._kept)

    def __bool__(self) -> bool:
        """Be there, even when empty."""
        return True

    def put_blob(self, data: bytes, *, media_type: str | None = None, kind: str = "file") -> BlobReference:
        """Keep `data` under a new id, even if the same bytes are kept already [M-25]; not so if `hashed`."""
        payload = payload_of(data)
        digest = hashlib.sha256(payload).hexdigest()
        ref = BlobReference(digest[:32] if self._hashed else new_blob_id(), digest, media_type, kind, len(payload))
        self._kept[ref.id] = (BlobEntry(ref, utc_now()), payload)
        return ref

    def get_blob(self, ref: BlobReference) -> bytes:
        """Give back the bytes if they still are the ones the reference names [M-27]."""
        kept = self._kept.get(ref.id)
        if kept is None:
            raise BlobNotFoundError(ref.id)
        entry, payload = kept
        actual = hashlib.sha256(payload).hexdigest()
        if actual != ref.sha256:
            raise BlobIntegrityError(ref.id, ref.sha256, actual)
        self._kept[ref.id] = (replace(entry, last_accessed_at=utc_now()), payload)
        return payload

    def has_blob(self, ref: BlobReference) -> bool:
        """Tell whether the id is known."""
        return ref.id in self._kept

    def delete_blob(self, ref_or_id: BlobReference | str) -> bool:
        """Forget a blob; False if there was none [M-28]."""
        return self._kept.pop(blob_id_of(ref_or_id), None) is not None

    def list_blobs(self, *, kind: str | None = None, media_type: str | None = None) -> tuple[BlobEntry, ...]:
        """List blobs, oldest first [M-29]."""
        return sort_and_filter((entry for entry, _ in tuple(self._kept.values())), kind=kind, media_type=media_type)

    def prune_blobs(
        self,
        *,
        older_than: datetime | None = None,
        max_bytes: int | None = None,
        kind: str | None = None,
        media_type: str | None = None,
        dry_run: bool = False,
    ) -> PruneReport:
        """Remove by age and by total size [M-30]."""
        return prune(
            self, older_than=older_than, max_bytes=max_bytes, kind=kind, media_type=media_type, dry_run=dry_run
        )
