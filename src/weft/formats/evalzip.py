"""inspect-ai's `.eval` files: the zip as the one JSON log that it holds in pieces, so that there is one form to read.

`header.json` (while a run is under way, only `_journal/start.json`) is the log without its samples; each sample is a
file of its own, or a folder of chunks, which comes as `{sample, metadata, chunks}`, the chunks as arrays of arrays.
Summaries and indexes only repeat what is in these. Nothing is unpacked before it is read.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

__all__ = ["ZSTANDARD", "eval_log", "zstd_member"]

ZSTANDARD = 93  # the number of this compression in zip files; Python knows it from 3.14 on
_HEADER, _START, _REDUCTIONS = "header.json", "_journal/start.json", "reductions.json"
_SAMPLE = re.compile(r"samples/.*_epoch_\d+(?:\.json|(/)sample\.json)", re.DOTALL)
# A chunk is called by the number of its first item; what is called otherwise is an index.
_CHUNK = re.compile(r"(.*/)(\d{1,18})\.json", re.ASCII | re.DOTALL)
_SEQUENCES = ("messages", "events", "calls", "attachments")
_LOCAL_HEADER_BYTES = 30  # of which the last four are the lengths of the name and the extra field after it

Piece = bytes | zipfile.ZipInfo


def eval_log(infos: Sequence[zipfile.ZipInfo], read: Callable[[zipfile.ZipInfo], bytes]) -> Iterator[Piece] | None:
    """Give the pieces of the JSON text, ready or to be unpacked; None if these are no files of an evaluation."""
    files = {info.filename: info for info in infos}  # of several of one name, the last counts
    if _HEADER in files:
        opening = read(files[_HEADER]).strip()
    elif _START in files:
        opening = b'{"status":"started",' + read(files[_START]).strip().removeprefix(b"{")
    else:
        return None
    return _log(opening, files)


def _log(opening: bytes, files: dict[str, zipfile.ZipInfo]) -> Iterator[Piece]:
    yield opening.removesuffix(b"}") + b',"samples":['
    between = b""
    chunks: dict[str, list[tuple[int, str]]] = {}
    for name in files:
        if found := _CHUNK.fullmatch(name):
            chunks.setdefault(found[1], []).append((int(found[2]), name))
    for name, info in files.items():
        if found := _SAMPLE.fullmatch(name):
            yield between
            between = b","
            if found[1]:
                yield from _chunked(name.removesuffix("sample.json"), files, chunks)
            else:
                yield info
    yield b"]"
    if _REDUCTIONS in files:
        yield b',"reductions":'
        yield files[_REDUCTIONS]
    yield b"}"


def _chunked(
    folder: str, files: dict[str, zipfile.ZipInfo], chunks: dict[str, list[tuple[int, str]]]
) -> Iterator[Piece]:
    yield b'{"sample":'
    yield files[f"{folder}sample.json"]
    if f"{folder}metadata.json" in files:
        yield b',"metadata":'
        yield files[f"{folder}metadata.json"]
    before = b',"chunks":{'
    for sequence in _SEQUENCES:
        yield b'%s"%s":[' % (before, sequence.encode())
        before = b","
        for at, (_, name) in enumerate(sorted(chunks.get(f"{folder}{sequence}/", ()))):
            yield b"," if at else b""
            yield files[name]
        yield b"]"
    yield b"}}"


def zstd_member(file: IO[bytes], info: zipfile.ZipInfo, zstd: Any) -> IO[bytes]:
    """Open a member that zstandard compressed: of several frames, if it is large, which Python's own does not read."""
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER_BYTES)
    if header[:4] != b"PK\x03\x04" or info.flag_bits & 1:
        raise zipfile.BadZipFile(f"{info.filename!r} is not where it should be, or has a password")
    lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    begin = info.header_offset + len(header) + lengths
    packed = io.BufferedReader(_Slice(file, begin, begin + info.compress_size))
    return io.BufferedReader(_Checked(zstd.ZstdFile(packed), info))


class _Slice(io.RawIOBase):
    """The bytes of a file from one place to another."""

    def __init__(self, file: IO[bytes], begin: int, end: int) -> None:
        super().__init__()
        self._file = file
        self._at = begin
        self._end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._at)
        data = self._file.read(min(len(buffer), self._end - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Checked(io.RawIOBase):
    """The bytes of a member, whose checksum has to be right at their end."""

    def __init__(self, file: IO[bytes], info: zipfile.ZipInfo) -> None:
        super().__init__()
        self._file = file
        self._info = info
        self._sum = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        self._sum = zlib.crc32(data, self._sum)
        if not data and self._sum != self._info.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {self._info.filename!r}")
        buffer[: len(data)] = data
        return len(data)
