"""Fork and run: whom to ask, what to ask, and a run as it stands."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "Answer",
    "AnswerKind",
    "Approval",
    "ApprovalChoice",
    "Edit",
    "EventRunAsk",
    "Provider",
    "Run",
    "RunChoices",
    "RunList",
    "RunRequest",
    "RunState",
    "ToolServer",
]

RunState: TypeAlias = Literal["running", "asking", "done", "stopped", "failed"]
ApprovalChoice: TypeAlias = Literal["yes", "different", "no", "yolo"]
AnswerKind: TypeAlias = Literal["text", "thinking", "refusal", "tool_use"]


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
