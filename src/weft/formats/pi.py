"""pi's sessions (version 3): ~/.pi/agent/sessions/--<path>--/<time>_<uuid>.jsonl.

A true tree in one file: a header, then entries that name their parents. What is told to the model is an entry here:
messages, and the summaries and texts of extensions that have lines of their own. All else (a change of model) stands
for what it continues, and is kept as it is; of it, a name is the title and labels are heads. The last line of all is
where the session goes on. Version 1 has no names: its lines are one chain.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import replace
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
from weft.formats.foreign import (
    Names,
    Tree,
    counted,
    failure,
    moment,
    need_object,
    rest,
    signed_thinking,
    text,
    unknown,
)
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
# Lines that are told to the model and are no message, with the role that pi gives them then.
_TOLD = {"custom_message": "custom", "branch_summary": "branchSummary", "compaction": "compactionSummary"}


def read(source: Source) -> Iterator[Piece]:
    """Read a session."""
    tree, shelf = Tree(), Shelf()
    count, last, session = 0, None, None
    title: str | None = None
    labels: dict[str, str] = {}
    names: set[str] = set()
    for number, raw in source.lines():
        where = f"line {number}"
        try:
            said = need_object(jsontext.loads(raw), where)
        except ValueError as problem:
            source.bad_line(number, problem)
            continue
        if session is None:
            session = _session(said) if said.get("type") == "session" else Session()
            yield Opening(session)
            if said.get("type") == "session":
                continue
        name, parent = text(said.get("id")), text(said.get("parentId"))
        if name is None and "parentId" not in said:
            name, parent = str(number), last
        last = name or last
        if name is not None and (message := _message(said)) is not None:
            count += 1
            names.add(name)
            yield _entry(name, tree.above(parent), said, message, shelf)
            continue
        if name is not None:
            tree.passed(name, parent)
        if said.get("type") == "session_info":
            title = text(said.get("name")) or None
        elif said.get("type") == "label" and isinstance(target := said.get("targetId"), str):
            labels[target] = text(said.get("label")) or ""
        yield Stray(NAME, raw.decode("utf-8", "surrogateescape"), count)
    if session is None:
        yield Opening()
    given = Names()
    heads = {
        given.unique(label): found[0]
        for target, label in labels.items()
        if label and (found := tree.above(target)) and found[0] in names
    }
    current = tree.above(last)
    yield Closing(
        heads,
        current[0] if current and current[0] in names else None,
        None if session is None or title is None else replace(session, title=title),
    )


def _message(said: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give what a line tells the model as a message; None if it tells it nothing."""
    if said.get("type") == "message":
        message = said.get("message")
        return message if isinstance(message, dict) else None
    role = _TOLD.get(str(said.get("type")))
    if role is None or not isinstance(said.get("content" if role == "custom" else "summary"), (str, list)):
        return None
    return {"role": role, **rest(said, "type", "id", "parentId", "timestamp")}


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
    kept = rest(said, "type", "id", "parentId", "timestamp", "message") if "message" in said else {"type": said["type"]}
    beside = rest(message, *_SAID, "summary")
    if kind not in _ROLES:
        parts = _other(kind, message, shelf)
        beside["role"] = kind
    elif kind == "toolResult":
        parts = [_result(message)]
    else:
        is_anthropic = provider == "anthropic" or message.get("api") == "anthropic-messages"
        parts = _parts(message.get("content"), "anthropic" if is_anthropic else provider, shelf)
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
        case {"type": "thinking", "thinkingSignature": str(data), "redacted": True} if provider == "anthropic":
            sealed = {"type": "redacted_thinking", "data": data}
            return Part("thinking", json={"provider": provider, "dialect": provider}, provider_raw=sealed)
        case {"type": "thinking", "thinking": str(words), "thinkingSignature": str(seal)} if provider == "anthropic":
            return signed_thinking(words, provider, seal, NAME)
        case {"type": "thinking", "thinking": str(words)}:
            return Part("thinking", words, json={"provider": provider, "dialect": NAME}, provider_raw=block)
        case {"type": "toolCall", "id": str(call), "name": str(tool)}:
            arguments = read_arguments(block.get("arguments"))
            kept = rest(block, "type", "id", "name", "arguments")
            raw = {NAME: kept} if kept else None
            return Part("tool_call", tool_call_id=call, tool_name=tool, tool_args=arguments, provider_raw=raw)
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
    if isinstance(output, list):
        output = [_shown(block) for block in output]
    return Part(
        "tool_result",
        tool_call_id=text(message.get("toolCallId")),
        tool_name=text(message.get("toolName")),
        tool_output=output,
        provider_raw=failure(message.get("isError") is True),
    )


def _shown(block: Any) -> Any:
    """Give a block of a result; pictures as Anthropic has them, which others understand."""
    match block:
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    return block


def _other(kind: str, message: Mapping[str, Any], shelf: Shelf) -> list[Part]:
    """Give what is told to the model in other words than a message's: summaries, and what the user ran himself."""
    if kind in _SUMMARIES and isinstance(words := message.get("summary"), str):
        return [Part("text", words)]
    if kind == "bashExecution":
        return [Part("text", f"$ {message.get('command')}\n{message.get('output') or ''}")]
    content = message.get("content")
    return _parts(content, None, shelf) if isinstance(content, (str, list)) else [unknown(NAME, dict(message))]


def _sniff(head: Head) -> float:
    first = head.first
    if first.get("type") == "session" and "cwd" in first and ("version" in first or "timestamp" in first):
        return 0.96
    return 0.8 if first.get("type") == "message" and "parentId" in first else 0.0


FORMAT = Format(
    name=NAME,
    about="sessions of pi, with every branch",
    carries=carrying(
        yes="branches heads ids timestamps model usage finish title thinking signatures calls images extras"
    ),
    read=read,
    sniff=_sniff,
)
