"""The questions both databases answer in the same words.

Statements are written once, with `?` for values and `IN ?LIST` for lists, and each backend spells those two its own way
(`SqlText`). Values are always parameters, never text inside a statement. What differs in substance, the recursive walk
above all, each backend brings itself.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from weft.errors import BlobIntegrityError, BlobNotFoundError, StoreError
from weft.ids import hex_of_address
from weft.store.base import TURN, BookmarkRow, Columns, Flag, Frame, Link, Spot, TurnRow
from weft.store.columns import is_storable, meta_of
from weft.store.packing import unpack

__all__ = [
    "FRAME_COLUMNS",
    "TURN_COLUMNS",
    "TURN_JOINS",
    "Params",
    "Rows",
    "address_of",
    "checked_turns",
    "frames_from",
    "iter_turns",
    "statement",
    "verified",
]


def statement(*parts: str) -> str:
    """Put a statement together from constants of this room; values are never among them [C-08]."""
    return " ".join(parts)


# One row of `frames` with everything a whole frame needs.
FRAME_COLUMNS = """
    f.seq, f.id, f.topic, f.role, f.options, b.name, f.flags, f.extra, f.hash, f.parent, p.id
    FROM frames f LEFT JOIN bookmarks b ON b.number = f.head LEFT JOIN frames p ON p.seq = f.parent
"""
_SPOT = """
    SELECT f.seq, f.id, f.topic, f.flags, f.root, f.depth, f.bytes, f.models, b.name, b.seq IS NOT NULL
    FROM frames f LEFT JOIN bookmarks b ON b.number = f.head
"""
_SPOT_BY_ID = statement(_SPOT, " WHERE f.id = ? AND f.topic = 'gpt.turn'")
_SPOTS_BY_ID = statement(_SPOT, " WHERE f.id IN ?LIST AND f.topic = 'gpt.turn'")
_SPOTS_BY_SEQ = statement(_SPOT, " WHERE f.seq IN ?LIST AND f.topic = 'gpt.turn'")
_SPOT_BY_BOOKMARK = statement(_SPOT, " WHERE f.seq = (SELECT seq FROM bookmarks WHERE name = ?)")
_SPOT_BY_BOOKMARK_BEFORE = statement(
    _SPOT,
    """
    WHERE f.head = (SELECT number FROM bookmarks WHERE name = ?) AND f.id < ? AND f.topic = 'gpt.turn'
    ORDER BY f.id DESC LIMIT 1
""",
)
_NEWEST = "SELECT seq, id, topic, root FROM frames ORDER BY id DESC LIMIT 1"
_NEWEST_TURN = "SELECT id FROM frames WHERE topic = 'gpt.turn' ORDER BY id DESC LIMIT 1"
_ID_OF_TURN = "SELECT id FROM frames WHERE seq = ? AND topic = 'gpt.turn'"
_BOOKMARKS = """
    SELECT b.name, f.id, f.depth FROM bookmarks b JOIN frames f ON f.seq = b.seq ORDER BY f.id DESC, b.name
"""
_PREFIX = "SELECT id FROM frames WHERE id >= ? AND id < ? AND topic = 'gpt.turn' ORDER BY id LIMIT ?"
_LINKS = """
    SELECT child, position, parent, NULL FROM edges WHERE child IN ?LIST
    UNION ALL SELECT child, position, NULL, ref FROM refs WHERE child IN ?LIST
    ORDER BY 1, 2
"""
_FRAMES_BY_ID = statement("SELECT", FRAME_COLUMNS, "WHERE f.id IN ?LIST")
_FRAMES_BY_TOPIC = statement("SELECT", FRAME_COLUMNS, "WHERE f.topic = ? AND f.id > ? ORDER BY f.id LIMIT ?")
_NEWEST_OF_TOPIC = statement("SELECT", FRAME_COLUMNS, "WHERE f.topic = 'gpt.turn' ORDER BY f.seq DESC LIMIT 1")
# The index over topics leaves turns out; saying so lets it be used, which a parameter alone does not.
_NO_TURNS = "f.topic <> 'gpt.turn'"
_ALL_OF_TOPIC = statement("SELECT", FRAME_COLUMNS, "WHERE f.topic = ? AND", _NO_TURNS, "ORDER BY f.id LIMIT ?")
_LAST_OF_TOPIC = statement("SELECT", FRAME_COLUMNS, "WHERE f.topic = ? AND", _NO_TURNS, "ORDER BY f.seq DESC LIMIT ?")
_TURNS_BEFORE = statement("SELECT", FRAME_COLUMNS, "WHERE f.topic = 'gpt.turn' AND f.id < ? ORDER BY f.id DESC LIMIT ?")
TURN_COLUMNS = """
    SELECT f.seq, f.id, f.role, f.options, f.flags, f.extra, b.name, f.hash, coalesce(f.data, o.data), f.parent
"""
TURN_JOINS = """
    LEFT JOIN frames o ON o.seq = f.owner LEFT JOIN bookmarks b ON b.number = f.head
"""
_TURNS_BY_ID = statement(TURN_COLUMNS, "FROM frames f", TURN_JOINS, "WHERE f.id IN ?LIST AND f.topic = 'gpt.turn'")
_PARENTS = """
    SELECT p.id, 0 FROM frames f JOIN frames p ON p.seq = f.parent WHERE f.id = ?
    UNION ALL
    SELECT p.id, e.position FROM frames f JOIN edges e ON e.child = f.seq JOIN frames p ON p.seq = e.parent
    WHERE f.id = ?
    ORDER BY 2
"""
_IDS_OF = "SELECT seq, id FROM frames WHERE seq IN ?LIST"
_PAYLOAD = """
    SELECT data, flags FROM frames WHERE substr(hash, 1, 8) = ? AND hash = ? AND owner IS NULL ORDER BY seq LIMIT 1
"""
_AFTER_ALL = "zzzzzzzzzzzzzzzzzzzzzzzzzz"  # greater than any id
_NO_LIMIT = 1 << 62

Params = Sequence[Any]


class Rows(ABC):
    """Reading, over whatever `_all` asks. Mixed into each backend's reader and writer."""

    @abstractmethod
    def _all(self, sql: str, params: Params) -> list[Any]:
        """Run one statement and give all its rows."""

    @abstractmethod
    def _list(self, values: Sequence[Any]) -> Any:
        """Give a list as one parameter."""

    def _one(self, sql: str, params: Params = ()) -> Any:
        rows = self._all(sql, params)
        return rows[0] if rows else None

    def listed(self, values: Sequence[Any]) -> Any:
        """Give a list as one parameter, for the neighbours in this room."""
        return self._list(values)

    def file(self, digest: bytes) -> bytes:
        """Give content that is kept outside the database, for the neighbours in this room."""
        return self._file(digest)

    def _file(self, digest: bytes) -> bytes:
        raise BlobNotFoundError(digest.hex())

    def latest_turn_id(self) -> str | None:
        """Give the id of the newest turn."""
        newest = self._one(_NEWEST)
        if newest is None:
            return None
        _, newest_id, topic, root = newest
        if topic == TURN:
            return str(newest_id)
        # Other frames remember the newest turn of their time, so a long run of them is not scanned.
        found = self._one(_ID_OF_TURN, (root,)) if root is not None else None
        found = found or self._one(_NEWEST_TURN)
        return str(found[0]) if found else None

    def spots(self, ids: Sequence[str]) -> list[Spot | None]:
        """Find turns by id, in the order asked for."""
        if len(ids) == 1:
            row = self._one(_SPOT_BY_ID, (ids[0],))
            return [None if row is None else _spot(row)]
        if not ids:
            return []
        found = {row[1]: _spot(row) for row in self._all(_SPOTS_BY_ID, (self._list(ids),))}
        return [found.get(one) for one in ids]

    def spots_at(self, seqs: Sequence[int]) -> list[Spot]:
        """Find turns by sequence number, in the order asked for; those that are not there are left out."""
        if not seqs:
            return []
        found = {row[0]: _spot(row) for row in self._all(_SPOTS_BY_SEQ, (self._list(seqs),))}
        return [found[seq] for seq in seqs if seq in found]

    def bookmark_spot(self, name: str, *, before_id: str | None = None) -> Spot | None:
        """Find the turn a bookmark points at, or pointed at before a turn was written."""
        if not is_storable(name):
            return None
        row = self._one(_SPOT_BY_BOOKMARK, (name,))
        if before_id is not None and (row is None or row[1] >= before_id):
            row = self._one(_SPOT_BY_BOOKMARK_BEFORE, (name, before_id))
        return None if row is None else _spot(row)

    def bookmarks(self) -> list[BookmarkRow]:
        """List the bookmarks, newest turn first."""
        return [BookmarkRow._make(row) for row in self._all(_BOOKMARKS, ())]

    def ids_with_prefix(self, prefix: str, limit: int) -> list[str]:
        """List turn ids that begin so, oldest first."""
        return [row[0] for row in self._all(_PREFIX, (prefix, prefix + "{", limit))]  # { comes after z

    def links(self, seqs: Sequence[int]) -> list[Link]:
        """Give the second and further parents, and the unresolved ones, of some turns."""
        if not seqs:
            return []
        wanted = self._list(seqs)
        return [Link._make(row) for row in self._all(_LINKS, (wanted, wanted))]

    def frames(self, ids: Sequence[str]) -> list[Frame | None]:
        """Fetch whole frames of any topic by id, in the order asked for."""
        rows = self._all(_FRAMES_BY_ID, (self._list(ids),))
        found = {frame.id: frame for frame in self._frames(rows)}
        return [found.get(one) for one in ids]

    def frames_of(self, topic: str, *, after_id: str | None = None, limit: int | None = None) -> list[Frame]:
        """List frames of a topic, oldest first."""
        count = _NO_LIMIT if limit is None else limit
        if topic != TURN and after_id is None:
            return self._frames(self._all(_ALL_OF_TOPIC, (topic, count)))
        return self._frames(self._all(_FRAMES_BY_TOPIC, (topic, after_id or "", count)))

    def newest_frame(self, topic: str) -> Frame | None:
        """Give the newest frame of a topic."""
        found = self._frames(self._all(_NEWEST_OF_TOPIC, ())) if topic == TURN else self.newest_frames(topic, 1)
        return found[0] if found else None

    def newest_frames(self, topic: str, limit: int) -> list[Frame]:
        """List frames of a topic other than turns, newest first."""
        return self._frames(self._all(_LAST_OF_TOPIC, (topic, limit)))

    def turns_before(self, before_id: str | None, limit: int) -> list[Frame]:
        """List turns, newest first, of the whole store."""
        return self._frames(self._all(_TURNS_BEFORE, (before_id or _AFTER_ALL, limit)))

    def rows(self, ids: Sequence[str]) -> list[TurnRow]:
        """Fetch turns by id with their payloads, in the order asked for; those that are not there are left out."""
        found = checked_turns(self._all(_TURNS_BY_ID, (self._list(ids),)), self._file)
        by_id = {turn.id: turn for turn in found}
        return [by_id[one] for one in ids if one in by_id]

    def parent_ids(self, turn_id: str) -> list[str]:
        """Give the ids of the turns a turn continues, in order, names resolved."""
        return [row[0] for row in self._all(_PARENTS, (turn_id, turn_id))]

    def payload(self, address: str) -> bytes:
        """Give the bytes of a content address, verified."""
        try:
            digest = bytes.fromhex(hex_of_address(address))
        except ValueError:
            raise BlobNotFoundError(address) from None
        row = self._one(_PAYLOAD, (digest[:8], digest))
        if row is None:
            raise BlobNotFoundError(address)
        return verified(digest, self._file(digest) if row[1] & Flag.FILE else row[0])

    def _frames(self, rows: Sequence[Any]) -> list[Frame]:
        """Make whole frames of rows; second parents of all of them come with one more query."""
        more = [row[0] for row in rows if (row[6] or 0) & (Flag.MANY | Flag.BROKEN)]
        links = self.links(more)
        ids = dict(self._all(_IDS_OF, (self._list([link.parent for link in links if link.parent]),))) if links else {}
        return frames_from(rows, links, ids)


def _spot(row: Sequence[Any]) -> Spot:
    spot = Spot._make(row)
    if spot.flags.__class__ is not int or spot.depth.__class__ is not int or spot.id.__class__ is not str:
        raise _damaged(spot.id, "it does not say its place in its thread")
    return spot


def frames_from(rows: Sequence[Any], links: Sequence[Link], ids: Mapping[int, str]) -> list[Frame]:
    """Make whole frames of rows, their further links and the ids those lead to."""
    entries: dict[int, dict[int, str]] = {}
    for link in links:
        entries.setdefault(link.child, {})[link.position] = link.ref or ids.get(link.parent or 0, "")
    frames = []
    for seq, frame_id, topic, role, options, head, flags, extra, digest, _, parent_id in rows:
        parents = [parent_id] if parent_id is not None else []
        if seq in entries:
            parents = _in_order(parents, entries[seq])
        try:
            meta = meta_of(Columns(role, options, head, flags, extra), parents)
        except (ValueError, TypeError) as error:
            raise StoreError(f"the meta of frame {frame_id} cannot be read: {error}; run `weft fsck`") from error
        frames.append(Frame(topic, frame_id, address_of(digest), meta))
    return frames


def _in_order(first: list[str], others: dict[int, str]) -> list[str]:
    """Put the first parent at the lowest free position."""
    count = len(first) + len(others)
    left = iter(first)
    return [others[position] if position in others else next(left, "") for position in range(count)]


def checked_turns(rows: Iterable[Any], read_file: Callable[[bytes], bytes]) -> list[TurnRow]:
    """Make turns of walked rows, each payload verified."""
    return list(iter_turns(rows, read_file))


def iter_turns(rows: Iterable[Any], read_file: Callable[[bytes], bytes]) -> Iterator[TurnRow]:
    """Make turns of walked rows one by one, each payload verified."""
    new, sha256, is_file = tuple.__new__, hashlib.sha256, Flag.FILE
    for row in rows:
        digest, whole = row[7], row
        try:
            if row[4] & is_file:
                whole = (*row[:8], None if digest is None else read_file(digest), row[9])
            elif digest is not None and (row[8] is None or sha256(row[8]).digest() != digest):
                whole = (*row[:8], verified(digest, row[8]), row[9])
        except TypeError as error:
            raise _damaged(row[1], error) from error
        if row[1].__class__ is not str:
            raise _damaged(row[1], f"its id is {type(row[1]).__name__}")
        yield new(TurnRow, whole)


def _damaged(frame_id: object, why: object) -> StoreError:
    """Say that a row is not what the table would take: a flipped byte makes a number of a text, or nothing of it."""
    return StoreError(f"the row of frame {frame_id} is damaged: {why}; run `weft fsck`")


def verified(digest: bytes, data: bytes | None) -> bytes:
    """Give the bytes if they have this digest [T-3]."""
    if data is None:
        raise BlobNotFoundError(str(address_of(digest)))
    data = unpack(data)
    actual = hashlib.sha256(data).digest()
    if actual != digest:
        raise BlobIntegrityError(str(address_of(digest)), digest.hex(), actual.hex())
    return data


def address_of(digest: bytes | None) -> str | None:
    """Write a digest as a content address."""
    if digest is None:
        return None
    return "sha256-" + b2a_base64(digest, newline=False).decode("ascii")
