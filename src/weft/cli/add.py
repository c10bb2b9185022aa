"""`weft add` and `weft doc`: turns without calling anyone."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from weft.cli.completing import bookmarks, models
from weft.cli.render import json_text, note
from weft.cli.storing import as_json, names_of, piped_input, redact_option, redacted, with_store

if TYPE_CHECKING:
    from weft.threads import Store

__all__ = ["add", "doc"]


@click.command()
@click.argument("text", nargs=-1)
@click.option(
    "-c",
    "--continues",
    multiple=True,
    metavar="HEADISH",
    help="The turn to continue; may be repeated.",
    shell_complete=bookmarks,
)
@click.option("-r", "--respond", is_flag=True, help="Continue the newest turn of the store.")
@click.option("--role", type=click.Choice(["user", "assistant", "system"]), help="Who says it.  [default: user]")
@click.option(
    "-b",
    "--bookmark",
    metavar="NAME",
    help="A name for the turn; else that of the turn it continues.",
    shell_complete=bookmarks,
)
@click.option("--move-bookmark", is_flag=True, help="Take NAME along even if it is on another branch.")
@click.option("-p", "--provider-ptr", metavar="ALIAS", help="Who answers from here on.", shell_complete=models)
@click.option("--servers", metavar="NAMES", help="Tool servers from here on, with commas between.")
@click.option("--no-servers", is_flag=True, help="No tool servers from here on.")
@click.option("--search/--no-search", default=None, help="Whether the provider may search from here on.")
@click.option("--tool-mode", metavar="MODE", help="How tools are chosen from here on: auto, none, any.")
@click.option("--cache", is_flag=True, help="Flag the turn for the provider's cache.")
@click.option("-j", "--json-content", "is_json", is_flag=True, help="The text is JSON: a block or a list of blocks.")
@redact_option
@as_json
@with_store(reads=False)
def add(
    *,
    store: Store,
    text: tuple[str, ...],
    continues: tuple[str, ...],
    servers: str | None,
    no_servers: bool,
    is_json: bool,
    redact: bool,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Add a turn without calling a model, and print its id.

    TEXT comes from the arguments; what is piped in comes before it.
    """
    if servers is not None and no_servers:
        raise click.UsageError("give --servers or --no-servers, not both")
    listed = None if servers is None else [name.strip() for name in servers.split(",") if name.strip()]
    content = _content(text)
    turn = store.add_turn(
        redacted(content) if redact else content,
        continues=names_of(store, continues),
        servers=[] if no_servers else listed,
        json=is_json,
        **parameters,
    )
    click.echo(json_text(turn.to_dict()) if as_json else turn.id)


def _content(words: tuple[str, ...]) -> str:
    from weft.errors import UsageError

    piped = piped_input(needed=not words)
    pieces = [piece for piece in (None if piped is None else piped.removesuffix("\n"), " ".join(words)) if piece]
    if pieces or words:
        return "\n".join(pieces)
    raise UsageError('there is nothing to add\n  say it: weft add "When is high water?"\n  or pipe it in')


@click.command()
@click.argument("path", type=click.Path())
@click.option("-n", "--name", help="What to call it; else the file's own name.")
@click.option("--cache", is_flag=True, help="Flag the turn for the provider's cache.")
@click.option("-b", "--bookmark", metavar="NAME", help="A bookmark for the turn.", shell_complete=bookmarks)
@click.option("--move-bookmark", is_flag=True, help="Take the bookmark along even if it is on another branch.")
@as_json
@with_store(reads=False)
def doc(
    *, store: Store, path: str, name: str | None, cache: bool, bookmark: str | None, move_bookmark: bool, as_json: bool
) -> None:
    """Store a file as a turn, and print its id; continue from it to use it.

    Up to 100 MB. Later changes of the file do not touch what was stored.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        turn = store.document(path, name, cache, bookmark, move_bookmark=move_bookmark)
    for warning in caught:
        note(str(warning.message))
    click.echo(json_text(turn.to_dict()) if as_json else turn.id)
