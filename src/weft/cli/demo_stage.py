"""The stage of the demo: a simulator beside the commands, an environment of their own, and a scene to run them in."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from weft.sim import Simulator

__all__ = ["Scene", "one_stream", "running_simulator", "surroundings"]


@dataclass(slots=True)
class Scene:
    """Where a part plays: the provider in a box, and what the commands leave behind."""

    simulator: Simulator
    answer_id: str = ""
    waits: bool = False
    opens: bool = False

    def run(self, *args: str, shown: str | None = None) -> int:
        """Show a command line and what it does. `shown` is what it is called instead of a long path."""
        from weft.cli.app import run

        click.secho(f"$ weft {shown or join(args)}", fg="cyan")
        sys.stdout.flush()  # programs that it starts write there themselves
        stdin = sys.stdin
        with open(os.devnull, encoding="utf-8") as nothing:  # what is piped into the demo is not a question
            sys.stdin = nothing
            try:
                return run(args)
            finally:
                sys.stdin = stdin


@contextmanager
def running_simulator(rules: list[dict[str, Any]]) -> Iterator[Simulator]:
    """Run the simulator beside the commands, which begin a loop of their own each."""
    from weft.sim import Script, Simulator

    simulator = Simulator(Script.read({"rules": rules}))
    loop = asyncio.new_event_loop()
    started, ended = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with simulator:
            started.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    started.wait()
    try:
        yield simulator
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


@contextmanager
def surroundings(variables: dict[str, str]) -> Iterator[None]:
    """Run with these variables, and without those that would lead elsewhere."""
    before = dict(os.environ)
    os.environ.update(variables)
    for name in ("WEFT_STORE", "WEFT_MODEL", "WEFT_YOLO"):
        os.environ.pop(name, None)
    folder = Path.cwd()
    os.chdir(variables["WEFT_HOME"])  # where no .mcp.json of a project is found
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def one_stream() -> Iterator[None]:
    """Let what a program writes to its stderr go where its stdout goes, as everything on the stage does."""
    errors = os.dup(2)
    os.dup2(1, 2)
    try:
        yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)
