"""`weft mcp`: tool servers that speak MCP: write them down, look at them, try their tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.calling import run_async
from weft.cli.helping import Listing
from weft.cli.render import counted, cut, json_text, note, room, table, visible
from weft.cli.storing import as_json
from weft.cli.tooling import config_file, known_servers, need_consent, toolbox_of
from weft.errors import McpError, UsageError
from weft.jsontext import loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from weft.tools import Server

__all__ = ["mcp"]


@click.group(cls=Listing)
def mcp() -> None:
    """Use tools of MCP servers.

    Servers are written in config.toml as [mcp_servers.NAME], or in the .mcp.json of the folder you are in. One from
    .mcp.json is shown and asked about before it first runs.
    """


@mcp.command()
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="The address of a remote server (streamable HTTP), instead of a command.")
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to a remote server; may use ${VAR}."
)
@click.option("--env", "env", multiple=True, metavar="NAME=VALUE", help="A variable for the server; may use ${VAR}.")
@click.option("--pass-env", "passed", multiple=True, metavar="NAME", help="A variable it gets from this environment.")
@click.option("--root", "roots", multiple=True, metavar="FOLDER", help="A folder the server is told it may work in.")
@click.option("--cwd", metavar="FOLDER", help="Where it runs.")
@click.option("--private", is_flag=True, help="The address may be inside your own network.")
@click.option("--from", "source", type=click.Path(path_type=Path), help="Take NAME from a file with mcpServers in it.")
@click.option("--replace", is_flag=True, help="Write over a server of this name.")
@click.option("--no-start", is_flag=True, help="Only write it down; do not try it.")
@click.option("-y", "--yes", is_flag=True, help="Agree to start it without being asked.")
@as_json
def register(
    *,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    headers: tuple[str, ...],
    env: tuple[str, ...],
    passed: tuple[str, ...],
    roots: tuple[str, ...],
    cwd: str | None,
    private: bool,
    source: Path | None,
    replace: bool,
    no_start: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Write a server down as NAME, once it has been started and answered.

    COMMAND is the program and its arguments, each a word of its own: no shell reads them. Put -- before them if they
    have options: weft mcp register time -- mcp-server-time --local-timezone UTC
    """
    from weft.tools import Server, read_servers, register

    if source is not None:
        if command or url or headers or env:
            raise click.UsageError("--from takes the server as the file has it")
        server = _owned(read_servers(None, [source]).named(name))
    else:
        server = Server(
            name=name,
            command=command,
            env=_pairs(env, "=", "--env NAME=VALUE"),
            env_vars=passed,
            cwd=cwd,
            url=url,
            headers=_pairs(headers, ":", "--header 'NAME: VALUE'"),
            private=private,
            roots=roots,
        )
    if name in read_servers(config_file()).servers and not replace:
        raise UsageError(f"{config_file()} already has a server called {name}\n  replace it: --replace")
    if no_start:
        register(config_file(), server, replace=replace)
        note(f"{name} is written down in {config_file()}")
        return
    need_consent(server, agreed=yes)
    about, tools = run_async(_meet(server))
    register(config_file(), server, replace=replace)
    if as_json:
        click.echo(json_text({"name": name, **about, "tools": [tool["name"] for tool in tools]}))
    else:
        note(f"{name} is ready: {_who(about)}, {counted(len(tools), 'tool')}")


@mcp.command("list")
@as_json
def list_servers(*, as_json: bool) -> None:
    """List servers: what each runs, and where it is written."""
    servers = known_servers().servers.values()
    if as_json:
        entries = [
            {"name": s.name, "command": list(s.command) or None, "url": s.url, "source": s.source} for s in servers
        ]
        click.echo(json_text(entries))
        return
    if not servers:
        note("there are no tool servers yet; add one: weft mcp register NAME COMMAND")
        return
    rows = [(s.name, "settings" if s.owned else ".mcp.json", s.shown()) for s in servers]
    click.echo("\n".join(table(("name", "from", "runs"), rows)))


@mcp.command()
@click.argument("name")
def remove(*, name: str) -> None:
    """Take a server out of config.toml."""
    from weft.tools import remove

    remove(config_file(), name)
    note(f"{name} is removed from {config_file()}")


@mcp.command()
@click.argument("name")
@as_json
def tools(*, name: str, as_json: bool) -> int:
    """List the tools of a server: their names there, and what they do."""
    server = known_servers().named(name)
    try:
        _, found = run_async(_meet(server))
    except McpError as problem:
        if not as_json:
            raise
        click.echo(json_text({"error": {"code": problem.code, "message": problem.message}}))
        return 1
    if as_json:
        click.echo(json_text(found))
        return 0
    width = room(max((len(tool["name"]) for tool in found), default=0) + 2)
    rows = [(_line(tool["name"]), cut(_line(tool.get("description", "")), width)) for tool in found]
    click.echo("\n".join(table(("tool", "does"), rows)))
    return 0


@mcp.command()
@click.argument("name")
@click.argument("tool_name", metavar="TOOL")
@click.argument("arguments", default="{}")
@as_json
def call(*, name: str, tool_name: str, arguments: str, as_json: bool) -> int:
    """Call a TOOL of a server; ARGUMENTS is a JSON object, or - to read it from stdin.

    Prints the text of the answer; with --json the JSON-RPC answer itself. Exit status 1 if the tool says it failed.
    """
    given = _arguments(sys.stdin.read() if arguments == "-" else arguments)
    server = known_servers().named(name)

    async def work() -> tuple[dict[str, Any], dict[str, Any]]:
        from weft.tools import tool_result

        async with toolbox_of([server]) as toolbox:
            connection = await toolbox.connect(name)
            answer = await connection.call(tool_name, given)
            return answer, tool_result(tool_name, answer, cuts=connection.cuts)

    answer, block = run_async(work())
    if as_json:
        click.echo(json_text({"jsonrpc": "2.0", "id": 1, **answer}))
    else:
        for item in block["content"]:
            click.echo(visible(item["text"]) if item.get("type") == "text" else json_text(item))
    return 1 if block.get("is_error") else 0


@mcp.command()
@click.argument("name")
@as_json
def ping(*, name: str, as_json: bool) -> None:
    """Start a server and ask for a sign of life."""
    server = known_servers().named(name)

    async def work() -> float:
        async with toolbox_of([server]) as toolbox:
            return await (await toolbox.connect(name)).ping()

    seconds = run_async(work())
    click.echo(
        json_text({"name": name, "duration_ms": round(seconds * 1000, 3)}) if as_json else f"{seconds * 1000:.1f} ms"
    )


@mcp.command()
@click.argument("name")
@as_json
def initialize(*, name: str, as_json: bool) -> None:
    """Start a server and show what it says of itself."""
    server = known_servers().named(name)
    about, found = run_async(_meet(server))
    if as_json:
        click.echo(json_text(about))
        return
    click.echo(f"{_who(about)}, MCP {about['protocolVersion']}, {counted(len(found), 'tool')}")
    if about["instructions"]:
        click.echo(_text(about["instructions"]))


@mcp.group("tool", hidden=True)
def tool_group() -> None:
    """The same, by their names in older tools: `tool list` and `tool call`."""


tool_group.add_command(tools, "list")
tool_group.add_command(call, "call")


async def _meet(server: Server) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Start a server, hear who it is and what it has, and let it go."""
    async with toolbox_of([server]) as toolbox:
        connection = await toolbox.connect(server.name)
        return await connection.about(), await connection.tools()


def _owned(server: Server) -> Server:
    from dataclasses import replace

    return replace(server, owned=True, source="")


def _arguments(text: str) -> dict[str, Any]:
    try:
        given = loads(text)
    except ValueError as problem:
        raise UsageError(f"ARGUMENTS is not JSON: {problem}") from None
    if not isinstance(given, dict):
        raise UsageError('ARGUMENTS is a JSON object, such as \'{"path": "notes.txt"}\'')
    return given


def _pairs(texts: Iterable[str], separator: str, form: str) -> Mapping[str, str]:
    pairs = {}
    for text in texts:
        name, found, value = text.partition(separator)
        if not found or not name.strip():
            raise click.UsageError(f"{form}, not {text.partition(separator)[0]!r}")
        pairs[name.strip()] = value.strip() if separator == ":" else value
    return pairs


def _who(about: Mapping[str, Any]) -> str:
    info = about["serverInfo"] or {}
    return _line(f"{info.get('name', 'a server without a name')} {info.get('version', '')}".strip())


def _line(text: str) -> str:
    from weft.tools import reveal_line

    return reveal_line(" ".join(text.split()))


def _text(text: str) -> str:
    from weft.tools import reveal

    return reveal(text)
