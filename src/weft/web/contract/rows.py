"""One request or turn: what is known of it, its diff against its parent, its tools; and any two side by side."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from weft.web.contract.graph import GraphRow
from weft.web.contract.messages import Diff, MessageHead
from weft.web.contract.stats import CacheMiss, Usage

__all__ = [
    "Compare",
    "CopyText",
    "OptionChange",
    "RowHeader",
    "RowView",
    "Side",
    "Tool",
    "ToolChange",
    "ToolList",
]

ToolChange: TypeAlias = Literal["unchanged", "added", "removed"]


class RowHeader(TypedDict):
    """What is known of one request or turn besides its messages."""

    endpoint: str  # method and path as recorded; "" if not known
    status: int | None
    stop_reason: str | None
    error: str | None
    usage: Usage | None
    cache_miss: CacheMiss | None
    options: str  # JSON text: settings of the request, or the merged options of the thread
    turn_id: str | None  # of the turn that caused the call, in the threads of the store


class RowView(TypedDict):
    """`GET /api/sources/{source}/rows/{row}`."""

    source_id: str
    version: int
    row: GraphRow
    header: RowHeader
    against_id: str | None  # the row the diff is against: the parent
    diff: Diff
    response: list[MessageHead]  # all of them; turns have none
    children: list[str]
    tools: int
    tools_added: int
    tools_removed: int
    can_fork: bool


class Tool(TypedDict):
    """One tool a request offers."""

    id: str
    name: str
    description: str
    parameters: str  # JSON text
    is_server_side: bool
    change: ToolChange  # against the parent


class ToolList(TypedDict):
    """`GET /api/sources/{source}/rows/{row}/tools`."""

    tools: list[Tool]


class CopyText(TypedDict):
    """`GET /api/sources/{source}/rows/{row}/copy?as=curl|python|json`: no key is ever in it."""

    text: str


class OptionChange(TypedDict):
    """An option that differs; JSON text, None where it is not set."""

    name: str
    left: str | None
    right: str | None


class Side(TypedDict):
    """One side of a comparison."""

    source_id: str
    row: GraphRow
    header: RowHeader


class Compare(TypedDict):
    """`GET /api/compare?left=source:row&right=source:row`: any two, of any sources, answers included."""

    left: Side
    right: Side
    diff: Diff
    tools: list[Tool]  # of both sides, each with its change
    options: list[OptionChange]
