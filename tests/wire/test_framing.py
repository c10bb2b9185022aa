"""One table finds the parser of every framing, and every parser has the same shape."""

from __future__ import annotations

import pytest

from weft.errors import WireError
from weft.wire.eventstream import EventStreamParser, Frame, encode_frame
from weft.wire.framing import FRAMINGS, framing_of, parser_for
from weft.wire.jsonarray import JsonArrayParser
from weft.wire.ndjson import NdjsonParser
from weft.wire.sse import SseParser


@pytest.mark.parametrize(
    ("name", "parser"),
    [
        ("sse", SseParser),
        ("aws_eventstream", EventStreamParser),
        ("ndjson", NdjsonParser),
        ("json_array", JsonArrayParser),
        ("text/event-stream", SseParser),
        ("Text/Event-Stream; charset=utf-8", SseParser),
        ("application/vnd.amazon.eventstream", EventStreamParser),
        ("application/x-ndjson", NdjsonParser),
        ("application/json; charset=UTF-8", JsonArrayParser),
    ],
)
def test_a_framing_is_found_by_name_or_content_type(name: str, parser: type) -> None:
    assert type(parser_for(name)) is parser


def test_an_unknown_framing_is_refused_with_those_that_exist() -> None:
    assert framing_of("text/html") is None
    with pytest.raises(WireError, match="sse, aws_eventstream, ndjson, json_array"):
        parser_for("text/html")


def test_every_parser_gives_frames_of_the_same_shape() -> None:
    one = {
        "sse": b"data: {}\n\n",
        "aws_eventstream": encode_frame(Frame({}, b"{}")),
        "ndjson": b"{}\n",
        "json_array": b"[{}",
    }

    for name in FRAMINGS:
        parser = parser_for(name)
        (frame,) = parser.feed(one[name])
        assert (frame.data, frame.truncated, frame.oversize) == (b"{}", False, False)
        assert isinstance(frame.event, str)
        assert all(last.truncated for last in parser.close())
