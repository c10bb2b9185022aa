"""What printing has in common: text from models, tools and files made safe to show, JSON, columns and colours."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import click

__all__ = [
    "EMPTY",
    "bookmarks_text",
    "coloured",
    "counted",
    "cut",
    "id_text",
    "json_text",
    "local_time",
    "note",
    "role_text",
    "room",
    "size_text",
    "table",
    "terminal_width",
    "visible",
    "width_of",
]

# C0 but tab and newline, DEL, and the 8-bit C1 range: any of them may begin a sequence that a terminal obeys. Halves of
# characters (lone surrogates) cannot be written at all.
_MARKS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_MARKS |= {0x7F: 0x2421} | dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], 0xFFFD)
# In JSON the same characters can be said in letters; those below 0x20 always are.
_ESCAPED = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
_ROLES = {"user": "cyan", "assistant": "green", "system": "magenta"}
_GAP = "  "  # between two columns
_NARROW = 24  # columns below which a text is no text any more
_PIPED = 72  # columns of a text where no terminal says how many there are
EMPTY = 'there are no turns yet; add one: weft add "When is high water?"'


def visible(text: str) -> str:
    """Replace every control character but tab and newline with a visible mark."""
    return text.translate(_MARKS)


def json_text(value: Any) -> str:
    """Write JSON to be read by people and programs; what only the standard library can write, it writes."""
    import orjson

    from weft.errors import UsageError

    try:
        text = orjson.dumps(value, default=_bytes_as_text, option=orjson.OPT_INDENT_2).decode("utf-8")
    except orjson.JSONEncodeError:  # integers past 64 bits, lone surrogates, deep nesting
        try:
            text = json.dumps(value, default=_bytes_as_text, indent=2)
        except RecursionError:
            raise UsageError("this is nested too deeply to be printed as JSON") from None
    return text.translate(_ESCAPED)


def _bytes_as_text(value: Any) -> Any:
    if isinstance(value, bytes):
        from base64 import b64encode

        return b64encode(value).decode("ascii")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def note(message: str) -> None:
    """Say something beside the answer."""
    click.echo(visible(message), err=True)


def coloured() -> bool:
    """Tell whether stdout gets colours: if asked for, or if someone watches."""
    context = click.get_current_context(silent=True)
    asked = context.color if context is not None else None
    return sys.stdout.isatty() if asked is None else asked


def room(taken: int | str) -> int:
    """Tell how many columns of the terminal are left beside what is `taken`; a fixed number where there is none."""
    if not sys.stdout.isatty():
        return _PIPED
    used = taken if isinstance(taken, int) else width_of(click.unstyle(taken))
    return max(terminal_width() - used, 20)


def terminal_width() -> int:
    """Tell how wide the terminal is."""
    return shutil.get_terminal_size().columns


def width_of(text: str) -> int:
    """Count the columns a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """Bring a text on one line and into so many columns."""
    text = visible(" ".join(text.split()))
    if width_of(text) <= columns:
        return text
    kept, taken = [], 0
    for character in text:
        taken += _columns(character)
        if taken > columns - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def id_text(turn_id: str, length: int = 25) -> str:
    """Give an id, or its beginning, in its colour."""
    return click.style(turn_id[:length], fg="yellow")


def role_text(role: str, *, pad: bool = True) -> str:
    """Give a role in its colour, as wide as the widest."""
    shown = visible(role)
    return click.style(f"{shown:<9}" if pad else shown, fg=_ROLES.get(role))


def bookmarks_text(names: Sequence[str]) -> str:
    """Give bookmarks in parentheses, nothing if there are none."""
    if not names:
        return ""
    inside = ", ".join(click.style(visible(name), fg="bright_green", bold=True) for name in names)
    return f"{click.style('(', fg='yellow')}{inside}{click.style(')', fg='yellow')} "


def size_text(size_bytes: int) -> str:
    """Give a number of bytes as people say it."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def local_time(moment: datetime) -> str:
    """Give a moment as the clock on the wall shows it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def counted(number: int, thing: str) -> str:
    """Give a number with its noun: 1 turn, 2 turns."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[int] = frozenset()) -> list[str]:
    """Lay rows out in columns; those named in `right` end together instead of beginning together.

    Where a terminal is too narrow, the last column goes on below itself instead of below the first.
    """
    cells = [list(row) for row in rows]
    widths = [
        max(width_of(name), *(width_of(click.unstyle(row[at])) for row in cells), 0) if cells else width_of(name)
        for at, name in enumerate(header)
    ]
    lines = [click.style(_line(header, widths, right), dim=True)]
    before = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    for row in cells:
        first, *more = _folded(row[-1], before) if sys.stdout.isatty() else [row[-1]]
        lines += [_line([*row[:-1], first], widths, right), *more]
    return lines


def _folded(cell: str, before: int) -> list[str]:
    """Give the lines of a last cell, all but the first with their indent."""
    space = terminal_width() - before
    if width_of(cell) <= space or cell != click.unstyle(cell):
        return [cell]
    from textwrap import wrap

    if space < _NARROW:  # there is more room below the other columns
        return ["", *wrap(cell, max(terminal_width(), _NARROW), initial_indent="    ", subsequent_indent="    ")]
    first, *more = wrap(cell, space)
    return [first, *(" " * before + line for line in more)]


def _line(row: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    cells = []
    for at, cell in enumerate(row):
        space = " " * (widths[at] - width_of(click.unstyle(cell)))
        cells.append(space + cell if at in right else cell + space)
    return _GAP.join(cells).rstrip()
