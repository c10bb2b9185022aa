"""An answer as it comes in: its text on stdout, everything else on stderr, and no control sequence on either [C-01]."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

import click

from weft.cli.render import note, visible

if TYPE_CHECKING:
    from weft.cli.markdown import LiveMarkdown

__all__ = ["Printer"]


class Printer:
    """Shows one question's answers. Each block begins on its own line; text is the answer, the rest is beside it.

    `raw` writes the text as it came, for a pipe; a terminal never gets that, but its Markdown drawn, unless `plain`.
    When the reader of the pipe has gone, the answer still comes in and is kept: `finish()` raises for it afterwards
    [C-02].
    """

    def __init__(self, *, raw: bool = False, quiet: bool = False, text: bool = True, plain: bool = False) -> None:
        """Show the text or not (when it is printed as JSON later), and the rest or not."""
        if raw and sys.stdout.isatty():
            note("--raw is for a pipe; what could harm a terminal is shown as marks")
            raw = False
        self._raw, self._quiet, self._text = raw, quiet, text
        self._block: tuple[Any, Any, Any] | None = None
        self._said = ""  # the last character of the answer so far, on stdout
        self._beside_open = False  # a line on stderr is not ended
        self._gone: BrokenPipeError | None = None
        self._live = _live() if text and not plain else None

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Show one event [T-58, T-59]."""
        content = event.get("content")
        shown = "" if content is None else content if isinstance(content, str) else _json(content)
        kind = event.get("type")
        if kind is not None:
            block = (kind, event.get("name"), event.get("id"))
            if block != self._block:
                self._open(block)
        if self._block is not None and self._block[0] == "text":
            self._out(shown)
        else:
            self._beside(shown)

    def finish(self) -> None:
        """End the lines that are open."""
        self._end_beside()
        self._end_live()
        self._block = None
        if self._said and self._said != "\n" and not self._raw:
            self._out("\n")
        if self._gone is not None:
            raise self._gone

    def note(self, line: str) -> None:
        """Say something beside the answer, on a line of its own."""
        if self._quiet:
            return
        self._end_beside()
        self._end_live()
        if self._said and self._said != "\n" and sys.stdout.isatty():
            self._out("\n")
        note(line)

    def _open(self, block: tuple[Any, Any, Any]) -> None:
        self._end_beside()
        self._end_live()
        kind, name, _ = block
        if kind == "text":
            if self._said and not self._raw:
                self._out("\n" if self._said == "\n" else "\n\n")
        else:
            if self._said and self._said != "\n" and sys.stdout.isatty():
                self._out("\n")
            self._beside(f"{kind}({name}): " if name else f"{kind}: ")
        self._block = block

    def _out(self, text: str) -> None:
        if not self._text or not text or self._gone is not None:
            return
        self._said = text[-1]
        try:
            if self._live is not None:
                self._live.feed(visible(text))
            elif self._raw:
                sys.stdout.flush()
                sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
                sys.stdout.buffer.flush()
            else:
                sys.stdout.write(visible(text))
                sys.stdout.flush()
        except BrokenPipeError as gone:
            self._gone = gone
            _forget(sys.stdout)

    def _end_live(self) -> None:
        if self._live is not None and self._said and self._gone is None:
            self._live.commit()
            self._said = "\n"

    def _beside(self, text: str) -> None:
        if self._quiet or not text:
            return
        shown = visible(text)
        try:
            click.echo(click.style(shown, dim=True) if sys.stderr.isatty() else shown, nl=False, err=True)
        except BrokenPipeError:
            self._quiet = True
            return
        self._beside_open = not shown.endswith("\n")

    def _end_beside(self) -> None:
        if self._beside_open:
            click.echo("", err=True)
            self._beside_open = False


def _live() -> LiveMarkdown | None:
    from weft.cli.markdown import LiveMarkdown, can_show_markdown

    if not can_show_markdown(sys.stdout, os.environ):
        return None
    return LiveMarkdown(sys.stdout)


def _forget(stream: TextIO) -> None:
    """Keep Python from complaining about the rest of a stream nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _json(value: Any) -> str:
    from weft.jsontext import dumps_text

    return dumps_text(value)
