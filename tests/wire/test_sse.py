"""Hardening S-01 to S-07: the event stream is read by the WHATWG rules, however it is cut."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.components import require
from weft.errors import UsageError
from weft.wire.sse import SseEvent, SseParser, encode_sse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# Everything the standard has a rule for, and text that only looks like a line end.
STREAM = (
    ": hello\n"
    "retry: 1500\n\n"
    'event: message_start\ndata: {"type":"message_start","text":"caf\u00e9 \U0001f9f6"}\n\n'
    'data: {"choices":[{"delta":{"content":"a\u2028b\u2029c\u0085d\u000be"}}]}\n\n'
    "data:no space\ndata:  two spaces\ndata\ndata:\n\n"
    "unknown: field\nevent: named\n: comment inside\ndata: x\n\n"
    "event: without data\n\n"
    "data:\n\n"
    "\n\n\n"
    "id: 7\ndata: with id\n\n"
    "id: bad\0id\ndata: still seven\n\n"
    "id\ndata: id unset\n\n"
    "data: [DONE]\n\n"
).encode()


def read(*chunks: bytes, max_event_bytes: int = 16 * 1024 * 1024) -> list[SseEvent]:
    parser = SseParser(max_event_bytes)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close()


def bytewise(stream: bytes) -> Iterator[bytes]:
    return (stream[i : i + 1] for i in range(len(stream)))


def cut(stream: bytes, places: Iterable[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[a:b] for a, b in pairwise(marks)]


def naive(stream: bytes) -> list[SseEvent]:
    """The standard's own steps, one line at a time, with the whole stream in hand."""
    *lines, last = re.split(rb"\r\n|\r|\n", stream.removeprefix(b"\xef\xbb\xbf"))
    events: list[SseEvent] = []
    name, data, last_id, next_id, retry = b"", b"", "", "", None
    begun = False
    for line in lines:
        if not line:
            last_id = next_id
            if data:
                events.append(SseEvent.make(name, data[:-1], id=last_id, retry=retry))
            name, data, retry, begun = b"", b"", None, False
            continue
        begun = begun or not line.startswith(b":")
        name, data, next_id, retry = naive_field(line, name, data, next_id, retry)
    if last:
        begun = begun or not last.startswith(b":")
        name, data, next_id, retry = naive_field(last, name, data, next_id, retry)
    if begun:
        events.append(SseEvent.make(name, data[:-1], id=last_id, retry=retry, truncated=True))
    return events


def naive_field(
    line: bytes, name: bytes, data: bytes, event_id: str, retry: int | None
) -> tuple[bytes, bytes, str, int | None]:
    field, _, value = line.partition(b":")
    value = value[1:] if value[:1] == b" " else value
    if field == b"event":
        name = value
    if field == b"data":
        data += value + b"\n"
    if field == b"id" and b"\0" not in value:
        event_id = value.decode("utf-8", "replace")
    if field == b"retry" and re.fullmatch(rb"[0-9]{1,15}", value):
        retry = int(value)
    return name, data, event_id, retry


def test_every_field_is_read_as_the_standard_says() -> None:
    """S-04."""
    assert [(e.event, e.text, e.id, e.retry) for e in read(STREAM)] == [
        ("message_start", '{"type":"message_start","text":"caf\u00e9 \U0001f9f6"}', "", None),
        ("message", '{"choices":[{"delta":{"content":"a\u2028b\u2029c\u0085d\u000be"}}]}', "", None),
        ("message", "no space\n two spaces\n\n", "", None),
        ("named", "x", "", None),
        ("message", "", "", None),
        ("message", "with id", "7", None),
        ("message", "still seven", "7", None),
        ("message", "id unset", "", None),
        ("message", "[DONE]", "", None),
    ]


def test_the_examples_of_the_standard_are_read_as_it_says() -> None:
    """S-04: the blocks of section 9.2.6 of the HTML standard."""
    stocks = b"data: YHOO\ndata: +2\ndata: 10\n\n"
    comments = b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n"
    empties = b"data\n\ndata\ndata\n\ndata:"
    spaces = b"data:test\n\ndata: test\n\n"

    assert [e.data for e in read(stocks)] == [b"YHOO\n+2\n10"]
    assert [(e.data, e.id, e.truncated) for e in read(comments)] == [
        (b"first event", "1", False),
        (b"second event", "", False),
        (b" third event", "", True),
    ]
    assert [(e.data, e.truncated) for e in read(empties)] == [(b"", False), (b"\n", False), (b"", True)]
    assert [e.data for e in read(spaces)] == [b"test", b"test"]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_every_kind_of_line_end_gives_the_same_events(line_end: bytes) -> None:
    """S-01, and S-02 for a CRLF cut in two."""
    stream = STREAM.replace(b"\n", line_end)

    assert read(stream) == read(STREAM)
    assert read(*bytewise(stream)) == read(STREAM)


def test_mixed_line_ends_give_the_same_events() -> None:
    """S-01."""
    rng = random.Random(1)

    for _ in range(200):
        # CR before a bare LF would be one line end, so an LF is only ever put after an LF or a CRLF.
        mixed = re.sub(rb"\n+", lambda ends: b"".join(rng.choice((b"\r\n", b"\r")) for _ in ends[0]), STREAM)
        assert read(mixed) == read(STREAM)
    assert [e.data for e in read(b"data: a\r\n\ndata: b\n\r\ndata: c\r\r\ndata: d\n\r")] == [b"a", b"b", b"c", b"d"]


def test_a_cr_ends_its_line_without_waiting_for_what_follows() -> None:
    """S-01: an event is not held back until the next one comes."""
    parser = SseParser()

    assert parser.feed(b"data: a\r\r") == [SseEvent.make(b"", b"a")]
    assert parser.feed(b"\ndata: b\r\n\r") == [SseEvent.make(b"", b"b")]
    assert parser.feed(b"") == []
    assert parser.feed(b"\n") == []
    assert parser.close() == []


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_every_cut_in_two_gives_the_events_of_the_whole(line_end: bytes) -> None:
    """S-02: every split of a 2 KB stream, inside UTF-8 and inside CRLF too, then one byte at a time."""
    stream = b"\xef\xbb\xbf" + (STREAM * 4)[:2048].replace(b"\n", line_end)
    whole = read(stream)

    assert whole == naive(stream)
    for place in range(len(stream) + 1):
        assert read(stream[:place], stream[place:]) == whole
    assert read(*bytewise(stream)) == whole


def test_a_byte_order_mark_is_taken_off_the_start_and_nowhere_else() -> None:
    """S-03."""
    bom = b"\xef\xbb\xbf"
    stream = bom + b"data: a\n\ndata: " + bom + b"b\n\n" + bom + b"data: a field of another name\n\n"

    assert [e.data for e in read(stream)] == [b"a", bom + b"b"]
    assert read(*bytewise(stream)) == read(stream)
    assert read(bom[:2]) == [SseEvent.make(b"", b"", truncated=True)]
    assert read(bom + bom + b"data: x\n\n") == []


def test_what_only_looks_like_a_line_end_stays_in_the_data() -> None:
    """S-05."""
    text = "a\u2028b\u2029c\u0085d\u000be\u000cf\u001cg"

    assert [e.text for e in read(f"data: {text}\n\n".encode())] == [text]
    assert [e.text for e in read(encode_sse(text, id="1"))] == [text]


def test_an_event_without_its_blank_line_is_kept_and_marked_truncated() -> None:
    """S-06."""
    whole, cut_short = read(b'data: {"a":1}\n\nevent: delta\ndata: {"a"')

    assert whole == SseEvent.make(b"", b'{"a":1}')
    assert cut_short == SseEvent.make(b"delta", b'{"a"', truncated=True)
    assert (cut_short.event, cut_short.truncated, cut_short.oversize) == ("delta", True, False)
    assert cut_short != SseEvent.make(b"delta", b'{"a"')


def test_closing_after_a_whole_event_or_a_comment_gives_nothing() -> None:
    """S-06."""
    assert read() == []
    assert read(b": ping\n") == []
    parser = SseParser()
    parser.feed(b"data: a\n\n: keep-alive\n\n:")
    assert parser.close() == []
    assert parser.close() == []


def test_an_event_over_the_bound_is_kept_up_to_it_and_reading_goes_on() -> None:
    """S-07."""
    long = b"event: big\nid: 9\ndata: " + b"x" * 100
    stream = b"data: a\n\n" + long + b"\n\ndata: b\n\n"

    events = read(stream, max_event_bytes=40)

    assert events == [
        SseEvent.make(b"", b"a"),
        SseEvent.make(b"big", long[:40], id="9", oversize=True),
        SseEvent.make(b"", b"b", id="9"),
    ]
    for place in range(len(stream) + 1):
        assert read(stream[:place], stream[place:], max_event_bytes=40) == events
    assert read(*bytewise(stream), max_event_bytes=40) == events


def test_an_event_of_just_the_bound_is_whole_however_it_is_cut() -> None:
    """S-07: the line ends around an event are not part of its size."""
    stream = b"\n\n\ndata: 34567890\n\n\ndata: 345678901\n\n\ndata: 3456789"

    whole = read(stream, max_event_bytes=14)

    assert [(e.data, e.oversize) for e in whole] == [
        (b"34567890", False),
        (b"data: 34567890", True),
        (b"3456789", False),
    ]
    for place in range(len(stream) + 1):
        assert read(stream[:place], stream[place:], max_event_bytes=14) == whole
    assert read(*bytewise(stream), max_event_bytes=14) == whole


def test_an_event_over_the_bound_that_never_ends_is_both_oversize_and_truncated() -> None:
    """S-06 and S-07."""
    (event,) = read(b"data: " + b"x" * 50, max_event_bytes=20)

    assert event == SseEvent.make(b"", b"data: " + b"x" * 14, truncated=True, oversize=True)


def test_a_line_of_100_mib_takes_no_more_memory_than_the_bound() -> None:
    """S-07, with the default bound."""
    parser = SseParser()
    piece = b"x" * (1024 * 1024)
    parser.feed(b"data: ")

    for _ in range(100):
        assert parser.feed(piece) == []
        assert len(parser._held) <= 18 * 1024 * 1024

    big, after = parser.feed(b"\n\ndata: after\n\n")
    assert (len(big.data), big.oversize) == (16 * 1024 * 1024, True)
    assert after == SseEvent.make(b"", b"after")


def test_a_long_event_in_small_chunks_is_searched_once() -> None:
    """Linear in length: counts the bytes searched, not the time."""
    searched = 0

    class Counting(bytearray):
        def rfind(self, sub: Any, start: Any = 0, _end: Any = None) -> int:
            nonlocal searched
            searched += len(self) - start
            return super().rfind(sub, start)

    parser = SseParser()
    parser._held = Counting(b"data: ")
    size, step = 2_000_000, 1000
    for _ in range(size // step):
        parser.feed(b"y" * step)

    (event,) = parser.feed(b"\n\n")
    assert len(event.data) == size
    assert searched <= size + 2 * (size // step) + 10


def test_a_retry_that_is_no_number_is_passed_over() -> None:
    """S-04."""
    for value in (b"", b"-1", b"1.5", b"+3", b"1e3", "\u0663".encode(), b"9" * 5000):
        parser = SseParser()
        assert parser.feed(b"retry: " + value + b"\ndata: x\n\n") == [SseEvent.make(b"", b"x")]
        assert parser.retry is None

    parser = SseParser()
    (event,) = parser.feed(b"retry:2500\n\nretry: 10\ndata: x\n\n")
    assert (event.retry, parser.retry) == (10, 10)


def test_bytes_that_are_no_utf8_are_kept_as_they_came() -> None:
    """J-05: the data stays bytes; only `text` replaces."""
    (event,) = read(b"event: \xff\ndata: \xc3(\n\n")

    assert (event.event, event.data, event.text) == ("\ufffd", b"\xc3(", "\ufffd(")


def test_an_event_shows_what_is_set() -> None:
    assert repr(SseEvent.make(b"", b"x")) == "SseEvent(event='message', data=b'x')"
    assert repr(SseEvent.make(b"a", b"x", id="1", truncated=True)) == (
        "SseEvent(event='a', data=b'x', id='1', truncated=True)"
    )


def test_an_event_is_written_with_its_fields_in_order() -> None:
    assert encode_sse(b"x") == b"data: x\n\n"
    assert encode_sse("a\nb\r\nc\rd", "e", "1", retry=5) == (
        b"event: e\nid: 1\nretry: 5\ndata: a\ndata: b\ndata: c\ndata: d\n\n"
    )


@pytest.mark.parametrize(("event", "event_id"), [("a\nb", None), ("a\r", None), (None, "a\nb"), (None, "a\0b")])
def test_an_event_that_could_not_be_read_back_is_not_written(event: str | None, event_id: str | None) -> None:
    with pytest.raises(UsageError):
        encode_sse("x", event, event_id)


# A stream is drawn from pieces that mean something, so that most draws are nearly streams.
PIECES = st.sampled_from(
    [b"data: ", b"data:", b"data", b"event: ", b"event", b"id: ", b"retry: ", b":", b" ", b"\0", b"7", b"{}", b"\n",
     b"\n", b"\n\n", b"\r\n", b"\r", b"\r\n\r\n", b"\xef\xbb\xbf", "\u2028\u0085".encode(), b"\xff", b"x" * 30]
)  # fmt: skip
STREAMS = st.lists(PIECES, max_size=60).map(b"".join)
PLACES = st.lists(st.integers(0, 4000), max_size=12)


@given(STREAMS, PLACES)
def test_any_bytes_give_what_a_reader_of_lines_gives_however_they_are_cut(stream: bytes, places: list[int]) -> None:
    """S-01 to S-06."""
    expected = naive(stream)

    assert read(stream) == expected
    assert read(*cut(stream, places)) == expected
    assert read(*bytewise(stream)) == expected


@given(STREAMS, PLACES, st.integers(1, 40))
def test_a_small_bound_changes_nothing_about_where_the_stream_is_cut(
    stream: bytes, places: list[int], bound: int
) -> None:
    """S-07."""
    expected = read(stream, max_event_bytes=bound)

    assert read(*cut(stream, places), max_event_bytes=bound) == expected
    assert read(*bytewise(stream), max_event_bytes=bound) == expected
    assert all(len(event.data) <= bound for event in expected)


ONE_LINE = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.none() | ONE_LINE, st.none() | ONE_LINE)),
    PLACES,
)
def test_what_is_written_is_read_back(events: list[tuple[str, str | None, str | None]], places: list[int]) -> None:
    stream = b"".join(encode_sse(*event) for event in events)

    expected, last_id = [], ""
    for data, event, event_id in events:
        last_id = last_id if event_id is None else event_id
        expected.append((event or "message", re.sub("\r\n|\r", "\n", data), last_id))
    # A byte order mark that is the first thing written would be the writer's own, and is: data never comes first.
    assert [(e.event, e.text, e.id) for e in read(*cut(stream, places))] == expected


def recorded_streams(corpus: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(corpus.glob("*.jsonl")):
        with path.open("rb") as lines:
            for line in lines:
                if b'"sse_lines"' not in line:
                    continue
                exchange = json.loads(line)
                response = exchange["response"]
                line_end = "\r\n" if response.get("eol") == "crlf" else "\n"
                yield exchange["id"], (line_end.join(response["sse_lines"]) + line_end * 2).encode()


@pytest.mark.corpus
def test_every_recorded_stream_gives_the_same_events_however_it_is_cut() -> None:
    """S-02 on real traffic, against the reader of lines."""
    rng = random.Random(7)
    seen = 0
    for exchange_id, stream in recorded_streams(require("corpus")):
        expected = naive(stream)
        places = [rng.randrange(len(stream)) for _ in range(rng.randrange(1, 40))]
        assert read(stream) == expected, exchange_id
        assert read(*cut(stream, places)) == expected, exchange_id
        assert expected, exchange_id
        seen += 1
    assert seen
