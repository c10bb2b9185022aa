"""A recorded stream as the whole body it stands for: put together by the dialect's own decoder.

Lines that start with `data:` are read as JSON; `[DONE]`, other lines and bad JSON are passed over. A stream that was
cut short gives what arrived [C-45].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from weft.jsontext import loads
from weft.trace.extract.formats import Format
from weft.wire import dialect

__all__ = ["events_of", "put_together"]


def events_of(response: Any) -> list[Any]:
    """Give the events of a recorded stream; none for any other response."""
    if not isinstance(response, dict) or response.get("stream") is not True:
        return []
    events = response.get("events")
    if isinstance(events, list):
        return events
    lines = response.get("sse_lines")
    if not isinstance(lines, list):
        return []
    data = [line[5:] for line in lines if isinstance(line, str) and line.startswith("data:")]
    try:
        # All at once: a list of good events reads as one JSON text.
        events = orjson.loads("[" + ",".join(data[:-1] if data and data[-1].strip() == "[DONE]" else data) + "]")
    except orjson.JSONDecodeError:
        events = []
    if len(events) + (bool(data) and data[-1].strip() == "[DONE]") == len(data):
        return events
    return _one_by_one(data)


def _one_by_one(data: list[str]) -> list[Any]:
    events = []
    for text in data:
        try:
            events.append(loads(text))
        except ValueError:  # `[DONE]`, or cut off
            continue
    return events


def put_together(format: Format, events: list[Any]) -> Mapping[str, Any]:
    """Give the whole body of a stream, and under `error` what it says went wrong."""
    decoder: Any = dialect(format.dialect).StreamDecoder()
    for event in events:
        if isinstance(event, dict):
            decoder.feed(event)
    body: Mapping[str, Any] = decoder.assembled()
    if decoder.error is not None and "error" not in body:
        body = {**body, "error": {"message": decoder.error}}
    return body
