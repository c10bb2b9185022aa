"""What was said but could not be stored in time, kept as files until the store is free again [D-10]."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from weft import jsontext
from weft.errors import UsageError, WeftError
from weft.ids import new_id
from weft.threads.append import Addition

__all__ = ["Change", "put", "rewrite", "take_in"]

Change = Callable[[dict[str, Any], bytes | None], tuple[dict[str, Any], bytes | None]]


def put(folder: Path, addition: Addition) -> Path:
    """Keep a turn as a file, on disk when this returns."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    record = {
        "version": 1,
        "payload": None if addition.payload is None else base64.b64encode(addition.payload).decode("ascii"),
        "role": addition.role,
        "continues": list(addition.continues),
        "respond": addition.respond,
        "options": addition.options,
        "bookmark": addition.bookmark,
        "cache": addition.cache,
        "move_bookmark": addition.move_bookmark,
        "content_type": addition.content_type,
        "extra": dict(addition.extra) if addition.extra else None,
        "is_linked": addition.is_linked,
    }
    path = folder / f"{new_id()}.json"
    _write(path, record)
    return path


def _write(path: Path, record: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.tmp")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(jsontext.dumps(record))
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def rewrite(
    folder: Path, change: Callable[[dict[str, Any], bytes | None], tuple[dict[str, Any], bytes | None]]
) -> list[str]:
    """Put other content into what waits here, for forgetting; give the names of the files that were changed.

    `change` gets what was said about a turn, and its payload. Files that were set aside, or left by a program that
    died, are changed too; one that cannot be read is removed if `change` would make something else of its bytes.
    """
    changed = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        with suppress(FileNotFoundError):  # another program has just added it to the store
            raw = path.read_bytes()
            try:
                record = jsontext.loads(raw)
                payload = None if record["payload"] is None else base64.b64decode(record["payload"])
                about = {key: value for key, value in record.items() if key != "payload"}
            except (ValueError, KeyError, TypeError):
                if change({}, raw)[1] == raw:
                    continue
                _overwrite(path)
            else:
                new_about, new_payload = change(about, payload)
                if (new_about, new_payload) == (about, payload):
                    continue
                old = path.with_name(f"{path.name}.old")
                path.rename(old)
                encoded = None if new_payload is None else base64.b64encode(new_payload).decode("ascii")
                _write(path, {**new_about, "payload": encoded})
                _overwrite(old)
            changed.append(path.name)
    return changed


def _overwrite(path: Path) -> None:
    """Remove a file after putting zeros in its place."""
    with path.open("r+b", buffering=0) as file:
        file.write(b"\0" * os.fstat(file.fileno()).st_size)
        os.fsync(file.fileno())
    path.unlink()


def take_in(folder: Path, add: Callable[[Addition], Any]) -> int:
    """Add every spooled turn, oldest first, and remove its file; one that can never be added is set aside."""
    count = 0
    if not folder.is_dir():
        return 0
    for path in sorted(folder.glob("*.json")):
        claimed = path.with_suffix(f".{os.getpid()}")
        try:
            path.rename(claimed)  # so that two processes do not add it twice
        except FileNotFoundError:
            continue
        try:
            add(_read(claimed))
        except (UsageError, ValueError, KeyError, TypeError):
            claimed.rename(path.with_suffix(".refused"))
        except WeftError:
            claimed.rename(path)
            raise
        else:
            claimed.unlink()
            count += 1
    return count


def _read(path: Path) -> Addition:
    record = jsontext.loads(path.read_bytes())
    payload = record["payload"]
    return Addition(
        None if payload is None else base64.b64decode(payload),
        record["role"],
        record["continues"],
        record["respond"],
        record["options"],
        record["bookmark"],
        record["cache"],
        record["move_bookmark"],
        record["content_type"],
        record["extra"],
        record["is_linked"],
    )
