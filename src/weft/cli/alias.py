"""`weft alias`: short names for a provider and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from weft.cli.calling import change_pointers, registry_of
from weft.cli.completing import models
from weft.cli.helping import Listing
from weft.cli.render import json_text, note, table, visible
from weft.cli.storing import as_json, with_store
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.threads import Store

__all__ = ["alias"]


@click.group(cls=Listing, invoke_without_command=True)
@as_json
@click.pass_context
def alias(ctx: click.Context, *, as_json: bool) -> None:
    """List short names for models, or set and remove them.

    By convention nano, milli, kilo, mega, giga by size, and with .r the reasoning variant (kilo.r); any name will do.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json, address=None)
    elif as_json:
        raise click.UsageError(f"put --json after the word: weft alias {ctx.invoked_subcommand} …", ctx)


@alias.command("list")
@as_json
@with_store(reads=True)
def list_(*, store: Store, as_json: bool) -> None:
    """List every name, what it stands for and where it is set."""
    registry = registry_of(store)
    rows = [
        (name, str(pointer), "store" if name in registry.stored_pointers else "config.toml")
        for name, pointer in registry.pointers.items()
    ]
    if as_json:
        click.echo(json_text([{"name": name, "model": model, "source": source} for name, model, source in rows]))
    elif rows:
        shown = [(visible(name), visible(model), source) for name, model, source in rows]
        click.echo("\n".join(table(("alias", "model", "set in"), shown)))
    else:
        note("there are no aliases yet; set one: weft alias set kilo anthropic/<model>")


@alias.command("set")
@click.argument("name", shell_complete=models)
@click.argument("model", metavar="PROVIDER/MODEL", shell_complete=models)
@with_store(reads=False)
def set_(*, store: Store, name: str, model: str) -> None:
    """Make NAME stand for a model, as in: weft alias set kilo anthropic/MODEL."""
    from weft.providers import with_pointer

    pointer = registry_of(store).read(model)  # another alias will do: it is followed now, not later
    change_pointers(store, lambda meta: with_pointer(meta, name, pointer))


@alias.command("remove")
@click.argument("name", shell_complete=models)
@with_store(reads=False)
def remove(*, store: Store, name: str) -> None:
    """Forget NAME."""
    from weft.providers import without_pointer

    registry = registry_of(store)
    if name in registry.pointers and name not in registry.stored_pointers:
        raise UsageError(f"{name} is set in config.toml\n  remove it there, under [pointers]")
    change_pointers(store, lambda meta: without_pointer(meta, name))
