"""Reading Claude Code's sessions: ~/.claude/projects/<folder>/<session>.jsonl.

A tree by `parentUuid`. An assistant's message is written one block a line, so lines with one `message.id` are one
entry here; the results of its calls may stand between them, and lines of sub-agents (`isSidechain`), each a chain of
its own. Lines that are no talk (progress, snapshots, titles) are kept as they are; one in the chain stands for what it
continues. What the user said while the agent was at work is an attachment (`queued_command`), and talk. After a
compaction the chain begins anew, as it does for the model; messages that it kept word for word are told again after its
summary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weft import jsontext
from weft.canon import Closing, Entry, Message, Opening, Piece, Reply, Role, Session, Stray
from weft.errors import CodecError, WireError
from weft.formats.foreign import (
    heard,
    moment,
    need_object,
    renewed,
    rest,
    text,
)
from weft.formats.source import Shelf, Source
from weft.wire import dialect

__all__ = ["NAME", "TITLES", "read"]

NAME = "claude-code"
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_TALK = ("user", "assistant")
_EARLY_PIECES = 100
_HELD = 256  # lines that may wait for a message to be finished: older files have all agents in one
_RECENT = 64  # entries that a compaction may keep word for word


@dataclass(slots=True)
class _Turn:
    """An assistant's message as its lines come in, and the results that came between them."""

    message_id: Any
    said: list[dict[str, Any]]
    agent: str
    where: str
    calls: set[str | None] = field(default_factory=set)
    results: list[dict[str, Any]] = field(default_factory=list)
    is_open: bool = True
    answered: str | None = None  # the last of its results, once it was given

    def add(self, said: dict[str, Any]) -> None:
        """Take one more line of it."""
        self.said.append(said)
        blocks = said["message"].get("content")
        found = blocks if isinstance(blocks, list) else ()
        self.calls |= {text(block.get("id")) for block in found if isinstance(block, dict)}


class _Reader:
    """The state of reading one file: what stands for what, and what waits for a message that is not finished yet.

    Entries are given in the order in which they begin, so that a file that is written again reads as the same.
    """

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.alias: dict[str, str | None] = {}  # of lines that are no entry, and of those put together to one
        self.waiting: deque[_Turn | str | tuple[dict[str, Any], str, str]] = deque()  # messages, strays, lines of users
        self.open: dict[str, _Turn] = {}  # by the agent whose message it is; the main one has no name
        self.given: dict[str, _Turn] = {}  # the last message of each agent that was given
        self.agents: dict[str, str] = {}  # whose each line of an agent without a name is
        self.told: set[int] = set()  # hashes of the ids of messages whose tokens were counted
        self.recent: deque[Entry] = deque(maxlen=_RECENT)  # of the main agent
        # Lines that a compaction kept, by the summary they come after: each of them, or the first and the last.
        self.kept: dict[str, tuple[list[str], bool]] = {}
        self.count = 0
        self.titles: dict[str, str] = {}
        self.summaries: dict[str, str] = {}  # titles by the lines they are of, which may be in other files
        self.last: str | None = None
        self.last_aside: str | None = None
        self.first: dict[str, Any] | None = None
        self.seen: set[int] = set()  # hashes of the names of lines: files are long

    def is_again(self, name: str) -> bool:
        """Tell whether a line of this name came before: a session that was resumed may hold lines twice."""
        count = len(self.seen)
        self.seen.add(hash(name))
        return len(self.seen) == count

    def take(self, said: dict[str, Any], raw: str, where: str) -> Iterator[Piece]:
        """Take one line; give what is finished by it."""
        kind, message = said.get("type"), said.get("message")
        if kind == "attachment" and (queued := _queued(said)) is not None:
            kind, message = "user", {"content": queued}
            said = {**said, "message": message}
        if kind not in _TALK or not isinstance(message, dict) or not isinstance(said.get("uuid"), str):
            self._note(said)
            message = None
        elif self.is_again(said["uuid"]):  # others may continue the one that came before
            message = None
        if message is None:
            self.waiting.append(raw)
            yield from self._finished()
            return
        agent = self._agent(said) if said.get("isSidechain") else ""
        turn = self.open.get(agent)
        if turn is not None:
            if kind == "assistant" and message.get("id") == turn.message_id is not None:
                turn.add(said)
                return
            if kind == "user" and (_answers(message, turn) or _is_of_call(said, turn)):
                turn.results.append(said)
                return
            turn.is_open = False
        if kind == "assistant":
            turn = self.open[agent] = _Turn(message.get("id"), [], agent, where)
            turn.add(said)
            self.waiting.append(turn)
        else:
            self.open.pop(agent, None)
            self.waiting.append((said, agent, where))
        yield from self._finished()

    def _agent(self, said: Mapping[str, Any]) -> str:
        """Tell whose a line of a sub-agent is: of the one it names, else of the one it continues."""
        if isinstance(name := said.get("agentId"), str):
            return name
        agent = self.agents.get(str(said.get("parentUuid"))) or str(said.get("uuid"))
        self.agents[str(said.get("uuid"))] = agent
        return agent

    def _finished(self) -> Iterator[Piece]:
        """Give what no open message is before; one that others wait for too long is taken for finished."""
        waiting = self.waiting
        while waiting:
            first = waiting[0]
            if isinstance(first, _Turn):
                if first.is_open:
                    if len(waiting) <= _HELD:
                        return
                    del self.open[first.agent]
                waiting.popleft()
                yield from self._answer(first)
            else:
                waiting.popleft()
                if isinstance(first, str):
                    yield Stray(NAME, first, self.count)
                    continue
                entry = self._heard(*first)
                yield entry
                if entry.id in self.kept:
                    yield from self._again(entry.id)

    def end(self) -> Iterator[Piece]:
        """Give everything that still waits."""
        for turn in self.open.values():
            turn.is_open = False
        return self._finished()

    def _answer(self, turn: _Turn) -> Iterator[Piece]:
        """Give a message, and the results that came with it, one after the other."""
        reply = _heard_reply([said["message"] for said in turn.said], self.shelf, turn.where)
        if turn.message_id is not None:
            name = hash(str(turn.message_id))
            if name in self.told:
                reply = replace(reply, usage=None)
            self.told.add(name)
        entry = self._entry(turn.said, reply.messages[0], text(turn.said[0].get("parentUuid")), turn.agent, reply)
        yield entry
        before = entry.id
        for said in turn.results:
            result = self._entry([said], _heard_user(said["message"], self.shelf, turn.where), before, turn.agent)
            yield result
            turn.answered = before = result.id
        for said in turn.results[:-1]:
            self.alias[said["uuid"]] = before  # whatever comes next has all results before it
        turn.results = []
        self.given[turn.agent] = turn

    def _heard(self, said: dict[str, Any], agent: str, where: str) -> Entry:
        """Give a line of the user's; a result that comes late continues those that came in time."""
        parent = text(said.get("parentUuid"))
        turn = self.given.get(agent)
        late = turn if turn is not None and _answers(said["message"], turn) else None
        if late is not None and late.answered is not None:
            parent = late.answered
        entry = self._entry([said], _heard_user(said["message"], self.shelf, where), parent, agent)
        if late is not None:
            if late.answered is not None:
                self.alias[late.answered] = entry.id
            late.answered = entry.id
        return entry

    def _again(self, summary: str) -> Iterator[Entry]:
        """Give the messages that a compaction kept, after its summary; what continues either continues them."""
        lines, is_span = self.kept.pop(summary)
        names = [self._resolved(each) for each in lines]
        recent = [entry for entry in self.recent if entry.id != summary]
        if is_span:
            order: list[str | None] = [entry.id for entry in recent]
            is_there = names[0] in order and names[-1] in order
            names = order[order.index(names[0]) : order.index(names[-1]) + 1] if is_there else []
        before = summary
        for entry in recent:
            if entry.id in names:
                self.count += 1
                name = f"{entry.id}/{summary}"
                facts = (entry.message, (before,), entry.model, entry.finish_reason, None, {NAME: {"again": True}})
                yield Entry.read(name, *facts, entry.blobs)
                before = name
        if before != summary:
            self.last = self.alias[summary] = before
            if names[-1] is not None:
                self.alias[names[-1]] = before

    def _entry(
        self,
        lines: list[dict[str, Any]],
        message: Message,
        parent: str | None,
        agent: str,
        reply: Reply | None = None,
    ) -> Entry:
        last = lines[-1]
        for said in lines[:-1]:
            self.alias[said["uuid"]] = last["uuid"]
        parent_id = self._resolved(parent)
        kept = [_around(said) for said in lines]
        self.count += 1
        if agent:
            self.last_aside = last["uuid"]
        else:
            self.last = last["uuid"]
        entry = Entry.read(
            last["uuid"],
            renewed(message, moment(lines[0].get("timestamp"))),
            () if parent_id is None else (parent_id,),
            reply.model if reply else None,
            reply.finish_reason if reply else None,
            reply.usage if reply else None,
            {NAME: {"lines": kept, "continues": parent_id}},
            self.shelf.taken(),
        )
        if not agent:
            self.recent.append(entry)
        return entry

    def _note(self, said: Mapping[str, Any]) -> None:
        """Take what a line that is no talk says: what it stands for, and titles."""
        name = said.get("uuid")
        if isinstance(name, str):
            parent = said.get("parentUuid")
            self.alias[name] = self._resolved(parent if isinstance(parent, str) else None)
            if said.get("isSidechain"):
                self._agent(said)
        if said.get("subtype") == "compact_boundary":
            self._note_kept(said.get("compactMetadata"))
        title = said.get(TITLES.get(str(said.get("type")), ""))
        if isinstance(title, str):
            self.titles[str(said["type"])] = title
            if isinstance(leaf := said.get("leafUuid"), str):
                self.summaries[leaf] = title

    def _note_kept(self, about: Any) -> None:
        """Take what a compaction says of the messages that it kept."""
        match about:
            case {"preservedMessages": {"anchorUuid": str(summary), "uuids": [*names]}} if names:
                self.kept[summary] = [str(name) for name in names], False
            case {"preservedSegment": {"anchorUuid": str(summary), "headUuid": str(first), "tailUuid": str(last)}}:
                self.kept[summary] = [first, last], True

    def _resolved(self, name: str | None) -> str | None:
        seen = set()
        while name in self.alias and name not in seen:
            seen.add(name)
            name = self.alias[name]
        return name

    def session(self) -> Session:
        first = self.first or {}
        known = ("sessionId", "cwd", "version", "gitBranch", "userType")
        titles = dict(self.titles)
        for leaf, summary in self.summaries.items():
            if hash(leaf) in self.seen:  # rather than one of a line in another file
                titles["summary"] = summary
        title = next((titles[kind] for kind in TITLES if kind in titles), None)
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
    early: list[Piece] | None = []  # what comes before the session is known: a title, snapshots
    for number, raw in source.lines():
        where = f"line {number}"
        try:
            said = jsontext.loads(raw)
        except ValueError as problem:
            source.bad_line(number, problem)
            continue
        said = need_object(said, where)
        if reader.first is None and "sessionId" in said and "cwd" in said:
            reader.first = said
        pieces = reader.take(said, raw.decode("utf-8", "surrogateescape"), where)
        if early is None:
            yield from pieces
            continue
        early += pieces
        if reader.first is not None or len(early) > _EARLY_PIECES:
            yield Opening(reader.session())
            yield from early
            early = None
    last = list(reader.end())
    if early is not None:
        yield Opening(reader.session())
        yield from early
    yield from last
    yield Closing({}, reader.last or reader.last_aside, reader.session())


def _around(said: dict[str, Any]) -> dict[str, Any]:
    """Give what a line says around the content of its message."""
    extra = said.copy()
    del extra["type"]
    message = extra["message"] = said["message"].copy()
    message.pop("role", None)
    message.pop("content", None)
    extra.setdefault("parentUuid")
    extra.setdefault("timestamp")
    if said["type"] == "attachment":
        extra["attachment"] = rest(said["attachment"], "prompt")
    return extra


def _queued(said: Mapping[str, Any]) -> Any:
    """Give what a user said while the agent was at work; None of what else is attached."""
    match said.get("attachment"):
        case {"type": "queued_command", "prompt": str() | list() as prompt, **more} if prompt:
            return prompt if more.get("commandMode", "prompt") == "prompt" else None
    return None


def _answers(message: Mapping[str, Any], turn: _Turn) -> bool:
    """Tell whether a user's line holds only results of calls of the open message."""
    content = message.get("content")
    if not isinstance(content, list) or not content:
        return False
    return all(
        isinstance(block, dict) and block.get("type") == "tool_result" and text(block.get("tool_use_id")) in turn.calls
        for block in content
    )


def _is_of_call(said: Mapping[str, Any], turn: _Turn) -> bool:
    """Tell whether a user's line is what a call of the open message brought with it, as a skill brings its text."""
    name = said.get("sourceToolUseID")
    return isinstance(name, str) and name in turn.calls


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
