"""WebSocket sessions: one record of many calls, told apart by what the client asks.

A client that speaks Responses over a WebSocket sends `response.create` again and again on one connection. The frames
from one such message to the next are one exchange each: the first keeps the record's id, later ones add a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft.jsontext import loads
from weft.trace.clock import milliseconds
from weft.trace.sparse import Parsed

__all__ = ["exchanges_in"]

_ASKS = ("response.create",)


def exchanges_in(parsed: Parsed) -> Iterator[Parsed]:
    """Give the exchanges of a record: itself, or the calls of a WebSocket session."""
    record = parsed.record
    frames = record.get("frames")
    if not isinstance(frames, list) or record.get("response") is not None:
        yield parsed
        return
    calls = _calls(frames)
    if not calls:
        yield parsed
        return
    begins = milliseconds(record.get("timestamp"))
    for number, (request, events, ms, last_ms) in enumerate(calls):
        held = {
            **record,
            "request": request,
            "response": {"stream": True, "events": events} if events else None,
            "frames": None,
            "duration_ms": last_ms - ms,
        }
        if number:
            held["id"] = f"{record.get('id') or 'socket'}.{number + 1}"
            held["timestamp"] = begins + ms
        yield Parsed(held)


def _calls(frames: list[Any]) -> list[tuple[dict[str, Any], list[Any], int, int]]:
    calls: list[tuple[dict[str, Any], list[Any], int, int]] = []
    for frame in frames:
        text = frame.get("text") if isinstance(frame, Mapping) else None
        try:
            said = loads(text) if isinstance(text, str) else None
        except ValueError:
            continue
        if not isinstance(said, dict):
            continue
        ms = frame.get("ms")
        ms = ms if isinstance(ms, int) else 0
        if frame.get("from") == "client":
            if said.get("type") in _ASKS or not calls:
                calls.append((_request_in(said), [], ms, ms))
        elif calls:
            request, events, begun, _ = calls[-1]
            events.append(said)
            calls[-1] = (request, events, begun, ms)
    return calls


def _request_in(said: dict[str, Any]) -> dict[str, Any]:
    inner = said.get("response")
    return inner if isinstance(inner, dict) else said
