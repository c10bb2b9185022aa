"""Sums: tokens, cost, time and cache use per call, thread, day and model; and where a prompt cache was missed, and why.

Only what providers say is added up. A miss is told where the numbers show one: a call whose parent had sent a prompt
long enough to be cached, and that was billed for most of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from weft.web import contract

if TYPE_CHECKING:
    from weft.web.values import Context, Tool

__all__ = ["Call", "Tally", "Used", "explain_miss", "is_miss"]

_SHORTEST = 1024  # tokens: the least that OpenAI and Anthropic cache; shorter prompts never hit
_HIT = 0.5  # of what could have been read from the cache
_QUARTER_MS = 15 * 60_000
_LIFETIME_MS = 5 * 60_000  # how long both keep a prefix that is not asked for again


class Explaining(Protocol):
    """What an explanation asks of a source."""

    def context(self, row_id: str) -> Context:
        """Give the messages of a row."""
        ...

    def tools_of(self, row_id: str) -> Sequence[Tool]:
        """Give the tools of a row."""
        ...

    def row_number(self, row_id: str) -> int:
        """Give the place of a row."""
        ...


class Used(NamedTuple):
    """What a call used, as its provider says."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None

    def shown(self) -> contract.Usage:
        """Give it as the contract does."""
        return {
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "output_tokens": self.output_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "cost_usd": self.cost_usd,
        }


class Call(NamedTuple):
    """One call to a model."""

    row_id: str
    parent_id: str | None  # the call before it in its thread
    tree_id: str
    model: str
    timestamp_ms: int
    duration_ms: int
    is_failed: bool
    used: Used | None


class _Sum:
    """A group that is being added up."""

    __slots__ = ("cost", "counts", "duration_ms", "failed", "requests", "with_cost", "with_usage")

    def __init__(self) -> None:
        self.requests = self.failed = self.duration_ms = self.with_usage = self.with_cost = 0
        self.counts = [0, 0, 0, 0, 0]
        self.cost = 0.0

    def add(self, call: Call) -> None:
        self.requests += 1
        self.failed += call.is_failed
        self.duration_ms += call.duration_ms
        if call.used is None:
            return
        self.with_usage += 1
        for n, count in enumerate(call.used[:5]):
            self.counts[n] += int(count or 0)
        if call.used.cost_usd is not None:
            self.cost += call.used.cost_usd
            self.with_cost += 1

    def shown(self) -> contract.Totals:
        return {
            "requests": self.requests,
            "failed": self.failed,
            "duration_ms": self.duration_ms,
            "input_tokens": self.counts[0],
            "cached_tokens": self.counts[1],
            "cache_write_tokens": self.counts[2],
            "output_tokens": self.counts[3],
            "reasoning_tokens": self.counts[4],
            "cost_usd": self.cost if self.with_cost else None,
            "with_usage": self.with_usage,
            "with_cost": self.with_cost,
        }


class Tally:
    """The sums of one source at one moment."""

    def __init__(self, calls: Sequence[Call], total: int, *, version: int) -> None:
        """Add up calls, in the order of time."""
        self.version, self.total = version, total
        self._calls = list(calls)
        self._all = _Sum()
        self._groups: dict[contract.StatsBy, dict[str, _Sum]] = {"thread": {}, "day": {}, "model": {}}
        for call in self._calls:
            self._all.add(call)
            self._group("thread", call.tree_id).add(call)
            self._group("day", _day(call.timestamp_ms)).add(call)
            self._group("model", call.model).add(call)
        by_row = {call.row_id: call for call in self._calls}
        self._missed = [
            (call, parent)
            for call in self._calls
            if call.parent_id is not None and (parent := by_row.get(call.parent_id)) and is_miss(call, parent)
        ]

    def _group(self, by: contract.StatsBy, key: str) -> _Sum:
        found = self._groups[by].get(key)
        if found is None:
            found = self._groups[by][key] = _Sum()
        return found

    def is_behind(self, scanned: int, total: int) -> bool:
        """Tell whether there is more to add up by now."""
        return len(self._calls) != scanned or self.total != total

    def stats(self) -> contract.Stats:
        """Give the sums of all."""
        return {
            "version": self.version,
            "scanned": len(self._calls),
            "total": self.total,
            "totals": self._all.shown(),
            "misses": len(self._missed),
        }

    def page(self, by: contract.StatsBy, offset: int, limit: int) -> contract.StatPage:
        """Give some of the bars of a chart: days and calls in order, threads and models by their tokens.

        Each is labelled with its key; what a row or a tree is called, its source knows.
        """
        if by == "request":
            calls = self._calls[offset : offset + limit]
            groups: list[contract.StatGroup] = []
            for call in calls:
                one = _Sum()
                one.add(call)
                groups.append({"key": call.row_id, "label": call.row_id, "totals": one.shown()})
            return {"groups": groups, "total": len(self._calls), "offset": offset}
        found = list(self._groups[by].items())
        if by == "day":
            found.sort(key=lambda pair: pair[0])
        else:
            found.sort(key=lambda pair: -sum(pair[1].counts) - pair[1].requests)
        page: list[contract.StatGroup] = [
            {"key": key, "label": key, "totals": each.shown()} for key, each in found[offset : offset + limit]
        ]
        return {"groups": page, "total": len(found), "offset": offset}

    def misses(
        self, offset: int, limit: int, explain: Callable[[Call, Call], contract.CacheMiss]
    ) -> contract.CacheMissPage:
        """Give some of the misses, and why."""
        page = [explain(call, parent) for call, parent in self._missed[offset : offset + limit]]
        return {"misses": page, "total": len(self._missed), "offset": offset}


def is_miss(call: Call, parent: Call | None) -> bool:
    """Tell whether a call paid for what its parent had paid for already."""
    if call.used is None or parent is None or parent.used is None or call.used.cached_tokens is None:
        return False
    expected = min(parent.used.input_tokens or 0, call.used.input_tokens or 0)
    return expected >= _SHORTEST and call.used.cached_tokens < _HIT * expected


def explain_miss(call: Call, parent: Call, source: Explaining) -> contract.CacheMiss:
    """Say why a call missed the cache."""
    gap = call.timestamp_ms - parent.timestamp_ms
    reason, detail, message_id = _why(call, parent, gap, source)
    return {
        "row_id": call.row_id,
        "row": source.row_number(call.row_id),
        "reason": reason,
        "detail": detail,
        "expected_tokens": parent.used.input_tokens if parent.used else None,
        "cached_tokens": call.used.cached_tokens if call.used else None,
        "message_id": message_id,
        "gap_ms": gap,
    }


def _why(call: Call, parent: Call, gap_ms: int, source: Explaining) -> tuple[contract.CacheMissReason, str, str | None]:
    if call.model != parent.model:
        return "model_changed", f"{call.model} has no cache of what {parent.model} was sent", None
    if [tool.id for tool in source.tools_of(call.row_id)] != [tool.id for tool in source.tools_of(parent.row_id)]:
        return "tools_changed", "tools come before everything else in a prompt, and they are not the same", None
    was, now = source.context(parent.row_id).sent, source.context(call.row_id).sent
    for place, (before, after) in enumerate(zip(was, now, strict=False)):
        if before != after and place == 0:
            return "system_changed", "the first message of the prompt is not the same", after
        if before != after:
            return "history_changed", "an earlier message is not the same; the rest is read anew from there", after
    if len(now) < len(was):
        return "history_changed", "earlier messages were left out", None
    if gap_ms > _LIFETIME_MS:
        return "expired", f"{gap_ms // 60_000} minutes had passed; a cache is kept for about five", None
    return "unknown", "the prompt begins as the one before; the provider read it anew all the same", None


@lru_cache(4096)
def _day_of(quarter: int) -> str:
    """Give the day of a quarter of an hour, by the clock on the wall: no zone is finer."""
    try:
        return datetime.fromtimestamp(quarter * _QUARTER_MS / 1000).astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):
        return "unknown"


def _day(timestamp_ms: int) -> str:
    return _day_of(timestamp_ms // _QUARTER_MS)
