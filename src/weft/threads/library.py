"""Store: a place that keeps threads, with everything that can be done to them.

The face of the room. What it does is decided in the modules beside it; this one gives it a name, and puts what comes
back into Turns and Threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from weft import config, jsontext
from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import Context, Message
from weft.errors import StoreBusyError, StoreError, TurnNotFoundError, UsageError
from weft.store import (
    BookmarkRow,
    Flag,
    Frame,
    FrameStore,
    Problem,
    Spot,
    StoreStats,
    ThreadRow,
    TurnRow,
    open_frames,
)
from weft.threads import append, bookmarks, forget, importing, rebuild, resolve, spool
from weft.threads.blocks import blocks_from
from weft.threads.convert import messages_from_turn
from weft.threads.diff import ThreadDiff, diff_turns
from weft.threads.documents import document_from
from weft.threads.forget import Removal
from weft.threads.headish import Headish, as_list, find, find_all, find_by_prefix
from weft.threads.overflow import Overflow, named_in
from weft.threads.searching import SearchHit, search
from weft.threads.turn import Thread, Turn

__all__ = ["Store", "open_store"]

OVERFLOW = "blobs"  # the folder, beside the database


def open_store(
    url: str | os.PathLike[str] | None = None, *, busy_seconds: float = 30.0, read_only: bool = False
) -> Store:
    """Open a store: a folder, `sqlite:///folder` or `postgresql://…`; without an address, the user's own.

    `busy_seconds` is how long a write waits while others write.
    """
    frames = open_frames(config.store_url() if url is None else url, busy_seconds=busy_seconds, read_only=read_only)
    folder = frames.folder if frames.folder is not None else config.data_folder()
    store = Store(frames, spool_folder=None if read_only else folder / "spool")
    if not read_only:
        with suppress(StoreBusyError):  # still locked: what is spooled waits for the next time
            store.unspool()
    return store


class Store:
    """Threads kept in one place. Safe to share between threads; other processes may use the same place."""

    def __init__(self, frames: FrameStore, *, spool_folder: Path | None = None) -> None:
        """Put a face on a store of frames. What cannot be written in time is kept in `spool_folder`."""
        self.frames = frames
        self._spool = spool_folder

    def __repr__(self) -> str:
        return f"<Store {self.frames.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and connections."""
        self.frames.close()

    # -- adding ----------------------------------------------------------------------------------------------

    def add_turn(self, content: Any, meta: Mapping[str, Any] | None = None, **parameters: Any) -> Turn:
        """Store a turn and give it back; no model is called.

        `content` is a text, a list of texts, or with json=True blocks. Parameters, by name or in `meta`: continues,
        respond, servers, search, bookmark, provider_ptr, tool_mode, json, cache, role, move_bookmark.
        """
        if meta:
            if twice := meta.keys() & parameters.keys():
                raise UsageError(f"given twice: {', '.join(sorted(twice))}")
            parameters = {**meta, **parameters}
        return self.add(append.addition_from(content, **parameters))

    def add(self, addition: append.Addition) -> Turn:
        """Store a turn that was put together by other means: a reply with its `message`, a document."""
        try:
            stored = self.frames.write(lambda writer: append.add(writer, addition))
        except StoreBusyError as error:
            raise self._spooled(addition, error) from error
        return Turn(self, stored.id, stored.hash, stored.meta)

    def document(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        cache: bool = False,
        bookmark: str | None = None,
        *,
        move_bookmark: bool = False,
    ) -> Turn:
        """Store a file as a turn; continue from it to use it."""
        addition = document_from(path, name=name, cache=cache, bookmark=bookmark)
        addition.move_bookmark = move_bookmark
        return self.add(addition)

    def import_messages(
        self,
        messages: Iterable[Message | Mapping[str, Any]] | Context,
        *,
        parent: Headish | None = None,
        blobs: BlobStore | None = None,
        bookmark: str | None = None,
    ) -> list[Turn]:
        """Store messages as a chain of turns, using those again that are there already."""
        if isinstance(messages, Context):
            blobs = blobs or messages.blob_store
            messages = messages.messages
        ids = importing.import_messages(self.frames, messages, parent=parent, blobs=blobs, bookmark=bookmark)
        return self.turns(ids)

    def import_frames(self, frames: Iterable[tuple[Mapping[str, Any], bytes | None]]) -> int:
        """Take in whole frames of another store, ids included; give how many were new."""
        return importing.import_frames(self.frames, frames)

    def _spooled(self, addition: append.Addition, error: StoreBusyError) -> StoreError:
        if self._spool is None:
            return error
        path = spool.put(self._spool, addition)
        return StoreBusyError(
            f"{error}; what was said is kept in {path} and will be added when the store is next opened"
        )

    def unspool(self) -> int:
        """Add what could not be written earlier because the store was locked; give how many turns."""
        if self._spool is None:
            return 0
        return spool.take_in(self._spool, lambda addition: self.frames.write(lambda tx: append.add(tx, addition)))

    # -- finding ---------------------------------------------------------------------------------------------

    def find(self, headish: Headish, *, prefix: bool = False) -> str:
        """Give the id of the turn a headish names; with `prefix`, the beginning of an id will do."""
        return (find_by_prefix if prefix else find)(self.frames, headish).id

    def turn(self, headish: Headish) -> Turn:
        """Give one turn, by id or bookmark."""
        return self._turn(self.frame(find(self.frames, headish).id))

    def turns(self, ids: Sequence[str]) -> list[Turn]:
        """Give several turns by id, in order."""
        found = self.frames.frames(ids)
        for turn_id, frame in zip(ids, found, strict=True):
            if frame is None:
                raise TurnNotFoundError(f"no turn has the id {turn_id}")
        return [self._turn(frame) for frame in found if frame is not None]

    def thread(
        self,
        headish: Headish | Sequence[Headish] | None = None,
        *,
        order: resolve.Order = "chronological",
        on_gap: resolve.OnGap = "raise",
    ) -> Thread:
        """Give the thread that ends in a turn, or in several; without one, in the newest turn."""
        return Thread(self, self._spots(headish), order, on_gap)

    def latest(self) -> Turn | None:
        """Give the newest turn of the store."""
        latest = self.frames.latest_turn_id()
        return None if latest is None else self._turn(self.frame(latest))

    def log(self, limit: int = 50, before: str | None = None) -> list[Turn]:
        """List turns of the whole store, newest first."""
        return [self._turn(frame) for frame in self.frames.turns_before(before, limit)]

    def threads(self, limit: int = 50, before: str | None = None) -> list[ThreadRow]:
        """List ends of threads, newest first, with their turns, bytes and models."""
        return self.frames.tips(before, limit)

    def search(
        self,
        query: str,
        *,
        role: str | None = None,
        model: str | None = None,
        bookmark: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: str | None = None,
        limit: int = 20,
    ) -> list[SearchHit]:
        """Find turns by text, tool arguments and tool results, newest first; words, "phrases", and beginnings*."""
        return search(
            self.frames,
            query,
            role=role,
            model=model,
            bookmark=bookmark,
            since=since,
            until=until,
            before=before,
            limit=limit,
        )

    def frame(self, frame_id: str) -> Frame:
        """Give a whole frame of any topic by id."""
        frame = self.frames.frames([frame_id.lower()])[0]
        if frame is None:
            raise TurnNotFoundError(f"no frame has the id {frame_id}")
        return frame

    def row(self, turn_id: str) -> TurnRow:
        """Give a turn's row with its payload."""
        found = self.frames.rows([turn_id])
        if not found:
            raise TurnNotFoundError(f"no turn has the id {turn_id}")
        return found[0]

    def parent_ids(self, turn_id: str) -> list[str]:
        """Give the ids of the turns a turn continues, names in `continues` resolved."""
        return self.frames.parent_ids(turn_id)

    def _turn(self, frame: Frame) -> Turn:
        return Turn(self, frame.id, frame.hash, frame.meta)

    # -- views (spec/threads.md, section 7) ------------------------------------------------------------------

    def ctx(self, headish: Headish | Sequence[Headish] | None = None) -> list[Frame]:
        """Walk a thread and give its frames as they are, newest first."""
        return resolve.raw(self.frames, self._spots(headish))

    def list(
        self, headish: Headish | Sequence[Headish] | None = None, *, order: resolve.Order = "chronological"
    ) -> list[dict[str, Any]]:
        """Give a thread's records, oldest first."""
        return self.thread(headish, order=order).records()

    def resolve(
        self, headish: Headish | Sequence[Headish] | None = None, *, order: resolve.Order = "chronological"
    ) -> dict[str, Any]:
        """Give a thread's messages and merged options."""
        spots = self._spots(headish)
        if len(spots) == 1 and spots[0].flags & Flag.LINEAR:
            resolved = resolve.resolve_chain(self.frames, spots[0])
            if resolved is not None:
                return resolved
        return Thread(self, spots, order).resolve()

    def context(self, headish: Headish | Sequence[Headish] | None = None) -> Context:
        """Give a thread as a canonical Context."""
        return self.thread(headish).context()

    def context_of(self, turns: Sequence[TurnRow]) -> Context:
        """Give walked turns as a canonical Context [R-6]."""
        blobs = InMemoryBlobStore()
        return Context(
            messages=tuple(message for turn in turns for message in messages_from_turn(turn, blobs)), blob_store=blobs
        )

    def _spots(self, headish: Headish | Sequence[Headish] | None) -> Sequence[Spot]:
        if headish is None:
            latest = self.frames.latest_turn_id()
            return [] if latest is None else find_all(self.frames, [latest])
        return find_all(self.frames, as_list(headish))

    # -- bookmarks -------------------------------------------------------------------------------------------

    def bookmarks(self) -> Sequence[BookmarkRow]:
        """List bookmarks: name, turn id, number of turns; newest first."""
        return self.frames.bookmarks()

    def set_bookmark(self, name: str, headish: Headish, *, move: bool = False) -> Turn:
        """Put a name on a turn; one that is elsewhere is moved only if asked."""
        return self.turn(bookmarks.set_bookmark(self.frames, name, headish, move=move))

    def delete_bookmark(self, name: str) -> Turn:
        """Take a name away; give the turn it was on."""
        return self.turn(bookmarks.delete_bookmark(self.frames, name))

    def rename_bookmark(self, old: str, new: str) -> Turn:
        """Give a bookmark another name."""
        return self.turn(bookmarks.rename_bookmark(self.frames, old, new))

    # -- changing the middle of a thread -----------------------------------------------------------------------

    def edit(
        self,
        headish: Headish,
        content: Any,
        *,
        json: bool = False,
        end: Headish | None = None,
        bookmark: str | None = None,
    ) -> Turn:
        """Put other content into one turn: a new chain with all after it, the old one kept; give the new end.

        What comes after is followed to `end`, else to the turn's bookmark or the newest end. The thread's bookmark
        moves to the new chain, unless that gets a `bookmark` of its own.
        """
        blocks = blocks_from(content, is_json=json)
        return self.turn(rebuild.edit(self.frames, headish, blocks, end=end, bookmark=bookmark))

    def drop(self, headish: Headish, *, end: Headish | None = None, bookmark: str | None = None) -> Turn:
        """Leave one turn out of a thread, in a new chain; give the new end."""
        return self.turn(rebuild.drop(self.frames, headish, end=end, bookmark=bookmark))

    def merge(
        self,
        *headishes: Headish,
        content: str | None = None,
        bookmark: str | None = None,
        move_bookmark: bool = False,
    ) -> Turn:
        """Join threads in a turn that continues all of them; without content it adds no message."""
        payload = None if content is None else jsontext.dumps(blocks_from(content, is_json=False))
        stored = rebuild.merge(self.frames, headishes, content=payload, bookmark=bookmark, move_bookmark=move_bookmark)
        return Turn(self, stored.id, stored.hash, stored.meta)

    def branch(self, name: str, headish: Headish) -> Turn:
        """Start a new name at a turn; what continues the name carries it on."""
        return self.set_bookmark(name, headish)

    def diff(self, left: Headish, right: Headish) -> ThreadDiff:
        """Compare two threads: turns, options, tools."""
        mine, other = self.thread(left), self.thread(right)
        return diff_turns(mine.walk.turns, other.walk.turns, mine.options, other.options)

    # -- removing --------------------------------------------------------------------------------------------

    def rm(self, headish: Headish, *, with_rest: bool = False, dry_run: bool = False) -> Removal:
        """Remove the end of a thread, back to where something else needs it."""
        return forget.rm(self.frames, headish, with_rest=with_rest, dry_run=dry_run)

    def gc(self, *, unnamed_before: datetime | None = None, dry_run: bool = False) -> Removal:
        """Sweep files no turn names; if a time is given, also older turns that no bookmark leads to."""
        gone = forget.gc(self.frames, unnamed_before=unnamed_before, dry_run=dry_run)
        count, size = self.overflow.sweep(self, dry_run=dry_run)
        return replace(gone, files=gone.files + count, bytes=gone.bytes + size)

    def purge(self, *, text: str | None = None, turn: Headish | None = None) -> Removal:
        """Forget a text wherever it is, or what a turn says: gone from pages, logs, files and search."""
        if (text is None) == (turn is None):
            raise UsageError("purge takes a text or a turn")
        if turn is not None:
            said = self.frames.rows([find(self.frames, turn).id])[0].data
            whole = named_in(self.turn(turn).content)
            gone = forget.purge_turn(self.frames, turn)
            change = None if said is None else forget.change_of_payload(said)
        else:
            gone = forget.purge_text(self.frames, text or "")
            change = forget.change_of_text(text or "")
            whole = set(self.overflow.holding(text or ""))
        self.overflow.forget(whole)
        waiting = [] if self._spool is None or change is None else spool.rewrite(self._spool, change)
        return replace(gone, turns=(*gone.turns, *waiting))

    # -- care ------------------------------------------------------------------------------------------------

    def stats(self) -> StoreStats:
        """Count what is kept."""
        return self.frames.stats()

    @property
    def overflow(self) -> Overflow:
        """What tools gave that was too long for a turn; for a store on a server, in this user's own data folder."""
        folder = self.frames.folder if self.frames.folder is not None else config.data_folder()
        return Overflow(folder / OVERFLOW)

    def fsck(self) -> Sequence[Problem]:
        """Look for damage, in long results of tools too; an empty list is a clean bill."""
        return [*self.frames.check(), *self.overflow.check()]

    def backup(self, target: str | os.PathLike[str]) -> None:
        """Copy the store, as of one moment, while others write."""
        self.frames.backup(Path(target))
        self.overflow.copy_to(Path(target) / OVERFLOW)
