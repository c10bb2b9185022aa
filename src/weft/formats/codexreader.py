"""Reading Codex's rollouts: ~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl, also compressed.

Append-only: a line is `{timestamp, type, payload}`, and `response_item` lines are items of the Responses API in order.
What one side says in a row is one entry here (reasoning, calls and text of an answer), as the API itself has it.
`event_msg` lines mirror the same for the screen and are not counted twice: they are kept as they are, like every other
line that is no talk. Some say more: tokens are those of the answer they stand at, `thread_rolled_back` goes back by so
many turns of the user (what follows is another branch). A message of another agent is an entry of its own. `compacted`
begins the history anew, as it does for the model. Before September 2025 items stood bare on their lines, after a header
without a type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from weft import jsontext
from weft.blobs import BlobStore
from weft.canon import (
    Closing,
    Entry,
    Instructions,
    Message,
    Opening,
    Part,
    Piece,
    Session,
    Stray,
)
from weft.formats.foreign import (
    heard,
    moment,
    need_object,
    renewed,
    rest,
    spoken,
    text,
    text_of,
    unknown,
)
from weft.formats.rollouttokens import Tally
from weft.formats.source import Shelf, Source
from weft.wire import FAITHFUL

__all__ = ["DIALECT", "HEADER", "NAME", "read"]

NAME = "codex"
DIALECT = "openai_responses"
_BARE = ("message", "reasoning")  # of the items that older files have bare; the others end in _call or _output
HEADER = {"id", "timestamp", "instructions", "git"}  # of older files
# What Codex itself tells the model in the user's name: no turn of the user's.
_CONTEXT = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|agents_instructions|multiagent_context"
    r"|skill|user_shell_command|turn_aborted|subagent_notification|goal_context|hook_prompt)\b)",
    re.IGNORECASE,
)


class _Reader:
    """The state of reading one file: the items that are one entry, and what is known of the session."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.items: list[Any] = []
        self.lines: list[dict[str, Any]] = []
        self.waiting: list[Stray] = []  # lines between items of one entry come after it
        self.side = ""
        self.count = 0
        self.last: str | None = None
        self.turns: list[str | None] = []  # what came before each turn of the user's, on the branch that goes on
        self.model: str | None = None
        self.tally = Tally()
        self.session = Session(provider="openai")

    def take(self, said: dict[str, Any], raw: bytes, where: str) -> Iterator[Piece]:
        """Take one line; give what is finished by it."""
        payload = said.get("payload")
        match said.get("type"), payload:
            case "response_item", dict() if payload.get("type") == "agent_message":
                yield from self._letter("agent_message", payload, rest(said, "type", "payload"), where)
            case "inter_agent_communication", dict():
                yield from self._letter("inter_agent_communication", payload, rest(said, "type", "payload"), where)
            case "response_item", dict():
                yield from self._item(payload, rest(said, "type", "payload"), where)
            case str(kind), None if kind in _BARE or kind.endswith(("_call", "_output")):
                yield from self._item(said, {"bare": True}, where)
            case "compacted", dict():
                yield from self.flush(where)
                yield self._stray(raw)
                self.last, self.turns = None, []
                yield from self._again(payload, said, where)
            case "event_msg", {"type": "thread_rolled_back", "num_turns": int(turns)}:
                yield from self.flush(where)
                yield self._stray(raw)
                if turns > 0 and self.turns:
                    self.last = self.turns[-min(turns, len(self.turns))]
                    del self.turns[-turns:]
            case kind, _:
                if kind == "turn_context" and isinstance(payload, dict) and isinstance(payload.get("model"), str):
                    if payload["model"] != self.model:
                        yield from self.flush(where)
                    self.model = payload["model"]
                if isinstance(payload, dict):
                    self.tally.hear(kind, payload)
                    if payload.get("type") == "thread_name_updated":
                        self.session = replace(self.session, title=text(payload.get("thread_name")))
                stray = self._stray(raw)
                if self.items:
                    self.waiting.append(stray)
                else:
                    yield stray

    def _item(self, item: dict[str, Any], around: dict[str, Any], where: str) -> Iterator[Piece]:
        side = _side(item)
        if side != self.side:
            yield from self.flush(where)
            self.side = side
        self.items.append(item)
        self.lines.append(around)

    def _letter(self, kind: str, payload: dict[str, Any], around: dict[str, Any], where: str) -> Iterator[Piece]:
        """Give what another agent wrote to this one."""
        yield from self.flush(where)
        self.side = "agent"
        content = payload.get("content")
        blocks = content if isinstance(content, list) else [{"type": "input_text", "text": content}] if content else []
        parts = [_part(block) for block in blocks]
        self.turns.append(self.last)
        extras = {NAME: {"lines": [around], "letter": {"kind": kind, **rest(payload, "type", "content")}}}
        yield self._entry(Message("user", parts), around, extras)

    def _entry(self, message: Message, around: Mapping[str, Any], extras: dict[str, Any], **facts: Any) -> Entry:
        self.count += 1
        above = () if self.last is None else (self.last,)
        self.last = str(self.count)
        return Entry(self.last, renewed(message, moment(around.get("timestamp"))), above, extras=extras, **facts)

    def flush(self, where: str) -> Iterator[Piece]:
        """Give the entries of the items that were collected."""
        items, lines, self.items, self.lines = self.items, self.lines, [], []
        if items:
            yield from self._entries(items, lines, where)
        waiting, self.waiting = self.waiting, []
        for stray in waiting:
            yield Stray(NAME, stray.text, self.count)

    def _entries(self, items: list[Any], lines: list[dict[str, Any]], where: str, **extra: Any) -> Iterator[Piece]:
        messages = heard(DIALECT, items, self.shelf.store, where)
        blobs = self.shelf.taken()
        for message, own in zip(messages, _shares(messages, lines, blobs), strict=True):
            extras = {NAME: {"lines": own, **extra}} if own or extra else {}
            is_answer = message.role == "assistant"
            if message.role == "user" and not _CONTEXT.match(text_of(message)):
                self.turns.append(self.last)
            yield self._entry(
                message,
                (own or lines)[0],
                extras,
                model=self.model if is_answer else None,
                usage=self.tally.taken() if is_answer and not extra else None,
                blobs=blobs,
            )

    def _again(self, payload: Mapping[str, Any], said: Mapping[str, Any], where: str) -> Iterator[Piece]:
        """Give the history that a compaction put in the place of the old one."""
        history = payload.get("replacement_history")
        if not isinstance(history, list):
            summary = payload.get("message")
            history = [{"type": "message", "role": "user", "content": str(summary)}] if summary else []
        batch: list[Any] = []
        for item in (*history, None):
            if batch and (item is None or _side(item) != _side(batch[0])):
                yield from self._entries(batch, [{"timestamp": said.get("timestamp")}], where, compacted=True)
                batch = []
            batch.append(item)

    def _stray(self, raw: bytes) -> Stray:
        return Stray(NAME, raw.decode("utf-8", "surrogateescape"), self.count)


def read(source: Source) -> Iterator[Piece]:
    """Read a rollout."""
    reader = _Reader()
    opened = False
    for number, raw in source.lines():
        where = f"line {number}"
        try:
            said = need_object(jsontext.loads(raw), where)
        except ValueError as problem:
            source.bad_line(number, problem)
            continue
        if not opened:
            opened = True
            if said.get("type") == "session_meta" and isinstance(said.get("payload"), dict):
                reader.session = _session(said["payload"])
            elif "type" not in said:
                reader.session = _session({"base_instructions": said.get("instructions"), **said})
            yield Opening(reader.session)
        yield from reader.take(said, raw, where)
    if not opened:
        yield Opening(reader.session)
    yield from reader.flush("the end of the file")
    yield Closing({}, reader.last, reader.session if reader.session.title else None)


def _shares(messages: Sequence[Message], lines: list[dict[str, Any]], blobs: BlobStore) -> list[list[dict[str, Any]]]:
    """Give the lines of each message; all to the first where they cannot be told apart."""
    if len(messages) == 1:
        return [lines]
    counts = [len(spoken(DIALECT, [message], blobs, FAITHFUL)) for message in messages]
    if sum(counts) != len(lines):
        return [lines, *([] for _ in messages[1:])]
    ends = list(accumulate(counts))
    return [lines[end - count : end] for count, end in zip(counts, ends, strict=True)]


def _part(block: Any) -> Part:
    match block:
        case {"type": "input_text", "text": str(words)} if len(block) == len(("type", "text")):
            return Part("text", words)
    return unknown(NAME, block)


def _side(item: Any) -> str:
    """Tell who said an item; results of tools are the client's, everything else without a role the model's."""
    if not isinstance(item, dict):
        return "unknown"
    kind = str(item.get("type", "message"))
    if kind == "message":
        return str(item.get("role"))
    return "tool" if kind.endswith("_output") else "assistant"


def _session(meta: Mapping[str, Any]) -> Session:
    instructions = meta.get("base_instructions")
    told = text(instructions.get("text") if isinstance(instructions, dict) else instructions)
    created = moment(meta.get("timestamp"))
    return Session(
        id=text(meta.get("id")),
        created=created,
        cwd=text(meta.get("cwd")),
        provider=text(meta.get("model_provider")) or "openai",
        instructions=None if told is None else Instructions(told),
    )
