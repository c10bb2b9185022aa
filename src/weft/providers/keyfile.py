"""keys.json: keys in a file that only its owner can read, changed by one process at a time [K-05, K-06, K-07].

The same shape as `llm`'s: one object, provider to key. Written to a new file that then takes the old one's place, so
whoever is killed in between leaves the old file or the new one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from weft.errors import StoreError, UsageError
from weft.jsontext import dumps, loads
from weft.providers.secret import Secret

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows: replacing a file is atomic, two writers at once are not kept apart
    fcntl = None  # type: ignore[assignment]

__all__ = ["KeyFile"]

_OTHERS = 0o077
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


class KeyFile:
    """The file of keys at one path; it need not be there."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        """Name the file."""
        self.path = path

    def read(self) -> dict[str, Secret]:
        """Give every key by its name; refuse a file that others can read or have written."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | _CLOEXEC)
        except FileNotFoundError:
            return {}
        with open(descriptor, "rb") as file:
            _need_private(os.fstat(file.fileno()), self.path)  # of the file that is open: no one can swap it now
            return _read_keys(file.read(), self.path)

    def put(self, name: str, secret: Secret | None) -> bool:
        """Keep a key under a name, or with None forget it; tell whether anything changed."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            keys = self.read()
            if keys.get(name) == secret:
                return False
            if secret is None:
                del keys[name]
            else:
                keys[name] = secret
            self._replace(self.path, dumps({each: keys[each].reveal() for each in sorted(keys)}) + b"\n")
        return True

    def salt(self) -> bytes:
        """Give the salt of this place's fingerprints, made when first asked for [K-04]."""
        path = self.path.with_name("fingerprint.salt")
        with contextlib.suppress(FileNotFoundError):
            return path.read_bytes()
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            if not path.exists():
                self._replace(path, secrets.token_bytes(32))
        return path.read_bytes()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        # A file of its own: keys.json itself is another file after every change.
        descriptor = os.open(self.path.with_name("keys.lock"), os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # which lets go of the lock

    def _replace(self, path: Path, data: bytes) -> None:
        for left in path.parent.glob(f".{path.name}.*"):  # by someone who was killed: the lock is ours, so not in use
            left.unlink(missing_ok=True)
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        # 0600 from the first moment; O_EXCL because a file put there by someone else would keep their mode.
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def _need_private(status: os.stat_result, path: Path) -> None:
    if os.name == "nt":  # pragma: no cover  # permissions there are not in the mode
        return
    if status.st_uid != os.geteuid():
        raise StoreError(
            f"{path} belongs to another user; keys in it are not used\n  remove it, or take it over: chown"
        )
    if status.st_mode & _OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise StoreError(
            f"{path} can be read by others (mode {mode:04o}); keys in it are not used\n"
            f"  close it: chmod 600 {path}\n  and think of the keys as known: make new ones"
        )


def _read_keys(data: bytes, path: Path) -> dict[str, Secret]:
    try:
        value = loads(data) if data.strip() else {}
        problem = "" if isinstance(value, dict) else "it holds no object"
    except ValueError:
        value, problem = {}, "it is no JSON"  # what the parser says may quote the file
    if not problem and not all(isinstance(key, str) for key in value.values()):
        problem = "a key in it is no text"
    if problem:
        del data, value
        raise UsageError(
            f"{path} cannot be read as keys: {problem}\n  mend it, or remove it and: weft keys set <provider>"
        )
    return {name: Secret(key) for name, key in value.items() if key.strip()}


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # pragma: no cover  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY | _CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
