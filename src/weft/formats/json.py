"""JSON files of wire messages: a list of them, or `{"metadata": ..., "messages": [...]}` (message-codecs.md, 7).

Other members of that object are kept, and written again if the file is JSON again. Files larger than memory are read
and written message by message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from weft import jsontext
from weft.canon import Closing, Opening, Piece, Session
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
    decoded_shape,
    dumps,
    kept_extras,
    session_of,
    told_as_json,
    without_raw_bytes,
    write_joined,
)
from weft.wire import check_messages

__all__ = ["FORMAT", "decode", "encode", "read", "write"]


# -- as values -----------------------------------------------------------------------------------------------------


def encode(messages: Sequence[Json], metadata: Any = ABSENT) -> str:
    """Write wire messages as compact JSON: a bare list, or with metadata an object."""
    written = [without_raw_bytes(message) for message in check_messages(messages)]
    return _dumps(written if metadata is ABSENT else {"metadata": metadata, "messages": written})


def decode(source: Any) -> Json:
    """Read a text, or what was parsed already: `messages`, and `metadata` if there is any."""
    if isinstance(source, (str, bytes)):
        try:
            source = jsontext.loads(source)
        except ValueError as problem:
            raise CodecError(f"not JSON: {problem}") from None
    messages, metadata = decoded_shape(source)
    result: Json = {"messages": list(check_messages(messages))}
    return result if metadata is ABSENT else {**result, "metadata": metadata}


def _dumps(value: Any) -> str:
    try:
        return jsontext.dumps_text(value)
    except ValueError as problem:
        raise CodecError(str(problem)) from None


# -- as pieces -----------------------------------------------------------------------------------------------------


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation, message by message."""
    feed = source.json_feed()
    reader = MessageReader()
    first = feed.peek()
    if first == "[":
        yield Opening()
        yield from feed.elements(reader.take)
        feed.end()
        yield Closing()
        return
    if first != "{":
        raise ShapeError("a JSON file of messages holds a list or an object", where=source.name)
    members: Json = {}
    opened: Session | None = None
    for key in feed.members():
        if key != "messages":
            members[key] = feed.value()
            continue
        if feed.peek() != "[":
            raise CodecError("must be a list", where="messages")
        if opened is not None:
            raise CodecError("is there twice", where="messages")
        opened = _session(members)
        yield Opening(opened)
        yield from feed.elements(reader.take)
    feed.end()
    if opened is None:
        yield Opening()
        yield reader.entry(members)
        yield Closing()
        return
    known = _session(members)
    yield Closing(session=None if known == opened else known)


def _session(members: Json) -> Session:
    others = {key: value for key, value in members.items() if key != "metadata"}
    return session_of(members.get("metadata", ABSENT), {"json": others} if others else {})


def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
    """Write one conversation, message by message."""
    first = next(pieces, None)
    messages = told_as_json(chain(() if first is None else (first,), pieces), ledger, "json", own="json")
    metadata = next(messages, ABSENT)
    others = kept_extras(first.session, "json") if isinstance(first, Opening) else {}
    ending = b"]"
    if metadata is not ABSENT or others:
        members = {**({} if metadata is ABSENT else {"metadata": metadata}), **others}
        sink.write(dumps(members, ledger)[:-1] + b',"messages":[')
        ending = b"]}"
    else:
        sink.write(b"[")
    write_joined(messages, b",", sink)
    sink.write(ending)


def sniff(head: Head) -> float:
    """A list of objects with a role and content, or an object with messages of that kind."""
    first = head.first
    if head.is_lines and b"\n{" in head.start:
        return 0.0
    if "role" in first and "content" in first:
        return 0.5
    if "messages" in first:
        messages = first["messages"]
        plain = isinstance(messages, list) and all(isinstance(each, dict) and "content" in each for each in messages)
        return 0.5 if "metadata" in first else 0.4 if plain or messages is None else 0.1
    return 0.3 if head.is_array and head.start[1:].strip() == b"]" else 0.0


FORMAT = Format(
    name="json",
    about="wire messages as JSON: a list, or metadata and messages",
    aliases=("messages",),
    extensions=(".json",),
    carries=carrying(CARRIED, CARRIED_IN_PART),
    notes=NOTES,
    read=read,
    write=write,
    sniff=sniff,
)
