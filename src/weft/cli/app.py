"""The group of all commands, loaded when they are called, and what becomes of their errors.

A command is a click command in a module of its own; the table below is how it is found. Loading late keeps every
command as fast to start as what it itself needs.
"""

from __future__ import annotations

import os
import stat
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from weft.cli.helping import CHAPTERS, write_commands
from weft.cli.render import visible
from weft.errors import PlanValidationError, ProviderError, TurnNotFoundError, UnknownBookmarkError, WeftError
from weft.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["COMMANDS", "LOSSY", "Session", "run", "weft"]

COMMANDS: Mapping[str, str] = {
    "add": "weft.cli.add:add",
    "alias": "weft.cli.alias:alias",
    "ask": "weft.cli.ask:ask",
    "backup": "weft.cli.care:backup",
    "blob": "weft.cli.blob:blob",
    "bookmark": "weft.cli.bookmark:bookmark",
    "branch": "weft.cli.bookmark:branch",
    "call": "weft.cli.ask:call",
    "chat": "weft.cli.chat:chat",
    "cook": "weft.cli.cook:cook",
    "convert": "weft.cli.convert:convert",
    "ctx": "weft.cli.ctx:ctx",
    "demo": "weft.cli.demo:demo",
    "diff": "weft.cli.diff:diff",
    "doc": "weft.cli.add:doc",
    "doctor": "weft.cli.care:doctor",
    "drop": "weft.cli.change:drop",
    "edit": "weft.cli.change:edit",
    "export": "weft.cli.exporting:export",
    "formats": "weft.cli.convert:formats",
    "fsck": "weft.cli.care:fsck",
    "gc": "weft.cli.remove:gc",
    "import": "weft.cli.importing:import_",
    "keys": "weft.cli.keys:keys",
    "log": "weft.cli.log:log",
    "mcp": "weft.cli.mcp:mcp",
    "merge": "weft.cli.change:merge",
    "models": "weft.cli.models:models",
    "otel": "weft.cli.otel:otel",
    "plan": "weft.cli.plan:plan",
    "prep": "weft.cli.prep:prep",
    "provider": "weft.cli.provider:provider",
    "proxy": "weft.cli.proxy:proxy",
    "purge": "weft.cli.remove:purge",
    "record": "weft.cli.record:record",
    "replay": "weft.cli.replay:replay",
    "rm": "weft.cli.remove:rm",
    "scan-secrets": "weft.cli.secrets:scan_secrets",
    "search": "weft.cli.search:search",
    "serve-replay": "weft.cli.servereplay:serve_replay",
    "show": "weft.cli.show:show",
    "sim": "weft.cli.sim:sim",
    "stats": "weft.cli.care:stats",
    "tail": "weft.cli.tail:tail",
    "threads": "weft.cli.threads:threads",
    "trace": "weft.cli.trace:trace",
    "version": "weft.cli.version:version",
    "view": "weft.cli.view:view",
}
# Second names, which help does not list again.
ALIASES: Mapping[str, str] = {"context": "ctx"}
# What other programs call it: nobody should be asked what `ls` is, either.
ELSEWHERE: Mapping[str, str] = {
    "cat": "show",
    "delete": "rm",
    "history": "log",
    "list": "threads",
    "login": "keys",
    "ls": "threads",
    "remove": "rm",
    "serve": "view",
    "status": "stats",
    "ui": "view",
    "web": "view",
}
# Words that look like a command with a slip in them and begin questions; `weft what is a weft` is one.
QUESTIONS = frozenset({"explain", "is", "state", "what", "when", "where", "who", "why"})

MISUSE = 2
LOSSY = 3  # something would be lost, and --strict forbids it
REFUSED = 4  # the provider said no
NOT_FOUND = 5  # no turn or bookmark of that name, or more than one
INTERNAL = 70  # EX_SOFTWARE of sysexits.h: a fault of weft's own, told apart from a refused request (1)
STOPPED = 130  # what shells give for a program ended by ctrl-c


@dataclass(slots=True)
class Session:
    """What one run of the program knows besides its arguments."""

    debug: bool = False


class LateGroup(click.Group):
    """A group that imports a command's module when that command is named; what names none is a question."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = _with_ask(_without_help(args))
        if not ctx.resilient_parsing:
            _refuse_file(args)
        if not ctx.resilient_parsing and not [word for word in words if word != "--debug"] and _is_fed():
            words.append("ask")  # echo "Why?" | weft
        return super().parse_args(ctx, words)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(self, ctx, formatter, CHAPTERS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        place = COMMANDS.get(ALIASES.get(cmd_name, cmd_name))
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{place} is not a click command")
        return command


def _with_ask(args: Sequence[str]) -> list[str]:
    """Put `ask` before a command line that names no command: `weft "why?"`, `weft -c notes "why?"`."""
    for at, word in enumerate(args):
        if word == "--debug":
            continue
        is_ours = word in COMMANDS or word in ALIASES or word in ("-h", "--help", "--version")
        is_sentence = word in QUESTIONS and any(not each.startswith("-") for each in args[at + 1 : at + 2])
        if is_ours or (not is_sentence and _looks_mistyped(word)):
            break
        return [*args[:at], "ask", *args[at:]]
    return list(args)


def _without_help(args: Sequence[str]) -> list[str]:
    """Take `weft help convert` for `weft convert --help`; `weft help me` is a question."""
    at = next((at for at, word in enumerate(args) if word != "--debug"), len(args))
    rest = args[at + 1 :]
    if args[at : at + 1] != ["help"] or (rest and rest[0] not in COMMANDS and rest[0] not in ALIASES):
        return list(args)
    return [*args[:at], *rest, "--help"]


def _refuse_file(args: Sequence[str]) -> None:
    """Say what can be done with a file that stands where a command or a question should."""
    word = args[-1] if args else ""
    place = Path(word)
    is_name = "." in word or "/" in word
    # pathlib's would raise at a question that is longer than the name of a file can be.
    if not is_name or any(each != "--debug" for each in args[:-1]) or not os.path.exists(word):  # noqa: PTH110
        return
    if place.is_dir():
        raise click.UsageError(f"{word} is a folder, no command\n  keep the conversations in it: weft import {word}")
    raise click.UsageError(
        f"{word} is a file, no command\n"
        f"  write it in another format: weft convert {word} --to markdown\n"
        f"  keep it and go on from it: weft import {word}\n"
        f"  look into a recording: weft view {word}\n"
        f'  ask about it: weft ask -a {word} "…"'
    )


def _is_fed() -> bool:
    """Tell whether something is piped in."""
    try:
        return sys.stdin is not None and stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):  # closed, or a stand-in without a descriptor
        return False


def _looks_mistyped(word: str) -> bool:
    """Tell a command with a slip in it from a question: nobody should be asked what `lgo` is."""
    if word.startswith("-") or not word.isidentifier() or not word.islower():
        return False
    return word in ELSEWHERE or bool(_near(word))


def _near(word: str) -> list[str]:
    from difflib import get_close_matches

    return [ELSEWHERE[word]] if word in ELSEWHERE else get_close_matches(word, COMMANDS, 3, 0.65)


def _switch_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    ctx.ensure_object(Session).debug |= value


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_switch_debug,
    envvar="WEFT_DEBUG",
    help="Show where an error came from.",
)
@click.version_option(__version__, prog_name="weft", message="%(prog)s %(version)s")
def weft() -> None:
    """Keep conversations with language models as data: pandoc, git and wireshark for LLM conversations.

    `weft "Why?"` asks a model; `weft help COMMAND` tells all about a command.
    """


def run(args: Sequence[str]) -> int:
    """Run one command line; errors become one clear message on stderr and an exit status."""
    _survive_poor_locales(sys.stdout, sys.stderr)
    session = Session()
    try:
        status = weft.main(args=list(args), prog_name="weft", obj=session, standalone_mode=False, color=_colour())
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`weft ... | head`). Nothing is wrong; only keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except click.exceptions.NoArgsIsHelpError as asked:
        # A group named alone: its page is the answer, not an error.
        click.echo(asked.format_message())
        return 0
    except (click.Abort, KeyboardInterrupt):
        return _report("stopped", STOPPED)
    except Exception as error:  # noqa: BLE001 - the one place where every error ends
        if session.debug:
            traceback.print_exc()
        return _report(*_explain(error))
    return status if isinstance(status, int) else 0


def _colour() -> bool | None:
    """Tell whether to use colour; None leaves it to whether someone watches."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def _explain(error: Exception) -> tuple[str, int]:
    match error:
        case TurnNotFoundError() | UnknownBookmarkError():
            return str(error), NOT_FOUND
        case ProviderError():
            return str(error), REFUSED
        case PlanValidationError():
            return str(error), LOSSY
        case WeftError():
            return str(error), 1
        case click.NoSuchCommand():
            page = error.ctx.command_path if error.ctx else "weft"
            if page != "weft":
                return f"{error.format_message()}\n  see: {page} --help", MISUSE
            near = "".join(f"\n  near it: weft {name}" for name in _near(error.command_name))
            asked = f"\n  to ask a model this: weft ask {error.command_name!r}"
            return f"{error.format_message()}{near}\n  see: weft --help{asked}", MISUSE
        case click.UsageError():
            page = error.ctx.command_path if error.ctx else "weft"
            return f"{error.format_message()}\n  see: {page} --help", MISUSE
        case click.ClickException():
            return error.format_message(), error.exit_code
        case OSError():
            place = f": {error.filename}" if error.filename else ""
            return f"{error.strerror or error}{place}", 1
        case _:
            return f"a fault in weft itself, {type(error).__name__}: {error}\n  see where: weft --debug ...", INTERNAL


def _report(message: str, status: int) -> int:
    with suppress(BrokenPipeError):
        click.echo(f"weft: {visible(message)}", err=True)
    return status


def _survive_poor_locales(*streams: TextIO) -> None:
    # With LANG=C a stream may know ASCII only; a character it lacks is written as an escape, never as a traceback.
    for stream in streams:
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
