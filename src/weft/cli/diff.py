"""`weft diff`: what differs between two threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import click

from weft.cli.blocks import block_lines
from weft.cli.completing import bookmarks
from weft.cli.render import counted, id_text, json_text, note, role_text, visible
from weft.cli.storing import as_json, name_of, with_store

if TYPE_CHECKING:
    from weft.threads import Store, ThreadDiff

__all__ = ["diff"]

_AROUND = 2  # lines shown around a change


@click.command()
@click.argument("left", metavar="A", shell_complete=bookmarks)
@click.argument("right", metavar="B", shell_complete=bookmarks)
@as_json
@with_store(reads=True)
def diff(*, store: Store, left: str, right: str, as_json: bool) -> None:
    """Show how to get from thread A to thread B: messages, options, tools.

    Turns are the same if their role and content are, whatever their ids.
    """
    from weft.threads import short_length

    found = store.diff(name_of(store, left), name_of(store, right))
    if as_json:
        click.echo(json_text(found.to_dict()))
        return
    ids = [record["id"] for _, mine, other in found.steps for record in (*mine, *other)]
    lines = list(_lines(found, short_length(store, ids)))
    if lines and not found.is_empty:
        click.echo("\n".join(lines))
    else:
        note("both say the same")


def _lines(found: ThreadDiff, length: int) -> Iterator[str]:
    for what, mine, other in found.steps:
        if what == "same":
            yield click.style(f"  {counted(len(mine), 'turn')} the same", dim=True)
            continue
        pairs = list(zip(mine, other, strict=False))
        for old, new in pairs:
            if old["role"] == new["role"]:
                yield from _changed(old, new, length)
            else:
                yield from _whole("-", old, length)
                yield from _whole("+", new, length)
        for record in mine[len(pairs) :]:
            yield from _whole("-", record, length)
        for record in other[len(pairs) :]:
            yield from _whole("+", record, length)
    for key, (mine, other) in found.options.items():
        yield _coloured("~", f"option {visible(key)}: {_value(mine)} → {_value(other)}")
    for name, what in found.tools.items():
        yield _coloured("+" if what == "added" else "-", f"tool {visible(name)}")


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], length: int) -> Iterator[str]:
    ids = f"{id_text(old['id'], length)} → {id_text(new['id'], length)}"
    yield f"{_sign('~')} {ids}  {role_text(new['role'], pad=False)}"
    before, after = _lines_of(old["content"]), _lines_of(new["content"])
    if before == after:  # what differs is not shown, such as a signature
        before, after = json_text(old["content"]).split("\n"), json_text(new["content"]).split("\n")
    for number, line in enumerate(unified_diff(before, after, lineterm="", n=_AROUND)):
        if number < 2:
            continue  # the two lines with file names
        if line.startswith("@@"):
            if number > 2:
                yield click.style("    …", dim=True)
        else:
            yield f"    {_coloured(line[0], line[1:])}"


def _whole(sign: str, record: Mapping[str, Any], length: int) -> Iterator[str]:
    yield f"{_sign(sign)} {id_text(record['id'], length)}  {role_text(record['role'], pad=False)}"
    for line in _lines_of(record["content"]):
        yield f"    {_coloured(sign, line)}"


def _lines_of(blocks: Sequence[Any]) -> list[str]:
    """Give blocks as lines that can be compared, and are safe to show."""
    pieces = [click.unstyle(piece) for block in blocks for piece in block_lines(block)]
    return [line for piece in pieces for line in piece.split("\n")]


def _value(value: Any) -> str:
    from weft import jsontext

    return "not set" if value is None else visible(jsontext.dumps_text(value))


def _sign(sign: str) -> str:
    return click.style(sign, fg={"+": "green", "-": "red"}.get(sign, "yellow"), bold=True)


def _coloured(sign: str, text: str) -> str:
    colour = {"+": "green", "-": "red", "~": "yellow"}.get(sign)
    return click.style(f"{sign} {text}".rstrip(), fg=colour)
