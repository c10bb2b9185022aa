"""Turn and Thread: what a program, or a person at a prompt, holds in hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from weft.ids import id_time
from weft.store import Flag, Spot, TurnRow, model_of, text_of_blocks
from weft.threads import resolve
from weft.threads.blocks import blocks_of

if TYPE_CHECKING:
    from weft.canon import Context
    from weft.threads.library import Store

__all__ = ["Thread", "Turn", "first_words"]


def first_words(text: str, width: int = 50) -> str:
    """Give the beginning of a text on one line."""
    line = " ".join(text[: width * 4].split())
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


class Turn:
    """One stored turn. It never changes, so what is read of it once is kept."""

    __slots__ = ("_row", "_store", "hash", "id", "meta")

    def __init__(
        self, store: Store, turn_id: str, address: str | None, meta: dict[str, Any], row: TurnRow | None = None
    ) -> None:
        """Hold a turn of a store; its content is read when it is asked for."""
        self._store = store
        self._row = row
        self.id = turn_id
        self.hash = address
        self.meta = meta

    def __getitem__(self, key: str) -> Any:
        """Read it as the record that add-turn returns: `id`, `hash` and `meta` [T-22]."""
        if key not in ("id", "hash", "meta"):
            raise KeyError(key)
        return getattr(self, key)

    def to_dict(self) -> dict[str, Any]:
        """Give id, hash and meta, as add-turn does [T-22]."""
        return {"id": self.id, "hash": self.hash, "meta": self.meta}

    @property
    def role(self) -> str:
        """Who spoke: user, assistant or system."""
        role = self.meta.get("role")
        return role if isinstance(role, str) else "user"

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks; none if the turn has no content."""
        return blocks_of(self._loaded()) or []

    @property
    def data(self) -> bytes:
        """The payload as stored: JSON of the blocks, or a document's bytes."""
        return self._loaded().data or b""

    @property
    def text(self) -> str:
        """All text of the turn: what was said, and what tools were asked and answered."""
        return text_of_blocks(self.content)

    @property
    def options(self) -> dict[str, Any]:
        """This turn's own options; `thread.options` has those of the whole thread."""
        return resolve.options_of(self._loaded())

    @property
    def bookmark(self) -> str | None:
        """The bookmark this turn carries."""
        head = self.meta.get("head")
        return head if isinstance(head, str) else None

    @property
    def cache(self) -> bool:
        """Whether the turn is flagged for the provider's cache."""
        return self.meta.get("cache") is True

    @property
    def model(self) -> str | None:
        """Which model answered, if this is an answer."""
        return model_of(self.meta)

    @property
    def time(self) -> datetime:
        """When the turn was stored."""
        return id_time(self.id)

    @property
    def said_at(self) -> datetime | None:
        """When it was said, of a turn that was brought in from elsewhere and has it written down."""
        message = self.meta.get("message")
        try:
            moment = datetime.fromisoformat(message["timestamp"]) if isinstance(message, Mapping) else None
        except (KeyError, TypeError, ValueError):
            return None
        return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=UTC)

    @property
    def parents(self) -> list[Turn]:
        """The turns this one continues, as listed."""
        return self._store.turns(self._store.parent_ids(self.id))

    @property
    def children(self) -> list[Turn]:
        """The turns that continue this one, oldest first."""
        return self._store.turns(sorted(child for _, child in self._store.frames.children([self.id])))

    @property
    def thread(self) -> Thread:
        """This turn and everything before it."""
        return self._store.thread(self.id)

    def _loaded(self) -> TurnRow:
        if self._row is None:
            self._row = self._store.row(self.id)
        return self._row

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Turn):
            return NotImplemented
        return self.id == other.id and self.hash == other.hash and self.meta == other.meta

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        name = f" [{self.bookmark}]" if self.bookmark else ""
        return f"<Turn {self.id} {self.role}{name} {first_words(self.text)!r}>"


class Thread:
    """A turn and everything it continues, in order. Read when first looked at, as of that moment."""

    __slots__ = ("_on_gap", "_order", "_spots", "_store", "_walk")

    def __init__(
        self,
        store: Store,
        spots: Sequence[Spot],
        order: resolve.Order = "chronological",
        on_gap: resolve.OnGap = "raise",
    ) -> None:
        """Begin at one turn, or at several."""
        self._store = store
        self._spots = tuple(spots)
        self._order: resolve.Order = order
        self._on_gap: resolve.OnGap = on_gap
        self._walk: resolve.Walk | None = None

    @property
    def id(self) -> str | None:
        """The id of the turn the thread ends in; None for an empty one."""
        return self._spots[-1].id if self._spots else None

    @property
    def bookmark(self) -> str | None:
        """The bookmark of the turn the thread ends in."""
        return self._spots[-1].head if self._spots else None

    @property
    def walk(self) -> resolve.Walk:
        """The rows of the thread, in order."""
        if self._walk is None:
            empty = resolve.Walk([], {})
            self._walk = (
                resolve.walk(self._store.frames, self._spots, order=self._order, on_gap=self._on_gap)
                if self._spots
                else empty
            )
        return self._walk

    @property
    def gaps(self) -> tuple[tuple[str, str], ...]:
        """Parents that are missing, as (turn id, what it continues); only with on_gap="mark"."""
        return self.walk.gaps

    @property
    def turns(self) -> list[Turn]:
        """Every turn, once, parents first."""
        rows = self.walk.turns
        known = {row.seq: row for row in rows}
        parents = {row.seq: self.walk.parents_of(row) for row in rows}
        frames = resolve.frames_of(rows, parents, known)
        return [
            Turn(self._store, frame.id, frame.hash, frame.meta, row) for frame, row in zip(frames, rows, strict=True)
        ]

    @property
    def options(self) -> dict[str, Any]:
        """The options of the whole thread, merged; later turns win."""
        return resolve.merged_options(self.walk.turns)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages to send: role, content, and cache where it is flagged [T-39]."""
        return resolve.messages_of(self.walk.turns)

    def records(self) -> list[dict[str, Any]]:
        """One record a turn: id, role, content, options, cache [T-38]."""
        return resolve.records_of(self.walk.turns)

    def resolve(self) -> dict[str, Any]:
        """Give messages and merged options."""
        return {"messages": self.messages, "options": self.options}

    def context(self) -> Context:
        """Give the thread as a canonical Context [R-6]."""
        return self._store.context_of(self.walk.turns)

    @property
    def title(self) -> str:
        """The first words the user said, or anyone did."""
        rows = self.walk.turns
        said = next((row for row in rows if row.role == "user" and row.data), rows[0] if rows else None)
        if said is None:
            return ""
        if said.flags & Flag.DOCUMENT:
            return str(self._store.frame(said.id).meta.get("document_name") or "")
        return first_words(text_of_blocks(blocks_of(said) or []))

    def __len__(self) -> int:
        return len(self.walk.turns)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.turns)

    def __getitem__(self, index: int) -> Turn:
        return self.turns[index]

    def __repr__(self) -> str:
        if not self._spots:
            return "<Thread, empty>"
        name = f" [{self.bookmark}]" if self.bookmark else ""
        return f"<Thread {self.id}{name} {self._spots[-1].depth} turns {self.title!r}>"
