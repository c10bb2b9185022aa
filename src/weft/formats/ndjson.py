"""NDJSON files of wire messages: one a line, metadata first as `{"metadata": ...}` (message-codecs.md, 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from weft import jsontext
from weft.canon import Closing, Opening, Piece
from weft.errors import CodecError
from weft.formats.format import Format, Sink, carrying
from weft.formats.ledger import Ledger
from weft.formats.source import Head, Source
from weft.formats.wiremessages import (
    ABSENT,
    CARRIED,
    CARRIED_IN_PART,
    NOTES,
    Json,
    MessageReader,
    ShapeError,
    dumps,
    session_of,
    told_as_json,
    without_raw_bytes,
    write_joined,
)
from weft.wire import check_message, check_messages

__all__ = ["FORMAT", "decode", "encode", "read", "write"]


# -- as values -----------------------------------------------------------------------------------------------------


def encode(messages: Sequence[Json], metadata: Any = ABSENT) -> str:
    """Write wire messages one a line; the last line has no newline."""
    lines = [without_raw_bytes(message) for message in check_messages(messages)]
    if metadata is not ABSENT:
        lines.insert(0, {"metadata": metadata})
    try:
        return "\n".join(jsontext.dumps_text(line) for line in lines)
    except ValueError as problem:
        raise CodecError(str(problem)) from None


def decode(source: str) -> Json:
    """Read a text: `messages`, and `metadata` if there is any."""
    if not isinstance(source, str):
        raise ShapeError(f"NDJSON is read from text, not {type(source).__name__}")
    result: Json = {"messages": []}
    for number, metadata, message in _lines(Source.of(source)):
        if message is None:
            result["metadata"] = metadata
        else:
            result["messages"].append(check_message(message, f"line {number}"))
    return result


def _lines(source: Source) -> Iterator[tuple[int, Any, Any]]:
    """Give each line: its number, and metadata or a message."""
    is_first = True
    for number, line in source.json_lines():
        if not isinstance(line, dict):
            raise ShapeError(f"must be an object, not {type(line).__name__}", where=f"line {number}")
        if is_first and len(line) == 1 and "metadata" in line:
            yield number, line["metadata"], None
        else:
            yield number, None, line
        is_first = False


# -- as pieces -----------------------------------------------------------------------------------------------------


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation, line by line."""
    reader = MessageReader()
    begun = False
    for number, line in source.numbered():
        try:
            if not begun and not line.isspace():
                begun = True
                first = jsontext.loads(line)
                if isinstance(first, dict) and len(first) == 1 and "metadata" in first:
                    yield Opening(session_of(first["metadata"]))
                    continue
                yield Opening()
            yield reader.take(line, number)
        except ValueError as problem:
            if not line.isspace():
                source.bad_line(number, problem)
    if not begun:
        yield Opening()
    yield Closing()


def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
    """Write one conversation, line by line."""
    messages = told_as_json(pieces, ledger, "ndjson")
    metadata = next(messages, ABSENT)
    separator = b""
    if metadata is not ABSENT:
        sink.write(dumps({"metadata": metadata}, ledger))
        separator = b"\n"
    write_joined(messages, b"\n", sink, separator)


def sniff(head: Head) -> float:
    """Lines that are messages, or metadata and then messages."""
    first = head.first
    if not head.is_object or not (head.is_lines or head.ends(".ndjson", ".jsonl")):
        return 0.0
    if "role" in first and "content" in first:
        return 0.5
    return 0.5 if set(first) == {"metadata"} else 0.0


FORMAT = Format(
    name="ndjson",
    about="wire messages as NDJSON: one a line",
    aliases=("jsonl",),
    extensions=(".ndjson", ".jsonl"),
    carries=carrying(CARRIED, CARRIED_IN_PART),
    notes=NOTES,
    read=read,
    write=write,
    sniff=sniff,
)
