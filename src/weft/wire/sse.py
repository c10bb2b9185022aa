"""Server-sent events: the WHATWG event stream, bytes to events and back.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

Lines are found in the bytes, before any decoding, so that U+2028, U+0085 and their like (which `str.splitlines`
takes for line ends) stay where they are. What the data means (JSON, `[DONE]`) is left to the dialects, and
reconnecting to the client.

Reading is on the path of every streamed token, so the common shape, `data: ...` with or without an `event: ...`
before it, is cut out by one regular expression over the whole chunk and only the rest is read line by line.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import NamedTuple

from weft.errors import UsageError
from weft.wire.frame import DEFAULT_MAX_BYTES

__all__ = ["SseEvent", "SseParser", "encode_sse"]

_BOM = b"\xef\xbb\xbf"

# One ordinary event, or else all that is left: so the last match tells in one look whether every byte was taken
# by ordinary events, which no search over the gaps between matches could do as cheaply.
_ORDINARY = re.compile(rb"(?:event: ?+(.*+)\n)?data: ?+(.*+)\n\n++|(?s:.+)")
_NOT_ORDINARY = (b"", b"")  # also an event with neither name nor data; reading that one slowly is no harm

_LINE_END = re.compile(rb"\r\n|\r|\n")

# A reconnection time longer than this is no time, and int() refuses thousands of digits with a ValueError.
_RETRY_DIGITS = 15


class _NameAndData(NamedTuple):
    name: bytes
    data: bytes


class SseEvent(tuple[object, ...]):
    """One event: `event`, `data`, `id`, `retry`, and whether it is `truncated` or `oversize`.

    `data` stays bytes, which is what `orjson.loads` likes best; `text` decodes it. An ordinary event is the pair that
    the regular expression found, and its other attributes are constants of the class: making an object with six
    fields would cost as much as reading its JSON. Use `make` to build one by hand.
    """

    __slots__ = ()

    name: bytes = _NameAndData.name
    """The event's type as it came, empty where the stream names none."""
    data: bytes = _NameAndData.data
    """The data, its lines joined by LF."""
    id: str = ""
    """The last event id the stream has set, which by the standard stays in force until the next."""
    retry: int | None = None
    """The reconnection time in milliseconds, where this event carried one."""
    truncated: bool = False
    """The stream ended before this event's blank line; `data` is what had arrived of it."""
    oversize: bool = False
    """The event was longer than the parser's bound; `data` is its beginning as it came, field names and all."""

    @classmethod
    def make(
        cls,
        name: bytes,
        data: bytes,
        *,
        id: str = "",
        retry: int | None = None,
        truncated: bool = False,
        oversize: bool = False,
    ) -> SseEvent:
        """Build an event from its fields."""
        if id or retry is not None or truncated or oversize:
            return _MarkedEvent((name, data, id, retry, truncated, oversize))
        return SseEvent((name, data))

    @property
    def event(self) -> str:
        """The event's type, which is "message" where the stream names none."""
        return self.name.decode("utf-8", "replace") or "message"

    @property
    def text(self) -> str:
        """The data as text; bytes that are no UTF-8 become U+FFFD, as the standard has it."""
        return self.data.decode("utf-8", "replace")

    def __repr__(self) -> str:
        """Show what is set, and leave out what is not."""
        marks = [
            f"{key}={value!r}" for key in ("id", "retry", "truncated", "oversize") if (value := getattr(self, key))
        ]
        return f"SseEvent({', '.join([f'event={self.event!r}', f'data={self.data!r}', *marks])})"


class _MarkedEvent(SseEvent):
    """The rarer event that has an id, a retry or a mark: a tuple of six, so that equality sees them too."""

    __slots__ = ()

    id = property(itemgetter(2))
    retry = property(itemgetter(3))
    truncated = property(itemgetter(4))
    oversize = property(itemgetter(5))


class SseParser:
    """Reads an event stream piece by piece; however it is cut, the same events come out."""

    __slots__ = ("_after_cr", "_head", "_held", "_max", "_overflowing", "_skipped_lf", "last_event_id", "retry")

    def __init__(self, max_event_bytes: int = DEFAULT_MAX_BYTES) -> None:
        """Read events of up to `max_event_bytes`; of a longer one that many bytes are kept, and it is marked."""
        self.last_event_id = ""
        self.retry: int | None = None
        self._max = max_event_bytes
        self._head: bytes | None = b""  # what may yet become a BOM; None once the stream has begun
        self._held = bytearray()  # the unfinished event; never holds a blank line
        self._after_cr = False  # the last chunk ended in CR, so an LF at the start of the next one belongs to it
        self._overflowing = False  # the held event passed the bound; its bytes are dropped until a blank line
        self._skipped_lf = False  # the last byte so dropped was an LF, half of a blank line

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes; give the events they complete."""
        if self._head is not None:
            chunk = self._without_bom(chunk)
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_lf_only(chunk)
        if not self._held and chunk.endswith(b"\n\n"):
            return self._read(chunk)  # a live stream mostly comes as whole events: nothing to hold, nothing to join
        return self._take(chunk)

    def close(self) -> list[SseEvent]:
        """End the stream; give the event it broke off in, if any, marked `truncated`."""
        if self._head:
            self._held += self._head
        block = bytes(self._held.strip(b"\n"))
        overflowing, self._overflowing = self._overflowing or len(block) > self._max, False
        self._head = None
        self._held.clear()
        if overflowing:
            return [self._oversize(block, truncated=True)]
        if all(line.startswith(b":") for line in block.split(b"\n") if line):
            return []  # nothing was begun: at most a comment, which means nothing
        name, data, _, retry = _fields(block)
        return [SseEvent.make(name, b"\n".join(data), id=self.last_event_id, retry=retry, truncated=True)]

    def _without_bom(self, chunk: bytes) -> bytes:
        """Take one byte order mark off the very start, which may itself arrive in pieces."""
        head = (self._head or b"") + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BOM)

    def _with_lf_only(self, chunk: bytes) -> bytes:
        """Make every line end an LF. A CR ends its line at once; the LF that may follow it is then no line end."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _take(self, chunk: bytes) -> list[SseEvent]:
        """Take bytes whose lines end in LF; read them up to the last blank line, and hold the rest."""
        if self._overflowing:
            return self._take_overflow(chunk)
        held = self._held
        if held:
            # Only the new bytes are searched (and the one before them), so that small chunks cost no re-reading.
            searched = len(held) - 1
            held += chunk
            end = held.rfind(b"\n\n", searched) + 2
            whole = bytes(held[:end]) if end > 1 else b""
            del held[: len(whole)]
        else:
            end = chunk.rfind(b"\n\n") + 2
            whole = chunk[:end] if end > 1 else b""
            held += chunk[len(whole) :]
        if len(held) > self._max + 2:  # the bound, and the line ends that may stand before and after the event
            self._overflow()
        return self._read(whole) if whole else []

    def _overflow(self) -> None:
        self._overflowing = True
        self._skipped_lf = self._held.endswith(b"\n")
        del self._held[self._max + 1 :]

    def _take_overflow(self, chunk: bytes) -> list[SseEvent]:
        """Drop bytes up to the blank line where reading can begin again."""
        if self._skipped_lf:
            chunk = b"\n" + chunk  # a blank line may lie across the cut
        at = chunk.find(b"\n\n")
        if at < 0:
            self._skipped_lf = chunk.endswith(b"\n")
            return []
        event = self._oversize(bytes(self._held).lstrip(b"\n"))
        self._overflowing = False
        self._held.clear()
        return [event, *self._take(chunk[at + 2 :])]

    def _read(self, whole: bytes) -> list[SseEvent]:
        """Read bytes that end in a blank line."""
        if not self.last_event_id and len(whole) <= self._max:
            pairs = _ORDINARY.findall(whole)
            if pairs[-1] != _NOT_ORDINARY:
                return list(map(SseEvent, pairs))
        events = (self._read_block(block.strip(b"\n")) for block in whole.split(b"\n\n"))
        return [event for event in events if event is not None]

    def _read_block(self, block: bytes) -> SseEvent | None:
        """Read the lines between two blank lines; without data they are no event, but an id or a retry still counts."""
        if len(block) > self._max:
            return self._oversize(block)
        name, data, event_id, retry = _fields(block)
        self._remember(event_id, retry)
        if not data:
            return None
        return SseEvent.make(name, b"\n".join(data), id=self.last_event_id, retry=retry)

    def _oversize(self, block: bytes, *, truncated: bool = False) -> SseEvent:
        """Give the beginning of an event as it came; its fields count only where their whole line is there."""
        kept = block[: self._max]
        name, _, event_id, retry = _fields(kept[: kept.rfind(b"\n") + 1])
        if not truncated:
            self._remember(event_id, retry)
        return SseEvent.make(name, kept, id=self.last_event_id, retry=retry, truncated=truncated, oversize=True)

    def _remember(self, event_id: str | None, retry: int | None) -> None:
        if event_id is not None:
            self.last_event_id = event_id
        if retry is not None:
            self.retry = retry


def _fields(block: bytes) -> tuple[bytes, list[bytes], str | None, int | None]:
    """Give the name, the lines of data, the id and the retry of one block of lines."""
    name, data, event_id, retry = b"", [], None, None
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
        elif field == b"id" and b"\0" not in value:
            event_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            retry = int(value)
    return name, data, event_id, retry


def encode_sse(
    data: bytes | str,
    event: str | None = None,
    id: str | None = None,
    *,
    retry: int | None = None,
) -> bytes:
    """Write one event. Line ends in the data, of whatever kind, arrive as LF: the format has no other way."""
    lines = []
    if event is not None:
        lines.append(b"event: " + _one_line("event", event))
    if id is not None:
        if "\0" in id:
            raise UsageError("an event id cannot hold U+0000: readers ignore such an id")
        lines.append(b"id: " + _one_line("id", id))
    if retry is not None:
        lines.append(b"retry: %d" % retry)
    body = data if isinstance(data, bytes) else data.encode("utf-8")
    if b"\n" in body or b"\r" in body:
        lines.extend(b"data: " + line for line in _LINE_END.split(body))
    else:
        lines.append(b"data: " + body)
    return b"\n".join(lines) + b"\n\n"


def _one_line(field: str, value: str) -> bytes:
    if "\n" in value or "\r" in value:
        raise UsageError(f"the {field} of a server-sent event is one line, not {value!r}")
    return value.encode("utf-8")
