"""`weft demo`: the main job, shown in a minute without a key or a network.

The commands are the real ones, run over a store of their own and the built-in simulator; the tool is a real MCP
server, and the agent that is recorded is a program of its own. A part is a title and some command lines.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.demo_stage import Scene, one_stream, running_simulator, surroundings
from weft.cli.render import counted

if TYPE_CHECKING:
    from weft.sim import Simulator

__all__ = ["demo"]

CLAUDE, GEMINI, GPT = "anthropic/claude-sonnet-4-6", "gemini/gemini-3-pro-preview", "openai-responses/gpt-5.2"
DEPTH = {"think": "The sonar knows; I should ask it.", "tools": [{"name": "harbour___depth", "arguments": {"pier": 4}}]}
BERTH = {"tools": [{"name": "depth", "arguments": {"pier": pier}} for pier in (3, 4)]}
RULES: list[dict[str, Any]] = [
    {"when": {"text": "how deep"}, "steps": [DEPTH, {"say": "At pier 4 the water is 6.2 m deep."}]},
    {
        "when": {"text": "moor there"},
        "reply": {"think": "6.2 less 5.5 is 0.7.", "say": "Yes: 0.7 m of water stay below her keel."},
    },
    {"when": {"text": "sure"}, "reply": {"say": "The sonar said 6.2 m; I have not measured it myself."}},
    {"when": {"text": "sum up"}, "reply": {"say": "Pier 4: 6.2 m deep, enough for 5.5 m of draught."}},
    # What the recorded agent asks, in demo_agent.py.
    {"when": {"text": "find a berth"}, "steps": [BERTH, {"say": "Pier 3 is deep enough, and so is pier 4."}]},
    {"when": {"text": "a title for"}, "reply": {"say": "A berth for the night"}},
    {"when": {"text": "a metre to spare"}, "reply": {"say": "Booked: pier 4, 1.2 m below the keel."}},
    {"when": {"text": "book it"}, "reply": {"say": "Booked: pier 3, 0.5 m below the keel."}},
    {"when": {"text": "two nights"}, "reply": {"say": "Booked: pier 4 for two nights."}},
]
TRACE = "run.jsonl"


@click.command()
@click.option("--once", is_flag=True, help="Show everything without waiting in between, then end.")
@click.option("--no-open", is_flag=True, help="Do not open a browser at the end.")
def demo(*, once: bool, no_open: bool) -> int:
    """Show what weft does, without a key or a network.

    Ask with a tool, branch, switch provider, compare; record an agent, see its requests as a tree, go on from one of
    them with another provider; and, at the end, all of it in the browser.
    """
    wait = not once and sys.stdin.isatty() and sys.stdout.isatty()
    with (
        tempfile.TemporaryDirectory(prefix="weft-demo-") as folder,
        running_simulator(_rules()) as simulator,
        surroundings({"WEFT_HOME": folder, **simulator.environment()}),
        redirect_stderr(sys.stdout),
    ):
        scene = Scene(simulator, waits=wait, opens=wait and not no_open)
        for number, (title, play) in enumerate(PARTS, start=1):
            click.secho(f"{number}. {title}", bold=True)
            if status := play(scene):
                return status
            click.echo()
            if wait and number < len(PARTS):
                click.echo(click.style("press enter to go on ", dim=True), nl=False)
                sys.stdin.readline()
    click.echo("\n".join(["Try next", *_to_the_path(), WHERE_NEXT]))
    return 0


def _to_the_path() -> Iterator[str]:
    """Tell whoever ran this by `make demo` how to call weft by its name, as all that follows does."""
    folder = Path(sys.executable).parent
    if shutil.which("weft") is None and (folder / "weft").exists():
        near = f"$PWD/{folder.relative_to(Path.cwd())}" if folder.is_relative_to(Path.cwd()) else str(folder)
        command = f'export PATH="{near}:$PATH"'
        yield f"   {command:<47} first: weft is in that folder"


def _rules() -> list[dict[str, Any]]:
    """Give the simulator's part of the conversation; without tools it answers at once."""
    if find_spec("mcp") is not None:
        return RULES
    return [{**RULES[0], "steps": RULES[0]["steps"][1:]}, *RULES[1:]]


def _ask_with_a_tool(scene: Scene) -> int:
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


def _switch(scene: Scene) -> int:
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


def _branch(scene: Scene) -> int:
    return scene.run("ask", "-c", scene.answer_id[:14], "-b", "doubt", "-m", GPT, "--no-servers", "Are you sure?")


def _look(scene: Scene) -> int:
    return scene.run("log", "--graph", "pier") or scene.run("diff", "pier", "doubt")


def _record(scene: Scene) -> int:
    """Record a program that knows nothing of weft."""
    from weft.cli import demo_agent

    Path("agent.py").write_bytes(Path(demo_agent.__file__).read_bytes())
    with one_stream():
        command = [sys.executable, "agent.py"]
        return scene.run("record", "-o", TRACE, "--", *command, shown=f"record -o {TRACE} -- python agent.py")


def _see_the_forest(scene: Scene) -> int:
    return scene.run("trace", "ls", TRACE)


def _go_on_elsewhere(scene: Scene) -> int:
    return (
        scene.run("import", TRACE)
        or scene.run("ask", "-c", _forked(), "-b", "nights", "-m", GEMINI, "Book pier 4 for two nights.")
        or scene.run("log", "--graph", "nights")
    )


def _forked() -> str:
    """Give the request of the recording that two others continue, as short as it was listed."""
    from collections import Counter

    from weft.cli.tracing import short_length
    from weft.trace import TraceFile

    recording = TraceFile(TRACE)
    recording.refresh()
    requests = recording.cooked().requests
    parents = Counter(request.parent_id for request in requests if request.parent_id)
    return parents.most_common(1)[0][0][: short_length([request.id for request in requests])]


def _view(scene: Scene) -> int:
    """Show all of it in the browser, for as long as it is looked at; unwatched, see that it would be shown."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        click.echo('   (the viewer needs an extra: pip install "weft[view]")')
        return 0
    from weft.cli.view import shown

    click.secho("$ weft view", fg="cyan")
    with shown([], opens=scene.opens) as (url, viewer):
        for line in _answers(url, viewer.keys.token):
            click.echo(f"   {line}")
        if scene.waits:
            click.echo(f"   {url}")
            click.echo(click.style("press enter or ctrl-c to end ", dim=True), nl=False)
            try:
                sys.stdin.readline()
            except KeyboardInterrupt:
                click.echo()
    return 0


def _answers(url: str, token: str) -> Iterator[str]:
    """Ask the viewer as its page does; give what it shows."""
    import httpx2

    address = url.partition("#")[0]
    with httpx2.Client(headers={"authorization": f"Bearer {token}"}, trust_env=False, timeout=20) as client:
        for source in client.get(f"{address}api/sources").raise_for_status().json()["sources"]:
            kind = "turn" if source["kind"] == "threads" else "request"
            yield f"{source['name']}: {counted(source['rows'], kind)}"
        if not client.get(address).is_success:
            yield "(its page is not built: run `make viewer` in a checkout of weft)"


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
    ("Record an agent, a program that knows nothing of weft", _record),
    ("See its run: a loop, a second try from the same point, a title beside it", _see_the_forest),
    ("Make threads of it, and go on from any request with another provider", _go_on_elsewhere),
    ("See all of it in the browser", _view),
]


WHERE_NEXT = """\
   weft keys set anthropic                         a key of your own; or set ANTHROPIC_API_KEY
   weft -m anthropic/claude-sonnet-4-6 "Hello"     ask; go on with: weft -r "And then?"
   weft sim -- weft -m openai/gpt-5.2 "Hello"      the same without a key
   weft chat -m gemini/gemini-3-flash-preview      talk
   weft record -- python agent.py                  record an agent of yours; see it with: weft view trace-….jsonl
   weft view                                       threads and recordings in the browser
   weft --help                                     every command
   docs/tutorial/ask-branch-switch.md              the first half of this, step by step
   docs/tutorial/record-see-branch.md              the second half"""
