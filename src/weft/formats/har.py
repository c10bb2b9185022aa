"""HAR captures, of browsers and of mitmproxy: the entries that are calls of a model, read as trace records."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import Piece
from weft.errors import CodecError
from weft.formats.foreign import need_object, path_of, text
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Source
from weft.formats.trace import is_conversation, read_record

__all__ = ["FORMAT"]

NAME = "har"


def read(source: Source) -> Iterator[Piece]:
    """Read the entries that hold a conversation; all else that a browser loads is passed over."""
    feed = source.json_feed()
    number = 0
    for key in feed.members():
        if key != "log":
            feed.value()
            continue
        for inner in feed.members():
            if inner != "entries":
                feed.value()
                continue
            for entry in feed.elements():
                number += 1
                record = _record(need_object(entry, f"log.entries[{number - 1}]"), number)
                if record is not None and is_conversation(record):
                    yield from read_record(record, number)
    feed.end()


def _record(entry: Mapping[str, Any], number: int) -> dict[str, Any] | None:
    """Give an entry as a trace record; None if no JSON was sent."""
    request, response = entry.get("request"), entry.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        raise CodecError("an entry has a request and a response", where=f"log.entries[{number - 1}]")
    posted = request.get("postData")
    body = _json(_decoded(posted)) if isinstance(posted, dict) else None
    if not isinstance(body, dict):
        return None
    content = response.get("content")
    taken = entry.get("time")
    record: dict[str, Any] = {
        "id": f"r{number}",
        "timestamp": entry.get("startedDateTime"),
        "duration_ms": round(taken) if isinstance(taken, (int, float)) and taken > 0 else 0,
        "request": body,
        "response": _answer(_decoded(content)) if isinstance(content, dict) else None,
        "error": text(response.get("_error")),
        "method": request.get("method"),
        "path": path_of(request.get("url", "")),
    }
    if isinstance(status := response.get("status"), int) and status > 0:
        record["status"] = status
    return record


def _decoded(content: Mapping[str, Any]) -> str:
    words = text(content.get("text")) or ""
    if content.get("encoding") == "base64":
        try:
            return base64.b64decode(words).decode("utf-8", "replace")
        except ValueError:
            return words
    return words


def _json(words: str) -> Any:
    try:
        return jsontext.loads(words)
    except ValueError:
        return None


def _answer(words: str) -> Any:
    if not words:
        return None
    found = _json(words)
    if isinstance(found, dict):
        return found
    lines = [line for line in words.splitlines() if line]
    if any(line.startswith("data:") for line in lines):
        return {"stream": True, "sse_lines": lines}
    return {"raw": words}


def _sniff(head: Head) -> float:
    return 0.97 if "log" in head.first and b'"entries"' in head.data and b'"creator"' in head.data else 0.0


FORMAT = Format(
    name=NAME,
    about="HAR captures, each call of a model a conversation",
    carries=carrying(
        yes="many timestamps model usage finish system tools options thinking signatures calls images files blocks",
    ),
    read=read,
    sniff=_sniff,
    extensions=(".har",),
)
