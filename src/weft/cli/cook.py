"""`weft cook`: recorded traffic as distinct messages and a forest of requests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from weft.cli.completing import files
from weft.cli.output import whole_file
from weft.cli.progress import progress
from weft.cli.render import counted, json_text, note, size_text, visible

if TYPE_CHECKING:
    from weft.trace import Cooked, Problem

__all__ = ["cook"]

PARTIAL = 3  # some records could not be read; the others are in the output
_FORMATS = ("auto", "openai", "claude", "gemini", "responses", "bedrock", "cohere", "ollama")
_SHOWN = 10  # problems in the summary


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, shell_complete=files)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    shell_complete=files,
    default="output.json",
    show_default=True,
    help="Where to write; - is stdout.",
)
@click.option(
    "--format", "format_name", type=click.Choice(_FORMATS), default="auto", show_default=True, help="Of all records."
)
@click.option("--links", is_flag=True, help="Let response ids, conversations and sessions decide parents, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def cook(inputs: tuple[str, ...], output: str, format_name: str, links: bool, as_json: bool) -> int:
    """Cook recorded traffic: each distinct message and tool once, and which request continues which.

    INPUT is a trace (.jsonl, .jsonl.zst, or a JSON list or object), a folder of traces, or - for stdin. A record that
    cannot be read is reported with its line, and the others are cooked; the exit status is then 3.
    """
    from weft.trace import Cooker, read_records

    if not inputs:
        if sys.stdin.isatty():
            raise click.UsageError("Missing argument 'INPUT...'.")
        inputs = ("-",)
    cooker = Cooker(format=format_name, links=links)
    sources: list[str | BinaryIO] = [sys.stdin.buffer if name == "-" else name for name in inputs]
    records = 0
    with progress("cooking", _total(inputs)) as advance:
        for place, line in read_records(sources, cooker.problems.append):
            records += 1
            cooker.add(line, place)
            advance(len(line))
    cooked = cooker.cooked()
    problems = sorted(cooker.problems, key=lambda problem: (problem.place.source, problem.place.line))
    _write(output, cooked.to_json())
    summary = _summary(cooked, records, problems, output)
    if as_json:
        click.echo(json_text(summary), err=output == "-")
    else:
        _tell(summary, problems, to_stderr=output == "-")
    return PARTIAL if problems else 0


def _total(inputs: tuple[str, ...]) -> int:
    """Give the bytes there are to cook; none if that cannot be told, of a pipe or of compressed files."""
    if "-" in inputs or any(name.endswith(".zst") for name in inputs):
        return 0
    return sum(_size(Path(name)) for name in inputs)


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(each.stat().st_size for each in path.rglob("*.json*") if each.is_file())
    return path.stat().st_size if path.exists() else 0


def _write(output: str, text: bytes) -> None:
    """Write the output whole or not at all."""
    if output == "-":
        sys.stdout.buffer.write(text + b"\n")
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(text + b"\n")


def _summary(cooked: Cooked, records: int, problems: list[Problem], output: str) -> dict[str, Any]:
    return {
        "records": records + sum(problem.torn for problem in problems),
        "requests": len(cooked.requests),
        "messages": len(cooked.messages),
        "tools": len(cooked.tools),
        "roots": sum(request.parent_id is None for request in cooked.requests),
        "linked": sum(bool(request.links) for request in cooked.requests),
        "output": output,
        "problems": [
            {
                "source": problem.place.source,
                "line": problem.place.line,
                "message": problem.message,
                "torn": problem.torn,
            }
            for problem in problems
        ],
    }


def _tell(summary: dict[str, Any], problems: list[Problem], *, to_stderr: bool) -> None:
    counts = [counted(summary[name + "s"], name) for name in ("record", "request", "message", "tool")]
    where = "" if summary["output"] == "-" else f" -> {summary['output']}"
    if where:
        where += f" ({size_text(Path(summary['output']).stat().st_size)})" if Path(summary["output"]).is_file() else ""
    click.echo(visible(f"cooked {', '.join(counts)}{where}"), err=to_stderr)
    trees = f"{counted(summary['roots'], 'request')} without a parent"
    if summary["linked"]:
        trees += f"; {counted(summary['linked'], 'request')} with links of their own (see --links)"
    click.echo(trees, err=to_stderr)
    for problem in problems[:_SHOWN]:
        note(str(problem))
    if len(problems) > _SHOWN:
        note(f"and {counted(len(problems) - _SHOWN, 'more problem')}")
    if problems:
        note(f"left out: {counted(len(problems), 'record')}")
