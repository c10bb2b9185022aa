"""Which parser reads a stream, by the name of its framing or by its content type.

A table and a lookup; the parsers are in the files it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.errors import WireError
from weft.wire.eventstream import EventStreamParser
from weft.wire.jsonarray import JsonArrayParser
from weft.wire.ndjson import NdjsonParser
from weft.wire.sse import SseParser

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.wire.frame import FrameParser

__all__ = ["FRAMINGS", "framing_of", "parser_for"]

FRAMINGS: dict[str, Callable[[], FrameParser]] = {
    "sse": SseParser,
    "aws_eventstream": EventStreamParser,
    "ndjson": NdjsonParser,
    "json_array": JsonArrayParser,
}
"""Every framing by its name, with what makes its parser."""

_BY_CONTENT_TYPE = {
    "text/event-stream": "sse",
    "application/vnd.amazon.eventstream": "aws_eventstream",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/x-jsonl": "ndjson",
    "application/jsonlines": "ndjson",
    "application/x-jsonlines": "ndjson",
    # A whole JSON body looks the same from outside: only who asked for a stream knows that this is one.
    "application/json": "json_array",
}


def framing_of(content_type: str) -> str | None:
    """Name the framing of a content type, parameters and case aside; None where it is no known stream."""
    return _BY_CONTENT_TYPE.get(content_type.partition(";")[0].strip().lower())


def parser_for(framing: str) -> FrameParser:
    """Give a new parser for a framing's name or a content type."""
    name = framing if framing in FRAMINGS else framing_of(framing)
    if name is None:
        raise WireError(f"no framing is known for {framing!r}; known are {', '.join(FRAMINGS)}")
    return FRAMINGS[name]()
