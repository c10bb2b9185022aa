"""`weft show`: one turn, with everything that is known about it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from weft.cli.blocks import block_lines
from weft.cli.completing import bookmarks
from weft.cli.render import (
    EMPTY,
    bookmarks_text,
    id_text,
    json_text,
    local_time,
    note,
    role_text,
    size_text,
    visible,
)
from weft.cli.storing import as_json, name_of, with_store

if TYPE_CHECKING:
    from weft.threads import Store, Turn

__all__ = ["show"]

_KNOWN = {"role", "content_type", "options", "head", "continues", "cache", "message", "type"}
_INDENT = "    "


@click.command()
@click.argument("headishes", metavar="[HEADISH]...", nargs=-1, shell_complete=bookmarks)
@click.option(
    "--raw", is_flag=True, help="Write the stored bytes as they are: a document's, or the JSON of the blocks."
)
@click.option("--thread", "whole", is_flag=True, help="Show all that was said up to the turn, oldest first.")
@as_json
@with_store(reads=True)
def show(*, store: Store, headishes: tuple[str, ...], raw: bool, whole: bool, as_json: bool) -> None:
    """Show a turn: who said it, when, what it continues, and its content.

    HEADISH is a bookmark, a turn id, or the beginning of one; without it, the newest turn. To read a conversation from
    its beginning: weft show --thread tides | less
    """
    if raw and whole:
        raise click.UsageError("--raw writes the bytes of one turn, not of a thread")
    if raw and (as_json or len(headishes) > 1):
        raise click.UsageError("--raw writes the bytes of one turn, and nothing else")
    turns = [store.turn(name_of(store, headish)) for headish in headishes]
    if not headishes:
        latest = store.latest()
        turns = [] if latest is None else [latest]
    if whole:
        turns = list(store.thread([turn.id for turn in turns])) if turns else []
    if raw:
        for turn in turns:
            _write_raw(turn.data)
    elif as_json:
        records = [_record(store, turn) for turn in turns]
        click.echo(json_text(records[0] if len(records) == 1 else records))
    else:
        for number, turn in enumerate(turns):
            lines = _spoken(turn) if whole else _lines(store, turn)
            click.echo(("\n" if number else "") + "\n".join(lines))
    if not turns:
        note(EMPTY)


def _write_raw(data: bytes) -> None:
    if sys.stdout.isatty():  # a terminal obeys bytes; only a pipe or a file gets them as they are
        click.echo(visible(data.decode("utf-8", "replace")), nl=not data.endswith(b"\n"))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def _record(store: Store, turn: Turn) -> dict[str, Any]:
    return {
        **turn.to_dict(),
        "role": turn.role,
        "time": turn.time.isoformat(timespec="milliseconds"),
        "model": turn.model,
        "bookmarks": [row.name for row in store.bookmarks() if row.id == turn.id],
        "parents": store.parent_ids(turn.id),
        "children": sorted(child for _, child in store.frames.children([turn.id])),
        "options": turn.options,
        "cache": turn.cache,
        "content": turn.content,
    }


def _spoken(turn: Turn) -> Iterator[str]:
    """Give a turn as one of many: who and when on one line, then what was said."""
    model = f" ({visible(turn.model)})" if turn.model else ""
    when = local_time(turn.said_at or turn.time)
    yield f"{id_text(turn.id)}  {role_text(turn.role, pad=False)}{model}  {click.style(when, dim=True)}"
    yield ""
    yield from _content(turn)


def _lines(store: Store, turn: Turn) -> Iterator[str]:
    names = [row.name for row in store.bookmarks() if row.id == turn.id]
    yield f"turn {id_text(turn.id)} {bookmarks_text(names)}".rstrip()
    model = f" ({visible(turn.model)})" if turn.model else ""
    yield _fact("role", role_text(turn.role, pad=False) + model)
    yield _fact("time", local_time(turn.time))
    if turn.said_at is not None:
        yield _fact("said", local_time(turn.said_at))
    for label, ids in (
        ("continues", store.parent_ids(turn.id)),
        ("continued by", sorted(child for _, child in store.frames.children([turn.id]))),
    ):
        if ids:
            yield _fact(label, ", ".join(id_text(one) for one in ids))
    if turn.bookmark is not None and turn.bookmark not in names:
        yield _fact("thread", visible(turn.bookmark))
    for key, value in turn.options.items():
        yield _fact(visible(key), _said(value))
    if turn.cache:
        yield _fact("cache", "flagged for the provider's cache")
    yield from _answer(turn.meta.get("message"))
    for key, value in turn.meta.items():
        if key not in _KNOWN:
            yield _fact(visible(key.replace("_", " ")), size_text(value) if key == "file_size" else _said(value))
    yield ""
    yield from _content(turn)


def _fact(label: str, value: str) -> str:
    return f"{click.style(f'{label:<13}', dim=True)} {value}"


def _said(value: Any) -> str:
    from weft import jsontext

    return visible(value if isinstance(value, str) else jsontext.dumps_text(value)).replace("\n", " ")


def _answer(message: Any) -> Iterator[str]:
    """Say what the provider said about its answer."""
    if not isinstance(message, Mapping):
        return
    if isinstance(usage := message.get("usage"), Mapping):
        counts = [
            f"{visible(str(key)).replace('_', ' ')} {value:,}" for key, value in usage.items() if _is_count(value)
        ]
        if counts:
            yield _fact("usage", ", ".join(counts))
    if message.get("stop_reason") is not None:
        yield _fact("stopped", _said(message["stop_reason"]))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _content(turn: Turn) -> Iterator[str]:
    if turn.meta.get("type") == "document":
        yield f"{_INDENT}[a file of {size_text(len(turn.data))}; its bytes: weft show {turn.id} --raw]"
        return
    blocks = turn.content
    if not blocks:
        yield f"{_INDENT}[no content]"
    for number, block in enumerate(blocks):
        if number:
            yield ""
        yield from _indented(block_lines(block))


def _indented(pieces: Iterator[str]) -> Iterator[str]:
    for piece in pieces:
        for line in piece.split("\n"):
            yield (_INDENT + line).rstrip() if line.strip() else ""
