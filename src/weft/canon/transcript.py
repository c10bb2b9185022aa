"""Transcript: a conversation with its branches, as every file format reads it and writes it.

An `Entry` is a message with its place (its parents) and what the file says of it beside the message. A `Session` is
what the file says of the whole. `Stray` is a line no one here understands, kept with its place. A linear file is the
simple case: each entry has the one before it as its parent.

Files may be larger than memory, so a transcript also comes in pieces: an `Opening`, its entries and strays in the
order of the file, a `Closing`. `pieces()` takes one apart and `gather` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self, final

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon.freezing import EMPTY, empty, freeze_mapping, thaw
from weft.canon.part import Message
from weft.canon.runspec import Instructions, RunSpec
from weft.canon.usage import ToolSpecification, Usage
from weft.errors import CodecError

__all__ = ["NO_BLOBS", "UNTIMED", "Closing", "Entry", "Opening", "Piece", "Session", "Stray", "Transcript", "gather"]

UNTIMED = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=1)
"""The timestamp of a message whose file gives none: reading a file twice gives the same, whatever the clock says."""

NO_BLOBS = InMemoryBlobStore()
"""Where entries without pictures or files have theirs."""

_new = object.__new__


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else EMPTY


@final
@dataclass(frozen=True, slots=True)
class Session:
    """What a file says of the whole conversation.

    `parameters` has the settings of the calls by the names `RunSpec` gives them (`temperature`, `max_output_tokens`,
    `tool_choice` ...) where it has one. `extras` is what the file says that nothing here has a place for, by the name
    of the format that understands it.
    """

    id: str | None = None
    title: str | None = None
    created: datetime | None = None
    updated: datetime | None = None
    cwd: str | None = None
    provider: str | None = None
    model: str | None = None
    instructions: Instructions | None = None
    tools: tuple[ToolSpecification, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=empty)
    extras: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        """Freeze what could change."""
        put = object.__setattr__
        put(self, "tools", tuple(self.tools))
        put(self, "parameters", freeze_mapping(self.parameters, "Session.parameters"))
        put(self, "extras", freeze_mapping(self.extras, "Session.extras"))

    def noted(self, format: str) -> Mapping[str, Any]:
        """Give what only one format understands of it; nothing, if that is no object: the file may be anyone's."""
        return _mapping(self.extras.get(format))

    def run_spec(self, provider: str, endpoint: str, model: str | None = None) -> RunSpec:
        """Give the settings as a RunSpec; parameters it has no field for go to `extra_body`."""
        known = {key: value for key, value in self.parameters.items() if key in _SETTINGS}
        rest = {key: value for key, value in self.parameters.items() if key not in _SETTINGS and key != "extra_body"}
        given = self.parameters.get("extra_body")
        return RunSpec(
            provider,
            endpoint,
            model or self.model or "",
            instructions=self.instructions,
            tools=self.tools,
            extra_body={**rest, **given} if isinstance(given, Mapping) else rest,
            **known,
        )


_SETTINGS = frozenset(
    (
        "api_version",
        "max_output_tokens",
        "temperature",
        "top_p",
        "seed",
        "tool_choice",
        "response_schema",
        "response_modalities",
        "extra_headers",
        "extra_query",
        "base_url",
    )
)


_NOTHING: Mapping[str, Any] = {"model": None, "finish_reason": None, "usage": None, "extras": EMPTY}


class _OpenEntry:
    """The slots of an Entry, before it is closed (see weft.canon.part: they are made by the million)."""

    __slots__ = (
        "_late",
        "_number",
        "blobs",
        "extras",
        "finish_reason",
        "id",
        "message",
        "model",
        "native",
        "parent_ids",
        "plain_extras",
        "usage",
    )


@final
@dataclass(frozen=True, slots=True, init=False)
class Entry(_OpenEntry):
    """A message in its place.

    `id` is unique in its transcript; where a file has none, it is the entry's position, counted from 1. `parent_ids`
    may name entries that are not there: the file had lost them. `finish_reason` is in our words (stop, length,
    tool_calls, content_filter). `extras` is what the file says of it beside all this, by the name of the format that
    understands it. `blobs` has the bytes of the message's parts; it does not count when entries are compared.
    """

    id: str
    message: Message
    parent_ids: tuple[str, ...] = ()
    model: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    extras: Mapping[str, Any] = field(default_factory=empty)
    blobs: BlobStore = field(default=NO_BLOBS, compare=False, repr=False)

    def __new__(
        cls,
        id: str,
        message: Message,
        parent_ids: tuple[str, ...] = (),
        model: str | None = None,
        finish_reason: str | None = None,
        usage: Usage | None = None,
        extras: Mapping[str, Any] = EMPTY,
        blobs: BlobStore = NO_BLOBS,
    ) -> Self:
        """Take the fields as given and freeze the ones that could change."""
        entry: Any = _new(_OpenEntry)
        entry.id = id
        entry.message = message
        entry.parent_ids = parent_ids if parent_ids.__class__ is tuple else tuple(parent_ids)
        entry.model = model
        entry.finish_reason = finish_reason
        entry.usage = usage
        entry.extras = EMPTY if extras is EMPTY else freeze_mapping(extras, "Entry.extras")
        entry.blobs = blobs
        entry.native = entry.plain_extras = None
        entry.__class__ = cls
        return entry  # type: ignore[no-any-return]  # it is a `cls` since the line above

    @classmethod
    def late(cls, number: int, native: tuple[str, Any, Any], read: Callable[[Any], tuple[Message, BlobStore]]) -> Entry:
        """Make the entry at a place (counted from 1) in a chain; all else of it is found when it is asked for.

        `native` is the name of a form, the message in that form, which `read` turns into canon, and perhaps its bytes
        as they came: whoever writes the same form may write either as it is. It has to be sound, and no one may change
        it.
        """
        entry: Any = _new(_OpenEntry)
        entry.native = native
        entry.plain_extras = None
        entry._number = number  # noqa: SLF001 - its own
        entry._late = read  # noqa: SLF001
        entry.__class__ = cls
        return entry  # type: ignore[no-any-return]  # it is a `cls` since the line above

    @classmethod
    def read(
        cls,
        id: str,
        message: Message,
        parent_ids: tuple[str, ...],
        model: str | None,
        finish_reason: str | None,
        usage: Usage | None,
        extras: dict[str, Any],
        blobs: BlobStore,
    ) -> Entry:
        """Make an entry of what was decoded from JSON just now and is held by no one else.

        `extras` are frozen when they are asked for, and `plain_extras` are what was given, to be written as they are:
        most files are read to be written, and freezing everything only to thaw it took half of that time.
        """
        entry: Any = _new(_OpenEntry)
        entry.id = id
        entry.message = message
        entry.parent_ids = parent_ids
        entry.model = model
        entry.finish_reason = finish_reason
        entry.usage = usage
        entry.plain_extras = extras
        entry.blobs = blobs
        entry.native = None
        entry.__class__ = cls
        return entry  # type: ignore[no-any-return]  # it is a `cls` since the line above

    def __getattr__(self, name: str) -> Any:
        """Find what an entry was not asked for yet, and keep it."""
        put = object.__setattr__
        if name == "extras" and self.plain_extras is not None:
            put(self, "extras", extras := freeze_mapping(self.plain_extras, "Entry.extras"))
            return extras
        if name in ("message", "blobs"):
            message, blobs = self._late(self.native[1])
            put(self, "message", message)
            put(self, "blobs", blobs)
            return message if name == "message" else blobs
        number = self._number if name != "_number" else 0
        if name == "id":
            found: Any = str(number)
        elif name == "parent_ids":
            found = (str(number - 1),) if number > 1 else ()
        elif name in _NOTHING:
            found = _NOTHING[name]
        else:
            raise AttributeError(f"an Entry has no attribute {name!r}")
        put(self, name, found)
        return found

    def noted(self, format: str) -> Mapping[str, Any]:
        """Give what only one format understands of it, frozen or not: to be looked at and never changed."""
        return _mapping((self.extras if self.plain_extras is None else self.plain_extras).get(format))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by building anew."""
        fields = (self.id, self.message, self.parent_ids, self.model, self.finish_reason, self.usage)
        return Entry, (*fields, thaw(self.extras), self.blobs)

    @property
    def timestamp(self) -> datetime | None:
        """When it was said, if the file tells."""
        moment = self.message.timestamp
        return None if moment is UNTIMED or moment == UNTIMED else moment

    @property
    def parent_id(self) -> str | None:
        """The first of its parents, usually the only one."""
        return self.parent_ids[0] if self.parent_ids else None


@final
@dataclass(frozen=True, slots=True)
class Stray:
    """A line of a file that says nothing of the conversation we know of: kept as it is, where it stood.

    `at` is how many entries came before it, which `gather` counts; `format` is the format whose line it is, the only
    one to write it again.
    """

    format: str
    text: str
    at: int = 0


@final
@dataclass(frozen=True, slots=True)
class Opening:
    """A transcript begins. `session` is what is known of it by now."""

    session: Session = field(default_factory=Session)


@final
@dataclass(frozen=True, slots=True)
class Closing:
    """A transcript ends. `session`, if it is there, is what is known of it at last."""

    heads: Mapping[str, str] = field(default_factory=empty)
    current: str | None = None
    session: Session | None = None


Piece = Opening | Entry | Stray | Closing


@final
@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation: its entries in the order of the file, named heads, and the one that is current.

    Without a `current`, it is the last entry. Ids are unique and heads name entries, or ValueError says which do not.
    """

    entries: tuple[Entry, ...] = ()
    session: Session = field(default_factory=Session)
    heads: Mapping[str, str] = field(default_factory=empty)
    current: str | None = None
    strays: tuple[Stray, ...] = ()

    def __post_init__(self) -> None:
        """Freeze what could change, and refuse ids that lead nowhere or to more than one entry."""
        put = object.__setattr__
        put(self, "entries", tuple(self.entries))
        put(self, "strays", tuple(self.strays))
        put(self, "heads", freeze_mapping(self.heads, "Transcript.heads"))
        ids = {entry.id for entry in self.entries}
        if len(ids) != len(self.entries):
            seen: set[str] = set()
            twice = next(entry.id for entry in self.entries if entry.id in seen or seen.add(entry.id))  # type: ignore[func-returns-value]
            raise ValueError(f"Transcript.entries has the id {twice!r} twice")
        if self.current is None and self.entries:
            put(self, "current", self.entries[-1].id)
        for name, target in (*self.heads.items(), ("current", self.current)):
            if target not in ids and not (name == "current" and target is None):
                raise ValueError(f"Transcript: {name!r} is on {target!r}, and no entry has that id")

    @classmethod
    def of(cls, messages: Iterable[Message], session: Session | None = None, blobs: BlobStore = NO_BLOBS) -> Transcript:
        """Make a linear transcript of messages."""
        chain = linear_entries(messages, blobs)
        return cls(tuple(chain), Session() if session is None else session)

    def entry(self, entry_id: str) -> Entry:
        """Give an entry by its id; KeyError if there is none."""
        for entry in self.entries:
            if entry.id == entry_id:
                return entry
        raise KeyError(entry_id)

    @property
    def is_linear(self) -> bool:
        """Tell whether each entry continues the one before it, and the last is current."""
        before: tuple[str, ...] = ()
        for entry in self.entries:
            if entry.parent_ids != before:
                return False
            before = (entry.id,)
        return not self.entries or self.current == self.entries[-1].id

    def linear(self, head: str | None = None) -> tuple[Entry, ...]:
        """Give what leads to a head (a name, or an entry's id; else the current one), oldest first, each entry once.

        With several parents, the entries keep the order of the file.
        """
        start = self.current if head is None else self.heads.get(head, head)
        if start is None:
            return ()
        by_id = {entry.id: entry for entry in self.entries}
        if start not in by_id:
            raise KeyError(start)
        return self._chain(by_id[start], by_id)

    def _chain(self, entry: Entry, by_id: Mapping[str, Entry]) -> tuple[Entry, ...]:
        chain: list[Entry] = []
        seen: set[str] = set()
        todo = [entry]
        joined = False
        while todo:
            entry = todo.pop()
            if entry.id in seen:
                continue
            seen.add(entry.id)
            chain.append(entry)
            parents = [by_id[parent] for parent in entry.parent_ids if parent in by_id]
            joined = joined or len(parents) > 1
            todo += reversed(parents)
        if joined:
            return tuple(each for each in self.entries if each.id in seen)
        return tuple(reversed(chain))

    def paths(self) -> Iterator[tuple[tuple[str, ...], tuple[Entry, ...]]]:
        """Give every branch from its beginning to its end, with the names on that end: the current one first.

        A head in the middle of a branch has a path of its own.
        """
        continued = {parent for entry in self.entries for parent in entry.parent_ids}
        names: dict[str, list[str]] = {}
        for name, target in self.heads.items():
            names.setdefault(target, []).append(name)
        by_id = {entry.id: entry for entry in self.entries}
        ends = [entry.id for entry in self.entries if entry.id not in continued or entry.id in names]
        if self.current is not None:
            ends = [self.current, *(end for end in ends if end != self.current)]
        for end in ends:
            yield tuple(names.get(end, ())), self._chain(by_id[end], by_id)

    def pieces(self) -> Iterator[Piece]:
        """Take it apart, in the order of the file."""
        yield Opening(self.session)
        strays = iter(self.strays)
        stray = next(strays, None)
        for index, entry in enumerate(self.entries):
            while stray is not None and stray.at <= index:
                yield stray
                stray = next(strays, None)
            yield entry
        while stray is not None:
            yield stray
            stray = next(strays, None)
        yield Closing(self.heads, self.current)

    def to_dict(self, *, include_blob_payloads: bool = False) -> dict[str, Any]:
        """Write it as plain JSON containers, with the blobs' bytes if asked."""
        from weft.canon import transcriptserde  # noqa: PLC0415 - long and dull; few who hold a transcript write it

        return transcriptserde.transcript_to_dict(self, include_blob_payloads=include_blob_payloads)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Transcript:
        """Read what `to_dict` wrote; what does not fit is named by its path."""
        from weft.canon import transcriptserde  # noqa: PLC0415

        return transcriptserde.transcript_from_dict(value)


def linear_entries(messages: Iterable[Message], blobs: BlobStore = NO_BLOBS) -> Iterator[Entry]:
    """Number messages from 1 and put each after the one before it."""
    before: tuple[str, ...] = ()
    for number, message in enumerate(messages, 1):
        yield Entry(str(number), message, before, blobs=blobs)
        before = (str(number),)


def gather(pieces: Iterable[Piece]) -> Iterator[Transcript]:
    """Put pieces together to whole transcripts, one at a time."""
    session: Session | None = None
    entries: list[Entry] = []
    strays: list[Stray] = []
    for piece in pieces:
        if piece.__class__ is Entry:
            entries.append(piece)
        elif isinstance(piece, Stray):
            strays.append(piece if piece.at == len(entries) else replace(piece, at=len(entries)))
        elif isinstance(piece, Opening):
            session = piece.session
        elif isinstance(piece, Closing):
            said = piece.session or session or Session()
            try:
                whole = Transcript(tuple(entries), said, piece.heads, piece.current, tuple(strays))
            except ValueError as problem:  # an id twice, or a head on nothing: the file's fault, not the caller's
                raise CodecError(str(problem), where=said.id or said.title or "") from problem
            yield whole
            entries, strays, session = [], [], None
