"""`weft models`: which models can be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from weft.cli.calling import new_client, registry_of, run_async
from weft.cli.render import json_text, note, table, visible
from weft.cli.storing import as_json, with_store
from weft.errors import UsageError, WeftError

if TYPE_CHECKING:
    from weft.providers import Model, Registry
    from weft.threads import Store

__all__ = ["models", "models_of", "print_models"]


@click.command()
@click.argument("providers", metavar="[PROVIDER]...", nargs=-1)
@click.option("-q", "--query", metavar="TEXT", help="Only those with this text in their name.")
@as_json
@with_store(reads=True)
def models(*, store: Store, providers: tuple[str, ...], query: str | None, as_json: bool) -> int:
    """List models as they are given to -m: provider/model, newest first.

    Without PROVIDER, of every provider that is enabled; one that does not answer is told of and passed over.
    """
    registry = registry_of(store)
    names = list(providers) or [name for name in registry.table if registry.enabled(name)]
    if not names:
        raise UsageError("no provider is enabled\n  enable one: weft provider enable")
    found = models_of(registry, names, patient=not providers)
    if query:
        wanted = query.lower()
        found = [(name, [model for model in some if wanted in model.id.lower()]) for name, some in found]
    if as_json:
        click.echo(json_text([{"provider": name, **model.to_dict()} for name, some in found for model in some]))
    else:
        rows = [(visible(f"{name}/{model.id}"), _day(model)) for name, some in found for model in some]
        click.echo("\n".join(table(("model", "since"), rows)))
    return 0 if found else 4  # nobody answered


def models_of(registry: Registry, names: Sequence[str], *, patient: bool = False) -> list[tuple[str, list[Model]]]:
    """Ask providers for their models, all at once; if `patient`, what went wrong with one is only told."""

    async def ask() -> list[list[Model] | BaseException]:
        async with new_client() as client:
            targets = [(registry.row(name), registry.key(name).secret) for name in names]
            asked = [client.models(row, key) for row, key in targets]
            return await asyncio.gather(*asked, return_exceptions=True)

    found = []
    for name, answer in zip(names, run_async(ask()), strict=True):
        if not isinstance(answer, BaseException):
            found.append((name, answer))
        elif patient and isinstance(answer, WeftError):
            note(str(answer))
        else:
            raise answer
    return found


def print_models(found: tuple[str, list[Model]], *, as_json: bool) -> None:
    """Print one provider's models: `{id, created?}`, newest first."""
    _, some = found
    if as_json:
        click.echo(json_text([model.to_dict() for model in some]))
    else:
        click.echo("\n".join(table(("model", "since"), [(visible(model.id), _day(model)) for model in some])))


def _day(model: Model) -> str:
    return model.created.strftime("%Y-%m-%d") if model.created else ""
