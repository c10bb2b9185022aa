r"""A JSON array that arrives in pieces (Gemini's `streamGenerateContent` without `alt=sse`): one frame per element.

The array is `[{...},\r\n{...}]`, cut wherever the network cuts it. Elements are found by counting brackets outside
strings, with regular expressions that run from one bracket to the next; whether an element is good JSON is for
whoever parses it to say, so garbage inside one reaches them whole.
"""

from __future__ import annotations

import re

from weft.errors import WireError
from weft.wire.frame import DEFAULT_MAX_BYTES, JsonFrame, LateFailure

__all__ = ["JsonArrayParser", "encode_json_array"]

# A byte order mark is not JSON, but it is no reason to refuse an answer either; its bytes go with the blanks.
_LEADING = re.compile(rb"[\xef\xbb\xbf \t\r\n]*+")
_SEPARATORS = re.compile(rb"[ \t\r\n,]*+")
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(rb"[^ \t\r\n,\]]*+")
# The repeats of groups are bounded because the engine remembers each turn of them; beyond, the caller goes round.
_STRING_BODY = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+){0,1000}', re.DOTALL)
_TO_BRACKET = re.compile(rb'[^]["{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+){0,1000}"[^]["{}]*+){0,1000}', re.DOTALL)

_QUOTE, _BACKSLASH = b'"\\'
_OPENING, _CLOSING = frozenset(b"[{"), frozenset(b"]}")
_ARRAY_START, _ARRAY_END, _OBJECT_START = b"[]{"

# Where the reader stands: before the array, between elements, inside one (three ways), after the array.
_START, _BETWEEN, _NESTED, _STRING, _SCALAR_VALUE, _DONE = range(6)
_INSIDE = frozenset((_NESTED, _STRING, _SCALAR_VALUE))


class JsonArrayParser(LateFailure):
    """Reads the elements of one JSON array piece by piece, each given out as soon as its last byte is there.

    A single bare object, which is how some gateways report an error on this endpoint, counts as its only element.
    """

    __slots__ = ("_begin", "_depth", "_escaped", "_held", "_in_array", "_max", "_offset", "_place", "_size_bytes")

    def __init__(self, max_element_bytes: int = DEFAULT_MAX_BYTES) -> None:
        """Read elements of up to `max_element_bytes`; of a longer one that many are kept, and it is marked."""
        super().__init__()
        self._max = max_element_bytes
        self._place = _START
        self._in_array = False
        self._depth = 0  # brackets open inside the current element
        self._escaped = False  # inside a string, the last byte was a backslash
        self._offset = 0  # bytes in the chunks before this one
        self._begin = 0  # where the current element begins (or goes on) in this chunk
        self._held: list[bytes] = []  # its pieces from earlier chunks, no more than the bound of them
        self._size_bytes = 0  # their length, with what was dropped

    def feed(self, chunk: bytes) -> list[JsonFrame]:
        """Take the next bytes; give the elements they complete."""
        self._check()
        frames: list[JsonFrame] = []
        at = 0
        while at < len(chunk) and self._failure is None:
            at = self._step(chunk, at, frames)
        if self._place in _INSIDE:
            self._hold(chunk[self._begin :])
            self._begin = 0
        self._offset += len(chunk)
        return self._settle(frames)

    def close(self) -> list[JsonFrame]:
        """End the stream; give the element it broke off in (an empty one if it broke off between two), marked."""
        self._check_untold()
        place, self._place = self._place, _DONE
        if place in _INSIDE or (place == _BETWEEN and self._in_array and self._failure is None):
            return [self._frame(truncated=True)]
        return []

    def _step(self, chunk: bytes, at: int, frames: list[JsonFrame]) -> int:
        """Go on from `at` to the next place where something changes, and give where that is."""
        if self._place == _NESTED:
            return self._in_brackets(chunk, at, frames)
        if self._place == _STRING:
            return self._in_string(chunk, at, frames)
        if self._place == _SCALAR_VALUE:
            at = _SCALAR.match(chunk, at).end()  # type: ignore[union-attr]  # it matches nothing at least
            return self._end_element(chunk, at, frames) if at < len(chunk) else at
        if self._place == _BETWEEN:
            return self._between(chunk, at)
        return self._outside(chunk, at)

    def _outside(self, chunk: bytes, at: int) -> int:
        """Before the array only its bracket may come, and after it nothing."""
        begun = self._place == _DONE
        at = (_BLANKS if begun else _LEADING).match(chunk, at).end()  # type: ignore[union-attr]
        if at == len(chunk):
            return at
        if begun:
            return self._fail("bytes after the end of the JSON array", at)
        if chunk[at] == _ARRAY_START:
            self._in_array, self._place = True, _BETWEEN
            return at + 1
        if chunk[at] == _OBJECT_START:
            return self._begin_element(chunk, at)
        return self._fail(f"a JSON array begins with '[', not with {chunk[at : at + 1]!r}", at)

    def _between(self, chunk: bytes, at: int) -> int:
        at = _SEPARATORS.match(chunk, at).end()  # type: ignore[union-attr]
        if at == len(chunk):
            return at
        if not self._in_array:
            return self._fail("bytes after the end of the JSON object", at)
        if chunk[at] == _ARRAY_END:
            self._place = _DONE
            return at + 1
        return self._begin_element(chunk, at)

    def _begin_element(self, chunk: bytes, at: int) -> int:
        self._begin = at
        first = chunk[at]
        if first in _OPENING:
            self._depth, self._place = 1, _NESTED
        elif first == _QUOTE:
            self._depth, self._place = 0, _STRING
        else:
            self._place = _SCALAR_VALUE
        return at + 1

    def _in_brackets(self, chunk: bytes, at: int, frames: list[JsonFrame]) -> int:
        size = len(chunk)
        while (at := _TO_BRACKET.match(chunk, at).end()) < size:  # type: ignore[union-attr]
            found = chunk[at]
            at += 1
            if found in _OPENING:
                self._depth += 1
            elif found in _CLOSING:
                self._depth -= 1
                if not self._depth:
                    return self._end_element(chunk, at, frames)
            elif found == _QUOTE:  # a string that does not end in this chunk, or is too full of escapes
                self._place = _STRING
                return at
        return at

    def _in_string(self, chunk: bytes, at: int, frames: list[JsonFrame]) -> int:
        if self._escaped:
            self._escaped = False
            at += 1
        at = _STRING_BODY.match(chunk, at).end()  # type: ignore[union-attr]
        if at >= len(chunk):
            return at
        if chunk[at] == _BACKSLASH:
            self._escaped = True
            return at + 1
        if self._depth:
            self._place = _NESTED
            return at + 1
        return self._end_element(chunk, at + 1, frames)

    def _end_element(self, chunk: bytes, end: int, frames: list[JsonFrame]) -> int:
        self._hold(chunk[self._begin : end])
        frames.append(self._frame())
        self._place = _BETWEEN
        return end

    def _hold(self, piece: bytes) -> None:
        room = self._max - self._size_bytes
        if piece and room > 0:
            self._held.append(piece[:room])
        self._size_bytes += len(piece)

    def _frame(self, *, truncated: bool = False) -> JsonFrame:
        frame = JsonFrame(b"".join(self._held), truncated, self._size_bytes > self._max)
        self._held.clear()
        self._size_bytes = 0
        return frame

    def _fail(self, message: str, at: int) -> int:
        self._failure = WireError(message, where=f"byte {self._offset + at}")
        return at


def encode_json_array(value: bytes, index: int) -> bytes:
    r"""Write the element at `index`, given as JSON, with what Gemini puts before it; the array is closed by `]`."""
    return (b",\r\n" if index else b"[") + value
