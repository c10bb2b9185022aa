"""An exchange: one recorded request and what became of it, as a line of a trace holds it (spec trace-and-cook, 1).

    {"id": …, "timestamp": …, "duration_ms": …, "request": {…}, "response": {…} or null, "error": null}

are the six fields every reader knows [C-1]. All others are weft's own, are left out when they have nothing to say, and
may be ignored [C-2]. Unknown fields of a record are kept in `more` and written back.

`request` is the JSON body; a body that is no JSON is `{"raw": text}`, one in parts `{"multipart": [...]}`. `response`
is the JSON body, `{"stream": true, "sse_lines": [...]}`, `{"stream": true, "framing": "aws_eventstream" or "ndjson",
"events": [...]}`, `{"raw": text}`, or None after a transport error. Bytes that no JSON text can hold are in a blob
beside the trace, named by `request_blob` or `response_blob`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

__all__ = ["REASONS", "Exchange", "Reason", "State", "new_exchange_id", "timestamp_now"]

State: TypeAlias = Literal["complete", "incomplete"]
Reason: TypeAlias = Literal["client_closed", "upstream_reset", "truncated", "timeout", "killed", "error"]
REASONS: tuple[Reason, ...] = ("client_closed", "upstream_reset", "truncated", "timeout", "killed", "error")


def new_exchange_id() -> str:
    """Give the id of a new exchange: a UUID4, as the format says."""
    return str(uuid.uuid4())


def timestamp_now() -> str:
    """Give the time as a record holds it: ISO-8601 with the offset of UTC."""
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One recorded call, both halves, as plain JSON values."""

    id: str
    timestamp: str
    duration_ms: int = 0
    request: Any = None
    response: Any = None
    error: str | None = None  # transport failure; an error status is no failure [C-12]
    # weft's own
    method: str | None = None
    path: str | None = None  # with its query, secrets removed
    status: int | None = None
    provider: str | None = None  # detected
    turn_id: str | None = None  # the weft turn that caused the call
    state: State | None = None  # None: written by a program that does not say
    reason: Reason | None = None  # why it is incomplete
    request_encoding: str | None = None  # content-encoding on the wire; the body here is decoded
    response_encoding: str | None = None
    request_blob: Mapping[str, Any] | None = (
        None  # {"sha256", "size_bytes", "media_type", "id"}: bytes kept beside the trace
    )
    response_blob: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()  # what is not as it was on the wire: cut at a limit, not decoded, not parsed …
    frames: tuple[Mapping[str, Any], ...] = ()  # WebSocket: {"from": "client"|"server", "ms": n, "text"|"base64": …}
    drained: bool = False  # the client left; the rest was read for the record alone
    key_id: str | None = None  # keyed fingerprint of the key that was used [K-04]
    more: Mapping[str, Any] = field(default_factory=dict)  # fields of other programs, kept

    @property
    def is_stream(self) -> bool:
        """Tell whether the response came as a stream."""
        return isinstance(self.response, Mapping) and self.response.get("stream") is True

    @property
    def sse_lines(self) -> list[str]:
        """Give the lines of an event stream; none for any other response."""
        lines = self.response.get("sse_lines") if self.is_stream else None
        return list(lines) if isinstance(lines, list) else []

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Exchange:
        """Read a record; what is missing gets its default, what is unknown is kept. Values are not copied."""
        known = {name: record[name] for name in _NAMES & record.keys()}
        for name in ("notes", "frames"):
            if name in known:
                known[name] = tuple(known[name]) if isinstance(known[name], (list, tuple)) else ()
        known["id"] = _text(known.get("id"))
        known["timestamp"] = _text(known.get("timestamp"))
        if not isinstance(known.get("duration_ms", 0), int):
            known["duration_ms"] = _milliseconds(known["duration_ms"])
        known["drained"] = bool(known.get("drained"))
        return cls(**known, more={key: value for key, value in record.items() if key not in _NAMES})

    def to_record(self) -> dict[str, Any]:
        """Give the record: the six fields always, the others when they say something."""
        record: dict[str, Any] = {name: getattr(self, name) for name in _SEED}
        for name in _OWN:
            if (value := getattr(self, name)) not in (None, (), False):
                record[name] = list(value) if isinstance(value, tuple) else value
        return {**record, **self.more}


_SEED = ("id", "timestamp", "duration_ms", "request", "response", "error")
_NAMES = {one.name for one in fields(Exchange)} - {"more"}
_OWN = tuple(one.name for one in fields(Exchange) if one.name in _NAMES and one.name not in _SEED)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _milliseconds(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0
