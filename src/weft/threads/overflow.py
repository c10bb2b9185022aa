"""What tools gave that was too long for a turn: kept whole as blobs beside the store, named by the turn [M-08].

A result of a hundred megabytes goes from file to file and never lies in memory; the turn holds its beginning and the
name of the blob. Here is what becomes of such blobs when the turn is forgotten, or is gone: they go too.
"""

from __future__ import annotations

import re
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import jsontext
from weft.blobs import BlobEntry, FileBlobStore
from weft.errors import StoreError
from weft.store import Problem

if TYPE_CHECKING:
    from weft.threads.library import Store

__all__ = ["Overflow", "named_in"]

_NAMED = re.compile(r"kept as blob ([0-9a-f]{32})\b")
_MENTIONED = '"kept as blob"'
_ALL = 1 << 30
_SETTLED = timedelta(hours=1)  # a blob is put before the turn that names it; younger ones are left alone


class Overflow:
    """The blobs of one store. The folder is made when the first one is put."""

    def __init__(self, folder: Path) -> None:
        """Name the folder."""
        self.folder = folder

    def open(self) -> FileBlobStore:
        """Give the blobs, to put one or to read one."""
        return FileBlobStore(self.folder)

    def entry(self, blob_id: str) -> BlobEntry | None:
        """Find a blob by its name, or the beginning of one that only one has."""
        found = [entry for entry in self._entries() if entry.ref.id.startswith(blob_id)]
        return found[0] if len(found) == 1 else None

    def contents(self) -> dict[str, Iterator[bytes]]:
        """Give every blob by its name, to be read piece by piece, once."""
        if not self.folder.is_dir():
            return {}
        blobs = self.open()
        return {entry.ref.id: blobs.read_chunks(entry.ref) for entry in blobs.list_blobs()}

    def check(self) -> list[Problem]:
        """Name the blobs that are not what they were [B-03]."""
        problems = []
        for name, pieces in self.contents().items():
            try:
                deque(pieces, maxlen=0)
            except (StoreError, OSError) as error:
                problems.append(Problem("blob", name, f"blob {name}: {error}"))
        return problems

    def forget(self, ids: Iterable[str]) -> int:
        """Remove blobs; give how many there were."""
        ids = list(ids)
        if not ids or not self.folder.is_dir():
            return 0
        blobs = self.open()
        return sum(blobs.delete_blob(one) for one in ids)

    def holding(self, text: str) -> list[str]:
        """Name the blobs that have a text in them, read piece by piece."""
        wanted = text.encode("utf-8", "surrogatepass")
        blobs = self.open() if self.folder.is_dir() else None
        return [entry.ref.id for entry in self._entries() if blobs and _has(blobs, entry, wanted)]

    def unnamed(self, store: Store, now: datetime) -> list[BlobEntry]:
        """List blobs that no turn names any more."""
        settled = [entry for entry in self._entries() if now - entry.created_at > _SETTLED]
        if not settled:
            return []
        named: set[str] = set()
        for hit in store.search(_MENTIONED, limit=_ALL):
            named |= named_in(store.turn(hit.id).content)
        return [entry for entry in settled if entry.ref.id not in named]

    def sweep(self, store: Store, *, dry_run: bool) -> tuple[int, int]:
        """Remove blobs that no turn names; give how many, and their bytes."""
        going = self.unnamed(store, datetime.now(UTC))
        if not dry_run:
            self.forget(entry.ref.id for entry in going)
        return len(going), sum(entry.ref.size for entry in going)

    def copy_to(self, folder: Path) -> None:
        """Copy all of them, for a backup."""
        if self.folder.is_dir():
            shutil.copytree(self.folder, folder)

    def _entries(self) -> tuple[BlobEntry, ...]:
        return self.open().list_blobs() if self.folder.is_dir() else ()


def named_in(content: Any) -> set[str]:
    """Give the blobs a turn's content names."""
    return set(_NAMED.findall(jsontext.dumps_text(content)))


def _has(blobs: FileBlobStore, entry: BlobEntry, wanted: bytes) -> bool:
    tail = b""
    for chunk in blobs.read_chunks(entry.ref):
        if wanted in tail + chunk:
            return True
        tail = (tail + chunk)[-(len(wanted) - 1) :] if len(wanted) > 1 else b""
    return False
