"""What a write does to the tables, in the words both databases share.

Everything here runs inside one transaction that is alone in the store, so a look followed by a write is safe.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from weft import jsontext
from weft.errors import StoreError
from weft.store.base import TURN, Draft, Flag, Link, Spot
from weft.store.columns import model_of, split_meta
from weft.store.mint import Mint
from weft.store.packing import unpack
from weft.store.rows import Params, Rows

__all__ = ["FRAME_INSERT", "LARGE", "OWNER", "End", "Writing"]

_RECENT = 64  # turns remembered for those that continue them
LARGE = 100_000  # bytes; a larger payload is a file where there is a folder for it

_NEWEST = "SELECT id, topic, root, seq FROM frames ORDER BY id DESC LIMIT 1"
_LAST_SEQ = "SELECT max(seq) FROM frames"
FRAME_INSERT = """
    INSERT INTO frames (seq, id, topic, parent, flags, role, head, root, depth, size, bytes, models, options, extra,
                        hash, owner, data)
"""
OWNER = "SELECT seq FROM frames WHERE substr(hash, 1, 8) = ? AND hash = ? AND owner IS NULL LIMIT 1"
_EDGE = "INSERT INTO edges (child, position, parent) VALUES (?, ?, ?)"
_REF = "INSERT INTO refs (child, position, ref) VALUES (?, ?, ?)"
_CARRY = """
    INSERT INTO bookmarks (name, seq) VALUES (?, ?)
    ON CONFLICT (name) DO UPDATE SET seq = excluded.seq RETURNING number
"""
_KNOW = "INSERT INTO bookmarks (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING number"
_HOLDER = "SELECT f.id FROM bookmarks b JOIN frames f ON f.seq = b.seq WHERE b.name = ?"
_POINT = "INSERT INTO bookmarks (name, seq) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq"
_SET_OF_MODELS = "SELECT names FROM model_sets WHERE number = ?"
_NUMBER_OF_SET = """
    INSERT INTO model_sets (names) VALUES (?) ON CONFLICT (names) DO UPDATE SET names = excluded.names RETURNING number
"""
_FACT = "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_UNRESOLVED = "SELECT child, position, NULL, ref FROM refs ORDER BY child, position"
_DROP_REF = "DELETE FROM refs WHERE child = ? AND position = ?"
_FLAGS = "SELECT flags FROM frames WHERE seq = ?"
_SET_FLAGS = "UPDATE frames SET flags = ? WHERE seq = ?"
_HAS_REFS = "SELECT 1 FROM refs WHERE child = ? LIMIT 1"
_EVERY_FRAME = """
    SELECT f.seq, f.id, f.flags, f.hash, coalesce(f.data, o.data) FROM frames f LEFT JOIN frames o ON o.seq = f.owner
    WHERE f.seq > ? ORDER BY f.seq LIMIT 500
"""
_PAYLOAD_ROW = "SELECT hash, flags, data FROM frames WHERE seq = ? AND owner IS NULL AND hash IS NOT NULL"
_DEPENDANTS = "SELECT seq FROM frames WHERE owner = ? ORDER BY seq"
_HAND_OVER = "UPDATE frames SET owner = NULL, data = ?, flags = ? WHERE seq = ?"
_FOLLOW = "UPDATE frames SET owner = ? WHERE owner = ?"
_DELETE = "DELETE FROM frames WHERE seq = ?"
_NEXT_CARRIER = """
    SELECT f.seq FROM frames f WHERE f.head = (SELECT number FROM bookmarks WHERE seq = ?) AND f.seq <> ?
    ORDER BY f.id DESC LIMIT 1
"""
_MOVE_BOOKMARK = "UPDATE bookmarks SET seq = ? WHERE seq = ?"
_REWRITE = "UPDATE frames SET flags = ?, options = ?, extra = ?, size = ?, hash = ?, owner = ?, data = ? WHERE seq = ?"
_OWN_ROW = "SELECT f.flags, p.id FROM frames f LEFT JOIN frames p ON p.seq = f.parent WHERE f.seq = ?"
_EDGE_IDS = "SELECT p.id FROM edges e JOIN frames p ON p.seq = e.parent WHERE e.child = ? ORDER BY e.position"


class End:
    """Where the log ends, and the turns written last: kept from write to write while nobody else writes."""

    __slots__ = ("carried", "mint", "model_sets", "newest_id", "newest_turn", "recent", "seq")

    def __init__(self, seq: int, newest_id: str | None, newest_turn: int | None) -> None:
        """Take the last sequence number, the greatest id, and the sequence number of the newest turn."""
        self.seq = seq
        self.newest_id = newest_id
        self.newest_turn = newest_turn
        self.mint = Mint(newest_id)
        self.recent: dict[str, Spot] = {}  # by id
        self.carried: dict[str, Spot] = {}  # by bookmark
        self.model_sets: dict[tuple[int, str], int] = {}  # the set of a parent and a model of a turn: the turn's set

    def remember(self, spot: Spot, *, is_native: bool) -> None:
        """Keep a turn for those that continue it; not for ever."""
        if len(self.recent) >= _RECENT:
            self.recent.clear()
            self.carried.clear()
        self.recent[spot.id] = spot
        if spot.head is not None:
            if is_native:
                self.carried[spot.head] = spot
            else:
                self.carried.pop(spot.head, None)  # an imported turn may be older than the one with the bookmark


class Writing(Rows):
    """The writing half; a backend adds how statements run and where large payloads go."""

    def __init__(self, end: End | None = None) -> None:
        """Begin with what is known of the log's end, if that is still true."""
        self.end = end
        self.appended: list[str] = []
        self.removed: list[int] = []

    @abstractmethod
    def _run(self, sql: str, params: Params) -> None:
        """Run one statement that gives nothing back."""

    @abstractmethod
    def _insert(self, row: tuple[Any, ...], digest: bytes | None, payload: bytes | None) -> None:
        """Insert a frame; its payload only if no other frame has the same bytes [T-2]."""

    def _keep_file(self, digest: bytes, data: bytes) -> bool:  # noqa: ARG002  # for those that have a place
        """Keep a large payload outside the database; False if there is no such place."""
        return False

    @abstractmethod
    def _reach(self, seqs: Sequence[int]) -> tuple[int, int]:
        """Count the turns reachable from `seqs`, and their bytes."""

    def spots(self, ids: Sequence[str]) -> list[Spot | None]:
        """Find turns by id, in the order asked for."""
        if len(ids) == 1 and self.end is not None:
            spot = self.end.recent.get(ids[0])
            if spot is not None:
                return [spot]
        return super().spots(ids)

    def bookmark_spot(self, name: str, *, before_id: str | None = None) -> Spot | None:
        """Find the turn a bookmark points at, or pointed at before a turn was written."""
        if before_id is None and self.end is not None:
            spot = self.end.carried.get(name)
            if spot is not None:
                return spot
        return super().bookmark_spot(name, before_id=before_id)

    def append(self, draft: Draft) -> tuple[str, int, bytes | None]:
        """Add a frame under a new id above every other [T-8]; give its id, sequence number and digest."""
        end = self.end
        if end is None:
            end = self.end = self._read_end()
        seq, parents, payload = end.seq + 1, draft.parents, draft.payload
        frame_id = draft.id or end.mint.next_id()
        own = draft.columns or split_meta(draft.meta, [parent.id for parent in parents])
        flags, size, digest = own.flags, 0, None
        if payload is not None:
            size, digest = len(payload), hashlib.sha256(payload).digest()
            if size > LARGE and self._keep_file(digest, payload):
                payload = None
                flags |= Flag.FILE
        is_newest = end.newest_id is None or frame_id > end.newest_id
        extra: str | None = own.extra
        root: int | None
        depth: int | None
        total: int | None
        head: int | None
        if draft.topic == TURN:
            root, depth, total, models, ancestry = self._lineage(seq, size, draft)
            flags |= ancestry
            head = None if own.head is None else self._carry(own.head, seq, frame_id, is_native=draft.id is None)
        else:
            root, depth, total, models, head = end.newest_turn, None, None, 0, None
            flags |= Flag.VERBATIM
            extra = jsontext.dumps_text(draft.meta)
        parent = parents[0].seq if parents else None
        about = seq, frame_id, draft.topic, parent, flags, own.role, head, root, depth, size, total, models
        row = (*about, own.options, extra)
        self._insert(row, digest, payload)
        for position in range(1, len(parents)):
            self._run(_EDGE, (seq, position, parents[position].seq))
        for position, ref in draft.refs:
            self._run(_REF, (seq, position, ref))
        end.seq = seq
        if is_newest:
            end.newest_id = frame_id
            if draft.id is not None:
                end.mint.raise_to(frame_id)
        if root is not None and depth is not None and total is not None:
            if is_newest or end.newest_turn is None:
                end.newest_turn = seq
            spot = Spot(seq, frame_id, TURN, flags, root, depth, total, models, own.head, own.head is not None)
            end.remember(spot, is_native=draft.id is None)
        self.appended.append(frame_id)
        return frame_id, seq, digest

    def _read_end(self) -> End:
        row = self._one(_NEWEST)
        if row is None:
            return End(0, None, None)
        newest_id, topic, root, seq = row
        return End(self._one(_LAST_SEQ)[0], newest_id, seq if topic == TURN else root)

    def _lineage(self, seq: int, size: int, draft: Draft) -> tuple[int, int, int, int, int]:
        """Work out root, depth, bytes, models and flags of a turn from its parents."""
        parents, flags = draft.parents, 0
        model = model_of(draft.meta)
        if len(parents) == 1 and model is None and not draft.refs:  # nearly every turn
            first = parents[0]
            return first.root, first.depth + 1, first.bytes + size, first.models, first.flags & Flag.LINEAR
        if draft.refs:
            flags |= Flag.BROKEN
        if len(parents) > 1:
            flags |= Flag.MANY
        if not parents:
            models = self._models((), model)
            return seq, 1, size, models, flags if draft.refs else flags | Flag.LINEAR
        models = self._models(parents, model)
        first = parents[0]
        if not flags:
            return first.root, first.depth + 1, first.bytes + size, models, first.flags & Flag.LINEAR
        count, total = self._reach([parent.seq for parent in parents])
        return first.root, count + 1, total + size, models, flags

    def _models(self, parents: Sequence[Spot], model: str | None) -> int:
        """Number the set of models that spoke up to here; few sets are ever different."""
        sets = {parent.models for parent in parents} - {0}
        known: dict[tuple[int, str], int] = {}
        above = 0
        if len(sets) <= 1:
            above = next(iter(sets), 0)
            if model is None:
                return above
            known = {} if self.end is None else self.end.model_sets
            if (above, model) in known:
                return known[above, model]
        names: set[str] = set() if model is None else {model}
        for number in sets:
            names.update(jsontext.loads(self._one(_SET_OF_MODELS, (number,))[0]))
        found = int(self._one(_NUMBER_OF_SET, (jsontext.dumps_text(sorted(names)),))[0])
        if model is not None and len(sets) <= 1:
            known[above, model] = known[found, model] = found
        return found

    def _carry(self, name: str, seq: int, frame_id: str, *, is_native: bool) -> int:
        """Move a bookmark along to a turn that carries it; an imported turn may be older than the one it is on."""
        if not is_native:
            holder = self._one(_HOLDER, (name,))
            if holder is not None and holder[0] > frame_id:
                return int(self._one(_KNOW, (name,))[0])
        return int(self._one(_CARRY, (name, seq))[0])

    def point_bookmark(self, name: str, seq: int | None) -> None:
        """Make a bookmark point at a turn, or at nothing."""
        self.end = None
        self._run(_POINT, (name, seq))

    def note(self, name: str, value: str) -> None:
        """Keep a fact about the store as a whole."""
        self._run(_FACT, (name, value))

    # -- for the neighbours in this room -----------------------------------------------------------------------

    def ask(self, sql: str, params: Params = ()) -> list[Any]:
        """Run a statement of this room that reads, inside the write."""
        return self._all(sql, params)

    def run(self, sql: str, params: Params) -> None:
        """Run a statement of this room that writes."""
        self._run(sql, params)

    def run_many(self, sql: str, rows: Sequence[Params]) -> None:
        """Run a statement of this room that writes, for each row."""
        for row in rows:
            self._run(sql, row)

    def keep_file(self, digest: bytes, data: bytes) -> bool:
        """Keep large content outside the database; False if there is no such place."""
        return self._keep_file(digest, data)

    # -- imported frames -------------------------------------------------------------------------------------

    def unresolved(self) -> list[Link]:
        """List every entry of `continues` that leads nowhere."""
        return [Link._make(row) for row in self._all(_UNRESOLVED, ())]

    def relink(self, link: Link) -> None:
        """Store where an unresolved entry leads now."""
        self.end = None
        self._run(_DROP_REF, (link.child, link.position))
        self._run(_EDGE, (link.child, link.position, link.parent))
        flags = self._one(_FLAGS, (link.child,))[0] | Flag.MANY
        if self._one(_HAS_REFS, (link.child,)) is None:
            flags &= ~Flag.BROKEN
        self._run(_SET_FLAGS, (int(flags & ~Flag.LINEAR), link.child))

    def every_frame(self) -> Iterator[tuple[int, str, dict[str, Any], bytes | None]]:
        """Go through (seq, id, meta, payload) of all frames, oldest first."""
        last = -1
        while rows := self._all(_EVERY_FRAME, (last,)):
            for seq, frame_id, flags, digest, data in rows:
                frame = self.frames([frame_id])[0]
                payload = self._file(digest) if flags & Flag.FILE else None if data is None else unpack(data)
                if frame is not None:
                    yield seq, frame_id, frame.meta, payload
            last = rows[-1][0]

    # -- forgetting ------------------------------------------------------------------------------------------

    def remove(self, seqs: Sequence[int]) -> None:
        """Take turns out of the log; no turn that stays may continue them."""
        self.end = None
        going = set(seqs)
        self.removed += going
        for seq in sorted(going, reverse=True):
            self._release(seq, going)
            carrier = self._one(_NEXT_CARRIER, (seq, seq))
            self._run(_MOVE_BOOKMARK, (carrier[0] if carrier else None, seq))
            self._run(_DELETE, (seq,))

    def rewrite(self, seq: int, payload: bytes | None, meta: dict[str, Any]) -> None:
        """Put other content into a frame: only for forgetting."""
        self.end = None
        row = self._one(_OWN_ROW, (seq,))
        if row is None:
            raise StoreError(f"no frame has sequence number {seq}")
        old_flags, parent_id = row
        parent_ids = [parent_id] if parent_id else []
        parent_ids += [found[0] for found in self._all(_EDGE_IDS, (seq,))]
        self._release(seq, {seq})
        own = split_meta(meta, parent_ids)
        flags = own.flags | (old_flags & (Flag.LINEAR | Flag.MANY | Flag.BROKEN))
        size, digest, owner, data = 0, None, None, None
        if payload is not None:
            self._run(_REWRITE, (int(flags), own.options, own.extra, 0, None, None, None, seq))
            size, digest = len(payload), hashlib.sha256(payload).digest()
            if size > LARGE and self._keep_file(digest, payload):
                flags |= Flag.FILE
            found = self._one(OWNER, (digest[:8], digest))
            owner = found[0] if found else None
            data = None if owner is not None or flags & Flag.FILE else payload
        self._run(_REWRITE, (int(flags), own.options, own.extra, size, digest, owner, data, seq))

    def _release(self, seq: int, going: set[int]) -> None:
        """Hand a payload on to the next frame that shares it."""
        row = self._one(_PAYLOAD_ROW, (seq,))
        if row is None:
            return
        _, flags, data = row
        heirs = [found[0] for found in self._all(_DEPENDANTS, (seq,)) if found[0] not in going]
        if not heirs:
            return
        own_flags = self._one(_FLAGS, (heirs[0],))[0]
        self._run(_HAND_OVER, (data, int(own_flags | (flags & Flag.FILE)), heirs[0]))
        self._run(_FOLLOW, (heirs[0], seq))
