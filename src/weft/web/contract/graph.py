"""The graph: a window of rows, the lines that pass through it, and the conversations it is made of."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

__all__ = [
    "Graph",
    "GraphLine",
    "GraphRow",
    "Place",
    "Role",
    "RowState",
    "ThreadEntry",
    "ThreadPage",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool_use", "tool_result", "thinking"]
# `live`: still arriving. `failed`: no answer, or one with an error status. `incomplete`: cut short.
RowState: TypeAlias = Literal["complete", "live", "failed", "incomplete"]


class GraphRow(TypedDict):
    """One request or turn in the graph: trace-and-cook.md sections 9 and 11."""

    id: str
    row: int
    column: int
    branch: int  # -1: isolated
    parent_id: str | None
    parent_row: int | None
    merges: list[str]  # further parents, of a turn that joins threads
    new_branch: bool
    isolated: bool
    child_id: str | None  # the child with the largest subtree: space goes there
    role: Role
    gist: str  # one line, 200 characters at most; "-" if there is nothing
    model: str
    provider: str
    timestamp_ms: int
    duration_ms: int
    state: RowState
    bookmarks: list[str]
    record_id: str  # what the record or the turn calls itself


class GraphLine(TypedDict):
    """One branch's vertical line, and the curve that leads to it, in pixels of section 9."""

    branch: int
    column: int
    x: int
    from_y: float
    to_y: float
    curve: str | None  # the `d` of an SVG path


class Graph(TypedDict):
    """`GET /api/sources/{source}/graph`: a window of rows, and the lines that pass through it."""

    source_id: str
    version: int
    tree_id: str | None  # set: only this tree, rows counted within it
    total: int
    offset: int
    width: int
    height: int
    rows: list[GraphRow]
    lines: list[GraphLine]


class Place(TypedDict):
    """`GET /api/sources/{source}/rows/{row}/place`: where a row is."""

    id: str
    row: int
    total: int


class ThreadEntry(TypedDict):
    """One conversation of a source: for threads one end of one, for recordings one tree of requests."""

    id: str  # of the row it ends in; also names its tree
    title: str
    rows: int
    size_bytes: int | None
    models: list[str]
    bookmarks: list[str]
    timestamp_ms: int


class ThreadPage(TypedDict):
    """`GET /api/sources/{source}/threads`, newest first."""

    threads: list[ThreadEntry]
    next: str | None
