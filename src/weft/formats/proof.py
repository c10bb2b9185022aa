"""A writer whose account is proven: what it wrote is read again, and every difference is noted.

For formats of other tools, which have no place for much of a conversation. A list of what each lacks would be wrong as
soon as one of them changes; reading the file back cannot be. It costs a second reading, of files as long as a session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from weft.canon import Piece, Transcript, gather
from weft.formats.compare import Difference, differences
from weft.formats.format import Reader, Sink, Writer
from weft.formats.ledger import Fate, Ledger
from weft.formats.source import Source

__all__ = ["proven"]

_FIELD = re.compile(r"(?:^|\.)([A-Za-z_-]+)(?:\[[^\]]*\])?$")


def proven(name: str, encode: Callable[[Transcript], bytes], read: Reader) -> Writer:
    """Make a writer of `encode`, which writes one conversation, and `read`, which reads it back."""

    def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
        for transcript in gather(pieces):
            written = encode(transcript)
            found = list(gather(read(Source.of(written))))
            back = found[0] if found else Transcript()
            if len(back.entries) > len(transcript.entries):
                ledger.lost_of_whole("entries", "an entry", f"{name} makes several of one", "changed")
            for difference in differences(transcript, back):
                ledger.lost_of_whole(difference.place, _what(difference.place), *_why(name, difference))
            sink.write(written)

    return write


def _why(name: str, difference: Difference) -> tuple[str, Fate]:
    if difference.after is None:
        return f"{name} has no place for it", "lost"
    return (f"{name} needs one" if difference.before is None else f"{name} says it another way"), "changed"


def _what(place: str) -> str:
    """Name a thing by its place: the last field of it."""
    last = place.rpartition(".")[2]
    if last.isidentifier():
        return last.replace("_", " ")
    found = _FIELD.search(place)
    return found[1].replace("_", " ") if found else "a field"
