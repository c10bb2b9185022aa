"""From events to the reply they tell, and from a reply to the events that would have told it.

Pieces are collected in lists and joined once, so a long answer costs what it is long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from weft.canon import events as ev
from weft.canon.arguments import read_arguments, write_arguments
from weft.canon.freezing import EMPTY
from weft.canon.part import Message, Part, frozen_part
from weft.canon.reply import Reply
from weft.canon.usage import Usage

__all__ = ["Fold", "fold", "replay"]

_RUN_TYPES: dict[type[ev.Event], str] = {
    ev.ContentDelta: "text",
    ev.ReasoningDelta: "thinking",
    ev.RefusalDelta: "refusal",
}


@dataclass(slots=True)
class _Run:
    """Deltas of one kind that followed each other."""

    type: str
    pieces: list[str] = field(default_factory=list)

    def finished(self) -> Part:
        return frozen_part(self.type, "".join(self.pieces))


@dataclass(slots=True)
class _Call:
    index: int
    name: str
    id: str | None
    pieces: list[str] = field(default_factory=list)
    part: Part | None = None

    def finished(self) -> Part:
        if self.part is not None:
            return self.part
        return Part(
            "tool_call", tool_call_id=self.id, tool_name=self.name, tool_args=read_arguments("".join(self.pieces))
        )


class Fold:
    """Collects events; `reply()` gives what they amount to so far, at any moment."""

    __slots__ = ("_calls", "_end", "_errors", "_role", "_run", "_start", "_told", "_unsettled", "_usage")

    def __init__(self) -> None:
        """Start with nothing heard."""
        self._start: ev.StreamStart | None = None
        self._end: ev.StreamEnd | None = None
        self._errors: list[str] = []
        self._role = ""
        # In the order they began; None where a run was taken up by the `part.end` of an earlier one of its kind.
        self._told: list[Part | _Run | _Call | None] = []
        self._run: _Run | None = None
        # Where in `_told` the runs of each kind are that no `part.end` has settled yet.
        self._unsettled: dict[str, list[int]] = {}
        self._calls: dict[int, _Call] = {}
        self._usage: Usage | None = None

    def feed(self, event: ev.Event) -> None:
        """Take one event."""
        kind = _RUN_TYPES.get(event.__class__)
        if kind is not None:
            self._add(kind, event.delta)  # type: ignore[attr-defined]  # the three delta events have one
            return
        match event:
            case ev.ToolCallStart(index, name, call_id):
                self._start_call(index, name, call_id)
            case ev.ToolCallDelta(index, delta):
                self._call(index).pieces.append(delta)
            case ev.ToolCallEnd(index, part):
                self._call(index).part = part
            case ev.PartEnd(part):
                self._settle(part)
            case ev.RoleChange(role):
                self._role = role
            case ev.UsageUpdate(usage):
                self._usage = usage
            case ev.StreamStart():
                self._start = event
            case ev.StreamEnd():
                self._end = event
            case ev.StreamError(error):
                self._errors.append(error)
            case _:
                pass  # a native event says nothing in our words

    def reply(self) -> Reply:
        """Give the answer as far as it has been told."""
        if self._end is not None and self._end.reply is not None:
            return self._end.reply
        calls = iter(sorted((item for item in self._told if isinstance(item, _Call)), key=lambda call: call.index))
        parts = []
        for item in self._told:
            if isinstance(item, _Call):
                parts.append(next(calls).finished())  # where calls stand, they stand by index [W-32]
            elif item is not None:
                parts.append(item.finished() if isinstance(item, _Run) else item)
        start, end = self._start or ev.StreamStart(), self._end or ev.StreamEnd()
        role: Any = self._role or "assistant"
        raw = {**(start.raw or EMPTY), **(end.raw or EMPTY)}
        return Reply(
            messages=(Message(role, parts, id=start.id),) if parts else (),
            id=start.id,
            model=start.model,
            finish_reason=end.finish_reason,
            stop_reason=end.stop_reason,
            usage=self._usage,
            raw=raw or EMPTY,
            finished=end.finish_reason is not None and not self._errors,
            notes=tuple(self._errors),
        )

    def _add(self, kind: str, delta: str | tuple[Part, ...]) -> None:
        run = self._run
        if not isinstance(delta, str):
            self._run = None
            self._told.extend(delta)
            return
        if run is None or run.type != kind:
            run = self._run = _Run(kind)
            self._unsettled.setdefault(kind, []).append(len(self._told))
            self._told.append(run)
        run.pieces.append(delta)

    def _settle(self, part: Part) -> None:
        """Put a finished part where the deltas it stands for began, or after all else if there were none."""
        places = self._unsettled.pop(part.type, None)
        if places is None:
            self._run = None
            self._told.append(part)
            return
        if self._run is not None and self._run.type == part.type:
            self._run = None
        for place in places:
            self._told[place] = None
        self._told[places[0]] = part

    def _start_call(self, index: int, name: str, call_id: str | None) -> None:
        call = self._calls.get(index)
        if call is not None and not call.name and call.part is None:  # its arguments came first; they are kept
            call.name, call.id = name, call_id
            return
        self._run = None
        call = self._calls[index] = _Call(index, name, call_id)
        self._told.append(call)

    def _call(self, index: int) -> _Call:
        if index not in self._calls:
            self._start_call(index, "", None)
        return self._calls[index]


def fold(events: Iterable[ev.Event]) -> Reply:
    """Collect a whole stream into its reply."""
    folding = Fold()
    for event in events:
        folding.feed(event)
    return folding.reply()


def replay(reply: Reply) -> Iterator[ev.Event]:
    """Tell a finished reply as a stream [W-35]: folding what comes out gives the reply back."""
    yield ev.StreamStart(reply.id, reply.model, reply.raw or None)
    index = 0
    if reply.message is not None:
        yield ev.RoleChange(reply.message.role)
        for part in reply.message.parts:
            match part.type:
                case "tool_call":
                    yield ev.ToolCallStart(index, part.tool_name or "", part.tool_call_id or None, part.provider_raw)
                    yield ev.ToolCallDelta(index, write_arguments(part.tool_args))
                    index += 1
                case "text" if part.text:
                    yield ev.ContentDelta(part.text)
                case "thinking" if part.text:
                    yield ev.ReasoningDelta(part.text)
                case "refusal" if part.text:
                    yield ev.RefusalDelta(part.text)
            if part.type != "tool_call":
                yield ev.PartEnd(part)
        calls = [part for part in reply.message.parts if part.type == "tool_call"]
        for number, part in enumerate(calls):
            yield ev.ToolCallEnd(number, part)
    if reply.usage is not None:
        yield ev.UsageUpdate(reply.usage)
    for note in reply.notes:
        yield ev.StreamError(note)
    yield ev.StreamEnd(reply.finish_reason, reply.stop_reason, reply=reply)
