"""All sequences of messages of one model in one trie: what requests share is there once.

Where many branches leave one place, it keeps lists of all that is below it, so that none of it need be walked. Taking
the latest request back is as cheap as adding it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from weft.trace.entry import Entry, LooseIndex

__all__ = ["Node", "Trie"]

_WIDE = 24  # a place that more branches leave than this keeps lists of what is below it
_PATHS = 6  # remembered paths: sessions that run side by side

Ends: TypeAlias = dict[frozenset[str], list[Entry]]
Buckets: TypeAlias = dict[int, Ends]
_NO_ENDS: Ends = {}


class Node:
    """A place in the trie: the sequence of messages from the root to here.

    Most places have one place below them and nothing ending at them, so neither has a container until there are more:
    a trace has a hundred thousand places, and the garbage collector looks at every container again and again.
    """

    __slots__ = ("_children", "_only", "below", "depth", "ends", "label", "over", "up")

    def __init__(self, label: str, up: Node | None) -> None:
        """Stand below another place."""
        self.label = label
        self.up = up
        self.depth: int = 0 if up is None else up.depth + 1
        self.ends: Ends = _NO_ENDS  # sequences that end here, by tools, the most recent last
        self.below: Buckets | None = None  # of a wide place: every sequence here and below, by length and tools
        self.over: Node | None = None  # the nearest wide place above
        self._only: Node | None = None
        self._children: dict[str, Node] | None = None
        if up is not None:
            self.over = up if up.below is not None else up.over

    def child(self, label: str) -> Node | None:
        """Give the place below for a message."""
        only = self._only
        if only is not None:
            return only if only.label == label else None
        return self._children.get(label) if self._children is not None else None

    def children(self) -> Collection[Node]:
        """Give all places right below."""
        if self._only is not None:
            return (self._only,)
        return self._children.values() if self._children is not None else ()

    def grow(self, label: str) -> Node:
        """Make a place below for a message that has none."""
        below = Node(label, self)
        only = self._only
        if self._children is not None:
            self._children[label] = below
        elif only is None:
            self._only = below
        else:
            self._only, self._children = None, {only.label: only, label: below}
        return below

    def end(self, entry: Entry) -> None:
        """Have a sequence end here."""
        if self.ends is _NO_ENDS:
            self.ends = {}
        self.ends.setdefault(entry.tools, []).append(entry)


class Trie:
    """The earlier requests of one model, in order. `push` adds the latest, `pop` takes it back."""

    __slots__ = ("_loose", "_occurs", "_outgrown", "_paths", "_pushed", "_root", "_tools", "asked")

    def __init__(self) -> None:
        """Begin with no requests."""
        self._root = Node("", None)
        self._occurs: dict[str, Node | list[Node]] = {}  # most messages stand in one place
        self._pushed: list[list[tuple[Node, Entry]]] = []
        self._paths: list[tuple[list[str], list[Node]]] = []
        self.asked: tuple[Sequence[str], list[Node]] | None = None  # the last question, often the next to be pushed
        self._outgrown: list[str] | None = (
            None  # of the remembered paths, the one that was last found to be shared whole
        )
        self._loose = LooseIndex()
        self._tools: dict[tuple[frozenset[str], frozenset[str]], int] = {}

    def __len__(self) -> int:
        """Count the requests."""
        return len(self._pushed)

    # -- changing ------------------------------------------------------------------------------------------------

    def push(self, entry: Entry) -> None:
        """Add the latest request."""
        entry.order = len(self._pushed)
        placed = [(self._place(entry), entry)]
        if entry.loose:
            kept = Entry(entry.number, entry.ask, entry.answer, entry.tools, entry.loose, keeps=True)
            kept.order = entry.order
            placed.append((self._place(kept), kept))
            self._loose.push(entry)
        self._pushed.append(placed)

    def pop(self) -> None:
        """Take the latest request back."""
        for node, entry in reversed(self._pushed.pop()):
            node.ends[entry.tools].pop()
            length = node.depth
            wide = node if node.below is not None else node.over
            while wide is not None and wide.below is not None:
                wide.below[length][entry.tools].pop()
                wide = wide.over
            if entry.loose and not entry.keeps:
                self._loose.pop(entry)

    def _place(self, entry: Entry) -> Node:
        ids = entry.ids()
        asked, self.asked = self.asked, None
        if asked is not None and asked[0] is entry.ask and not entry.loose:
            path = asked[1]
            path += self._steps(path[-1], ids[len(path) - 1 :])
        else:
            path = self.walk(ids)
        node = path[-1]
        for label in ids[len(path) - 1 :]:
            below = node.grow(label)
            known = self._occurs.get(label)
            if known is None:
                self._occurs[label] = below
            elif isinstance(known, list):
                known.append(below)
            else:
                self._occurs[label] = [known, below]
            if len(node.children()) > _WIDE and node.below is None:
                _widen(node)
            node = below
            path.append(node)
        self._remember(ids, path)
        node.end(entry)
        wide = node if node.below is not None else node.over
        while wide is not None and wide.below is not None:
            wide.below.setdefault(node.depth, {}).setdefault(entry.tools, []).append(entry)
            wide = wide.over
        return node

    @staticmethod
    def _steps(node: Node, labels: list[str]) -> list[Node]:
        """Give the places after one, as far as there are any."""
        found = []
        for label in labels:
            below = node.child(label)
            if below is None:
                break
            found.append(below)
            node = below
        return found

    def _remember(self, ids: list[str], path: list[Node]) -> None:
        kept = [each for each in self._paths if each[0] is not self._outgrown]
        self._paths = [(ids, path), *kept[: _PATHS - 1]]

    # -- asking --------------------------------------------------------------------------------------------------

    def walk(self, ids: list[str]) -> list[Node]:
        """Give the places along a sequence, as far as there are any; neighbours in time share most of theirs."""
        path = [self._root]
        self._outgrown = None
        for known, nodes in self._paths:
            shared = _shared(ids, known, len(path) - 1)
            if shared > len(path) - 1:
                path = nodes[: shared + 1]
                if shared == len(known):
                    self._outgrown = known
                    break  # nothing shares more than one that is shared whole, or hardly more
        path += self._steps(path[-1], ids[len(path) - 1 :])
        return path

    def places(self, label: str) -> Sequence[Node]:
        """Give all places of a message."""
        known = self._occurs.get(label)
        if known is None:
            return ()
        return known if isinstance(known, list) else (known,)

    def half_sent(self, ids: Sequence[str]) -> tuple[set[str], list[Entry]]:
        """Give what matters of these for loose messages, and the requests that only some of theirs are among."""
        return self._loose.half_sent(ids)

    def tool_difference(self, one: frozenset[str], other: frozenset[str]) -> int:
        """Count the tools that only one of them has."""
        if one is other:
            return 0
        key = (one, other)
        found = self._tools.get(key)
        if found is None:
            found = self._tools[key] = len(one ^ other)
        return found


def _shared(ids: list[str], known: list[str], least: int) -> int:
    """Count the beginning two sequences share, or something at most `least`."""
    low, high = least, min(len(ids), len(known))
    if high <= low or ids[low] != known[low]:
        return 0
    if (known if high == len(known) else known[:high]) == (ids if high == len(ids) else ids[:high]):
        return high
    if ids[:low] != known[:low]:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        if ids[low:middle] == known[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _widen(node: Node) -> None:
    """Make lists of all that is below a place."""
    over = node.over
    found: list[tuple[int, Entry]] = []
    todo = [node]
    while todo:
        each = todo.pop()
        for entries in each.ends.values():
            found += [(each.depth, entry) for entry in entries]
        if each is not node and each.over is over:
            each.over = node
        todo += each.children()
    node.below = {}
    for length, entry in sorted(found, key=lambda item: item[1].order):
        node.below.setdefault(length, {}).setdefault(entry.tools, []).append(entry)
