"""Live: `GET /api/events`, one stream a page."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from weft.web.contract.graph import RowState
from weft.web.contract.runs import AnswerKind, EventRunAsk, Run
from weft.web.contract.service import Source

__all__ = [
    "EventBegun",
    "EventDelta",
    "EventEnded",
    "EventGraph",
    "EventHello",
    "EventReset",
    "EventRunBegun",
    "EventRunDelta",
    "EventRunEnded",
    "EventRunNote",
    "EventRunTurn",
    "EventSources",
    "LiveEvent",
]


class EventHello(TypedDict):
    """The stream is open; ask for what is shown if a version differs from what is known."""

    type: Literal["hello"]
    sources: list[Source]
    runs: list[Run]


class EventReset(TypedDict):
    """Events were lost between two connections: ask for everything shown again."""

    type: Literal["reset"]


class EventSources(TypedDict):
    """Sources came or went, or finished loading."""

    type: Literal["sources"]
    sources: list[Source]


class EventGraph(TypedDict):
    """Rows were added or moved. Rows before `from_row` are as they were."""

    type: Literal["graph"]
    source_id: str
    version: int
    total: int
    from_row: int
    row_ids: list[str]  # the new ones, at most 100


class EventBegun(TypedDict):
    """A request was sent and its answer is awaited; it has no row until it ends, unless `row_id` says so."""

    type: Literal["begun"]
    source_id: str
    exchange_id: str
    row_id: str | None
    model: str
    gist: str
    timestamp_ms: int


class EventDelta(TypedDict):
    """A piece of an answer."""

    type: Literal["delta"]
    source_id: str
    exchange_id: str
    kind: AnswerKind
    name: str | None
    text: str


class EventEnded(TypedDict):
    """An answer is complete, or will not be."""

    type: Literal["ended"]
    source_id: str
    exchange_id: str
    row_id: str | None
    state: RowState


class EventRunBegun(TypedDict):
    """A run has its turn to answer; a `graph` event has the row."""

    type: Literal["run_begun"]
    run: Run


class EventRunDelta(TypedDict):
    """A piece of a run's answer."""

    type: Literal["run_delta"]
    run_id: str
    kind: AnswerKind
    name: str | None
    text: str


class EventRunTurn(TypedDict):
    """A run appended a turn: an answer, or results of tools. What was streamed until now is in it."""

    type: Literal["run_turn"]
    run_id: str
    source_id: str
    turn_id: str
    role: str


class EventRunNote(TypedDict):
    """Something a person should know beside the answer."""

    type: Literal["run_note"]
    run_id: str
    text: str


class EventRunEnded(TypedDict):
    """A run is over."""

    type: Literal["run_ended"]
    run: Run


LiveEvent: TypeAlias = (
    EventHello
    | EventReset
    | EventSources
    | EventGraph
    | EventBegun
    | EventDelta
    | EventEnded
    | EventRunBegun
    | EventRunDelta
    | EventRunTurn
    | EventRunAsk
    | EventRunNote
    | EventRunEnded
)
