"""`weft rm`, `weft gc` and `weft purge`: the only commands that take anything away."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from weft.cli.completing import bookmarks
from weft.cli.render import counted, json_text, note, size_text
from weft.cli.storing import as_json, moment, name_of, with_store

if TYPE_CHECKING:
    from weft.threads import Removal, Store

__all__ = ["gc", "purge", "rm"]

_dry_run = click.option("--dry-run", is_flag=True, help="Only say what would go.")
_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


@click.command()
@click.argument("headish", shell_complete=bookmarks)
@click.option("--with-rest", is_flag=True, help="Also everything that continues the turn.")
@_dry_run
@_yes
@as_json
@with_store(reads=False)
def rm(*, store: Store, headish: str, with_rest: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove the end of a thread, back to where another branch or a bookmark needs it.

    Named by its bookmark, a thread goes with that bookmark; named by an id, it has to be free of them.
    """
    from weft.errors import UsageError

    name = name_of(store, headish)
    try:
        going = store.rm(name, with_rest=with_rest, dry_run=True)
        if not dry_run:
            _confirm(f"Remove {counted(len(going.turns), 'turn')} for good?", yes=yes, needed=False)
            going = store.rm(name, with_rest=with_rest)
    except UsageError as error:
        raise UsageError(str(error).replace("(with_rest)", "(--with-rest)")) from error
    _report(going, as_json=as_json)


@click.command()
@click.option(
    "--unnamed-before",
    metavar="TIME",
    help="Also turns older than this that no bookmark leads to: 2026-09-30, or 90m, 12h, 30d, 8w ago.",
)
@_dry_run
@_yes
@as_json
@with_store(reads=False)
def gc(*, store: Store, unnamed_before: str | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Sweep what nothing needs any more.

    These are files that no turn names. With --unnamed-before also turns that are older, and that no bookmark leads to.
    """
    when = None if unnamed_before is None else moment(unnamed_before, now=datetime.now(UTC))
    going = store.gc(unnamed_before=when, dry_run=True)
    if not dry_run:
        if going.turns:
            _confirm(f"Remove {counted(len(going.turns), 'turn')} for good?", yes=yes, needed=False)
        going = store.gc(unnamed_before=when)
    _report(going, as_json=as_json)


@click.command()
@click.argument("headish", required=False, shell_complete=bookmarks)
@click.option("--text", metavar="TEXT", help="Forget this text wherever it is; - reads it from stdin, or asks unseen.")
@_yes
@as_json
@with_store(reads=False)
def purge(*, store: Store, headish: str | None, text: str | None, yes: bool, as_json: bool) -> None:
    """Forget what one turn says, or one text wherever it was said, for good.

    Nothing of it stays in the database, its free pages, its log, the files beside it or the search index; [purged]
    stands in its place. Threads stay whole. Backups made earlier still have it.
    """
    if (headish is None) == (text is None):
        raise click.UsageError("say which turn (HEADISH) or which text (--text) to forget")
    if headish is not None:
        name = name_of(store, headish)
        _confirm(f"Forget what turn {store.find(name)} says, for good?", yes=yes, needed=True)
        gone = store.purge(turn=name)
    else:
        secret = _secret() if text == "-" else text
        _confirm("Forget this text wherever it is, for good?", yes=yes, needed=True)
        gone = store.purge(text=secret)
    if as_json:
        _report(gone, as_json=True)
    elif gone.turns:
        click.echo(f"purged from {counted(len(gone.turns), 'place')}")
    else:
        note("nothing holds that, so nothing was changed")


def _secret() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Text to forget", hide_input=True, err=True))
    return sys.stdin.read().removesuffix("\n")


def _confirm(question: str, *, yes: bool, needed: bool) -> None:
    """Ask on a terminal. Where nobody can answer, what cannot be undone needs a --yes, if that is `needed`."""
    from weft.errors import UsageError

    if yes:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"{question} This cannot be undone.", abort=True, err=True)
    elif needed:
        raise UsageError("this cannot be undone; nobody is there to ask, so say --yes")


def _report(gone: Removal, *, as_json: bool) -> None:
    if as_json:
        record = {"turns": list(gone.turns), "files": gone.files, "bytes": gone.bytes, "dry_run": gone.dry_run}
        click.echo(json_text(record))
        return
    for turn_id in gone.turns:
        click.echo(turn_id)
    told = "would go" if gone.dry_run else "removed"
    files = f", {counted(gone.files, 'file')} ({size_text(gone.bytes)})" if gone.files else ""
    note(f"{counted(len(gone.turns), 'turn')}{files} {told}")
