"""Rate limits: so many requests in any minute, and the headers that say how many are left."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Limiter", "Limits"]

WINDOW_S = 60.0
UNLIMITED = 10_000  # what the headers say where nothing is limited


@dataclass(frozen=True, slots=True)
class Limits:
    """What the headers say."""

    limit: int = UNLIMITED
    remaining: int = UNLIMITED - 1
    reset_s: float = 0.0


class Limiter:
    """Counts requests in a sliding minute."""

    __slots__ = ("_clock", "_limit", "_taken")

    def __init__(self, limit: int | None, clock: Callable[[], float]) -> None:
        """Allow `limit` requests a minute by `clock`, or any number."""
        self._limit = limit
        self._clock = clock
        self._taken: deque[float] = deque()

    def take(self) -> Limits | float:
        """Count one request; give what is left, or how long to wait."""
        if self._limit is None:
            return Limits()
        now = self._clock()
        while self._taken and now - self._taken[0] >= WINDOW_S:
            self._taken.popleft()
        if len(self._taken) >= self._limit:
            return WINDOW_S - (now - self._taken[0])
        self._taken.append(now)
        return Limits(self._limit, self._limit - len(self._taken), WINDOW_S - (now - self._taken[0]))
