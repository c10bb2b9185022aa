"""What commands that ask have in common: their options, a question to store, and a call that can be stopped.

Here the environment, the terminal and signals come in; the loop itself is `weft.chat`. How it ended is told by
`concluding`.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weft import config
from weft.cli.calling import new_client, registry_of
from weft.cli.completing import files
from weft.cli.render import note
from weft.cli.storing import redacted
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.canon import Usage
    from weft.chat import Chat
    from weft.cli.answering import Printer
    from weft.client import Target
    from weft.threads import Addition, Store, Turn

__all__ = [
    "LOSSY",
    "TERMINATED",
    "Asked",
    "How",
    "asking_options",
    "attachments",
    "default_model",
    "guarded",
    "new_chat",
    "read_schema",
    "take_up",
]

_T = TypeVar("_T")
_Command = Callable[..., Any]

LOSSY = 3
TERMINATED = 143  # what shells give for a program ended by `kill`


@dataclass(frozen=True, slots=True)
class How:
    """How an answer is asked for and shown."""

    schema_file: Path | None = None
    no_stream: bool = False
    dry_run: bool = False
    strict: bool = False
    yolo: bool = False
    raw: bool = False
    quiet: bool = False
    as_json: bool = False
    plain: bool = False
    usage: bool = False

    @property
    def shows_usage(self) -> bool:
        """Whether it is said what the answer took: if asked for, or if someone watches."""
        return self.as_json or self.usage or (sys.stderr.isatty() and not self.quiet)

    @property
    def schema(self) -> dict[str, Any] | None:
        """The form the answer is to have."""
        return None if self.schema_file is None else read_schema(self.schema_file)


def asking_options(function: _Command) -> _Command:
    """Give a command the options about the call and its answer, as one `how`."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        how = How(**{name: given.pop(name) for name in How.__dataclass_fields__})
        return function(how=how, **given)

    options = [
        click.option(
            "--schema",
            "schema_file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            shell_complete=files,
            help="A JSON Schema the answer is to follow.",
        ),
        click.option("--no-stream", is_flag=True, help="Wait for the whole answer."),
        click.option(
            "--dry-run", is_flag=True, help="Print the request and what is not in it; store nothing, call nobody."
        ),
        click.option("--strict", is_flag=True, help="Do not ask, and exit 3, if anything of the thread is left out."),
        click.option("--yolo", is_flag=True, help="Run every tool that is called, without asking."),
        click.option("--raw", is_flag=True, help="Write the answer to a pipe as it came, control characters and all."),
        click.option("-q", "--quiet", is_flag=True, help="Show the answer alone: no thinking, tools or notes."),
        click.option("--plain", is_flag=True, help="Show the answer as it is written, its Markdown not drawn."),
        click.option("-u", "--usage", is_flag=True, help="Say what it took and cost, also where nobody watches."),
        click.option("--json", "as_json", is_flag=True, help="Print the answer's turn as JSON, with what it cost."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(slots=True)
class Asked:
    """What happens while a question is answered, for those who tell of it afterwards."""

    turns: list[Turn] = field(default_factory=list)
    took: list[tuple[Target, Usage]] = field(default_factory=list)
    terminated: bool = False


# -- before ----------------------------------------------------------------------------------------------------


def default_model() -> str | None:
    """Give who answers where a thread names nobody: WEFT_MODEL, else `model` of the settings."""
    if named := os.environ.get("WEFT_MODEL", "").strip():
        return named
    match config.settings().get("model"):
        case None:
            return None
        case str(model):
            return model
    raise UsageError('model in the settings must be a text: model = "provider/model", or a pointer')


def take_up(store: Store) -> None:
    """Give calls their end whose program was killed, before anything new is added."""
    from weft.chat import recover

    for turn in recover(store):
        note(f"an answer that was cut off when the program was killed is kept as turn {turn.id}")


def read_schema(path: Path) -> dict[str, Any]:
    """Read a JSON Schema from a file."""
    from weft.jsontext import loads

    try:
        schema = loads(path.read_bytes())
    except ValueError as problem:
        raise UsageError(f"{path} is not JSON: {problem}") from None
    if not isinstance(schema, dict):
        raise UsageError(f"{path} holds no JSON Schema: that is an object")
    return schema


def attachments(paths: Sequence[str], *, redact: bool = False) -> list[Addition]:
    """Read files to go with a question; `-` is what is piped in. Of those that are text, secrets may be left out."""
    from weft.threads import document_from

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        additions = [_piped_file() if path == "-" else document_from(path) for path in paths]
    for warning in caught:
        note(str(warning.message))
    for addition in additions if redact else ():
        with suppress(UnicodeDecodeError):  # pictures and the like
            addition.payload = redacted((addition.payload or b"").decode()).encode()
    return additions


def _piped_file() -> Addition:
    from weft.threads import document_from

    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("-a - takes what is piped in, and nothing is")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "stdin"
        place.write_bytes(sys.stdin.buffer.read())
        addition = document_from(place)
    addition.extra = {**(addition.extra or {}), "original_path": "-"}
    return addition


def new_chat(store: Store, how: How, printer: Printer, asked: Asked) -> Chat:
    """Put together what asks: who can be called, the way out, tools when they are needed, and a person to approve."""
    from weft.chat import Chat

    def toolbox() -> Any:
        from weft.cli.tooling import known_servers, toolbox_of

        return toolbox_of(known_servers(), blobs=store.overflow.open())

    def approval() -> Any:
        from weft.cli.tooling import approval_of

        return approval_of(yolo=how.yolo)

    wants_yolo = how.yolo or bool(os.environ.get("WEFT_YOLO", "").strip())
    return Chat(
        store,
        registry_of(store),
        new_client(),
        toolbox=toolbox,
        approval=approval() if wants_yolo else approval,  # said at every run, whether tools are called or not [M-12]
        on_event=_and_prices(printer) if how.shows_usage else printer,
        on_turn=asked.turns.append,
        on_usage=lambda target, usage: asked.took.append((target, usage)),
        say=printer.note,
        default_model=default_model(),
        strict=how.strict,
    )


def _and_prices(show: Callable[[Mapping[str, Any]], None]) -> Callable[[Mapping[str, Any]], None]:
    """Show events, and load the price list beside them from the first one on: nobody should wait for it at the end."""
    started = False

    def on_event(event: Mapping[str, Any]) -> None:
        nonlocal started
        show(event)
        if not started:
            started = True
            threading.Thread(target=_load_prices, daemon=True).start()

    return on_event


def _load_prices() -> None:
    from weft.providers import have_prices, rates_of

    if have_prices():
        rates_of("openai", "gpt-5", at=datetime.now(UTC))


# -- during ----------------------------------------------------------------------------------------------------


async def guarded(work: Coroutine[Any, Any, _T], asked: Asked) -> _T | None:
    """Run a call that `kill` stops as ctrl-c does: what arrived is kept [D-05]."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        asked.terminated = True
        if task is not None:
            task.cancel()

    signals = [one for one in (signal.SIGTERM, getattr(signal, "SIGHUP", None)) if one is not None]
    with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
        for one in signals:
            loop.add_signal_handler(one, stop)
    try:
        return await work
    except asyncio.CancelledError:
        if not asked.terminated:
            raise
        return None
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for one in signals:
                loop.remove_signal_handler(one)
