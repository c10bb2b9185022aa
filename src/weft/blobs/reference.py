"""What a blob is called, and what a store says about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from weft.closed import closed

__all__ = ["BlobEntry", "BlobReference", "PruneReport"]


@closed
@dataclass(frozen=True, slots=True)
class BlobReference:
    """Names one stored payload. The id is the store's; `sha256` is the lower-case hex digest of the bytes."""

    id: str
    sha256: str
    media_type: str | None
    kind: str
    size: int


@closed
@dataclass(frozen=True, slots=True)
class BlobEntry:
    """One stored blob with what the store knows about its life."""

    ref: BlobReference
    created_at: datetime
    last_accessed_at: datetime | None = None


@closed
@dataclass(frozen=True, slots=True)
class PruneReport:
    """What a prune removed, or would remove when `dry_run` is set."""

    deleted: tuple[BlobEntry, ...]
    bytes_freed: int
    examined: int
    remaining: int
    dry_run: bool
