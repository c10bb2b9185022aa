"""`weft ctx`: a thread as JSON, the three ways of spec/threads.md section 7."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from weft.cli.completing import bookmarks
from weft.cli.render import json_text
from weft.cli.storing import names_of, with_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.threads import Store

__all__ = ["ctx"]

_headishes = click.argument("headishes", metavar="[HEADISH]...", nargs=-1, shell_complete=bookmarks)
_order = click.option(
    "--order",
    type=click.Choice(["chronological", "branch"]),
    default="chronological",
    show_default=True,
    help="By time, or each branch's turns together.",
)


class _Walking(click.Group):
    """A group that walks where it is not told what else to do: `weft ctx tides` [threads.md, section 7]."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and (not args or (args[0] not in self.commands and not args[0].startswith("-"))):
            args = ["walk", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Walking, subcommand_metavar="[COMMAND] [HEADISH]...")
def ctx() -> None:
    """Print a thread as JSON: its frames, its turns, or what would be sent. Also called `weft context`.

    HEADISH is a bookmark, a turn id, or the beginning of one; without it, the newest turn. Several give the union.
    Without a command, the frames.
    """


@ctx.command()
@_headishes
@with_store(reads=True)
def walk(*, store: Store, headishes: tuple[str, ...]) -> None:
    """Whole frames, newest first: topic, id, hash, meta."""
    click.echo(json_text([frame.to_dict() for frame in store.ctx(_starts(store, headishes))]))


@ctx.command("list")
@_headishes
@_order
@with_store(reads=True)
def list_(*, store: Store, headishes: tuple[str, ...], order: Literal["chronological", "branch"]) -> None:
    """Turns, oldest first: id, role, content, options, cache."""
    click.echo(json_text(store.list(_starts(store, headishes), order=order)))


@ctx.command()
@_headishes
@_order
@with_store(reads=True)
def resolve(*, store: Store, headishes: tuple[str, ...], order: Literal["chronological", "branch"]) -> None:
    """What would be sent: messages, and the options of all turns merged."""
    click.echo(json_text(store.resolve(_starts(store, headishes), order=order)))


def _starts(store: Store, headishes: Sequence[str]) -> list[str] | None:
    return names_of(store, headishes) if headishes else None
