"""Tools as MCP servers describe them, in each provider's words; and how a model is told to use them.

Only what a provider refuses is taken out: a schema keyword it does not know makes it reject the whole request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.canon import thaw
from weft.errors import UnsupportedFeatureError, UsageError
from weft.wire.codec import Json

__all__ = ["tool_fields"]

OURS = ("annotations", "outputSchema")  # of MCP: for whoever runs a tool, not for the model that calls it
WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
NO_PARAMETERS = {"type": "object"}

GEMINI_REFUSES = ("additionalProperties", "examples", "$schema")
CEREBRAS_REFUSES = frozenset({"$schema", "format", "minimum", "nullable"})
# Below these the keys are names that somebody chose, and below the others values, not keywords.
NAMES = frozenset({"properties", "patternProperties", "definitions", "$defs", "dependentSchemas"})
VALUES = frozenset({"default", "const", "enum", "examples"})

CHAT_MODES = {"any": "required"}
COHERE_MODES = {"auto": None, "none": "NONE", "any": "REQUIRED"}  # what it does when nothing is sent is `auto`
GEMINI_MODES = {"auto": "AUTO", "none": "NONE", "any": "ANY"}


def tool_fields(provider: str, title: str, tools: Sequence[Any], options: Mapping[str, Any]) -> Json:
    """Give the request's fields about tools: the tools, search among them, and which must be used [T-81 … T-91]."""
    given = [_plain(tool, t) for t, tool in enumerate(tools)]
    search = bool(options.get("search"))
    mode = options.get("tool_mode")
    match provider:
        case "anthropic":
            written = [_anthropic(tool) for tool in given] + ([dict(WEB_SEARCH)] if search else [])
            return _fields(written, mode, {"tool_choice": {"type": mode}})
        case "gemini":
            if search and given:
                raise UnsupportedFeatureError(
                    "Gemini's google_search cannot be combined with custom function declarations"
                )
            if search:
                return {"tools": [{"google_search": {}}]}
            declared = [{"functionDeclarations": [_gemini(tool) for tool in given]}] if given else []
            choice = {"mode": GEMINI_MODES.get(mode, mode) if isinstance(mode, str) else mode}
            return _fields(declared, mode, {"toolConfig": {"functionCallingConfig": choice}})
        case _:
            if search:
                raise UnsupportedFeatureError(f"{title} does not support built-in search capabilities")
            clean = provider == "cerebras"
            modes: Mapping[Any, str | None] = COHERE_MODES if provider == "cohere" else CHAT_MODES
            mode = modes.get(mode, mode) if isinstance(mode, str) else mode
            return _fields([_chat(tool, clean=clean) for tool in given], mode, {"tool_choice": mode})


def _fields(written: list[Json], mode: Any, choice: Json) -> Json:
    if not written:
        return {}
    return {"tools": written} if mode is None else {"tools": written, **choice}


def _plain(tool: Any, t: int) -> Json:
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
        raise UsageError(f"tools[{t}] must be an object with a name")
    plain: Json = thaw(tool)
    return plain


def _renamed(tool: Json, schema_key: str) -> Json:
    return {schema_key if key == "inputSchema" else key: value for key, value in tool.items() if key not in OURS}


def _anthropic(tool: Json) -> Json:
    return _renamed(tool, "input_schema")


def _gemini(tool: Json) -> Json:
    declared = _renamed(tool, "parameters")
    schema = declared.get("parameters")
    if isinstance(schema, dict):
        _drop(schema, *GEMINI_REFUSES)
        properties = schema.get("properties")
        for one in properties.values() if isinstance(properties, dict) else ():
            if isinstance(one, dict):
                _drop(one, "format")
                if isinstance(one.get("items"), dict):
                    _drop(one["items"], "additionalProperties")
    return declared


def _chat(tool: Json, *, clean: bool) -> Json:
    schema = tool.get("inputSchema", NO_PARAMETERS)
    if clean:
        _without_keywords(schema)
    description = tool.get("description") or ""
    return {"type": "function", "function": {"name": tool["name"], "description": description, "parameters": schema}}


def _drop(target: Json, *keys: str) -> None:
    for key in keys:
        target.pop(key, None)


def _without_keywords(schema: Any) -> None:
    """Take Cerebras' refused keywords out of a schema, at every depth and without recursion [T-88]."""
    todo = [(schema, False)]
    while todo:
        node, is_names = todo.pop()
        if isinstance(node, list):
            todo += [(item, False) for item in node]
        elif isinstance(node, dict):
            if not is_names:
                _drop(node, *CEREBRAS_REFUSES)
            todo += [
                (value, not is_names and key in NAMES) for key, value in node.items() if is_names or key not in VALUES
            ]
