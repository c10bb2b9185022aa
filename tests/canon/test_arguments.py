from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from tests.support.strategies import json_objects, json_values
from weft.canon import freeze, output_text, read_arguments, write_arguments


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (None, {}),
        ("", {}),
        ({}, {}),
        ("{}", {}),
        ({"a": [1]}, {"a": (1,)}),
        ('{"a": [1]}', {"a": (1,)}),
        ("[1]", {"_raw": "[1]"}),
        ("null", {"_raw": "null"}),
        ('"text"', {"_raw": '"text"'}),
        ('{"a": 1', {"_raw": '{"a": 1'}),
        ("NaN", {"_raw": "NaN"}),
        ('{"a": NaN}', {"_raw": '{"a": NaN}'}),
        ('{"a": 1e999}', {"_raw": '{"a": 1e999}'}),
        (" ", {"_raw": " "}),
        ("\ud800", {"_raw": "\ud800"}),
        ([1, 2], {"_raw": "[1,2]"}),
        (7, {"_raw": "7"}),
        (False, {"_raw": "false"}),
        ("[" * 100_000, {"_raw": "[" * 100_000}),
    ],
)
def test_j07_arguments_are_read_or_kept_as_they_came(given_value: Any, expected: Any) -> None:
    """M-47, J-07: cut-off arguments are never replaced by `{}`; J-01, J-03: odd text is kept, not guessed at."""
    read = read_arguments(given_value)

    assert read == expected
    assert type(read) is MappingProxyType


@pytest.mark.parametrize("unread", ['{"a": 1', "[1]", "not json", '{"a": NaN}', " "])
def test_what_could_not_be_read_is_written_as_it_came(unread: str) -> None:
    assert write_arguments(read_arguments(unread)) == unread


@given(json_objects())
def test_arguments_survive_being_written_and_read(arguments: dict[str, Any]) -> None:
    written = write_arguments(arguments)

    assert read_arguments(written) == freeze(arguments)


def test_no_arguments_are_an_empty_object() -> None:
    assert (write_arguments(None), write_arguments({})) == ("{}", "{}")


@pytest.mark.parametrize(
    ("output", "written"),
    [
        ("text", "text"),
        ('{"a": 1}', '{"a": 1}'),
        (None, "null"),
        (("ü", 1), '["ü",1]'),
        (MappingProxyType({"a": (1,)}), '{"a":[1]}'),
    ],
)
def test_output_is_text_as_it_is_or_json_without_ascii_escapes(output: Any, written: str) -> None:
    """M-47."""
    assert output_text(output) == written


@given(json_values())
def test_frozen_output_is_written_as_the_plain_value_would_be(value: Any) -> None:
    assert output_text(freeze(value)) == output_text(value)
