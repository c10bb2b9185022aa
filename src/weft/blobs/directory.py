"""A blob store in a folder, safe against crashes, other processes and planted links.

    root/<id>.blob          the payload
    root/<id>.meta.json     what is known of it; written last, so a listed blob is a whole blob
    root/content/<sha256>   the same bytes under their digest

`<id>.blob` is a hard link to the file in `content/`, so bytes put a hundred times are on disk once while every
reference keeps a name of its own. Names are never trusted: bytes are hashed when they are read and before they
are shared. Links and special files are not followed, and everything is created readable by its owner alone.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import orjson

from weft.blobs.reference import BlobEntry, BlobReference, PruneReport
from weft.blobs.store import blob_id_of, new_blob_id, payload_of, prune, sort_and_filter, utc_now
from weft.errors import BadBlobIdError, BlobIntegrityError, BlobNotFoundError, StoreError

__all__ = ["FileBlobStore"]

_ID = re.compile(r"[0-9a-f]{32}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTENT = "content"
_CHUNK = 1 << 20
_TRIES = 5  # to share bytes that another process keeps dropping, before keeping a copy of our own
_STALE_SECONDS = 3600  # a temporary file this old has no writer left [B-01]
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # NONBLOCK: a planted FIFO must not hang us
_FIELD_TYPES: tuple[Any, ...] = (str, str, (str, type(None)), str, int)  # of a sidecar: id to size
# What os.link says where the file system has no hard links, or this file has all it may have.
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.ENOSYS}


class FileBlobStore:
    """Keeps payloads as files under `root`, which is created if it is missing."""

    __slots__ = ("_entries", "_root")

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """Open the folder, index its sidecars and sweep what dead writers left."""
        self._root = Path(root)
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._entries: dict[str, BlobEntry] = {}
        self._index()
        self._sweep()

    @property
    def root(self) -> Path:
        """The folder this store lives in."""
        return self._root

    def __repr__(self) -> str:
        """Show where the store is."""
        return f"FileBlobStore({str(self._root)!r})"

    # -- writing ---------------------------------------------------------------------------------------------

    def put_blob(self, data: bytes, *, media_type: str | None = None, kind: str = "file") -> BlobReference:
        """Keep `data` under a new id; when this returns, it is on disk [M-38]."""
        return self.put_stream(io.BytesIO(payload_of(data)), media_type=media_type, kind=kind)

    def put_stream(self, source: IO[bytes], *, media_type: str | None = None, kind: str = "file") -> BlobReference:
        """Keep all that `source` has to give, a piece at a time."""
        root = self._open_dir()
        try:
            content = _open_content_dir(root)
            try:
                temporary, sha256, size = _write_temporary(content, iter(lambda: source.read(_CHUNK), b""))
                ref = BlobReference(new_blob_id(), sha256, media_type, kind, size)
                try:
                    self._name(root, content, temporary, ref)
                finally:
                    _unlink(temporary, content)
            finally:
                os.close(content)
            entry = BlobEntry(ref, utc_now())
            try:
                _write_sidecar(root, entry)
            except OSError:  # a full disk: what nobody will have a reference to must not stay
                _unlink(f"{ref.id}.blob", root)
                _drop_unshared(root, [sha256])
                raise
            os.fsync(root)
        finally:
            os.close(root)
        self._entries[ref.id] = entry
        return ref

    def _name(self, root: int, content: int, temporary: str, ref: BlobReference) -> None:
        """Give the bytes in `temporary` the name `<id>.blob`: shared through `content/` if that works.

        Another process may drop `content/<sha256>` between any two steps. The temporary file stays until the end, so
        there is always a whole copy of the bytes to name.
        """
        name = f"{ref.id}.blob"
        try:
            for _ in range(_TRIES):
                self._adopt(root, content, temporary, ref.sha256)
                with contextlib.suppress(FileNotFoundError):  # dropped by another process: adopt again
                    _link(ref.sha256, name, content, root)
                    return
            _link(temporary, name, content, root)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.rename(temporary, name, src_dir_fd=content, dst_dir_fd=root)

    def _adopt(self, root: int, content: int, temporary: str, sha256: str) -> None:
        """Make `content/<sha256>` hold these bytes, whatever a file of that name holds now [B-04]."""
        try:
            _link(temporary, sha256, content, content)
        except FileExistsError:
            if _digest(sha256, content) in (sha256, None):  # sound, or dropped just now
                return
            self._repair(root, content, temporary, sha256)
        os.fsync(content)

    def _repair(self, root: int, content: int, temporary: str, sha256: str) -> None:
        """Put sound bytes in place of damaged ones, for every reference that shared them."""
        _replace(temporary, sha256, content, content)
        for entry in tuple(self._entries.values()):
            name = f"{entry.ref.id}.blob"
            if entry.ref.sha256 == sha256 and _digest(name, root) not in (sha256, None):
                _replace(temporary, name, content, root)

    # -- reading ---------------------------------------------------------------------------------------------

    def get_blob(self, ref: BlobReference) -> bytes:
        """Give back the bytes if they still are the ones the reference names [M-27]."""
        with self._opened(ref) as payload:
            data = payload.read()
        actual = hashlib.sha256(data).hexdigest()
        if actual != ref.sha256:
            raise BlobIntegrityError(ref.id, ref.sha256, actual)
        self._touch(ref.id)
        return data

    def read_chunks(self, ref: BlobReference, *, size: int = _CHUNK) -> Iterator[bytes]:
        """Give the bytes a piece at a time, after a first pass has shown that all of them are sound."""
        with self._opened(ref) as payload:
            actual = hashlib.file_digest(payload, "sha256").hexdigest()
            if actual != ref.sha256:
                raise BlobIntegrityError(ref.id, ref.sha256, actual)
            payload.seek(0)
            self._touch(ref.id)
            while chunk := payload.read(size):
                yield chunk

    def has_blob(self, ref: BlobReference) -> bool:
        """Tell whether a payload is there; an id of another form is simply not."""
        return _ID.fullmatch(ref.id) is not None and _is_file(self._root / f"{ref.id}.blob")

    def list_blobs(self, *, kind: str | None = None, media_type: str | None = None) -> tuple[BlobEntry, ...]:
        """List blobs, oldest first, without those whose payload vanished [M-29, M-38]."""
        present = (entry for entry in tuple(self._entries.values()) if _is_file(self._root / f"{entry.ref.id}.blob"))
        return sort_and_filter(present, kind=kind, media_type=media_type)

    @contextlib.contextmanager
    def _opened(self, ref: BlobReference) -> Iterator[io.BufferedReader]:
        if not _ID.fullmatch(ref.id):
            raise BadBlobIdError(ref.id)
        try:
            descriptor = _open_plain_file(f"{ref.id}.blob", self._root)
        except FileNotFoundError:
            raise BlobNotFoundError(ref.id) from None
        with open(descriptor, "rb") as payload:
            yield payload

    def _touch(self, blob_id: str) -> None:
        entry = self._entries.get(blob_id)
        if entry is None:
            return
        self._entries[blob_id] = entry = replace(entry, last_accessed_at=utc_now())
        # A store that may only be read is still read; the time of access then stays with this process [B-09].
        with contextlib.suppress(OSError):
            root = self._open_dir()
            try:
                # The mode is asked as well as the system: root may write anywhere, but was told not to here.
                if os.fstat(root).st_mode & stat.S_IWUSR:
                    _write_sidecar(root, entry, durable=False)
            finally:
                os.close(root)

    # -- removing --------------------------------------------------------------------------------------------

    def delete_blob(self, ref_or_id: BlobReference | str) -> bool:
        """Remove payload and sidecar, and the shared bytes if nobody else has them [M-28, M-38]."""
        blob_id = blob_id_of(ref_or_id)
        if not _ID.fullmatch(blob_id):
            return False
        # One that another process put after we opened is not in our index.
        entry = self._entries.pop(blob_id, None) or _read_sidecar(self._root / f"{blob_id}.meta.json")
        root = self._open_dir()
        try:
            # The payload first: killed here, what is left is a sidecar that lists nothing, never bytes nobody lists.
            removed = _unlink(f"{blob_id}.blob", root)
            _unlink(f"{blob_id}.meta.json", root)
            if entry is not None:
                _drop_unshared(root, [entry.ref.sha256])
        finally:
            os.close(root)
        return removed

    def prune_blobs(
        self,
        *,
        older_than: datetime | None = None,
        max_bytes: int | None = None,
        kind: str | None = None,
        media_type: str | None = None,
        dry_run: bool = False,
    ) -> PruneReport:
        """Remove by age and by total size [M-30], and finish what a prune that was killed left behind [B-08]."""
        report = prune(
            self, older_than=older_than, max_bytes=max_bytes, kind=kind, media_type=media_type, dry_run=dry_run
        )
        if not dry_run and (older_than is not None or max_bytes is not None):
            self._drop_leftovers()
        return report

    def _drop_leftovers(self) -> None:
        root = self._open_dir()
        try:
            for name in os.listdir(root):  # noqa: PTH208 - a descriptor, not a path
                blob_id = name.removesuffix(".meta.json")
                if blob_id != name and _ID.fullmatch(blob_id) and not _exists(f"{blob_id}.blob", root):
                    _unlink(name, root)
            _drop_unshared(root, None)
        finally:
            os.close(root)

    # -- opening ---------------------------------------------------------------------------------------------

    def _index(self) -> None:
        for sidecar in self._root.glob("*.meta.json"):
            entry = _read_sidecar(sidecar)
            if entry is not None and _is_file(self._root / f"{entry.ref.id}.blob"):
                self._entries[entry.ref.id] = entry

    def _sweep(self) -> None:
        cutoff = time.time() - _STALE_SECONDS
        for folder in (self._root, self._root / _CONTENT):
            if folder.is_symlink() and folder != self._root:  # planted: its files are not ours [B-06]
                continue
            for leftover in folder.glob(".tmp-*"):
                with contextlib.suppress(OSError):  # read-only, or another process was faster
                    if not folder.stat().st_mode & stat.S_IWUSR:  # as in _touch: root was told not to [B-09]
                        break
                    if leftover.lstat().st_mtime < cutoff:
                        leftover.unlink()

    def _open_dir(self) -> int:
        return os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _open_content_dir(root: int) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(_CONTENT, mode=0o700, dir_fd=root)
    try:
        return os.open(_CONTENT, _FOLDER, dir_fd=root)
    except (NotADirectoryError, OSError) as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise StoreError(
                f"blob folder {_CONTENT!r} is a link or a file, not a folder; refusing to use it"
            ) from error
        raise


def _drop_unshared(root: int, digests: Iterable[str] | None) -> None:
    """Remove bytes in `content/` whose last reference went: these, or all. A link made meanwhile keeps its bytes."""
    try:
        content = os.open(_CONTENT, _FOLDER, dir_fd=root)
    except OSError:  # never made, or a link planted in its place
        return
    try:
        names = os.listdir(content) if digests is None else digests  # noqa: PTH208 - a descriptor, not a path
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                if _SHA256.fullmatch(name) and os.stat(name, dir_fd=content, follow_symlinks=False).st_nlink == 1:
                    os.unlink(name, dir_fd=content)
    finally:
        os.close(content)


def _open_plain_file(name: str, folder: int | Path) -> int:
    """Open an ordinary file for reading; a link, a FIFO or a device in its place is an error [B-06]."""
    target = folder / name if isinstance(folder, Path) else name
    dir_fd = folder if isinstance(folder, int) else None
    try:
        descriptor = os.open(target, _READ, dir_fd=dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"{name} is a symbolic link; refusing to follow it") from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{name} is not an ordinary file; refusing to read it")
    return descriptor


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _digest(name: str, folder: int) -> str | None:
    try:
        descriptor = _open_plain_file(name, folder)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as payload:
        return hashlib.file_digest(payload, "sha256").hexdigest()


def _write_temporary(folder: int, chunks: Iterable[bytes], *, durable: bool = True) -> tuple[str, str, int]:
    """Write `chunks` to a new file in `folder`; give its name, digest and size."""
    name = f".tmp-{secrets.token_hex(8)}"
    digest, size = hashlib.sha256(), 0
    with open(os.open(name, _CREATE, 0o600, dir_fd=folder), "wb") as target:
        try:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                target.write(chunk)
            target.flush()
            if durable:
                os.fsync(target.fileno())
        except BaseException:
            _unlink(name, folder)
            raise
    return name, digest.hexdigest(), size


def _link(source: str, target: str, source_dir: int, target_dir: int) -> None:
    os.link(source, target, src_dir_fd=source_dir, dst_dir_fd=target_dir, follow_symlinks=False)


def _replace(source: str, target: str, source_dir: int, target_dir: int) -> None:
    """Make `target` another name of `source` in one step, whatever it named before."""
    step = f".tmp-{secrets.token_hex(8)}"
    _link(source, step, source_dir, source_dir)
    os.rename(step, target, src_dir_fd=source_dir, dst_dir_fd=target_dir)


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _unlink(name: str, folder: int) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _write_sidecar(root: int, entry: BlobEntry, *, durable: bool = True) -> None:
    ref = entry.ref
    record = {
        "id": ref.id,
        "sha256": ref.sha256,
        "media_type": ref.media_type,
        "kind": ref.kind,
        "size": ref.size,
        "created_at": entry.created_at.isoformat(),
        "last_accessed_at": entry.last_accessed_at.isoformat() if entry.last_accessed_at else None,
    }
    temporary, _, _ = _write_temporary(root, [orjson.dumps(record)], durable=durable)
    os.rename(temporary, f"{ref.id}.meta.json", src_dir_fd=root, dst_dir_fd=root)


def _read_sidecar(path: Path) -> BlobEntry | None:
    """Read one sidecar; what cannot be read, or is not about the blob it is named for, is no entry [M-36]."""
    try:
        with open(_open_plain_file(path.name, path.parent), "rb") as sidecar:
            record: Any = orjson.loads(sidecar.read())
        fields = (record["id"], record["sha256"], record["media_type"], record["kind"], record["size"])
        if fields[0] != path.name.removesuffix(".meta.json") or not _ID.fullmatch(fields[0]):
            return None
        if not all(isinstance(value, kind) for value, kind in zip(fields, _FIELD_TYPES, strict=True)):
            return None
        if not _SHA256.fullmatch(fields[1]):
            return None
        return BlobEntry(
            BlobReference(*fields), _time(record["created_at"]), _optional_time(record["last_accessed_at"])
        )
    except (OSError, StoreError, ValueError, TypeError, KeyError):
        return None


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _optional_time(text: str | None) -> datetime | None:
    return None if text is None else _time(text)
