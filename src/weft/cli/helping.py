"""How help lists commands: a line each, by what one wants to do, and never a sentence that breaks off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CHAPTERS", "Listing", "phrase", "write_commands"]

# Every command of COMMANDS once, in the order a newcomer meets them.
CHAPTERS: Mapping[str, tuple[str, ...]] = {
    "Ask": ("ask", "chat", "call", "models", "alias", "keys", "provider", "mcp", "prep"),
    "Find and read what was said": ("threads", "log", "show", "search", "diff", "view", "ctx", "blob"),
    "Branch and change": ("add", "doc", "bookmark", "branch", "edit", "drop", "merge", "rm"),
    "Files of other tools": ("convert", "import", "export", "formats", "plan"),
    "Record programs": ("record", "proxy", "tail", "trace", "replay", "serve-replay", "cook", "otel"),
    "Look after the store": ("stats", "doctor", "fsck", "backup", "gc", "scan-secrets", "purge"),
    "Try it": ("demo", "sim", "version"),
}
# Where a sentence may end early: best where something else begins, unless that leaves next to nothing.
_ENDS = (re.compile(r"(?<=.{22})[;:](?=\s)"), re.compile(r"[;:,](?=\s)"))
_SPACING = 6


class Listing(click.Group):
    """A group whose help has its commands on a line each."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(self, ctx, formatter, {"Commands": self.list_commands(ctx)})


def write_commands(
    group: click.Group, ctx: click.Context, formatter: click.HelpFormatter, chapters: Mapping[str, Iterable[str]]
) -> None:
    """Write chapter after chapter of commands, their sentences beginning in the same column."""
    found = {
        title: [(name, command) for name in names if (command := group.get_command(ctx, name)) and not command.hidden]
        for title, names in chapters.items()
    }
    widest = max((len(name) for rows in found.values() for name, _ in rows), default=0)
    for title, rows in found.items():
        if rows:
            with formatter.section(title):
                space = formatter.width - _SPACING - widest
                formatter.write_dl([(name.ljust(widest), phrase(command, space)) for name, command in rows])


def phrase(command: click.Command, columns: int) -> str:
    """Give what a command does in so many columns: its first sentence, or as much of it as is whole by itself."""
    sentence = command.get_short_help_str(1000)
    if len(sentence) <= columns:
        return sentence
    for ends in _ENDS:
        if found := [match.start() for match in ends.finditer(sentence) if match.start() < columns]:
            return f"{sentence[: found[-1]]}."
    return command.get_short_help_str(columns)
