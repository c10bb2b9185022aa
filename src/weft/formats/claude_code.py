"""Claude Code's sessions: ~/.claude/projects/<folder>/<session>.jsonl.

A tree by `parentUuid`. An assistant's message is written one block a line, so lines with one `message.id` are one
entry here; the results of its calls may stand between them. Lines that are no talk (progress, snapshots, titles) are
kept as they are; one in the chain stands for what it continues. After a compaction the chain begins anew, as it does
for the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weft import jsontext
from weft.canon import Closing, Entry, Message, Opening, Piece, Reply, Role, Session, Stray, Transcript, thaw
from weft.errors import CodecError, WireError
from weft.formats.foreign import as_uuid, heard, iso, line, moment, need_object, own_lines, renewed, rest, spoken, text
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source
from weft.wire import CROSSING, FAITHFUL, dialect

__all__ = ["FORMAT"]

NAME = "claude-code"
TALK = ("user", "assistant")
# What is said of a line elsewhere in an entry, and so is not kept again beside it.
_SAID = ("type", "uuid", "parentUuid", "timestamp", "message")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_WRITTEN_VERSION = "2.1.0"  # of the session files that are written here


@dataclass(slots=True)
class _Turn:
    """An assistant's message as its lines come in, and the results that came between them."""

    message_id: Any = None
    said: list[tuple[dict[str, Any], int]] = field(default_factory=list)  # a line, and how many entries were before it
    results: list[dict[str, Any]] = field(default_factory=list)
    strays: list[Stray] = field(default_factory=list)


class _Reader:
    """The state of reading one file: what stands for what, and the message that is not finished yet."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.alias: dict[str, str | None] = {}  # of lines that are no entry, and of those put together to one
        self.open = _Turn()
        self.count = 0
        self.titles: dict[str, str] = {}
        self.last: str | None = None
        self.first: dict[str, Any] | None = None
        self.seen: set[bytes] = set()  # names of lines, shortened: files are long

    def is_again(self, name: str) -> bool:
        """Tell whether a line of this name came before: a session that was resumed may hold lines twice."""
        short = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        if short in self.seen:
            return True
        self.seen.add(short)
        return False

    def take(self, said: dict[str, Any], raw: str, where: str) -> Iterator[Piece]:
        """Take one line; give what is finished by it."""
        kind, message = said.get("type"), said.get("message")
        if (
            kind not in TALK
            or not isinstance(message, dict)
            or not isinstance(said.get("uuid"), str)
            or self.is_again(said["uuid"])
        ):
            yield from self._stray(said, raw)
        elif kind == "assistant" and self.open.said and message.get("id") == self.open.message_id is not None:
            self.open.said.append((said, self.count))
        elif kind == "user" and self.open.said and _answers(message, self.open):
            self.open.results.append(said)
        else:
            yield from self.flush(where)
            if kind == "assistant":
                self.open = _Turn(message.get("id"), [(said, self.count)])
            else:
                yield self._entry([said], _heard_user(message, self.shelf, where), text(said.get("parentUuid")))

    def flush(self, where: str) -> Iterator[Piece]:
        """Give the message that was open, and the results that came with it, one after the other."""
        turn, self.open = self.open, _Turn()
        if not turn.said:
            return
        lines = [said for said, _ in turn.said]
        reply = _heard_reply([said["message"] for said in lines], self.shelf, where)
        entry = self._entry(lines, reply.messages[0], text(lines[0].get("parentUuid")), reply)
        yield entry
        before = entry.id
        for said in turn.results:
            result = self._entry([said], _heard_user(said["message"], self.shelf, where), before)
            yield result
            before = result.id
        for said in turn.results:
            self.alias[said["uuid"]] = before  # whatever comes next has all results before it
        yield from (replace(stray, at=self.count) for stray in turn.strays)

    def _entry(
        self, lines: list[dict[str, Any]], message: Message, parent: str | None, reply: Reply | None = None
    ) -> Entry:
        last = lines[-1]
        for said in lines[:-1]:
            self.alias[said["uuid"]] = last["uuid"]
        parent_id = self._resolved(parent)
        kept = []
        for said in lines:
            extra = rest(said, *_SAID)
            extra["message"] = rest(said["message"], "role", "content")
            extra |= {"uuid": said["uuid"], "parentUuid": said.get("parentUuid"), "timestamp": said.get("timestamp")}
            kept.append(extra)
        self.count += 1
        self.last = last["uuid"]
        return Entry(
            last["uuid"],
            renewed(message, moment(lines[0].get("timestamp"))),
            () if parent_id is None else (parent_id,),
            reply.model if reply else None,
            reply.finish_reason if reply else None,
            reply.usage if reply else None,
            {NAME: {"lines": kept, "continues": parent_id}},
            self.shelf.taken(),
        )

    def _stray(self, said: Mapping[str, Any], raw: str) -> Iterator[Piece]:
        name = said.get("uuid")
        if isinstance(name, str):
            parent = said.get("parentUuid")
            self.alias[name] = self._resolved(parent if isinstance(parent, str) else None)
        title = said.get(_TITLES.get(str(said.get("type")), ""))
        if isinstance(title, str):
            self.titles[str(said["type"])] = title
        stray = Stray(NAME, raw, self.count)
        if self.open.said:
            self.open.strays.append(stray)
        else:
            yield stray

    def _resolved(self, name: str | None) -> str | None:
        seen = set()
        while name in self.alias and name not in seen:
            seen.add(name)
            name = self.alias[name]
        return name

    def session(self) -> Session:
        first = self.first or {}
        known = ("sessionId", "cwd", "version", "gitBranch", "userType")
        title = next((self.titles[kind] for kind in _TITLES if kind in self.titles), None)
        return Session(
            id=text(first.get("sessionId")),
            title=title,
            created=moment(first.get("timestamp")),
            cwd=text(first.get("cwd")),
            provider="anthropic",
            extras={NAME: {key: first[key] for key in known[2:] if key in first}},
        )


def read(source: Source) -> Iterator[Piece]:
    """Read a session."""
    reader = _Reader()
    opened = False
    for number, raw in source.lines():
        where = f"line {number}"
        try:
            said = jsontext.loads(raw)
        except ValueError as problem:
            raise CodecError(f"not JSON: {problem}", where=where) from None
        said = need_object(said, where)
        if reader.first is None and "sessionId" in said and "cwd" in said:
            reader.first = said
        if not opened and (reader.first is not None or number > 1):
            opened = True
            yield Opening(reader.session())
        if not opened:  # nothing is known of the session yet; what came so far is kept
            opened = True
            yield Opening(Session(provider="anthropic"))
        yield from reader.take(said, raw.decode("utf-8", "surrogateescape"), where)
    if not opened:
        yield Opening()
    yield from reader.flush("the end of the file")
    yield Closing({}, reader.last, reader.session())


def _answers(message: Mapping[str, Any], turn: _Turn) -> bool:
    """Tell whether a user's line holds only results of calls of the open message."""
    content = message.get("content")
    if not isinstance(content, list) or not content:
        return False
    calls = set()
    for said, _ in turn.said:
        blocks = said["message"].get("content")
        found = blocks if isinstance(blocks, list) else ()
        calls |= {text(block.get("id")) for block in found if isinstance(block, dict)}
    return all(
        isinstance(block, dict) and block.get("type") == "tool_result" and text(block.get("tool_use_id")) in calls
        for block in content
    )


def _heard_user(message: Mapping[str, Any], shelf: Shelf, where: str) -> Message:
    found = heard("anthropic", [{"role": "user", "content": message.get("content")}], shelf.store, where)
    if len(found) == 1:
        return found[0]
    # Results and texts on one line stay together: they are one message of the agent's.
    role: Role = "tool" if any(each.role == "tool" for each in found) else "user"
    return (
        renewed(found[0], role=role, parts=[part for each in found for part in each.parts])
        if found
        else Message("user", ())
    )


def _heard_reply(messages: list[dict[str, Any]], shelf: Shelf, where: str) -> Reply:
    blocks: list[Any] = []
    for message in messages:
        content = message.get("content")
        blocks += content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    whole = {"type": "message", "role": "assistant", **messages[-1], "content": blocks}
    try:
        reply = dialect("anthropic").decode_response(whole, shelf.store)
    except (WireError, TypeError, ValueError) as problem:
        raise CodecError(str(problem), where=where) from problem
    return reply if reply.messages else replace(reply, messages=(Message("assistant", ()),))


def _encode(transcript: Transcript) -> bytes:
    """Write a session that Claude Code can resume: one block a line, each line after the one before it."""
    session = transcript.session
    ours = session.extras.get(NAME, {})
    common = {
        "sessionId": as_uuid(session.id or "session"),
        "cwd": session.cwd or "/",
        "version": ours.get("version", _WRITTEN_VERSION),
        "userType": ours.get("userType", "external"),
        "isSidechain": False,
    }
    if "gitBranch" in ours:
        common["gitBranch"] = ours["gitBranch"]
    out: list[bytes] = []
    strays = own_lines(transcript, NAME)
    at, before = 0, None
    for number, entry in enumerate(transcript.entries):
        while at < len(strays) and strays[at][0] <= number:
            out.append(strays[at][1])
            at += 1
        lines = list(_lines(entry, common))
        if entry.message.role == "assistant":
            if lines and lines[0]["message"].get("id") == before is not None:  # or they would be read as one message
                for said in lines:
                    said["message"]["id"] = f"msg_{as_uuid(entry.id).replace('-', '')[:24]}"
            before = lines[-1]["message"].get("id") if lines else before
        out += map(line, lines)
    out += (written for _, written in strays[at:])
    is_titled = any(kind.encode() in written for _, written in strays for kind in _TITLES)
    if session.title and not is_titled:
        out.append(line({"type": "custom-title", "customTitle": session.title, "sessionId": common["sessionId"]}))
    return b"".join(out)


def _lines(entry: Entry, common: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    message = entry.message
    ours = entry.extras.get(NAME, {}).get("lines", ())
    is_moved = bool(ours) and entry.extras[NAME].get("continues") != entry.parent_id
    is_told = message.role in ("system", "developer")  # it has no place for these: told to the model, not shown
    if is_told:
        message = renewed(message, role="user")
    said = spoken("anthropic", [message], entry.blobs, FAITHFUL if message.provider == "anthropic" else CROSSING)
    blocks = [block for each in said for block in _blocks(each.get("content"))]
    role = "assistant" if message.role == "assistant" else "user"
    groups = [[block] for block in blocks] if role == "assistant" else [blocks]
    if len(ours) == 1 or not groups:
        groups = [blocks]
    before = as_uuid(entry.parent_id) if entry.parent_id else None
    for number, group in enumerate(groups):
        kept = dict(ours[number]) if len(ours) == len(groups) else {}
        last = number == len(groups) - 1
        uuid = kept.get("uuid") or as_uuid(entry.id if last else f"{entry.id}/{number}")
        content: Any = group
        if role == "user" and len(group) == 1 and group[0].keys() == {"type", "text"}:
            content = group[0]["text"]
        body: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            around = thaw(kept["message"]) if "message" in kept else _envelope(entry)
            body = {**around, "role": role, "content": content}
        else:
            body = {**thaw(kept.get("message", {})), **body}
        yield {
            "parentUuid": before if is_moved else kept.get("parentUuid", before),
            **(common if not kept else {}),
            **({"isMeta": True} if is_told and not kept else {}),
            "type": role,
            "message": body,
            "uuid": uuid,
            "timestamp": kept.get("timestamp") or iso(entry.timestamp) or "1970-01-01T00:00:00.000Z",
            **thaw(rest(kept, "uuid", "parentUuid", "timestamp", "message")),
        }
        before = uuid


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _envelope(entry: Entry) -> dict[str, Any]:
    """Give what Anthropic says around an answer's content."""
    usage = entry.usage
    reasons = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
    counts = {"input_tokens": 0, "output_tokens": 0}
    if usage is not None:
        counts = dict(usage.provider_usage) if "input_tokens" in usage.provider_usage else counts
        counts["input_tokens"] = usage.input_tokens or 0
        counts["output_tokens"] = usage.output_tokens or 0
    return {
        "id": entry.message.id or f"msg_{as_uuid(entry.id).replace('-', '')[:24]}",
        "type": "message",
        "model": entry.model or "unknown",
        "stop_reason": reasons.get(entry.finish_reason or ""),
        "stop_sequence": None,
        "usage": counts,
    }


def _sniff(head: Head) -> float:
    if not head.is_object:
        return 0.0
    start = head.data[:65536]
    if b'"sessionId"' in start and (b'"parentUuid"' in start or b'"leafUuid"' in start):
        return 0.95
    return 0.6 if b'"leafUuid"' in start and b'"summary"' in start else 0.0


FORMAT = Format(
    name=NAME,
    about="sessions of Claude Code, which can resume what is written",
    carries=carrying(
        yes="branches ids timestamps model usage finish title thinking signatures calls images blocks extras",
        partial="files system",
    ),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    aliases=("claude", "claudecode"),
    extensions=(),
    notes={"files": "documents, as Anthropic takes them", "system": "as a line of the user's"},
)
