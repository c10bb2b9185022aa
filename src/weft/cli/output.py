"""Files that commands write: there whole or not at all. A pipe or a device is written as it is, and never replaced."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

__all__ = ["is_stream", "whole_file"]

BUFFER_BYTES = 1 << 20


def is_stream(path: Path) -> bool:
    """Tell whether a path is a pipe, a device or the like: what is written there cannot be taken back."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to that takes its place at the end; an error leaves what was there."""
    if is_stream(path):
        with path.open("wb", buffering=BUFFER_BYTES) as stream:
            yield stream
        return
    place = path.resolve() if path.is_symlink() else path  # the link stays, and what it leads to is written
    try:
        opened = tempfile.NamedTemporaryFile(  # noqa: SIM115 - it is closed below
            dir=place.parent, prefix=f".{place.name}.", delete=False, buffering=BUFFER_BYTES
        )
    except OSError as problem:  # of the file that was asked for, not of the half one nobody knows
        raise OSError(problem.errno, problem.strerror, str(path)) from None
    with opened as file:
        half = Path(file.name)
        try:
            yield cast("BinaryIO", file)
            file.flush()
            half.chmod(_mode(place))
            half.replace(place)
        except BaseException:
            half.unlink(missing_ok=True)
            raise


def _mode(place: Path) -> int:
    """Give the rights of the file that is replaced, else those of a private one: conversations are."""
    return place.stat().st_mode & 0o777 if place.exists() else 0o600
