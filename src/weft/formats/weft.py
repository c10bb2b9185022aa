r"""weft's own files: JSON Lines that hold everything a Transcript does, one piece a line.

    {"weft":1,"session":{"title":"harbour"}}
    {"id":"1","message":{"role":"user","parts":[{"type":"text","text":"tide?"}]}}
    {"stray":{"format":"claude-code","text":"{\"type\":\"mode\"}"}}
    {"end":{"current":"1","heads":{"main":"1"}}}

A file may hold many conversations, one after the other. The bytes of pictures and files are with their entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import (
    Closing,
    Entry,
    Opening,
    Piece,
    Stray,
    entry_from_dict,
    entry_to_json,
    session_from_dict,
    session_to_dict,
)
from weft.errors import CodecError
from weft.formats.format import ABILITIES, Format, Sink
from weft.formats.ledger import Ledger
from weft.formats.source import Head, Source

__all__ = ["FORMAT", "read", "write"]

VERSION = 1


def read(source: Source) -> Iterator[Piece]:
    """Read conversations; CodecError names the line that does not fit."""
    is_open = False
    number = 0
    for number, line in source.json_lines():
        try:
            piece = _piece(line)
        except (TypeError, ValueError, CodecError) as problem:
            raise CodecError(str(problem), where=f"line {number}") from problem
        if isinstance(piece, Opening) == is_open:
            problem_text = "the conversation before it has no end" if is_open else "no conversation has begun"
            raise CodecError(problem_text, where=f"line {number}")
        if isinstance(piece, Opening):
            is_open = True
        elif isinstance(piece, Closing):
            is_open = False
        yield piece
    if is_open:
        raise CodecError("the last conversation has no end: the file is cut off", where=f"line {number}")


def _piece(line: Any) -> Piece:
    match line:
        case {"id": _, "message": _}:
            return entry_from_dict(line)
        case {"weft": version, **rest}:
            if version != VERSION:
                raise CodecError(f"version {version!r} of the format is not known here; this weft knows {VERSION}")
            return Opening(session_from_dict(rest.get("session") or {}))
        case {"stray": {"format": str(name), "text": str(text)}}:
            return Stray(name, text)
        case {"end": Mapping() as end}:
            heads, current, session = end.get("heads") or {}, end.get("current"), end.get("session")
            if not isinstance(heads, Mapping) or not all(isinstance(target, str) for target in heads.values()):
                raise CodecError("end.heads must be an object of strings")
            if current is not None and not isinstance(current, str):
                raise CodecError("end.current must be a string")
            return Closing(heads, current, None if session is None else session_from_dict(session))
    raise CodecError("this is no line of a weft file: it has neither weft, message, stray nor end")


def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
    """Write everything."""
    for piece in pieces:
        try:
            line = entry_to_json(piece) if isinstance(piece, Entry) else jsontext.dumps(_line(piece))
        except ValueError as problem:
            raise CodecError(str(problem), where=ledger.place) from problem
        sink.write(line + b"\n")


def _line(piece: Opening | Stray | Closing) -> dict[str, Any]:
    match piece:
        case Opening(session):
            said = session_to_dict(session)
            return {"weft": VERSION, "session": said} if said else {"weft": VERSION}
        case Stray(name, text):
            return {"stray": {"format": name, "text": text}}
        case Closing(heads, current, session):
            end: dict[str, Any] = {"current": current}
            if heads:
                end["heads"] = dict(heads)
            if session is not None:
                end["session"] = session_to_dict(session)
            return {"end": end}


def sniff(head: Head) -> float:
    """A file of ours says so."""
    return 1.0 if head.is_object and isinstance(head.first.get("weft"), int) else 0.0


FORMAT = Format(
    name="weft",
    about="weft's own: everything, one piece a line",
    aliases=("native",),
    extensions=(".weft", ".weft.jsonl"),
    carries=dict.fromkeys(ABILITIES, "yes"),
    lossless=True,
    read=read,
    write=write,
    sniff=sniff,
)
