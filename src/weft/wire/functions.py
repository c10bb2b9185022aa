"""Tools as functions: the form of OpenAI's Chat Completions, which Cohere and Ollama took over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.canon import RunSpec, ToolSpecification, thaw
from weft.wire.body import tools_of
from weft.wire.codec import Json

__all__ = ["bare_schema", "decode_function_tools", "decode_functions", "encode_function_tools"]

_NO_PARAMETERS: Json = {"type": "object", "properties": {}}


def encode_function_tools(spec: RunSpec) -> list[Json]:
    """Write a spec's tools."""
    return tools_of(spec, "function", _function_tool)


def _function_tool(tool: ToolSpecification) -> Json:
    schema = thaw(tool.input_schema)
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": schema}}


def decode_function_tools(value: Any) -> tuple[list[ToolSpecification], bool]:
    """Read the tools that are functions; tell whether they say all there is to say."""
    tools: list[ToolSpecification] = []
    exact = bool(value) and isinstance(value, (list, tuple))
    for tool in value if isinstance(value, (list, tuple)) else ():
        match tool:
            case {"function": {"name": str()} as function}:
                tools += decode_functions([function])
                described, schema = function.get("description"), function.get("parameters")
                is_whole = isinstance(described, str) and isinstance(schema, Mapping) and len(function) == 3
                exact = exact and is_whole and tool.get("type") == "function" and len(tool) == 2
            case _:
                exact = False
    return tools, exact


def decode_functions(value: Any) -> list[ToolSpecification]:
    """Read functions that have a name, without a tool around them; one without parameters takes none."""
    tools: list[ToolSpecification] = []
    for function in value if isinstance(value, (list, tuple)) else ():
        match function:
            case {"name": str(name)}:
                described, schema = function.get("description"), function.get("parameters")
                tools.append(
                    ToolSpecification(
                        name,
                        described if isinstance(described, str) else "",
                        schema if isinstance(schema, Mapping) else _NO_PARAMETERS,
                    )
                )
    return tools


def bare_schema(schema: Mapping[str, Any]) -> Any:
    """Give a response schema without OpenAI's wrapper, which has a name and strictness beside it."""
    is_wrapped = isinstance(schema.get("schema"), Mapping) and "type" not in schema
    return thaw(schema["schema"] if is_wrapped else schema)
