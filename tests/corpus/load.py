"""The recorded exchanges: found, read once a process, and sorted by the dialect they are in.

The corpus is never copied into this repository; its README explains the fields.
"""

from __future__ import annotations

import base64
import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from tests.support.components import COMPONENTS
from weft.errors import UsageError
from weft.wire.eventstream import Frame, encode_frame
from weft.wire.jsonarray import encode_json_array
from weft.wire.ndjson import encode_ndjson
from weft.wire.registry import dialect

if TYPE_CHECKING:
    from weft.wire.codec import Dialect

__all__ = ["Exchange", "by_dialect", "dumps", "exchanges", "names", "replays", "wire_bytes"]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One recorded call, both halves."""

    id: str
    group: str
    index: int
    provider: str
    recorded_as: str  # the corpus' name of the dialect
    model: str | None
    request: Any
    response: Any
    replays: int | None
    replays_exact: bool

    @property
    def dialect(self) -> Dialect:
        return dialect(self.recorded_as)

    @property
    def is_stream(self) -> bool:
        return isinstance(self.response, dict) and self.response.get("stream") is True

    @property
    def is_whole(self) -> bool:
        return isinstance(self.response, dict) and not self.is_stream


@cache
def exchanges() -> tuple[Exchange, ...]:
    """Every exchange whose dialect weft knows, in the order of the files."""
    folder = COMPONENTS["corpus"].find()
    if folder is None:
        return ()
    found = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            record = orjson.loads(line)
            if _is_known(record["dialect"]):
                found.append(_exchange(record))
    return tuple(found)


def _exchange(record: Json) -> Exchange:
    return Exchange(
        id=record["id"],
        group=record["group"],
        index=record["index"],
        provider=record["provider"],
        recorded_as=record["dialect"],
        model=record.get("model"),
        request=record["request"],
        response=record["response"],
        replays=record.get("replays"),
        replays_exact=bool(record.get("replays_exact")),
    )


@cache
def _is_known(name: str) -> bool:
    try:
        dialect(name)
    except UsageError:
        return False
    return True


@cache
def by_dialect() -> dict[str, list[Exchange]]:
    """The exchanges by the name weft gives their dialect."""
    sorted_out: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges():
        sorted_out[exchange.dialect.name].append(exchange)
    return dict(sorted(sorted_out.items()))


def names() -> list[str]:
    """The dialects that were recorded."""
    return list(by_dialect())


@cache
def replays() -> tuple[tuple[Exchange, Exchange], ...]:
    """The pairs whose later request carries the earlier answer back, whole and unchanged."""
    at = {(exchange.group, exchange.index): exchange for exchange in exchanges()}
    pairs = []
    for later in exchanges():
        earlier = at.get((later.group, later.replays)) if later.replays is not None else None
        if earlier is not None and later.replays_exact:
            pairs.append((earlier, later))
    return tuple(pairs)


def wire_bytes(response: Json) -> bytes:
    """Give a recorded stream as the bytes that came over the wire."""
    if response["framing"] == "sse":
        eol = "\r\n" if response.get("eol") == "crlf" else "\n"
        return (eol.join(response["sse_lines"]) + eol + eol).encode()
    events = response["events"]
    match response["framing"]:
        case "aws_eventstream":
            return b"".join(_aws_frame(kind, payload) for event in events for kind, payload in event.items())
        case "ndjson":
            return b"".join(encode_ndjson(dumps(event)) for event in events)
        case "json_array":
            return b"".join(encode_json_array(dumps(event), e) for e, event in enumerate(events)) + b"]"
        case framing:
            raise ValueError(f"the corpus has a framing that is not known here: {framing}")


def dumps(value: Any) -> bytes:
    """Write JSON, also such as no one should write: huge numbers, lone surrogates, a thousand levels."""
    try:
        return orjson.dumps(value)
    except TypeError:
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(20_000)
        try:
            return json.dumps(value).encode()
        finally:
            sys.setrecursionlimit(usual)


def _aws_frame(kind: str, payload: Any) -> bytes:
    if kind == "chunk" and isinstance(payload, dict):  # invoke streams: recorded with the inner bytes decoded
        inner = payload.get("bytes", payload)
        inner = inner if isinstance(inner, str) else base64.b64encode(dumps(inner)).decode("ascii")
        payload = {**payload, "bytes": inner} if "bytes" in payload else {"bytes": inner}
    exception = kind.endswith("Exception")
    headers = {
        ":exception-type" if exception else ":event-type": kind,
        ":content-type": "application/json",
        ":message-type": "exception" if exception else "event",
    }
    return encode_frame(Frame(headers, dumps(payload)))
