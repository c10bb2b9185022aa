"""`weft sim`: the provider simulator, for as long as it is wanted or as long as a command runs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from weft.cli.completing import files
from weft.cli.render import visible
from weft.errors import UsageError
from weft.sim import ANY_KEY, Script, Seen, Simulator, load_script

__all__ = ["sim"]

PORT = 7878
NOT_FOUND = 127  # what shells give for a command that is not there


@click.command()
@click.option(
    "--script", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="How to answer: a TOML file."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("-q", "--quiet", is_flag=True, help="Do not show requests as they come.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, shell_complete=files)
def sim(*, script: Path | None, host: str, port: int, quiet: bool, command: tuple[str, ...]) -> int:
    """Run a provider simulator: the real dialects of OpenAI, Anthropic, Gemini, Bedrock and Cohere, without a key.

    Any key will do, and prompts may say what is wanted: [[tool depth {"pier": 4}]], [[think ...]], [[error 529]],
    [[cut 5]], [[slow 20ms]]. With COMMAND (after --), it is run with the variables that lead its clients here, and the
    simulator ends with it. docs/reference/simulator.md has the rest.
    """
    rules = load_script(script) if script is not None else Script()
    return asyncio.run(_run(Simulator(rules, host=host, port=port, on_request=None if quiet else _show), command))


async def _run(simulator: Simulator, command: tuple[str, ...]) -> int:
    try:
        await simulator.__aenter__()
    except OSError as problem:
        why = str(problem.strerror or problem).rpartition("): ")[2]  # asyncio says the address once more
        raise UsageError(f"cannot listen on {simulator.url}: {why}\n  try another: weft sim --port 0") from None
    try:
        if command:
            return await _accompany(simulator, command)
        click.echo(simulator.url)
        for name, value in simulator.environment().items():
            if value == ANY_KEY or not _holds_key(name):  # a key somebody wrote into a script is not shown
                click.echo(f"  export {name}={value}", err=True)
        await asyncio.Event().wait()  # until ctrl-c
    finally:
        await simulator.__aexit__()
    return 0


async def _accompany(simulator: Simulator, command: tuple[str, ...]) -> int:
    try:
        child = await asyncio.create_subprocess_exec(*command, env={**os.environ, **simulator.environment()})
    except FileNotFoundError:
        click.echo(f"weft: no such command: {visible(command[0])}", err=True)
        return NOT_FOUND
    return await child.wait()


def _holds_key(name: str) -> bool:
    return name.endswith("_KEY") or "TOKEN" in name


def _show(seen: Seen) -> None:
    click.echo(f"{seen.status} {visible(seen.provider)} {seen.method} {visible(seen.path)}", err=True)
