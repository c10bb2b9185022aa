"""`weft record -- COMMAND`: run a program and record its calls to language models.

The program is left alone: its input, output and errors are the terminal's or the pipe's own, signals reach it, and its
exit status is ours. All that differs is where its base-URL variables lead.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import click

from weft.cli.completing import files
from weft.cli.proxy import body_option, redact_option
from weft.cli.recording import ending, open_recorder, options_with, route_table, run_fast
from weft.cli.render import visible
from weft.secrets import redact_text

if TYPE_CHECKING:
    from weft.proxy import Options, Route
    from weft.trace import Recorder

__all__ = ["record"]

NOT_FOUND, NOT_RUNNABLE = 127, 126  # what shells give
_MIB = 1 << 20
# Variable, the prefix it leads to, what follows the prefix when the address is the provider's own. Those that only some
# programs use, or that mean something else to others (OLLAMA_HOST is where a server listens), are led here only if
# they are set. Requests signed for their host (AWS) cannot be led anywhere else.
_ALWAYS = (
    ("OPENAI_BASE_URL", "openai", "/v1"),
    ("OPENAI_API_BASE", "openai", "/v1"),
    ("ANTHROPIC_BASE_URL", "anthropic", ""),
    ("GOOGLE_GEMINI_BASE_URL", "gemini", ""),
    ("CO_API_URL", "cohere", ""),
)
_IF_SET = (
    "AZURE_OPENAI_ENDPOINT",
    "GOOGLE_VERTEX_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "OLLAMA_HOST",
)
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    shell_complete=files,
    help="A .jsonl or .jsonl.zst file, or a store; trace-DATE-TIME.jsonl if not given.",
)
@click.option("--allow-link-local", is_flag=True, help="Let a base URL be a link-local or metadata address.")
@body_option
@redact_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, shell_complete=files)
def record(*, output: str | None, allow_link_local: bool, max_body: int, redact: bool, command: tuple[str, ...]) -> int:
    """Run COMMAND and record what it says to language models.

    For example: weft record -- python agent.py

    A base URL that is set already (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, …) stays the destination.
    """
    environ = dict(os.environ)
    output = output or f"trace-{datetime.now().astimezone():%Y%m%d-%H%M%S}.jsonl"
    table, leading = lead(environ)
    options = options_with(environ, allow_link_local=allow_link_local)
    about = {"kind": "record", "command": redact_text(" ".join(command))}
    recorder = open_recorder(output, redacts=redact, body_bytes=max_body * _MIB, about=about)
    try:
        return run_fast(lambda: _run(table, leading, recorder, options, command, environ))
    finally:
        click.echo(ending(recorder.close(), output), err=True)


def lead(environ: Mapping[str, str]) -> tuple[dict[str, Route], dict[str, str]]:
    """Give the table of far sides, and for each variable what follows the proxy's address in it."""
    from weft.proxy import route_to

    table = route_table(
        {name: value for name, value in environ.items() if not name.endswith(("_BASE_URL", "_ENDPOINT"))}
    )
    leading: dict[str, str] = {}
    for variable, name, version in _ALWAYS:
        if own := environ.get(variable, "").strip():
            # Each under a prefix of its own: two variables may name two places.
            prefix = variable.lower().replace("_", "-")
            table[prefix] = route_to(own, name)
            leading[variable] = f"/{prefix}"
        elif name in table and not (variable == "OPENAI_API_BASE" and environ.get("OPENAI_BASE_URL")):
            leading[variable] = f"/{name}{version}"
    for variable in _IF_SET:
        if own := environ.get(variable, "").strip():
            prefix = variable.lower().replace("_", "-")
            table[prefix] = route_to(own if "://" in own else f"http://{own}", None)
            leading[variable] = f"/{prefix}"
    return table, leading


async def _run(
    table: dict[str, Route],
    leading: Mapping[str, str],
    recorder: Recorder,
    options: Options,
    command: tuple[str, ...],
    environ: Mapping[str, str],
) -> int:
    from weft.proxy import Proxy, Routes

    async with Proxy(Routes(table=table), recorder, options=options) as running:
        theirs = {**environ, **{name: running.url + place for name, place in leading.items()}}
        if "ANTHROPIC_BASE_URL" not in environ:
            # Claude Code leaves a tool out when its base URL is not Anthropic's; behind this one Anthropic still is.
            theirs.setdefault("ENABLE_TOOL_SEARCH", "true")
        for name in ("NO_PROXY", "no_proxy"):  # nobody asks another proxy for the way to this one
            theirs[name] = ",".join(filter(None, (environ.get(name), "127.0.0.1,localhost")))
        try:
            child = await asyncio.create_subprocess_exec(*command, env=theirs)
        except FileNotFoundError:
            click.echo(f"weft: no such command: {visible(command[0])}", err=True)
            return NOT_FOUND
        except PermissionError:
            click.echo(f"weft: not allowed to run: {visible(command[0])}", err=True)
            return NOT_RUNNABLE
        _forward_signals(child)
        status = await child.wait()
        return status if status >= 0 else 128 - status


def _forward_signals(child: asyncio.subprocess.Process) -> None:
    loop = asyncio.get_running_loop()

    def forward(number: int) -> None:
        if child.returncode is None:
            child.send_signal(number)

    for number in _FORWARDED:
        loop.add_signal_handler(number, forward, number)
    # In a terminal, ctrl-c reaches the child by itself; what it does with it is its own affair, and we wait.
    is_shared = sys.stdin is not None and sys.stdin.isatty()
    loop.add_signal_handler(signal.SIGINT, (lambda: None) if is_shared else lambda: forward(signal.SIGINT))
