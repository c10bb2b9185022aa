"""Holds: something a program says of itself in a store on a server, for exactly as long as it lives.

A store in a folder has locked files for this. A server has advisory locks: one belongs to a connection, and is let go
of when that ends, however it ends.
"""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

from weft.errors import StoreError
from weft.store.base import FrameStore

__all__ = ["Hold", "hold"]

_TRY = "SELECT pg_try_advisory_lock(%s)"


class Hold(Protocol):
    """What is held until it is let go of."""

    def release(self) -> None:
        """Let go."""
        ...


class _ServerHold:
    __slots__ = ("_connection",)

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def release(self) -> None:
        self._connection.close()


def hold(frames: FrameStore, name: str) -> Hold | None:
    """Hold a name in a store on a server, by a connection of its own; None if someone else does."""
    import psycopg  # noqa: PLC0415  # an extra; who has such a store has it

    digest = hashlib.blake2b(f"weft {name}".encode(), digest_size=8).digest()
    try:
        connection = psycopg.connect(frames.url, autocommit=True, connect_timeout=10, application_name="weft")
        row = connection.execute(_TRY, (int.from_bytes(digest, "big", signed=True),)).fetchone()
    except psycopg.Error as error:
        raise StoreError(f"the store's server does not answer: {' '.join(str(error).split())}") from error
    if row is not None and row[0]:
        return _ServerHold(connection)
    connection.close()
    return None
