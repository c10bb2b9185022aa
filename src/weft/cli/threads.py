"""`weft threads`: every conversation, newest first."""

from __future__ import annotations

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
    width_of,
)
from weft.cli.storing import as_json, limited, name_of, with_store

if TYPE_CHECKING:
    from weft.threads import Store, ThreadEntry

__all__ = ["threads"]

_ALL = 1 << 62


@click.command()
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
    from weft.ids import id_time
    from weft.threads import short_length

    length = short_length(store, [entry.id for entry in entries])
    rest = [
        (f"{entry.turns:,}", size_text(entry.size_bytes), cut(", ".join(entry.models) or "-", 30)) for entry in entries
    ]
    taken = length + 16 + sum(max(width_of(cells[at]) for cells in rest) for at in range(3)) + 20
    space = min(room(taken), 60)
    rows = []
    for entry, (turns, size, models) in zip(entries, rest, strict=True):
        names = bookmarks_text(entry.bookmarks)
        title = names + cut(entry.title, max(space - width_of(click.unstyle(names)), 12))
        rows.append((id_text(entry.id, length), local_time(id_time(entry.id)), title, turns, size, models))
    header = ("end", "last turn", "title", "turns", "size", "models")
    click.echo("\n".join(table(header, rows, right=frozenset({3, 4}))))
