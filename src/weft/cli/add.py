"""`weft add` and `weft doc`: turns without calling anyone."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from weft.cli.completing import bookmarks, models
from weft.cli.newturn import bookmark_options, content_options, continuing_options, given_text, onward_options
from weft.cli.render import json_text, note
from weft.cli.storing import as_json, names_of, redact_option, redacted, with_store

if TYPE_CHECKING:
    from weft.threads import Store

__all__ = ["add", "doc"]


@click.command()
@click.argument("text", nargs=-1)
@continuing_options
@click.option("--role", type=click.Choice(["user", "assistant", "system"]), help="Who says it.  [default: user]")
@bookmark_options("A name for the turn; else that of the turn it continues.")
@click.option("-p", "--provider-ptr", metavar="ALIAS", help="Who answers from here on.", shell_complete=models)
@onward_options
@content_options(turn="turn", text="text")
@redact_option
@as_json
@with_store(reads=False)
def add(
    *,
    store: Store,
    text: tuple[str, ...],
    continues: tuple[str, ...],
    is_json: bool,
    redact: bool,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Add a turn without calling a model, and print its id.

    TEXT comes from the arguments; what is piped in comes before it.
    """
    content = _content(text)
    turn = store.add_turn(
        redacted(content) if redact else content,
        continues=names_of(store, continues),
        json=is_json,
        **parameters,
    )
    click.echo(json_text(turn.to_dict()) if as_json else turn.id)


def _content(words: tuple[str, ...]) -> str:
    from weft.errors import UsageError

    content = given_text(words)
    if content or words:
        return content
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
