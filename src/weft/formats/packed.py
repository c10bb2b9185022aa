"""Packed files as what is in them: gzip, zstandard, and the zip files that exports of chats and evaluations come in.

They are unpacked as they are read, whatever their size. Damage is a CodecError that names the file, wherever in it that
comes to light.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Any, BinaryIO

from weft.errors import CodecError, UsageError
from weft.formats.evalzip import ZSTANDARD, eval_log, zstd_member

__all__ = ["CHUNK_BYTES", "unpacked"]

CHUNK_BYTES = 1 << 20
_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", (b"PK\x03\x04", b"PK\x05\x06")
# Large exports have several files of conversations, numbered from 000.
_CONVERSATIONS = re.compile(r"(?:.*/)?conversations(-\d+)?\.json")
_NAMES_TOLD = 5
_Opener = Callable[[], Any]  # gives a file to read; gzip's is one in all but its type
# What the unpackers raise. RuntimeError is what zipfile says to a file with a password.
_DAMAGE = (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zlib.error, zipfile.BadZipFile)


def unpacked(file: BinaryIO, head: bytes, name: str) -> BinaryIO | None:
    """Give what is in a file that begins with `head`, to be read; None if it is not packed."""
    name = name or "the file"
    if head.startswith(_GZIP):
        inner = _Unpacked([_from_start(file, lambda: gzip.GzipFile(fileobj=file))], name, file.seekable())
    elif head.startswith(_ZSTD):
        zstd = _zstd()
        inner = _Unpacked([_from_start(file, lambda: zstd.ZstdFile(file))], name, file.seekable(), damage=_damage(zstd))
    elif head.startswith(_ZIP):
        inner = _conversations(file, name)
    else:
        return None
    return io.BufferedReader(inner, CHUNK_BYTES)


def _from_start(file: BinaryIO, opened: _Opener) -> _Opener:
    """Open it where it begins, again when it is read a second time."""
    start = file.tell() if file.seekable() else None

    def again() -> Any:
        if start is not None:
            file.seek(start)
        return opened()

    return again


def _conversations(file: BinaryIO, name: str) -> _Unpacked:
    """Open the conversations of an export; one from a pipe is put on disk, for its list of files is at the end."""
    copy: IO[bytes] | None = None
    if not file.seekable():
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with what is read from it
        shutil.copyfileobj(file, copy, CHUNK_BYTES)
    try:
        archive = zipfile.ZipFile(copy or file)
    except _DAMAGE as problem:
        raise _damaged(problem, name) from problem
    there = [info for info in archive.infolist() if not info.is_dir()]
    found = [(info, match) for info in there if (match := _CONVERSATIONS.fullmatch(info.filename))]
    chosen = [info for info, match in found if match[1] is None] or sorted(
        (info for info, _ in found), key=lambda info: (len(info.filename), info.filename)
    )
    if not chosen and (log := _evaluation(archive, there, file, copy, name)) is not None:
        return log
    if not chosen:
        names = ", ".join(info.filename for info in there[:_NAMES_TOLD]) or "nothing"
        more = f" and {len(there) - _NAMES_TOLD} more" if len(there) > _NAMES_TOLD else ""
        raise CodecError(
            f"a zip file without a conversations.json: it holds {names}{more}\n"
            "  exports of chats and .eval logs are read as they are; of other zip files, unpack what you mean",
            where=name,
        )
    parts = [lambda info=info: archive.open(info) for info in chosen]
    return _Unpacked(parts, name, owned=copy)


def _evaluation(
    archive: zipfile.ZipFile, infos: Sequence[zipfile.ZipInfo], file: BinaryIO, copy: IO[bytes] | None, name: str
) -> _Unpacked | None:
    """Open inspect-ai's log as the JSON it is; None if this is none."""
    zstd = _zstd() if any(info.compress_type == ZSTANDARD for info in infos) else None

    def opened(piece: bytes | zipfile.ZipInfo) -> IO[bytes]:
        if isinstance(piece, bytes):
            return io.BytesIO(piece)
        return zstd_member(copy or file, piece, zstd) if piece.compress_type == ZSTANDARD else archive.open(piece)

    damage = _DAMAGE if zstd is None else _damage(zstd)
    try:
        pieces = eval_log(infos, lambda info: opened(info).read())
    except damage as problem:
        raise _damaged(problem, name) from problem
    if pieces is None:
        return None
    return _Unpacked([partial(opened, piece) for piece in pieces], name, damage=damage, owned=copy)


class _Unpacked(io.RawIOBase):
    """The bytes of one part after the other; it can go back to the first, if what they come from can."""

    def __init__(
        self,
        parts: Sequence[_Opener],
        name: str,
        can_rewind: bool = True,
        *,
        damage: tuple[type[Exception], ...] = _DAMAGE,
        owned: IO[bytes] | None = None,
    ) -> None:
        super().__init__()
        self._parts = parts
        self._name = name
        self._can_rewind = can_rewind
        self._damage = damage
        self._owned = owned
        self._rest = list(parts)
        self._part: IO[bytes] | None = None
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._can_rewind

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("a packed file can go back to its beginning, and nowhere else")
        self._rest, self._part, self._at = list(self._parts), None, 0
        return 0

    def readinto(self, buffer: Any) -> int:
        try:
            while self._part is not None or self._rest:
                if self._part is None:
                    self._part = self._rest.pop(0)()
                if data := self._part.read(len(buffer)):
                    buffer[: len(data)] = data
                    self._at += len(data)
                    return len(data)
                self._part = None
        except self._damage as problem:
            raise _damaged(problem, self._name) from problem
        return 0

    def close(self) -> None:
        if self._owned is not None:
            self._owned.close()
        super().close()


def _damage(zstd: Any) -> tuple[type[Exception], ...]:
    return (*_DAMAGE, zstd.ZstdError)


def _damaged(problem: Exception, name: str) -> CodecError:
    return CodecError(f"it is compressed, and damaged: {problem}", where=name)


def _zstd() -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - from 3.14 on
    except ImportError:
        try:
            from backports import zstd  # type: ignore[no-redef,import-not-found,unused-ignore]  # noqa: PLC0415
        except ImportError:
            raise UsageError(
                "reading what zstandard compressed (.zst, .eval) needs the extra: pip install 'weft[zstd]'"
            ) from None
    return zstd
