"""An answer as Markdown in a terminal, while it comes in. The extra `markdown`; without it answers are plain text.

Only the block that is still being written is drawn again; what is finished is printed once and left alone, so a long
answer costs no more than a short one and can be scrolled back to. A drawing is one write that goes over the last one
line by line and erases nothing beforehand: nothing flickers. Of an open block that is taller than the terminal the
end is shown, and all of it once it is finished.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["LiveMarkdown", "can_show_markdown"]

AT_MOST_EVERY_S = 0.03  # thirty drawings a second look steady; more only cost
SHARE = 4  # of the time, at most one part in so many is spent on drawing
TALLEST = 200  # lines of an open block's source that are drawn; the rest of it comes when it is finished


def can_show_markdown(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Tell whether answers on this stream are drawn: someone watches, the terminal can, the extra is there."""
    wanted = environ.get("TERM", "") not in ("", "dumb") and not environ.get("NO_COLOR")
    return wanted and stream.isatty() and find_spec("rich") is not None


class LiveMarkdown:
    """Draws one answer. `feed()` takes text that is safe to show; `commit()` ends it, at the beginning of a line."""

    def __init__(
        self,
        stream: TextIO,
        *,
        size: Callable[[], os.terminal_size] = shutil.get_terminal_size,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Draw on a terminal; `size` says how large it is at the moment."""
        from markdown_it import MarkdownIt

        self._stream, self._size, self._now = stream, size, now
        self._parser = MarkdownIt().enable("strikethrough").enable("table")
        self._open = ""  # the source that is not printed for good
        self._drawn = 0  # lines of it on the screen
        self._any = False  # whether a block has been printed
        self._next_s = 0.0  # when the next drawing may be
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, text: str) -> None:
        """Take more of the answer; it is drawn now, or in a moment if it was drawn a moment ago."""
        self._open += text
        wait_s = self._next_s - self._now()
        if wait_s <= 0:
            self._draw()
        elif self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(wait_s, self._draw)
            except RuntimeError:  # nobody will come back to draw it
                self._draw()

    def commit(self) -> None:
        """Print what is open for good."""
        self._cancel()
        if self._open.strip():
            self._show(self._joined(self._blocks_of(self._open), self._width()), [])
        self._open = ""
        self._drawn = 0
        self._any = False

    # -- drawing -----------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        self._cancel()
        began = self._now()
        width, height = self._width(), max(self._size().lines - 1, 3)
        # A line that is not whole may still become anything: what begins with 3 may be the third item of a list.
        whole, newline, rest = self._open.rpartition("\n")
        *done, last = self._blocks_of(whole + newline)
        self._open = last + rest
        live = self._joined(self._blocks_of(_end_of(self._open)), width)
        self._show(self._joined(done, width), live[-height:])
        ended = self._now()
        self._next_s = ended + max(AT_MOST_EVERY_S, SHARE * (ended - began))

    def _show(self, finished: list[str], live: list[str]) -> None:
        """Write over what was drawn: what is finished, then what is open."""
        lines = list(finished)
        if finished:
            lines = [*([""] if self._any else []), *finished]
            self._any = True
        if live:
            lines += [*([""] if self._any else []), *live]
        up = f"\x1b[{self._drawn}A\r" if self._drawn else ""
        self._stream.write(up + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        self._stream.flush()
        self._drawn = len(live) + (1 if live and self._any else 0)

    def _blocks_of(self, source: str) -> list[str]:
        """Cut Markdown into its top-level blocks: the last may go on, those before it cannot."""
        lines = source.split("\n")
        starts = {token.map[0] for token in self._parser.parse(source) if token.level == 0 and token.map}
        edges = [0, *sorted(starts - {0}), len(lines)]
        blocks = ["\n".join(lines[begin:end]) for begin, end in pairwise(edges)]
        return [*(f"{block}\n" for block in blocks[:-1]), blocks[-1]]

    def _joined(self, blocks: list[str], width: int) -> list[str]:
        """Render blocks with a blank line between them."""
        lines: list[str] = []
        for block in blocks:
            rendered = self._rendered(block, width)
            lines += [*([""] if lines and rendered else []), *rendered]
        return lines

    def _rendered(self, source: str, width: int) -> list[str]:
        """Render Markdown to lines, without blank ones around them."""
        from rich.markdown import Markdown

        console = _console(width)
        # Links are written out: where a text leads is for its reader to see, and not for the terminal to hide.
        console.print(Markdown(source, hyperlinks=False, code_theme="ansi_dark"))
        file: Any = console.file
        lines = [line.rstrip() for line in file.getvalue().split("\n")]
        while lines and not _plain(lines[0]):
            lines.pop(0)
        while lines and not _plain(lines[-1]):
            lines.pop()
        return lines

    def _width(self) -> int:
        return max(self._size().columns - 1, 20)  # the last column would wrap on some terminals

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _console(width: int) -> Console:
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _end_of(source: str) -> str:
    """Give the end of a long block, still as what it is: the code of a fence stays code."""
    lines = source.splitlines(keepends=True)
    if len(lines) <= TALLEST:
        return source
    fence = lines[0] if lines[0].lstrip().startswith(("```", "~~~")) else ""
    return fence + "".join(lines[-TALLEST:])


def _plain(line: str) -> str:
    """Give what is to be read on a line."""
    from rich.text import Text

    return Text.from_ansi(line).plain.strip()
