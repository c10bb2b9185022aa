"""The service and its sources: who is listening, what went wrong, what can be looked at."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

__all__ = [
    "ErrorAnswer",
    "ErrorDetail",
    "Info",
    "SessionRequest",
    "Source",
    "SourceKind",
    "SourceList",
]

SourceKind: TypeAlias = Literal["trace", "cooked", "session", "threads"]


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
