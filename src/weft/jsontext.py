"""JSON text in and out: fast for what is common, exact for what is odd.

orjson does the work. What it would change or refuse goes to the standard library: integers past 64 bits (orjson
reads them as floats), lone surrogates (valid in JSON, impossible in UTF-8), values nested past orjson's depth.
NaN and Infinity are not JSON and are refused with a reason.
"""

from __future__ import annotations

import json
from contextlib import suppress
from math import isfinite
from types import MappingProxyType
from typing import Any, NoReturn

import orjson

__all__ = ["dumps", "dumps_text", "loads", "repeated_keys"]

# 2**63 has 19 digits; a shorter run is always exact. Made alike, digits can be searched for as a text, which is
# seven times faster than a regular expression, on the path of every streamed token.
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19

_COPY = MappingProxyType.copy  # of a frozen mapping: four times faster than dict() of it
_DEEPEST = 10_000  # ten times what can be read; only a value that contains itself goes further
_ALWAYS_FINE = frozenset({str, int, bool, type(None)})


def loads(data: bytes | str) -> Any:
    """Read one JSON value; ValueError says what is wrong with it."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return _loads_odd(raw, error)
    return _loads_odd(raw, None) if _LONG_NUMBER in raw.translate(_DIGITS) else value


def repeated_keys(data: bytes | str) -> list[str]:
    """Name the keys that an object of this text has more than once: reading keeps the last value of each [J-04]."""
    found: dict[str, None] = {}

    def keep(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                found[key] = None
            seen.add(key)

    with suppress(ValueError, RecursionError):  # not JSON, or too deep for this look: `loads` says so
        json.loads(data, object_pairs_hook=keep)
    return list(found)


def dumps(value: Any, *, is_finite: bool = False) -> bytes:
    """Write compact JSON in UTF-8, non-ASCII unescaped; frozen values are written as they are.

    `is_finite` says that its numbers were read from JSON, so that none of them need be looked at.
    """
    try:
        written = orjson.dumps(value, default=_COPY)
    except orjson.JSONEncodeError:
        return _dumps_odd(value).encode("utf-8")
    if not is_finite and b"null" in written:  # orjson writes NaN and Infinity as null
        _need_finite(value)
    return written


def dumps_text(value: Any) -> str:
    """Write compact JSON as text."""
    return dumps(value).decode("utf-8")


def _dumps_odd(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain, allow_nan=False)
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate can only be written escaped
        return json.dumps(value, separators=(",", ":"), default=_plain, allow_nan=False)
    except RecursionError:
        return _dumps_deep(value)
    return text


def _dumps_deep(root: Any) -> str:
    """Write a value nested past Python's stack: what can be read can be written."""
    pieces: list[str] = []
    todo: list[tuple[int, Any]] = [(0, root)]  # (depth, value), or (-1, text that is ready)
    while todo:
        depth, value = todo.pop()
        if depth < 0:
            pieces.append(value)
        elif depth > _DEEPEST:
            raise ValueError("the value is nested too deeply to be written as JSON")
        elif isinstance(value, (dict, MappingProxyType)):
            inner = [
                step for key, item in value.items() for step in ((-1, f",{_dumps_odd(str(key))}:"), (depth + 1, item))
            ]
            todo += _bracketed("{", inner, "}")
        elif isinstance(value, (list, tuple)):
            inner = [step for item in value for step in ((-1, ","), (depth + 1, item))]
            todo += _bracketed("[", inner, "]")
        else:
            pieces.append(_dumps_odd(value))
    return "".join(pieces)


def _bracketed(opening: str, inner: list[tuple[int, Any]], closing: str) -> list[tuple[int, Any]]:
    """Put brackets around the steps of a container, without its first comma, in the order they are taken off."""
    if inner:
        inner[0] = (-1, inner[0][1][1:])
    return [(-1, closing), *reversed(inner), (-1, opening)]


def _need_finite(value: Any) -> None:
    """Refuse a value with a number in it that JSON has no form for."""
    todo = [value]
    for item in todo:  # grows while it is walked
        kind = item.__class__
        if kind in _ALWAYS_FINE:  # nearly everything, so it is asked first
            continue
        if kind is dict or kind is MappingProxyType:
            todo.extend(item.values())
        elif kind is list or kind is tuple:
            todo.extend(item)
        elif kind is float and not isfinite(item):
            raise ValueError(f"{item} is not a JSON number")


def _plain(value: Any) -> Any:
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _loads_odd(raw: bytes, error: orjson.JSONDecodeError | None) -> Any:
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as problem:
        raise ValueError(f"not UTF-8 at byte {problem.start}") from None
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None
    except json.JSONDecodeError as problem:
        raise ValueError(str(error or problem)) from None


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
