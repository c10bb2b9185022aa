"""`weft bookmark` and `weft branch`: names for turns."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from weft.cli.completing import bookmarks
from weft.cli.helping import Listing
from weft.cli.render import cut, id_text, json_text, note, room, table, terminal_width, visible, width_of
from weft.cli.storing import as_json, name_of, store_option, with_store

if TYPE_CHECKING:
    from weft.threads import Store

__all__ = ["bookmark", "branch"]

_WORDS = 16  # columns below which a narrow terminal does without a turn's words; names are never cut here


@click.group(cls=Listing, invoke_without_command=True)
@as_json
@store_option
@click.pass_context
def bookmark(ctx: click.Context, *, as_json: bool, address: str | None) -> None:
    """List bookmarks, or set, move, rename and delete them.

    A bookmark is a name for a turn. It moves along by itself as turns continue it.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json, address=address)
    elif as_json or address is not None:
        raise click.UsageError(f"put the options after the word: weft bookmark {ctx.invoked_subcommand} …", ctx)


@bookmark.command("list")
@as_json
@with_store(reads=True)
def list_(*, store: Store, as_json: bool) -> None:
    """List every bookmark, newest first."""
    _list(store, as_json=as_json)


def _list(store: Store, *, as_json: bool) -> None:
    from weft.threads import entries_of, short_length

    rows = store.bookmarks()
    if as_json:
        click.echo(json_text([{"name": row.name, "id": row.id, "turns": row.depth} for row in rows]))
        return
    if not rows:
        note("there are no bookmarks yet; set one: weft bookmark set NAME HEADISH")
        return
    ids = list(dict.fromkeys(row.id for row in rows))
    gists = {entry.id: entry.gist for entry in entries_of(store, ids)}
    length = short_length(store, ids)
    longest = max(width_of(row.name) for row in rows)
    taken = longest + length + 13
    has_words = not sys.stdout.isatty() or terminal_width() - taken >= _WORDS
    cells = [
        (
            click.style(visible(row.name), fg="bright_green", bold=True),
            id_text(row.id, length),
            f"{row.depth:,}",
            *([cut(gists.get(row.id, ""), room(taken))] if has_words else []),
        )
        for row in rows
    ]
    header = ("bookmark", "turn", "turns", "last words")[: len(cells[0])]
    click.echo("\n".join(table(header, cells, right=frozenset({2}))))


@bookmark.command("set")
@click.argument("name", shell_complete=bookmarks)
@click.argument("headish", required=False, shell_complete=bookmarks)
@with_store(reads=False)
def set_(*, store: Store, name: str, headish: str | None) -> None:
    """Put NAME on a turn; without HEADISH, on the newest."""
    _put(store, name, headish, move=False)


@bookmark.command("move")
@click.argument("name", shell_complete=bookmarks)
@click.argument("headish", required=False, shell_complete=bookmarks)
@with_store(reads=False)
def move(*, store: Store, name: str, headish: str | None) -> None:
    """Move NAME to another turn; without HEADISH, to the newest."""
    store.find(name_of(store, name))
    _put(store, name, headish, move=True)


def _put(store: Store, name: str, headish: str | None, *, move: bool) -> None:
    from weft.errors import BookmarkConflictError

    target = _target(store, headish)
    try:
        turn = store.set_bookmark(name, target, move=move)
    except BookmarkConflictError as error:
        first = str(error).partition(";")[0]
        raise BookmarkConflictError(f"{first}\n  take it along: weft bookmark move {name} {target}") from error
    click.echo(turn.id)


def _target(store: Store, headish: str | None) -> str:
    from weft.errors import UsageError

    if headish is not None:
        return name_of(store, headish)
    latest = store.latest()
    if latest is None:
        raise UsageError('the store has no turns yet, so there is nothing to put a name on\n  ask something: weft "…"')
    return latest.id


@bookmark.command("rename")
@click.argument("old", shell_complete=bookmarks)
@click.argument("new")
@with_store(reads=False)
def rename(*, store: Store, old: str, new: str) -> None:
    """Give a bookmark another name."""
    store.find(name_of(store, old))
    click.echo(store.rename_bookmark(old, new).id)


@bookmark.command("delete")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=bookmarks)
@with_store(reads=False)
def delete(*, store: Store, names: tuple[str, ...]) -> None:
    """Take names away; the turns stay, and can still be found by id."""
    for name in names:
        store.find(name_of(store, name))
    for name in names:
        turn = store.delete_bookmark(name)
        click.echo(turn.id)


@click.command()
@click.argument("name", required=False, shell_complete=bookmarks)
@click.argument("headish", required=False, shell_complete=bookmarks)
@as_json
@with_store(reads=False)
def branch(*, store: Store, name: str | None, headish: str | None, as_json: bool) -> None:
    """Start a branch: a new NAME at a turn, which what continues it carries on.

    Without HEADISH it starts at the newest turn; without NAME the bookmarks are listed.
    """
    if name is None:
        _list(store, as_json=as_json)
        return
    turn = store.branch(name, _target(store, headish))
    click.echo(json_text({"name": name, "id": turn.id}) if as_json else turn.id)
