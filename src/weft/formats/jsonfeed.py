"""JSON files larger than memory: the members of the outermost array or object, one at a time.

Each element is decoded by orjson as soon as its last byte is there. Where it ends is guessed first: the elements of an
export all begin with the same key, so the next one is found by searching for the bytes that stood between the last
two, and if what lies before them is good JSON, the guess was right, for no value is the beginning of another. Only
where a guess fails are brackets counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from weft import jsontext
from weft.errors import CodecError

__all__ = ["JsonFeed", "keys_of", "value_end"]

_BLANKS = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(rb"[^ \t\r\n,:\]}]*+")
# The repeats of groups are bounded because the engine remembers each turn of them; beyond, the caller goes round.
_STRING_BODY = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+){0,1000}', re.DOTALL)
_TO_BRACKET = re.compile(rb'[^]["{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+){0,1000}"[^]["{}]*+){0,1000}', re.DOTALL)
_FIRST_KEY = re.compile(rb'\{[ \t\r\n]*+"[^"\\]*+"[ \t\r\n]*+:')
_OPENING, _CLOSING, _QUOTE = frozenset(b"[{"), frozenset(b"]}"), ord('"')

CHUNK_BYTES = 1 << 20
GUESS_BYTES = 4 << 20  # how far a guess looks, beyond four times the largest element so far
GUESSES = 3  # how many wrong ones before brackets are counted


class JsonFeed:
    """Bytes that arrive in chunks, read value by value. Errors name the byte where something is wrong."""

    __slots__ = ("_at", "_base", "_chunks", "_data", "_ended", "_largest")

    def __init__(self, chunks: Iterator[bytes]) -> None:
        """Take the bytes from `chunks`; a byte order mark before them is no matter."""
        self._chunks = chunks
        self._data = b""
        self._at = 0
        self._base = 0  # where in the file `_data` begins
        self._ended = False
        self._largest = 0
        self._more()
        if self._data.startswith(b"\xef\xbb\xbf"):
            self._at = 3

    def peek(self) -> str:
        """Give the next character that is not blank, without taking it; nothing at the end."""
        while True:
            self._at = _BLANKS.match(self._data, self._at).end()  # type: ignore[union-attr]  # it always matches
            if self._at < len(self._data):
                return chr(self._data[self._at])
            if not self._more():
                return ""

    def take(self, wanted: str) -> None:
        """Take one character that has to come now."""
        if (found := self.peek()) != wanted:
            raise self._error(f"{wanted!r} expected, not {found!r}" if found else f"it ends before {wanted!r}")
        self._at += 1

    def value(self, loads: Callable[[bytes], Any] = jsontext.loads) -> Any:
        """Take the next value, whatever it is, decoded by `loads`."""
        if not self.peek():
            raise self._error("it ends where a value should be")
        return self._decoded(self._end_of_value(), loads)

    def elements(self, loads: Callable[[bytes], Any] = jsontext.loads) -> Iterator[Any]:
        """Take an array, giving its elements one by one, decoded by `loads`."""
        self.take("[")
        if self.peek() == "]":
            self._at += 1
            return
        between: bytes | None = None
        while True:
            if not self.peek():
                raise self._error("the array is not closed")
            begin = self._at
            key = _FIRST_KEY.match(self._data, begin) if between is not None else None
            guessed = self._guess(between + key.group(), loads) if between is not None and key else None
            yield self._decoded(self._end_of_value(), loads) if guessed is None else guessed[0]
            end_in_file = self._base + self._at
            if self.peek() != ",":
                self.take("]")
                return
            self._at += 1
            self.peek()
            since = self._at - (end_in_file - self._base)
            # What lay between the two, if the buffer still has it.
            between = b"}" + self._data[self._at - since : self._at] if since <= self._at else None

    def members(self) -> Iterator[str]:
        """Take an object, giving its keys; after each, the caller takes the value."""
        self.take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                raise self._error("a key expected")
            key = self.value()
            self.take(":")
            yield key
            if self.peek() != ",":
                self.take("}")
                return
            self._at += 1

    def end(self) -> None:
        """Say that nothing more is expected."""
        if self.peek():
            raise self._error("there is more after the end of the JSON value")

    # -- finding ends --------------------------------------------------------------------------------------------

    def _guess(self, needle: bytes, loads: Callable[[bytes], Any]) -> tuple[Any] | None:
        """Take the next element if it ends where the next one seems to begin."""
        reach = GUESS_BYTES + 4 * self._largest
        search = self._at
        for _ in range(GUESSES):
            while (found := self._data.find(needle, search)) < 0:
                kept = len(self._data) - self._at
                if kept > reach or not self._more():
                    return None
                search = max(self._at, self._at + kept - len(needle))
            raw = self._data[self._at : found + 1]
            try:
                value = loads(raw)
            except ValueError:
                search = found + 1
                continue
            self._largest = max(self._largest, len(raw))
            self._at = found + 1
            return (value,)
        return None

    def _end_of_value(self) -> int:
        """Find the end of the value at `_at`, reading on as far as it takes, and looking at nothing twice."""
        is_container = self._data[self._at] in _OPENING
        seen, depth = 0, 0
        while True:
            if is_container:
                end, at, depth = _container_end(self._data, self._at + seen, depth)
                seen = at - self._at
            else:
                end = value_end(self._data, self._at)
            if end >= 0:
                return end
            if not self._more():
                if chr(self._data[self._at]) in '[{"':
                    raise self._error("it ends in the middle of a value")
                return len(self._data)  # a number, or true: nothing else says where it ends

    def _decoded(self, end: int, loads: Callable[[bytes], Any] = jsontext.loads) -> Any:
        raw = self._data[self._at : end]
        try:
            value = loads(raw)
        except ValueError as problem:
            raise self._error(f"not JSON: {problem}") from None
        self._largest = max(self._largest, len(raw))
        self._at = end
        return value

    def _more(self) -> bool:
        """Read on: at least a chunk, and as much as there is already, so that a long value is not copied too often."""
        if self._ended:
            return False
        kept = self._data[self._at :]
        pieces, size = [kept], 0
        while size < max(CHUNK_BYTES, len(kept)):
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
                break
            pieces.append(chunk)
            size += len(chunk)
        self._base += self._at
        self._at = 0
        self._data = b"".join(pieces)
        return size > 0

    def _error(self, message: str) -> CodecError:
        return CodecError(message, where=f"byte {self._base + self._at + 1}")


def value_end(data: bytes, at: int) -> int:
    """Give where the JSON value that begins at `at` ends, or -1 if that is not in `data`; it may still be no JSON."""
    first = data[at]
    if first == _QUOTE:
        return _string_end(data, at)
    if first not in _OPENING:
        end = _SCALAR.match(data, at).end()  # type: ignore[union-attr]  # it always matches
        # A comma where a value should be is one byte of nonsense, for whoever decodes it to refuse.
        return -1 if end == len(data) else max(end, at + 1)
    return _container_end(data, at, 0)[0]


def _container_end(data: bytes, at: int, depth: int) -> tuple[int, int, int]:
    """Count brackets from `at` on, `depth` of which are open; give the end or -1, and where and how deep to go on."""
    size = len(data)
    while (at := _TO_BRACKET.match(data, at).end()) < size:  # type: ignore[union-attr]
        found = data[at]
        if found in _OPENING:
            depth += 1
        elif found in _CLOSING:
            depth -= 1
            if not depth:
                return at + 1, at + 1, 0
        elif (end := _string_end(data, at)) < 0:  # a string that does not end here, or is too full of escapes
            return -1, at, depth
        else:
            at = end
            continue
        at += 1
    return -1, at, depth


def _string_end(data: bytes, at: int) -> int:
    at += 1
    while True:
        at = _STRING_BODY.match(data, at).end()  # type: ignore[union-attr]
        if at >= len(data):
            return -1
        if data[at] == _QUOTE:
            return at + 1
        if at + 1 >= len(data):  # a backslash with nothing after it yet
            return -1


def keys_of(data: bytes, at: int = 0) -> dict[str, Any]:
    """Give the members of the object at `at` as far as `data` has them; one whose value is cut off has None."""
    found: dict[str, Any] = {}
    at = _BLANKS.match(data, at).end()  # type: ignore[union-attr]
    if data[at : at + 1] != b"{":
        return found
    at += 1
    while True:
        at = _BLANKS.match(data, at).end()  # type: ignore[union-attr]
        if data[at : at + 1] != b'"' or (end := _string_end(data, at)) < 0:
            return found
        try:
            key = jsontext.loads(data[at:end])
            at = _BLANKS.match(data, end).end()  # type: ignore[union-attr]
            if data[at : at + 1] != b":":
                return found
            at = _BLANKS.match(data, at + 1).end()  # type: ignore[union-attr]
            found[key] = None
            if at >= len(data) or (end := value_end(data, at)) < 0:
                return found
            found[key] = jsontext.loads(data[at:end])
        except ValueError:
            return found
        at = _BLANKS.match(data, end).end()  # type: ignore[union-attr]
        if data[at : at + 1] != b",":
            return found
        at += 1
