"""A captured request is shown as cooked messages and kept as turns of blocks; an edit of the one is found in the other.

Both come from the same request, in the same order, so what says the same is the same. Where they are cut in other
pieces (Gemini's parts are shown as one text) nothing is guessed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from weft.web.threadsource import ThreadsSource
from weft.web.values import Body

__all__ = ["Edit", "matched"]

_Says: TypeAlias = tuple[str | None, ...]


class Edit(NamedTuple):
    """Other words for a message: which of those with that id, and what it says instead. None: it is left out."""

    message_id: str
    which: int
    text: str | None


def matched(source: ThreadsSource, turn_id: str, shown: Sequence[Body], edits: Sequence[Edit]) -> Sequence[Edit] | None:
    """Give edits of what is shown as edits of a thread's own messages; None if one of them cannot be found there."""
    if not edits:
        return ()
    kept = _kept(source, turn_id)
    places: dict[tuple[str, int], list[tuple[_Says, Edit | None]]] = {}
    seen: dict[str, int] = {}
    for body in shown:
        which = seen.get(body.id, 0)
        seen[body.id] = which + 1
        found = [(says, queue.popleft() if (queue := kept.get(says)) else None) for says in _pieces(body)]
        places[body.id, which] = found
    wanted: list[Edit] = []
    for edit in edits:
        pieces = places.get((edit.message_id, edit.which), [])
        if edit.text is not None:  # of a message with words and calls, the words are what is edited
            pieces = [piece for piece in pieces if piece[0][0] != "call"][:1] or pieces
        if not pieces or (edit.text is not None and len(pieces) > 1):
            return None
        for _, place in pieces:
            if place is None:
                return None
            wanted.append(place._replace(text=edit.text))
    return wanted


def _kept(source: ThreadsSource, turn_id: str) -> dict[_Says, deque[Edit]]:
    """Give the messages of a thread by what they say, each kind in order."""
    kept: dict[_Says, deque[Edit]] = {}
    seen: dict[str, int] = {}
    for row in source.store.thread(turn_id, on_gap="mark").walk.turns:
        ids = source.message_ids(row)
        for body in source.bodies(ids):
            which = seen.get(body.id, 0)
            seen[body.id] = which + 1
            for says in _pieces(body):
                kept.setdefault(says, deque()).append(Edit(body.id, which, None))
    return kept


def _pieces(body: Body) -> Iterator[_Says]:
    """Say what a message is by what it says: the words, each call, the call that it answers, bytes."""
    if body.role == "tool_result":
        yield "result", body.tool_use_id
    elif body.content and not body.blobs:
        yield "words", "assistant" if body.role == "tool_use" else body.role, body.content
    elif body.blobs:
        yield ("bytes",)
    for call in body.calls:
        yield "call", call.id or call.name
