"""What the shell offers when tab is pressed: bookmarks, aliases and providers' names.

A completion is looked up while someone waits with a finger on a key, so it reads one small listing and calls nobody;
and it never fails: without a store there is just nothing to offer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from weft.errors import WeftError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from weft.threads import Store

__all__ = ["bookmarks", "files", "formats_named", "models", "providers"]

_Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def bookmarks(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the bookmarks of the store, newest first."""
    return _offered(ctx, incomplete, lambda store: [(row.name, f"{row.depth} turns") for row in store.bookmarks()])


def models(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer aliases, with what they stand for, and the beginnings of models' names."""

    def found(store: Store) -> list[tuple[str, str]]:
        from weft.cli.calling import registry_of

        registry = registry_of(store)
        named = [(name, str(pointer)) for name, pointer in registry.pointers.items()]
        return [*named, *((f"{name}/", "") for name in registry.table if registry.enabled(name))]

    return _offered(ctx, incomplete, found)


def providers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the names of providers."""

    def found(store: Store) -> list[tuple[str, str]]:
        from weft.cli.calling import registry_of

        return [(name, "") for name in registry_of(store).table]

    return _offered(ctx, incomplete, found)


def files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leave it to the shell: it knows the files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def formats_named(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the names of file formats."""
    from click.shell_completion import CompletionItem

    from weft.formats import formats

    return [CompletionItem(each.name, help=each.about) for each in formats() if each.name.startswith(incomplete)]


def _offered(
    ctx: click.Context, incomplete: str, look: Callable[[Store], list[tuple[str, str]]]
) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from weft.cli.render import visible
    from weft.threads import open_store

    address: Any = ctx.params.get("address")
    with suppress(WeftError, OSError), open_store(address, read_only=True) as store:
        # A name with a control character could end the line it is printed on, and a shell would read the rest.
        known = [(name, said) for name, said in look(store) if name.startswith(incomplete) and name == visible(name)]
        return [CompletionItem(name, help=visible(said) or None) for name, said in known if "\n" not in name]
    return []
