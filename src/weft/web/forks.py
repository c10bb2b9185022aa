"""Forks: the turn that a run answers, written beside what is there. Nothing that exists is changed.

A name stays where it is: a fork of a thread that has one gets a name of its own (`notes-2`), unless it goes on from the
very turn the name is on.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from weft.errors import UsageError
from weft.jsontext import dumps, loads
from weft.store import Flag, TurnRow, merge_options
from weft.threads import Addition, Store, Thread, Turn, check_bookmark_name
from weft.trace import import_exchanges
from weft.web.answers import RefusedError
from weft.web.blocks import blocks_from_bodies
from weft.web.matching import Edit, matched
from weft.web.threadsource import ThreadsSource
from weft.web.values import Body, BodyCall, Captured

__all__ = ["Fork", "fork_of", "write_fork"]

Options: TypeAlias = Mapping[str, Any]
_CAPTURED = ("request", "marks", "forms")  # what a turn of an imported request says beside its message


@dataclass(frozen=True, slots=True)
class Fork:
    """What is asked for."""

    model: str = ""
    edits: Sequence[Edit] = ()
    append: str | None = None
    servers: Sequence[str] | None = None
    bookmark: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


def fork_of(body: Mapping[str, Any]) -> Fork:
    """Read a RunRequest."""
    edits: list[Edit] = []
    for edit in _list(body, "edits"):
        match edit:
            case {"message_id": str(message_id), "drop": True}:
                edits.append(Edit(message_id, _which(edit), None))
            case {"message_id": str(message_id), "text": str(said)}:
                edits.append(Edit(message_id, _which(edit), said))
            case _:
                raise RefusedError(400, "parameter", "an edit has a message_id and a text")
    servers = body.get("servers")
    if servers is not None and not (isinstance(servers, list) and all(isinstance(each, str) for each in servers)):
        raise RefusedError(400, "parameter", "servers is a list of names")
    bookmark = _text(body, "bookmark")
    if bookmark is not None:
        check_bookmark_name(bookmark)
    return Fork(_text(body, "model") or "", edits, _text(body, "append"), servers, bookmark)


def _which(edit: Mapping[str, Any]) -> int:
    which = edit.get("occurrence", 0)
    return which if isinstance(which, int) and not isinstance(which, bool) and which >= 0 else 0


def _list(body: Mapping[str, Any], name: str) -> list[Any]:
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RefusedError(400, "parameter", f"{name} is a list")
    return value


def _text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise RefusedError(400, "parameter", f"{name} is a text")
    return value or None


def write_fork(source: ThreadsSource, base: str | Captured | Sequence[Body], fork: Fork, *, now_ms: int) -> Turn:
    """Write what is new of a fork; give the turn to be answered."""
    store = source.store
    held: Options = {}
    if isinstance(base, Captured):
        imported = import_exchanges(store.frames, [base.record], now_ms=now_ms).requests[0]
        if imported.turn_id is None:
            raise RefusedError(400, "base", f"this request cannot be continued: {imported.problem}")
        edits = matched(source, imported.turn_id, base.bodies, fork.edits)
        if edits is None:  # shown in other pieces than it is kept in: made anew of what is shown
            held, base = _held(store, imported.turn_id), base.bodies
        else:
            fork, base = replace(fork, edits=edits), imported.turn_id
    if isinstance(base, str):
        row = store.row(base)
        if fork.append is None and row.role == "assistant":
            above = store.parent_ids(base)
            if not above:
                raise RefusedError(400, "base", "this answer has no question before it: say something to go on with")
            held, base = _held(store, base), above[0]
        if fork.edits:
            return _edited(source, base, fork, held)
        return _continued(store, base, fork, {} if held == _held(store, base) else held)
    bodies = _with_edits(base, fork)
    records = blocks_from_bodies(bodies, loads)
    if fork.append is None:
        while records and records[-1]["role"] == "assistant":
            records.pop()
    if not records:
        raise RefusedError(400, "base", "nothing is left to be answered")
    last = store.import_messages(records)[-1].id
    if held and fork.append is not None:
        row, held = store.row(last), _unmarked(held)
        last = _again(store, row, row.data, store.parent_ids(last), None, None, held).id
        held = {}
    return _continued(store, last, fork, _unmarked(held))


def _held(store: Store, turn_id: str) -> Options:
    """Give what a captured request said besides its messages, as far as it holds at a turn: tools, settings."""
    options = store.thread(turn_id, on_gap="mark").options
    return {key: options[key] for key in _CAPTURED if key in options} if options.get("request") is not None else {}


def _unmarked(held: Options) -> Options:
    """Leave out where a request's cache marks were, and how it was spelled: of other messages neither holds."""
    return {**held, "marks": [], "forms": []} if held.get("request") is not None else held


def _continued(store: Store, base: str, fork: Fork, held: Options) -> Turn:
    turn = store.turn(base)
    name = fork.bookmark or _own_name(store, turn, goes_on=fork.append is not None)
    if fork.append is not None:
        return store.add_turn(
            fork.append, continues=base, bookmark=name, provider_ptr=fork.model or None, servers=fork.servers
        )
    if name is None and fork.servers is None and not held:
        return turn  # another answer beside those there are
    row = store.row(base)
    return _again(store, row, row.data, store.parent_ids(base), name, fork.servers, held)


def _own_name(store: Store, turn: Turn, *, goes_on: bool) -> str | None:
    """Give a name that is free, if what is written would otherwise take one along that others know."""
    held = {row.name: row.id for row in store.bookmarks()}
    name = turn.bookmark
    if name is None or name not in held or (goes_on and held[name] == turn.id):
        return None
    stem = name.rstrip("0123456789").removesuffix("-") if name.rpartition("-")[2].isdigit() else name
    return next(free for number in itertools.count(2) if (free := f"{stem}-{number}") not in held)


def _edited(source: ThreadsSource, base: str, fork: Fork, held: Options) -> Turn:
    """Write the thread again from the first edited turn on; `held` holds at its end."""
    store = source.store
    thread = store.thread(base, on_gap="mark")
    turns = thread.walk.turns
    changed = _changes(source, turns, fork)
    first = next((at for at, row in enumerate(turns) if row.seq in changed), None)
    if first is None:
        raise RefusedError(404, "not_found", "the edited message is not part of this thread")
    above = _ends(thread, first)
    name = fork.bookmark or _own_name(store, store.turn(base), goes_on=False)
    kept: list[tuple[TurnRow, Options]] = []
    said: Options = {}  # what turns that are left out said besides their messages: it holds from the next one on
    for row in turns[first:]:
        said = merge_options(said, loads(row.options) if row.options else {})
        if changed.get(row.seq) != []:
            kept.append((row, said))
            said = {}
    if fork.append is None:
        said = {**said, **held}
        if not kept and not above:
            raise RefusedError(400, "base", "nothing is left to be answered")
        if not kept and len(above) > 1:  # the turn that joined them is left out: the last of them does it now
            kept, above = [(turns[first - 1], {})], _ends(thread, first - 1)
        if (kept[-1][0] if kept else store.row(above[0])).role == "assistant":
            raise RefusedError(400, "base", "after this edit the thread ends in an answer: say something to go on with")
        if not kept:
            return _continued(store, above[0], fork, _unmarked(said))
    for at, (row, own) in enumerate(kept, 1):
        is_last = at == len(kept) and fork.append is None
        payload = dumps(changed[row.seq]) if row.seq in changed else row.data
        options = _unmarked({**own, **said} if is_last else own)
        turn = _again(store, row, payload, above, name, fork.servers if is_last else None, options)
        if is_last:
            return turn
        above, name = [turn.id], None
    options = {**_unmarked(said), **({"provider_ptr": fork.model} if fork.model else {})}
    if fork.servers is not None:
        options["servers"] = list(fork.servers)
    return store.add(
        Addition(dumps([{"type": "text", "text": fork.append}]), "user", above, options=options, bookmark=name)
    )


def _ends(thread: Thread, count: int) -> list[str]:
    """Give the turns that the first turns of a thread end in: one, or each of those that are joined further down."""
    above = thread.walk.turns[:count]
    continued = {seq for row in above for seq in thread.walk.parents_of(row)}
    return [row.id for row in above if row.seq not in continued]


def _changes(source: ThreadsSource, rows: Sequence[TurnRow], fork: Fork) -> dict[int, list[Any]]:
    """Give the new blocks of every turn that is edited."""
    wanted = {(message_id, which): said for message_id, which, said in fork.edits}
    seen: dict[str, int] = {}
    changed: dict[int, list[Any]] = {}
    for row in rows:
        blocks: list[Any] | None = None
        for number, message_id in enumerate(source.message_ids(row)):
            which = seen.get(message_id, 0)
            seen[message_id] = which + 1
            if (message_id, which) not in wanted:
                continue
            said = wanted[message_id, which]
            if row.flags & Flag.DOCUMENT:
                if said is not None:
                    raise RefusedError(400, "edit", "a document is not edited here; it can be left out")
                blocks = []
                continue
            blocks = list(source.blocks(row)) if blocks is None else blocks
            blocks[number] = None if said is None else _said(blocks[number], said)
        if blocks is not None:
            changed[row.seq] = [block for block in blocks if block is not None]
    return changed


def _said(block: Any, text: str) -> Any:
    """Put other words into a block; thinking is signed by who thought it, and stays as it is."""
    match block:
        case {"type": "text"}:
            return {**block, "text": text}
        case {"type": "tool_result"}:
            return {**block, "content": [{"type": "text", "text": text}]}
        case {"type": "tool_use"}:
            return {**block, "input": _arguments(text)}
    raise RefusedError(400, "edit", "only what was said, asked of a tool or answered by one can be edited")


def _arguments(text: str) -> Any:
    try:
        value = loads(text)
    except ValueError as problem:
        raise RefusedError(400, "edit", f"arguments are JSON: {problem}") from None
    if not isinstance(value, dict):
        raise RefusedError(400, "edit", "arguments are a JSON object")
    return value


def _again(
    store: Store,
    row: TurnRow,
    payload: bytes | None,
    above: Sequence[str],
    name: str | None,
    servers: Sequence[str] | None,
    held: Options,
) -> Turn:
    """Write a turn once more, elsewhere."""
    options = {**(loads(row.options) if row.options else {}), **held}
    if servers is not None:
        options["servers"] = list(servers)
    extra = dict(loads(row.extra)) if row.extra else {}
    for key in ("frame_id", "head", "continues", "role", "options"):
        extra.pop(key, None)
    kind = extra.pop("content_type", None) if row.flags & Flag.DOCUMENT else None
    return store.add(
        Addition(
            payload,
            row.role,
            list(above),
            options=options,
            bookmark=name,
            cache=bool(row.flags & Flag.CACHE),
            content_type=kind or "application/json",
            extra={**extra, "replays": row.id},
        )
    )


def _with_edits(bodies: Sequence[Body], fork: Fork) -> list[Body]:
    wanted = {(message_id, which): said for message_id, which, said in fork.edits}
    seen: dict[str, int] = {}
    edited: list[Body] = []
    for body in bodies:
        which = seen.get(body.id, 0)
        seen[body.id] = which + 1
        if (body.id, which) not in wanted:
            edited.append(body)
            continue
        said = wanted.pop((body.id, which))
        if said is None:
            continue
        if body.role == "tool_use" and len(body.calls) == 1 and not body.content:
            call = BodyCall(body.calls[0].name, body.calls[0].id, dumps(_arguments(said)).decode())
            edited.append(Body(body.id, body.role, "", (call,)))
        else:
            kept = (body.calls, body.tool_use_id, body.is_error)
            edited.append(Body(body.id, body.role, said, *kept))
    if wanted:
        raise UsageError("the edited message is not part of this request")
    return edited
