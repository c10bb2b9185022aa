"""Python functions as tools: a schema from their annotations, a description from their docstring.

    def add(a: int, b: Annotated[int, "added to a"] = 1) -> int:
        "Add two numbers."

Needs nothing installed beyond weft itself: the annotations understood are the ones JSON has a form for.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, overload

from weft.errors import UsageError
from weft.jsontext import dumps_text

__all__ = ["FunctionTool", "function_tool", "tool"]

Json = dict[str, Any]
F = TypeVar("F", bound=Callable[..., Any])

_PLAIN: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_MARK = "__weft_tool__"


@dataclasses.dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function with the name, description and schema that a model is shown."""

    name: str
    description: str
    input_schema: Json
    function: Callable[..., Any]

    def listed(self) -> Json:
        """Write it in MCP's form."""
        return {"name": self.name, "description": self.description, "inputSchema": self.input_schema}

    async def run(self, arguments: Mapping[str, Any]) -> Json:
        """Call the function and give its answer in the form a server would; what it raises is its answer too."""
        try:
            given = self._bound(arguments)
            if inspect.iscoroutinefunction(self.function):
                value = await self.function(**given)
            else:
                value = await asyncio.to_thread(self.function, **given)
            return {"result": {"content": _content(value)}}
        except Exception as problem:  # noqa: BLE001 - any failure of the function is an answer for the model
            text = f"{type(problem).__name__}: {problem}"
            return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}

    def _bound(self, arguments: Mapping[str, Any]) -> Json:
        known = self.input_schema["properties"]
        if unknown := sorted(arguments.keys() - known.keys()):
            raise TypeError(f"unknown argument {unknown[0]!r}; it takes {', '.join(known) or 'none'}")
        if missing := [name for name in self.input_schema.get("required", []) if name not in arguments]:
            raise TypeError(f"argument {missing[0]!r} is missing")
        hints = typing.get_type_hints(self.function, include_extras=True)
        return {name: _read(value, hints.get(name, Any), name) for name, value in arguments.items()}


@overload
def tool(function: F) -> F: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[F], F]: ...


def tool(function: F | None = None, *, name: str | None = None, description: str | None = None) -> F | Callable[[F], F]:
    """Mark a function as a tool, with a name or description other than its own; it stays callable as it was."""

    def mark(marked: F) -> F:
        setattr(marked, _MARK, _describe(marked, name, description))
        return marked

    return mark if function is None else mark(function)


def function_tool(function: Callable[..., Any]) -> FunctionTool:
    """Give a function, marked with `@tool` or plain, as a tool."""
    marked = getattr(function, _MARK, None)
    return marked if isinstance(marked, FunctionTool) else _describe(function, None, None)


def _describe(function: Callable[..., Any], name: str | None, description: str | None) -> FunctionTool:
    name = name or str(getattr(function, "__name__", ""))
    if not name.isidentifier():
        raise UsageError(f"a function tool needs a name: @tool(name=...), not {name!r}")
    hints = typing.get_type_hints(function, include_extras=True)
    properties: Json = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise UsageError(f"tool {name}: a model gives arguments by name, so {parameter} has no place")
        schema = _schema(hints.get(parameter.name, Any), f"tool {name}, argument {parameter.name}")
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif parameter.default is None or isinstance(parameter.default, str | int | float | bool | list | dict):
            schema = {**schema, "default": parameter.default}
        properties[parameter.name] = schema
    shape: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        shape["required"] = required
    return FunctionTool(name, description or inspect.getdoc(function) or "", shape, function)


def _schema(kind: Any, where: str) -> Json:
    """Write an annotation as JSON Schema."""
    if kind is Any or kind is inspect.Parameter.empty:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        note = next((note for note in args[1:] if isinstance(note, str)), None)
        return _schema(args[0], where) | ({"description": note} if note is not None else {})
    if origin is Literal:
        return {"enum": list(args)}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [_schema(arg, where) for arg in args]}
    if (
        kind in {list, tuple, set, Sequence}
        or origin in {list, set, Sequence}
        or (origin is not None and origin.__name__ == "Sequence")
    ):
        return {"type": "array", **({"items": _schema(args[0], where)} if args else {})}
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return {"type": "array", "items": _schema(args[0], where)}
        items = [_schema(arg, where) for arg in args]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if kind in {dict, Mapping} or origin is dict or (origin is not None and origin.__name__ == "Mapping"):
        return {"type": "object", **({"additionalProperties": _schema(args[1], where)} if args else {})}
    return _schema_of_class(kind, where)


def _schema_of_class(kind: Any, where: str) -> Json:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = [field for field in dataclasses.fields(kind) if field.init]
        needed = [
            f.name for f in fields if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        ]
        return {
            "type": "object",
            "properties": {field.name: _schema(hints[field.name], where) for field in fields},
            "required": needed,
            "additionalProperties": False,
        }
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=False)
        return {
            "type": "object",
            "properties": {name: _schema(hint, where) for name, hint in hints.items()},
            "required": sorted(kind.__required_keys__),
        }
    raise UsageError(f"{where}: {kind!r} has no form in JSON; use text, numbers, lists, tables, Literal or a dataclass")


def _read(value: Any, kind: Any, where: str) -> Any:
    """Take a JSON value as its annotation says; a value of another type is refused, not bent."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _read(value, args[0], where)
    if origin is Literal and value not in args:
        raise TypeError(f"argument {where!r} must be one of {', '.join(map(repr, args))}")
    if origin in {Union, types.UnionType}:
        for arg in args:
            try:
                return _read(value, arg, where)
            except (TypeError, ValueError):
                continue
        raise TypeError(f"argument {where!r} does not fit {kind}")
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        hints = typing.get_type_hints(kind, include_extras=True)
        return kind(**{key: _read(item, hints.get(key, Any), f"{where}.{key}") for key, item in value.items()})
    if origin in {list, set} and isinstance(value, list):
        return origin(_read(item, args[0], f"{where}[{n}]") for n, item in enumerate(value))
    if kind in _PLAIN and not _fits(value, kind):
        raise TypeError(f"argument {where!r} must be of type {_PLAIN[kind]}, not {type(value).__name__}")
    return value


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _content(value: Any) -> list[Any]:
    """Give what a function returned as content: text as it is, ready-made content items as they are, else JSON."""
    if value is None:
        return []
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if isinstance(value, list) and value and all(isinstance(item, Mapping) and "type" in item for item in value):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    return [{"type": "text", "text": dumps_text(value)}]
