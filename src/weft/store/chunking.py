"""Cutting bodies where they repeat, so that what an agent sends again is kept once.

A request repeats nearly all of the one before it. It is cut at the ends of its long strings, where messages, tool
results and descriptions are, and between the elements of its lists; equal pieces are then stored once, whatever is
around them: a cache mark that moves from message to message costs the mark, not the message. Where the cuts are
depends only on the bytes since the last one, so a body is cut only where it is new (`Cutter`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["Cutter", "cuts_of"]

_LONG = 256  # bytes; a shorter piece would cost more to keep apart than to keep twice
_STEP = 1 << 16
_REMEMBERED = 16  # bodies; as many agents may take turns in one session
_LARGEST = 4 << 20  # bytes of a body that is remembered
# A JSON string, or the place between two objects of a list. Possessive: a string is read once, however long.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\}\s*+,\s*+(?=\{)', re.DOTALL)
_QUOTE = 0x22


def cuts_of(data: bytes, start: int = 0) -> Iterator[int]:
    """Give where to cut JSON text, from `start`, which is a cut (or the beginning), to its end."""
    last = start
    for match in _TOKEN.finditer(data, start):
        begin, end = match.span()
        if data[begin] == _QUOTE:
            if end - begin >= _LONG:
                if begin > last:
                    yield begin
                yield end
                last = end
        elif end - last >= _LONG:
            yield end
            last = end
    if last < len(data):
        yield len(data)


class _Body:
    __slots__ = ("data", "ends", "refs")

    def __init__(self, data: bytes, ends: list[int], refs: list[int]) -> None:
        self.data, self.ends, self.refs = data, ends, refs


class Cutter:
    """Cuts the bodies of one session, remembering the last few: what a body shares with one of them is not read again.

    `cut` gives pieces: bytes that are new to it, or the reference (an int) that an equal piece was given before.
    """

    def __init__(self) -> None:
        """Begin without a memory."""
        self._bodies: list[_Body] = []
        self._last: list[int] = []

    def cut(self, data: bytes) -> list[bytes | int]:
        """Cut a body; what comes of it is to be told with `remember`, once its references are known."""
        base, shared = self._nearest(data)
        ends: list[int] = []
        pieces: list[bytes | int] = []
        if base is not None:
            # The cut before the last shared one: whether that last one is a cut may depend on what comes after it.
            count = max(0, _count_up_to(base.ends, shared) - 1)
            ends += base.ends[:count]
            pieces += base.refs[:count]
        start = ends[-1] if ends else 0
        tail = _tail_of(base, data, start) if base is not None else {}
        for end in cuts_of(data, start):
            pieces.append(data[start:end])
            ends.append(end)
            start = end
            if (place := tail.get(end)) is not None and base is not None:
                shift = len(data) - len(base.data)
                ends += [at + shift for at in base.ends[place + 1 :]]
                pieces += base.refs[place + 1 :]
                break
        self._last = ends
        return pieces

    def remember(self, data: bytes, refs: list[int]) -> None:
        """Remember the body that was cut last, by the references of its pieces."""
        if len(data) > _LARGEST or len(refs) != len(self._last):
            return
        self._bodies.append(_Body(data, self._last, refs))
        if len(self._bodies) > _REMEMBERED:
            del self._bodies[0]

    def forget(self) -> None:
        """Forget everything: references are no longer what they were."""
        self._bodies.clear()

    def _nearest(self, data: bytes) -> tuple[_Body | None, int]:
        best: _Body | None = None
        most = 0
        for body in reversed(self._bodies):  # among equals the newest
            if most and body.data[:most] != data[:most]:
                continue
            shared = _shared(body.data, data, most)
            if shared > most:
                best, most = body, shared
            if most == len(data):
                break
        if best is not None:
            # The one used is the one to keep.
            self._bodies.remove(best)
            self._bodies.append(best)
        return best, most


def _shared(left: bytes, right: bytes, known: int) -> int:
    """Count the bytes that two bodies begin with alike, by comparing ever smaller blocks."""
    at, limit = known, min(len(left), len(right))
    step = _STEP
    while at < limit:
        end = min(at + step, limit)
        if left[at:end] == right[at:end]:
            at = end
        elif step == 1:
            break
        else:
            step = max(1, step // 8)
    return at


def _count_up_to(ends: list[int], limit: int) -> int:
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


def _tail_of(base: _Body, data: bytes, start: int) -> dict[int, int]:
    """Map the cuts behind which both bodies are alike to their place in the list of the older one."""
    shift = len(data) - len(base.data)
    tail: dict[int, int] = {}
    later = len(base.data)
    for place in range(len(base.ends) - 1, -1, -1):
        end = base.ends[place]
        if end + shift < start or base.data[end:later] != data[end + shift : later + shift]:
            break
        tail[end + shift] = place
        later = end
    return tail
