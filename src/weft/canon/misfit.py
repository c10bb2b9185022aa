"""Reading plain data back: small checks, and errors that name the place.

A check that fails raises `Misfit` with the last step of the path; each level above adds its own step, and the
outermost turns it into the `TypeError` or `ValueError` the model promises, with the whole path in front:
`Context.messages[2].parts[0].type must be a non-empty string, not 7`. Nothing is built for values that fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

__all__ = [
    "Misfit",
    "each",
    "mapping",
    "named",
    "nonempty_text",
    "optional_float",
    "optional_int",
    "optional_mapping",
    "optional_text",
    "reading",
    "required_int",
    "shown",
    "text_mapping",
    "text_tuple",
]

_T = TypeVar("_T")


class Misfit(Exception):  # noqa: N818 - never leaves this room: `reading` turns it into TypeError or ValueError
    """A value that does not fit, on its way up to whoever knows the whole path."""

    def __init__(self, path: str, problem: str, error: type[Exception] = TypeError) -> None:
        """Start the path at the value itself."""
        self.path = path
        self.problem = problem
        self.error = error
        super().__init__(path, problem)

    def under(self, step: str) -> Misfit:
        """Put one more step in front of the path."""
        joint = "" if not self.path or self.path.startswith("[") else "."
        return Misfit(f"{step}{joint}{self.path}", self.problem, self.error)


def reading(name: str, read: Callable[[Any], _T], value: object) -> _T:
    """Run `read` over `value`; a misfit leaves as the exception it stands for, its path starting with `name`."""
    try:
        return read(value)
    except Misfit as misfit:
        whole = misfit.under(name)
        raise whole.error(f"{whole.path} {whole.problem}") from misfit.__cause__


def each(name: str, values: Sequence[Any], read: Callable[[Any], _T]) -> list[_T]:
    """Read every item of a list, naming the one that does not fit."""
    result: list[_T] = []
    try:
        for value in values:
            result.append(read(value))  # noqa: PERF401 - the length says which item failed
    except Misfit as misfit:
        raise misfit.under(f"{name}[{len(result)}]") from misfit.__cause__
    return result


def named(name: str, read: Callable[[Any], _T], value: object) -> _T:
    """Read one nested value under its name."""
    try:
        return read(value)
    except Misfit as misfit:
        raise misfit.under(name) from misfit.__cause__


def mapping(value: Any, name: str = "") -> Mapping[Any, Any]:
    """Take a mapping."""
    if isinstance(value, Mapping):
        return value
    raise _complaint(name, "a mapping", value)


def optional_mapping(value: Any, name: str) -> Mapping[Any, Any] | None:
    """Take a mapping or None."""
    return None if value is None else mapping(value, name)


def optional_text(value: Any, name: str) -> str | None:
    """Take a text or None."""
    if value is None or isinstance(value, str):
        return value
    raise _complaint(name, "a string or null", value)


def nonempty_text(value: Any, name: str) -> str:
    """Take a text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise _complaint(name, "a non-empty string", value)


def required_int(value: Any, name: str) -> int:
    """Take an int; True and False are none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _complaint(name, "an int", value)


def optional_int(value: Any, name: str) -> int | None:
    """Take an int or None."""
    return None if value is None else required_int(value, name)


def optional_float(value: Any, name: str) -> float | None:
    """Take a number or None; an int becomes a float."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise _complaint(name, "a number that fits a float", value) from None
    raise _complaint(name, "a number or null", value)


def text_tuple(value: Any, name: str) -> tuple[str, ...]:
    """Take a list or tuple of texts; None is none of them."""
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise _complaint(name, "a list of strings", value)
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise _complaint(f"{name}[{index}]", "a string", item)
    return tuple(value)


def text_mapping(value: Any, name: str) -> Mapping[str, str]:
    """Take a mapping whose values are texts; None is an empty one."""
    if value is None:
        return {}
    for key, item in mapping(value, name).items():
        if not isinstance(item, str):
            raise _complaint(f"{name}[{key!r}]", "a string", item)
    return value  # type: ignore[no-any-return]  # checked item by item above


def shown(value: object) -> str:
    """Name a value that does not fit: its type, and itself if that is short. Containers may be deep, ints endless."""
    kind = type(value).__name__
    match value:
        case None:
            return "None"
        case str():
            return f"{kind} {value!r}" if len(value) <= 60 else f"{kind} {value[:60]!r}…"
        case bool() | float():
            return f"{kind} {value!r}"
        case int() if value.bit_length() <= 200:
            return f"{kind} {value!r}"
        case _:
            return kind


def _complaint(name: str, wanted: str, value: object) -> Misfit:
    return Misfit(name, f"must be {wanted}, not {shown(value)}")
