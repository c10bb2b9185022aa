"""When a call is made again, and after how long. Pure: clock, dice and sleep are someone else's.

Only what is safe is repeated: before any byte of the answer has come, and where the far side said "later" or nothing.
Statuses are those the providers' own SDKs repeat.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["RetryPolicy", "asked_wait", "is_worth_repeating"]

# 408 timed out, 409 a lock was held, 425 too early, 429 too many, 5xx a fault or a gateway's, 529 overloaded.
REPEATED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
# Said with 429 as well, but no waiting will help: someone has to pay.
_SPENT = re.compile(
    r"insufficient_quota|billing_hard_limit|credit balance is too low|exceeded_current_quota", re.IGNORECASE
)
_GOOGLE_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently. The wait doubles from `first_wait_s`, less a random part of it."""

    attempts: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_asked_s: float = 60.0  # asked to wait longer, the call fails at once and says so

    def wait_s(self, attempt: int, asked: float | None, chance: Callable[[], float]) -> float | None:
        """Give the seconds to wait after the attempt of this number (from 1); None to give up."""
        if attempt >= self.attempts:
            return None
        if asked is not None:
            return asked if asked <= self.longest_asked_s else None
        full = min(self.first_wait_s * 2.0 ** (attempt - 1), self.longest_wait_s)
        return full * (1 - 0.5 * chance())  # many clients that failed at once must not come back at once


def is_worth_repeating(status: int, headers: Mapping[str, str], body: str) -> bool:
    """Tell whether an answer asks to be asked again. OpenAI and Anthropic say it outright in a header."""
    said = headers.get("x-should-retry", "").lower()
    if said in ("true", "false"):
        return said == "true"
    return status in REPEATED and not (status == 429 and _SPENT.search(body))


def asked_wait(headers: Mapping[str, str], body: str, now: float) -> float | None:
    """Give the seconds the far side asks for: `retry-after` in seconds or as a date, in ms, or in Google's body."""
    if (ms := _number(headers.get("retry-after-ms"))) is not None:
        return ms / 1000
    said = headers.get("retry-after")
    if (seconds := _number(said)) is not None:
        return seconds
    if said and (date := _date(said)) is not None:
        return max(0.0, date.timestamp() - now)
    found = _GOOGLE_DELAY.search(body)
    return float(found[1]) if found else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
