"""What the answers of a store used: read a part at a time from what each says of itself, and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from weft.threads import Store, Turn
from weft.trace import token_counts
from weft.web.stats import Call, Used
from weft.web.turns import duration_of, message_in, text_in, time_of

__all__ = ["Answers", "Pricing"]

Pricing: TypeAlias = Callable[[str, str, Mapping[str, Any], int], float | None]
"""Give the price of a call: provider, model, the provider's account of it, and when it was."""

Links: TypeAlias = Mapping[str, Sequence[str]]
_PAGE = 500


class _Said(NamedTuple):
    model: str
    duration_ms: int
    is_failed: bool
    used: Used | None


class Answers:
    """The answers of a store, as far as they were read."""

    def __init__(self, store: Store, price: Pricing | None) -> None:
        """Begin with none."""
        self._store, self._price = store, price
        self._said: dict[str, _Said] = {}
        self._below: str | None = ""  # what is older is not read yet; "": nothing is, None: all is
        self._newest = ""

    def calls(self, budget_s: float, latest: str, parents: Links, trees: Mapping[str, str]) -> tuple[list[Call], int]:
        """Read for a while; give what is known, and how many there are at least."""
        until = time.monotonic() + budget_s
        if self._below is None and self._newest != latest:
            self._read_new(latest)
        while self._below is not None and time.monotonic() < until:
            page = self._store.log(_PAGE, self._below or None)
            for turn in page:
                self._hear(turn)
            self._newest = self._newest or (page[0].id if page else "")
            self._below = page[-1].id if len(page) == _PAGE else None
        calls = [self._call(row_id, said, parents, trees) for row_id, said in sorted(self._said.items())]
        missing = 0 if self._below is None else max(1, len(parents) - len(self._said))
        return calls, len(calls) + missing

    def call_of(self, row_id: str, parents: Links, trees: Mapping[str, str]) -> Call | None:
        """Give what one answer used, and which answer came before it."""
        at = row_id
        for _ in range(50):  # past the questions and results in between
            if at not in self._said:
                self._hear(self._store.turn(at))
            above = parents.get(at, ())
            if not above or (at != row_id and at in self._said):
                break
            at = above[0]
        said = self._said.get(row_id)
        return self._call(row_id, said, parents, trees) if said is not None else None

    def used(self, turn_id: str, extra: Mapping[str, Any]) -> Used | None:
        """Give what a turn's meta says it used."""
        said = message_in(extra)
        usage = said.get("usage")
        if not isinstance(usage, Mapping):
            return None
        # Anthropic's own account is kept as it is; all others are in one form, the cached part included.
        counts = token_counts(usage, excludes_cached=said.get("type") == "message")
        provider, model = text_in(said.get("provider")), text_in(said.get("model"))
        cost = self._price(provider, model, usage, time_of(turn_id)) if self._price is not None else None
        return Used(*counts, cost)

    def _read_new(self, latest: str) -> None:
        before: str | None = None
        while page := self._store.log(_PAGE, before):
            for turn in page:
                if turn.id <= self._newest:
                    self._newest = latest
                    return
                self._hear(turn)
            before = page[-1].id
        self._newest = latest

    def _hear(self, turn: Turn) -> None:
        if turn.role == "assistant" and turn.id not in self._said:
            is_cut = turn.meta.get("unfinished") is True
            used = self.used(turn.id, turn.meta)
            self._said[turn.id] = _Said(turn.model or "", duration_of(turn.id, turn.meta), is_cut, used)

    def _call(self, row_id: str, said: _Said, parents: Links, trees: Mapping[str, str]) -> Call:
        above = parents.get(row_id, ())
        for _ in range(1_000):
            if not above or above[0] in self._said:
                break
            above = parents.get(above[0], ())
        before = above[0] if above and above[0] in self._said else None
        tree = trees.get(row_id, row_id)
        when = time_of(row_id)
        return Call(row_id, before, tree, said.model, when, said.duration_ms, said.is_failed, said.used)
