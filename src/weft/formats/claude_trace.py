"""claude-trace's logs: a request and its response a line, as they were caught in the agent. Read as trace records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import Piece
from weft.formats.foreign import iso, moment, objects, path_of
from weft.formats.format import Format, carrying
from weft.formats.jsonfeed import keys_of
from weft.formats.source import Head, Source
from weft.formats.trace import read_record

__all__ = ["FORMAT"]

NAME = "claude-trace"


def read(source: Source) -> Iterator[Piece]:
    """Read exchanges, each one conversation."""
    for number, (_, said) in enumerate(objects(source), 1):
        yield from read_record(_record(said, number), number)


def _record(said: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Give an exchange as a trace record (trace-and-cook.md, section 1); headers, where keys are, stay out."""
    request, response = _object(said.get("request")), _object(said.get("response"))
    begun, ended = moment(request.get("timestamp")), moment(response.get("timestamp"))
    record: dict[str, Any] = {
        "id": f"r{number}",
        "timestamp": iso(begun),
        "duration_ms": round((ended - begun).total_seconds() * 1000) if begun and ended else 0,
        "request": request.get("body"),
        "response": _body(response),
        "error": None if response else "no response was caught",
        "method": request.get("method"),
        "path": path_of(request.get("url", "")),
    }
    if isinstance(status := response.get("status_code"), int):
        record["status"] = status
    return record | {key: said[key] for key in ("note", "logged_at") if said.get(key) is not None}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _body(response: Mapping[str, Any]) -> Any:
    if isinstance(raw := response.get("body_raw"), str):
        lines = [line for line in raw.splitlines() if line]
        is_stream = any(line.startswith("data:") for line in lines)
        return {"stream": True, "sse_lines": lines} if is_stream else {"raw": raw}
    if isinstance(events := response.get("events"), list) and events:
        return {"stream": True, "sse_lines": [line for event in events for line in _framed(event)]}
    return response.get("body") if response else None


def _framed(event: Any) -> Iterator[str]:
    """Give an event that was taken apart as the lines it came in."""
    said = _object(event)
    if isinstance(name := said.get("event"), str):
        yield f"event: {name}"
    data = said.get("data")
    yield f"data: {data if isinstance(data, str) else jsontext.dumps_text(data)}"


def _sniff(head: Head) -> float:
    first = head.first
    request = first.get("request")
    if request is None and list(first) == ["request"]:  # longer than this look, as what Claude Code sends is
        request = keys_of(head.start, head.start.find(b":") + 1)
    if not isinstance(request, dict):
        return 0.8 if "request" in first and "logged_at" in first else 0.0
    return 0.95 if "url" in request and "body" in request else 0.0


FORMAT = Format(
    name=NAME,
    about="claude-trace's logs, each exchange a conversation",
    carries=carrying(
        yes="many timestamps model usage finish system tools options thinking signatures calls images files blocks",
    ),
    read=read,
    sniff=_sniff,
)
