"""Answers while they come in, heard from a recorder's journal: what another process's traffic says at this moment.

A part of the journal is read again when it has grown, and what is new of its answer goes through the dialect's own
stream reader. Nothing is locked and nothing is written; a part that is gone was finished and is in the recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from weft.blobs import InMemoryBlobStore
from weft.canon import ContentDelta, Event, ReasoningDelta, RefusalDelta, ToolCallDelta, ToolCallStart
from weft.errors import WeftError
from weft.jsontext import loads
from weft.trace.account import facts_of
from weft.trace.journal import read_part
from weft.wire import StreamReader, dialect, dialect_of, framing_of

__all__ = ["Heard", "Hearing"]

_LARGEST = 8 << 20  # a part beyond this is waited for: reading it four times a second would be felt

What: TypeAlias = Literal["begun", "text", "thinking", "refusal", "tool_use", "ended"]


class Heard(NamedTuple):
    """One thing that was heard of an exchange. `text` of `begun` is the first words of what was asked."""

    id: str
    what: What
    text: str = ""
    name: str | None = None
    model: str = ""
    timestamp_ms: int = 0


class Hearing:
    """Listens to the journal of one recording."""

    def __init__(self, journal: Path) -> None:
        """Listen at the folder `journal`, which need not be there."""
        self._folder = journal
        self._parts: dict[Path, _Part] = {}

    def poll(self) -> list[Heard]:
        """Give what was heard since the last time."""
        heard: list[Heard] = []
        there = set(self._folder.glob("*/*.part")) if self._folder.is_dir() else set()
        for path in sorted(there):
            part = self._parts.setdefault(path, _Part())
            with suppress(OSError):  # finished in the meantime
                size = path.stat().st_size
                if size != part.size and size <= _LARGEST:
                    part.size = size
                    heard += part.hear(path)
        for path in [gone for gone in self._parts if gone not in there]:
            part = self._parts.pop(path)
            if part.id is not None:
                heard.append(Heard(part.id, "ended"))
        return heard


class _Part:
    """One exchange under way."""

    def __init__(self) -> None:
        self.size = -1
        self.id: str | None = None
        self._reader: Any = None
        self._read = 0
        self._names: dict[int, str] = {}

    def hear(self, path: Path) -> Iterator[Heard]:
        """Read what is new."""
        try:
            capture = read_part(path, limit_bytes=_LARGEST)
            record = {"path": capture.meta.path, "request": loads(capture.request_body)}
        except (ValueError, TypeError, WeftError):
            return  # the request is not there yet, or no JSON
        if self.id is None:
            record |= {"id": capture.id, "timestamp": capture.meta.timestamp}
            facts = facts_of(record)
            self.id = capture.id
            yield Heard(capture.id, "begun", facts.gist, None, facts.model, facts.timestamp_ms)
        if self._reader is None and capture.meta.status is not None:
            self._reader = _reader_for(record, capture.meta.status, capture.meta.response_type)
        if self._reader is None:
            return
        new, self._read = capture.response_body[self._read :], len(capture.response_body)
        try:
            events = self._reader.feed(new) if new else ()
        except (WeftError, ValueError, KeyError, TypeError):
            return  # the recording will show what it was
        for event in events:
            yield from self._told(capture.id, event)

    def _told(self, exchange_id: str, event: Event) -> Iterator[Heard]:
        match event:
            case ContentDelta(str(delta)):
                yield Heard(exchange_id, "text", delta)
            case ReasoningDelta(delta):
                yield Heard(exchange_id, "thinking", delta)
            case RefusalDelta(delta):
                yield Heard(exchange_id, "refusal", delta)
            case ToolCallStart(index, name):
                self._names[index] = name
                yield Heard(exchange_id, "tool_use", "", name)
            case ToolCallDelta(index, delta):
                yield Heard(exchange_id, "tool_use", delta, self._names.get(index))


def _reader_for(record: dict[str, Any], status: int, content_type: str) -> Any:
    """Give what reads an answer as it comes; None for what does not come in pieces, or is no answer of a model."""
    speaks, framing = dialect_of(record), framing_of(content_type)
    if speaks is None or framing is None or framing == "json_array" or status >= 400:
        return None
    spoken = dialect(speaks)
    return StreamReader(spoken.StreamDecoder(InMemoryBlobStore()), framing)
