"""What commands over a store have in common: `--store`, times, piped input, and names as people type them."""

from __future__ import annotations

import functools
import re
import stat
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from os import fstat
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weft.cli.completing import files

if TYPE_CHECKING:
    from weft.threads import Store

__all__ = [
    "as_json",
    "limited",
    "moment",
    "name_of",
    "names_of",
    "piped_input",
    "redact_option",
    "redacted",
    "store_option",
    "with_store",
]

_Command = Callable[..., Any]
_F = TypeVar("_F", bound=_Command)
_AGO = re.compile(r"(\d{1,6})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def store_option(function: _F) -> _F:
    """Give a command `--store` alone: it opens the store itself, if it needs one."""
    return click.option(
        "--store",
        "address",
        metavar="URL|PATH",
        shell_complete=files,
        help="The store; else WEFT_STORE, else WEFT_HOME.",
    )(function)


def with_store(*, reads: bool) -> Callable[[_Command], _Command]:
    """Give a command `--store` and hand it the opened store.

    One that only `reads` does not make a store where a mistyped path leads.
    """

    def decorate(function: _Command) -> _Command:
        @store_option
        @functools.wraps(function)
        def command(*, address: str | None, **rest: Any) -> Any:
            from weft.threads import open_store

            with open_store(address, read_only=reads and address is not None) as store:
                return function(store=store, **rest)

        return command

    return decorate


def as_json(function: _F) -> _F:
    """Give a command `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")(function)


def limited(default: int) -> Callable[[_F], _F]:
    """Give a listing `-n`; 0 is all there is."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        metavar="N",
        help="How many at most; 0 for all.",
    )


def name_of(store: Store, text: str) -> str:
    """Take a headish as people type it: a bookmark, an id, or a beginning of one that only one turn has."""
    from weft.errors import UnknownBookmarkError
    from weft.ids import is_turn_id

    try:
        turn_id = store.find(text, prefix=True)
    except UnknownBookmarkError as error:
        said, _, advice = str(error).partition("\n")
        if "more than one" in said:
            raise
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        message = f'no bookmark or turn called "{shown}"'
        raise UnknownBookmarkError(
            "\n".join(line for line in (message, advice, "  see all: weft bookmark") if line)
        ) from error
    # A bookmark stays a name: what continues it by name carries it on.
    is_name = not is_turn_id(text) and store.frames.bookmark_spot(text) is not None
    return text if is_name else turn_id


def names_of(store: Store, texts: Sequence[str]) -> list[str]:
    """Take several headishes as people type them."""
    return [name_of(store, text) for text in texts]


def moment(text: str, *, now: datetime, end_of_day: bool = False) -> datetime:
    """Read a date, a date and time, or how long ago: 2026-09-30, 2026-09-30T12:00, 90m, 12h, 7d, 2w."""
    from weft.errors import UsageError

    if ago := _AGO.fullmatch(text.strip()):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is no time; say 2026-09-30, 2026-09-30T12:00, or how long ago: 90m, 12h, 7d, 2w"
        ) from None
    if end_of_day and re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", text.strip()):
        found += timedelta(days=1) - timedelta(milliseconds=1)
    try:
        return found.astimezone()  # without a zone, the clock on the wall
    except (OverflowError, ValueError):
        raise UsageError(f"{text!r} is too far away to be a time") from None


def piped_input(*, needed: bool) -> str | None:
    """Read what was piped in, if anything was; a terminal or /dev/null is nothing.

    `needed` says that there is no other text, so that whatever is not a terminal is read.
    """
    if sys.stdin is None or sys.stdin.isatty():
        return None
    if not needed and not _is_pipe():
        return None  # a socket may never end; with a text in hand it is not waited for
    return _decoded(sys.stdin.buffer.read()) or None


def redacted(text: str) -> str:
    """Take keys, tokens and passwords out of a text before it is kept or sent, and say so [K-03]."""
    from weft.cli.render import counted, note
    from weft.secrets import find_secrets, redact_text

    if found := find_secrets(text):
        note(f"{counted(len(found), 'secret')} taken out: {', '.join(dict.fromkeys(one.kind for one in found))}")
        return redact_text(text)
    return text


def redact_option(function: _F) -> _F:
    """Give a command `--redact`."""
    return click.option(
        "--redact", is_flag=True, envvar="WEFT_REDACT", help="Take keys, tokens and passwords out before it is kept."
    )(function)


def _is_pipe() -> bool:
    try:
        mode = fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # a stand-in without a descriptor
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _decoded(data: bytes) -> str:
    from weft.errors import UsageError

    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"what was piped in is not UTF-8 text (byte {error.start}); store files with: weft doc FILE"
        ) from None
