"""From an address to a store: a folder is SQLite's, `postgresql://` is a server's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.store.base import FrameStore

__all__ = ["open_frames"]


def open_frames(url: str | os.PathLike[str], *, busy_seconds: float = 30.0, read_only: bool = False) -> FrameStore:
    """Open the store at an address: `postgresql://…`, `sqlite:///folder`, or the path of a folder.

    `busy_seconds` is how long a write waits for another one. The path of the database inside the folder is taken too.
    """
    text = os.fspath(url)
    scheme, found, rest = text.partition("://")
    if found and scheme in ("postgresql", "postgres"):
        # psycopg is an extra; SQLite must work without it.
        from weft.store.postgres import PostgresFrames  # noqa: PLC0415

        return PostgresFrames(text, busy_seconds=busy_seconds, read_only=read_only)
    if found and scheme != "sqlite":
        raise UsageError(f"{scheme}:// is no store; use a folder, sqlite:///folder or postgresql://host/database")
    from weft.store.sqlite import SqliteFrames  # noqa: PLC0415  # siblings are loaded only when they are asked for

    if found and rest.startswith("//"):  # sqlite:////folder: four slashes, as others write an absolute path
        rest = f"/{rest.lstrip('/')}"
    folder = Path(rest.removeprefix("/") if os.name == "nt" else rest) if found else Path(text)
    if not str(folder).strip() or str(folder) == ".":
        folder = Path.cwd() if text == "." else folder
    folder = folder.expanduser()
    if folder.name == "weft.db" and folder.is_file():
        folder = folder.parent
    if folder.is_file():
        raise UsageError(f"{folder} is a file; a store is a folder")
    return SqliteFrames(folder, busy_seconds=busy_seconds, read_only=read_only)
