"""`weft provider`: who can be called, with which key, under which names (spec/threads.md, section 9)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from weft.cli.calling import (
    append_frame,
    change_pointers,
    new_client,
    read_key,
    refuse_keys_as_arguments,
    registry_of,
    run_async,
)
from weft.cli.completing import providers
from weft.cli.helping import Listing
from weft.cli.models import models_of, print_models
from weft.cli.render import json_text, note, table, visible
from weft.cli.storing import as_json, with_store
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.providers import Model, Pointer, Provider, Registry, Secret
    from weft.threads import Store

__all__ = ["provider"]


@click.group(cls=Listing, invoke_without_command=True)
@as_json
@click.pass_context
def provider(ctx: click.Context, *, as_json: bool) -> None:
    """Show who can be called, or enable providers, list models and set pointers."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json, address=None)
    elif as_json:
        raise click.UsageError(f"put --json after the word: weft provider {ctx.invoked_subcommand} …", ctx)


@provider.command("list")
@as_json
@with_store(reads=True)
def list_(*, store: Store, as_json: bool) -> None:
    """List providers and pointers."""
    _show(registry_of(store), as_json=as_json)


@provider.command("enable")
@click.argument("name", required=False, shell_complete=providers)
@click.argument("extra", nargs=-1, metavar="", callback=refuse_keys_as_arguments, expose_value=False)
@click.option("--key-env", metavar="VAR", help="Read the key from this variable at each call; keep no key.")
@click.option("--keyring", is_flag=True, help="Keep the key in the system's keyring, not in keys.json.")
@click.option("--untested", is_flag=True, help="Do not list models first to see whether the key works.")
@as_json
@with_store(reads=False)
def enable(
    *, store: Store, name: str | None, key_env: str | None, keyring: bool, untested: bool, as_json: bool
) -> None:
    """Enable a provider: take its key from a hidden prompt or stdin, try it, keep it.

    Without NAME, choose among those not yet enabled.
    """
    registry = registry_of(store)
    name = _choose(registry) if name is None else name
    if name is None:
        note("all providers are enabled")
        return _show(registry, as_json=as_json)
    if name not in registry.table:  # not repeated: it may be a key that was typed in its place
        raise UsageError(f"no provider has that name\n  known: {', '.join(registry.table)}")
    row = registry.row(name)
    secret, kept = _key_for(registry, row, key_env, keyring=keyring)
    if not untested:
        found = run_async(_models(row, secret))
        note(f"{name}: the key works; {len(found)} models")
    _keep(registry, row, secret, kept)
    entry = {"key_env": key_env} if key_env else {"key_in": kept}
    append_frame(store, "gpt.provider", {"name": name, **entry})
    return _show(registry_of(store), as_json=as_json)


@provider.command("disable")
@click.argument("name", shell_complete=providers)
@with_store(reads=False)
def disable(*, store: Store, name: str) -> None:
    """Switch a provider off, whatever keys there are. They are kept: see weft keys remove."""
    registry_of(store).row(name)
    append_frame(store, "gpt.provider", {"name": name, "key": None})


@provider.command("models")
@click.argument("name", shell_complete=providers)
@as_json
@with_store(reads=True)
def models(*, store: Store, name: str, as_json: bool) -> None:
    """List a provider's models, newest first."""
    print_models(models_of(registry_of(store), [name])[0], as_json=as_json)


@provider.command("ptr")
@click.argument("name", required=False, shell_complete=providers)
@click.option("--set", "setting", is_flag=True, help="Set it; asks for what is missing.")
@click.argument("to_provider", metavar="[PROVIDER]", required=False)
@click.argument("to_model", metavar="[MODEL]", required=False)
@as_json
@with_store(reads=False)
def ptr(
    *, store: Store, name: str | None, setting: bool, to_provider: str | None, to_model: str | None, as_json: bool
) -> None:
    """Show all pointers or one, or set one, as in: weft provider ptr kilo --set anthropic MODEL.

    By convention nano, milli, kilo, mega, giga by size, and with .r the reasoning variant; any name will do.
    """
    registry = registry_of(store)
    if not setting and to_provider is not None:
        raise click.UsageError(f"to set it, say so: weft provider ptr {name} --set {to_provider} …")
    if setting:
        if name is None:
            raise click.UsageError("which pointer? weft provider ptr NAME --set [PROVIDER] [MODEL]")
        _set_pointer(store, registry, name, to_provider, to_model)
        registry = registry_of(store)
    if name is None:
        ptrs = registry.summary()["ptrs"]
        click.echo(json_text(ptrs) if as_json else "\n".join(_pointer_lines(registry)))
        return
    view = registry.pointer_view(name)
    click.echo(json_text(view) if as_json else "\n".join(f"{key:<9} {visible(str(view[key]))}" for key in view))


def _set_pointer(store: Store, registry: Registry, name: str, to_provider: str | None, to_model: str | None) -> None:
    from weft.providers import Pointer, with_pointer

    enabled = [each for each in registry.table if registry.enabled(each)]
    to_provider = to_provider or _ask("provider", enabled)
    if to_provider not in enabled:
        registry.row(to_provider)
        raise UsageError(
            f"{to_provider} is not enabled\n  enabled: {', '.join(enabled) or 'none'}"
            f"\n  enable it: weft provider enable {to_provider}"
        )
    names = [model.id for model in models_of(registry, [to_provider])[0][1]]
    to_model = to_model or _ask("model", names)
    if to_model not in names:
        raise UsageError(f"{to_provider} has no model {to_model!r}\n  it has: {', '.join(names)}")
    pointer: Pointer = Pointer(to_provider, to_model)
    change_pointers(store, lambda meta: with_pointer(meta, name, pointer))


def _ask(what: str, choices: list[str]) -> str:
    if not choices:
        raise UsageError(f"there is no {what} to choose\n  enable a provider first: weft provider enable")
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"which {what}?\n  there are: {', '.join(choices)}")
    note("\n".join(f"  {choice}" for choice in choices))
    answer: str = click.prompt(what, type=click.Choice(choices), show_choices=False, err=True)
    return answer


def _choose(registry: Registry) -> str | None:
    left = [name for name in registry.table if not registry.enabled(name)]
    if len(left) <= 1:
        return left[0] if left else None
    return _ask("provider", left)


def _key_for(registry: Registry, row: Provider, key_env: str | None, *, keyring: bool) -> tuple[Secret | None, str]:
    from weft.providers import needs_key

    if key_env:
        found = registry.places.variable(key_env, is_token=key_env in row.tokens)
        if found is None:
            raise UsageError(f"the variable {key_env} holds no key")
        return found, ""
    secret = read_key(row.name, needed=needs_key(row)) if row.keys else None
    if secret is None:
        return None, "none"  # a server on this machine
    return secret, "keyring" if keyring else "file"


async def _models(row: Provider, key: Secret | None) -> list[Model]:
    async with new_client() as client:
        return await client.models(row, key)


def _keep(registry: Registry, row: Provider, secret: Secret | None, kept: str) -> None:
    account = row.account or row.name
    if kept == "keyring":
        registry.places.put_in_keyring(account, secret)
    elif kept == "file":
        if registry.places.file is None:
            raise UsageError("the key is not kept: keys.json is not safe to use\n  see the warning above")
        registry.places.file.put(account, secret)


def _show(registry: Registry, *, as_json: bool) -> None:
    summary = registry.summary()
    if as_json:
        click.echo(json_text(summary))
        return
    rows = [(_name(each), "yes" if each["enabled"] else "", _place(registry, each)) for each in summary["providers"]]
    click.echo("\n".join(table(("provider", "enabled", "address"), rows)))
    if registry.pointers:
        click.echo("")
        click.echo("\n".join(_pointer_lines(registry)))


def _name(entry: dict[str, Any]) -> str:
    shown = visible(entry["name"])
    return click.style(shown, bold=True) if entry["enabled"] else shown


def _place(registry: Registry, entry: dict[str, Any]) -> str:
    return visible(registry.table[entry["name"]].base_url)


def _pointer_lines(registry: Registry) -> list[str]:
    rows = [
        (visible(name), visible(pointer.provider), visible(pointer.model))
        for name, pointer in registry.pointers.items()
    ]
    return table(("pointer", "provider", "model"), rows)
