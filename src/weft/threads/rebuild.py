"""Changing the middle of a thread: edit, drop, branch, merge.

Turns never change, so a change writes a new chain from the first turn it touches on, and the old chain stays. Calls and
their results stay together: without its call a result is left out, without its result a call cannot be sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft import jsontext
from weft.errors import InvalidContentError, UsageError
from weft.store import TURN, Draft, FrameStore, FrameWriter, Spot, TurnRow, meta_of
from weft.store import Columns as _Columns
from weft.threads.append import Addition, Stored, add
from weft.threads.blocks import blocks_of
from weft.threads.headish import Headish, check_bookmark_name, find
from weft.threads.resolve import walk

__all__ = ["drop", "edit", "merge", "newest_end"]

Blocks = list[dict[str, Any]]


@dataclass(slots=True)
class _Change:
    """What happens to the blocks of a thread: `blocks` by turn (None: the turn goes), and what follows for calls."""

    blocks: dict[int, Blocks | None]
    renamed: dict[str, str] = field(default_factory=dict)
    lost_calls: set[str] = field(default_factory=set)  # whose results go too
    lost_results: set[str] = field(default_factory=set)  # whose calls go too


def edit(
    store: FrameStore, headish: Headish, blocks: Blocks, *, end: Headish | None = None, bookmark: str | None = None
) -> str:
    """Put other content into one turn: a new chain with everything after it, up to `end`; give the new end's id."""
    return _rebuild(store, headish, blocks, end, bookmark)


def drop(store: FrameStore, headish: Headish, *, end: Headish | None = None, bookmark: str | None = None) -> str:
    """Leave one turn out: a new chain without it, and without the other half of its calls and results."""
    return _rebuild(store, headish, None, end, bookmark)


def merge(
    store: FrameStore,
    headishes: Sequence[Headish],
    *,
    content: bytes | None = None,
    bookmark: str | None = None,
    move_bookmark: bool = False,
) -> Stored:
    """Join threads in a turn that continues all of them; without content it says nothing itself."""
    if len(headishes) < 2:
        raise UsageError("merging takes two turns or more")
    turn = Addition(content, continues=list(headishes), bookmark=bookmark, move_bookmark=move_bookmark)
    if content is None:
        turn.content_type = None
    return store.write(lambda writer: add(writer, turn))


def newest_end(store: FrameStore, spot: Spot) -> str:
    """Find the end of the thread a turn is in: its bookmark's turn if that is further on, else the newest way on."""
    if spot.head is not None and spot.head_is_kept:
        holder = store.bookmark_spot(spot.head)
        if holder is not None and store.descends([holder.seq], spot.seq):
            return holder.id
    at = spot.id
    while children := store.children([at]):
        at = max(child for _, child in children)
    return at


def _rebuild(
    store: FrameStore, headish: Headish, blocks: Blocks | None, end: Headish | None, bookmark: str | None
) -> str:
    if bookmark is not None:
        check_bookmark_name(bookmark)
    spot = find(store, headish)
    last = find(store, newest_end(store, spot) if end is None else end)
    turns = walk(store, [last])
    target = next((turn for turn in turns.turns if turn.seq == spot.seq), None)
    if target is None:
        raise UsageError(f"turn {spot.id} is not part of the thread that ends in {last.id}")
    change = _consequences(target, blocks, turns.turns)
    contents = {turn.seq: _changed(turn, change) for turn in turns.turns}

    def write(writer: FrameWriter) -> str:
        now: dict[int, list[Spot]] = {}  # what stands in a turn's place
        old = {at.seq: at for at in writer.spots_at([turn.seq for turn in turns.turns])}
        for turn in turns.turns:
            above = turns.parents_of(turn)
            parents = list({p.seq: p for seq in above for p in now.get(seq, [])}.values())
            moved = any(seq not in now or [p.seq for p in now[seq]] != [seq] for seq in above)
            content = contents[turn.seq]
            if content is None:
                now[turn.seq] = parents
            elif not moved and content is _SAME:
                now[turn.seq] = [old[turn.seq]]
            else:
                now[turn.seq] = [_write_again(writer, turn, content, parents, bookmark)]
        ends = now[last.seq]
        if not ends:
            raise UsageError("nothing would be left of the thread")
        return ends[0].id

    return store.write(write)


_SAME: Any = object()


def _write_again(
    writer: FrameWriter, turn: TurnRow, content: Any, parents: Sequence[Spot], bookmark: str | None
) -> Spot:
    ids = [parent.id for parent in parents]
    meta = meta_of(_Columns(turn.role, turn.options, turn.head, turn.flags, turn.extra), ids)
    if "continues" in meta or ids:
        meta["continues"] = ids
    if bookmark is not None:
        meta["head"] = bookmark
    meta["replays"] = turn.id
    payload = turn.data if content is _SAME else jsontext.dumps(content)
    if content is not _SAME:
        meta["content_type"] = "application/json"
        meta.pop("type", None)
    turn_id, _, _ = writer.append(Draft(TURN, meta, payload, parents))
    spot = writer.spots([turn_id])[0]
    if spot is None:
        raise UsageError("a turn vanished while it was written")
    return spot


def _consequences(target: TurnRow, blocks: Blocks | None, turns: Sequence[TurnRow]) -> _Change:
    """Work out what a change of one turn means for the calls and results of the others."""
    change = _Change({target.seq: blocks})
    old = blocks_of(target) or []
    old_calls, new_calls = _calls(old), _calls(blocks or [])
    spare = {call: name for call, name in new_calls.items() if call not in old_calls}
    for call, name in old_calls.items():
        if call in new_calls:
            continue
        twin = next((other for other, other_name in spare.items() if other_name == name), None)
        if twin is None:
            change.lost_calls.add(call)
        else:
            change.renamed[call] = twin
            del spare[twin]
    lost = _results(old) - _results(blocks or [])
    if blocks is None:
        change.lost_results = lost
    elif lost:
        raise InvalidContentError(
            f"the edited turn no longer answers {', '.join(sorted(lost))}; every call needs its result: "
            "drop the turn instead"
        )
    answered = set().union(*(_results(blocks_of(turn) or []) for turn in turns if turn.seq > target.seq), set())
    is_last = all(turn.seq <= target.seq for turn in turns)
    if spare and not is_last and not spare.keys() <= answered:
        raise InvalidContentError(
            f"the edited turn calls {', '.join(sorted(spare))}, and no turn after it has the result"
        )
    return change


def _changed(turn: TurnRow, change: _Change) -> Any:
    """Give a turn's new blocks, None if nothing is left of it, or the mark for unchanged."""
    if turn.seq in change.blocks:
        return change.blocks[turn.seq]
    blocks = blocks_of(turn)
    if not blocks or not (change.renamed or change.lost_calls or change.lost_results):
        return _SAME
    kept = [fixed for block in blocks if (fixed := _fixed(block, change)) is not None]
    if kept == blocks:
        return _SAME
    return kept or None


def _fixed(block: Any, change: _Change) -> Any:
    match block:
        case {"type": "tool_use", "id": str(call)} if call in change.lost_results:
            return None
        case {"type": "tool_result", "tool_use_id": str(call)}:
            if call in change.lost_calls:
                return None
            if call in change.renamed:
                return {**block, "tool_use_id": change.renamed[call]}
    return block


def _calls(blocks: Sequence[Any]) -> dict[str, str]:
    return {
        block["id"]: str(block.get("name"))
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") == "tool_use" and isinstance(block.get("id"), str)
    }


def _results(blocks: Sequence[Any]) -> set[str]:
    return {
        block["tool_use_id"]
        for block in blocks
        if isinstance(block, Mapping)
        and block.get("type") == "tool_result"
        and isinstance(block.get("tool_use_id"), str)
    }
