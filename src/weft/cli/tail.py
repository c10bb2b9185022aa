"""`weft tail`: requests as they end, of a recording that another process writes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.completing import files
from weft.cli.render import json_text, note, room, visible
from weft.cli.storing import as_json, store_option
from weft.cli.tracing import cost_of, fact_line
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.trace import Facts, Follower, UnderWay

__all__ = ["tail"]

_EVERY_SECONDS = 0.2


@click.command()
@click.argument("source", required=False, metavar="[FILE|SESSION]", shell_complete=files)
@click.option(
    "-n", "--lines", default=10, show_default=True, type=click.IntRange(min=0), help="How many to begin with."
)
@click.option("--no-follow", is_flag=True, help="Only what is there; do not wait for more.")
@as_json
@store_option
def tail(*, source: str | None, lines: int, no_follow: bool, as_json: bool, address: str | None) -> None:
    """Follow a recording: one line for each request as it ends, until ctrl-c.

    FILE is a trace, which need not be there yet; SESSION the beginning of a session's id; without either, everything
    that is recorded in the store. On a terminal the last line shows what is still under way.
    """
    from weft.cli.tracing import is_file
    from weft.trace import FileFollower

    if source is not None and is_file(source):
        path = Path(source).expanduser()
        if not path.parent.is_dir():
            raise click.UsageError(f"there is no folder {path.parent}")
        if not path.exists():
            if no_follow:
                raise UsageError(f"no such file: {source}")
            note(f"{source} is not there yet; waiting for it, until ctrl-c")
        _follow(FileFollower(path), lines, follows=not no_follow, as_json=as_json)
        return
    from weft.store import Exchanges
    from weft.threads import open_store
    from weft.trace import StoreFollower, find_session

    with open_store(address, read_only=address is not None) as store:
        session = None if source is None else find_session(Exchanges(store.frames), source).number
        _follow(StoreFollower(store.frames, session), lines, follows=not no_follow, as_json=as_json)


def _follow(follower: Follower, count: int, *, follows: bool, as_json: bool) -> None:
    status = _Status(watches=follows and not as_json and sys.stdout.isatty())
    try:
        _print(follower.last(count), as_json=as_json)
        while follows:
            new = follower.poll()
            if new:
                status.clear()
                _print(new, as_json=as_json)
            status.show(follower.under_way())
            time.sleep(_EVERY_SECONDS)
    except KeyboardInterrupt:
        status.clear()


def _print(lines: list[bytes], *, as_json: bool) -> None:
    from weft.jsontext import loads
    from weft.trace import facts_of

    for line in lines:
        try:
            record = loads(line)
            facts = facts_of(record if isinstance(record, dict) else {})
        except ValueError as problem:
            note(f"warning: a line is no record: {problem}")
            continue
        cost = cost_of(facts)
        if as_json:
            click.echo(json_text({**facts.to_dict(), "cost": cost}).replace("\n", " "))
        else:
            click.echo(_line(facts, cost))
    if lines:
        sys.stdout.flush()


def _line(facts: Facts, cost: float | None) -> str:
    return fact_line(facts, length=8, cost=cost)


class _Status:
    """The last line of a terminal, which says what is under way."""

    def __init__(self, *, watches: bool) -> None:
        self._watches = watches
        self._shown = ""

    def show(self, under_way: list[UnderWay]) -> None:
        if not self._watches:
            return
        text = ""
        if under_way:
            first = max(under_way, key=lambda one: one.seconds)
            more = f", and {len(under_way) - 1} more" if len(under_way) > 1 else ""
            text = f"… {first.model or first.path or first.id} under way, {first.seconds:.0f}s{more}"
        if text != self._shown:
            self.clear()
            if text:
                click.echo(click.style(visible(text)[: room(0)], dim=True), nl=False)
                sys.stdout.flush()
            self._shown = text

    def clear(self) -> None:
        if self._shown:
            click.echo("\r\x1b[K", nl=False)
            self._shown = ""
