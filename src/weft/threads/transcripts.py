"""Transcripts and threads: a conversation of a file into the store with all its branches, and a thread out again.

Branches share their beginnings: every path is matched against what is stored, and only what is new is written. Doing
it again changes nothing, and a file that has grown adds what it has more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import EMPTY, Entry, Message, Session, Transcript, Usage, thaw, write_block
from weft.errors import BookmarkConflictError, UnknownBookmarkError
from weft.ids import id_time, is_turn_id
from weft.store import TurnRow
from weft.threads import importing
from weft.threads.blocks import extra_of
from weft.threads.convert import messages_from_turn

if TYPE_CHECKING:
    from weft.threads.library import Store

__all__ = ["ImportedTranscript", "import_transcript", "transcript_of"]

_USAGE = ("input_tokens", "output_tokens", "total_tokens")


@dataclass(slots=True)
class ImportedTranscript:
    """What became of a transcript: the turn each branch ends in, the names put on them, and what had no form."""

    heads: dict[str, str] = field(default_factory=dict)  # bookmark: turn id
    ends: list[str] = field(default_factory=list)
    new_turns: int = 0
    dropped: list[str] = field(default_factory=list)


def import_transcript(
    store: Store, transcript: Transcript, *, blobs: BlobStore, bookmark: str | None = None
) -> ImportedTranscript:
    """Store every branch. `bookmark` goes on the current end, and before the names that the transcript has for others.

    A name that someone has taken elsewhere since is left to them, and another is made up.
    """
    report = ImportedTranscript()
    turns: dict[str, str] = {}
    latest = store.frames.latest_turn_id() or ""
    new: set[str] = set()
    for names, path in transcript.paths():
        messages, facts, ends = [], [], []
        called: dict[str, str] = {}
        for entry in path:
            message = _storable(entry, report, called)
            messages.append(message)
            facts.append(_facts(entry))
            ends.append(entry.id)
        ids = importing.import_messages(store.frames, messages, blobs=blobs, facts=facts)
        turns.update(zip(ends, ids, strict=True))
        new.update(turn_id for turn_id in ids if turn_id > latest)  # ids only grow
        if not ids:
            continue
        report.ends.append(ids[-1])
        if bookmark is not None:
            is_current = path[-1].id == transcript.current
            wanted = [bookmark] if is_current else []
            wanted += [f"{bookmark}/{name}" for name in names]
            for name in wanted:
                report.heads[_named(store, _bookmark(name), ids[-1], turns)] = ids[-1]
    report.new_turns = len(new)
    return report


def _storable(entry: Entry, report: ImportedTranscript, called: dict[str, str]) -> Message:
    """Give a message as a turn can hold it; parts that have no form there are left out and told.

    A result is given the name of the tool that was `called`. Hints for caching stay behind: they say nothing of the
    conversation, and would make of each turn one that is like no other.
    """
    message = entry.message
    kept = []
    for p, given in enumerate(message.parts):
        part = given
        if part.type == "tool_call" and part.tool_call_id is not None and part.tool_name is not None:
            called[part.tool_call_id] = part.tool_name
        elif part.type == "tool_result" and part.tool_name is None and part.tool_call_id in called:
            part = replace(part, tool_name=called[part.tool_call_id])
        elif part.type == "annotation" and part.json is not None and "cache" in part.json:
            said = {key: value for key, value in part.json.items() if key != "cache"}
            if not said:
                continue
            part = replace(part, json=said)
        if part.type != "annotation":
            gone = part.blob is not None and not entry.blobs.has_blob(part.blob)
            block = (
                f"the bytes of this {part.type} are not there"
                if gone
                else write_block(part, entry.blobs, provider=message.provider)
            )
            if block is None or isinstance(block, str):
                report.dropped.append(f"{entry.id}.parts[{p}]: {block or f'{part.type} has no form in a turn'}")
                continue
        kept.append(part)
    return Message(message.role, kept, message.id, message.provider, None, message.timestamp)


def _facts(entry: Entry) -> dict[str, Any]:
    """Give what a turn keeps of an entry beside its content."""
    facts: dict[str, Any] = {}
    if entry.model is not None:
        facts["model"] = entry.model
    if entry.finish_reason is not None:
        facts["finish_reason"] = entry.finish_reason
    if entry.usage is not None:
        counts = {key: getattr(entry.usage, key) for key in _USAGE if getattr(entry.usage, key) is not None}
        facts["usage"] = counts or thaw(entry.usage.provider_usage)
    if entry.timestamp is not None:
        facts["timestamp"] = entry.timestamp.isoformat()
    return facts


def _bookmark(name: str) -> str:
    """Make a name that a bookmark can have."""
    name = " ".join(name.split()) or "imported"
    return f"{name}-" if is_turn_id(name) else name


def _named(store: Store, name: str, turn_id: str, turns: Mapping[str, str]) -> str:
    """Put a name on a turn; give the name it got. One that is ours (on a turn of this file) moves along."""
    for attempt in range(1, 100):
        candidate = name if attempt == 1 else f"{name}-{attempt}"
        try:
            holder = store.find(candidate)
        except UnknownBookmarkError:
            holder = None
        if holder == turn_id:
            return candidate
        ours = holder is None or holder in turns.values()
        if not ours and turn_id in {frame.id for frame in store.ctx(holder)}:
            return candidate  # continued here since: it leads to more than the file has
        if ours:
            store.set_bookmark(candidate, turn_id, move=True)
            return candidate
    raise BookmarkConflictError(f"there are a hundred bookmarks called {name!r} already")


# -- threads to transcripts ------------------------------------------------------------------------------------------


def transcript_of(store: Store, headishes: Sequence[str]) -> Transcript:
    """Give the thread that ends in a turn, or in several, as a transcript: ids, branches, names and settings kept.

    The first is the current one.
    """
    thread = store.thread(list(headishes))
    blobs = InMemoryBlobStore()
    rows = list(thread.walk.turns)
    entries: list[Entry] = []
    last: dict[str, str] = {}
    for row in rows:
        parents = tuple(last[parent] for parent in store.parent_ids(row.id) if parent in last)
        for number, message in enumerate(messages_from_turn(row, blobs)):
            entry_id = row.id if number == 0 else f"{row.id}.{number + 1}"
            entries.append(_entry(entry_id, message, parents, row, blobs))
            parents = (entry_id,)
        last[row.id] = parents[0] if parents else row.id
    known = {entry.id for entry in entries}
    heads = {row.name: last[row.id] for row in store.bookmarks() if row.id in last and last[row.id] in known}
    end = store.find(headishes[0]) if headishes else None
    current = last.get(end) if end is not None else None
    options = thread.options
    session = Session(
        id=end,
        title=headishes[0] if headishes and not is_turn_id(headishes[0]) else None,
        created=id_time(rows[0].id) if rows else None,
        extras={"context": {"options": options}} if options else EMPTY,
    )
    return Transcript(tuple(entries), session, heads, current if current in known else None)


def _entry(entry_id: str, message: Message, parents: tuple[str, ...], row: TurnRow, blobs: BlobStore) -> Entry:
    said = extra_of(row).get("message")
    about: Mapping[str, Any] = said if isinstance(said, Mapping) else EMPTY
    model, finish, usage = about.get("model"), about.get("finish_reason"), about.get("usage")
    if isinstance(said_at := about.get("timestamp"), str):
        with suppress(ValueError):  # when it was said, not when it was imported
            message = replace(message, timestamp=datetime.fromisoformat(said_at))
    counts = None
    if isinstance(usage, Mapping):
        found = {key: usage[key] for key in _USAGE if isinstance(usage.get(key), int)}
        counts = Usage(**found, provider_usage=EMPTY if usage.keys() <= found.keys() else usage)
    return Entry(
        entry_id,
        message,
        parents,
        model if isinstance(model, str) else None,
        finish if isinstance(finish, str) else None,
        counts,
        blobs=blobs,
    )
