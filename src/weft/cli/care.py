"""`weft fsck`, `weft backup`, `weft doctor` and `weft stats`: looking after a store."""

from __future__ import annotations

import platform
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from weft.cli.render import counted, json_text, note, room, size_text, visible
from weft.cli.storing import as_json, store_option, with_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.store import Finding
    from weft.threads import Store

__all__ = ["backup", "doctor", "fsck", "stats"]

DAMAGED = 1
_MARKS = {"good": ("ok", "green"), "note": ("note", "yellow"), "bad": ("BAD", "red")}


@click.command()
@as_json
@with_store(reads=True)
def fsck(*, store: Store, as_json: bool) -> int:
    """Check everything that is kept.

    Payloads against their hashes, links, bookmarks, the database itself. Exits with 1 and a line for each problem if
    there are any.
    """
    problems = store.fsck()
    if as_json:
        click.echo(json_text([problem._asdict() for problem in problems]))
    elif problems:
        for problem in problems:
            click.echo(f"{click.style(problem.kind, fg='red', bold=True)}: {visible(problem.message)}")
        note(f"{counted(len(problems), 'problem')} found; what can be read can be saved: weft backup FOLDER")
    else:
        click.echo(f"no problems in {counted(store.stats().turns, 'turn')}")
    return DAMAGED if problems else 0


@click.command()
@click.argument("target", metavar="FOLDER", type=click.Path())
@with_store(reads=True)
def backup(*, store: Store, target: str) -> None:
    """Copy the store, as of one moment, to a new folder; others may go on writing.

    The copy is a store like any other: look into it with --store FOLDER, restore it by putting it in place.
    """
    store.backup(target)
    click.echo(target)


@click.command()
@as_json
@with_store(reads=True)
def stats(*, store: Store, as_json: bool) -> None:
    """Count what is kept."""
    found = store.stats()
    if as_json:
        click.echo(json_text({name: getattr(found, name) for name in found.__slots__}))
        return
    lines: list[tuple[str, str]] = [
        ("store", str(found.details.get("path") or found.details.get("url") or "")),
        ("kept in", f"{found.backend} {found.details.get(found.backend, '')}, store version {found.version}"),
        ("turns", f"{found.turns:,}"),
        ("threads", f"{found.threads:,}"),
        ("bookmarks", f"{found.bookmarks:,}"),
        ("frames", f"{found.frames:,}"),
        ("contents", f"{found.payloads:,}, each stored once: {size_text(found.payload_bytes)}"),
        ("on disk", size_text(found.disk_bytes)),
    ]
    if found.details.get("exchanges"):
        recorded, pieces = found.details["exchanges"], found.details["chunk_bytes"]
        sessions = counted(found.details["sessions"], "session")
        told = f"{counted(recorded, 'request')} in {sessions}, each piece stored once: {size_text(pieces)}"
        lines.insert(-1, ("recorded", told))
    for name, value in lines:
        click.echo(f"{click.style(f'{name:<10}', dim=True)} {visible(value)}")


@click.command()
@as_json
@store_option
def doctor(*, address: str | None, as_json: bool) -> int:
    """Look at the store and what it stands on.

    Says which versions there are and what is known about them, who can read the store, how much space is free, and
    whether there is damage at first sight. Takes a second or two whatever the size; `weft fsck` reads everything.
    Exits with 1 if something is bad.
    """
    findings = [*_program(), *_store(address)]
    if as_json:
        click.echo(json_text([finding._asdict() for finding in findings]))
    else:
        _print(findings)
    return DAMAGED if any(finding.level == "bad" for finding in findings) else 0


def _program() -> list[Finding]:
    from weft.store import Finding
    from weft.version import __version__

    return [Finding("weft", "good", f"{__version__} on Python {platform.python_version()}, {platform.system()}")]


def _store(address: str | None) -> list[Finding]:
    from weft.errors import WeftError
    from weft.store import Finding, examine
    from weft.threads import open_store

    try:
        with open_store(address, read_only=address is not None) as store:
            shown = store.frames.folder or "a PostgreSQL server"
            return [Finding("store", "good", str(shown)), *examine(store.frames)]
    except (WeftError, OSError) as error:
        return [Finding("store", "bad", str(error))]


def _print(findings: Sequence[Finding]) -> None:
    for finding in findings:
        word, colour = _MARKS[finding.level]
        mark = click.style(f"{word:<4}", fg=colour, bold=True)
        first, *rest = wrap(visible(finding.message), room(18)) or [""]
        click.echo(f"{mark}  {finding.name:<10}  {first}")
        for line in rest:
            click.echo(f"{'':<18}{line}")
