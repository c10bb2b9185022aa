"""Newline-delimited JSON (Ollama, and many a log): bytes to one frame per line.

Lines end in LF; a CR before it, and blanks around the value, are JSON whitespace and go. Lines are not parsed here
but for the last, where parsing is the only way to tell a stream that lacks its last newline from one cut short.
"""

from __future__ import annotations

import orjson

from weft.wire.frame import DEFAULT_MAX_BYTES, JsonFrame

__all__ = ["NdjsonParser", "encode_ndjson"]

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r"


class NdjsonParser:
    """Reads lines of JSON piece by piece; however they are cut, the same lines come out."""

    __slots__ = ("_at_start", "_held", "_held_bytes", "_max")

    def __init__(self, max_line_bytes: int = DEFAULT_MAX_BYTES) -> None:
        """Read lines of up to `max_line_bytes`; of a longer one that many bytes are kept, and it is marked."""
        self._max = max_line_bytes
        self._held: list[bytes] = []  # the pieces of the unfinished line, no more than the bound of them
        self._held_bytes = 0  # how long that line is so far, with what was dropped
        self._at_start = True

    def feed(self, chunk: bytes) -> list[JsonFrame]:
        """Take the next bytes; give the lines they complete."""
        first, newline, rest = chunk.partition(b"\n")
        self._hold(first)
        if not newline:
            return []
        frames = self._end_line()
        lines = rest.split(b"\n")
        self._hold(lines.pop())
        for line in lines:
            frames += self._frame(line, len(line))
        return frames

    def close(self) -> list[JsonFrame]:
        """End the stream; give the last line if it had no newline, marked `truncated` unless it parses."""
        return [frame._replace(truncated=not _parses(frame.data)) for frame in self._end_line()]

    def _hold(self, piece: bytes) -> None:
        room = self._max - self._held_bytes
        if piece and room > 0:
            self._held.append(piece[:room])
        self._held_bytes += len(piece)

    def _end_line(self) -> list[JsonFrame]:
        frames = self._frame(b"".join(self._held), self._held_bytes)
        self._held.clear()
        self._held_bytes = 0
        return frames

    def _frame(self, line: bytes, size_bytes: int) -> list[JsonFrame]:
        """Give the line as a frame, or nothing for a blank one."""
        if self._at_start:
            line = line.removeprefix(_BOM)
            self._at_start = False
        value = line[: self._max].strip(_BLANKS)
        oversize = size_bytes > self._max
        return [JsonFrame(value, oversize=oversize)] if value or oversize else []


def _parses(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def encode_ndjson(value: bytes) -> bytes:
    """Write one value, given as JSON on one line, as a line."""
    return value + b"\n"
