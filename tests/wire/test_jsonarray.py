"""JSON arrays in pieces: the same elements however they are cut (hardening S-02, S-06, S-07 and J-01)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WireError
from weft.wire import jsonarray
from weft.wire.frame import JsonFrame
from weft.wire.jsonarray import JsonArrayParser, encode_json_array

ELEMENTS: list[Any] = [
    {"candidates": [{"content": {"parts": [{"text": 'a ] } " \\ { [ \\" \u2028 caf\u00e9'}]}}]},
    {"text": "\\", "empty": {}, "list": [[], [{}], "]", "}"]},
    [],
    {},
    'a string, with "quotes" and ]',
    -1.5e3,
    None,
    True,
    {"last": "\\\\\\" + '"'},
]
STREAM = (
    "[" + ",\r\n".join(json.dumps(element, indent=1, ensure_ascii=False) for element in ELEMENTS) + "\n]\n"
).encode()


def read(*chunks: bytes, max_element_bytes: int = 1 << 24) -> list[JsonFrame]:
    parser = JsonArrayParser(max_element_bytes)
    frames = [frame for chunk in chunks for frame in parser.feed(chunk)]
    return frames + parser.close()


def read_or_fail(*chunks: bytes) -> tuple[list[JsonFrame], str]:
    """What comes out, then what went wrong: closing is part of reading."""
    parser = JsonArrayParser(50)
    frames: list[JsonFrame] = []
    try:
        for chunk in chunks:
            frames += parser.feed(chunk)
        frames += parser.close()
    except WireError as error:
        return frames, error.where
    return frames, ""


def bytewise(stream: bytes) -> list[bytes]:
    return [stream[i : i + 1] for i in range(len(stream))]


def test_every_element_is_given_as_its_raw_bytes() -> None:
    frames = read(STREAM)

    assert [json.loads(frame.data) for frame in frames] == ELEMENTS
    assert all(frame.data in STREAM and not frame.truncated for frame in frames)


def test_every_cut_in_two_gives_the_elements_of_the_whole() -> None:
    """S-02, inside escapes and UTF-8 too."""
    stream = b"[" + b",".join([STREAM.strip()] * 4) + b"]"
    whole = read(stream)

    for place in range(len(stream) + 1):
        assert read(stream[:place], stream[place:]) == whole
    assert read(*bytewise(stream)) == whole
    assert read(*bytewise(STREAM)) == read(STREAM)


def test_an_element_comes_out_with_its_last_byte() -> None:
    parser = JsonArrayParser()

    assert parser.feed(b'[{"a":1') == []
    assert parser.feed(b"}") == [JsonFrame(b'{"a":1}')]
    assert parser.feed(b",\r\n") == []
    assert parser.feed(b'{"b":2},{"c":3}]') == [JsonFrame(b'{"b":2}'), JsonFrame(b'{"c":3}')]
    assert parser.close() == []


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"", []),
        (b" \n", []),
        (b"[]", []),
        (b"\xef\xbb\xbf [ ]\r\n", []),
        (b"[", [JsonFrame(b"", truncated=True)]),
        (b"[{},", [JsonFrame(b"{}"), JsonFrame(b"", truncated=True)]),
        (b'[{},{"a":"]', [JsonFrame(b"{}"), JsonFrame(b'{"a":"]', truncated=True)]),
        (b"[12", [JsonFrame(b"12", truncated=True)]),
        (b'{"error":{"code":400}}\n', [JsonFrame(b'{"error":{"code":400}}')]),
        (b'{"error":', [JsonFrame(b'{"error":', truncated=True)]),
        (b"[}, x{y]", [JsonFrame(b"}"), JsonFrame(b"x{y")]),
    ],
)
def test_a_stream_cut_short_keeps_what_arrived(stream: bytes, frames: list[JsonFrame]) -> None:
    """S-06: an array that was never closed says so, even if it broke off between two elements."""
    assert read(stream) == frames
    assert read(*bytewise(stream)) == frames


@pytest.mark.parametrize(
    ("stream", "frames", "place"),
    [
        (b"  <html>", [], "byte 2"),
        (b"[{}] x", [JsonFrame(b"{}")], "byte 5"),
        (b"{}{}", [JsonFrame(b"{}")], "byte 2"),
        (b"[1][2]", [JsonFrame(b"1")], "byte 3"),
    ],
)
def test_what_is_no_array_is_refused_with_its_place_after_what_was_whole(
    stream: bytes, frames: list[JsonFrame], place: str
) -> None:
    assert read_or_fail(stream) == (frames, place)
    assert read_or_fail(*bytewise(stream)) == (frames, place)


def test_after_a_failure_nothing_more_is_read_and_closing_is_safe() -> None:
    parser = JsonArrayParser()
    for _ in range(2):
        with pytest.raises(WireError, match="byte 0: a JSON array begins with"):
            parser.feed(b"<html>")

    assert parser.close() == []


def test_a_failure_no_feed_has_told_is_told_by_close() -> None:
    parser = JsonArrayParser()
    assert parser.feed(b"[1] x") == [JsonFrame(b"1")]

    with pytest.raises(WireError, match="byte 4"):
        parser.close()


def test_an_element_over_the_bound_is_kept_up_to_it_and_reading_goes_on() -> None:
    """S-07."""
    stream = b'["12345678", {"long":"' + b"]" * 50 + b'"}, 7]'

    whole = read(stream, max_element_bytes=10)

    assert whole == [JsonFrame(b'"12345678"'), JsonFrame(b'{"long":"]', oversize=True), JsonFrame(b"7")]
    assert read(*bytewise(stream), max_element_bytes=10) == whole


def test_deep_nesting_and_many_strings_and_escapes_are_only_counted() -> None:
    """J-01: no recursion, and no repeat of the regular expressions that grows with the input."""
    deep = b"[" * 100_000 + b"]" * 100_000
    flat = b'["' + b'\\"' * 50_000 + b'"' + b',"x"' * 50_000 + b"]"

    assert read(b"[" + deep + b"," + flat + b"]") == [JsonFrame(deep), JsonFrame(flat)]


def test_a_long_element_in_small_chunks_is_searched_at_most_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear in length: counts the bytes the expressions run over, not the time."""
    searched = 0

    class Counting:
        def __init__(self, pattern: Any) -> None:
            self.pattern = pattern

        def match(self, chunk: bytes, at: int) -> Any:
            nonlocal searched
            found = self.pattern.match(chunk, at)
            searched += found.end() - at
            return found

    for name in ("_STRING_BODY", "_TO_BRACKET", "_SEPARATORS"):
        monkeypatch.setattr(jsonarray, name, Counting(getattr(jsonarray, name)))
    element = json.dumps({"text": 'some "quoted" text\n' * 20_000, "list": list(range(20_000))}).encode()
    stream = b"[" + element + b"," + element + b"]"

    frames = read(*(stream[i : i + 100] for i in range(0, len(stream), 100)))

    assert [frame.data for frame in frames] == [element, element]
    assert searched <= 2 * len(stream)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(JSON), st.booleans(), st.lists(st.integers(0, 2000), max_size=8))
def test_what_is_written_is_read_back_however_it_is_cut(values: list[Any], ascii_only: bool, places: list[int]) -> None:
    written = [json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") for value in values]
    stream = b"".join(encode_json_array(value, index) for index, value in enumerate(written)) or b"["
    stream += b"]"
    marks = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]

    assert read(*(stream[a:b] for a, b in pairwise(marks))) == [JsonFrame(value) for value in written]


@given(st.text('[]{}",\\ ax1\n').map(str.encode))
def test_any_bytes_give_the_same_elements_and_failure_however_they_are_cut(stream: bytes) -> None:
    assert read_or_fail(*bytewise(stream)) == read_or_fail(stream)
    assert read_or_fail(*bytewise(b"[" + stream)) == read_or_fail(b"[" + stream)
