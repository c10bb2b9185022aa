"""Large payloads as files named by their digest.

A file is written under a temporary name, synced, renamed and its folder synced, before the row that names it is
committed [D-02, D-03]; so a row never lacks its bytes, and a crash leaves at most a file that `gc` sweeps. Names are
not trusted: bytes are hashed when read, and links and special files are not followed [B-03, B-06].
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from weft.errors import BlobIntegrityError, BlobNotFoundError, StoreError

__all__ = ["ContentFolder", "sync_folder"]

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NAME = re.compile(r"[0-9a-f]{64}")
_STALE_SECONDS = 3600  # a temporary file this old has no writer left [B-01]


class ContentFolder:
    """A folder of payloads."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; it is made by the first write."""
        self.folder = folder

    def put(self, digest: bytes, data: bytes) -> None:
        """Keep `data`, which has this digest; when this returns, it is on disk."""
        name = digest.hex()
        self.folder.mkdir(mode=0o700, exist_ok=True)
        target = self.folder / name
        if self._is_sound(target, digest):
            self._touch(target)
        else:
            temporary = self.folder / f".tmp-{secrets.token_hex(8)}"
            with open(os.open(temporary, _CREATE, 0o600), "wb") as file:
                try:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                except BaseException:
                    temporary.unlink(missing_ok=True)
                    raise
            temporary.rename(target)
        # Also when the file was there: its writer may not have come to this line before it died.
        sync_folder(self.folder)
        sync_folder(self.folder.parent)

    def get(self, digest: bytes) -> bytes:
        """Give the bytes if they still have this digest [T-3]."""
        name = digest.hex()
        try:
            descriptor = os.open(self.folder / name, _READ)
        except FileNotFoundError:
            raise BlobNotFoundError(name) from None
        except OSError as error:
            raise StoreError(f"content {name} cannot be read: {error.strerror or error}") from error
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StoreError(f"content {name} is not an ordinary file; refusing to read it")
            data = file.read()
        actual = hashlib.sha256(data).digest()
        if actual != digest:
            raise BlobIntegrityError(name, name, actual.hex())
        return data

    def names(self) -> Iterator[tuple[bytes, int, float]]:
        """List digest, size and age in seconds of every file."""
        now = time.time()
        if not self.folder.is_dir():
            return
        for entry in os.scandir(self.folder):
            if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                yield bytes.fromhex(entry.name), status.st_size, now - status.st_mtime

    def remove(self, digest: bytes) -> None:
        """Remove a file after putting zeros in its place: as of rows, nothing of it stays on the disk [K-09]."""
        path = self.folder / digest.hex()
        with contextlib.suppress(FileNotFoundError), open(path, "r+b", buffering=0) as file:
            left = os.fstat(file.fileno()).st_size
            while left > 0:
                left -= file.write(b"\0" * min(left, 1 << 20))
            os.fsync(file.fileno())
        path.unlink(missing_ok=True)

    def sweep_temporary(self) -> None:
        """Remove what writers left that died long ago."""
        if not self.folder.is_dir():
            return
        now = time.time()
        for entry in os.scandir(self.folder):
            with contextlib.suppress(OSError):
                if entry.name.startswith(".tmp-") and now - entry.stat(follow_symlinks=False).st_mtime > _STALE_SECONDS:
                    Path(entry.path).unlink()

    def _is_sound(self, path: Path, digest: bytes) -> bool:
        """Tell whether these bytes are there already; a damaged file is written again [B-04]."""
        try:
            return hashlib.sha256(self.get(digest)).digest() == digest
        except BlobNotFoundError:
            return False
        except StoreError:
            if path.is_symlink() or not path.is_file():
                raise
            return False

    def _touch(self, path: Path) -> None:
        # A sweep leaves young files alone, so one that is named again becomes young [B-07].
        os.utime(path)


def sync_folder(folder: Path) -> None:
    """Bring a folder's entries to disk."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
