"""Reading records without reading again what earlier records said.

An agent sends its whole history with every request, so nearly all bytes of a trace have been read before. A line is
compared with the lines of the sessions still running, byte by byte; the messages it shares with one are cut out of the
text, and so are instructions and tools that are known as they stand. What is left, the new messages and the answer, is
parsed as usual.

Cutting is safe. The value that is cut out begins where a value is expected, is known to be a whole JSON value, and a
marker nobody can know is parsed in its place: if the marker is then found at `request.messages`, that is where the
value was. If anything is not as expected, the line is parsed whole. docs/decisions/0015-reading-records-sparsely.md
argues it. So where things are may be guessed, and is: the next line of a session looks like its last one.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from math import isfinite
from typing import Any, NoReturn

from weft.jsontext import loads

__all__ = ["List", "Parsed", "Reader", "Static"]

_LISTS = (b'"messages"', b'"contents"', b'"input"')
_OPENS = {key: re.compile(re.escape(key) + rb"[ \t\r\n]*:[ \t\r\n]*(?=\[)") for key in _LISTS}
# Before the list they may be anywhere; after it, only the tools are worth a search.
_STATICS = ("tools", "system", "systemInstruction", "system_instruction", "instructions", "toolConfig")
_QUOTED = {name: f'"{name}"'.encode() for name in _STATICS}
_VALUE = {name: re.compile(re.escape(key) + rb'[ \t\r\n]*:[ \t\r\n]*(?=[\[{"])') for name, key in _QUOTED.items()}
_FOLLOWING = (b'"tools"', b'"response"')
_WINDOWS = (4_096, 65_536)  # where the list is looked for first; most lines begin with little else
_BACKSLASH = 0x5C

_KEPT_LISTS = 96
_LIKELY = 8
_KEPT_BYTES = 48 << 20  # of lines that later ones are compared with
_KEPT_STATICS = 12
_SMALLEST = 512  # a shorter value is as soon parsed as looked up


class Static:
    """A value that stands in many requests as it is; `cooked` is what was made of it, for whoever makes it."""

    __slots__ = ("cooked", "raw", "value")

    def __init__(self, raw: bytes, value: Any) -> None:
        self.raw = raw
        self.value = value
        self.cooked: dict[str, Any] = {}


Spots = dict[str, tuple[int, Static]]


class List:
    """The list of messages of one line. The first `shared` are those of `base`; `values` are the others.

    `ids`, `cuts`, `hints` and `loose` are for whoever makes messages of them: ids, how many there are after each
    element, what the elements so far say about the format, which positions are loose. Until the list is kept, they are
    those of the new elements alone; then it takes over those of its base, so that a growing list is not copied.
    """

    __slots__ = (
        "after",
        "base",
        "before",
        "cuts",
        "ends",
        "format",
        "hints",
        "ids",
        "key",
        "line",
        "loose",
        "request",
        "shared",
        "start",
        "values",
    )

    def __init__(self, line: bytes, request: int, key: bytes, start: int) -> None:
        """Begin a list at `start`; its request begins at `request`."""
        self.line = memoryview(line)
        self.request = request
        self.key = key
        self.start = start
        self.ends: list[int] = []  # of the elements from `shared` on, counted from `start`; of all, once it is kept
        self.before: Spots = {}  # known values before the list, by distance from `start`
        self.after: Spots = {}  # and behind it, by distance from its end
        self.base: List | None = None
        self.shared = 0
        self.values: list[Any] = []
        self.format = ""
        self.ids: list[str] = []
        self.cuts: list[int] = []
        self.hints: list[int] = []
        self.loose: list[int] = []


class Parsed:
    """A record as far as it had to be read: `list_of` and `statics` stand for what was cut out of `request`."""

    __slots__ = ("list_key", "list_of", "record", "statics")

    def __init__(
        self, record: Any, list_key: str = "", list_of: List | None = None, statics: dict[str, Static] | None = None
    ) -> None:
        self.record = record
        self.list_key = list_key
        self.list_of = list_of
        self.statics = statics or {}


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


# The standard library's scanner says where a value ends, which orjson does not. Refuses what jsontext.loads refuses.
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite).raw_decode


class Reader:
    """Reads lines in order; each is compared with those before it."""

    __slots__ = ("_bytes", "_keys", "_lists", "_mark", "_statics")

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._lists: list[List] = []  # the most recent first
        self._bytes = 0
        self._statics: dict[str, list[Static]] = {name: [] for name in _STATICS}
        self._keys = list(_LISTS)
        self._mark = secrets.token_hex(12)

    def read(self, line: bytes) -> Parsed:
        """Read one record; ValueError says what is wrong with it."""
        try:
            parsed = self._read_sparsely(line)
        except (ValueError, RecursionError, IndexError):
            parsed = None
        return parsed if parsed is not None else Parsed(loads(line))

    def keep(self, list_of: List) -> None:
        """Compare later lines with this one; the one it grew from is not needed any more."""
        base = list_of.base
        if base is not None and list_of.shared:
            is_grown = list_of.shared >= len(base.ends) - 1
            _join(base, list_of, take=is_grown)
            if is_grown:
                self._forget(base)
        list_of.base = None
        list_of.values = []
        self._lists.insert(0, list_of)
        self._bytes += len(list_of.line)
        while len(self._lists) > _KEPT_LISTS or (self._bytes > _KEPT_BYTES and len(self._lists) > 1):
            self._bytes -= len(self._lists.pop().line)

    def _forget(self, list_of: List) -> None:
        if list_of in self._lists:
            self._lists.remove(list_of)
            self._bytes -= len(list_of.line)

    # -- one line ------------------------------------------------------------------------------------------------

    def _read_sparsely(self, line: bytes) -> Parsed | None:
        found, like = self._find_list(line)
        if found is None:
            return None
        start = found.start
        base, shared = self._longest_shared(line, start)
        found.base, found.shared = base, shared
        found.values, found.ends, end = _scan_rest(line, start, base.ends[shared - 1] if base is not None else 1)
        self._find_statics(line, found, like or base, end)
        mark = self._mark
        cuts = [(start, end, f'["{mark}"]'.encode())]
        for spots, origin in ((found.before, start), (found.after, end)):
            for name, (distance, known) in spots.items():
                at = origin + distance
                cuts.append((at, at + len(known.raw), f'"{mark}{name}"'.encode()))
        record = loads(_without(line, sorted(cuts)))
        request = record.get("request") if isinstance(record, dict) else None
        list_key = found.key[1:-1].decode()
        if not isinstance(request, dict) or request.get(list_key) != [mark]:
            return None
        statics = {name: known for spots in (found.before, found.after) for name, (_, known) in spots.items()}
        for name, known in statics.items():
            if request.get(name) != mark + name:
                return None
            request[name] = known.value
        request[list_key] = None if shared else found.values
        return Parsed(record, list_key, found, statics)

    def _find_list(self, line: bytes) -> tuple[List | None, List | None]:
        """Find a list of messages, and an earlier line that has the same words before it."""
        request = max(line.find(b'"request"', 0, _WINDOWS[0]), 0)
        for known in self._lists[:_LIKELY]:
            if line.startswith(known.line[known.request : known.start + 1], request):
                return List(line, request, known.key, known.start - known.request + request), known
        for window in (*_WINDOWS, len(line)):
            for number, key in enumerate(self._keys):
                at = line.find(key, 0, window)
                match = _OPENS[key].match(line, at) if at > 0 and line[at - 1] != _BACKSLASH else None
                if match is not None:
                    if number:  # the next line is likely to be one of the same kind
                        self._keys.insert(0, self._keys.pop(number))
                    return List(line, request, key, match.end()), None
            if window >= len(line):
                break
        return None, None

    def _longest_shared(self, line: bytes, start: int) -> tuple[List | None, int]:
        """Find the earlier list that this one shares most elements with."""
        best: List | None = None
        shared = 0
        for known in self._lists:
            ends, view, first = known.ends, known.line, known.start
            count = len(ends)
            if count <= shared or not line.startswith(view[first : first + ends[shared]], start):
                continue
            low, high = shared + 1, count + 1  # `low` elements are shared, `high` are not
            for guess in (count, count - 1):  # all of it, or all but the last, whose cache mark has moved on
                if low < guess < high:
                    if line.startswith(view[first : first + ends[guess - 1]], start):
                        low = guess
                        break
                    high = guess
            while high - low > 1:
                middle = (low + high) // 2
                if line.startswith(view[first : first + ends[middle - 1]], start):
                    low = middle
                else:
                    high = middle
            best, shared = known, low
            if shared >= count - 1:
                break
        return best, shared

    def _find_statics(self, line: bytes, found: List, like: List | None, end: int) -> None:
        """Find values that are known as they stand: where a line like this one has them, or by their names."""
        start = found.start
        if like is not None:
            for spots, mine, origin in ((like.before, found.before, start), (like.after, found.after, end)):
                for name, (distance, known) in spots.items():
                    if origin + distance > 0 and line.startswith(known.raw, origin + distance):
                        mine[name] = (distance, known)
            if len(found.before) + len(found.after) == len(like.before) + len(like.after):
                return
        for name in _STATICS:
            if name in found.before or name in found.after:
                continue
            at = self._static(line, name, 0, start)
            if at is not None:
                found.before[name] = (at[0] - start, at[1])
                continue
            at = self._static(line, name, end, len(line) if name == "tools" else end + _WINDOWS[0])
            if at is not None:
                found.after[name] = (at[0] - end, at[1])

    def _static(self, line: bytes, name: str, first: int, last: int) -> tuple[int, Static] | None:
        """Find a value by its name, or get to know it."""
        where = line.find(_QUOTED[name], first, last)
        match = _VALUE[name].match(line, where) if where > 0 and line[where - 1] != _BACKSLASH else None
        if match is None:
            return None
        where = match.end()
        kept = self._statics[name]
        for number, known in enumerate(kept):
            if line.startswith(known.raw, where):
                if number:
                    kept.insert(0, kept.pop(number))
                return where, known
        text = line[where:].decode("utf-8")
        value, stop = _scan(text, 0)
        size = stop if text.isascii() else len(text[:stop].encode("utf-8"))
        if size < _SMALLEST:
            return None
        known = Static(line[where : where + size], value)
        kept.insert(0, known)
        del kept[_KEPT_STATICS:]
        return where, known


def _join(base: List, grown: List, *, take: bool) -> None:
    """Put what a list shares with its base before what is new in it; the base is not needed any more if it is taken."""
    shared = grown.shared
    count = base.cuts[shared - 1] if base.cuts else 0
    for name, size in (("ends", shared), ("cuts", shared), ("hints", shared), ("ids", count)):
        held: list[Any] = getattr(base, name)
        if take:
            del held[size:]
        else:
            held = held[:size]
        held += getattr(grown, name)
        setattr(grown, name, held)
    if base.loose:
        grown.loose = [at for at in base.loose if at < count] + grown.loose


def _scan_rest(line: bytes, start: int, known: int) -> tuple[list[Any], list[int], int]:
    """Read the elements after the first `known` bytes of a list: their values, their ends, and where the list ends."""
    from_byte = start + known
    # Nearly always one of these follows the list, so that only the list need be decoded.
    after = next((at for key in _FOLLOWING if (at := line.find(key, from_byte)) > 0), 0)
    if after:
        try:
            return _scan_text(line[from_byte:after], start, known)
        except (ValueError, IndexError):
            pass
    return _scan_text(line[from_byte:], start, known)


def _scan_text(rest: bytes, start: int, known: int) -> tuple[list[Any], list[int], int]:
    text = rest.decode("utf-8")
    is_ascii = len(text) == len(rest)
    values: list[Any] = []
    ends: list[int] = []
    is_first = known == 1
    counted, size = 0, known  # characters, and bytes of the list, counted so far
    at = _skip(text, 0)
    while text[at] != "]":
        if not is_first:
            if text[at] != ",":
                raise ValueError("a list lacks a comma")
            at = _skip(text, at + 1)
        is_first = False
        value, at = _scan(text, at)
        if not isinstance(value, (dict, list, str)):
            raise ValueError("a list of messages holds something else")  # noqa: TRY004 - to be parsed whole
        values.append(value)
        size += at - counted if is_ascii else len(text[counted:at].encode("utf-8"))
        counted = at
        ends.append(size)
        at = _skip(text, at)
    return values, ends, start + size + at + 1 - counted


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _without(line: bytes, pieces: list[tuple[int, int, bytes]]) -> bytes:
    kept = []
    at = 0
    for start, end, instead in pieces:
        if start < at:
            raise ValueError("two values overlap")
        kept += [line[at:start], instead]
        at = end
    kept.append(line[at:])
    return b"".join(kept)
