"""Which earlier request a request continues: the published rule, exactly, at the cost of what is new.

The rule (section 8 of the trace format): of all earlier requests of the same model, the one whose messages and answer
are fewest edits away from what this request sends, half an edit for each tool that differs; the most recent of equals;
none if that is more than half the messages. Comparing each request with all before it would cost n^2 m^2.

Here all sequences stand in one trie, so what requests share is there once, and comparing a new request with them means
walking its own path. Only others that can still win are looked at, and how few these are follows from three facts
(docs/decisions/0014-request-forest.md proves them):

- Where a sequence leaves the path, only places beside the path can match the rest of the request. A message that is
  nowhere beside the path costs an edit, whatever else happens.
- With at most B edits to spend, a sequence must match one of the last B + 1 messages that are not common to many
  places, or leave the path so late that fewer than that many remain.
- Where many sequences branch off at one place, those of one length and one set of tools have the same lower bound, so
  looking at the most recent first ends as soon as that bound is met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.trace.editing import distance
from weft.trace.entry import Entry
from weft.trace.trie import Node, Trie

__all__ = ["Forest"]

_COMMON = 12  # a message that stands in more places than this is not looked up place by place


class Forest(Trie):
    """The earlier requests of one model, and which of them a new one continues."""

    __slots__ = ()

    def parent(self, ids: Sequence[str], tools: frozenset[str]) -> Entry | None:
        """Find the request that one with these messages and tools continues."""
        if not len(self):
            return None
        search = _Search(self, ids if isinstance(ids, list) else list(ids), tools)
        self.asked = (ids, search.path)
        return search.run()


class _Search:
    """One question. Costs are counted in halves: two for an edit, one for a tool."""

    __slots__ = ("_best", "_deepest", "_forest", "_ids", "_limit", "_seen", "_sent", "_size", "_tools", "path")

    def __init__(self, forest: Forest, ids: list[str], tools: frozenset[str]) -> None:
        self._forest = forest
        self._ids = ids
        self._tools = tools
        self._size = len(ids)
        self._limit = len(ids)  # more than half the messages is no parent
        self._best: Entry | None = None
        self.path = forest.walk(ids)
        self._deepest = len(self.path) - 1
        self._sent: set[str] = set()
        self._seen: set[tuple[int, bool]] = set()

    def run(self) -> Entry | None:
        self._try_loose()
        self._try_beginnings()
        self._try_others()
        return self._best

    # -- what is looked at ---------------------------------------------------------------------------------------

    def _try_loose(self) -> None:
        """Compare with requests some of whose loose messages were sent back and some not: no entry stands for those."""
        self._sent, entries = self._forest.half_sent(self._ids)
        for entry in sorted(entries, key=lambda entry: -entry.order):
            self._weigh(entry, entry.ids_for(self._sent), 0)

    def _try_beginnings(self) -> None:
        """Compare with what ends on the path: nearly always the answer is among these."""
        for depth in range(self._deepest, -1, -1):
            edits = 2 * (self._size - depth)
            if edits > self._limit:
                break
            for tools, entries in self.path[depth].ends.items():
                cost = edits + self._forest.tool_difference(tools, self._tools)
                for entry in reversed(entries):
                    if not self._can_win(cost, entry):
                        break
                    if entry.stands_for(self._sent):
                        self._limit, self._best = cost, entry
                        break

    def _try_others(self) -> None:
        """Look beside the path, from the end of the request to its beginning, as far as there are edits to spend.

        At each message, first at what leaves the path right there, then, if the message is not a common one, at the
        places beside the path where it stands.
        """
        certain = 0  # of the messages from here on: how many can match nothing beside the path
        rare = 0
        self._look_at_leavers(self._size, 0)
        for at in range(self._size - 1, -1, -1):
            places = self._forest.places(self._ids[at])
            beside: list[Node] = []
            if len(places) <= _COMMON:
                beside = [node for node in places if not self._is_on_path(node)]
                certain += not beside
                rare += 1
            self._look_at_leavers(at, certain)
            for node in beside:
                if abs(node.depth - 1 - at) <= self._limit // 2:
                    self._look_below(node, self._leaves_at(node), certain)
            if rare > self._limit // 2:
                break

    def _look_at_leavers(self, depth: int, edits: int) -> None:
        """Look at what leaves the path at a depth."""
        if depth > self._deepest or 2 * edits > self._limit:
            return
        node = self.path[depth]
        if node.below is not None:
            self._look_at_lists(node, depth, edits)
            return
        ahead = self.path[depth + 1] if depth < self._deepest else None
        for child in node.children():
            if child is not ahead:
                self._look_below(child, depth, edits)

    # -- looking -------------------------------------------------------------------------------------------------

    def _is_on_path(self, node: Node) -> bool:
        return node.depth <= self._deepest and self.path[node.depth] is node

    def _leaves_at(self, node: Node) -> int:
        """Give the depth at which the way to a place leaves the path."""
        above: Node | None = node
        while above is not None and not self._is_on_path(above):
            above = above.up
        return 0 if above is None else above.depth

    def _look_below(self, start: Node, shared: int, edits: int) -> None:
        """Compare with everything at and below a place beside the path, as far as it can win."""
        todo = [start]
        while todo:
            node = todo.pop()
            if 2 * (max(node.depth - self._size, 0) + edits) > self._limit:
                continue  # what is further down is longer still
            if node.below is not None:
                self._look_at_lists(node, shared, edits)
                continue
            if node.ends:
                self._look_at(node.ends, node.depth, shared, edits)
            todo += node.children()

    def _look_at_lists(self, node: Node, shared: int, edits: int) -> None:
        lists = node.below or {}
        spare = self._limit // 2
        lengths: Iterator[int] = iter(range(max(self._size - spare, node.depth), self._size + spare - edits + 1))
        if len(lists) < 2 * spare:
            lengths = iter(sorted(lists))
        for length in lengths:
            if length in lists:
                self._look_at(lists[length], length, shared, edits)

    def _look_at(self, ends: dict[frozenset[str], list[Entry]], length: int, shared: int, edits: int) -> None:
        """Compare with sequences of one length, the most recent first, until no older one can be better."""
        least = 2 * max(max(length - self._size, 0) + edits, self._size - length)
        if least > self._limit:
            return
        for tools, entries in ends.items():
            bound = least + self._forest.tool_difference(tools, self._tools)
            for entry in reversed(entries):
                if not self._can_win(bound, entry):
                    break
                if entry.stands_for(self._sent):
                    self._weigh(entry, None, shared)

    def _weigh(self, entry: Entry, ids: list[str] | None, shared: int) -> None:
        """Compare with one request, edit by edit."""
        key = (entry.order, entry.keeps)
        if ids is None:
            if key in self._seen:
                return
            self._seen.add(key)
            ids = entry.ids()
        tools = self._forest.tool_difference(entry.tools, self._tools)
        most = (self._limit - tools) // 2
        cost = 2 * distance(ids, self._ids, most, shared) + tools
        if self._can_win(cost, entry):
            self._limit, self._best = cost, entry

    def _can_win(self, cost: int, entry: Entry) -> bool:
        if cost != self._limit:
            return cost < self._limit
        return self._best is None or entry.order > self._best.order
