"""What commands that use tools have in common: the servers of this place, and a person to ask about them.

Here the environment and the terminal come in; the tools room itself knows neither.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft import config
from weft.cli.render import note
from weft.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from weft.tools import Approval, Consents, Decision, Policy, Question, Server, ServerTable, Toolbox

__all__ = [
    "approval_of",
    "ask_about_call",
    "ask_to_start",
    "config_file",
    "known_servers",
    "need_consent",
    "toolbox_of",
]


def config_file() -> Path:
    """Give the file that names servers, and much else."""
    return config.config_folder() / "config.toml"


def known_servers() -> ServerTable:
    """Read the servers of weft's settings and of the project in this folder; what cannot be read is told of."""
    from weft.plugins import added
    from weft.tools import project_files, read_servers

    plugged = dict(entry for _, entry in added("weft_tool_servers"))
    table = read_servers(config_file(), project_files(Path.cwd()), plugged)
    for problem in table.problems:
        note(f"warning: {problem}")
    return table


def toolbox_of(servers: ServerTable | Iterable[Server], **rest: Any) -> Toolbox:
    """Give a toolbox with this environment; a project's server is asked about before it first starts [M-01]."""
    from weft.providers import merged_table
    from weft.tools import PROVIDER_KEYS, Toolbox

    own = merged_table(config.settings().get("providers")).values()
    keys = PROVIDER_KEYS.union(*(row.keys for row in own))
    return Toolbox(servers, environ=os.environ, consent=_consent, keys=keys, **rest)


def approval_of(policy: Policy | None = None, *, yolo: bool = False) -> Approval:
    """Give who decides about calls: a person if there is one, else nobody, and nothing runs [T-65, M-12, M-13]."""
    from weft.tools import Approval, is_yolo

    chosen: Policy = policy or (ask_about_call if _watched() else "none")
    return Approval(chosen, yolo=yolo or is_yolo(os.environ), say=note)


def ask_to_start(server: Server) -> bool:
    """Show exactly what would run, and ask."""
    what = "would be called" if server.url is not None else "would run as you, on this machine"
    note(f"server {server.name} {what}:\n  {server.shown()}")
    for line in server.details():
        note(f"  {line}")
    if server.source:
        note(f"  from {server.source}")
    if not _watched():
        return False
    with _interruptible():
        return click.confirm("start it?", default=False, err=True)


def ask_about_call(question: Question) -> Decision:
    """Ask a person the four choices of threads.md section 11; ctrl-c and the end of input are a no."""
    with _interruptible():
        return _ask_about_call(question)


def _ask_about_call(question: Question) -> Decision:
    from weft.tools import Choice, Decision

    choices = [Choice.YES, Choice.DIFFERENT, Choice.NO, Choice.YOLO]
    note(question.text())
    for number, choice in enumerate(choices, 1):
        note(f"  {number}  {choice}")
    words: dict[str, Choice] = {choice.value: choice for choice in choices}
    words |= {str(number): choice for number, choice in enumerate(choices, 1)} | {"y": Choice.YES, "n": Choice.NO}
    while True:
        try:
            said = click.prompt("run it?", err=True, prompt_suffix=" ").strip().lower()
        except click.Abort:
            return Decision(Choice.NO)
        if said not in words:
            note("one of: 1, 2, 3, 4")
        elif words[said] is Choice.DIFFERENT:
            return Decision(Choice.DIFFERENT, click.prompt("what instead?", err=True, prompt_suffix=" "))
        else:
            return Decision(words[said])


def _consent(server: Server) -> bool:
    consents = _consents()
    if consents.has(server):
        return True
    if not ask_to_start(server):
        return False
    consents.add(server)
    return True


def _consents() -> Consents:
    from weft.tools import Consents

    return Consents(config.config_folder() / "mcp-consents.json")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let ctrl-c end a question at once: a running loop would only take note of it and go on waiting for the answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _watched() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def need_consent(server: Server, *, agreed: bool, ask: Callable[[Server], bool] = ask_to_start) -> None:
    """Go on only if the owner agreed, by option or now."""
    if agreed:
        note(f"server {server.name}: {server.shown()}")
    elif not ask(server):
        raise UsageError(f"server {server.name} was not started: nobody agreed\n  agree beforehand: --yes")
