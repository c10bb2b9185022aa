"""`weft convert` and `weft formats`: any conversation file into any other, and what each can hold."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from weft.cli.completing import files, formats_named
from weft.cli.output import is_stream, whole_file
from weft.cli.progress import watched_file
from weft.cli.render import counted, json_text, note, table, visible
from weft.cli.storing import as_json

if TYPE_CHECKING:
    from weft.formats import Format, Ledger, Sink, Source

__all__ = ["STDIO", "convert", "file_name", "formats", "opened", "report_options", "target_of", "tell", "write_file"]

SPOOLED = 16 << 20  # bytes of an output that waits in memory until it is known to be whole
STDIO = "-"


def report_options(function: Any) -> Any:
    """Give a command `--strict`, `--report` and `--json`."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the report, and as JSON."),
        click.option("--report", "reports", is_flag=True, help="Tell what was kept, changed and lost, by place."),
        click.option("--strict", is_flag=True, help="Write nothing and exit 3 if anything would be lost or changed."),
    ):
        function = option(function)
    return function


@click.command()
@click.argument("given", metavar="[IN]", nargs=-1, shell_complete=files)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    default=STDIO,
    shell_complete=files,
    help="Where to; a folder gets a file each. Else stdout.",
)
@click.option(
    "--from",
    "of",
    metavar="FORMAT",
    shell_complete=formats_named,
    help="What IN is; else its content tells, then its name.",
)
@click.option("--to", metavar="FORMAT", shell_complete=formats_named, help="What to write; else the name of OUT tells.")
@report_options
def convert(
    *, given: tuple[str, ...], output: str, of: str | None, to: str | None, strict: bool, reports: bool, as_json: bool
) -> None:
    """Convert a conversation file into another format.

    For example: weft convert session.jsonl -o session.md

    IN is a file, or - for stdin. Files larger than memory are fine. What OUT cannot hold is noted: --report tells it,
    --strict forbids it. `weft formats` lists what there is.
    """
    from weft.formats import Ledger, format_by_name, known_format
    from weft.formats import convert as run

    if len(given) > 1:
        raise click.UsageError(
            f"one file at a time, and {given[1]} is one too many\n"
            f"  to write into it: weft convert {given[0]} -o {given[1]}\n"
            f"  to keep several in the store: weft import {' '.join(given[:3])}{' …' if len(given) > 3 else ''}"
        )
    target = target_of(to, output)
    ledger = Ledger()
    with opened(given[0] if given else STDIO) as source:
        found = known_format(source, format_by_name(of) if of else None)
        with _named(source, found, is_guessed=of is None):
            if _is_folder(output):
                _into_folder(source, found, target, Path(output), ledger, strict=strict)
            else:
                write_file(
                    output, lambda sink: run(source, sink, target, of=found, ledger=ledger), ledger, strict=strict
                )
    tell(ledger, found.name, target.name, reports=reports, as_json=as_json, to_stdout=output == STDIO, strict=strict)


@contextmanager
def _named(source: Source, found: Format, *, is_guessed: bool) -> Iterator[None]:
    """Say of an error in a file which file it is and what it was read as: it may be something else."""
    from weft.errors import CodecError

    try:
        yield
    except CodecError as problem:
        place = "" if source.name and str(problem).startswith(source.name) else f"{source.name or 'stdin'}: "
        hint = f"\n  it was taken for {found.name}; if it is something else, say so: --from NAME (see: weft formats)"
        raise CodecError(f"{place}{problem}{hint if is_guessed else ''}", where="") from problem


def target_of(to: str | None, output: str) -> Format:
    """Give the format to write: the one that is named, or the one of the file's name."""
    from weft.errors import UsageError
    from weft.formats import format_by_name, guess_by_name

    if to is not None:
        return format_by_name(to)
    found = None if output == STDIO or _is_folder(output) else guess_by_name(Path(output).name)
    if found is None:
        is_named = output != STDIO and not _is_folder(output)
        untold = f"{Path(output).name} is no name that tells a format; " if is_named else ""
        raise UsageError(
            f"{untold}say what to write: --to FORMAT, or -o with a name like talk.md\n  see them: weft formats"
        )
    return found


@contextmanager
def opened(given: str) -> Iterator[Source]:
    """Open a file to read, or stdin."""
    from weft.errors import UsageError
    from weft.formats import Source

    if given == STDIO:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("there is nothing to read: name a file, or pipe one in")
        yield Source(sys.stdin.buffer)
    elif Path(given).is_dir():
        raise UsageError(f"{given} is a folder; name a file\n  to keep all that is in it: weft import {given}")
    else:
        place = Path(given)
        with watched_file(place, "reading") as file:
            yield Source(file, place.name, place if place.is_file() else None)  # a pipe is read once


def _is_folder(output: str) -> bool:
    return output != STDIO and (output.endswith(("/", "\\")) or Path(output).is_dir())


class _WithheldError(Exception):
    """Something would be lost, and that is forbidden."""


def write_file(output: str, write: Any, ledger: Ledger, *, strict: bool) -> None:
    """Write a file that is there whole or not at all: an error, or a loss that is forbidden, leaves what was there."""
    place = Path(output)
    if output == STDIO:
        _write_stream(sys.stdout.buffer, write, ledger, strict=strict)
    elif is_stream(place):
        with place.open("wb") as stream:
            _write_stream(stream, write, ledger, strict=strict)
    else:
        with suppress(_WithheldError), whole_file(place) as file:
            write(file)
            if strict and ledger.count:
                raise _WithheldError


def _write_stream(stream: BinaryIO, write: Any, ledger: Ledger, *, strict: bool) -> None:
    if not strict:
        write(stream)
        return
    with tempfile.SpooledTemporaryFile(SPOOLED) as held:
        write(held)
        if not ledger.count:
            held.seek(0)
            copyfileobj(held, stream)


def _into_folder(source: Source, of: Format, to: Format, folder: Path, ledger: Ledger, *, strict: bool) -> None:
    from weft.formats import conversations

    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for opening, pieces in conversations(of.pieces(source)):
        name = file_name(opening.session.title or opening.session.id or "conversation", taken)
        ending = to.extensions[0] if to.extensions else ".json"

        def write(sink: Sink, pieces: Any = pieces) -> None:
            to.write_pieces(pieces, sink, ledger, is_linear=not of.has("branches"))

        write_file(str(folder / f"{name}{ending}"), write, ledger, strict=strict)


def file_name(title: str, taken: set[str]) -> str:
    """Make a name for a file that none has yet."""
    words = "".join(letter if letter.isalnum() or letter in "._-" else " " for letter in title).split()
    base = "-".join(words).strip(".-")[:60] or "conversation"
    name, number = base, 1
    while name.lower() in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name.lower())
    return name


def tell(ledger: Ledger, of: str, to: str, *, reports: bool, as_json: bool, to_stdout: bool, strict: bool) -> None:
    """Tell what became of it: beside the answer if that is on stdout, else there. Losses that are forbidden exit 3."""
    from weft.cli.app import LOSSY

    if reports or as_json:
        text = json_text({"from": of, "to": to, **ledger.to_dict()}) if as_json else "\n".join(_lines(ledger))
        click.echo(text, err=to_stdout or strict)
    elif ledger.count:
        fates = Counter[str]()
        for fate, _what, _why, count in ledger.totals:
            fates[fate] += count
        told = ", ".join(f"{count:,} {fate}" for fate, count in sorted(fates.items(), reverse=True))
        note(f"{of} to {to}: {told}; see: --report")
    if strict and ledger.count:
        note("nothing was written, because of --strict")
        click.get_current_context().exit(LOSSY)


def _lines(ledger: Ledger) -> list[str]:
    kept = ", ".join(counted(number, what) for what, number in ledger.kept.items())
    lines = [f"kept: {kept or 'nothing'}"]
    rows = []
    for fate, what, why, count in sorted(ledger.totals, key=lambda each: (each[0], -each[3])):
        places = [loss.place for loss in ledger.losses if (loss.fate, loss.what, loss.why) == (fate, what, why)]
        shown = ", ".join(places[:3]) + (" …" if count > 3 else "")
        rows.append([fate, f"{count:,}", visible(what), visible(why), visible(shown)])
    return lines + (table(["", "count", "what", "why", "where"], rows, right=frozenset({1})) if rows else [])


@click.command()
@click.argument("name", required=False)
@as_json
def formats(*, name: str | None, as_json: bool) -> None:
    """List the file formats: what they are called, and what they can hold.

    With a NAME, everything about that one.
    """
    from weft.formats import ABILITIES, format_by_name
    from weft.formats import formats as known

    chosen = [format_by_name(name)] if name else list(known())
    if as_json:
        told = [_plain(each) for each in chosen]
        click.echo(json_text(told[0] if name else told))
    elif name:
        each = chosen[0]
        click.echo(f"{each.name}: {each.about}")
        for ability, words in ABILITIES.items():
            note_of = f"  ({each.notes[ability]})" if ability in each.notes else ""
            click.echo(f"  {each.carries[ability]:<8}{words}{note_of}")
    else:
        rows = [[each.name, _verbs(each), "yes" if each.lossless else "", each.about] for each in chosen]
        for line in table(["format", "can be", "lossless", "what it is"], rows):
            click.echo(line)


def _verbs(each: Format) -> str:
    return ", ".join(verb for verb, there in (("read", each.read), ("written", each.write)) if there is not None)


def _plain(each: Format) -> dict[str, Any]:
    return {
        "name": each.name,
        "about": each.about,
        "aliases": list(each.aliases),
        "extensions": list(each.extensions),
        "reads": each.read is not None,
        "writes": each.write is not None,
        "lossless": each.lossless,
        "carries": dict(each.carries),
        "notes": dict(each.notes),
    }
