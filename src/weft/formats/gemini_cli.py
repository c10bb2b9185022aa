"""Gemini CLI's sessions: ~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl.

A header, then a line a message. An answer holds its tool calls with their results, so it is two entries here if it has
any. `$rewindTo` goes back to before a message: what follows is another branch. A line with the name of the message
before it says it again, with more. `$set` says more of the whole; if it has `messages`, the history was written anew
(compressed, or long results cut short): what is the same stays, and a branch begins where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft import jsontext
from weft.canon import Closing, Entry, Message, Opening, Part, Piece, Session, Stray
from weft.formats.foreign import (
    Names,
    counted,
    failure,
    heard,
    listed,
    moment,
    need_object,
    objects,
    renewed,
    rest,
    text,
)
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "gemini-cli"
_SAID = ("id", "timestamp", "content", "type", "toolCalls", "thoughts", "tokens", "model")
_ROLES = {"user": "user", "gemini": "model"}


@dataclass(frozen=True, slots=True)
class _Place:
    """A message on the branch that goes on: what it says, and the entries before it and at its end."""

    name: str | None
    look: int
    before: str | None
    after: str | None


class _Reader:
    """The state of reading one file: the message that may be said again, and the branch that goes on."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.names = Names()
        self.meta: dict[str, Any] = {}
        self.open: dict[str, Any] | None = None
        self.waiting: list[tuple[str, Any]] = []  # lines that are no talk, with their names
        self.last: str | None = None
        self.path: list[_Place] = []
        self.told: set[str | None] = set()  # the names on it
        self.count = 0

    def take(self, said: dict[str, Any], raw: str, where: str) -> Iterator[Piece]:
        """Take one line; give what is finished by it."""
        if _is_talk(said):
            if self.open is not None and said.get("id") == self.open.get("id") is not None:
                self.open = {**self.open, **said}
                return
            yield from self.flush(where)
            if said.get("id") is not None and text(said.get("id")) in self.told:
                yield Stray(NAME, raw, self.count)  # said again when others had come: it is kept, and not told twice
            else:
                self.open = said
            return
        if isinstance(back := said.get("$rewindTo"), str):
            yield from self.flush(where)
            at = next((number for number, place in enumerate(self.path) if place.name == back), 0)
            self._go_back(at)
        elif isinstance(change := said.get("$set"), dict):
            self.meta |= rest(change, "messages")
            if isinstance(messages := change.get("messages"), list):
                yield from self.flush(where)
                yield Stray(NAME, raw, self.count)
                yield from self._again([each for each in messages if isinstance(each, dict)], where)
                return
        elif self.open is not None:
            self.waiting.append((raw, said.get("id")))
            return
        elif isinstance(said.get("id"), str):
            self.path.append(_Place(said["id"], 0, self.last, self.last))
        yield Stray(NAME, raw, self.count)

    def flush(self, where: str) -> Iterator[Piece]:
        """Give the message that was open, and the lines that waited for it."""
        said, self.open = self.open, None
        if said is not None:
            yield from self._told(said, where)
        waiting, self.waiting = self.waiting, []
        for raw, name in waiting:
            if isinstance(name, str):
                self.path.append(_Place(name, 0, self.last, self.last))
            yield Stray(NAME, raw, self.count)

    def _go_back(self, number: int) -> None:
        """Go on from before a message of the branch; from the beginning, if there is none of that number."""
        self.last = self.path[number].before if number < len(self.path) else None
        self.told -= {place.name for place in self.path[number:]}
        del self.path[number:]

    def _again(self, messages: list[dict[str, Any]], where: str) -> Iterator[Piece]:
        """Give the history that was written in the place of the old one, from where they differ."""
        called = {text(call.get("id")) for each in messages for call in _calls(each) if call.get("result") is not None}
        messages = [each for each in messages if not _is_answered(each, called)]
        same = 0
        for place, each in zip(self.path, messages, strict=False):
            if place.name != text(each.get("id")) or (_is_talk(each) and place.look != _look(each)):
                break
            same += 1
        if same < len(self.path):
            self._go_back(same)
        for each in messages[same:]:
            if _is_talk(each):
                yield from self._told(each, where)
            else:
                self.path.append(_Place(text(each.get("id")), 0, self.last, self.last))

    def _told(self, said: dict[str, Any], where: str) -> Iterator[Entry]:
        before, given = self.last, text(said.get("id"))
        name = self.names.unique(given or str(self.count + 1))
        counts = said.get("tokens") if given in (None, name) else None  # those of a message told before were counted
        yield from self._entries(name, said, counts, where)
        self.told.add(given)
        self.path.append(_Place(given, _look(said), before, self.last))

    def _entries(self, name: str, said: dict[str, Any], counts: Any, where: str) -> Iterator[Entry]:
        at = moment(said.get("timestamp"))
        calls = _calls(said)
        known = {text(call.get("id")) for call in calls}
        parts = [part for part in _parts(said) if not _is_call(part, known)]
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
            usage=counted(counts, ("input",), ("output",), ("total",)),
            extras={NAME: kept},
        )
        if results := [_result(call) for call in calls if call.get("result") is not None]:
            results_name = self.names.unique(f"{name}/results")
            yield self._entry(results_name, renewed(Message("tool", results, None, "google"), at))

    def _entry(self, name: str, message: Message, **facts: Any) -> Entry:
        self.count += 1
        above = () if self.last is None else (self.last,)
        self.last = name
        return Entry(name, message, above, blobs=self.shelf.taken(), **facts)


def _is_talk(said: Mapping[str, Any]) -> bool:
    return text(said.get("type")) in _ROLES and "content" in said


def _calls(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [call for call in listed(said.get("toolCalls")) if isinstance(call, dict)]


def _parts(said: Mapping[str, Any]) -> list[Any]:
    content = said.get("content")
    parts = content if isinstance(content, list) else [content]
    return [{"text": each} if isinstance(each, str) else each for each in parts if each not in (None, "")]


def _is_call(part: Any, known: set[str | None]) -> bool:
    """Tell whether a part is a call that the message has among its tool calls too."""
    call = part.get("functionCall") if isinstance(part, dict) else None
    return isinstance(call, dict) and text(call.get("id")) in known


def _is_answered(said: Mapping[str, Any], called: set[str | None]) -> bool:
    """Tell whether a message is nothing but results, which the calls of another have too."""
    parts = _parts(said)
    answers = [part.get("functionResponse") for part in parts if isinstance(part, dict)]
    return bool(parts) and all(isinstance(each, dict) and text(each.get("id")) in called for each in answers)


def _look(said: Mapping[str, Any]) -> int:
    """Give what a message says as a number: that it was written another way makes no difference."""
    calls = _calls(said)
    known = {text(call.get("id")) for call in calls}
    parts = [part for part in _parts(said) if not _is_call(part, known)]
    told: Sequence[Any] = [said.get("type"), parts, [[call.get(key) for key in ("id", "result")] for call in calls]]
    return hash(jsontext.dumps(told))


def read(source: Source) -> Iterator[Piece]:
    """Read a session, of lines or (as older versions wrote it) of one object with `messages`."""
    reader = _Reader()
    opened = False
    for where, raw, said in _lines(source):
        if not opened:
            opened = True
            if "sessionId" in said and not _is_talk(said):
                reader.meta = rest(said, "messages")
                yield Opening(_session(reader.meta))
                for number, each in enumerate(listed(said.get("messages"))):
                    place = f"{where}.messages[{number}]"
                    yield from reader.take(need_object(each, place), jsontext.dumps_text(each), place)
                continue
            yield Opening(_session({}))
        yield from reader.take(said, raw, where)
    if not opened:
        yield Opening(_session({}))
    yield from reader.flush("the end of the file")
    yield Closing({}, reader.last, _session(reader.meta))


def _lines(source: Source) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if not source.head.is_lines:
        for place, said in objects(source):
            yield place, jsontext.dumps_text(said), said
        return
    for number, raw in source.lines():
        where = f"line {number}"
        try:
            said = need_object(jsontext.loads(raw), where)
        except ValueError as problem:
            source.bad_line(number, problem)
            continue
        yield where, raw.decode("utf-8", "surrogateescape"), said


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
        tool_call_id=text(call.get("id")),
        tool_name=text(call.get("name")),
        tool_output=output,
        provider_raw=failure(failed, {"result": result}),
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
    aliases=("gemini", "gemini-session"),
)
