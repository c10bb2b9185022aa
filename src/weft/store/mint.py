"""New ids for the log.

Under the store's lock the newest id is known, so the next one is made from it: the clock if that has moved on, else one
more. It is a SCRU128 id like any other [T-5, T-7]; that it is greater than every id in the store needs no second look
[T-8], and a store whose ids are ahead of the clock does not push the ids of other stores ahead.
"""

from __future__ import annotations

from random import getrandbits
from time import time_ns

from scru128 import Scru128Id

__all__ = ["Mint"]

_LARGEST = (1 << 128) - 1
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_PAIRS = [high + low for high in _DIGITS for low in _DIGITS]
_HALF = 36**12


class Mint:
    """Makes the ids of one store, each above the one before."""

    __slots__ = ("_high", "_high_ms", "_newest")

    def __init__(self, newest: str | None) -> None:
        """Begin above the newest id there is."""
        self._newest = int(Scru128Id.from_str(newest)) if newest else 0
        self._high = 0
        self._high_ms = 0

    def next_id(self) -> str:
        """Give an id above every other."""
        now_ms = time_ns() // 1_000_000
        newest = self._newest
        if now_ms > newest >> 80:
            if now_ms - self._high_ms >= 1000:  # counter_hi changes once a second at most
                self._high, self._high_ms = getrandbits(24), now_ms
            number = (now_ms << 24 | self._high) << 56 | getrandbits(56)
        else:
            # The same millisecond, or a clock that was set back: count on, carrying upwards as need be.
            number = ((newest >> 32) + 1) << 32 | getrandbits(32)
            if number > _LARGEST:
                raise OverflowError("no id is left above the newest one in this store")
        self._newest = number
        return _text(number)

    def raise_to(self, taken: str) -> None:
        """Stay above an id that came from elsewhere."""
        self._newest = max(self._newest, int(Scru128Id.from_str(taken)))


def _text(number: int) -> str:
    """Write 25 base-36 digits: two at a time, and in two halves that fit a machine word."""
    high, low = divmod(number, _HALF)
    high, b = divmod(high, 1296)
    high, c = divmod(high, 1296)
    high, d = divmod(high, 1296)
    high, e = divmod(high, 1296)
    high, f = divmod(high, 1296)
    high, g = divmod(high, 1296)
    low, h = divmod(low, 1296)
    low, i = divmod(low, 1296)
    low, j = divmod(low, 1296)
    low, k = divmod(low, 1296)
    low, m = divmod(low, 1296)
    p = _PAIRS
    return _DIGITS[high] + p[g] + p[f] + p[e] + p[d] + p[c] + p[b] + p[low] + p[m] + p[k] + p[j] + p[i] + p[h]
