"""Removing and forgetting: branches nobody needs, files nobody names, and secrets that must be gone for good.

These are the only ways anything leaves the log. Each leaves a frame that says that something was removed, not what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from weft import jsontext
from weft.errors import UsageError
from weft.ids import id_time, new_id
from weft.store import Draft, FrameStore, FrameWriter
from weft.threads.headish import Headish, find
from weft.threads.spool import Change

__all__ = ["Removal", "change_of_payload", "change_of_text", "gc", "purge_text", "purge_turn", "rm"]

REMOVED = "weft.removed"
MARK = "[purged]"
_KEPT = ("role", "options", "head", "continues", "cache")  # of a purged turn: its place, not what it says


@dataclass(frozen=True, slots=True)
class Removal:
    """What went, or would go."""

    turns: tuple[str, ...]
    files: int
    bytes: int
    dry_run: bool


def rm(store: FrameStore, headish: Headish, *, with_rest: bool = False, dry_run: bool = False) -> Removal:
    """Remove the end of a thread, back to where another turn or a bookmark still needs it.

    A turn that others continue is removed only with them (`with_rest`).
    """
    spot = find(store, headish)
    # The name the caller used does not hold the turn; any other does.
    held = {row.id for row in store.bookmarks() if row.name != headish}
    going: dict[str, None] = {}
    todo = [spot.id]
    while todo:
        going.update(dict.fromkeys(todo))
        todo = [child for _, child in store.children(todo) if child not in going]
    if len(going) > 1 and not with_rest:
        raise UsageError(
            f"{len(going) - 1} turns continue {spot.id}; remove them with it (with_rest), or choose an end"
        )
    if kept := [turn_id for turn_id in going if turn_id in held]:
        raise UsageError(f"turn {kept[0]} has a bookmark; delete the bookmark first")
    _take_ancestors(store, spot.id, going, held)
    ids = sorted(going)
    if not dry_run:
        _remove(store, ids)
        files, size = store.sweep(dry_run=False)
        return Removal(tuple(ids), files, size, dry_run)
    return Removal(tuple(ids), 0, 0, dry_run)


def _take_ancestors(store: FrameStore, turn_id: str, going: dict[str, None], held: set[str]) -> None:
    """Add ancestors that nothing else needs."""
    todo = store.parent_ids(turn_id)
    while todo:
        parent = todo.pop()
        if parent in going or parent in held:
            continue
        if all(child in going for _, child in store.children([parent])):
            going[parent] = None
            todo += store.parent_ids(parent)


def gc(store: FrameStore, *, unnamed_before: datetime | None = None, dry_run: bool = False) -> Removal:
    """Sweep files no turn names; and if a time is given, older turns that no bookmark leads to."""
    ids: list[str] = []
    if unnamed_before is not None:
        named = store.spots([row.id for row in store.bookmarks()])
        starts = [spot for spot in named if spot is not None]
        kept = {turn.seq for turn in store.walk(starts)} if starts else set()
        every = list(store.every_turn())
        young = [seq for seq, turn_id, _ in every if seq not in kept and id_time(turn_id) >= unnamed_before]
        spots = store.spots_at(young)
        kept |= {turn.seq for turn in store.walk(spots)} if spots else set()
        ids = [turn_id for seq, turn_id, _ in every if seq not in kept]
        if ids and not dry_run:
            _remove(store, ids)
    files, size = store.sweep(dry_run=dry_run)
    return Removal(tuple(ids), files, size, dry_run)


def _remove(store: FrameStore, ids: Sequence[str]) -> None:
    def write(writer: FrameWriter) -> None:
        seqs = [spot.seq for spot in writer.spots(ids) if spot is not None]
        writer.remove(seqs)
        # Also keeps the log's last number above every removed one, so that none is given twice.
        writer.append(Draft(REMOVED, {"count": len(seqs)}))

    store.write(write)


def change_of_text(secret: str) -> Change:
    """Give what puts a mark in the place of a text, in what is said about a turn and in its payload."""
    needle = secret.encode("utf-8", "surrogatepass")

    def change(about: dict[str, Any], payload: bytes | None) -> tuple[dict[str, Any], bytes | None]:
        if payload is not None and (needle in payload or _in_json(payload, secret)):
            payload = _without(payload, needle, secret)
        return _replaced(about, secret), payload

    return change


def change_of_payload(forgotten: bytes) -> Change:
    """Give what puts a mark in the place of a whole payload."""
    return lambda about, payload: (about, _purged_payload() if payload == forgotten else payload)


def purge_turn(store: FrameStore, headish: Headish) -> Removal:
    """Forget what a turn says, here and in every other turn that says the same; its place in the thread stays."""
    spot = find(store, headish)
    row = store.rows([spot.id])[0]
    if row.hash is None:
        return Removal((), 0, 0, dry_run=False)

    def change(meta: dict[str, Any], payload: bytes | None) -> tuple[dict[str, Any], bytes | None]:
        kept: dict[str, Any] = {key: meta[key] for key in _KEPT if key in meta}
        del payload
        return {**kept, "content_type": "application/json", "purged": True}, _purged_payload()

    return _purge(store, lambda _, payload: payload == row.data, change)


def purge_text(store: FrameStore, secret: str) -> Removal:
    """Forget a text wherever it was said: content, meta, files, the search index and free pages."""
    if len(secret.strip()) < 4:
        raise UsageError("a text to purge has four characters at least")
    needle = secret.encode("utf-8", "surrogatepass")

    def holds(meta: dict[str, Any], payload: bytes | None) -> bool:
        if payload is not None and (needle in payload or _in_json(payload, secret)):
            return True
        return _contains(meta, secret)

    names = [row.name for row in store.bookmarks() if secret in row.name]
    if names:
        raise UsageError(f"bookmark {names[0]!r} holds that text; rename it first")
    from weft.store import forget_text  # noqa: PLC0415  # only this needs it

    return _purge(store, holds, change_of_text(secret), lambda writer: forget_text(writer, secret, MARK))


def _purge(
    store: FrameStore,
    holds: Callable[[dict[str, Any], bytes | None], bool],
    change: Callable[[dict[str, Any], bytes | None], tuple[dict[str, Any], bytes | None]],
    also: Callable[[FrameWriter], list[str]] = lambda _: [],
) -> Removal:
    def write(writer: FrameWriter) -> list[str]:
        found = []
        for seq, frame_id, meta, payload in writer.every_frame():
            if holds(meta, payload):
                found.append((seq, frame_id, meta, payload))
        for seq, _, meta, payload in found:
            new_meta, new_payload = change(meta, payload)
            writer.rewrite(seq, new_payload, new_meta)
        recorded = also(writer)  # recorded exchanges, by name
        if found or recorded:
            writer.note("era", new_id())
            writer.append(Draft("weft.purged", {"count": len(found) + len(recorded)}))
        return [*(frame_id for _, frame_id, _, _ in found), *recorded]

    ids = store.write(write)
    files, size = store.sweep(dry_run=False)
    store.scrub()
    return Removal(tuple(ids), files, size, dry_run=False)


def _purged_payload() -> bytes:
    return jsontext.dumps([{"type": "text", "text": MARK}])


def _in_json(payload: bytes, secret: str) -> bool:
    """Look behind JSON's escapes, where a byte search would miss the text."""
    if b"\\" not in payload:
        return False
    try:
        return _contains(jsontext.loads(payload), secret)
    except ValueError:
        return False


def _without(payload: bytes, needle: bytes, secret: str) -> bytes:
    try:
        return jsontext.dumps(_replaced(jsontext.loads(payload), secret))
    except ValueError:
        return payload.replace(needle, MARK.encode())


def _contains(value: Any, secret: str) -> bool:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            if secret in item:
                return True
        elif isinstance(item, dict):
            todo += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            todo += item
    return False


def _replaced(value: Any, secret: str) -> Any:
    if isinstance(value, str):
        return value.replace(secret, MARK)
    if isinstance(value, dict):
        return {_replaced(key, secret): _replaced(item, secret) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, secret) for item in value]
    return value
