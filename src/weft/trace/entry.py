"""An earlier request as a candidate for parent, and the messages it may or may not expect back.

Reasoning that an OpenAI-compatible server sends beside its answer is usually not sent back. Such a message is loose: it
counts among the expected ones only for a request that contains it [C-28]. Nearly always all of a request's loose
messages come back or none do, so a request stands in the forest twice, once for either case; those of which only some
came back are found by `LooseIndex`, and compared one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Entry", "LooseIndex"]


class Entry:
    """One earlier request, as a candidate. `loose` marks messages its client may not send back [C-28]."""

    __slots__ = ("answer", "ask", "keeps", "loose", "loose_ids", "number", "order", "tools")

    def __init__(
        self,
        number: int,
        ask: Sequence[str],
        answer: Sequence[str],
        tools: frozenset[str],
        loose: frozenset[int] = frozenset(),
        *,
        keeps: bool = False,
    ) -> None:
        """Keep what a later request is compared with; `loose` are positions in `ask` and `answer` together."""
        self.number = number  # the caller's
        self.ask = ask
        self.answer = answer
        self.tools = tools
        self.loose = loose
        self.keeps = keeps  # whether this entry stands for all loose messages being sent back, or for none
        self.loose_ids = frozenset(self.full()[at] for at in loose)
        self.order = 0

    def full(self) -> list[str]:
        """Give all messages, loose ones too."""
        return [*self.ask, *self.answer]

    def loose_order(self) -> list[str]:
        """Give the loose messages in order."""
        full = self.full()
        return [full[at] for at in sorted(self.loose)]

    def ids(self) -> list[str]:
        """Give what a later request is expected to begin with."""
        if self.keeps or not self.loose:
            return [*self.ask, *self.answer]
        return [each for at, each in enumerate(self.full()) if at not in self.loose]

    def ids_for(self, sent: set[str]) -> list[str]:
        """Give what this very request is expected to begin with: a loose message counts only if it was sent."""
        return [each for at, each in enumerate(self.full()) if at not in self.loose or each in sent]

    def stands_for(self, sent: set[str]) -> bool:
        """Tell whether `ids` is right for a request that sends these."""
        if not self.loose:
            return True
        return self.loose_ids <= sent if self.keeps else self.loose_ids.isdisjoint(sent)


class _Step:
    """A place in the trie of loose messages."""

    __slots__ = ("children", "entries", "label", "up")

    def __init__(self, label: str, up: _Step | None) -> None:
        self.label = label
        self.up = up
        self.children: dict[str, _Step] = {}
        self.entries: list[Entry] = []


class LooseIndex:
    """Finds the requests that a later one sent back only some loose messages of.

    A trie again: the requests of a session whose client sends reasoning back lie on one way, which is passed once.
    """

    __slots__ = ("_places", "_root")

    def __init__(self) -> None:
        """Begin with none."""
        self._root = _Step("", None)
        self._places: dict[str, list[_Step]] = {}

    def push(self, entry: Entry) -> None:
        """Add the latest request."""
        step = self._root
        for label in entry.loose_order():
            below = step.children.get(label)
            if below is None:
                below = step.children[label] = _Step(label, step)
                self._places.setdefault(label, []).append(below)
            step = below
        step.entries.append(entry)

    def pop(self, entry: Entry) -> None:
        """Take the latest request back."""
        step = self._root
        for label in entry.loose_order():
            step = step.children[label]
        step.entries.pop()

    def half_sent(self, ids: Sequence[str]) -> tuple[set[str], list[Entry]]:
        """Give those of `ids` that are loose somewhere, and the requests that have some of these and others besides."""
        sent = {each for each in ids if each in self._places} if self._places else set()
        found: list[Entry] = []
        seen: set[int] = set()
        for each in ids if sent else ():
            for place in self._places.get(each, ()):
                if id(place) in seen:
                    continue
                todo = [(place, _lacks(place, sent))]
                while todo:
                    step, lacks = todo.pop()
                    if id(step) in seen:
                        continue
                    seen.add(id(step))
                    if lacks:
                        found += step.entries
                    todo += [(below, lacks or below.label not in sent) for below in step.children.values()]
        return sent, found


def _lacks(step: _Step, sent: set[str]) -> bool:
    above: _Step | None = step
    while above is not None and above.up is not None:
        if above.label not in sent:
            return True
        above = above.up
    return False
