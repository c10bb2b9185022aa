"""`weft scan-secrets`: keys, tokens and passwords in what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from weft.cli.completing import bookmarks
from weft.cli.render import counted, id_text, json_text, note, table, visible
from weft.cli.storing import as_json, names_of, with_store

if TYPE_CHECKING:
    from weft.threads import Leak, Store

__all__ = ["scan_secrets"]

FOUND = 1


@click.command("scan-secrets")
@click.argument("headish", nargs=-1, shell_complete=bookmarks)
@as_json
@with_store(reads=True)
def scan_secrets(*, store: Store, headish: tuple[str, ...], as_json: bool) -> int:
    """Look for keys, tokens and passwords in what is kept.

    In all of the store (turns, long results of tools, recordings), or in the threads that end in HEADISH. Each is
    shown with its turn, its place and its kind, masked; the fingerprint tells which are the same, and is made with a
    salt of this computer's own. Exits with 1 if there are any.
    """
    from weft.threads import scan_secrets as scan

    turns = [turn for name in names_of(store, headish) for turn in store.thread(name)] if headish else None
    salt = _salt()
    rows = [_row(leak, salt) for leak in scan(store, turns)]
    if as_json:
        click.echo(json_text(rows))
    elif rows:
        shown = [(id_text(row["id"]), row["kind"], row["masked"], row["fingerprint"], row["place"]) for row in rows]
        cells = [tuple(visible(cell) if at else cell for at, cell in enumerate(row)) for row in shown]
        click.echo("\n".join(table(("turn", "kind", "secret", "fingerprint", "place"), cells)))
        found = counted(len(rows), "secret")
        note(f"{found} found; make new ones of them, then forget these: weft purge TURN, or weft purge --text -")
    else:
        note("no secrets found")
    return FOUND if rows else 0


def _row(leak: Leak, salt: bytes) -> dict[str, Any]:
    from weft.secrets import fingerprint

    found = leak.found
    return {
        "id": leak.id,
        "place": leak.place,
        "kind": found.kind,
        "masked": found.masked,
        "fingerprint": fingerprint(found.value, salt),
    }


def _salt() -> bytes:
    from weft import config
    from weft.providers import KeyFile

    return KeyFile(config.config_folder() / "keys.json").salt()
