"""`weft threads`: every conversation, newest first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from weft.cli.render import (
    EMPTY,
    bookmarks_text,
    cut,
    id_text,
    json_text,
    local_time,
    note,
    room,
    size_text,
    table,
    terminal_width,
    width_of,
)
from weft.cli.storing import as_json, limited, name_of, with_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.threads import Store, ThreadEntry

__all__ = ["threads"]

_ALL = 1 << 62
_TITLE = 32  # columns a title should have, if there are others to leave out


@click.command(short_help="List the ends of threads, newest first.")
@limited(20)
@click.option("--before", metavar="ID", help="Only ends older than this turn, for the next page.")
@as_json
@with_store(reads=True)
def threads(*, store: Store, limit: int, before: str | None, as_json: bool) -> None:
    """List the ends of threads, newest first, with titles, turns, sizes and models.

    Each branch of a conversation ends in a turn of its own and is a line of its own.
    """
    from weft.threads import threads_of

    start = None if before is None else store.find(name_of(store, before))
    found = threads_of(store, limit + 1 if limit else _ALL, start)
    shown = found[:limit] if limit else found
    if as_json:
        click.echo(json_text([_record(entry) for entry in shown]))
        return
    if not shown:
        note(EMPTY if before is None else "there are no older threads")
        return
    _print(store, shown)
    if len(found) > len(shown):
        note(f"… there are older threads: weft threads --before {shown[-1].id}")


def _record(entry: ThreadEntry) -> dict[str, object]:
    from weft.ids import id_time

    record = entry._asdict()
    return {
        **record,
        "models": list(entry.models),
        "bookmarks": list(entry.bookmarks),
        "time": id_time(entry.id).isoformat(timespec="milliseconds"),
    }


def _print(store: Store, entries: list[ThreadEntry]) -> None:
    from weft.threads import short_length

    length = short_length(store, [entry.id for entry in entries])
    rest = {
        "turns": [f"{entry.turns:,}" for entry in entries],
        "size": [size_text(entry.size_bytes) for entry in entries],
        "models": [cut(", ".join(entry.models) or "-", 30) for entry in entries],
    }
    widths = {name: max(map(width_of, [name, *cells])) + 2 for name, cells in rest.items()}
    before = length + 2 + 16 + 2
    narrows = sys.stdout.isatty()
    for least in ("size", "models"):  # a narrow terminal does without, so that a line stays a line
        if narrows and before + sum(widths.values()) + _TITLE > terminal_width():
            del rest[least], widths[least]
    space = min(room(before + sum(widths.values())), 60)
    rows = []
    ends = store.turns([entry.id for entry in entries])
    for at, (entry, end) in enumerate(zip(entries, ends, strict=True)):
        names = bookmarks_text(_fitting(entry.bookmarks, space - 12) if narrows else entry.bookmarks)
        title = names + cut(entry.title, max(space - width_of(click.unstyle(names)), 8 if narrows else 12))
        more = [cells[at] for cells in rest.values()]
        rows.append((id_text(entry.id, length), local_time(end.said_at or end.time), title, *more))
    click.echo(
        "\n".join(table(("end", "last turn", "title", *rest), rows, right=frozenset({3, 4} if "size" in rest else {3})))
    )


def _fitting(names: Sequence[str], space: int) -> list[str]:
    """Give as many names as there is space for, the first one cut short rather than left out."""
    kept = [cut(name, max(space - 6, 6)) for name in names[:1]]
    for name in names[1:]:
        if sum(map(width_of, [*kept, name])) + 2 * len(kept) + 6 > space:
            return [*kept, "…"]
        kept.append(name)
    return kept
