"""`weft demo`: the main job, shown in a minute without a key or a network.

The commands are the real ones, run over a store of their own and the built-in simulator; the tool is a real MCP
server. It grows with weft: a part is a title and some command lines.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from weft.sim import Simulator

__all__ = ["demo"]

CLAUDE, GEMINI, GPT = "anthropic/claude-sonnet-4-6", "gemini/gemini-3-pro-preview", "openai-responses/gpt-5.2"
DEPTH = {"think": "The sonar knows; I should ask it.", "tools": [{"name": "harbour___depth", "arguments": {"pier": 4}}]}
RULES: list[dict[str, Any]] = [
    {"when": {"text": "how deep"}, "steps": [DEPTH, {"say": "At pier 4 the water is 6.2 m deep."}]},
    {
        "when": {"text": "draught"},
        "reply": {"think": "6.2 less 5.5 is 0.7.", "say": "Yes: 0.7 m of water stay below her keel."},
    },
    {"when": {"text": "sure"}, "reply": {"say": "The sonar said 6.2 m; I have not measured it myself."}},
    {"when": {"text": "sum up"}, "reply": {"say": "Pier 4: 6.2 m deep, enough for 5.5 m of draught."}},
]


@click.command()
@click.option("--once", is_flag=True, help="Show everything without waiting in between, then end.")
def demo(*, once: bool) -> int:
    """Show what weft does, without a key or a network: ask with a tool, branch, switch provider, compare."""
    wait = not once and sys.stdin.isatty() and sys.stdout.isatty()
    with (
        tempfile.TemporaryDirectory(prefix="weft-demo-") as folder,
        _simulator() as simulator,
        _surroundings({"WEFT_HOME": folder, **simulator.environment()}),
        redirect_stderr(sys.stdout),
    ):
        scene = _Scene(simulator)
        for number, (title, play) in enumerate(PARTS, start=1):
            click.secho(f"{number}. {title}", bold=True)
            if status := play(scene):
                return status
            click.echo()
            if wait and number < len(PARTS):
                click.echo(click.style("press enter to go on ", dim=True), nl=False)
                sys.stdin.readline()
    click.echo(WHERE_NEXT)
    return 0


@dataclass(slots=True)
class _Scene:
    """The demo's stage: the provider in a box, and what the commands leave behind."""

    simulator: Simulator
    answer_id: str = ""

    def run(self, *args: str) -> int:
        """Show a command line and what it does."""
        from weft.cli.app import run

        click.secho(f"$ weft {join(args)}", fg="cyan")
        stdin = sys.stdin
        with open(os.devnull, encoding="utf-8") as nothing:  # what is piped into the demo is not a question
            sys.stdin = nothing
            try:
                return run(args)
            finally:
                sys.stdin = stdin


def _ask_with_a_tool(scene: _Scene) -> int:
    tools: list[str] = []
    if find_spec("mcp") is None:
        click.echo('   (without the tool: servers need an extra, pip install "weft[mcp]")')
    else:
        command = [sys.executable, "-m", "weft.cli.demo_tools"]
        if status := _register(command):
            return status
        tools = ["--servers", "harbour", "--yolo"]
    status = scene.run("ask", "-m", CLAUDE, *tools, "-b", "pier", "How deep is it at pier 4?")
    scene.answer_id = _newest()
    return status


def _register(command: list[str]) -> int:
    """Write the demo's server down; done beside the stage, as its command is a long path."""
    from weft import config
    from weft.tools import Server, register

    environ = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    register(config.config_folder() / "config.toml", Server(name="harbour", command=tuple(command), env=environ))
    return 0


def _switch(scene: _Scene) -> int:
    status = scene.run(
        "ask", "-c", "pier", "-m", GEMINI, "--no-servers", "May a ship of 5.5 m draught moor there?"
    ) or scene.run("ask", "-c", "pier", "-m", CLAUDE, "Sum up.")
    click.echo(f"   Claude's signed thinking went back to Claude: {_carried(scene.simulator)}")
    return status


def _carried(simulator: Simulator) -> str:
    """Look at the last request, as it came in: the simulator answers 400 to a signature that is not its own."""
    messages = simulator.seen[-1].body["messages"]
    signed = [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == "thinking" and block.get("signature")
    ]
    return f"{len(signed)} block, its signature checked" if signed else "none"


def _branch(scene: _Scene) -> int:
    return scene.run("ask", "-c", scene.answer_id[:14], "-b", "doubt", "-m", GPT, "--no-servers", "Are you sure?")


def _look(scene: _Scene) -> int:
    return scene.run("log", "--graph", "pier") or scene.run("diff", "pier", "doubt")


def _newest() -> str:
    from weft.threads import open_store

    with open_store() as store:
        latest = store.latest()
        return latest.id if latest else ""


PARTS = [
    ("Ask, with a tool of a real MCP server", _ask_with_a_tool),
    ("Go on with other providers; what they cannot take is said", _switch),
    ("Branch: go on from an older turn, with a third provider", _branch),
    ("See the tree, and what differs between its branches", _look),
]


@contextmanager
def _simulator() -> Iterator[Simulator]:
    """Run the simulator beside the commands, which begin a loop of their own each."""
    from weft.sim import Script, Simulator

    rules = RULES
    if find_spec("mcp") is None:
        rules = [{**RULES[0], "steps": RULES[0]["steps"][1:]}, *RULES[1:]]
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
def _surroundings(variables: dict[str, str]) -> Iterator[None]:
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


WHERE_NEXT = """\
Try next
   weft keys set anthropic                         a key of your own; or set ANTHROPIC_API_KEY
   weft -m anthropic/claude-sonnet-4-6 "Hello"     ask; go on with: weft -r "And then?"
   weft sim -- weft -m openai/gpt-5.2 "Hello"      the same without a key
   weft chat -m gemini/gemini-3-flash-preview      talk
   weft --help                                     every command
   docs/tutorial/ask-branch-switch.md              the above, step by step"""
