"""The chunks that bodies of exchanges are made of: what a backend offers for them, reading them, and their era.

A chunk is found by the beginning of its digest. When one is removed a new era begins, and nothing remembered holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from weft.ids import new_id
from weft.store.base import Flag
from weft.store.rows import verified

__all__ = ["Asking", "Running", "bump_era", "era_of", "key_of", "read_chunks"]

_CHUNKS = "SELECT number, hash, flags, data FROM chunks WHERE number IN ?LIST"
_FACT = "SELECT value FROM facts WHERE name = 'chunks'"


class Asking(Protocol):
    """What a backend offers to this module, as a whole or inside a write."""

    def ask(self, sql: str, params: Sequence[Any] = ()) -> list[Any]: ...

    def listed(self, values: Sequence[Any]) -> Any: ...

    def file(self, digest: bytes) -> bytes: ...


class Running(Asking, Protocol):
    """The same inside a write."""

    def run(self, sql: str, params: Sequence[Any]) -> None: ...

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None: ...

    def keep_file(self, digest: bytes, data: bytes) -> bool: ...


def read_chunks(db: Asking, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Give chunks by number, each verified."""
    for number, digest, flags, data in db.ask(_CHUNKS, (db.listed(list(numbers)),)):
        yield number, verified(bytes(digest), db.file(bytes(digest)) if flags & Flag.FILE else data)


def key_of(digest: bytes) -> int:
    """Give the beginning of a digest as a number both databases can hold."""
    return int.from_bytes(digest[:8], "big", signed=True)


def bump_era(writer: Any) -> None:
    """Say that chunks or exchanges are no longer what they were: whoever remembers any forgets them."""
    writer.note("chunks", new_id())


def era_of(db: Asking) -> str:
    """Give the name of the present era; what was remembered in another holds no more."""
    found = db.ask(_FACT)
    return str(found[0][0]) if found else ""
