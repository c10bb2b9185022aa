"""Cache marks apart from what they mark.

A client moves its marks with every request, so the same message comes with and without one. Taken off, the message is
the same message; where the marks were is kept with the request, and `put_back` makes the very body again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["put_back", "take_off"]

Json = dict[str, Any]
_LISTS = ("system", "messages", "contents", "input")
_INSIDE = ("content", "parts")
_MARK = "cache_control"
_POINT = "cachePoint"
_DEPTH = 3  # a message, its block, a block inside a tool's result


def take_off(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[list[Any]]]:
    """Give a body without its marks, and the marks: [path, value] of each, in the order to put them back."""
    marks: list[list[Any]] = []
    changed: Json = {}
    for key in _LISTS:
        value = body.get(key)
        if isinstance(value, list):
            clean = _clean(value, [key], marks, _DEPTH)
            if clean is not value:
                changed[key] = clean
    return ({**body, **changed}, marks) if changed else (body, marks)


def _clean(items: list[Any], path: list[Any], marks: list[list[Any]], depth: int) -> list[Any]:
    clean: list[Any] | None = None
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            if clean is not None:
                clean.append(item)
            continue
        if item.keys() == {_POINT}:  # Bedrock's mark is a block of its own
            clean = items[:at] if clean is None else clean
            marks.append([[*path, at], item])
            continue
        new = item
        if _MARK in item:
            marks.append([[*path, at, _MARK], item[_MARK]])
            new = {key: value for key, value in item.items() if key != _MARK}
        if depth > 1:
            for key in _INSIDE:
                inner = item.get(key)
                if isinstance(inner, list) and (less := _clean(inner, [*path, at, key], marks, depth - 1)) is not inner:
                    new = {**new, key: less}
        if new is not item and clean is None:
            clean = items[:at]
        if clean is not None:
            clean.append(new)
    return items if clean is None else clean


def put_back(body: Json, marks: Any) -> int:
    """Put marks back where they were, in place; give how many found no place."""
    lost = 0
    for mark in marks if isinstance(marks, list) else ():
        match mark:
            case [[*path, last], value]:
                lost += not _put(body, path, last, value)
            case _:
                lost += 1
    return lost


def _put(body: Json, path: list[Any], last: Any, value: Any) -> bool:
    here: Any = body
    for step in path:
        try:
            here = here[step] if isinstance(here, (dict, list)) else None
        except (KeyError, IndexError, TypeError):
            return False
    if isinstance(here, dict) and isinstance(last, str):
        here[last] = value
        return True
    if isinstance(here, list) and isinstance(last, int) and last <= len(here):
        here.insert(last, value)
        return True
    return False
