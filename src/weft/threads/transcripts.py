"""Transcripts and threads: a conversation of a file into the store with all its branches, and a thread out again.

Branches share their beginnings: every path is matched against what is stored, and only what is new is written. Doing
it again changes nothing, and a file that has grown adds what it has more.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import EMPTY, Entry, Message, Session, Transcript, Usage, thaw, write_block
from weft.ids import id_time, is_turn_id
from weft.store import FrameReader, FrameWriter, TurnRow
from weft.threads import importing
from weft.threads.blocks import extra_of
from weft.threads.convert import messages_from_turn
from weft.threads.naming import Naming

if TYPE_CHECKING:
    from weft.threads.library import Store

__all__ = ["ImportedTranscript", "Incoming", "import_transcript", "import_transcripts", "transcript_of"]

_NAME_CHARS = 200
_UNSEEN = ("Cc", "Cs")  # control characters, and halves of what is one in UTF-16
_USAGE = ("input_tokens", "output_tokens", "total_tokens")


@dataclass(slots=True)
class ImportedTranscript:
    """What became of a transcript: the turn each branch ends in, the names put on them, and what had no form."""

    heads: dict[str, str] = field(default_factory=dict)  # bookmark: turn id
    ends: list[str] = field(default_factory=list)
    new_turns: int = 0
    dropped: list[str] = field(default_factory=list)


class Incoming(NamedTuple):
    """A transcript to be stored. `bookmark` goes on its current end, and before the names it has for others."""

    transcript: Transcript
    blobs: BlobStore
    bookmark: str | None = None


def import_transcript(
    store: Store, transcript: Transcript, *, blobs: BlobStore, bookmark: str | None = None
) -> ImportedTranscript:
    """Store every branch of a transcript."""
    return import_transcripts(store, [Incoming(transcript, blobs, bookmark)])[0]


def import_transcripts(store: Store, given: Sequence[Incoming]) -> list[ImportedTranscript]:
    """Store every branch of each, all in one write, or nothing: an export of thousands waits for the disk a few times.

    A name that someone has taken elsewhere since is left to them, and another is made up.
    """
    ready = [_Ready.of(each) for each in given]
    if all(each.is_stored(store.frames) for each in ready):
        return [each.report for each in ready]

    def write(writer: FrameWriter) -> list[ImportedTranscript]:
        naming = Naming(writer)
        return [each.write(writer, naming) for each in ready]

    return store.frames.write(write)


@dataclass(slots=True)
class _Ready:
    """A transcript whose branches only have to be written."""

    given: Incoming
    branches: list[tuple[tuple[str, ...], str, importing.Chain]]  # names, the last entry, and all of it
    dropped: list[str]
    report: ImportedTranscript

    @classmethod
    def of(cls, given: Incoming) -> _Ready:
        dropped: list[str] = []
        branches = []
        known: dict[tuple[int, str], tuple[int, importing.Chain]] = {}  # by all that came before: branches share that
        for names, path in given.transcript.paths():
            called: dict[str, str] = {}
            at, turns = 0, []
            for entry in path:
                called |= _called_by(entry)
                if (at, entry.id) not in known:
                    message = _storable(entry, dropped, called)
                    turn = importing.prepared([message], given.blobs, [_facts(entry)])
                    known[at, entry.id] = len(known) + 1, turn
                at, turn = known[at, entry.id]
                turns.append(turn)
            branches.append((names, path[-1].id, importing.joined(turns)))
        return cls(given, branches, dropped, ImportedTranscript(dropped=dropped))

    def is_stored(self, reader: FrameReader) -> bool:
        """Tell whether there is nothing to write; then the report is made."""
        report = ImportedTranscript(dropped=self.dropped)
        for names, end, chain in self.branches:
            ids = importing.stored(reader, chain)
            if ids is None:
                return False
            if ids:
                report.ends.append(ids[-1])
            for name in self._wanted(names, end) if ids else ():
                holder = reader.bookmark_spot(name)
                if holder is None or holder.id != ids[-1]:
                    return False
                report.heads[name] = ids[-1]
        self.report = report
        return True

    def write(self, writer: FrameWriter, naming: Naming) -> ImportedTranscript:
        """Write what is not there yet."""
        report = ImportedTranscript(dropped=self.dropped)
        turns: set[str] = set()
        new: set[str] = set()
        latest = writer.latest_turn_id() or ""
        for names, end, chain in self.branches:
            ids = importing.add_chain(writer, chain)
            turns.update(ids)
            new.update(turn_id for turn_id in ids if turn_id > latest)  # ids only grow
            if ids:
                report.ends.append(ids[-1])
            for name in self._wanted(names, end) if ids else ():
                report.heads[naming.name(name, ids[-1], turns, is_new=ids[-1] in new)] = ids[-1]
        report.new_turns = len(new)
        return report

    def _wanted(self, names: Sequence[str], end: str) -> list[str]:
        """Give the bookmarks that the end of a branch is to have."""
        bookmark = self.given.bookmark
        if bookmark is None:
            return []
        is_current = end == self.given.transcript.current
        return [_bookmark(each) for each in (*([bookmark] if is_current else ()), *(f"{bookmark}/{n}" for n in names))]


def _storable(entry: Entry, dropped: list[str], called: Mapping[str, str]) -> Message:
    """Give a message as a turn can hold it; parts that have no form there are left out and told.

    A result is given the name of the tool that was `called`. Hints for caching stay behind: they say nothing of the
    conversation, and would make of each turn one that is like no other.
    """
    message = entry.message
    kept = []
    for p, given in enumerate(message.parts):
        part = given
        if part.type == "tool_result" and part.tool_name is None:
            part = replace(part, tool_name=called.get(part.tool_call_id or ""))
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
                dropped.append(f"{entry.id}.parts[{p}]: {block or f'{part.type} has no form in a turn'}")
                continue
        kept.append(part)
    return Message(message.role, kept, message.id, message.provider, None, message.timestamp)


def _called_by(entry: Entry) -> dict[str, str]:
    """Give the tools that an entry calls, by the ids of the calls."""
    return {
        part.tool_call_id: part.tool_name
        for part in entry.message.parts
        if part.type == "tool_call" and part.tool_call_id is not None and part.tool_name is not None
    }


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
    """Make a name that a bookmark can have, whatever a title is; it may get a number yet."""
    seen = "".join(" " if unicodedata.category(letter) in _UNSEEN else letter for letter in name)
    name = " ".join(seen.split())[:_NAME_CHARS].rstrip() or "imported"
    return f"{name}-" if is_turn_id(name) else name


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
