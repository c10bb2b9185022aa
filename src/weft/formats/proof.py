"""A writer whose account is proven: what it wrote is read again, and every difference is noted.

For formats of other tools, which have no place for much of a conversation. A list of what each lacks would be wrong as
soon as one of them changes; reading the file back cannot be. It costs a second reading. A format whose files are lines
is read back while it is written, so a session may be larger than memory; where one is a single value, it is held.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, cast

from weft.canon import Closing, Piece, Transcript, gather
from weft.formats.compare import Difference, differences
from weft.formats.format import Reader, Sink, Writer
from weft.formats.ledger import Fate, Ledger
from weft.formats.lockstep import Lockstep
from weft.formats.source import Source

__all__ = ["account", "proven", "proven_lines"]

HELD_PIECES = 1000  # of a conversation whose end may tell what its writer has to say first, such as a title
_WORDS = {
    "provider_raw": "the provider's own block",
    "provider_usage": "the provider's own account",
    "parent_ids": "what it continues",
}
_FIELD = re.compile(r"(?:^|\.)([A-Za-z_-]+)(?:\[[^\]]*\])?$")


def proven(name: str, encode: Callable[[Transcript], bytes], read: Reader) -> Writer:
    """Make a writer of `encode`, which writes one conversation, and `read`, which reads it back."""

    def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
        for transcript in gather(pieces):
            written = encode(transcript)
            found = list(gather(read(Source.of(written))))
            account(name, transcript, found[0] if found else Transcript(), ledger)
            sink.write(written)

    return write


def account(name: str, given: Transcript, back: Transcript, ledger: Ledger) -> None:
    """Note every difference between a conversation and what is read back of it."""
    _note(differences(given, back), name, ledger)
    if len(back.entries) > len(given.entries):
        _note_more(name, ledger)


def proven_lines(name: str, encode: Callable[[Iterator[Piece]], Iterable[bytes]], read: Reader) -> Writer:
    """Make a writer of `encode`, which gives the lines of one conversation as its pieces come, and `read`.

    A conversation that is not long is compared as a whole, which lines it up best.
    """
    whole = proven(name, lambda transcript: b"".join(encode(transcript.pieces())), read)

    def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
        while held := _held(pieces):
            if isinstance(held[-1], Closing):
                whole(iter(held), sink, ledger)
            else:
                _write_in_step(chain(held, _until_closing(pieces)), sink, ledger)

    def _write_in_step(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
        step = Lockstep()

        def written() -> Iterator[bytes]:
            for line in encode(step.watch(pieces)):
                sink.write(line)
                yield line

        # What is read is what was just written: the reader pulls the lines out of the writer.
        for piece in read(Source.of(cast("BinaryIO", _Pulled(written())))):
            step.find(piece)
            _note(step.differences(), name, ledger)
        _note(step.rest(), name, ledger)
        if step.has_more:
            _note_more(name, ledger)

    return write


def _held(pieces: Iterator[Piece]) -> list[Piece]:
    """Take the pieces of the next conversation, as many as are held."""
    held: list[Piece] = []
    for piece in pieces:
        held.append(piece)
        if len(held) == HELD_PIECES or isinstance(piece, Closing):
            break
    return held


def _until_closing(pieces: Iterator[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        yield piece
        if isinstance(piece, Closing):
            return


class _Pulled(io.RawIOBase):
    """A file to read from whose bytes are made when they are asked for."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._left or next(filter(None, self._chunks), b"")  # nothing would be the end
        size = min(len(buffer), len(data))
        buffer[:size], self._left = data[:size], data[size:]
        return size


def _note(found: Iterable[Difference], name: str, ledger: Ledger) -> None:
    for difference in found:
        ledger.lost_of_whole(difference.place, _what(difference.place), *_why(name, difference))


def _note_more(name: str, ledger: Ledger) -> None:
    ledger.lost_of_whole("entries", "an entry", f"{name} makes several of one", "changed")


def _why(name: str, difference: Difference) -> tuple[str, Fate]:
    if difference.after is None:
        return f"{name} has no place for it", "lost"
    return (f"{name} needs one" if difference.before is None else f"{name} says it another way"), "changed"


def _what(place: str) -> str:
    """Name a thing by its place: the last field of it."""
    above, _, last = place.rpartition(".")
    if above.endswith("extras"):
        return f"what only {last} knows"
    if last.isidentifier():
        return _WORDS.get(last) or last.replace("_", " ")
    found = _FIELD.search(place)
    return found[1].replace("_", " ") if found else "a field"
