"""What calls used: one call's tokens, sums of groups, and prompts that were paid for twice."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

__all__ = [
    "CacheMiss",
    "CacheMissPage",
    "CacheMissReason",
    "StatGroup",
    "StatPage",
    "Stats",
    "StatsBy",
    "Totals",
    "Usage",
]

StatsBy: TypeAlias = Literal["request", "thread", "day", "model"]
CacheMissReason: TypeAlias = Literal[
    "first_of_thread",
    "model_changed",
    "tools_changed",
    "system_changed",
    "history_changed",
    "expired",
    "too_short",
    "not_reported",
    "unknown",
]


class Usage(TypedDict):
    """What a call used; None where the provider did not say."""

    input_tokens: int | None  # all of the prompt, cached or not
    cached_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None


class Totals(TypedDict):
    """Sums of a group; tokens and cost are of the calls that said so."""

    requests: int
    failed: int
    duration_ms: int
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    with_usage: int  # calls that said what they used
    with_cost: int


class StatGroup(TypedDict):
    """One bar of a chart."""

    key: str  # a row's id, a tree's, a day, a model
    label: str  # a row's gist, a tree's title, the day, the model
    totals: Totals


class Stats(TypedDict):
    """`GET /api/sources/{source}/stats`: while `scanned` is less than `total`, ask again for more."""

    version: int
    scanned: int
    total: int
    totals: Totals
    misses: int


class StatPage(TypedDict):
    """`GET /api/sources/{source}/stats/{by}`."""

    groups: list[StatGroup]
    total: int
    offset: int


class CacheMiss(TypedDict):
    """A prompt that was sent again and paid for again, and why."""

    row_id: str
    row: int
    reason: CacheMissReason
    detail: str  # a sentence
    expected_tokens: int | None  # what its parent had sent already
    cached_tokens: int | None
    message_id: str | None  # the first message that differs
    gap_ms: int | None  # since the parent


class CacheMissPage(TypedDict):
    """`GET /api/sources/{source}/misses`."""

    misses: list[CacheMiss]
    total: int
    offset: int
