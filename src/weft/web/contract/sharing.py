"""Sharing: what is shown, as one file that needs no server."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from weft.web.contract.graph import Graph
from weft.web.contract.messages import DiffOp, Message, MessageHead
from weft.web.contract.rows import Compare, RowHeader, Tool
from weft.web.contract.service import Source
from weft.web.contract.stats import Stats

__all__ = [
    "ExportData",
    "ExportRequest",
    "ExportRow",
]


class ExportRequest(TypedDict):
    """`POST /api/export`: what is shown, as one HTML file. The answer is the file itself."""

    source_id: str
    scope: Literal["row", "branch", "tree", "source"]  # one row; it and all before it; its tree; everything
    row_id: NotRequired[str]  # needed by all scopes but `source`; also what is selected on opening
    compare: NotRequired[str]  # `source:row`, shown beside row_id
    redact: NotRequired[bool]  # true unless said otherwise


class ExportRow(TypedDict):
    """One row of an exported file. Histories are long and shared, so it says how it goes on from the row before it.

    It sent the first `kept` messages of what `against_id` sent and was answered, and then `more`.
    """

    header: RowHeader
    against_id: str | None
    before: list[str] | None  # what the row it is against had, if that row is not in the file
    kept: int
    more: list[str]
    answered: list[str]
    runs: list[tuple[DiffOp, int]]  # of its diff, each with its length; what is in them follows from the messages
    children: list[str]
    tools: list[str]
    tools_before: list[str] | None  # of the row it is against, if that row is not in the file


class ExportData(TypedDict):
    """What an exported file holds, in `<script type="application/json" id="weft-export">`."""

    format: Literal["weft-export-2"]
    name: str
    version: str
    created_ms: int
    is_redacted: bool
    redactions: int
    source: Source
    graph: Graph  # all exported rows at once
    rows: dict[str, ExportRow]
    tools: dict[str, Tool]
    heads: dict[str, MessageHead]
    messages: dict[str, Message]
    blobs: dict[str, str]  # images as data: URLs, by blob id
    stats: Stats
    compare: Compare | None
    selected_id: str | None
