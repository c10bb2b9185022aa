"""Turning what a caller gives into what cannot change, and back into plain JSON containers.

Freezing copies: a mapping becomes a read-only proxy over a fresh dict with text keys, a list or tuple becomes a
tuple, and everything else is kept by reference [M-2]. These two functions run for every value of every message,
so the common types are asked for by identity before anything slower is tried, and a dict is walked by its keys, which
for the small ones most are is a tenth faster than by its items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any

__all__ = ["EMPTY", "BuiltAnew", "Frozen", "empty", "freeze", "freeze_mapping", "thaw"]

Frozen = MappingProxyType[str, Any]
EMPTY: Frozen = MappingProxyType({})

_LEAVES = frozenset({str, int, float, bool, type(None), bytes})


class BuiltAnew:
    """A dataclass with frozen fields: copied and pickled by being built again, since a proxy can be neither."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Give the class and its fields, thawed."""
        return type(self), tuple(thaw(getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]  # every such class is a dataclass


def empty() -> Frozen:
    """Give the empty frozen mapping: the default of every mapping field."""
    return EMPTY


def freeze(value: Any, name: str = "a value") -> Any:
    """Copy `value` into its immutable form; `name` is the field to blame if it contains itself."""
    try:
        return _freeze(value)
    except RecursionError:
        return _rebuild_deep(value, MappingProxyType, tuple, name)


def freeze_mapping(value: Mapping[Any, Any], name: str) -> Frozen:
    """Copy a mapping into its immutable form; `name` is the field to blame if it is none."""
    if type(value) is not dict:
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a mapping, not {type(value).__name__}")
        value = dict(value)
    try:
        return _freeze_dict(value)
    except RecursionError:
        return _rebuild_deep(value, MappingProxyType, tuple, name)  # type: ignore[no-any-return]


def thaw(value: Any) -> Any:
    """Copy `value` into plain dicts and lists, ready for JSON or an SDK [M-5]."""
    try:
        return _thaw(value)
    except RecursionError:
        return _rebuild_deep(value, dict, list, "a value")


def _freeze(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return _freeze_dict(value)
    if kind in _LEAVES:
        return value
    if kind is list or kind is tuple:
        return _freeze_list(value)
    if isinstance(value, Mapping):
        return _freeze_dict(dict(value))
    if isinstance(value, (list, tuple)):
        return _freeze_list(list(value))
    return value


def _freeze_dict(value: dict[Any, Any]) -> Frozen:
    fresh = value.copy()
    text_keys = True
    for key in fresh:
        item = fresh[key]
        kind = type(item)
        if kind not in _LEAVES:
            fresh[key] = _freeze_dict(item) if kind is dict else _freeze_list(item) if kind is list else _freeze(item)
        if type(key) is not str:
            text_keys = False  # renamed at the end: starting over here would double the work at every level
    if text_keys:
        return MappingProxyType(fresh)
    return MappingProxyType({str(key): item for key, item in fresh.items()})


def _freeze_list(value: Sequence[Any]) -> tuple[Any, ...]:
    for item in value:
        if type(item) not in _LEAVES:
            break
    else:
        return tuple(value)
    return tuple([_freeze_dict(item) if type(item) is dict else _freeze(item) for item in value])


def _thaw(value: Any) -> Any:
    kind = type(value)
    if kind is MappingProxyType or kind is dict:
        return _thaw_mapping(value)
    if kind in _LEAVES:
        return value
    if kind is tuple or kind is list:
        return _thaw_list(value)
    if isinstance(value, Mapping):
        return _thaw_mapping(dict(value))
    if isinstance(value, (list, tuple)):
        return _thaw_list(list(value))
    return value


def _thaw_mapping(value: Any) -> dict[str, Any]:
    fresh: dict[str, Any] = value.copy()
    if type(fresh) is not dict:  # a proxy over some other mapping, such as an OrderedDict
        fresh = dict(value)
    text_keys = True
    for key in fresh:
        item = fresh[key]
        kind = type(item)
        if kind not in _LEAVES:
            fresh[key] = _thaw_mapping(item) if kind is MappingProxyType else _thaw(item)
        if type(key) is not str:
            text_keys = False
    return fresh if text_keys else {str(key): item for key, item in fresh.items()}


def _thaw_list(value: Sequence[Any]) -> list[Any]:
    for item in value:
        if type(item) not in _LEAVES:
            return [_thaw_mapping(item) if type(item) is MappingProxyType else _thaw(item) for item in value]
    return [*value]


def _rebuild_deep(root: Any, close_mapping: Callable[[Any], Any], close_list: Callable[[Any], Any], name: str) -> Any:
    """Do the same without recursion, for values nested deeper than Python's stack.

    A container is opened (its children are put on the stack) and, once they are done, closed from their results.
    One that is met again while it is open contains itself, and has no frozen form.
    """
    done: list[Any] = []
    todo: list[tuple[bool, Any]] = [(False, root)]
    opened: set[int] = set()
    while todo:
        closing, value = todo.pop()
        if isinstance(value, (Mapping, list, tuple)):
            if closing:
                opened.discard(id(value))
            elif id(value) in opened:
                raise ValueError(f"{name} contains itself")
            else:
                opened.add(id(value))
        if isinstance(value, Mapping):
            if closing:
                count = len(value)
                items = done[len(done) - count :]
                del done[len(done) - count :]
                done.append(close_mapping({str(key): item for key, item in zip(value, items, strict=True)}))
            else:
                todo.append((True, value))
                todo.extend((False, item) for item in reversed(list(value.values())))
        elif isinstance(value, (list, tuple)):
            if closing:
                count = len(value)
                items = done[len(done) - count :]
                del done[len(done) - count :]
                done.append(close_list(items))
            else:
                todo.append((True, value))
                todo.extend((False, item) for item in reversed(value))
        else:
            done.append(value)
    return done[0]
