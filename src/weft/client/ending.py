"""How a stream ends: well, or with what arrived of it and the reason; and without a key in that reason [K-02, W-34]."""

from __future__ import annotations

from dataclasses import replace

from weft.canon import Event, NativeEvent, Reply, StreamEnd, StreamError, thaw
from weft.jsontext import dumps_text, loads
from weft.providers import Redactor
from weft.wire import StreamReader

__all__ = ["CUT_SHORT", "cleaned", "closing"]

CUT_SHORT = "the stream ended before the answer did"


def closing(reader: StreamReader) -> list[Event]:
    """End a reader and give its last events; one that ended too early without saying so has it said here."""
    events = reader.close()
    reply = reader.reply
    if reply is None or reply.finished or any(isinstance(event, StreamError) for event in events):
        return events
    end = events[-1]
    if isinstance(end, StreamEnd):
        end.reply = replace(reply, notes=(*reply.notes, CUT_SHORT))
    return [*events[:-1], StreamError(CUT_SHORT), end]


def cleaned(event: Event, redact: Redactor) -> Event:
    """Take the key out of what the far side says about an error, should it have quoted it.

    The answer itself is left as it came: it is content, and signed thinking must come back to the letter.
    """
    match event:
        case StreamError(error):
            event.error = redact(error)
        case NativeEvent(raw) if "error" in raw:
            event.raw = _clean_json(thaw(raw), redact)
        case StreamEnd(reply=Reply() as reply):
            if reply.notes or not reply.finished:
                notes = tuple(redact(note) for note in reply.notes)
                event.reply = replace(reply, notes=notes, raw=_clean_json(thaw(reply.raw), redact))
    return event


def _clean_json(value: dict[str, object], redact: Redactor) -> dict[str, object]:
    written = dumps_text(value)
    if not redact.finds(written):
        return value
    clean: dict[str, object] = loads(redact(written))
    return clean
