"""`weft blob`: the whole of what a tool gave, where a turn has only its beginning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.render import visible
from weft.cli.storing import with_store

if TYPE_CHECKING:
    from weft.threads import Store

__all__ = ["blob"]


@click.command()
@click.argument("blob_id", metavar="ID")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it to a file.")
@with_store(reads=True)
def blob(*, store: Store, blob_id: str, output: Path | None) -> None:
    """Print what was too long for a turn: a tool's result, by the ID that stands where it was cut.

    The beginning of an ID will do, if only one blob has it. In a terminal, control characters are shown as marks.
    """
    from weft.errors import BlobNotFoundError

    entry = store.overflow.entry(blob_id)
    if entry is None:
        raise BlobNotFoundError(blob_id)
    chunks = store.overflow.open().read_chunks(entry.ref)
    if output is not None:
        with output.open("wb") as file:
            file.writelines(chunks)
    elif sys.stdout.isatty():
        for chunk in chunks:
            click.echo(visible(chunk.decode("utf-8", "replace")), nl=False)
    else:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
