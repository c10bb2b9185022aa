"""Values that refuse every change, and say so.

A frozen dataclass with slots refuses to have its fields assigned. Of any other name, such as a misspelt field, Python
3.11 says `super(type, obj): obj must be an instance or subtype of type`; `closed` gives it the same answer as a field.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import NoReturn, TypeVar

__all__ = ["closed"]

_T = TypeVar("_T")


def closed(kind: type[_T]) -> type[_T]:
    """Make a frozen dataclass answer FrozenInstanceError for every name, field or not [M-1]."""
    type.__setattr__(kind, "__setattr__", _refuse_to_assign)
    type.__setattr__(kind, "__delattr__", _refuse_to_delete)
    return kind


def _refuse_to_assign(_: object, name: str, __: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
