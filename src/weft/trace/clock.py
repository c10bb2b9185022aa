"""Timestamps of records as Unix milliseconds [C-16]."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

__all__ = ["milliseconds"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_SECONDS_BELOW = 10**11  # as seconds that is the year 5138, as milliseconds 1973


def milliseconds(given: Any) -> int:
    """Read a timestamp: ISO-8601, naive ones as UTC; numbers as milliseconds, small ones as seconds; else 0."""
    if isinstance(given, str):
        try:
            moment = datetime.fromisoformat(given.strip())
        except ValueError:
            return 0
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        try:
            return (moment - _EPOCH) // _MILLISECOND
        except OverflowError:
            return 0
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not isfinite(given):
        return 0
    return int(given * 1000 if abs(given) < _SECONDS_BELOW else given)
