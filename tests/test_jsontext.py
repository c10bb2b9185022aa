from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given

from tests.support.strategies import json_texts, json_values
from weft.canon import freeze
from weft.jsontext import dumps, dumps_text, loads, repeated_keys


def nested(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value


@given(json_values(json_texts))
@example(2**63)
@example(-(2**63) - 1)
@example([10**400, 1.0, 1, -0.0, True])
@example({"\ud800": "\udfff", "\0": "\u2028"})
@example(nested(400))
def test_whatever_is_written_is_read_back(value: Any) -> None:
    """J-02, J-05: ints past 64 bits, 1.0 against 1, lone surrogates, NUL; as bytes and as text."""
    assert repr(loads(dumps(value))) == repr(value)
    assert repr(loads(dumps_text(value))) == repr(value)


@given(json_values(json_texts))
def test_what_is_written_is_utf8_that_any_reader_takes(value: Any) -> None:
    written = dumps(value)

    assert repr(json.loads(written)) == repr(value)
    assert written.decode("utf-8") == dumps_text(value)


@given(json_values(json_texts))
def test_a_frozen_value_is_written_as_the_plain_one(value: Any) -> None:
    assert dumps(freeze(value)) == dumps(value)


def test_what_is_written_is_compact_and_not_escaped() -> None:
    value = {"ü": [1, 2.5, None, True], "snowman": "☃"}

    assert dumps(value) == '{"ü":[1,2.5,null,true],"snowman":"☃"}'.encode()
    assert dumps_text({**value, "big": 2**70}) == '{"ü":[1,2.5,null,true],"snowman":"☃","big":1180591620717411303424}'


def test_a_lone_surrogate_is_written_escaped() -> None:
    """J-05: UTF-8 has no form for it."""
    assert dumps({"a": "\ud800ü"}) == b'{"a":"\\ud800\\u00fc"}'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 2**63),
        ("18446744073709551616", 2**64),
        ("-99999999999999999999", -99999999999999999999),
        ("[1, 1.0, 1e2, -0.0]", [1, 1.0, 100.0, -0.0]),
        ('"12345678901234567890 is text"', "12345678901234567890 is text"),
        ("0.12345678901234567890", 0.12345678901234567890),
        ('"\\u0000"', "\0"),
        ('"\\ud800"', "\ud800"),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        (' {"a" : 1} ', {"a": 1}),
    ],
)
def test_j02_numbers_and_escapes_are_read_exactly(text: str, value: Any) -> None:
    """J-02, J-05: orjson alone would make floats of the long ones and refuse the lone surrogate."""
    assert [repr(loads(text)), repr(loads(text.encode()))] == [repr(value), repr(value)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NaN", "NaN is not a JSON number"),
        ("[1, -Infinity]", "-Infinity is not a JSON number"),
        ("1e999", "1e999 is too large for a number"),
        ('{"a": -1e999}', "-1e999 is too large for a number"),
        ("9" * 5_000, "4300 digits"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        ("\ud800", "not UTF-8 at byte 0"),
        ("", "line 1 column 1"),
        ("{", "line 1 column"),
        ("[1,]", "line 1 column"),
        ('{"a": 12345678901234567890', "line 1 column"),
        ('"\x01"', "line 1 column"),
        ("{'a': 1}", "line 1 column"),
        ("1 2", "line 1 column"),
        ("\ufeff{}", "BOM"),
    ],
    ids=lambda case: repr(case[:16]),
)
def test_j03_what_is_not_json_is_refused_with_a_reason(text: str | bytes, said: str) -> None:
    """J-01, J-02, J-03, J-05: a ValueError, never a RecursionError or a number that is none."""
    with pytest.raises(ValueError, match=said):
        loads(text)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [None, {"a": (x,)}], lambda x: freeze({"a": [x]})])
def test_j03_a_number_that_json_lacks_is_not_written_as_null(number: float, wrap: Any) -> None:
    """J-03: orjson would, and the value would be another."""
    with pytest.raises(ValueError, match="is not a JSON number"):
        dumps(wrap(number))
    with pytest.raises(ValueError, match="is not a JSON number"):
        dumps_text(wrap(number))


def test_j03_nor_beside_what_only_the_slow_way_can_write() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps([2**70, math.nan])


@pytest.mark.parametrize(
    "deep", ['{"a":' * 900 + '{"b":[],"c":{},"d":[1,"\\ud800",2]}' + "}" * 900, "[1," * 900 + "2" + "]" * 900]
)
def test_j01_what_can_be_read_can_be_written_however_deep(deep: str) -> None:
    assert dumps_text(freeze(loads(deep))) == deep


def test_j01_a_value_too_deep_to_be_written_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        dumps(nested(100_000))


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object(), [object()]])
def test_what_has_no_json_form_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="has no JSON form"):
        dumps(value)


def test_a_value_that_contains_itself_is_a_value_error() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(ValueError, match=r"Circular|too deeply"):
        dumps(value)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{"a": 1, "a": 2}', ["a"]),
        ('{"x": {"b": 1, "b": 1}, "c": [{"b": 1}, {"d": 0, "d": 1}]}', ["b", "d"]),
        ('{"a": {"b": 1}, "b": 2}', []),
        ("not json", []),
        ("[" * 100_000, []),
    ],
)
def test_j04_keys_that_an_object_has_twice_are_named(text: str, keys: list[str]) -> None:
    assert repeated_keys(text) == keys
