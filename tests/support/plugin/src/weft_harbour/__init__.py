"""A plugin for weft: a file format, a dialect, a provider and a tool server of a harbour's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from weft.canon import Closing, Entry, Message, Opening, Part, Piece
from weft.formats import Format, Head, Ledger, Sink, Source, carrying
from weft.plugins import hook
from weft.providers import Provider
from weft.wire import Dialect, dialect


def read(source: Source) -> Iterator[Piece]:
    """Read a log: a line a message, `who> what`."""
    yield Opening()
    before: tuple[str, ...] = ()
    for number, line in source.lines():
        who, _, what = line.decode().partition("> ")
        yield Entry(str(number), Message("user" if who == "ship" else "assistant", [Part("text", what)]), before)
        before = (str(number),)
    yield Closing()


def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
    """Write the texts, and nothing else."""
    for piece in pieces:
        if isinstance(piece, Entry):
            who = "ship" if piece.message.role == "user" else "harbour"
            for number, part in enumerate(piece.message.parts):
                if part.type == "text":
                    sink.write(f"{who}> {part.text}\n".encode())
                else:
                    ledger.lost_part(number, part.type, "a harbour's log has only words")


def sniff(head: Head) -> float:
    """Tell a log by its first word."""
    return 0.9 if head.start.startswith((b"ship> ", b"harbour> ")) else 0.0


@hook
def weft_formats() -> list[Format]:
    """Give the log."""
    return [Format("harbour-log", "a harbour's log", carrying(), read, write, sniff)]


@hook
def weft_dialects() -> list[Dialect]:
    """Give a dialect: chat completions under another name."""
    return [replace(dialect("openai_chat"), name="harbour_chat", provider="harbour", aliases=("harbour.chat",))]


@hook
def weft_providers() -> list[Provider]:
    """Give who answers."""
    return [Provider("harbour", "harbour_chat", "http://127.0.0.1:9/v1", ("HARBOUR_API_KEY",), path="/chat")]


@hook
def weft_tool_servers() -> dict[str, Any]:
    """Give a server."""
    return {"tides": {"command": "tides-mcp", "args": ["--quiet"]}}
