"""An example of a JSON Schema: what the simulator gives where a caller insists on a tool or on structured output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["example_of"]

DEPTH = 12  # a schema may refer to itself
LARGEST = 64
TEXTS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
}


def example_of(schema: Any, name: str = "", root: Any = None, depth: int = 0) -> Any:
    """Give the plainest value that fits: the first choice, the smallest number, only the properties that must be."""
    if not isinstance(schema, Mapping) or depth > DEPTH:
        return None
    root = schema if root is None else root
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"$ref": str(reference)}:
            return example_of(_referred(reference, root), name, root, depth + 1)
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]} | {"allOf": [first, *_]}:
            return example_of(first, name, root, depth + 1)
    return _of_type(schema, name, root, depth)


def _of_type(schema: Mapping[str, Any], name: str, root: Any, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list) and kind:
        kind = kind[0]
    match str(kind).lower():  # Gemini writes its types in capitals
        case "object":
            properties = schema.get("properties")
            properties = properties if isinstance(properties, Mapping) else {}
            wanted = schema.get("required", list(properties))
            wanted = [key for key in wanted if isinstance(key, str)] if isinstance(wanted, list) else []
            return {key: example_of(properties.get(key, {}), key, root, depth + 1) for key in wanted}
        case "array":
            least = max(_least(schema, "minItems"), 1)
            return [example_of(schema.get("items", {}), name, root, depth + 1) for _ in range(least)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
    text = TEXTS.get(str(schema.get("format")), name or "text")
    return text.ljust(_least(schema, "minLength"), ".")


def _least(schema: Mapping[str, Any], key: str) -> int:
    """Read a minimum, within reason: the schema is the caller's."""
    value = schema.get(key)
    return min(value, LARGEST) if isinstance(value, int) else 0


def _referred(reference: str, root: Any) -> Any:
    found = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
