"""Taking a request from one dialect to another: what a provider alone understands stays behind, and is listed.

The conversation is canon already; only the spec needs care. `extra_body` holds the fields the source dialect had
and canon lacks. The few that every provider has under another name are carried; the rest are losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from weft.canon import ExcludedItem, RunSpec, output_text, thaw
from weft.wire.codec import Dialect, Json

__all__ = ["cross"]

# Stop sequences, by the path each dialect keeps them under in `extra_body`.
STOPS: dict[str, tuple[str, ...]] = {
    "openai_chat": ("stop",),
    "anthropic": ("stop_sequences",),
    "gemini": ("generationConfig", "stopSequences"),
    "bedrock": ("inferenceConfig", "stopSequences"),
    "cohere": ("stop_sequences",),
    "ollama": ("options", "stop"),
}
# Objects that settings live in: what is left in one is told field by field.
HOLDERS = frozenset(
    {
        "config",
        "generationConfig",
        "generation_config",
        "inferenceConfig",
        "options",
        "outputConfig",
        "output_config",
        "text",
        "toolConfig",
    }
)
# What says how a field of canon's was spelt: carried by that field, so no loss.
SPELLINGS = {
    "max_completion_tokens": "max_output_tokens",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "toolChoice": "tool_choice",
    "response_format": "response_schema",
    "format": "response_schema",
    "textFormat": "response_schema",
    "responseMimeType": "response_schema",
    "responseSchema": "response_schema",
    "responseJsonSchema": "response_schema",
    "response_mime_type": "response_schema",
    "response_schema": "response_schema",
    "response_json_schema": "response_schema",
}
# Targets that want a name with the schema of an answer, and the keys such a form has.
NAMES_SCHEMAS = frozenset({"openai_chat", "openai_responses", "bedrock"})
WRAPPING = frozenset({"type", "name", "schema", "description", "strict"})
# The kinds of answer a target can be asked for, in its words.
MODALITIES: dict[str, dict[str, str]] = {
    "openai_chat": {"text": "text", "audio": "audio"},
    "gemini": {"text": "TEXT", "image": "IMAGE", "audio": "AUDIO"},
}
PLAIN_TEXT = ("text", "text/plain")  # what every provider answers if not told otherwise
STREAMED_BY_KEY = frozenset({"openai_chat", "openai_responses", "anthropic", "cohere", "ollama"})


def cross(
    spec: RunSpec, source: Dialect, target: Dialect, *, model: str | None = None
) -> tuple[RunSpec, list[ExcludedItem]]:
    """Turn a spec read from `source` into one for `target`; give it with what was left behind."""
    losses: list[ExcludedItem] = []
    extra: Json = thaw(spec.extra_body)
    carried: Json = {}
    stops = _take(extra, STOPS.get(source.name, ()))
    if stops is not None and target.name in STOPS:
        _put(carried, STOPS[target.name], [stops] if isinstance(stops, str) else stops)
    elif stops is not None:
        losses.append(_left("stop", source, target))
    streaming = extra.pop("stream", None)
    extra.pop("stream_options", None)
    if streaming and target.name in STREAMED_BY_KEY:
        carried["stream"] = True
    losses += _unsaid_tools(extra, spec, source, target)
    losses += [_left(key, source, target) for key in _leftovers(extra, spec)]
    modalities, unsaid = _modalities(spec.response_modalities, target)
    losses += unsaid
    choice = _tool_choice(spec.tool_choice, target)
    if target.name == "bedrock" and not spec.tools:
        choice = None  # it is said inside toolConfig, which is not complete without tools
    crossed = replace(
        spec,
        provider=target.provider,
        endpoint=target.endpoint,
        model=model or spec.model or "model",
        api_version=None,
        base_url=None,
        tool_choice=choice,
        response_schema=_schema(spec.response_schema, target),
        response_modalities=modalities,
        extra_body=carried,
        extra_headers={},
        extra_query={},
    )
    if spec.tool_choice is not None and crossed.tool_choice is None:
        losses.append(ExcludedItem("tool_choice", f"{_shown(spec.tool_choice)} cannot be said to {target.name}"))
    for name in ("extra_headers", "extra_query"):
        if getattr(spec, name):
            losses.append(_left(name, source, target))
    return crossed, losses


def _left(key: str, source: Dialect, target: Dialect) -> ExcludedItem:
    return ExcludedItem(f"extra_body.{key}", f"a field of {source.name} that {target.name} does not have")


def _take(extra: Json, path: tuple[str, ...]) -> Any:
    holder: Any = extra
    for key in path[:-1]:
        holder = holder.get(key) if isinstance(holder, dict) else None
    if not path or not isinstance(holder, dict):
        return None
    value = holder.pop(path[-1], None)
    if len(path) > 1 and not holder:
        extra.pop(path[0], None)
    return value


def _put(extra: Json, path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        extra = extra.setdefault(key, {})
    extra[path[-1]] = value


def _leftovers(extra: Json, spec: RunSpec) -> Iterator[str]:
    """Name the fields that no field of canon stands for."""
    for key, value in extra.items():
        if key in HOLDERS and isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner, held in value.items() if not _is_carried(inner, held, spec))
        elif not _is_carried(key, value, spec):
            yield key


def _is_carried(key: str, value: Any, spec: RunSpec) -> bool:
    ours = SPELLINGS.get(key)
    if ours is None:
        return False
    said = value.get("type") if isinstance(value, Mapping) else value
    return ours == "tools" or getattr(spec, ours) is not None or said in PLAIN_TEXT


def _unsaid_tools(extra: Json, spec: RunSpec, source: Dialect, target: Dialect) -> list[ExcludedItem]:
    """List the tools that are the source provider's own: they are in its list, and not among the functions."""
    holder = extra.get("toolConfig")
    raw = extra.get("tools") or (holder.get("tools") if isinstance(holder, dict) else None)
    if not isinstance(raw, list):
        return []
    names = {tool.name for tool in spec.tools}
    losses = []
    for t, tool in enumerate(raw):
        if isinstance(tool, Mapping) and not _is_function(tool, names):
            told = tool.get("type") or tool.get("name")
            kind = told if isinstance(told, str) else ", ".join(sorted(map(str, tool)))
            losses.append(
                ExcludedItem(f"tools[{t}]", f"{kind} is run by {source.provider}; {target.name} does not have it")
            )
    return losses


def _is_function(tool: Mapping[str, Any], names: set[str]) -> bool:
    inner = tool.get("function")
    name = inner.get("name") if isinstance(inner, Mapping) else tool.get("name")
    declared = tool.get("functionDeclarations") or tool.get("function_declarations") or tool.get("toolSpec")
    return bool(declared) or (isinstance(name, str) and name in names)


# -- what is said in another form ---------------------------------------------------------------------------------


def _schema(given: Mapping[str, Any] | None, target: Dialect) -> Json | None:
    """Say the schema of an answer in the target's form: with a name around it, or bare."""
    if given is None:
        return None
    held = given.get("json_schema")
    form = held if isinstance(held, Mapping) else given
    schema = form.get("schema")
    if not isinstance(schema, Mapping) or not WRAPPING.issuperset(form):
        form, schema = {}, given
    if target.name not in NAMES_SCHEMAS:
        return dict(schema)
    told = {key: form[key] for key in ("description", "strict") if form.get(key) is not None}
    return {"name": form.get("name") or "response", "schema": schema, **told}


def _modalities(given: tuple[str, ...], target: Dialect) -> tuple[tuple[str, ...], list[ExcludedItem]]:
    """Say which kinds of answer are wanted, as far as the target can be asked; text is what all of them give."""
    words = MODALITIES.get(target.name, {})
    unsaid = [word for word in given if word.lower() not in words and word.lower() != "text"]
    lost = [ExcludedItem("response_modalities", f"{word} cannot be asked of {target.name}") for word in unsaid]
    return tuple(words[word.lower()] for word in given if word.lower() in words), lost


# -- tool choice: four things can be said, in every dialect's own way --------------------------------------------


def _tool_choice(choice: Any, target: Dialect) -> Any:
    meaning = _meaning(choice)
    if meaning is None:
        return None
    kind, name = meaning
    match target.name:
        case "openai_chat":
            return {"type": "function", "function": {"name": name}} if name else kind
        case "openai_responses":
            return {"type": "function", "name": name} if name else kind
        case "anthropic":
            said = {"auto": "auto", "required": "any", "none": "none"}
            return {"type": "tool", "name": name} if name else {"type": said[kind]}
        case "gemini":
            mode = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
            config: Json = {"mode": mode.get(kind, "ANY")}
            if name:
                config["allowed_function_names"] = [name]
            return {"function_calling_config": config}
        case "bedrock":
            said_bedrock: Json = {"auto": {"auto": {}}, "required": {"any": {}}}
            return {"tool": {"name": name}} if name else said_bedrock.get(kind)
        case "cohere":
            return {"required": "REQUIRED", "none": "NONE"}.get(kind) if not name else None
        case _:
            return None


def _meaning(choice: Any) -> tuple[str, str | None] | None:
    """Read a tool choice of any dialect: auto, required, none, or one tool by name."""
    words = {"auto": "auto", "any": "required", "required": "required", "none": "none", "validated": "required"}
    match choice:
        case str():
            kind = words.get(choice.lower())
            return (kind, None) if kind else None
        case {"type": "function", "function": {"name": str(name)}} | {"type": "function", "name": str(name)}:
            return "required", name
        case {"type": "tool", "name": str(name)} | {"tool": {"name": str(name)}}:
            return "required", name
        case {"functionCallingConfig": config} | {"function_calling_config": config} if isinstance(config, Mapping):
            names: Any = config.get("allowedFunctionNames") or config.get("allowed_function_names")
            if isinstance(names, (list, tuple)) and len(names) == 1:
                return "required", str(names[0])
            return _meaning(config.get("mode"))
        case {"type": str(kind)}:
            return _meaning(kind)
        case {"auto": _}:
            return "auto", None
        case {"any": _}:
            return "required", None
    return None


def _shown(choice: Any) -> str:
    """Show a choice in a sentence, cut where it is too long for one."""
    text = output_text(choice)
    return text if len(text) <= 100 else f"{text[:100]}…"
