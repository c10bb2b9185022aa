"""Names for things: time-ordered turn ids, and content addresses.

A turn id is a SCRU128 number in 25 base-36 digits (https://github.com/scru128/spec), written in lower case and
read in either. A content address is a subresource-integrity string, `sha256-<base64>`; a blob reference holds the
same digest in hex, so the two are converted here and nowhere else.
"""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from datetime import UTC, datetime

from scru128 import Scru128Generator, Scru128Id

__all__ = ["content_address", "hex_of_address", "id_time", "is_turn_id", "new_id", "normal_id"]

_TURN_ID = re.compile(r"[0-9A-Za-z]{25}", re.ASCII)
_LARGEST = (1 << 128) - 1
_COUNTER_STEP = 1 << 32  # one more in counter_lo; the 32 random bits below it stay
_ADDRESS = re.compile(r"sha256-[0-9A-Za-z+/]{43}=")


class _Ids:
    """The ids of this process, strictly increasing whatever the clock does."""

    def __init__(self) -> None:
        self._generator = Scru128Generator()
        self._lock = threading.Lock()
        self._last = 0

    def next_above(self, floor: int) -> int:
        with self._lock:
            number = int(self._generator.generate())
            # The generator starts over when the clock steps back by more than 10 s; ids must not.
            floor = max(floor, self._last)
            if number <= floor:
                number = floor + _COUNTER_STEP
                if number > _LARGEST:
                    raise OverflowError("no turn id is left above the newest one in this store")
            self._last = number
            return number


_ids = _Ids()


def new_id(*, above: str | None = None) -> str:
    """Give a fresh id, greater than every id this process gave before and than `above` [T-7, T-8].

    `above` is the newest id of a store that other processes, or a clock that was ahead, may have written.
    """
    floor = int(Scru128Id.from_str(above)) if above else 0
    return str(Scru128Id(_ids.next_above(floor))).lower()


def is_turn_id(text: str) -> bool:
    """Tell whether `text` has the form of a turn id, in either case; such text is never a bookmark [T-9]."""
    return _TURN_ID.fullmatch(text) is not None


def normal_id(text: str) -> str:
    """Give the one spelling of an id that is stored and compared [T-6]."""
    return text.lower()


def id_time(turn_id: str) -> datetime:
    """Read the time inside an id, in UTC, to the millisecond."""
    return datetime.fromtimestamp(Scru128Id.from_str(turn_id).timestamp / 1000, UTC)


def content_address(data: bytes) -> str:
    """Name `data` by its content: `sha256-` and the base64 of its digest [T-2]."""
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode("ascii")


def hex_of_address(address: str) -> str:
    """Turn a content address into the hex digest that a blob reference holds."""
    if not _ADDRESS.fullmatch(address):
        raise ValueError(f"not a content address: {address!r}")
    return base64.b64decode(address[7:]).hex()
