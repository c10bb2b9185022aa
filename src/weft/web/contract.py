"""The contract with the page: every answer, request body and event of the viewer's API, as types.

`tools/viewer_types.py` writes them as TypeScript to viewer/src/api/types.gen.ts; a test fails when that is stale. The
routes are listed in docs/reference/viewer-api.md.

Made for a million messages: a page asks for what it shows. Ids are opaque texts, safe in a path; what a record, a turn
or a tool calls itself is data, in fields of its own. JSON that others wrote (arguments, schemas, options) crosses as
text, so that no number is rounded and no key is special on the way.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "Answer",
    "AnswerKind",
    "Approval",
    "ApprovalChoice",
    "Attachment",
    "CacheMiss",
    "CacheMissPage",
    "CacheMissReason",
    "Compare",
    "ContentRange",
    "CopyText",
    "Diff",
    "DiffItem",
    "DiffItems",
    "DiffOp",
    "DiffRun",
    "Edit",
    "ErrorAnswer",
    "ErrorDetail",
    "EventBegun",
    "EventDelta",
    "EventEnded",
    "EventGraph",
    "EventHello",
    "EventReset",
    "EventRunAsk",
    "EventRunBegun",
    "EventRunDelta",
    "EventRunEnded",
    "EventRunNote",
    "EventRunTurn",
    "EventSources",
    "ExportData",
    "ExportRequest",
    "Graph",
    "GraphLine",
    "GraphRow",
    "Info",
    "LiveEvent",
    "Message",
    "MessageHead",
    "MessageList",
    "OptionChange",
    "Place",
    "Provider",
    "Role",
    "RowHeader",
    "RowState",
    "RowView",
    "Run",
    "RunChoices",
    "RunList",
    "RunRequest",
    "RunState",
    "SearchHit",
    "SearchPage",
    "SessionRequest",
    "Side",
    "Source",
    "SourceKind",
    "SourceList",
    "StatGroup",
    "StatPage",
    "Stats",
    "StatsBy",
    "ThreadEntry",
    "ThreadPage",
    "Tool",
    "ToolCall",
    "ToolChange",
    "ToolList",
    "ToolServer",
    "Totals",
    "Usage",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool_use", "tool_result", "thinking"]
SourceKind: TypeAlias = Literal["trace", "cooked", "session", "threads"]
# `live`: still arriving. `failed`: no answer, or one with an error status. `incomplete`: cut short.
RowState: TypeAlias = Literal["complete", "live", "failed", "incomplete"]
DiffOp: TypeAlias = Literal["unchanged", "added", "deleted"]
StatsBy: TypeAlias = Literal["request", "thread", "day", "model"]
RunState: TypeAlias = Literal["running", "asking", "done", "stopped", "failed"]
ApprovalChoice: TypeAlias = Literal["yes", "different", "no", "yolo"]
AnswerKind: TypeAlias = Literal["text", "thinking", "refusal", "tool_use"]
ToolChange: TypeAlias = Literal["unchanged", "added", "removed"]
CacheMissReason: TypeAlias = Literal[
    "first_of_thread",
    "model_changed",
    "tools_changed",
    "system_changed",
    "history_changed",
    "expired",
    "too_short",
    "not_reported",
    "unknown",
]


# -- the service and its sources -------------------------------------------------------------------------------------


class ErrorDetail(TypedDict):
    """What went wrong: a short word for programs, a sentence for people."""

    code: str
    message: str


class ErrorAnswer(TypedDict):
    """The body of every answer that is not a success."""

    error: ErrorDetail


class Info(TypedDict):
    """`/_info`: who is listening on this port; needs no token and tells nothing else [C-54]."""

    name: str
    version: str


class SessionRequest(TypedDict):
    """`POST /api/session`: the token from the address's fragment, for a cookie."""

    token: str


class Source(TypedDict):
    """One thing that can be looked at: a file, the recordings of a store, its threads."""

    id: str
    kind: SourceKind
    name: str
    rows: int
    messages: int | None
    is_live: bool  # more may arrive
    is_loading: bool  # being read for the first time; rows grow
    can_run: bool
    problems: list[str]  # what could not be read of it, in sentences
    version: int  # grows with every change


class SourceList(TypedDict):
    """`GET /api/sources`."""

    version: str
    sources: list[Source]
    default_id: str | None
    run_source_id: str | None  # where turns of a run appear
    can_export: bool


# -- the graph -------------------------------------------------------------------------------------------------------


class Usage(TypedDict):
    """What a call used; None where the provider did not say."""

    input_tokens: int | None  # all of the prompt, cached or not
    cached_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None


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


# -- messages --------------------------------------------------------------------------------------------------------


class MessageHead(TypedDict):
    """A message without its body: enough for a folded card."""

    id: str
    role: Role
    gist: str
    size: int  # characters of content
    lines: int
    calls: list[str]  # names of the tools it calls
    tool_use_id: str | None
    is_error: bool | None
    blob: Attachment | None


class Attachment(TypedDict):
    """Bytes beside a message: an image, a document. Its address is `/api/sources/{source}/blobs/{id}`."""

    id: str
    name: str | None
    media_type: str
    size_bytes: int
    is_image: bool  # of a kind that is safe in <img>; everything else only downloads


class ToolCall(TypedDict):
    """One call; its arguments as JSON text, cut if they are long."""

    name: str
    id: str | None
    arguments: str
    size: int
    is_cut: bool


class Message(TypedDict):
    """A message with its body; text past `max` is cut and read on with `/content`."""

    id: str
    role: Role
    content: str
    size: int
    is_cut: bool
    tool_calls: list[ToolCall]
    tool_use_id: str | None
    is_error: bool | None
    blob: Attachment | None


class MessageList(TypedDict):
    """`GET /api/sources/{source}/messages?ids=…`: in the order asked for."""

    messages: list[Message]


class ContentRange(TypedDict):
    """`GET /api/sources/{source}/messages/{message}/content`: a piece of a long text."""

    text: str
    start: int
    next: int | None  # where to read on; None at the end
    size: int


class DiffItem(TypedDict):
    """One message of a diff. Of a comparison, what is `deleted` is of the left source, all else of the right."""

    op: DiffOp
    message: MessageHead


class DiffRun(TypedDict):
    """Neighbouring items of one kind: `count` from `start` of the whole diff.

    Unchanged runs come without their items; `/diff` gives any window of them.
    """

    op: DiffOp
    start: int
    count: int
    items: list[DiffItem]  # the first ones of what is added or deleted, at most 200


class Diff(TypedDict):
    """What differs: section 10."""

    unchanged: int
    added: int
    deleted: int
    runs: list[DiffRun]


class DiffItems(TypedDict):
    """`GET /api/sources/{source}/rows/{row}/diff?start=…&count=…` and the same of a comparison."""

    total: int
    start: int
    items: list[DiffItem]


# -- one request or turn ---------------------------------------------------------------------------------------------


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


# -- finding and understanding ---------------------------------------------------------------------------------------


class SearchHit(TypedDict):
    """A message that was found and a row that has it."""

    row_id: str
    row: int
    message_id: str
    role: Role
    model: str
    timestamp_ms: int
    snippet: str
    marks: list[tuple[int, int]]  # what to highlight, in UTF-16 units of the snippet


class SearchPage(TypedDict):
    """`GET /api/sources/{source}/search`: found so far. While `next` is set there may be more: ask on with it."""

    hits: list[SearchHit]
    next: str | None
    scanned: int
    total: int


class Totals(TypedDict):
    """Sums of a group; tokens and cost are of the calls that said so."""

    requests: int
    failed: int
    duration_ms: int
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    with_usage: int  # calls that said what they used
    with_cost: int


class StatGroup(TypedDict):
    """One bar of a chart."""

    key: str  # a row's id, a tree's, a day, a model
    label: str  # a row's gist, a tree's title, the day, the model
    totals: Totals


class Stats(TypedDict):
    """`GET /api/sources/{source}/stats`: while `scanned` is less than `total`, ask again for more."""

    version: int
    scanned: int
    total: int
    totals: Totals
    misses: int


class StatPage(TypedDict):
    """`GET /api/sources/{source}/stats/{by}`."""

    groups: list[StatGroup]
    total: int
    offset: int


class CacheMiss(TypedDict):
    """A prompt that was sent again and paid for again, and why."""

    row_id: str
    row: int
    reason: CacheMissReason
    detail: str  # a sentence
    expected_tokens: int | None  # what its parent had sent already
    cached_tokens: int | None
    message_id: str | None  # the first message that differs
    gap_ms: int | None  # since the parent


class CacheMissPage(TypedDict):
    """`GET /api/sources/{source}/misses`."""

    misses: list[CacheMiss]
    total: int
    offset: int


# -- fork and run ----------------------------------------------------------------------------------------------------


class Provider(TypedDict):
    """Someone who can be asked to answer: a pointer (an alias), or a provider whose model is typed."""

    name: str  # what to send as `model`: a pointer, or provider/model
    provider: str
    model: str
    is_pointer: bool
    has_key: bool


class ToolServer(TypedDict):
    """A server of tools that a run may use."""

    name: str
    shown: str  # the command or address, in full


class RunChoices(TypedDict):
    """`GET /api/run-choices`."""

    providers: list[Provider]
    servers: list[ToolServer]


class Edit(TypedDict):
    """Other text for one message of the base; empty text with `drop` leaves the message out."""

    message_id: str
    occurrence: NotRequired[int]  # which of them, if the same message is there more than once; from 0
    text: str
    drop: NotRequired[bool]


class RunRequest(TypedDict):
    """`POST /api/runs`: continue from a row, or from it with other words; nothing that exists is changed."""

    source_id: str
    row_id: str
    model: str  # a pointer, or provider/model; "" for the thread's own
    edits: NotRequired[list[Edit]]
    append: NotRequired[str]  # what the user says next
    servers: NotRequired[list[str]]  # of tools; without it, the thread's own
    bookmark: NotRequired[str]


class Answer(TypedDict):
    """What has arrived of an answer, by kind, in order."""

    kind: AnswerKind
    name: str | None
    text: str


class Approval(TypedDict):
    """`POST /api/runs/{run}/approvals/{question}`."""

    choice: ApprovalChoice
    text: NotRequired[str]  # with `different`: what to do instead
    remember: NotRequired[bool]  # with `yes`: this tool is not asked about again in this run


class EventRunAsk(TypedDict):
    """A tool call waits for approval."""

    type: Literal["run_ask"]
    run_id: str
    question_id: str
    tool: str
    server: str | None
    call_id: str | None
    arguments: str  # JSON text, in full
    description: str
    hidden: list[str]  # marks of characters that do not show
    changes: str  # since it was last approved
    text: str  # all of it, as a terminal would ask


class Run(TypedDict):
    """`GET /api/runs/{run}`: a run as it stands; events carry on from here."""

    id: str
    state: RunState
    source_id: str  # where its turns are
    base_id: str | None  # the turn it answers
    turn_id: str | None  # the last turn of it so far
    model: str
    answer: list[Answer]  # of the call under way
    question: EventRunAsk | None
    notes: list[str]
    error: str | None
    why: str  # it stopped


class RunList(TypedDict):
    """`GET /api/runs`, newest first."""

    runs: list[Run]


# -- live: `GET /api/events`, one stream a page ----------------------------------------------------------------------


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


# -- sharing ---------------------------------------------------------------------------------------------------------


class ExportRequest(TypedDict):
    """`POST /api/export`: what is shown, as one HTML file. The answer is the file itself."""

    source_id: str
    scope: Literal["row", "branch", "tree", "source"]  # one row; it and all before it; its tree; everything
    row_id: NotRequired[str]  # needed by all scopes but `source`; also what is selected on opening
    compare: NotRequired[str]  # `source:row`, shown beside row_id
    redact: NotRequired[bool]  # true unless said otherwise


class ExportData(TypedDict):
    """What an exported file holds, in `<script type="application/json" id="weft-export">`."""

    format: Literal["weft-export-1"]
    name: str
    version: str
    created_ms: int
    is_redacted: bool
    redactions: int
    source: Source
    graph: Graph  # all exported rows at once
    views: dict[str, RowView]  # by row id; runs hold all their items
    tools: dict[str, ToolList]
    messages: dict[str, Message]
    blobs: dict[str, str]  # images as data: URLs, by blob id
    stats: Stats
    compare: Compare | None
    selected_id: str | None
