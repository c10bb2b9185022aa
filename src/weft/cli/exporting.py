"""`weft export`: a thread of the store as a file of any format, without the secrets in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from weft.cli.completing import bookmarks, files, formats_named
from weft.cli.convert import STDIO, report_options, target_of, tell, write_file
from weft.cli.render import counted, note
from weft.cli.storing import names_of, with_store

if TYPE_CHECKING:
    from weft.formats import Hidden
    from weft.threads import Store

__all__ = ["export"]


@click.command()
@click.argument("headishes", metavar="HEADISH...", nargs=-1, required=True, shell_complete=bookmarks)
@click.option(
    "--to",
    metavar="FORMAT",
    shell_complete=formats_named,
    help="What to write; else the name of OUT tells. See: weft formats",
)
@click.option("-o", "--output", metavar="OUT", default=STDIO, shell_complete=files, help="Where to; else stdout.")
@click.option("--no-redact", is_flag=True, help="Leave keys, tokens and passwords in.")
@report_options
@with_store(reads=True)
def export(
    *,
    store: Store,
    headishes: tuple[str, ...],
    to: str | None,
    output: str,
    no_redact: bool,
    strict: bool,
    reports: bool,
    as_json: bool,
) -> None:
    """Write a thread as a file, for other programs and other people.

    Keys, tokens and passwords are taken out, and what was hidden is listed on stderr; --no-redact leaves them in. With
    several headishes, all their branches are written, if the format has any.
    """
    from weft.formats import Ledger, redacted
    from weft.threads import transcript_of

    target = target_of(to, output)
    transcript = transcript_of(store, names_of(store, headishes))
    hidden: list[Hidden] = []
    pieces = transcript.pieces() if no_redact else redacted(transcript.pieces(), hidden)
    ledger = Ledger()
    write_file(output, lambda sink: target.write_pieces(pieces, sink, ledger), ledger, strict=strict)
    _list_hidden(hidden)
    tell(ledger, "weft", target.name, reports=reports, as_json=as_json, to_stdout=output == STDIO, strict=strict)


def _list_hidden(hidden: list[Hidden]) -> None:
    if not hidden:
        return
    note(f"{counted(len(hidden), 'secret')} taken out; --no-redact leaves them in")
    for each in hidden:
        note(f"  {each.kind}  {each.masked}  {each.place}")
