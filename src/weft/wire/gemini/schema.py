"""Function declarations and schemas.

`parameters` and `responseSchema` take Gemini's own subset of OpenAPI schemas (https://ai.google.dev/api/caching#Schema),
often with types in capitals; `parametersJsonSchema` and `responseJsonSchema` take any JSON Schema. In canon it is
JSON Schema always.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.canon import RunSpec, ToolSpecification, thaw
from weft.wire.body import tools_of
from weft.wire.codec import Json
from weft.wire.gemini.spelling import SNAKE, find, get
from weft.wire.gemini.way import Way

__all__ = ["is_subset", "other_tools", "read_schema", "read_tools", "schema_key", "write_tools"]

TYPES = {name.upper(): name for name in ("string", "number", "integer", "boolean", "array", "object", "null")}
LIMITS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")  # int64: texts in JSON
SUBSET = frozenset(
    {"type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "pattern"}
    | {"example", "anyOf", "propertyOrdering", "default", "minimum", "maximum", *LIMITS}
)
CLOSED = SUBSET | {"additionalProperties"}


def write_tools(spec: RunSpec, way: Way, *, snake: bool) -> list[Json]:
    """Write tools as one entry of function declarations."""

    def write(tool: ToolSpecification) -> Json:
        key = "parameters"
        if way.json_schema and not is_subset(tool.input_schema, closed=way.config):
            key = "parametersJsonSchema"
        written: Json = {"name": tool.name, "description": tool.description}
        written[SNAKE.get(key, key) if snake else key] = thaw(tool.input_schema)
        return written

    declared = tools_of(spec, f"gemini {snake} {way.json_schema} {way.config}", write)
    return [{"function_declarations" if snake else "functionDeclarations": declared}]


def read_tools(value: Any) -> list[ToolSpecification]:
    """Read the tools that are functions; the provider's own (search, code execution) are not."""
    tools: list[ToolSpecification] = []
    for entry in value if isinstance(value, (list, tuple)) else ():
        declared = get(entry, "functionDeclarations") if isinstance(entry, Mapping) else None
        for tool in declared if isinstance(declared, (list, tuple)) else ():
            if isinstance(tool, Mapping) and isinstance(name := tool.get("name"), str):
                schema = get(tool, "parametersJsonSchema") or tool.get("parameters")
                description = tool.get("description")
                tools.append(
                    ToolSpecification(
                        name,
                        description if isinstance(description, str) else "",
                        _json_schema(schema) if isinstance(schema, Mapping) else {},
                    )
                )
    return tools


def other_tools(value: Any) -> list[Json]:
    """Give the entries of a tool list that declare no functions."""
    entries = value if isinstance(value, (list, tuple)) else ()
    return [
        thaw(entry) for entry in entries if not (isinstance(entry, Mapping) and find(entry, "functionDeclarations"))
    ]


def read_schema(settings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read the schema an answer must fit, if it must be JSON."""
    schema = get(settings, "responseJsonSchema") or get(settings, "responseSchema")
    if get(settings, "responseMimeType") != "application/json" or not isinstance(schema, Mapping):
        return None
    return _json_schema(schema)


def schema_key(schema: Any, way: Way) -> str:
    """Choose the key for the schema of an answer."""
    return way.answer_schema or ("responseSchema" if is_subset(schema) else "responseJsonSchema")


def is_subset(schema: Any, *, closed: bool = False) -> bool:
    """Tell whether a schema uses only what Gemini's own has; `closed` allows additionalProperties, as the SDK does."""
    known = CLOSED if closed else SUBSET
    todo = [schema]
    for node in todo:  # grows while it is walked
        if not isinstance(node, Mapping) or not known.issuperset(node):
            return False
        if not isinstance(node.get("type", ""), str):
            return False
        for key in ("enum", "required"):
            values = node.get(key, ())
            if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
                return False
        if isinstance(properties := node.get("properties"), Mapping):
            todo.extend(properties.values())
        if isinstance(choices := node.get("anyOf"), (list, tuple)):
            todo.extend(choices)
        if "items" in node:
            todo.append(node["items"])
    return True


def _json_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        written: Mapping[str, Any] = _lowered(schema)
    except RecursionError:
        return schema  # nested past any tool's sense: as it came
    return written


def _lowered(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        lowered = {key: _lowered(value) for key, value in schema.items()}
        if isinstance(kind := schema.get("type"), str) and kind in TYPES:
            lowered["type"] = TYPES[kind]
            for key in LIMITS:
                if isinstance(limit := schema.get(key), str) and limit.isdecimal():
                    lowered[key] = int(limit)
        return lowered
    if isinstance(schema, (list, tuple)):
        return [_lowered(item) for item in schema]
    return schema
