"""From a headish to its whole context: the walk, its order, the messages and the merged options.

A walk is one query, whatever its length. Nothing here recurses, so a thread may be as long as it likes.
"""

from __future__ import annotations

import gc
import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from weft import jsontext
from weft.errors import ThreadCycleError, TurnNotFoundError
from weft.store import Columns as _Columns
from weft.store import Flag, Frame, FrameReader, FrameStore, Link, Spot, TurnRow, address_of, merge_options, meta_of
from weft.threads.blocks import blocks_of

__all__ = ["Order", "Walk", "frames_of", "merged_options", "messages_of", "raw", "records_of", "resolve_chain", "walk"]

Order = Literal["chronological", "branch"]
OnGap = Literal["raise", "mark"]
_ODD = int(Flag.MANY | Flag.BROKEN)


class Walk:
    """Every turn of a thread, once, in order; with what links them.

    `gaps` are entries of `continues` that lead nowhere: (turn id, what it says), if the walk was told to mark them.
    """

    __slots__ = ("gaps", "parents", "turns")

    def __init__(
        self, turns: list[TurnRow], parents: Mapping[int, Sequence[int]], gaps: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Hold what a walk found; `parents` has an entry only for turns with other than their first parent."""
        self.turns = turns
        self.parents = parents
        self.gaps = tuple(gaps)

    def parents_of(self, turn: TurnRow) -> Sequence[int]:
        """Give the sequence numbers of a turn's parents, as listed."""
        if turn.seq in self.parents:
            return self.parents[turn.seq]
        return () if turn.parent is None else (turn.parent,)


def walk(
    store: FrameReader, starts: Sequence[Spot], *, order: Order = "chronological", on_gap: OnGap = "raise"
) -> Walk:
    """Fetch a thread in order: chronological with parents first, or branch by branch [T-31 to T-37]."""
    rows = store.walk(starts)
    if len(starts) == 1 and starts[0].flags & Flag.LINEAR and len(rows) == starts[0].depth:
        rows.reverse()  # the query went from child to parent along a chain: already in order, whichever is asked for
        return Walk(rows, {})
    parents, gaps = _links(store, rows)
    if gaps and on_gap == "raise":
        turn_id, missing = gaps[0]
        raise TurnNotFoundError(f"turn {turn_id} continues {missing}, which is not there")
    turns = _branch_order(rows, starts, parents) if order == "branch" else _chronological(rows, parents)
    return Walk(turns, parents, gaps)


def resolve_chain(store: FrameStore, spot: Spot) -> dict[str, Any] | None:
    """Resolve a plain chain without holding its payloads; None if it is not the chain it was.

    Most threads are such chains. Thousands of small containers are made and all of them are kept, so looking for
    garbage among them would only take time: the collector rests meanwhile.
    """
    cache, messages, deltas, count = Flag.CACHE, [], [], 0
    was_on = gc.isenabled()
    gc.disable()
    try:
        for turn in store.chain(spot):
            count += 1
            blocks = blocks_of(turn)
            if turn.options:
                deltas.append(turn.options)
            if blocks is not None:
                message: dict[str, Any] = {"role": turn.role, "content": blocks}
                if turn.flags & cache:
                    message["cache"] = True
                messages.append(message)
    finally:
        if was_on:
            gc.enable()
    if count != spot.depth:
        return None
    messages.reverse()
    options: dict[str, Any] = {}
    for delta in reversed(deltas):
        options = merge_options(options, jsontext.loads(delta))
    return {"messages": messages, "options": options}


def raw(store: FrameReader, starts: Sequence[Spot]) -> list[Frame]:
    """Walk breadth-first and give whole frames, newest first; circles do not matter here [T-36]."""
    rows = store.walk(starts)
    parents, gaps = _links(store, rows)
    if gaps:
        turn_id, missing = gaps[0]
        raise TurnNotFoundError(f"turn {turn_id} continues {missing}, which is not there")
    found = {row.seq: row for row in rows}
    seen: dict[int, None] = {}
    level = [spot.seq for spot in starts]
    while level:
        level = [seq for seq in dict.fromkeys(level) if seq not in seen]
        seen.update(dict.fromkeys(level))
        level = [parent for seq in level for parent in parents.get(seq, ())]
    # Breadth-first gathers; newest first is by id, which for ordinary stores is the same.
    return frames_of(sorted((found[seq] for seq in seen), key=_by_id, reverse=True), parents, found)


def frames_of(
    turns: Sequence[TurnRow], parents: Mapping[int, Sequence[int]], known: Mapping[int, TurnRow]
) -> list[Frame]:
    """Make whole frames of turns whose parents were walked too."""
    frames = []
    for turn in turns:
        above = parents.get(turn.seq) if turn.seq in parents else (() if turn.parent is None else (turn.parent,))
        ids = [known[seq].id for seq in above or () if seq in known]
        meta = meta_of(_Columns(turn.role, turn.options, turn.head, turn.flags, turn.extra), ids)
        frames.append(Frame("gpt.turn", turn.id, address_of(turn.hash), meta))
    return frames


def messages_of(turns: Sequence[TurnRow]) -> list[dict[str, Any]]:
    """Give the messages of a resolved context [T-39]."""
    cache, messages = int(Flag.CACHE), []
    for turn in turns:
        blocks = blocks_of(turn)
        if blocks is None:
            continue
        message: dict[str, Any] = {"role": turn.role, "content": blocks}
        if turn.flags & cache:
            message["cache"] = True
        messages.append(message)
    return messages


def records_of(turns: Sequence[TurnRow]) -> list[dict[str, Any]]:
    """Give the thread records of a list [T-38]."""
    return [
        {
            "id": turn.id,
            "role": turn.role,
            "content": blocks_of(turn) or [],
            "options": options_of(turn),
            "cache": bool(turn.flags & Flag.CACHE),
        }
        for turn in turns
    ]


def options_of(turn: TurnRow) -> dict[str, Any]:
    """Give a turn's own options: the delta."""
    return jsontext.loads(turn.options) if turn.options else {}


def merged_options(turns: Sequence[TurnRow]) -> dict[str, Any]:
    """Merge the options of turns in order: later ones win [T-43 to T-45]."""
    merged: dict[str, Any] = {}
    for turn in turns:
        if turn.options:
            merged = merge_options(merged, jsontext.loads(turn.options))
    return merged


# -- order ---------------------------------------------------------------------------------------------------------


def _by_id(turn: TurnRow) -> str:
    return turn.id


def _links(store: FrameReader, rows: Sequence[TurnRow]) -> tuple[dict[int, list[int]], list[tuple[str, str]]]:
    """Gather every turn's parents in the order listed, and what leads nowhere."""
    there = {row.seq for row in rows}
    ids = {row.seq: row.id for row in rows}
    parents = {row.seq: [] if row.parent is None else [row.parent] for row in rows}
    gaps: list[tuple[str, str]] = []
    odd = [row.seq for row in rows if row.flags & _ODD]
    listed: dict[int, list[Link]] = {}
    for link in store.links(odd) if odd else ():
        listed.setdefault(link.child, []).append(link)
    for child, links in listed.items():
        first = parents[child]
        parents[child] = []
        places = {link.position: link for link in links}
        for position in range(max(places) + 1):
            place = places.get(position)
            if place is None:
                parents[child] += first
                first = []
            elif place.parent is not None:
                parents[child].append(place.parent)
            else:
                gaps.append((ids[child], repr(place.ref)))
        parents[child] += first
    for child, above in parents.items():
        gaps += [(ids[child], f"turn number {parent}") for parent in above if parent not in there]
        parents[child] = [parent for parent in above if parent in there]
    return parents, gaps


def _chronological(rows: Sequence[TurnRow], parents: Mapping[int, Sequence[int]]) -> list[TurnRow]:
    """Order by id, every parent before its children; ties and gaps in the order of ids."""
    turns = sorted(rows, key=_by_id)
    place = {turn.seq: index for index, turn in enumerate(turns)}
    if all(place[parent] < place[child] for child, above in parents.items() for parent in above):
        return turns
    waiting = {turn.seq: len(set(parents[turn.seq])) for turn in turns}
    children: dict[int, list[int]] = {}
    for child, above in parents.items():
        for parent in set(above):
            children.setdefault(parent, []).append(child)
    ready = [place[seq] for seq, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    ordered = []
    while ready:
        turn = turns[heapq.heappop(ready)]
        ordered.append(turn)
        for child in children.get(turn.seq, ()):
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, place[child])
    if len(ordered) < len(turns):
        raise _cycle(turns, parents)
    return ordered


def _branch_order(
    rows: Sequence[TurnRow], starts: Sequence[Spot], parents: Mapping[int, Sequence[int]]
) -> list[TurnRow]:
    """Order depth-first, parents in the order listed, each chain together [T-33]."""
    turns = {row.seq: row for row in rows}
    done: dict[int, TurnRow] = {}
    for start in starts:
        todo = [(start.seq, iter(parents.get(start.seq, ())))]
        path = {start.seq}
        if start.seq in done:
            continue
        while todo:
            seq, above = todo[-1]
            parent = next(above, None)
            if parent is None:
                todo.pop()
                path.discard(seq)
                done[seq] = turns[seq]
            elif parent in path:
                raise _cycle(list(rows), parents)
            elif parent not in done:
                path.add(parent)
                todo.append((parent, iter(parents.get(parent, ()))))
    return list(done.values())


def _cycle(turns: Sequence[TurnRow], parents: Mapping[int, Sequence[int]]) -> ThreadCycleError:
    """Name the turns of one circle: from any turn that cannot be ordered, going up must come back."""
    waiting = {turn.seq: len(set(parents.get(turn.seq, ()))) for turn in turns}
    children: dict[int, list[int]] = {}
    for child, above in parents.items():
        for parent in set(above):
            children.setdefault(parent, []).append(child)
    free = [seq for seq, count in waiting.items() if count == 0]
    while free:
        for child in children.get(free.pop(), ()):
            waiting[child] -= 1
            if waiting[child] == 0:
                free.append(child)
    left = {seq for seq, count in waiting.items() if count > 0}
    at = min(left)
    path: dict[int, None] = {}
    while at not in path:
        path[at] = None
        at = next(parent for parent in parents[at] if parent in left)
    on_it = list(path)[list(path).index(at) :]
    ids = {turn.seq: turn.id for turn in turns}
    names = ", ".join(ids[seq] for seq in on_it)
    return ThreadCycleError(f"these turns continue each other in a circle: {names}")
