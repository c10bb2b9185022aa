"""`weft version`."""

from __future__ import annotations

import click

from weft.version import __version__

__all__ = ["version"]


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"weft {__version__}")
