"""What commands that add a turn have in common: its options, and its text from the arguments and a pipe."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from weft.cli.completing import bookmarks
from weft.cli.storing import piped_input

__all__ = [
    "bookmark_options",
    "content_options",
    "continuing_options",
    "given_text",
    "onward_options",
    "server_names",
]

_Command = Callable[..., Any]
_F = TypeVar("_F", bound=_Command)


def continuing_options(function: _F) -> _F:
    """Give a command `-c` and `-r`: what the turn continues."""
    newest = click.option("-r", "--respond", is_flag=True, help="Continue the newest turn of the store.")
    named = click.option(
        "-c",
        "--continues",
        multiple=True,
        metavar="HEADISH",
        help="The turn to continue; may be repeated.",
        shell_complete=bookmarks,
    )
    return named(newest(function))


def bookmark_options(text: str) -> Callable[[_F], _F]:
    """Give a command `-b`, with this for its help, and `--move-bookmark`."""

    def decorate(function: _F) -> _F:
        moved = click.option("--move-bookmark", is_flag=True, help="Take NAME along even if it is on another branch.")
        named = click.option("-b", "--bookmark", metavar="NAME", help=text, shell_complete=bookmarks)
        return named(moved(function))

    return decorate


def onward_options(function: _Command) -> _Command:
    """Give a command the options that hold from the turn on, its tool servers as one list or None."""

    @click.option("--servers", metavar="NAMES", help="Tool servers from here on, with commas between.")
    @click.option("--no-servers", is_flag=True, help="No tool servers from here on.")
    @click.option("--search/--no-search", default=None, help="Whether the provider may search from here on.")
    @click.option("--tool-mode", metavar="MODE", help="How tools are chosen from here on: auto, none, any.")
    @functools.wraps(function)
    def command(*, servers: str | None, no_servers: bool, **rest: Any) -> Any:
        if servers is not None and no_servers:
            raise click.UsageError("give --servers or --no-servers, not both")
        return function(servers=[] if no_servers else server_names(servers), **rest)

    return command


def content_options(*, turn: str, text: str) -> Callable[[_F], _F]:
    """Give a command `--cache` and `-j`; `turn` and `text` are what its help calls them."""

    def decorate(function: _F) -> _F:
        as_json = click.option(
            "-j",
            "--json-content",
            "is_json",
            is_flag=True,
            help=f"The {text} is JSON: a block or a list of blocks.",
        )
        cached = click.option("--cache", is_flag=True, help=f"Flag the {turn} for the provider's cache.")
        return cached(as_json(function))

    return decorate


def server_names(listed: str | None) -> list[str] | None:
    """Take tool servers apart that were given with commas between."""
    return None if listed is None else [name.strip() for name in listed.split(",") if name.strip()]


def given_text(words: Sequence[str], *, reads_pipe: bool = True) -> str:
    """Give what is piped in, and the words of the arguments after it; "" if there is neither."""
    piped = piped_input(needed=not words) if reads_pipe else None
    return "\n".join(piece for piece in ((piped or "").removesuffix("\n"), " ".join(words)) if piece)
