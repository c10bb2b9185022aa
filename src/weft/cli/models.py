"""`weft models`: which models can be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from weft.cli.calling import new_client, registry_of, run_async
from weft.cli.completing import providers
from weft.cli.render import json_text, note, table, visible
from weft.cli.storing import as_json, with_store
from weft.errors import UsageError, WeftError

if TYPE_CHECKING:
    from weft.providers import Model, Registry
    from weft.threads import Store

__all__ = ["models", "models_of", "print_models"]


@click.command()
@click.argument("providers", metavar="[PROVIDER]...", nargs=-1, shell_complete=providers)
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
        every = [(name, model) for name, some in found for model in some]
        click.echo(json_text([{"provider": name, **model.to_dict(), **_rates(name, model)} for name, model in every]))
    else:
        _print_table([(name, model) for name, some in found for model in some])
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


def _print_table(found: Sequence[tuple[str, Model]]) -> None:
    """Print models with what they cost, if that is known of any."""
    rows = [
        (visible(f"{name}/{model.id}"), _day(model), *(_dollars(rate) for rate in _rates(name, model).values()))
        for name, model in found
    ]
    header = ("model", "since", "$ / M in", "$ / M out")
    width = max((len(row) for row in rows), default=2)
    filled = [(*row, *[""] * (width - len(row))) for row in rows]
    click.echo("\n".join(table(header[:width], filled, right=frozenset({2, 3}))))


def _rates(provider: str, model: Model) -> dict[str, float]:
    from weft.providers import rates_of

    rates = rates_of(provider, model.id, at=datetime.now(UTC))
    if rates is None:
        return {}
    said = {"input_usd_per_mtok": rates.input_mtok, "output_usd_per_mtok": rates.output_mtok}
    return {name: float(rate or 0) for name, rate in said.items()}


def _dollars(rate: float) -> str:
    return f"{rate:.2f}" if round(rate, 2) == rate else f"{rate:g}"


def _day(model: Model) -> str:
    return model.created.strftime("%Y-%m-%d") if model.created else ""
