"""pi's sessions (version 3): ~/.pi/agent/sessions/--<path>--/<time>_<uuid>.jsonl.

A true tree in one file: a header, then entries that name their parents. Entries that are no message (a change of
model, a label) stand for what they continue, and are kept as they are.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Message,
    Opening,
    Part,
    Piece,
    Role,
    Session,
    Stray,
    read_arguments,
)
from weft.errors import CodecError
from weft.formats.foreign import Tree, counted, moment, need_object, rest, text, unknown
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "pi"
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "toolResult": "tool"}
_SAID = (
    "role",
    "content",
    "timestamp",
    "provider",
    "model",
    "usage",
    "stopReason",
    "toolCallId",
    "toolName",
    "isError",
)
_REASONS = {"stop": "stop", "length": "length", "toolUse": "tool_calls"}
_SUMMARIES = ("branchSummary", "compactionSummary")


def read(source: Source) -> Iterator[Piece]:
    """Read a session."""
    tree, shelf = Tree(), Shelf()
    count, last, session = 0, None, None
    for number, raw in source.lines():
        where = f"line {number}"
        try:
            said = need_object(jsontext.loads(raw), where)
        except ValueError as problem:
            raise CodecError(f"not JSON: {problem}", where=where) from None
        if session is None:
            session = _session(said) if said.get("type") == "session" else Session()
            yield Opening(session)
            if said.get("type") == "session":
                continue
        name, parent = text(said.get("id")), text(said.get("parentId"))
        message = said.get("message")
        if said.get("type") == "message" and name is not None and isinstance(message, dict):
            count, last = count + 1, name
            yield _entry(name, tree.above(parent), said, message, shelf)
            continue
        if name is not None:
            tree.passed(name, parent)
        yield Stray(NAME, raw.decode("utf-8", "surrogateescape"), count)
    if session is None:
        yield Opening()
    yield Closing({}, last)


def _session(said: Mapping[str, Any]) -> Session:
    return Session(
        id=text(said.get("id")),
        created=moment(said.get("timestamp")),
        cwd=text(said.get("cwd")),
        extras={NAME: rest(said, "type", "id", "timestamp", "cwd")},
    )


def _entry(name: str, above: tuple[str, ...], said: dict[str, Any], message: dict[str, Any], shelf: Shelf) -> Entry:
    kind = str(message.get("role"))
    role = _ROLES.get(kind, "user")
    provider = text(message.get("provider"))
    kept = rest(said, "type", "id", "parentId", "timestamp", "message")
    beside = rest(message, *_SAID)
    if kind not in _ROLES:
        parts = [_other(kind, message)]
        beside["role"] = kind
    elif kind == "toolResult":
        parts = [_result(message)]
    else:
        parts = _parts(message.get("content"), provider, shelf)
    return Entry(
        name,
        Message(role, parts, None, provider, None, moment(said.get("timestamp")) or UNTIMED),
        above,
        text(message.get("model")),
        _REASONS.get(str(message.get("stopReason")), text(message.get("stopReason"))),
        counted(message.get("usage"), ("input",), ("output",), ("totalTokens",)),
        {NAME: {**kept, "message": beside}},
        shelf.taken(),
    )


def _parts(content: Any, provider: str | None, shelf: Shelf) -> list[Part]:
    if isinstance(content, str):
        return [Part("text", content)]
    return [_part(block, provider, shelf) for block in content] if isinstance(content, list) else []


def _part(block: Any, provider: str | None, shelf: Shelf) -> Part:
    match block:
        case {"type": "text", "text": str(words)}:
            return Part("text", words, provider_raw=None if len(block) == 2 else block)
        case {"type": "thinking", "thinking": str(words)}:
            return Part("thinking", words, json={"provider": provider, "dialect": NAME}, provider_raw=block)
        case {"type": "toolCall", "id": str(call), "name": str(tool)}:
            arguments = read_arguments(block.get("arguments"))
            return Part("tool_call", tool_call_id=call, tool_name=tool, tool_args=arguments)
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            try:
                picture = base64.b64decode(data, validate=True)
            except (ValueError, binascii.Error):
                return unknown(NAME, block)
            return Part("image", blob=shelf.store.put_blob(picture, media_type=kind, kind="image"))
    return unknown(NAME, block)


def _result(message: Mapping[str, Any]) -> Part:
    content = message.get("content")
    output: Any = content
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        output = content[0].get("text", content) if content[0].get("type") == "text" else content
    return Part(
        "tool_result",
        json={"is_error": True} if message.get("isError") is True else None,
        tool_call_id=text(message.get("toolCallId")),
        tool_name=text(message.get("toolName")),
        tool_output=output,
    )


def _other(kind: str, message: Mapping[str, Any]) -> Part:
    """Give what is told to the model in other words than a message's: summaries, and what the user ran himself."""
    if kind in _SUMMARIES and isinstance(words := message.get("summary"), str):
        return Part("text", words)
    if kind == "bashExecution":
        return Part("text", f"$ {message.get('command')}\n{message.get('output') or ''}")
    content = message.get("content")
    return Part("text", content) if isinstance(content, str) else unknown(NAME, dict(message))


def _sniff(head: Head) -> float:
    first = head.first
    if first.get("type") == "session" and "version" in first and "cwd" in first:
        return 0.96
    return 0.8 if first.get("type") == "message" and "parentId" in first else 0.0


FORMAT = Format(
    name=NAME,
    about="sessions of pi, with every branch",
    carries=carrying(
        yes="branches ids timestamps model usage finish thinking signatures calls images extras", partial="title"
    ),
    read=read,
    sniff=_sniff,
    notes={"title": "the session's id"},
)
