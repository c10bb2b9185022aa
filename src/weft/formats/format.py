"""Format: what a file format is called, what it can carry, and its two verbs.

A format is one module with `read` and `write` and a `FORMAT` record that says the rest:

    def read(source: Source) -> Iterator[Piece]: ...
    def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None: ...

Both work on pieces (see weft.canon.transcript), so a file never has to fit into memory. A reader that has a whole
Transcript in hand says `yield from transcript.pieces()`; a writer that needs whole ones says `for transcript in
gather(pieces)`. `write` notes in the ledger what it leaves out or changes; it is given one conversation if the format
holds one, and linear ones if it has no branches, which is seen to here.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import BinaryIO, Literal, Protocol

from weft.canon import Piece, Stray, Transcript, gather
from weft.errors import UsageError
from weft.formats.flatten import flattened
from weft.formats.ledger import Ledger
from weft.formats.source import Head, Source

__all__ = ["ABILITIES", "Ability", "Format", "Level", "Reader", "Sink", "Sniffer", "Writer", "carrying"]

Level = Literal["yes", "partial", "no"]

# What a file may be able to hold, in the order of the reference; the words explain it there.
ABILITIES: Mapping[str, str] = {
    "many": "several conversations in one file",
    "branches": "more than one way a conversation went on",
    "heads": "names on ends of branches",
    "ids": "the name of each entry",
    "timestamps": "when each message was said",
    "model": "which model answered",
    "usage": "tokens of each answer",
    "finish": "why an answer ended",
    "title": "a title, and the conversation's own id",
    "system": "instructions",
    "tools": "definitions of tools",
    "options": "settings of the calls",
    "thinking": "reasoning",
    "signatures": "what seals reasoning for its provider",
    "calls": "tool calls and their results",
    "images": "pictures",
    "files": "other files and sound",
    "blocks": "blocks only their provider understands",
    "extras": "fields and lines that are not known here",
}
Ability = str


class Sink(Protocol):
    """Where a format writes to."""

    def write(self, data: bytes, /) -> object:
        """Take bytes."""
        ...


Reader = Callable[[Source], Iterator[Piece]]
Writer = Callable[[Iterator[Piece], Sink, Ledger], None]
Sniffer = Callable[[Head], float]


def carrying(yes: str = "", partial: str = "") -> dict[Ability, Level]:
    """Make a table of abilities from their names; the others are `no`."""
    table: dict[Ability, Level] = dict.fromkeys(ABILITIES, "no")
    for level, names in (("yes", yes), ("partial", partial)):
        for name in names.split():
            if name not in ABILITIES:
                raise ValueError(f"no ability is called {name!r}; known: {', '.join(ABILITIES)}")
            table[name] = level  # type: ignore[assignment]  # one of the two levels above
    return table


@dataclass(frozen=True, slots=True)
class Format:
    """One file format."""

    name: str
    about: str  # one line: what it is, or whose
    carries: Mapping[Ability, Level]
    read: Reader | None = None
    write: Writer | None = None
    sniff: Sniffer = lambda _head: 0.0  # how sure it is that a file is its own: 0 no, 0.5 by shape, 1 by a mark
    aliases: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    lossless: bool = False  # read(write(x)) is x, for every transcript
    own_branches: bool = False  # its branches are told by its own lines; of any other conversation it holds one
    notes: Mapping[str, str] = field(default_factory=dict)  # what is meant by an ability that is `partial`

    def __repr__(self) -> str:
        """Show the name alone."""
        return f"<format {self.name}>"

    def has(self, ability: Ability) -> bool:
        """Tell whether it carries something, at least in part."""
        return self.carries[ability] != "no"

    def keeps_branches(self, of: Format | None) -> bool:
        """Tell whether it takes a conversation read from a file of another format with all its branches."""
        return self.has("branches") and (not self.own_branches or of is self)

    def pieces(self, source: Source) -> Iterator[Piece]:
        """Read a file, piece by piece."""
        if self.read is None:
            raise UsageError(f"{self.name} files can be written, not read")
        return self.read(source)

    def transcripts(self, given: bytes | str | BinaryIO | Source) -> Iterator[Transcript]:
        """Read whole conversations, one at a time."""
        return gather(self.pieces(Source.of(given)))

    def load(self, given: bytes | str | BinaryIO | Source | os.PathLike[str]) -> Transcript:
        """Read the one conversation of a file; UsageError if it has none or several."""
        if isinstance(given, os.PathLike):
            with Source.open(given) as source:
                return self.load(source)
        found = list(self.transcripts(given))
        if len(found) != 1:
            raise UsageError(f"there are {len(found)} conversations in it, not one")
        return found[0]

    def write_pieces(
        self,
        pieces: Iterator[Piece],
        sink: Sink,
        ledger: Ledger | None = None,
        *,
        is_linear: bool = False,
        again: Callable[[], Iterator[Piece]] | None = None,
    ) -> Ledger:
        """Write pieces; give the account.

        `is_linear` says that there are no branches in them; `again` gives them a second time, for transcripts too
        large to be held while branches are sorted out.
        """
        if self.write is None:
            raise UsageError(f"{self.name} files can be read, not written")
        ledger = Ledger() if ledger is None else ledger
        only_one = None if self.has("many") else self.name
        keeps = self.has("branches")
        if self.own_branches:
            pieces, keeps = _peeked(pieces, self.name)
        if keeps or is_linear:
            followed = ledger.follow(pieces, only_one)
        else:
            followed = flattened(pieces, ledger, self.name, only_one=only_one, again=again)
        self.write(followed, sink, ledger)
        return ledger

    def dump(
        self, transcripts: Transcript | Iterable[Transcript], *, places: int | None = None
    ) -> tuple[bytes, Ledger]:
        """Write whole conversations to bytes, with the account of what is not in them."""
        given = (transcripts,) if isinstance(transcripts, Transcript) else transcripts
        sink = io.BytesIO()
        ledger = self.write_pieces((piece for each in given for piece in each.pieces()), sink, Ledger(places=places))
        return sink.getvalue(), ledger


def _peeked(pieces: Iterator[Piece], name: str) -> tuple[Iterator[Piece], bool]:
    """Tell whether a conversation begins with a line of the format `name`: then it was read from such a file."""
    start = list(islice(pieces, 2))
    is_own = len(start) == 2 and isinstance(start[1], Stray) and start[1].format == name
    return chain(start, pieces), is_own
