"""`weft proxy`: record whatever speaks to a provider through it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import click

from weft.cli.completing import files
from weft.cli.recording import ending, open_recorder, options_with, provider_at, route_table, run_fast
from weft.cli.render import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from weft.client import Client
    from weft.proxy import Options, Proxy, Routes
    from weft.trace import Recorder

__all__ = ["body_option", "proxy", "redact_option"]

OUTPUT = "trace.jsonl"
_MIB = 1 << 20
_HERE = ("127.0.0.1", "::1", "localhost")

redact_option = click.option(
    "--redact", is_flag=True, help="Also take out what merely looks like a key, in prompts and answers."
)
body_option = click.option(
    "--max-body", default=128, show_default=True, type=click.IntRange(1, 4096), help="Record so many MiB of a body."
)


@click.command()
@click.option(
    "--target", metavar="URL", help="Where everything goes; without it, providers are told apart by the path."
)
@click.option(
    "--to", metavar="MODEL", help="Translate: whatever clients speak, this model answers; a pointer or provider/model."
)
@click.option("--strict", is_flag=True, help="With --to: refuse requests of which something would be lost.")
@click.option(
    "-o",
    "--output",
    default=OUTPUT,
    shell_complete=files,
    show_default=True,
    help="A .jsonl or .jsonl.zst file, or a store.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--on-disconnect",
    type=click.Choice(["close", "drain"]),
    default="close",
    show_default=True,
    help="When a client leaves: close the far side too, or read on for the recording.",
)
@click.option("--connect-timeout", default=10.0, show_default=True, type=click.FloatRange(0.1), help="Seconds.")
@click.option(
    "--idle-timeout", default=600.0, show_default=True, type=click.FloatRange(0.1), help="Seconds of silence."
)
@click.option("--allow-link-local", is_flag=True, help="Let the target be a link-local or metadata address.")
@body_option
@redact_option
@click.option("-q", "--quiet", is_flag=True, help="Do not show requests as they come.")
def proxy(
    *,
    target: str | None,
    to: str | None,
    strict: bool,
    output: str,
    host: str,
    port: int,
    on_disconnect: str,
    connect_timeout: float,
    idle_timeout: float,
    allow_link_local: bool,
    max_body: int,
    redact: bool,
    quiet: bool,
) -> int:
    """Run a recording proxy: clients use it as their base URL, and every exchange is kept.

    With --target, everything goes there. Without, one proxy serves all providers: by prefix (/openai/…, /anthropic/…,
    /gemini/…, any name of `weft provider`), or guessed from path and headers. Bytes pass unchanged; keys are never
    written. With --to, requests and answers are translated, streams included, and what cannot be carried is told.
    docs/reference/proxy.md has the rest.
    """
    if to and target:
        raise click.UsageError("--target passes everything on, --to translates it: give one of them")
    from weft.proxy import Routes, route_to

    environ = dict(os.environ)
    routes = Routes(route_to(target, provider_at(target))) if target else Routes(table=route_table(environ))
    shows = not quiet and sys.stderr.isatty()
    options = options_with(
        environ,
        on_disconnect=on_disconnect,
        connect_seconds=connect_timeout,
        idle_seconds=idle_timeout,
        allow_link_local=allow_link_local,
        log=(lambda line: click.echo(visible(line), err=True)) if shows else None,
    )
    recorder = open_recorder(output, redacts=redact, body_bytes=max_body * _MIB)
    stopped_by = None
    try:
        make = (
            (lambda client: _translating(client, to, recorder, host, port, options, strict=strict, shows=not quiet))
            if to
            else (lambda _client: _passing(routes, recorder, host, port, options))
        )
        stopped_by = run_fast(lambda: _serve(make, host, [] if to else routes.providers))
    finally:
        tally = recorder.close()
        if stopped_by is not None or tally.recorded or tally.left:  # where it never began, the error says enough
            click.echo(ending(tally, output), err=True)
    return 128 + stopped_by


def _passing(routes: Routes, recorder: Recorder, host: str, port: int, options: Options) -> Proxy:
    from weft.proxy import Proxy

    return Proxy(routes, recorder, host=host, port=port, options=options)


def _translating(
    client: Client, to: str, recorder: Recorder, host: str, port: int, options: Options, *, strict: bool, shows: bool
) -> Proxy:
    from weft.cli.calling import registry_of
    from weft.proxy import TranslatingProxy, Translation

    target = registry_of(None).target(to)

    def lost(what: str) -> None:
        if shows:
            click.echo(visible(f"not carried {what}"), err=True)

    translation = Translation(client, target, strict, lost)
    return TranslatingProxy(translation, recorder, host=host, port=port, options=options)


async def _serve(make: Callable[[Client], Proxy], host: str, providers: Sequence[str]) -> int:
    from weft.client import Client

    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, int(number))
    async with Client(dict(os.environ)) as client, make(client) as running:
        click.echo(running.url)
        sys.stdout.flush()
        if host not in _HERE:
            click.echo("weft: anyone who can reach this port can use it; it asks for no password", err=True)
        if providers:
            for name, value in (("OPENAI_BASE_URL", "/openai/v1"), ("ANTHROPIC_BASE_URL", "/anthropic")):
                click.echo(f"  export {name}={running.url}{value}", err=True)
            click.echo(f"  export GOOGLE_GEMINI_BASE_URL={running.url}/gemini", err=True)
        return await stopped
