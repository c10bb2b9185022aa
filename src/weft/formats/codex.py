"""Codex's rollouts: ~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl, also compressed.

Append-only: a line is `{timestamp, type, payload}`, and `response_item` lines are items of the Responses API in order.
What one side says in a row is one entry here (reasoning, calls and text of an answer), as the API itself has it.
`event_msg` lines mirror the same for the screen and are not counted twice: they are kept as they are, like every other
line that is no talk. `compacted` begins the history anew, as it does for the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from weft import jsontext
from weft.blobs import BlobStore
from weft.canon import UNTIMED, Closing, Entry, Instructions, Message, Opening, Piece, Session, Stray, Transcript, thaw
from weft.errors import CodecError
from weft.formats.foreign import (
    as_uuid,
    heard,
    iso,
    line,
    moment,
    need_object,
    own_lines,
    renewed,
    rest,
    spoken,
    text,
    text_of,
)
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source
from weft.wire import CROSSING, FAITHFUL

__all__ = ["FORMAT"]

NAME = "codex"
KINDS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_DIALECT = "openai_responses"
_OURS = frozenset({"assistant", None})  # the role of items that an answer is made of: most have none
_WRITTEN_VERSION = "1.0.0"


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
        self.model: str | None = None
        self.session = Session(provider="openai")

    def take(self, said: dict[str, Any], raw: bytes, where: str) -> Iterator[Piece]:
        """Take one line; give what is finished by it."""
        payload = said.get("payload")
        match said.get("type"), payload:
            case "response_item", dict():
                side = _side(payload)
                if side != self.side:
                    yield from self.flush(where)
                    self.side = side
                self.items.append(payload)
                self.lines.append(rest(said, "type", "payload"))
            case "compacted", dict():
                yield from self.flush(where)
                yield self._stray(raw)
                self.last = None
                yield from self._again(payload, said, where)
            case kind, _:
                if kind == "turn_context" and isinstance(payload, dict) and isinstance(payload.get("model"), str):
                    if payload["model"] != self.model:
                        yield from self.flush(where)
                    self.model = payload["model"]
                stray = self._stray(raw)
                if self.items:
                    self.waiting.append(stray)
                else:
                    yield stray

    def flush(self, where: str) -> Iterator[Piece]:
        """Give the entries of the items that were collected."""
        items, lines, self.items, self.lines = self.items, self.lines, [], []
        if items:
            yield from self._entries(items, lines, where)
        waiting, self.waiting = self.waiting, []
        for stray in waiting:
            yield Stray(NAME, stray.text, self.count)

    def _entries(self, items: list[Any], lines: list[dict[str, Any]], where: str, **extra: Any) -> Iterator[Piece]:
        messages = heard(_DIALECT, items, self.shelf.store, where)
        blobs = self.shelf.taken()
        for message, own in zip(messages, _shares(messages, lines, blobs), strict=True):
            extras = {NAME: {"lines": own, **extra}} if own or extra else {}
            self.count += 1
            entry = Entry(
                str(self.count),
                renewed(message, moment((own or lines)[0].get("timestamp"))),
                () if self.last is None else (self.last,),
                self.model if message.role == "assistant" else None,
                extras=extras,
                blobs=blobs,
            )
            self.last = entry.id
            yield entry

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
            raise CodecError(f"not JSON: {problem}", where=where) from None
        if not opened:
            opened = True
            if said.get("type") == "session_meta" and isinstance(said.get("payload"), dict):
                reader.session = _session(said["payload"])
            yield Opening(reader.session)
        yield from reader.take(said, raw, where)
    if not opened:
        yield Opening(reader.session)
    yield from reader.flush("the end of the file")
    yield Closing({}, reader.last)


def _shares(messages: Sequence[Message], lines: list[dict[str, Any]], blobs: BlobStore) -> list[list[dict[str, Any]]]:
    """Give the lines of each message; all to the first where they cannot be told apart."""
    if len(messages) == 1:
        return [lines]
    counts = [len(spoken(_DIALECT, [message], blobs, FAITHFUL)) for message in messages]
    if sum(counts) != len(lines):
        return [lines, *([] for _ in messages[1:])]
    ends = list(accumulate(counts))
    return [lines[end - count : end] for count, end in zip(counts, ends, strict=True)]


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


def _encode(transcript: Transcript) -> bytes:
    """Write a rollout that Codex can resume."""
    strays = own_lines(transcript, NAME)
    out: list[bytes] = []
    own = bool(strays)
    if not own:
        out.append(line(_meta(transcript)))
    at, model = 0, ""
    for number, entry in enumerate(transcript.entries if own else transcript.linear()):
        while at < len(strays) and strays[at][0] <= number:
            out.append(strays[at][1])
            at += 1
        if not own and entry.model and entry.model != model:
            model = entry.model
            context: dict[str, Any] = {
                "cwd": transcript.session.cwd or "/",
                "approval_policy": "on-request",
                "model": model,
            }
            context |= {"sandbox_policy": {"mode": "read-only"}, "summary": "auto"}
            out.append(line({"timestamp": _time(entry), "type": "turn_context", "payload": context}))
        out += (line(said) for said in _lines(entry, own=own))
    out += (written for _, written in strays[at:])
    return b"".join(out)


def _meta(transcript: Transcript) -> dict[str, Any]:
    session = transcript.session
    name = as_uuid(session.id or "session")
    first = next((iso(entry.timestamp) for entry in transcript.entries if entry.timestamp is not None), None)
    time = iso(session.created) or first or "1970-01-01T00:00:00Z"
    instructions = None if session.instructions is None else session.instructions.system
    payload: dict[str, Any] = {
        "id": name,
        "session_id": name,
        "timestamp": time,
        "cwd": session.cwd or "/",
        "originator": "weft",
        "cli_version": _WRITTEN_VERSION,
        "source": "cli",
        "model_provider": session.provider if session.provider not in (None, "anthropic", "google") else "openai",
        "base_instructions": None if instructions is None else {"text": instructions},
    }
    return {"timestamp": time, "type": "session_meta", "payload": payload}


def _lines(entry: Entry, *, own: bool) -> Iterator[dict[str, Any]]:
    ours = entry.extras.get(NAME, {})
    if ours.get("compacted"):
        return  # it is in the `compacted` line, which is kept as it was
    message = entry.message
    policy = FAITHFUL if message.provider == "openai" else CROSSING
    kept = ours.get("lines", ())
    items = [_item(item) for item in spoken(_DIALECT, [message], entry.blobs, policy)]
    time = _time(entry)
    for number, item in enumerate(items):
        around = thaw(kept[number]) if number < len(kept) else {"timestamp": time}
        yield {**around, "type": "response_item", "payload": item}
    if not own:
        yield from _events(message, time)


def _item(item: dict[str, Any]) -> dict[str, Any]:
    """Give an item as Codex needs it: with its type, and its content as a list."""
    if "type" in item and item["type"] != "message":
        return item
    content = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return {"type": "message", **item, "content": content}


def _events(message: Message, time: str) -> Iterator[dict[str, Any]]:
    """Give the mirror for the screen: a session without a word of its user is not offered to be resumed."""
    words = text_of(message)
    kind = {"user": "user_message", "assistant": "agent_message"}.get(message.role)
    if kind and words:
        yield {"timestamp": time, "type": "event_msg", "payload": {"type": kind, "message": words}}


def _time(entry: Entry) -> str:
    return iso(entry.timestamp) or iso(UNTIMED) or "1970-01-01T00:00:00Z"


def _sniff(head: Head) -> float:
    first = head.first
    if first.get("type") == "session_meta" and "payload" in first:
        return 0.97
    return 0.9 if first.get("type") in KINDS and "payload" in first and "timestamp" in first else 0.0


FORMAT = Format(
    name=NAME,
    about="rollouts of Codex, which can resume what is written",
    carries=carrying(
        yes="timestamps model system thinking signatures calls images blocks extras",
        partial="branches title files",
    ),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    aliases=("rollout",),
    notes={
        "branches": "a history that begins anew after a compaction",
        "title": "the session's id",
        "files": "those the Responses API takes",
    },
)
