"""`weft log`: the turns of a thread, or of everything, newest first; with `--graph` as a tree."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from weft.cli.completing import bookmarks
from weft.cli.render import (
    EMPTY,
    bookmarks_text,
    coloured,
    counted,
    cut,
    id_text,
    json_text,
    note,
    role_text,
    room,
)
from weft.cli.storing import as_json, limited, name_of, with_store

if TYPE_CHECKING:
    from weft.threads import LogEntry, Store, TreeNode

__all__ = ["log"]

_CHUNK = 200  # lines written at once


@click.command()
@click.argument("headish", required=False, shell_complete=bookmarks)
@click.option("--graph", is_flag=True, help="Draw the tree: every branch that shares a beginning with the thread.")
@click.option("--all", "everything", is_flag=True, help="All turns of the store, not one thread.")
@limited(20)
@click.option("--before", metavar="ID", help="With --all: only turns older than this one, for the next page.")
@as_json
@with_store(reads=True)
def log(
    *,
    store: Store,
    headish: str | None,
    graph: bool,
    everything: bool,
    limit: int,
    before: str | None,
    as_json: bool,
) -> None:
    """List the turns of a thread, newest first.

    HEADISH is a bookmark, a turn id, or the beginning of one; without it, the newest turn. Bookmarks stand in
    parentheses before the turn's first words. The ids shown are as short as can be and are taken by every command.
    """
    if everything and headish is not None:
        raise click.UsageError("--all lists everything; leave it out, or HEADISH")
    if before is not None and (not everything or graph):
        raise click.UsageError("--before goes with --all, without --graph")
    name = None if headish is None else name_of(store, headish)
    nodes: list[TreeNode] = []
    if graph:
        from weft.threads import tree_of

        nodes = tree_of(store, name, whole_store=everything)
        shown, left = [node.id for node in nodes[: limit or None]], max(0, len(nodes) - limit) if limit else 0
    else:
        shown, left = _page(store, name, limit, before if before is None else name_of(store, before), everything)
    if as_json:
        parents = {node.id: node.parents for node in nodes}
        click.echo(json_text(_records(store, shown, parents)))
        return
    _print(store, shown, nodes if graph else None)
    if not shown:
        note(EMPTY)
    elif left:
        which = f"{counted(left, 'older turn')}" if graph else "there are older turns"
        more = f" --all --before {shown[-1]}" if everything and not graph else f" -n {limit * 10}"
        note(f"… {which}: weft log{_again(headish, graph, everything)}{more}, or -n 0 for all")


def _again(headish: str | None, graph: bool, everything: bool) -> str:
    words = [headish or "", "--graph" if graph else "", "--all" if everything and graph else ""]
    return "".join(f" {word}" for word in words if word)


def _page(store: Store, name: str | None, limit: int, before: str | None, everything: bool) -> tuple[list[str], int]:
    """Give the ids of a page, and how many more there are at least."""
    from weft.threads import log_of

    if not everything:
        ids, has_more = log_of(store, name, limit or None)
        return ids, int(has_more)
    start = None if before is None else store.find(before)
    frames = store.frames.turns_before(start, limit + 1 if limit else 1 << 62)
    ids = [frame.id for frame in frames]
    return (ids[:limit], len(ids) - limit) if limit and len(ids) > limit else (ids, 0)


def _print(store: Store, ids: list[str], nodes: Iterable[TreeNode] | None) -> None:
    from weft.cli.graph import draw
    from weft.threads import entries_of, short_length

    length = short_length(store, ids)
    entries = iter(entries_of(store, ids))
    rows: Iterator[tuple[str, str | None]] = (
        (("", turn_id) for turn_id in ids)
        if nodes is None
        else draw(nodes, plain=not _knows_lines(), coloured=coloured())
    )
    lines = _lines(rows, entries, len(ids), length)
    while chunk := list(islice(lines, _CHUNK)):
        click.echo("\n".join(chunk))


def _lines(
    rows: Iterable[tuple[str, str | None]], entries: Iterator[LogEntry], count: int, length: int
) -> Iterator[str]:
    for drawing, turn_id in rows:
        if turn_id is None:
            yield drawing.rstrip()
            continue
        if count == 0:
            return
        count -= 1
        yield _line(drawing, next(entries), length)


def _line(drawing: str, entry: LogEntry, length: int) -> str:
    names = bookmarks_text(entry.bookmarks)
    before = f"{drawing}{id_text(entry.id, length)}  {role_text(entry.role)}  {names}"
    return (before + cut(entry.gist, room(before))).rstrip()


def _knows_lines() -> bool:
    """Tell whether what is written to can show lines: with LANG=C they would be escapes."""
    try:
        "●│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _records(store: Store, ids: list[str], parents: dict[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    from weft.ids import id_time
    from weft.threads import entries_of

    return [
        {
            "id": entry.id,
            "role": entry.role,
            "gist": entry.gist,
            "time": id_time(entry.id).isoformat(timespec="milliseconds"),
            "model": entry.model,
            "bookmarks": list(entry.bookmarks),
            "parents": list(parents[entry.id]) if entry.id in parents else store.parent_ids(entry.id),
        }
        for entry in entries_of(store, ids)
    ]
