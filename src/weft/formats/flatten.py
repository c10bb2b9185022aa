"""One branch of a conversation, for formats that know no others: the current one, oldest first.

What is beside it is noted as lost. A transcript is held while its branches are sorted out; where it can be read twice
it need not be: the first reading keeps sixteen bytes an entry, the second passes on what is on the way, and says at the
beginning what the first learned of the session at the end.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from weft.canon import EMPTY, Closing, Entry, Opening, Piece, Session, gather
from weft.formats.ledger import Ledger

__all__ = ["flattened"]

Way = bytearray | None  # a flag an entry: is it on the current branch? None: all of them are, one after the other
Found = tuple[Way, Session | None]  # of a transcript: its way, and its session if only its end told it


def flattened(
    pieces: Iterator[Piece],
    ledger: Ledger,
    name: str,
    *,
    only_one: str | None = None,
    again: Callable[[], Iterator[Piece]] | None = None,
) -> Iterator[Piece]:
    """Give the current branch of each transcript as a chain; note in the ledger what is not on it.

    `again` gives the pieces a second time.
    """
    ways: deque[Found] = deque()
    if again is None:
        pieces = _held(pieces, ways)
    else:
        _survey(pieces, ways)
        pieces = again()
    way: Way = None
    before: tuple[str, ...] = ()
    at, last = 0, None
    for piece in ledger.follow(pieces, only_one):
        if piece.__class__ is Entry:
            entry: Entry = piece
            at += 1
            if way is not None and not way[at - 1]:
                ledger.lost("", "an entry", f"it is on another branch than the current one, and {name} has no branches")
                ledger.skipped()
                continue
            ledger.passed()
            if entry.parent_ids != before:
                ledger.changed("parent_ids", "what it continues", f"in {name}, each continues the one before it")
                entry = _after(entry, before)
            before, last = (entry.id,), entry.id
            yield entry
        elif isinstance(piece, Opening):
            way, session = ways.popleft() if ways else (None, None)
            at, before, last = 0, (), None
            yield piece if session is None else Opening(session)
        elif isinstance(piece, Closing):
            if piece.current not in (None, last):
                ledger.lost_of_whole("current", "which entry is current", f"in {name}, it is the last one", "changed")
            ledger.unsaid_heads(piece, name)
            yield replace(piece, current=last, heads=EMPTY)
        else:
            yield piece


def _after(entry: Entry, parents: tuple[str, ...]) -> Entry:
    return Entry(
        entry.id, entry.message, parents, entry.model, entry.finish_reason, entry.usage, entry.extras, entry.blobs
    )


def _held(pieces: Iterator[Piece], ways: deque[Found]) -> Iterator[Piece]:
    """Pass transcripts on one at a time, each after its way was found."""
    for transcript in gather(pieces):
        _survey(transcript.pieces(), ways)
        yield from transcript.pieces()


def _survey(pieces: Iterator[Piece], ways: deque[Found]) -> None:
    """Find the way of each transcript. Ids are kept as their hashes: a file may have millions."""
    ids, parents = array("q"), array("q")
    joined: dict[int, list[int]] = {}
    before: tuple[str, ...] = ()
    is_chain = True
    for piece in pieces:
        if isinstance(piece, Entry):
            is_chain = is_chain and piece.parent_ids == before
            before = (piece.id,)
            ids.append(hash(piece.id))
            parents.append(hash(piece.parent_ids[0]) if piece.parent_ids else 0)
            if len(piece.parent_ids) > 1:
                joined[len(ids) - 1] = [hash(parent) for parent in piece.parent_ids]
        elif isinstance(piece, Closing):
            is_last = piece.current is None or before == (piece.current,)
            way = None if is_chain and is_last else _way(ids, parents, joined, piece.current)
            ways.append((way, piece.session))
            ids, parents, joined = array("q"), array("q"), {}
            before, is_chain = (), True


def _way(ids: array[int], parents: array[int], joined: dict[int, list[int]], current: str | None) -> bytearray:
    """Go back from the current entry to the first; again while that finds more, for parents that come late."""
    on_the_way = bytearray(len(ids))
    wanted = {ids[-1] if current is None else hash(current)} if ids else set()
    found = True
    while wanted and found:
        found = False
        for at in range(len(ids) - 1, -1, -1):
            if ids[at] in wanted and not on_the_way[at]:
                on_the_way[at] = found = True
                wanted.discard(ids[at])
                wanted.update(joined.get(at) or ([parents[at]] if parents[at] else ()))
    return on_the_way
