"""What a store of frames is: the rows, and the protocol every backend keeps.

A frame is one entry of the append-only log: topic, id, content hash, meta. Turns are the frames of one topic, and for
them the store also keeps who continues whom, so that a whole thread is one query. Which turn comes next, what a
bookmark may do and how options merge is decided in `weft.threads`; this room only keeps and finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

__all__ = [
    "TURN",
    "BookmarkRow",
    "Columns",
    "Draft",
    "Flag",
    "Frame",
    "FrameReader",
    "FrameStore",
    "FrameWriter",
    "Hit",
    "Link",
    "Problem",
    "Query",
    "Spot",
    "StoreStats",
    "ThreadRow",
    "TurnRow",
]

TURN = "gpt.turn"
_T = TypeVar("_T")


class Flag:
    """What a row says about its turn, in one small number. Plain ints: every turn of every walk is asked."""

    CACHE: Final = 1  # flagged for the provider's cache
    JSON: Final = 2  # the payload is a JSON list of blocks
    DOCUMENT: Final = 4  # the payload is a file
    LINEAR: Final = 8  # every ancestor has at most one parent, and all of them are there
    VERBATIM: Final = 16  # `extra` is the whole meta as it came; otherwise only what the columns do not say
    MANY: Final = 32  # there are more parents than the first
    BROKEN: Final = 64  # a parent is missing, or was named by a bookmark (see `refs`)
    FILE: Final = 128  # the payload is a file in the content folder
    NO_OPTIONS: Final = 256  # meta has no `options` key
    NO_CONTINUES: Final = 512  # meta has no `continues` key


@dataclass(frozen=True, slots=True)
class Frame:
    """One entry of the log, as callers see it."""

    topic: str
    id: str
    hash: str | None
    meta: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Give the frame as plain JSON data: topic, id, hash, meta."""
        return {"topic": self.topic, "id": self.id, "hash": self.hash, "meta": self.meta}


class Columns(NamedTuple):
    """What a turn's meta says, in the form it is stored."""

    role: str
    options: str | None
    head: str | None
    flags: int
    extra: str | None


@dataclass(slots=True)
class Draft:
    """A frame about to be appended. `parents` are the turns it continues, looked up in the same transaction.

    `refs` are entries of `continues` that lead nowhere (yet) or are bookmark names, by position; only imported frames
    have them. `id` is given only for frames that bring their own.
    """

    topic: str
    meta: dict[str, Any]
    payload: bytes | None = None
    parents: Sequence[Spot] = ()
    refs: Sequence[tuple[int, str]] = ()
    id: str | None = None
    columns: Columns | None = None  # what `meta` comes to, when the caller knows already


class Spot(NamedTuple):
    """Where a turn stands in the store: what is needed to continue it."""

    seq: int
    id: str
    topic: str
    flags: int
    root: int
    depth: int
    bytes: int
    models: int
    head: str | None
    head_is_kept: bool  # False when the bookmark of that name was deleted since


class TurnRow(NamedTuple):
    """One turn of a walk, with its payload. `parent` and `more` (positions 1 and on) are sequence numbers."""

    seq: int
    id: str
    role: str
    options: str | None
    flags: int
    extra: str | None
    head: str | None
    hash: bytes | None
    data: bytes | None
    parent: int | None


class Link(NamedTuple):
    """One entry of `continues` beyond the first plain parent: where it leads, or what it says."""

    child: int
    position: int
    parent: int | None
    ref: str | None


class BookmarkRow(NamedTuple):
    """A name, the turn it points at, and how many turns that turn's thread has."""

    name: str
    id: str
    depth: int


class ThreadRow(NamedTuple):
    """One end of a thread: the last turn of a branch, with what is known of everything before it."""

    id: str
    root_id: str
    turns: int
    size_bytes: int
    models: tuple[str, ...]
    head: str | None


class Hit(NamedTuple):
    """One turn that a search found, with the text that was searched."""

    id: str
    role: str
    head: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for: all `words` (a trailing * is a beginning), all `phrases`, and the filters."""

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    role: str | None = None
    model: str | None = None
    bookmark: str | None = None
    since_id: str | None = None
    until_id: str | None = None
    before_id: str | None = None  # of the last hit of the page before


class Problem(NamedTuple):
    """Something `check` found: a short kind, the frame or hash it is about, and the whole sentence."""

    kind: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class StoreStats:
    """How much is kept."""

    frames: int
    turns: int
    threads: int
    bookmarks: int
    payloads: int
    payload_bytes: int
    disk_bytes: int
    backend: str
    version: int
    details: dict[str, Any] = field(default_factory=dict)


class FrameReader(Protocol):
    """Everything that can be asked; also inside a write, where the answers are of that transaction."""

    def latest_turn_id(self) -> str | None:
        """Give the id of the newest turn."""
        ...

    def spots(self, ids: Sequence[str]) -> list[Spot | None]:
        """Find turns by id, in the order asked for."""
        ...

    def spots_at(self, seqs: Sequence[int]) -> list[Spot]:
        """Find turns by sequence number, in the order asked for; those that are not there are left out."""
        ...

    def matching_chain(self, parent: int | None, wanted: Sequence[tuple[str, bytes]]) -> list[int]:
        """Find turns already there that continue `parent` with these roles and content digests, as far as they go."""
        ...

    def bookmark_spot(self, name: str, *, before_id: str | None = None) -> Spot | None:
        """Find the turn a bookmark points at, or pointed at before a turn was written."""
        ...

    def bookmarks(self) -> list[BookmarkRow]:
        """List the bookmarks, newest turn first."""
        ...

    def ids_with_prefix(self, prefix: str, limit: int) -> list[str]:
        """List turn ids that begin so, oldest first."""
        ...

    def descends(self, starts: Sequence[int], ancestor: int) -> bool:
        """Tell whether `ancestor` is one of the turns, or an ancestor of one."""
        ...

    def walk(self, starts: Sequence[Spot]) -> list[TurnRow]:
        """Fetch every turn reachable from `starts` with its payload, in one query and no particular order."""
        ...

    def links(self, seqs: Sequence[int]) -> list[Link]:
        """Give the second and further parents, and the unresolved ones, of some turns, by child and position."""
        ...

    def frames(self, ids: Sequence[str]) -> list[Frame | None]:
        """Fetch whole frames of any topic by id, in the order asked for."""
        ...

    def rows(self, ids: Sequence[str]) -> list[TurnRow]:
        """Fetch turns by id with their payloads, in the order asked for; those that are not there are left out."""
        ...

    def parent_ids(self, turn_id: str) -> list[str]:
        """Give the ids of the turns a turn continues, in order, names resolved."""
        ...

    def payload(self, address: str) -> bytes:
        """Give the bytes of a content address, verified."""
        ...


class FrameWriter(FrameReader, Protocol):
    """What can be done inside one write."""

    def append(self, draft: Draft) -> tuple[str, int, bytes | None]:
        """Add a frame under a new id above every other; give its id, sequence number and digest."""
        ...

    def point_bookmark(self, name: str, seq: int | None) -> None:
        """Make a bookmark point at a turn, or at nothing."""
        ...

    def note(self, name: str, value: str) -> None:
        """Keep a fact about the store as a whole."""
        ...

    def every_frame(self) -> Iterable[tuple[int, str, dict[str, Any], bytes | None]]:
        """Go through (seq, id, meta, payload) of all frames, oldest first: only for forgetting."""
        ...

    def unresolved(self) -> list[Link]:
        """List every entry of `continues` that is a bookmark name or leads nowhere."""
        ...

    def relink(self, link: Link) -> None:
        """Store where an unresolved entry leads now."""
        ...

    def remove(self, seqs: Sequence[int]) -> None:
        """Take turns out of the log; no turn that stays may continue them."""
        ...

    def rewrite(self, seq: int, payload: bytes | None, meta: dict[str, Any]) -> None:
        """Put other content into a frame: only for forgetting (`purge`)."""
        ...


class FrameStore(FrameReader, Protocol):
    """A store of frames: SQLite or PostgreSQL, told apart by nothing but their address."""

    url: str

    @property
    def folder(self) -> Path | None:
        """Where files beside the database may go; None for a server."""
        ...

    def write(self, work: Callable[[FrameWriter], _T]) -> _T:
        """Run `work` alone in the store, all of it or nothing. When this returns, it is on disk.

        `work` may be run again if the server went away before the commit, so it must not do anything else.
        """
        ...

    def chain(self, spot: Spot) -> Iterator[TurnRow]:
        """Go through the turns of a plain chain (`Flag.LINEAR`) from its end, one at a time."""
        ...

    def frames_of(self, topic: str, *, after_id: str | None = None, limit: int | None = None) -> list[Frame]:
        """List frames of a topic, oldest first."""
        ...

    def newest_frame(self, topic: str) -> Frame | None:
        """Give the newest frame of a topic."""
        ...

    def newest_frames(self, topic: str, limit: int) -> list[Frame]:
        """List frames of a topic other than turns, newest first."""
        ...

    def turns_before(self, before_id: str | None, limit: int) -> list[Frame]:
        """List turns, newest first, of the whole store."""
        ...

    def tips(self, before_id: str | None, limit: int) -> list[ThreadRow]:
        """List ends of threads (turns nobody continues), newest first."""
        ...

    def children(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """List (parent, child) pairs of ids for every turn that continues one of `ids`."""
        ...

    def search(self, query: Query, limit: int) -> list[Hit]:
        """Find turns by their text, tool arguments and tool results, newest first."""
        ...

    def every_turn(self) -> Iterable[tuple[int, str, int | None]]:
        """Go through (seq, id, first parent) of all turns, oldest first."""
        ...

    def check(self) -> list[Problem]:
        """Look for damage in everything that is kept."""
        ...

    def sweep(self, *, dry_run: bool) -> tuple[int, int]:
        """Remove files no frame names; give how many and how many bytes."""
        ...

    def scrub(self) -> None:
        """Leave nothing of removed content in free pages, logs and the search index."""
        ...

    def backup(self, target: Path) -> None:
        """Copy the whole store, as of one moment, to a new folder or file while others write."""
        ...

    def stats(self) -> StoreStats:
        """Count what is kept."""
        ...

    def close(self) -> None:
        """Let go of files and connections. The store may be used again and opens by itself."""
        ...
