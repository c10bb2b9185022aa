"""Write docs/reference/cli.md from the commands' own --help.

`make fix` runs it; a test fails when the page is stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.app import weft

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "cli.md"
WIDTH = 90
INTRODUCTION = """\
# The command line

Every command, as its `--help` prints it. This page is generated (`make fix`); change the commands, not the page.

Exit status: 0 done, 1 refused or failed (one message on stderr says what, where and what to do), 2 misuse, 3 something
was lost and `--strict` forbids it, 4 the provider said no, 5 no such turn or bookmark (or more than one), 130 stopped.
`--debug` before a command, or `WEFT_DEBUG=1`, adds where an error came from. The answer goes to stdout, everything
else to stderr.
"""


def page() -> str:
    """Return the page's text."""
    sections = [INTRODUCTION]
    for path, text in _helps(weft, "weft", None):
        sections.append(f"## {path}\n\n```text\n{text}\n```\n")
    return "\n".join(sections)


def _helps(command: click.Command, path: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    # As the program itself makes it: the settings carry the names of the help option.
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent, **settings)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (child := command.get_command(context, name)) is not None and not child.hidden:
                yield from _helps(child, f"{path} {name}", context)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
