"""One file into another: the format is guessed, the pieces flow from reader to writer, and the account comes back.

Nothing is held but what the two formats make necessary, so a file may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.canon import Closing, Opening, Piece
from weft.errors import UsageError
from weft.formats.format import Format, Sink
from weft.formats.ledger import Ledger
from weft.formats.registry import formats, guess
from weft.formats.source import Source

__all__ = ["conversations", "convert", "known_format"]

HELD_BYTES = 64 << 20  # a file up to this size is held while its branches are sorted out; a larger one is read twice


def known_format(source: Source, given: Format | None = None) -> Format:
    """Give the format of a source: the one that was named, or the one it looks like; UsageError if there is none."""
    found = given or guess(source)
    if found is None:
        names = ", ".join(each.name for each in formats() if each.read is not None)
        place = source.name or "the input"
        raise UsageError(f"{place} looks like no format known here\n  say which it is: --from NAME ({names})")
    return found


def convert(
    source: Source, sink: Sink, to: Format, *, of: Format | None = None, ledger: Ledger | None = None
) -> Ledger:
    """Write what `source` holds to `sink` in another format; give the account of what was kept, changed and lost."""
    found = known_format(source, of)
    return to.write_pieces(
        found.pieces(source), sink, ledger, is_linear=not found.has("branches"), again=_again(source, found, to)
    )


def _again(source: Source, found: Format, to: Format) -> Callable[[], Iterator[Piece]] | None:
    """Say how to read a second time, if that is what a large file needs and allows."""
    size = source.size_bytes
    if not found.has("branches") or to.keeps_branches(found) or not source.can_rewind:
        return None
    if size is None or size <= HELD_BYTES:
        return None

    def again() -> Iterator[Piece]:
        source.rewind()
        return found.pieces(source)

    return again


def conversations(pieces: Iterator[Piece]) -> Iterator[tuple[Opening, Iterator[Piece]]]:
    """Give each conversation of a stream of pieces with its opening; each has to be used up before the next."""
    for piece in pieces:
        if isinstance(piece, Opening):
            yield piece, _to_closing(piece, pieces)


def _to_closing(opening: Opening, pieces: Iterator[Piece]) -> Iterator[Piece]:
    yield opening
    for piece in pieces:
        yield piece
        if isinstance(piece, Closing):
            return
