"""Gemini CLI's sessions: ~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl.

A header, then a line a message. An answer holds its tool calls with their results, so it is two entries here if it has
any. `$rewindTo` goes back to before a message: what follows is another branch. A line with the name of the message
before it says it again, with more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import Closing, Entry, Message, Opening, Part, Piece, Session, Stray
from weft.errors import CodecError
from weft.formats.foreign import counted, heard, listed, moment, need_object, objects, renewed, rest, text
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "gemini-cli"
_SAID = ("id", "timestamp", "content", "type", "toolCalls", "thoughts", "tokens", "model")
_ROLES = {"user": "user", "gemini": "model"}


class _Reader:
    """The state of reading one file: the message that may be said again, and where the next one goes."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.open: dict[str, Any] | None = None
        self.waiting: list[str] = []
        self.last: str | None = None
        self.parents: dict[str, str | None] = {}
        self.count = 0

    def take(self, said: dict[str, Any], raw: str, where: str) -> Iterator[Piece]:
        if text(said.get("type")) in _ROLES and "content" in said:
            if self.open is not None and said.get("id") == self.open.get("id") is not None:
                self.open = {**self.open, **said}
                return
            yield from self.flush(where)
            self.open = said
        elif isinstance(back := said.get("$rewindTo"), str):
            yield from self.flush(where)
            if back in self.parents:
                self.last = self.parents[back]
            yield Stray(NAME, raw, self.count)
        elif self.open is not None:
            self.waiting.append(raw)
        else:
            yield Stray(NAME, raw, self.count)

    def flush(self, where: str) -> Iterator[Piece]:
        said, self.open = self.open, None
        if said is not None:
            name = text(said.get("id")) or str(self.count + 1)
            self.parents.setdefault(name, self.last)
            yield from self._entries(name, said, where)
        waiting, self.waiting = self.waiting, []
        yield from (Stray(NAME, raw, self.count) for raw in waiting)

    def _entries(self, name: str, said: dict[str, Any], where: str) -> Iterator[Entry]:
        at = moment(said.get("timestamp"))
        content = said.get("content")
        parts = [{"text": content}] if isinstance(content, str) else content if isinstance(content, list) else [content]
        parts = [{"text": each} if isinstance(each, str) else each for each in parts if each not in (None, "")]
        calls = [call for call in listed(said.get("toolCalls")) if isinstance(call, dict)]
        wire = [*parts, *({"functionCall": {key: call.get(key) for key in ("id", "name", "args")}} for call in calls)]
        role = _ROLES[said["type"]]
        found = heard("gemini", [{"role": role, "parts": wire}], self.shelf.store, where) if wire else ()
        message = found[0] if found else Message("user" if role == "user" else "assistant", (), None, "google")
        thoughts = [_thought(each) for each in listed(said.get("thoughts"))]
        kept = rest(said, *_SAID)
        if calls:
            kept["toolCalls"] = [rest(call, "id", "name", "args", "result") for call in calls]
        yield self._entry(
            name,
            renewed(message, at, parts=(*thoughts, *message.parts)),
            model=text(said.get("model")),
            usage=counted(said.get("tokens"), ("input",), ("output",), ("total",)),
            extras={NAME: kept},
        )
        if results := [_result(call) for call in calls if call.get("result") is not None]:
            yield self._entry(f"{name}/results", renewed(Message("tool", results, None, "google"), at))

    def _entry(self, name: str, message: Message, **facts: Any) -> Entry:
        self.count += 1
        above = () if self.last is None else (self.last,)
        self.last = name
        return Entry(name, message, above, blobs=self.shelf.taken(), **facts)


def read(source: Source) -> Iterator[Piece]:
    """Read a session, of lines or (as older versions wrote it) of one object with `messages`."""
    reader = _Reader()
    session = Session(provider="google")
    opened = False
    for where, raw, said in _lines(source):
        if not opened:
            opened = True
            if "sessionId" in said:
                session = _session(said)
                yield Opening(session)
                continue
            yield Opening(session)
        yield from reader.take(said, raw, where)
    if not opened:
        yield Opening(session)
    yield from reader.flush("the end of the file")
    yield Closing({}, reader.last)


def _lines(source: Source) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if not source.head.is_lines:
        for place, said in objects(source):
            yield place, jsontext.dumps_text(rest(said, "messages")), rest(said, "messages")
            for number, each in enumerate(listed(said.get("messages"))):
                where = f"{place}.messages[{number}]"
                yield where, jsontext.dumps_text(each), need_object(each, where)
        return
    for number, raw in source.lines():
        where = f"line {number}"
        try:
            yield where, raw.decode("utf-8", "surrogateescape"), need_object(jsontext.loads(raw), where)
        except ValueError as problem:
            raise CodecError(f"not JSON: {problem}", where=where) from None


def _session(said: Mapping[str, Any]) -> Session:
    folders = said.get("directories")
    return Session(
        id=text(said.get("sessionId")),
        title=text(said.get("summary")),
        created=moment(said.get("startTime")),
        updated=moment(said.get("lastUpdated")),
        cwd=text(folders[0]) if isinstance(folders, list) and folders else None,
        provider="google",
        extras={NAME: rest(said, "sessionId", "summary", "startTime", "lastUpdated")},
    )


def _thought(thought: Any) -> Part:
    said = thought if isinstance(thought, dict) else {"description": str(thought)}
    words = [each for each in (text(said.get("subject")), text(said.get("description"))) if each]
    return Part(
        "thinking", "\n\n".join(words), json={"provider": "google", "dialect": NAME}, provider_raw={"thought": said}
    )


def _result(call: Mapping[str, Any]) -> Part:
    result = call.get("result")
    first = result[0] if isinstance(result, list) and len(result) == 1 else None
    answered = first.get("functionResponse") if isinstance(first, dict) else None
    response = answered.get("response") if isinstance(answered, dict) else None
    output = response.get("output", response) if isinstance(response, dict) else result
    failed = call.get("status") in ("error", "cancelled")
    return Part(
        "tool_result",
        json={"is_error": True} if failed else None,
        tool_call_id=text(call.get("id")),
        tool_name=text(call.get("name")),
        tool_output=output,
        provider_raw={"result": result},
    )


def _sniff(head: Head) -> float:
    first = head.first
    if "sessionId" in first and ("projectHash" in first or "startTime" in first):
        return 0.97
    return 0.8 if first.get("type") in ("user", "gemini") and "content" in first and "timestamp" in first else 0.0


FORMAT = Format(
    name=NAME,
    about="sessions of Gemini CLI",
    carries=carrying(yes="branches ids timestamps model usage title thinking signatures calls images files extras"),
    read=read,
    sniff=_sniff,
    aliases=("gemini-session",),
)
