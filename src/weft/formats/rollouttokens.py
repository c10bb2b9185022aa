"""Tokens as Codex' rollouts count them: each call of the model once, whatever lines say it, and the running total."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.canon import Usage
from weft.formats.foreign import counted

__all__ = ["TOKENS", "Tally", "token_count"]

TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")
_COUNTS = (("input_tokens",), ("output_tokens",), ("total_tokens",))


class Tally:
    """The tokens of the answer that is being read, or that comes next: each call of the model counted once."""

    def __init__(self) -> None:
        self.total: Any = None  # as it was last said: it is said again when nothing was called
        self.calls: list[dict[str, Any]] = []
        self.records: list[dict[str, Any]] = []  # newer versions say it for each call, and the running total beside it

    def hear(self, kind: Any, payload: Mapping[str, Any]) -> None:
        """Hear a line that may count tokens."""
        match kind, payload:
            case "token_usage_record", {"usage": dict(usage)}:
                self.records.append(usage)
            case "event_msg", {"type": "token_count", "info": dict(info)}:
                last, total = info.get("last_token_usage"), info.get("total_token_usage")
                if total is None or total != self.total:
                    usage = last if isinstance(last, dict) else _more(total, self.total)
                    self.calls += [usage] if usage else []
                self.total = total

    def taken(self) -> Usage | None:
        """Give what was counted, and begin again."""
        calls, self.calls, self.records = self.records or self.calls, [], []
        if len(calls) < 2:
            return counted(calls[0], *_COUNTS) if calls else None
        keys = dict.fromkeys(key for call in calls for key in _numbers(call))
        return counted({key: sum(_numbers(call).get(key, 0) for call in calls) for key in keys}, *_COUNTS)


def _more(total: Any, before: Any) -> dict[str, Any]:
    """Give what a running total counts that the one before did not."""
    known = _numbers(before)
    return {key: each - known.get(key, 0) for key, each in _numbers(total).items()}


def _numbers(counts: Any) -> dict[str, int]:
    return {key: each for key, each in counts.items() if type(each) is int} if isinstance(counts, dict) else {}


def token_count(usage: Usage, total: dict[str, int]) -> dict[str, Any]:
    """Write the tokens of an answer, and add them to the running total, which Codex takes up when it resumes."""
    received, sent = usage.input_tokens or 0, usage.output_tokens or 0
    known = {"input_tokens": received, "output_tokens": sent, "total_tokens": usage.total_tokens or received + sent}
    last = dict.fromkeys(TOKENS, 0) | known
    for key in TOKENS:
        total[key] += last[key]
    info = {"total_token_usage": dict(total), "last_token_usage": last, "model_context_window": None}
    return {"type": "token_count", "info": info, "rate_limits": None}
