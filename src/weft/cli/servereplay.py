"""`weft serve-replay`: a server that answers from a recording."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import click

from weft.cli.calling import run_async
from weft.cli.completing import files
from weft.cli.render import counted, note, visible
from weft.cli.storing import store_option
from weft.cli.tracing import opened, tell_problems
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.sim import Match, Seen

__all__ = ["serve_replay"]

PORT = 7879


@click.command("serve-replay")
@click.argument("source", metavar="FILE|SESSION", shell_complete=files)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--match",
    type=click.Choice(["exact", "closest", "sequence"]),
    default="closest",
    show_default=True,
    help="The very request; the nearest that asks the same last thing; or one after another.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not show requests as they come.")
@store_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED, shell_complete=files)
def serve_replay(
    *, source: str, host: str, port: int, match: Match, quiet: bool, address: str | None, command: tuple[str, ...]
) -> int:
    """Answer clients from a recording, without a provider: for tests that need no network and no key.

    A request gets the answer that was recorded for it, whole or streamed as it came then. One that is like nothing in
    the recording is refused, with the nearest request and the first difference. With COMMAND (after --), it is run with
    the variables that lead its clients here, and its exit status is given.
    """
    from weft.sim import Replayer

    with opened(source, address) as recording:
        records = [recording.record(request) for request in recording.cooked().requests]
        tell_problems(recording)
    if not records:
        raise UsageError(f"{source} has no requests\n  record some: weft record -- COMMAND")
    replayer = Replayer(records, match=match, host=host, port=port, on_request=None if quiet else _show)
    return run_async(_serve(replayer, command))


async def _serve(replayer: Any, command: tuple[str, ...]) -> int:
    try:
        await replayer.__aenter__()
    except OSError as problem:
        why = str(problem.strerror or problem).rpartition("): ")[2]  # asyncio says the address once more
        raise UsageError(f"cannot listen on {replayer.url}: {why}\n  try another: --port 0") from None
    try:
        if command:
            try:
                child = await asyncio.create_subprocess_exec(*command, env={**os.environ, **replayer.environment()})
            except FileNotFoundError:
                raise UsageError(f"no such command: {command[0]}") from None
            return await child.wait()
        click.echo(replayer.url)
        note(f"answers {counted(len(replayer), 'recorded request')}; ctrl-c ends it")
        for name, value in replayer.environment().items():
            click.echo(f"  export {name}={value}", err=True)
        await asyncio.Event().wait()
    finally:
        await replayer.__aexit__()
    return 0


def _show(seen: Seen) -> None:
    click.echo(f"{seen.status} {visible(seen.provider)} {seen.method} {visible(seen.path)}", err=True)
