"""The blob store protocol, and the rules of listing and pruning that every store shares."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from weft.blobs.reference import BlobEntry, BlobReference, PruneReport

__all__ = ["BlobStore", "blob_id_of", "new_blob_id", "payload_of", "prune", "sort_and_filter", "utc_now"]


@runtime_checkable
class BlobStore(Protocol):
    """Anything that keeps bytes and gives them back verified."""

    def put_blob(self, data: bytes, *, media_type: str | None = None, kind: str = "file") -> BlobReference:
        """Keep `data` under a new id."""
        ...

    def get_blob(self, ref: BlobReference) -> bytes:
        """Give back the bytes, or raise BlobNotFoundError or BlobIntegrityError."""
        ...

    def has_blob(self, ref: BlobReference) -> bool:
        """Tell whether the payload is there, without reading it."""
        ...

    def delete_blob(self, ref_or_id: BlobReference | str) -> bool:
        """Remove a blob; True only if a payload was removed."""
        ...

    def list_blobs(self, *, kind: str | None = None, media_type: str | None = None) -> tuple[BlobEntry, ...]:
        """List blobs, oldest first, by exact kind and media type."""
        ...

    def prune_blobs(
        self,
        *,
        older_than: datetime | None = None,
        max_bytes: int | None = None,
        kind: str | None = None,
        media_type: str | None = None,
        dry_run: bool = False,
    ) -> PruneReport:
        """Remove old blobs, or those above a total size; without a limit, nothing."""
        ...


def utc_now() -> datetime:
    """Give the time a blob is stamped with."""
    return datetime.now(UTC)


def new_blob_id() -> str:
    """Give a fresh blob id: 32 hex digits [M-25]."""
    return uuid.uuid4().hex


def blob_id_of(ref_or_id: BlobReference | str) -> str:
    """Read the id out of either way of naming a blob."""
    return ref_or_id if isinstance(ref_or_id, str) else ref_or_id.id


def payload_of(data: Any) -> bytes:
    """Take bytes and their like. Python would make bytes of a number, a list or nothing too, and none was meant."""
    try:
        return data if isinstance(data, bytes) else bytes(memoryview(data))
    except TypeError:
        raise TypeError(f"a blob's data must be bytes, not {type(data).__name__}") from None


def sort_and_filter(
    entries: Iterable[BlobEntry], *, kind: str | None = None, media_type: str | None = None
) -> tuple[BlobEntry, ...]:
    """Order entries oldest first and keep those of one kind or media type [M-29]."""
    wanted = (
        entry
        for entry in entries
        if (kind is None or entry.ref.kind == kind) and (media_type is None or entry.ref.media_type == media_type)
    )
    return tuple(sorted(wanted, key=lambda entry: (entry.created_at, entry.ref.id)))


def prune(
    store: BlobStore,
    *,
    older_than: datetime | None,
    max_bytes: int | None,
    kind: str | None,
    media_type: str | None,
    dry_run: bool,
) -> PruneReport:
    """Prune any store by its own `list_blobs` and `delete_blob` [M-30 to M-34]."""
    candidates = store.list_blobs(kind=kind, media_type=media_type)
    chosen = _select(candidates, older_than=older_than, max_bytes=max_bytes)
    total = len(store.list_blobs())
    if not dry_run:
        for entry in chosen:
            store.delete_blob(entry.ref)
    return PruneReport(
        deleted=chosen,
        bytes_freed=sum(entry.ref.size for entry in chosen),
        examined=len(candidates),
        remaining=total - len(chosen),
        dry_run=dry_run,
    )


def _select(
    entries: tuple[BlobEntry, ...], *, older_than: datetime | None, max_bytes: int | None
) -> tuple[BlobEntry, ...]:
    if max_bytes is not None and max_bytes < 0:
        raise ValueError(f"max_bytes must be 0 or more, not {max_bytes}")
    if older_than is not None and older_than.tzinfo is None:
        older_than = older_than.replace(tzinfo=UTC)
    chosen = {entry.ref.id for entry in entries if older_than is not None and entry.created_at < older_than}
    if max_bytes is not None:
        left = [entry for entry in entries if entry.ref.id not in chosen]
        size = sum(entry.ref.size for entry in left)
        for entry in left:
            if max_bytes and size <= max_bytes:  # zero takes all, blobs of no bytes too [M-31]
                break
            chosen.add(entry.ref.id)
            size -= entry.ref.size
    return tuple(entry for entry in entries if entry.ref.id in chosen)
