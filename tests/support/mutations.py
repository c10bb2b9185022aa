"""Bodies with something wrong in them: other types, missing keys, deep nesting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["depth_of", "mutated", "nested"]

_others: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, -1, 1.5, 2**70, True, "", "x", "\ud800", [], {}, [[]], [None], {"type": "text"}, {"a": {"b": [1]}}]
)


def mutated(values: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Give one of the values with one to three of its parts changed into something else, or taken away."""
    return st.sampled_from(values).flatmap(_several_times)


@st.composite
def _several_times(draw: st.DrawFn, value: Any) -> Any:
    for _ in range(draw(st.integers(1, 3))):
        value = _changed(draw, value)
    return value


def _changed(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        rest = {name: each for name, each in value.items() if name != key}
        return rest if draw(st.integers(0, 4)) == 0 else {**rest, key: _changed(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], _changed(draw, value[index]), *value[index + 1 :]]
    return draw(_others)


def nested(depth: int) -> dict[str, Any]:
    """Give objects inside each other."""
    value: dict[str, Any] = {"end": 1}
    for _ in range(depth):
        value = {"a": value}
    return value


def depth_of(value: Any) -> int:
    """Tell how deep a value is nested."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth
