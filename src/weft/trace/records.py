"""Records from wherever they are: files, folders, pipes; JSON Lines, plain or in zstd, or one JSON value [C-5, C-13].

Lines are given as bytes with their place and are not looked into: whoever cooks them says what is wrong with them. Only
a last line without an end is: if it is no JSON, it was cut off while it was written, and is reported as torn [J-08].
A file is never held whole, unless it is one JSON value.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from weft.errors import UsageError
from weft.jsontext import dumps, loads
from weft.trace.cooked import Place, Problem
from weft.trace.decoding import ZSTD, zstd_module
from weft.trace.opening import recover_file

__all__ = ["Source", "files_in", "read_records"]

Source: TypeAlias = str | Path | BinaryIO
Report: TypeAlias = Callable[[Problem], object]

_ENDINGS = (".jsonl", ".ndjson", ".json", ".jsonl.zst", ".ndjson.zst", ".json.zst")
_BUFFER = 1 << 20  # an agent's line is a hundred kilobytes; the default buffer would take sixteen steps for each
_COOKED = frozenset({"messages", "tools", "requests"})
_BOM = b"\xef\xbb\xbf"  # editors of one system put it at the beginning of a file; it is no part of a record


def read_records(
    sources: Iterable[Source] | Source, report: Report | None = None, *, offset: int = 0
) -> Iterator[tuple[Place, bytes]]:
    """Give every record of the sources with its place, in order; what cannot be read goes to `report`.

    `offset` begins a single plain file of JSON Lines in its middle, at the beginning of a line; lines then count from
    there.
    """
    single = isinstance(sources, (str, Path)) or hasattr(sources, "read")
    given: Iterable[Any] = [sources] if single else sources  # type: ignore[assignment]
    told = report or _ignore
    for source in given:
        if isinstance(source, (str, Path)):
            for path, is_listed in files_in(Path(source)):
                yield from _of_file(path, told, is_listed=is_listed, offset=offset)
        else:
            yield from _of_stream(source, getattr(source, "name", "input"), told)


def _ignore(_problem: Problem) -> None:
    pass


def files_in(path: Path) -> list[tuple[Path, bool]]:
    """Give a file, or the traces in a folder and below, by name; and whether each was named itself."""
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.name.endswith(_ENDINGS) and each.is_file())
        if not found:
            raise UsageError(f"no traces in {path}\n  looked for: {', '.join(f'*{ending}' for ending in _ENDINGS[:4])}")
        return [(each, False) for each in found]
    if not path.exists():
        raise UsageError(f"no such file: {path}")
    return [(path, True)]


def _of_file(path: Path, report: Report, *, is_listed: bool, offset: int) -> Iterator[tuple[Place, bytes]]:
    with ExitStack() as stack:
        recover_file(path)  # what a killed recording left beside it
        file: BinaryIO = stack.enter_context(open(path, "rb", buffering=_BUFFER))
        if offset:
            file.seek(offset)
            yield from _lines(file, str(path), report, b"", offset)
            return
        yield from _of_stream(file, str(path), report, is_listed=is_listed)


def _of_stream(given: BinaryIO, name: str, report: Report, *, is_listed: bool = True) -> Iterator[tuple[Place, bytes]]:
    file: Any = given if hasattr(given, "peek") else io.BufferedReader(given, _BUFFER)
    if file.peek(len(ZSTD))[: len(ZSTD)] == ZSTD:
        file = _Unpacked(zstd_module(), file)
    first = _first_line(file, name, report)
    text = first.removeprefix(_BOM).lstrip()
    if text[:1] == b"[" or (text[:1] == b"{" and not _is_json(text)):
        yield from _of_value(first, file, name, report, is_listed=is_listed)
        return
    yield from _lines(file, name, report, first, 0)


class _Unpacked:
    """A file in zstd, to be read. Damage in it is an end before its time, and what was before it is read."""

    def __init__(self, zstd: Any, packed: BinaryIO) -> None:
        self._file = zstd.open(packed, "rb")
        self._damage = (zstd.ZstdError, EOFError)
        self._is_over = False

    def readline(self) -> bytes:
        if self._is_over:
            return b""
        try:
            line: bytes = self._file.readline()
        except self._damage as problem:
            self._is_over = True  # it is told once
            raise EOFError(str(problem)) from None
        return line

    def read(self) -> bytes:
        pieces = []
        try:
            while piece := self._file.read(_BUFFER):
                pieces.append(piece)
        except self._damage:
            pass  # no JSON value then: what there is is read as lines, and the last one is torn
        return b"".join(pieces)

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line


def _first_line(file: BinaryIO, name: str, report: Report) -> bytes:
    """Read up to the end of the first line that is not blank."""
    read: list[bytes] = []
    try:
        while line := file.readline():
            read.append(line)
            if not line.isspace():
                break
    except EOFError as problem:
        report(Problem(Place(name, 1), f"cut off: {problem}", torn=True))
    return b"".join(read)


def _of_value(
    first: bytes, file: BinaryIO, name: str, report: Report, *, is_listed: bool
) -> Iterator[tuple[Place, bytes]]:
    """Take the whole text for one JSON value, as it does not begin with a record on a line."""
    text = first + file.read()
    try:
        value = loads(text.removeprefix(_BOM))
    except ValueError:
        yield from _lines(io.BytesIO(text), name, report, b"", 0)
        return
    if isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield Place(name, number), dumps(each)
    elif is_listed or not (isinstance(value, dict) and value.keys() >= _COOKED):  # a folder may hold what was cooked
        mark = len(_BOM) if text.startswith(_BOM) else 0
        yield Place(name, 1, mark, len(text) - mark), dumps(value)


def _lines(file: BinaryIO, name: str, report: Report, first: bytes, offset: int) -> Iterator[tuple[Place, bytes]]:
    number = 0
    at = offset
    last = b""
    try:
        for line in _chain(first, file):
            number += 1
            size = len(line)
            if line.endswith(b"\n"):
                if not line.isspace():
                    mark = len(_BOM) if line.startswith(_BOM) else 0
                    yield Place(name, number, at + mark, size - mark), line[mark:] if mark else line
            else:
                last = line
            at += size
    except (EOFError, OSError) as problem:
        if isinstance(problem, OSError) and problem.errno is not None:
            raise
        report(Problem(Place(name, number + 1, at), f"cut off: {problem}", torn=True))
        return
    if last.strip():
        last = last.removeprefix(_BOM)
        place = Place(name, number, at - len(last), len(last))
        if _is_json(last):
            yield place, last
        else:
            report(Problem(place, "the last line was cut off; it is left out", torn=True))


def _chain(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield from io.BytesIO(first)
    yield from file


def _is_json(text: bytes) -> bool:
    try:
        loads(text)
    except ValueError:
        return False
    return True
