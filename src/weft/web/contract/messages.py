"""Messages, folded and whole, and what differs between two lists of them."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from weft.web.contract.graph import Role

__all__ = [
    "Attachment",
    "ContentRange",
    "Diff",
    "DiffItem",
    "DiffItems",
    "DiffOp",
    "DiffRun",
    "Message",
    "MessageHead",
    "MessageList",
    "ToolCall",
]

DiffOp: TypeAlias = Literal["unchanged", "added", "deleted"]


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
    blobs: list[Attachment]


class Attachment(TypedDict):
    """Bytes beside a message: an image, a document. Its address is `/api/sources/{source}/blobs/{id}`."""

    id: str
    name: str | None
    media_type: str  # "" if that is only known once it is fetched
    size_bytes: int | None
    is_image: bool  # of a kind that is safe in <img>, or maybe; everything else only downloads


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
    blobs: list[Attachment]


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
