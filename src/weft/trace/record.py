"""From the bytes of a finished exchange to its record: what is JSON stays as it was written, byte for byte.

A JSON body is checked and set into the line as it came, so numbers, escapes, key order and repeated keys are those of
the wire (J-02, J-04); only line ends between its tokens become blanks. What is no JSON becomes text, lines, events or
parts, as `exchange.py` tells, or a blob.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from weft.errors import WireError
from weft.trace.multipart import read_multipart

if TYPE_CHECKING:
    from weft.trace.capture import Keep, Meta

__all__ = ["is_recorded", "record_line"]

_LONGEST_TEXT = 1 << 20  # a text that is no JSON and longer than this is a blob
_TAIL = 1 << 13  # where a stream says that it is over; looked at before the rest of it
_LINE_END = re.compile("\r\n|\n|\r")
_ENDING = re.compile(
    rb'^data: ?\[DONE\]|^data: ?\{\s*"error"|^event: ?(?:error|message_stop|message-end|done)\b|"done"\s*:\s*true'
    rb'|"finish_?[rR]eason"\s*:\s*"|"type"\s*:\s*"(?:message_stop|message-end|error|response\.(?:completed|failed|incomplete'
    rb"|cancelled)|[a-z_]+\.(?:completed|failed|partial_image))\"|\"blockReason\"",
    re.MULTILINE,
)
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE", "TRACE", "CONNECT"})
_BINARY = ("multipart/", "audio/", "image/", "video/", "application/octet-stream", "application/pdf", "application/zip")
_NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/stream+json")
_OWN = ("method", "path", "status", "provider", "turn_id", "key_id")


def is_recorded(meta: Meta, request_body: bytes, frames: Sequence[Any]) -> bool:
    """Tell whether an exchange is one that traces keep [C-8].

    Bodies that are JSON, or say so; uploads in parts and media [X-28]; WebSocket sessions. Not: what has no body, forms
    and plain text, which no model is asked with.
    """
    if frames or meta.status == 101:
        return True
    if meta.method in _BODILESS or not (request_body or meta.request_type):
        return False
    kind = meta.request_type
    return "json" in kind or kind.startswith(_BINARY) or _json(request_body) is not None


def record_line(
    meta: Meta, request_body: bytes, response_body: bytes, frames: Sequence[Mapping[str, Any]], keep: Keep | None
) -> bytes:
    """Give the record as one line of JSON, its end included."""
    notes = list(meta.notes)
    own: dict[str, Any] = {name: value for name in _OWN if (value := getattr(meta, name)) is not None}
    request, asks_stream = _request(meta, request_body, frames, keep, own, notes)
    response, ended_early = _response(meta, response_body, asks_stream, keep, own, notes)
    reason = meta.reason = meta.reason or ("truncated" if ended_early else None)
    own["state"] = "incomplete" if reason else "complete"
    if reason:
        own["reason"] = reason
    for name in ("request_encoding", "response_encoding"):
        if encoding := getattr(meta, name):
            own[name] = encoding
    if meta.drained:
        own["drained"] = True
    if frames:
        own["frames"] = list(frames)
    if notes:
        own["notes"] = list(dict.fromkeys(notes))
    head = orjson.dumps({"id": meta.id, "timestamp": meta.timestamp, "duration_ms": meta.duration_ms})
    # An error that came after part of an answer is told by `reason`; the part is worth more than the text.
    error = meta.error if response == b"null" else None
    if meta.error and not error:
        notes_now = own.setdefault("notes", [])
        notes_now.append(f"error: {meta.error}")
    tail = _dumps({"error": error, **own})
    return b"".join((head[:-1], b',"request":', request, b',"response":', response, b",", tail[1:], b"\n"))


def _request(
    meta: Meta,
    body: bytes,
    frames: Sequence[Mapping[str, Any]],
    keep: Keep | None,
    own: dict[str, Any],
    notes: list[str],
) -> tuple[bytes, bool]:
    """Give the request as JSON, and whether it asks for a stream."""
    if not body and (frames or meta.status == 101):
        first = next((frame.get("text") for frame in frames if frame.get("from") == "client"), None)
        read = _json(first.encode()) if isinstance(first, str) else None
        return (read[0], False) if read is not None else (b"{}", False)
    if meta.request_type.startswith("multipart/"):
        parts = read_multipart(body, meta.request_type)
        if parts is not None:
            return _dumps({"multipart": [part.as_json(keep) for part in parts]}), False
    if (read := _json(body)) is not None:
        return read[0], isinstance(read[1], dict) and read[1].get("stream") is True
    if "json" in meta.request_type and body:
        notes.append("request: unparsed, as it is not JSON or nested too deeply")
    return _raw(body, meta.request_type, "request_blob", keep, own), False


def _response(
    meta: Meta, body: bytes, asks_stream: bool, keep: Keep | None, own: dict[str, Any], notes: list[str]
) -> tuple[bytes, bool]:
    """Give the response as JSON, and whether it is a stream that ended before it said so."""
    if meta.status is None or meta.status == 101 or (not body and meta.reason is not None):
        return b"null", False
    kind = meta.response_type
    if kind == "text/event-stream":
        return _lines(body, keep, own, notes), not _is_ended(body)
    if kind == "application/vnd.amazon.eventstream":
        return _event_frames(body, keep, own, notes)
    if kind in _NDJSON:
        return _json_lines(body, keep, own, notes), b'"done":' in body and not _is_ended(body)
    if ":streamGenerateContent" in meta.path and meta.status < 300 and (array := _elements(body)) is not None:
        return array
    if (read := _json(body)) is not None:
        return read[0], False
    if asks_stream and meta.status < 300 and "json" not in kind:
        return _lines(body, keep, own, notes), not _is_ended(body)
    if "json" in kind and body and meta.reason is None:
        notes.append("response: unparsed, as it is not JSON or nested too deeply")
    return _raw(body, kind, "response_blob", keep, own), False


def _json(body: bytes) -> tuple[bytes, Any] | None:
    """Give a JSON text fit for a line, and its value as far as needed here; None for anything else."""
    text = body.strip(b" \t\r\n")
    if not text:
        return None
    value: Any = None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Large numbers, lone surrogates, and what is not JSON at all. Numbers are not made: they may be huge.
        try:
            value = json.loads(
                text.decode("utf-8"), parse_int=_as_text, parse_float=_as_text, parse_constant=_refuse_constant
            )
        except (ValueError, RecursionError):
            return None
    if b"\n" in text or b"\r" in text:  # in valid JSON they stand between tokens only
        text = text.replace(b"\n", b" ").replace(b"\r", b" ")
    return text, value


def _as_text(number: str) -> str:
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_ended(body: bytes) -> bool:
    """Tell whether a stream said that it is over [X-05]."""
    return _ENDING.search(body[-_TAIL:]) is not None or (len(body) > _TAIL and _ENDING.search(body) is not None)


def _lines(body: bytes, keep: Keep | None, own: dict[str, Any], notes: list[str]) -> bytes:
    """Give the non-blank lines of a stream [C-1]; only CR and LF end one [S-05]."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        # Where the bytes end in the middle of a character, that alone is missing; else they are kept as a blob too.
        text = body.decode("utf-8", "replace")
        if keep is not None:
            own["response_blob"] = keep(body, "text/event-stream")
        notes.append("response: not all of it is UTF-8; the bytes are in response_blob")
    lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
    return b'{"stream":true,"sse_lines":' + _dumps([line for line in lines if line and not line.isspace()]) + b"}"


def _json_lines(body: bytes, keep: Keep | None, own: dict[str, Any], notes: list[str]) -> bytes:
    events = []
    for line in body.split(b"\n"):
        if line.strip():
            if (read := _json(line)) is None:
                return _lines(body, keep, own, notes)
            events.append(read[0])
    return b'{"stream":true,"framing":"ndjson","events":[' + b",".join(events) + b"]}"


def _elements(body: bytes) -> tuple[bytes, bool] | None:
    """Give the elements of a stream that is one JSON array, as Gemini's is without `alt=sse`; None if it is none."""
    from weft.wire import parser_for  # noqa: PLC0415 - few recordings need it

    if body.lstrip()[:1] != b"[":
        return None
    parser = parser_for("json_array")
    try:
        frames = [*parser.feed(body), *parser.close()]
    except WireError:
        return None
    read = [_json(frame.data) for frame in frames if not frame.truncated]
    events = [each[0] for each in read if each is not None]
    if len(events) < len(read):
        return None
    rest = [frame.data.decode("utf-8", "replace") for frame in frames if frame.truncated]  # where it was cut off
    after = b',"rest":' + _dumps(rest[0]) if rest else b""
    return b'{"stream":true,"framing":"json_array","events":[' + b",".join(events) + b"]" + after + b"}", bool(rest)


def _event_frames(body: bytes, keep: Keep | None, own: dict[str, Any], notes: list[str]) -> tuple[bytes, bool]:
    """Give the frames of an Amazon event stream as `{event type: payload}`."""
    from weft.wire import parser_for  # noqa: PLC0415 - few recordings need it

    parser = parser_for("aws_eventstream")
    events: list[bytes] = []
    is_ended = False
    try:
        for frame in (*parser.feed(body), *parser.close()):
            payload = _json(frame.data)
            events.append(b"{" + _dumps(frame.event) + b":" + (payload[0] if payload else b"null") + b"}")
            is_ended = is_ended or frame.event in ("messageStop", "metadata") or frame.event.endswith("Exception")
    except WireError as problem:
        notes.append(f"response: {problem}")
        return _raw(body, "application/vnd.amazon.eventstream", "response_blob", keep, own), False
    is_model_stream = any(b"messageStart" in event[:20] for event in events[:1])
    framed = b'{"stream":true,"framing":"aws_eventstream","events":[' + b",".join(events) + b"]}"
    return framed, is_model_stream and not is_ended


def _raw(body: bytes, media_type: str, blob: str, keep: Keep | None, own: dict[str, Any]) -> bytes:
    if len(body) <= _LONGEST_TEXT or keep is None:
        try:
            return b'{"raw":' + _dumps(body.decode("utf-8")) + b"}"
        except UnicodeDecodeError:
            if keep is None:
                return b'{"raw":"","base64":' + _dumps(b64encode(body).decode()) + b"}"
    own[blob] = keep(body, media_type or "application/octet-stream")
    return b'{"raw":""}'


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # lone surrogates
        return json.dumps(value, separators=(",", ":")).encode()
