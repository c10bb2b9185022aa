"""`weft prep`: things made ready to be put before a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from weft.cli.helping import Listing
from weft.cli.render import visible
from weft.cli.storing import piped_input

__all__ = ["prep"]


@click.group(cls=Listing)
def prep() -> None:
    """Make something ready to be put before a model: weft prep gr src/*.py | weft "What does this do?"."""


@prep.command()
@click.argument("names", nargs=-1)
@click.option("-i", "--instructions", default="", metavar="TEXT", help="What to do with it; goes into the element.")
@click.option("--raw", is_flag=True, help="Write control characters as they are, to a pipe.")
def gr(*, names: tuple[str, ...], instructions: str, raw: bool) -> None:
    """Print files of a git repository as one XML element.

    NAMES are files below the folder you are in; more of them, one a line, may be piped in: git ls-files | weft prep gr
    """
    from weft.chat import repo_context

    piped = piped_input(needed=not names) or ""
    listed = [*names, *(line for line in piped.splitlines() if line)]
    text = repo_context(Path.cwd(), listed, origin=_origin(), instructions=instructions)
    sys.stdout.write(f"{text if raw and not sys.stdout.isatty() else visible(text)}\n")


def _origin() -> str:
    """Ask git for the address of the remote `origin`; without one, or without git, there is none [T-70]."""
    command = ["git", "config", "--get", "remote.origin.url"]
    try:
        found = subprocess.run(command, capture_output=True, check=False, timeout=10)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.decode("utf-8", "replace").strip()
