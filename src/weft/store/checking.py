"""Checking rows: that every turn leads where it says, and every payload is what its hash says.

The statements are the same for both databases; `ask` runs one and gives its rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from weft import jsontext
from weft.errors import StoreError
from weft.store.base import TURN, Columns, Flag, Problem
from weft.store.columns import meta_of
from weft.store.packing import unpack
from weft.store.rows import address_of

__all__ = ["check_rows"]

Ask = Callable[..., Sequence[Any]]
ROLES = ("user", "assistant", "system", "developer", "tool")

_ROWS = """
    SELECT f.seq, f.id, f.topic, f.parent, f.flags, f.role, f.options, b.name, f.extra, f.root, f.depth, f.hash,
           f.owner, f.data, f.head
    FROM frames f LEFT JOIN bookmarks b ON b.number = f.head WHERE f.seq > ? ORDER BY f.seq LIMIT 500
"""
# What is in them; and whether it must be. A database keeps to that when it writes, but not when it reads damage.
_COLUMNS = (
    ("seq", int, True),
    ("id", str, True),
    ("topic", str, True),
    ("parent", int, False),
    ("flags", int, True),
    ("role", str, False),
    ("options", str, False),
    ("bookmark", str, False),
    ("extra", str, False),
    ("root", int, False),
    ("depth", int, False),
    ("hash", bytes, False),
    ("owner", int, False),
    ("data", bytes, False),
    ("head", int, False),
)
_NAMES_TOLD = 10
_EDGES = "SELECT child, position, parent FROM edges"
_REFS = "SELECT child, position, ref FROM refs"
_BOOKMARKS = "SELECT name, seq FROM bookmarks WHERE seq IS NOT NULL"


def check_rows(ask: Ask, read_file: Callable[[bytes], bytes]) -> list[Problem]:
    """Go through every row once and name what is wrong."""
    problems: list[Problem] = []
    ids: dict[int, str] = {}
    parents: dict[int, list[int]] = {}
    owners: dict[int, tuple[bytes | None, str, int]] = {}
    places: dict[int, tuple[int, int | None, int]] = {}  # of turns: depth, root, flags
    hashes: dict[int, bytes | None] = {}
    last = -(1 << 62)
    while rows := ask(_ROWS, (last,)):
        for row in rows:
            seq, frame_id, topic, parent, flags, _, _, _, _, root, depth, digest, owner, data, _ = row
            if misfit := _misfit(row):
                ids[seq] = str(frame_id)
                hashes[seq] = None
                problems.append(Problem("row", str(frame_id), f"frame {frame_id}: {misfit}"))
                continue
            ids[seq] = frame_id
            hashes[seq] = digest
            if parent is not None:
                parents.setdefault(seq, []).append(parent)
            if owner is not None:
                owners[seq] = digest, frame_id, owner
            if topic == TURN and depth is not None:
                places[seq] = depth, root, flags
            elif topic == TURN:
                problems.append(Problem("lineage", frame_id, f"turn {frame_id} does not say its place in its thread"))
            problems += _row_problems(row, unpack(data) if data is not None else None, read_file)
        last = rows[-1][0]
    for child, _, parent in ask(_EDGES):
        parents.setdefault(child, []).append(parent)
    problems += _link_problems(ids, parents, owners, hashes)
    for child, _, ref in ask(_REFS):
        problems.append(
            Problem(
                "dangling", ids.get(child, "?"), f"turn {ids.get(child, '?')} continues {ref!r}, which is not there"
            )
        )
    for name, seq in ask(_BOOKMARKS):
        if seq not in ids:
            problems.append(Problem("bookmark", name, f"bookmark {name!r} points at a turn that is not there"))
    problems += _cycles(ids, parents)
    for seq, (depth, root, flags) in places.items():
        if not flags & Flag.LINEAR:
            continue
        above = parents.get(seq, [])
        first = places.get(above[0]) if above else (0, seq, 0)
        if len(above) > 1 or (first is not None and (first[0] + 1, first[1]) != (depth, root)):
            problems.append(
                Problem("lineage", ids[seq], f"turn {ids[seq]} says it is number {depth} of its thread, and is not")
            )
    return problems


def _misfit(row: Any) -> str | None:
    for value, (name, kind, is_needed) in zip(row, _COLUMNS, strict=True):
        if value.__class__ is not kind and (is_needed or value is not None):
            return f"its {name} is {type(value).__name__}, not {kind.__name__}"
    return None


def _row_problems(row: Any, data: bytes | None, read_file: Callable[[bytes], bytes]) -> list[Problem]:
    _, frame_id, topic, _, flags, role, options, head_name, extra, _, _, digest, owner, _, head = row
    found = []
    try:
        meta_of(Columns(role, options, head_name, flags, extra), [])
    except ValueError as error:
        found.append(Problem("meta", frame_id, f"frame {frame_id}: its meta cannot be read ({error})"))
    if topic == TURN and role not in ROLES:
        found.append(Problem("role", frame_id, f"turn {frame_id}: {role!r} is no role"))
    if head is not None and head_name is None:
        found.append(Problem("bookmark", frame_id, f"frame {frame_id} carries a bookmark without a name"))
    if digest is None or owner is not None:
        if data is not None:
            found.append(Problem("payload", frame_id, f"frame {frame_id} has bytes that nothing names"))
        return found
    address = str(address_of(digest))
    if flags & Flag.FILE:
        try:
            data = read_file(digest)
        except StoreError as error:
            return [*found, Problem("content", frame_id, f"frame {frame_id}: {error}")]
    if data is None:
        return [*found, Problem("payload", frame_id, f"frame {frame_id}: the bytes of {address} are missing")]
    if hashlib.sha256(data).digest() != digest:
        return [*found, Problem("hash", frame_id, f"frame {frame_id}: its bytes are not those of {address}")]
    if flags & Flag.JSON:
        try:
            jsontext.loads(data)
        except ValueError as error:
            found.append(Problem("payload", frame_id, f"frame {frame_id}: its content is no JSON ({error})"))
    return found


def _link_problems(
    ids: dict[int, str],
    parents: dict[int, list[int]],
    owners: dict[int, tuple[bytes | None, str, int]],
    hashes: dict[int, bytes | None],
) -> list[Problem]:
    found = []
    for child, above in parents.items():
        child_id = ids.get(child)
        if child_id is None:
            found.append(Problem("edge", str(child), f"an edge starts at sequence number {child}, which no frame has"))
            continue
        found += [
            Problem("dangling", child_id, f"turn {child_id} continues a turn that is not there (number {parent})")
            for parent in above
            if parent not in ids
        ]
    for digest, frame_id, owner in owners.values():
        if owner not in ids or hashes[owner] != digest:
            found.append(
                Problem("payload", frame_id, f"frame {frame_id}: the bytes of {address_of(digest)} are missing")
            )
    return found


def _cycles(ids: dict[int, str], parents: dict[int, list[int]]) -> list[Problem]:
    """Find turns that continue themselves: what is left when turns without parents are taken away again and again."""
    waiting = {child: sum(parent in ids for parent in above) for child, above in parents.items() if child in ids}
    children: dict[int, list[int]] = {}
    for child, above in parents.items():
        for parent in above:
            children.setdefault(parent, []).append(child)
    left = _held(waiting, children, [seq for seq in ids if not waiting.get(seq)])
    # What continues a circle is on none, and there may be very much of that.
    below = {seq: sum(child in left for child in children.get(seq, ())) for seq in left}
    left = _held(below, parents, [seq for seq, count in below.items() if count == 0])
    on_it = list(islice((seq for seq in sorted(left) if _reaches_itself(seq, parents)), _NAMES_TOLD))
    names = ", ".join(ids[seq] for seq in on_it)
    return [Problem("cycle", ids[on_it[0]], f"turns continue each other in a circle: {names}")] if on_it else []


def _held(counts: dict[int, int], holding: Mapping[int, Sequence[int]], free: list[int]) -> set[int]:
    """Take away what is free, and what only that held, again and again; give what is left."""
    while free:
        for each in holding.get(free.pop(), ()):
            if each in counts:
                counts[each] -= 1
                if counts[each] == 0:
                    free.append(each)
    return {seq for seq, count in counts.items() if count > 0}


def _reaches_itself(seq: int, parents: dict[int, list[int]]) -> bool:
    seen: set[int] = set()
    todo = list(parents.get(seq, ()))
    while todo:
        at = todo.pop()
        if at == seq:
            return True
        if at not in seen:
            seen.add(at)
            todo.extend(parents.get(at, ()))
    return False
