"""A source: anything that can be looked at, as rows with messages. What all of them answer in the same way is here.

A trace, a cooked file, the recordings of a store and its threads differ in where rows and messages come from (the
methods without a body below); graph, diff, windows and comparisons are the same for all.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import ClassVar

from weft.web import contract
from weft.web.answers import RefusedError
from weft.web.diffing import Script, script_of
from weft.web.graph import Node, Picture, Placed, draw
from weft.web.shaping import diff_of, head_of, items_of, message_of, part_of, row_of, tools_of_both
from weft.web.stats import Call, Tally, explain_miss, is_miss
from weft.web.values import Body, Captured, Context, Facts, Filters, Tool

__all__ = ["Source"]

_PICTURES = 4  # trees kept drawn
_SCRIPTS = 64  # diffs kept
_REST = 4.0  # a picture that took a second to draw is not drawn again for so many
_QUICK = 0.05  # seconds: one that took less is drawn whenever something changed


class Source(ABC):
    """One thing to look at. Every method may be called from any thread."""

    kind: ClassVar[contract.SourceKind]
    can_run: bool = False

    def __init__(self, source_id: str, name: str) -> None:
        """Name it."""
        self.id, self.name = source_id, name
        self.lock = threading.RLock()
        self.problems: list[str] = []
        self.is_live = False
        self.is_loading = False
        self.is_wanted = True  # someone looks at it; what nobody looks at is not read
        self.clean: Callable[[Body], Body] = _as_it_is  # what is shown of a message; exports put another in, and back
        self._pictures: OrderedDict[str | None, tuple[Picture, float, float]] = OrderedDict()
        self._scripts: OrderedDict[tuple[str, str | None], Script] = OrderedDict()
        self._tally: tuple[Tally | None, float, float] = (None, 0.0, 0.0)

    # -- what each kind of source knows ------------------------------------------------------------------------

    @property
    @abstractmethod
    def version(self) -> int:
        """A number that grows with every change."""

    @abstractmethod
    def counts(self) -> tuple[int, int | None]:
        """How many rows and messages there are."""

    @abstractmethod
    def nodes(self, tree: str | None) -> tuple[str | None, Sequence[Node]]:
        """All rows, or those of the tree a row is in, with the tree's name."""

    @abstractmethod
    def facts(self, row_ids: Sequence[str]) -> list[Facts]:
        """What some rows show."""

    @abstractmethod
    def context(self, row_id: str) -> Context:
        """The messages of a row."""

    @abstractmethod
    def bodies(self, message_ids: Sequence[str]) -> list[Body]:
        """Messages by id, in order; those that are not there are left out."""

    @abstractmethod
    def header(self, row_id: str) -> contract.RowHeader:
        """What else is known of a row."""

    @abstractmethod
    def tools_of(self, row_id: str) -> Sequence[Tool]:
        """The tools a row offers."""

    @abstractmethod
    def threads(self, after: str | None, limit: int) -> contract.ThreadPage:
        """Conversations, newest first."""

    @abstractmethod
    def search(self, filters: Filters, after: str | None, limit: int) -> contract.SearchPage:
        """Messages that have what is asked for."""

    @abstractmethod
    def calls(self, budget_s: float) -> tuple[Sequence[Call], int]:
        """What every call used, as far as it is known by now, and how many calls there are."""

    @abstractmethod
    def call_of(self, row_id: str) -> Call | None:
        """What one row used, if it is a call."""

    @abstractmethod
    def copy_of(self, row_id: str, how: str) -> str:
        """A request as something to paste elsewhere."""

    @abstractmethod
    def base_of(self, row_id: str, *, wants_answer: bool, edited: bool) -> str | Captured | Sequence[Body]:
        """What a run continues from: a turn's id, a captured request, or messages to make turns of.

        `wants_answer` if what the row was answered belongs to it, `edited` if its messages are to be changed.
        """

    def blob(self, blob_id: str) -> tuple[bytes, contract.Attachment]:
        """Give bytes beside a message."""
        raise RefusedError(404, "not_found", f"no such blob: {blob_id}")

    def cooked(self) -> bytes:
        """Give all of it as cooked JSON."""
        raise RefusedError(404, "not_found", "this source has no cooked form")

    def key_of(self, message_id: str) -> str:
        """Give what two messages of this source have in common if they say the same."""
        return message_id

    def poll(self) -> bool:
        """Look for what is new; tell whether there is anything."""
        return False

    def told(self) -> Sequence[contract.LiveEvent]:
        """Give what the last look heard of calls under way."""
        return ()

    def newest(self, count: int) -> Sequence[str]:
        """Give the rows that were added last."""
        return [spot.id for spot in self.nodes(None)[1][-count:]] if count else []

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of files."""

    # -- what follows from it ----------------------------------------------------------------------------------

    def describe(self) -> contract.Source:
        """Describe it for the list."""
        rows, messages = self.counts()
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "rows": rows,
            "messages": messages,
            "is_live": self.is_live,
            "is_loading": self.is_loading,
            "can_run": self.can_run,
            "problems": list(self.problems),
            "version": self.version,
        }

    def picture(self, tree: str | None = None, *, is_final: bool = False) -> Picture:
        """Draw the forest, or one tree; while much is arriving, what was drawn a moment ago will do.

        With `is_final` it will not: nothing more is known to come.
        """
        with self.lock:
            tree_id, nodes = self.nodes(tree) if tree is not None else (None, ())
            version = self.version
            if tree_id in self._pictures:
                picture, drawn, took = self._pictures[tree_id]
                self._pictures.move_to_end(tree_id)
                is_resting = not is_final and took > _QUICK and time.monotonic() - drawn < _REST * took
                if picture.version == version or (is_resting and (tree is None or tree in picture.rows)):
                    return picture
            if tree is None:
                _, nodes = self.nodes(None)
        began = time.thread_time()  # what it took of the processor; on a busy machine the clock says little
        picture = draw(nodes, version=version, tree_id=tree_id)
        took = time.thread_time() - began
        with self.lock:
            self._pictures[tree_id] = (picture, time.monotonic(), took)
            self._pictures.move_to_end(tree_id)
            while len(self._pictures) > _PICTURES:
                self._pictures.popitem(last=False)
        return picture

    def first_change(self, before: Picture | None) -> int:
        """Give the first row that is not as it was in an earlier picture."""
        if before is None:
            return 0
        now = self.picture()
        if now is before:
            return 0  # not drawn again yet
        for row, (was, spot) in enumerate(zip(before.spots, now.spots, strict=False)):
            if was != spot or before.child.get(spot.id) != now.child.get(spot.id):
                return row
        return min(len(before.spots), len(now.spots))

    def drawn(self) -> Picture | None:
        """Give the picture of everything that was drawn last."""
        with self.lock:
            found = self._pictures.get(None)
            return found[0] if found is not None else None

    def graph(self, offset: int, limit: int, tree: str | None) -> contract.Graph:
        """Give a window of the graph."""
        picture = self.picture(tree)
        spots, lines = picture.window(offset, limit)
        return {
            "source_id": self.id,
            "version": picture.version,
            "tree_id": picture.tree_id,
            "total": len(picture.spots),
            "offset": offset,
            "width": picture.width,
            "height": picture.height,
            "rows": self.rows(picture, spots),
            "lines": lines,
        }

    def rows(self, picture: Picture, spots: Sequence[Placed]) -> list[contract.GraphRow]:
        """Give rows as the page draws them."""
        with self.lock:
            facts = self.facts([spot.id for spot in spots])
        return [row_of(picture, spot, fact) for spot, fact in zip(spots, facts, strict=True)]

    def spot(self, row_id: str, tree: str | None = None) -> tuple[Picture, Placed]:
        """Find a row."""
        picture = self.picture(tree)
        row = picture.rows.get(row_id)
        if row is None:
            with self.lock:  # it may be newer than the picture
                self.poll()
                self._pictures.clear()
            picture = self.picture(tree)
            row = picture.rows.get(row_id)
        if row is None:
            raise RefusedError(404, "not_found", "no such row")
        return picture, picture.spots[row]

    def row(self, row_id: str, tree: str | None = None) -> contract.GraphRow:
        """Give one row."""
        picture, spot = self.spot(row_id, tree)
        return self.rows(picture, [spot])[0]

    def place(self, row_id: str, tree: str | None) -> contract.Place:
        """Say where a row is."""
        picture, spot = self.spot(row_id, tree)
        return {"id": row_id, "row": spot.row, "total": len(picture.spots)}

    def view(self, row_id: str, tree: str | None) -> contract.RowView:
        """Give one row with its diff."""
        return self.view_in(*self.spot(row_id, tree))

    def view_in(self, picture: Picture, spot: Placed, *, whole: bool = False) -> contract.RowView:
        """Give a row of a picture with its diff; `whole` has every item in it."""
        row_id = spot.id
        with self.lock:
            context = self.context(row_id)
            script = self._script(row_id, context)
            own = {tool.id for tool in self.tools_of(row_id)}
            old = {tool.id for tool in self.tools_of(context.against_id)} if context.against_id is not None else own
            return {
                "source_id": self.id,
                "version": self.version,
                "row": self.rows(picture, [spot])[0],
                "header": self.header(row_id),
                "against_id": context.against_id,
                "diff": diff_of(script, self.heads, whole=whole),
                "response": self.heads(context.answered),
                "children": list(picture.children.get(row_id, ())),
                "tools": len(own),
                "tools_added": len(own - old),
                "tools_removed": len(old - own),
                "can_fork": self.can_run,
            }

    def diff_items(self, row_id: str, start: int, count: int) -> contract.DiffItems:
        """Give a window of a row's diff."""
        self.spot(row_id)
        with self.lock:
            script = self._script(row_id, self.context(row_id))
            return items_of(script, start, count, self.heads)

    def _script(self, row_id: str, context: Context) -> Script:
        key = (row_id, context.against_id)
        script = self._scripts.get(key)
        if script is None:
            script = self.script(context)
            self._scripts[key] = script
            while len(self._scripts) > _SCRIPTS:
                self._scripts.popitem(last=False)
        self._scripts.move_to_end(key)
        return script

    def script(self, context: Context) -> Script:
        """Work out how a row differs from its parent."""
        return script_of(context.before, context.sent)

    def tools(self, row_id: str) -> contract.ToolList:
        """Give a row's tools, and those its parent had."""
        self.spot(row_id)
        with self.lock:
            against = self.context(row_id).against_id
            own = self.tools_of(row_id)
            return {"tools": tools_of_both(self.tools_of(against) if against is not None else own, own)}

    def heads(self, message_ids: Sequence[str]) -> list[contract.MessageHead]:
        """Give messages without their bodies."""
        return [head_of(body) for body in map(self.clean, self.bodies(message_ids))]

    def messages(self, message_ids: Sequence[str], most: int) -> contract.MessageList:
        """Give messages, long ones cut."""
        with self.lock:
            return {"messages": [message_of(body, most) for body in self.bodies(message_ids)]}

    def content(self, message_id: str, part: str, start: int, count: int) -> contract.ContentRange:
        """Give a piece of a message's text or of a call's arguments."""
        with self.lock:
            found = self.bodies([message_id])
        if not found:
            raise RefusedError(404, "not_found", "no such message")
        text = part_of(found[0], part)
        piece = text[start : start + count]
        end = start + len(piece)
        return {"text": piece, "start": start, "next": end if end < len(text) else None, "size": len(text)}

    def row_number(self, row_id: str) -> int:
        """Give the place of a row; 0 if it is not drawn yet."""
        return self.picture().rows.get(row_id, 0)

    def miss_of(self, row_id: str) -> contract.CacheMiss | None:
        """Say why a row missed its provider's cache, if it did."""
        call = self.call_of(row_id)
        parent = self.call_of(call.parent_id) if call is not None and call.parent_id is not None else None
        if call is None or parent is None or not is_miss(call, parent):
            return None
        return explain_miss(call, parent, self)

    def misses(self, offset: int, limit: int) -> contract.CacheMissPage:
        """Give some of the misses there are, and why."""
        tally = self.tally()
        with self.lock:
            return tally.misses(offset, limit, lambda call, parent: explain_miss(call, parent, self))

    def titles_of(self, tree_ids: Sequence[str]) -> list[str]:
        """Say what some trees are about."""
        return [facts.gist for facts in self.facts(tree_ids)]

    def stat_groups(self, by: contract.StatsBy, offset: int, limit: int) -> contract.StatPage:
        """Give some of the bars of a chart, rows called by their gist and trees by their title."""
        page = self.tally().page(by, offset, limit)
        keys = [group["key"] for group in page["groups"]]
        with self.lock:
            if by == "request":
                keys = [facts.gist for facts in self.facts(keys)]
            elif by == "thread":
                keys = self.titles_of(keys)
        for group, label in zip(page["groups"], keys, strict=True):
            group["label"] = label
        return page

    def tally(self) -> Tally:
        """Add up what is known by now; while much is arriving, what was added up a moment ago will do."""
        with self.lock:
            tally, added, took = self._tally
            calls, total = self.calls(0.2)
            if tally is not None and not tally.is_behind(len(calls), total):
                return tally
            is_growing = self.is_loading or len(calls) < total
            if tally is not None and is_growing and time.monotonic() - added < _REST * took:
                return tally
            began = time.thread_time()
            tally = Tally(calls, total, version=self.version)
            self._tally = (tally, time.monotonic(), time.thread_time() - began)
            return tally


def _as_it_is(body: Body) -> Body:
    return body
