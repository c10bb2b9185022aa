"""AWS event-stream frames, against botocore's own reader: the same frames however they are cut (S-02, S-06)."""

from __future__ import annotations

import struct
import uuid
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError, WireError
from weft.wire.eventstream import (
    Byte,
    EventStreamParser,
    Frame,
    HeaderValue,
    Long,
    Short,
    Timestamp,
    encode_frame,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

ALL_TYPES: dict[str, HeaderValue] = {
    "yes": True,
    "no": False,
    "byte": Byte(-128),
    "short": Short(-32768),
    "int": -(2**31),
    "long": Long(2**63 - 1),
    "bytes": b"\0\xff",
    "text": "caf\u00e9",
    "time": Timestamp(1_700_000_000_123),
    "uuid": uuid.UUID(int=0x0123456789ABCDEF0123456789ABCDEF),
}
FRAMES = [
    Frame({":message-type": "event", ":event-type": "messageStart"}, b'{"role":"assistant"}'),
    Frame(ALL_TYPES, "caf\u00e9".encode()),
    Frame(),
    Frame({":message-type": "exception", ":exception-type": "throttlingException"}, b'{"message":"slow down"}'),
]
STREAM = b"".join(map(encode_frame, FRAMES))


def read(*chunks: bytes) -> list[Frame]:
    parser = EventStreamParser()
    frames = [frame for chunk in chunks for frame in parser.feed(chunk)]
    return frames + parser.close()


def read_or_fail(chunks: list[bytes]) -> tuple[list[Frame], str]:
    """What comes out, and where it went wrong if it did; closing is part of reading."""
    parser = EventStreamParser()
    frames: list[Frame] = []
    try:
        for chunk in chunks:
            frames += parser.feed(chunk)
        frames += parser.close()
    except WireError as error:
        return frames, error.where
    return frames, ""


def bytewise(stream: bytes) -> list[bytes]:
    return [stream[i : i + 1] for i in range(len(stream))]


def read_by_botocore(stream: bytes) -> list[tuple[dict[str, Any], bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(stream)
    return [(message.headers, message.payload) for message in buffer]


def as_botocore_has_it(frames: Iterable[Frame]) -> list[tuple[dict[str, Any], bytes]]:
    """botocore leaves a UUID as its bytes; the rest compare as they are."""
    return [
        ({k: v.bytes if isinstance(v, uuid.UUID) else v for k, v in frame.headers.items()}, frame.payload)
        for frame in frames
    ]


def with_sums(total: int, headers: bytes, headers_bytes: int, payload: bytes = b"") -> bytes:
    lengths = struct.pack(">II", total, headers_bytes)
    message = lengths + struct.pack(">I", crc32(lengths)) + headers + payload
    return message + struct.pack(">I", crc32(message))


def test_frames_are_read_back_as_written_and_as_botocore_reads_them() -> None:
    assert read(STREAM) == FRAMES
    assert as_botocore_has_it(FRAMES) == read_by_botocore(STREAM)


def test_a_number_keeps_its_width() -> None:
    headers = read(STREAM)[1].headers

    assert {name: type(value) for name, value in headers.items()} == {n: type(v) for n, v in ALL_TYPES.items()}
    assert encode_frame(Frame(headers, FRAMES[1].payload)) == encode_frame(FRAMES[1])


def test_every_cut_in_two_gives_the_frames_of_the_whole() -> None:
    """S-02."""
    stream = STREAM * 4

    for place in range(len(stream) + 1):
        assert read(stream[:place], stream[place:]) == FRAMES * 4
    assert read(*bytewise(stream)) == FRAMES * 4


def test_a_frame_names_its_event_whatever_kind_it_is() -> None:
    error = Frame({":message-type": "error", ":error-code": "InternalError"})

    assert [frame.event for frame in [*FRAMES, error]] == [
        "messageStart",
        "",
        "",
        "throttlingException",
        "InternalError",
    ]
    assert (FRAMES[0].data, FRAMES[0].oversize) == (b'{"role":"assistant"}', False)


def test_a_stream_cut_inside_a_frame_keeps_what_arrived_and_marks_it() -> None:
    """S-06."""
    first = encode_frame(FRAMES[0])

    for size in range(1, len(first)):
        assert read(first + first[:size]) == [FRAMES[0], Frame({}, first[:size], truncated=True)]
    assert read() == []


@pytest.mark.parametrize("flip", [0, 5, 8, 12, 40, -1])
def test_a_wrong_byte_anywhere_is_refused_with_the_offset_of_its_frame(flip: int) -> None:
    good, bad = encode_frame(FRAMES[1]), bytearray(encode_frame(FRAMES[0]))
    bad[flip] ^= 1
    stream = good + bytes(bad)

    assert read_or_fail([stream]) == ([FRAMES[1]], f"byte {len(good)}")
    assert read_or_fail(bytewise(stream)) == ([FRAMES[1]], f"byte {len(good)}")


def test_after_a_failure_nothing_more_is_read_and_closing_is_safe() -> None:
    parser = EventStreamParser()
    for _ in range(2):
        with pytest.raises(WireError, match="byte 0: the checksum of the event-stream prelude is wrong"):
            parser.feed(b"HTTP/1.1 502 Bad Gateway")

    assert parser.close() == []


def test_a_failure_no_feed_has_told_is_told_by_close() -> None:
    parser = EventStreamParser()
    assert parser.feed(STREAM + b"HTTP/1.1 502") == FRAMES

    with pytest.raises(WireError, match=f"byte {len(STREAM)}"):
        parser.close()


@pytest.mark.parametrize(
    ("total", "headers_bytes"), [(0, 0), (15, 0), (20, 5), (2**32 - 1, 0), (200_016, 200_000), (16, 2**32 - 1)]
)
def test_an_impossible_length_is_refused_before_its_bytes_are_awaited(total: int, headers_bytes: int) -> None:
    prelude = with_sums(total, b"", headers_bytes)[:12]

    with pytest.raises(WireError, match="byte 0: an event-stream message of"):
        EventStreamParser().feed(prelude)


def test_a_frame_over_the_bound_is_refused() -> None:
    """S-07: its prelude says its length, so nothing of it is buffered."""
    with pytest.raises(WireError, match="too long"):
        EventStreamParser(max_frame_bytes=100).feed(encode_frame(Frame({}, b"x" * 100)))


@pytest.mark.parametrize(
    "headers",
    [
        b"\x05ab",  # the name runs over the end
        b"\x01a",  # no type
        b"\x01a\x0a",  # a type that does not exist
        b"\x01a\x04\0",  # a number cut short
        b"\x01a\x07\0",  # a length cut short
        b"\x01a\x07\0\x09abc",  # text cut short
        b"\x01a\x09abc",  # a UUID cut short
        b"\x01a\x07\0\x01\xff",  # text that is no UTF-8
        b"\x01\xff\x00",  # a name that is no UTF-8
        b"\x01a\x00\x01a\x01",  # the same name twice
    ],
)
def test_headers_that_cannot_be_read_are_refused_with_their_offset(headers: bytes) -> None:
    twice = headers.count(b"\x01a") == 2
    with pytest.raises(WireError) as caught:
        EventStreamParser().feed(with_sums(16 + len(headers), headers, len(headers)))

    assert caught.value.where == ("byte 15" if twice else "byte 12")


@pytest.mark.parametrize(
    "headers",
    [
        {"x" * 256: True},
        {"big": 2**63},
        {"byte": Byte(128)},
        {"short": Short(2**15)},
        {"text": "x" * 65536},
        {str(i): "x" * 60_000 for i in range(3)},
    ],
)
def test_headers_that_do_not_fit_are_not_written(headers: dict[str, HeaderValue]) -> None:
    with pytest.raises(UsageError):
        encode_frame(Frame(headers))


def test_a_plain_int_too_wide_for_32_bits_is_written_in_64() -> None:
    assert read(encode_frame(Frame({"n": 2**31}))) == [Frame({"n": Long(2**31)})]


HEADER_VALUES = (
    st.booleans()
    | st.integers(-128, 127).map(Byte)
    | st.integers(-(2**15), 2**15 - 1).map(Short)
    | st.integers(-(2**31), 2**31 - 1)
    | st.integers(-(2**63), 2**63 - 1).map(Long)
    | st.integers(-(2**63), 2**63 - 1).map(Timestamp)
    | st.binary(max_size=40)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    | st.uuids()
)
HEADER_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
SOME_FRAMES = st.lists(st.builds(Frame, st.dictionaries(HEADER_NAMES, HEADER_VALUES, max_size=5), st.binary()))


@given(SOME_FRAMES, st.lists(st.integers(0, 5000), max_size=10))
def test_any_frames_are_read_back_however_they_are_cut(frames: list[Frame], places: list[int]) -> None:
    stream = b"".join(map(encode_frame, frames))
    marks = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]

    assert read(*(stream[a:b] for a, b in pairwise(marks))) == frames
    assert as_botocore_has_it(frames) == read_by_botocore(stream)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_wire_error_or_something_kept(stream: bytes) -> None:
    frames, place = read_or_fail([stream])

    assert (frames, place) == read_or_fail(bytewise(stream))
    assert place.startswith("byte ") or b"".join(frame.payload for frame in frames if frame.truncated) == stream
