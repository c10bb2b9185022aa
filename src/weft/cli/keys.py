"""`weft keys`: which key is used for which provider and where it comes from, never the key itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from weft.cli.calling import key_places, read_key, refuse_keys_as_arguments, registry_of
from weft.cli.helping import Listing
from weft.cli.render import json_text, note, table, visible
from weft.cli.storing import as_json, with_store
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.providers import Registry
    from weft.threads import Store

__all__ = ["keys"]


class QuietGroup(Listing):
    """A group that does not repeat a word it does not know: it may be a key [K-08]."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no such command; there are: {', '.join(self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=QuietGroup, invoke_without_command=True)
@as_json
@click.pass_context
def keys(ctx: click.Context, *, as_json: bool) -> None:
    """Show which key is used for each provider, or keep and remove keys.

    A key is looked for in the environment, then in the keyring, then in keys.json. It is never shown; the mark beside
    it is the same for the same key.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json, address=None)
    elif as_json:
        raise click.UsageError(f"put --json after the word: weft keys {ctx.invoked_subcommand} …", ctx)


@keys.command("list")
@as_json
@with_store(reads=True)
def list_(*, store: Store, as_json: bool) -> None:
    """List providers that have a key, and where the one that is used comes from."""
    rows = _rows(registry_of(store))
    if as_json:
        click.echo(json_text(rows))
    elif rows:
        shown = [(visible(row["provider"]), row["source"], row["mark"], ", ".join(row["also"])) for row in rows]
        click.echo("\n".join(table(("provider", "used from", "mark", "also in"), shown)))
    else:
        note("there are no keys yet; keep one: weft keys set <provider>")


@keys.command("set")
@click.argument("provider", required=False)
@click.argument("extra", nargs=-1, metavar="", callback=refuse_keys_as_arguments, expose_value=False)
@click.option("--keyring", is_flag=True, help="Keep it in the system's keyring, not in keys.json.")
def set_(*, provider: str | None, keyring: bool) -> None:
    """Keep a key for PROVIDER, typed at a hidden prompt or piped in."""
    registry = registry_of(None)
    account = _account(registry, provider)
    if not keyring and registry.places.file is None:
        raise UsageError("the key is not kept: keys.json is not safe to use\n  see the warning above")
    secret = read_key(account)
    if keyring:
        registry.places.put_in_keyring(account, secret)
    elif registry.places.file is not None:
        registry.places.file.put(account, secret)
    note(f"the key for {account} is kept in {'the keyring' if keyring else registry.places.file.path}")  # type: ignore[union-attr]  # checked above


@keys.command("remove")
@click.argument("provider", required=False)
@click.argument("extra", nargs=-1, metavar="", callback=refuse_keys_as_arguments, expose_value=False)
def remove(*, provider: str | None) -> None:
    """Forget the key for PROVIDER, in the keyring and in keys.json."""
    account = _account(registry_of(None), provider)
    places = key_places()
    gone = []
    if places.in_file(account) and places.file is not None and places.file.put(account, None):
        gone.append(str(places.file.path))
    if places.in_keyring(account) and places.put_in_keyring(account, None):
        gone.append("the keyring")
    if not gone:
        raise UsageError(f"no key for {account} is kept\n  one in a variable is not weft's to remove")
    note(f"the key for {account} is gone from {' and '.join(gone)}")


def _account(registry: Registry, name: str | None) -> str:
    if name is None or name not in registry.table:  # not repeated: it may be a key that was typed in its place
        raise UsageError(f"which provider?\n  there are: {', '.join(registry.table)}")
    return registry.table[name].account or name


def _rows(registry: Registry) -> list[dict[str, Any]]:
    from weft.providers import fingerprint, found_keys

    rows = []
    for name, row in registry.table.items():
        found = list(found_keys(row, registry.places, frame=registry.frames.get(name)))
        if found and found[0].secret is not None:
            file = registry.places.file
            mark = fingerprint(found[0].secret, file.salt()) if file else ""
            rows.append(
                {"provider": name, "source": found[0].source, "mark": mark, "also": [also.source for also in found[1:]]}
            )
    return rows
