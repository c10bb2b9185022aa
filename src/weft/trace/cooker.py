"""Cooking: records in, in input order; every distinct message once, and the forest of requests, out.

What is added costs what is new in it: repeated history is recognised by its bytes (sparse.py), messages by their value
(dedup.py), and parents are found in a trie of all that was said (forest.py). A snapshot may be taken at any time; a
record that comes late with an early timestamp is then put in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from weft.canon import thaw
from weft.errors import UsageError
from weft.trace.clock import milliseconds
from weft.trace.cooked import Cooked, Place, Problem
from weft.trace.extract.formats import format_called
from weft.trace.extract.pictures import names_in
from weft.trace.handle import Handle
from weft.trace.links import links_of
from weft.trace.settling import Settler
from weft.trace.sockets import exchanges_in
from weft.trace.sparse import Parsed, Reader
from weft.trace.taking import Taker

__all__ = ["Cooker", "cook"]

_COOKED = frozenset({"messages", "tools", "requests"})
_LONGEST_MS = 10**15


class Cooker:
    """Cooks records as they come.

    `format` names the format of all records instead of asking each [C-19]. With `links`, what requests say about where
    they belong (response ids, conversations, sessions) takes part in finding parents.
    """

    __slots__ = ("_reader", "_records", "_requests", "_taker", "problems")

    def __init__(self, *, format: str = "auto", links: bool = False) -> None:
        """Begin with no records."""
        self.problems: list[Problem] = []
        self._reader = Reader()
        self._taker = Taker(self._reader, None if format == "auto" else format_called(format))
        self._requests = Settler(links=links)
        self._records = 0

    def __len__(self) -> int:
        """Count the requests so far."""
        return len(self._requests)

    @property
    def message_count(self) -> int:
        """The number of distinct messages so far."""
        return len(self._taker.dedup.messages)

    @property
    def tool_count(self) -> int:
        """The number of distinct tools so far."""
        return len(self._taker.dedup.tools)

    def add(self, record: bytes | Mapping[str, Any], place: Place | None = None) -> Handle | None:
        """Cook one more record: a line of JSON, or what it says. A bad one is a problem, and gives None."""
        self._records += 1
        where = place or Place("record", self._records)
        try:
            parsed = self._read(record)
        except ValueError as problem:
            return self._refuse(where, f"not JSON: {problem}")
        held = parsed.record
        if not isinstance(held, dict):
            return self._refuse(where, f"a record is a JSON object, not {_kind(held)}")
        if "request" not in held and "response" not in held:
            if held.keys() >= _COOKED:
                raise UsageError(f"{where.source} is cooked already\n  look at it: weft view {where.source}")
            return self._refuse(where, "not a trace record: it has no request")
        handles = [self._cook(part, place) for part in exchanges_in(parsed)]
        return handles[0]

    def pictures_of(self, number: int) -> list[bytes]:
        """Name the pictures and files of a message, by its number; `find_pictures` has them out of the record."""
        return names_in(self._taker.dedup.hidden.get(number, b""))

    def settle(self) -> None:
        """Find the parents of what was added since the last time; `cooked` does it, too, all at once."""
        self._requests.settle()

    def cooked(self) -> Cooked:
        """Give what was cooked so far, parents up to date."""
        self._requests.settle()
        order = self._requests.order
        links = links_of(order)
        return Cooked(
            list(self._taker.dedup.messages),
            list(self._taker.dedup.tools),
            [handle.cooked(links.get(handle.index, ())) for handle in order],
        )

    def _read(self, record: bytes | Mapping[str, Any]) -> Parsed:
        if isinstance(record, bytes):
            return self._reader.read(record)
        try:
            # Writing is far cheaper than looking at every message of a history again.
            return self._reader.read(orjson.dumps(record, default=thaw))
        except (orjson.JSONEncodeError, ValueError):  # large numbers, lone surrogates, deep nesting
            return Parsed(thaw(record))

    def _refuse(self, place: Place, message: str) -> Handle | None:
        self.problems.append(Problem(place, message))
        return None

    def _cook(self, parsed: Parsed, place: Place | None) -> Handle:
        record = parsed.record
        handle = Handle(
            _id(record.get("id"), len(self._requests)),
            len(self._requests),
            milliseconds(record.get("timestamp")),
            place,
        )
        duration = record.get("duration_ms")
        if isinstance(duration, (int, float)) and abs(duration) < _LONGEST_MS:
            handle.duration_ms = int(duration)
        self._taker.take(parsed, handle)
        self._requests.add(handle)
        return handle


def cook(records: Iterable[Any], *, format: str = "auto", links: bool = False) -> Cooked:
    """Cook records: lines of JSON, what they say, or pairs of a place and a line as `read_records` gives them."""
    cooker = Cooker(format=format, links=links)
    for record in records:
        if isinstance(record, tuple):
            cooker.add(record[1], record[0])
        else:
            cooker.add(record)
    return cooker.cooked()


def _id(given: Any, index: int) -> str:
    """Give a record's id; one that has none is called by its number [C-16]."""
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return str(given)
    return given if isinstance(given, str) and given else f"r{index}"


def _kind(value: Any) -> str:
    names = {str: "a text", list: "a list", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
