"""A resolved thread, `{messages, options}`: what gpt2099's `ctx resolve` prints (threads.md, section 7).

Messages hold the blocks of stored turns. A user turn of tool results and other blocks is two messages in canon; the
first is marked, so that they become one again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import (
    EMPTY,
    UNTIMED,
    Closing,
    Entry,
    Opening,
    Piece,
    Session,
    Transcript,
    read_blocks,
    thaw,
    turn_messages,
    write_blocks,
)
from weft.errors import CodecError, InvalidContentError
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT", "read"]

ROLES = ("user", "assistant", "system")
IN_TURNS = {"tool": "user", "developer": "system"}


def read(source: Source) -> Iterator[Piece]:
    """Read one thread."""
    value = source.json()
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        raise CodecError("a context is an object with a list of messages", where="messages")
    others = {key: item for key, item in value.items() if key != "messages"}
    if others.get("options") == {}:
        del others["options"]
    yield Opening(Session(extras={"context": others} if others else {}))
    before: tuple[str, ...] = ()
    shelf, number = Shelf(), 0
    for m, record in enumerate(value["messages"]):
        for entry in _entries(record, f"messages[{m}]", shelf, number, before):
            yield entry
            number, before = number + 1, (entry.id,)
    yield Closing()


def _entries(record: Any, where: str, shelf: Shelf, number: int, before: tuple[str, ...]) -> list[Entry]:
    if not isinstance(record, dict):
        raise CodecError(f"must be an object, not {type(record).__name__}", where=where)
    role = record.get("role", "user")
    if role not in ROLES:
        raise CodecError(f"must be one of {', '.join(ROLES)}, not {role!r}", where=f"{where}.role")
    try:
        parts = read_blocks(record.get("content"), shelf.store, f"{where}.content")
    except InvalidContentError as problem:
        raise CodecError(str(problem)) from problem
    messages = turn_messages(role, parts, cache=record.get("cache") is True, timestamp=UNTIMED)
    blobs = shelf.taken()
    rest = {key: item for key, item in record.items() if key not in ("role", "content")}
    if record.get("cache") is True:
        del rest["cache"]
    if isinstance(record.get("content"), str):
        rest = {**rest, "content": "string"}
    entries = []
    for m, message in enumerate(messages):
        marks = {**rest, "goes_on": True} if m < len(messages) - 1 else {} if m else rest
        entries.append(
            Entry(str(number + m + 1), message, before, extras={"context": marks} if marks else EMPTY, blobs=blobs)
        )
        before = (str(number + m + 1),)
    return entries


def encode(transcript: Transcript) -> bytes:
    """Write one thread."""
    records: list[dict[str, Any]] = []
    joins = False
    for entry in transcript.entries:
        message = entry.message
        marks = thaw(entry.noted("context"))
        goes_on = marks.pop("goes_on", False)
        is_string = marks.pop("content", None) == "string"
        blocks, _ = write_blocks(message.parts, entry.blobs, provider=message.provider)
        role = IN_TURNS.get(message.role, message.role)
        if joins and role == records[-1]["role"]:
            records[-1]["content"] += blocks
            records[-1] |= marks
        else:
            content: Any = blocks
            if is_string and len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
                content = blocks[0]["text"]
            records.append({"role": role, "content": content, **marks})
        if any(part.type == "annotation" and (part.json or EMPTY).get("cache") is True for part in message.parts):
            records[-1]["cache"] = True
        joins = goes_on and not is_string
    others = thaw(transcript.session.noted("context"))
    try:
        return jsontext.dumps({"messages": records, "options": {}, **others})
    except ValueError as problem:
        raise CodecError(str(problem), where="the context") from problem


def sniff(head: Head) -> float:
    """An object with messages and options."""
    first = head.first
    if not head.is_object or "messages" not in first:
        return 0.0
    blocks = False
    match first["messages"]:
        case [{"content": [{"type": str()}, *_]}, *_]:
            blocks = True
    if isinstance(first.get("options"), Mapping):
        return 0.7
    return 0.45 if blocks and set(first) == {"messages"} else 0.0


FORMAT = Format(
    name="context",
    about="a resolved thread of gpt2099: messages and options",
    aliases=("gpt2099",),
    carries=carrying("thinking signatures calls images files blocks", "system extras options"),
    notes={
        "system": "as messages",
        "options": "those of a thread: pointer, servers, search",
        "extras": "members that are not known here, if the file was of this kind before",
    },
    read=read,
    write=proven("context", encode, read),
    sniff=sniff,
)
