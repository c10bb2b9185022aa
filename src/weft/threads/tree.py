"""The tree a turn is in: every branch that shares a beginning with it, in an order that keeps branches together.

Only who continues whom is read, never what was said, so a tree of a hundred thousand turns is a moment's work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from weft.threads.library import Store

__all__ = ["TreeNode", "tree_of"]


class TreeNode(NamedTuple):
    """One turn of a tree and the turns it continues."""

    id: str
    parents: tuple[str, ...]


def tree_of(store: Store, headish: str | None = None, *, whole_store: bool = False) -> list[TreeNode]:
    """List a tree, newest branch first, each turn after everything that continues it.

    Without a headish, the tree of the newest turn; `whole_store` gives every tree.
    """
    start = None
    if not whole_store:
        start = store.latest() if headish is None else store.turn(headish)
        if start is None:
            return []
    ids, parents = _structure(store)
    if start is not None:
        kept = _connected(next(seq for seq, turn_id in ids.items() if turn_id == start.id), parents)
        ids = {seq: turn_id for seq, turn_id in ids.items() if seq in kept}
    order = _branches_together(ids, parents)
    return [TreeNode(ids[seq], tuple(ids[parent] for parent in parents[seq] if parent in ids)) for seq in order]


def _structure(store: Store) -> tuple[dict[int, str], dict[int, list[int]]]:
    ids: dict[int, str] = {}
    parents: dict[int, list[int]] = {}
    for seq, turn_id, parent in store.frames.every_turn():
        ids[seq] = turn_id
        parents[seq] = [] if parent is None else [parent]
    for link in store.frames.links(list(ids)):
        if link.parent is not None:
            parents[link.child].append(link.parent)
    return ids, {seq: [one for one in dict.fromkeys(above) if one in ids] for seq, above in parents.items()}


def _children(parents: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {seq: [] for seq in parents}
    for child, above in parents.items():
        for parent in above:
            children[parent].append(child)
    return children


def _connected(start: int, parents: Mapping[int, Sequence[int]]) -> set[int]:
    children = _children(parents)
    found, todo = {start}, [start]
    while todo:
        at = todo.pop()
        for other in (*parents[at], *children[at]):
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


def _branches_together(ids: Mapping[int, str], parents: Mapping[int, Sequence[int]]) -> list[int]:
    """Put children before parents, and go down one branch before the next is begun: git's --topo-order."""
    waiting = dict.fromkeys(ids, 0)
    for seq in ids:
        for parent in parents[seq]:
            waiting[parent] += 1
    ready = sorted((seq for seq, count in waiting.items() if count == 0), key=ids.__getitem__)
    order: list[int] = []
    while ready:
        seq = ready.pop()
        order.append(seq)
        free = []
        for parent in parents[seq]:
            waiting[parent] -= 1
            if waiting[parent] == 0:
                free.append(parent)
        ready += reversed(free)  # the first parent's branch comes next
    if len(order) < len(ids):  # turns that continue each other in a circle have no first one
        seen = set(order)
        order += sorted((seq for seq in ids if seq not in seen), key=ids.__getitem__, reverse=True)
    return order
