"""Newline-delimited JSON: the same lines however they are cut (hardening S-02, S-05, S-06, S-07 and J-08)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.wire.frame import JsonFrame
from weft.wire.ndjson import NdjsonParser, encode_ndjson

STREAM = (
    '{"model":"m","message":{"content":"caf\u00e9\u2028\u0085\U0001f9f6"},"done":false}\n'
    '\r\n  \n{"content":"a\\nb"}\r\n[1,\t2]\n'
    '{"torn": \n'
    '{"done":true}'
).encode()


def read(*chunks: bytes, max_line_bytes: int = 1 << 24) -> list[JsonFrame]:
    parser = NdjsonParser(max_line_bytes)
    frames = [frame for chunk in chunks for frame in parser.feed(chunk)]
    return frames + parser.close()


def bytewise(stream: bytes) -> list[bytes]:
    return [stream[i : i + 1] for i in range(len(stream))]


def test_every_line_is_a_frame_and_blank_lines_are_none() -> None:
    """J-08: a torn line in the middle comes out like any other; only its parser can tell."""
    assert read(STREAM) == [
        JsonFrame('{"model":"m","message":{"content":"caf\u00e9\u2028\u0085\U0001f9f6"},"done":false}'.encode()),
        JsonFrame(b'{"content":"a\\nb"}'),
        JsonFrame(b"[1,\t2]"),
        JsonFrame(b'{"torn":'),
        JsonFrame(b'{"done":true}'),
    ]


def test_every_cut_in_two_gives_the_lines_of_the_whole() -> None:
    """S-02."""
    stream = b"\xef\xbb\xbf" + (STREAM + b"\n") * 9
    whole = read(stream)

    for place in range(len(stream) + 1):
        assert read(stream[:place], stream[place:]) == whole
    assert read(*bytewise(stream)) == whole


def test_a_line_comes_out_as_soon_as_its_newline_is_there() -> None:
    parser = NdjsonParser()

    assert parser.feed(b'{"a":') == []
    assert parser.feed(b'1}\n{"b"') == [JsonFrame(b'{"a":1}')]
    assert parser.feed(b":2}\n") == [JsonFrame(b'{"b":2}')]
    assert parser.close() == []


def test_a_last_line_without_newline_is_truncated_only_if_it_does_not_parse() -> None:
    """S-06."""
    assert read(b'{"a":1}') == [JsonFrame(b'{"a":1}')]
    assert read(b'{"a":1}\n{"b"') == [JsonFrame(b'{"a":1}'), JsonFrame(b'{"b"', truncated=True)]
    assert read(b'{"b":"\xc3') == [JsonFrame(b'{"b":"\xc3', truncated=True)]
    assert read(b" \r") == []
    assert read() == []


def test_a_line_over_the_bound_is_kept_up_to_it_and_reading_goes_on() -> None:
    """S-07."""
    stream = b'"1234567"\n"12345678"\n1\n' + b" " * 30 + b"\n" + b'"long again'

    whole = read(stream, max_line_bytes=9)

    assert whole == [
        JsonFrame(b'"1234567"'),
        JsonFrame(b'"12345678', oversize=True),
        JsonFrame(b"1"),
        JsonFrame(b"", oversize=True),
        JsonFrame(b'"long aga', truncated=True, oversize=True),
    ]
    for place in range(len(stream) + 1):
        assert read(stream[:place], stream[place:], max_line_bytes=9) == whole
    assert read(*bytewise(stream), max_line_bytes=9) == whole


def test_a_long_line_in_small_chunks_is_held_in_pieces_and_joined_once() -> None:
    """S-07, and linear in length: no held byte is touched again before its line ends."""
    parser = NdjsonParser(max_line_bytes=100_000)
    for _ in range(1000):
        parser.feed(b"x" * 1000)

    assert sum(map(len, parser._held)) == 100_000
    assert parser.feed(b"\n") == [JsonFrame(b"x" * 100_000, oversize=True)]


@given(st.lists(st.sampled_from([b"{}", b'"', b"\n", b"\r\n", b" ", b"x" * 9, b"\xef\xbb\xbf", b"\xff"])).map(b"".join))
def test_any_bytes_give_the_same_lines_however_they_are_cut(stream: bytes) -> None:
    for bound in (1, 5, 1000):
        assert read(*bytewise(stream), max_line_bytes=bound) == read(stream, max_line_bytes=bound)
    expected = [line.strip(b" \t\r") for line in stream.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    assert [frame.data for frame in read(stream)] == [line for line in expected if line]


def test_what_is_written_is_read_back() -> None:
    values = [b"{}", b"[1]", b'"a"']

    assert read(b"".join(map(encode_ndjson, values))) == [JsonFrame(value) for value in values]
    assert [frame.event for frame in read(b"1\n")] == [""]
