from __future__ import annotations

from collections import ChainMap, OrderedDict, UserDict
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given

from tests.support.strategies import json_values
from weft.canon import EMPTY, freeze, freeze_mapping, thaw


class Point(NamedTuple):
    x: int
    y: list[int]


def nested(levels: int, wrap: type) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value] if wrap is list else {"in": value}
    return value


def depth(value: Any) -> int:
    levels = 0
    while not isinstance(value, str):
        value = value[0] if isinstance(value, (list, tuple)) else value["in"]
        levels += 1
    return levels


def containers(value: Any) -> set[type]:
    """The types of all containers in a value."""
    found: set[type] = set()
    todo = [value]
    for item in todo:
        if isinstance(item, (dict, MappingProxyType)):
            todo.extend(item.values())
            found.add(type(item))
        elif isinstance(item, (list, tuple)):
            todo.extend(item)
            found.add(type(item))
    return found


def test_freezing_turns_mappings_into_proxies_with_text_keys_and_lists_into_tuples() -> None:
    """M-2: a recursive copy."""
    frozen = freeze({"a": [1, {2: (3, [4])}], None: OrderedDict(b=5)})

    assert frozen == {"a": (1, {"2": (3, (4,))}), "None": {"b": 5}}
    assert containers(frozen) == {MappingProxyType, tuple}


@pytest.mark.parametrize("kept", [{1, 2}, b"bytes", bytearray(b"b"), object(), 1.5, frozenset({1})])
def test_freezing_keeps_everything_else_by_reference(kept: object) -> None:
    """M-2: sets, bytes and objects are not looked into."""
    frozen = freeze({"kept": [kept]})

    assert frozen["kept"][0] is kept


def test_any_mapping_and_any_tuple_are_frozen() -> None:
    """M-2: "any mapping", not only dict; a named tuple is a tuple."""
    given_values = [UserDict({"a": [1]}), ChainMap({"b": [2]}), MappingProxyType({"c": [3]}), Point(1, [2])]

    frozen = freeze(given_values)

    assert frozen == ({"a": (1,)}, {"b": (2,)}, {"c": (3,)}, (1, (2,)))
    assert containers(frozen) == {MappingProxyType, tuple}


def test_keys_that_become_the_same_text_leave_the_last_value() -> None:
    frozen = freeze({1: "number", "1": "text"})

    assert dict(frozen) == {"1": "text"}


@given(json_values())
def test_freezing_is_idempotent(value: Any) -> None:
    once = freeze(value)

    twice = freeze(once)

    assert twice == once


@given(json_values())
def test_thawing_undoes_freezing(value: Any) -> None:
    """M-5 after M-2: nothing of a JSON value is lost, not even the difference of 1 and 1.0 or True."""
    thawed = thaw(freeze(value))

    assert (thawed, repr(thawed)) == (value, repr(value))
    assert containers(thawed) <= {dict, list}


@given(json_values())
def test_thawing_gives_containers_of_its_own(value: Any) -> None:
    before = repr(value)

    scribble(thaw(value))

    assert repr(value) == before


@given(json_values())
def test_freezing_detaches_from_what_was_given(value: Any) -> None:
    """M-4: changing the caller's containers afterwards changes nothing."""
    frozen = freeze(value)
    before = repr(frozen)

    scribble(value)

    assert repr(frozen) == before


def scribble(value: Any) -> None:
    """Change every container in a value."""
    todo = [value]
    for item in todo:
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
    for item in todo:
        if isinstance(item, dict):
            item["scribble"] = 1
        elif isinstance(item, list):
            item.append("scribble")


@pytest.mark.parametrize("wrap", [list, dict])
def test_j01_values_nested_deeper_than_the_stack_are_frozen_and_thawed(wrap: type) -> None:
    """J-01: nesting 100,000 is no RecursionError."""
    frozen = freeze(nested(100_000, wrap))
    thawed = thaw(frozen)

    assert (depth(frozen), depth(thawed)) == (100_000, 100_000)
    assert type(frozen) in (tuple, MappingProxyType)
    assert type(thawed) is wrap


def test_the_deep_way_freezes_the_same_as_the_short_way() -> None:
    value = {"deep": nested(5_000, list), "b": [1, {2: ("x", {})}], "c": {}, "d": []}

    frozen = freeze(value)

    assert list(frozen) == ["deep", "b", "c", "d"]
    assert frozen["b"] == (1, {"2": ("x", {})})
    assert (frozen["c"], frozen["d"]) == ({}, ())


def test_int_keys_at_every_level_cost_what_they_are_many() -> None:
    """A copy that starts over at each odd key would take two to the fortieth steps here."""
    value: Any = "end"
    for level in range(40):
        value = {"before": 0, level: value, "after": 0}

    assert freeze(thaw(value)) == freeze(value)


@pytest.mark.parametrize("copy", [freeze, thaw])
def test_a_value_that_contains_itself_is_refused(copy: Any) -> None:
    inner: list[Any] = [1]
    inner.append({"again": inner})

    with pytest.raises(ValueError, match="contains itself"):
        copy({"a": inner})


def test_a_value_used_twice_is_no_circle() -> None:
    shared = {"x": [1]}

    assert freeze([nested(3_000, list), shared, shared])[1:] == ({"x": (1,)}, {"x": (1,)})


def test_a_proxy_over_another_mapping_thaws_to_a_plain_dict() -> None:
    """M-5: plain dicts, whatever was behind the proxy."""
    thawed = thaw(MappingProxyType(OrderedDict(a=MappingProxyType(ChainMap({1: (2,)})))))

    assert thawed == {"a": {"1": [2]}}
    assert containers(thawed) == {dict, list}


def test_thawing_takes_any_mapping_and_any_tuple() -> None:
    assert thaw([UserDict({1: (2,)}), Point(1, [2]), b"kept", {1}]) == [{"1": [2]}, [1, [2]], b"kept", {1}]


@pytest.mark.parametrize("wrong", [None, 7, "text", [1], ("a", 1)])
def test_only_a_mapping_freezes_as_a_mapping(wrong: Any) -> None:
    """M-6: a TypeError that names the field."""
    with pytest.raises(TypeError, match=r"Part\.json must be a mapping"):
        freeze_mapping(wrong, "Part.json")


def test_a_deep_mapping_freezes_as_a_mapping() -> None:
    assert depth(freeze_mapping(nested(20_000, dict), "Part.json")) == 20_000


def test_the_empty_mapping_cannot_be_filled() -> None:
    """M-4: it is the default of many fields, and shared."""
    with pytest.raises(TypeError):
        EMPTY["x"] = 1  # type: ignore[index]
