"""Taking a request from one dialect to another: what a provider alone understands stays behind, and is listed.

The conversation is canon already; only the spec needs care. `extra_body` holds the fields the source dialect had
and canon lacks. The few that the target has too, under its own name, are carried; the rest are losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from weft.canon import ExcludedItem, RunSpec, output_text, thaw
from weft.wire.codec import Dialect, Json

__all__ = ["cross"]

_Paths = dict[str, tuple[str, ...]]  # of one setting: its place in `extra_body`, by dialect

STOPS: _Paths = {
    "openai_chat": ("stop",),
    "anthropic": ("stop_sequences",),
    "gemini": ("generationConfig", "stopSequences"),
    "bedrock": ("inferenceConfig", "stopSequences"),
    "cohere": ("stop_sequences",),
    "ollama": ("options", "stop"),
}
_OF_OPENAI: list[_Paths] = [  # in both its APIs, under one name
    {"openai_chat": (name,), "openai_responses": (name,)}
    for name in (
        "metadata",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "user",
    )
]
# What some providers have, and canon has no field for.
SHARED: tuple[_Paths, ...] = (
    {
        "anthropic": ("top_k",),
        "gemini": ("generationConfig", "topK"),
        "cohere": ("k",),
        "ollama": ("options", "top_k"),
    },
    *(
        {
            "openai_chat": (f"{kind}_penalty",),
            "gemini": ("generationConfig", f"{kind}Penalty"),
            "cohere": (f"{kind}_penalty",),
            "ollama": ("options", f"{kind}_penalty"),
        }
        for kind in ("frequency", "presence")
    ),
    {"openai_chat": ("reasoning_effort",), "openai_responses": ("reasoning", "effort")},
    {"openai_chat": ("verbosity",), "openai_responses": ("text", "verbosity")},
    *_OF_OPENAI,
)
# Words that both of OpenAI's APIs know; who else speaks them has some of their own.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
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
    "functions": "tools",
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
# Where Gemini and Bedrock declare functions in an entry of their lists of tools.
DECLARED = ("functionDeclarations", "function_declarations", "toolSpec")
# What a choice of tools is made of, in any dialect; and how Gemini narrows it down.
CHOOSING = frozenset(
    {"type", "name", "function", "tool", "auto", "any", "functionCallingConfig", "function_calling_config"}
)
ALLOWED = ("allowedFunctionNames", "allowed_function_names")
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
    for paths in SHARED:
        here, there = paths.get(source.name), paths.get(target.name)
        if here and there and (value := _take(extra, here)) is not None:
            into, path = (carried, there) if _fits(here, value, spec) else (extra, here)
            _put(into, path, value)
    streaming = extra.pop("stream", None)
    extra.pop("stream_options", None)
    if streaming and target.name in STREAMED_BY_KEY:
        carried["stream"] = True
    losses += _unsaid_tools(extra, spec, source, target)
    losses += [_left(key, source, target) for key in _leftovers(extra, spec)]
    modalities, unsaid = _modalities(spec.response_modalities, target)
    losses += unsaid
    # No provider takes a choice among no tools.
    choice = _tool_choice(spec.tool_choice, target) if spec.tools else None
    losses += _unsaid_choice(spec, choice, target)
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


def _fits(path: tuple[str, ...], value: Any, spec: RunSpec) -> bool:
    """Tell whether a value is one that all who share the setting take."""
    match path[-1]:
        case "parallel_tool_calls":
            return bool(spec.tools)  # a chat without tools refuses it
        case "reasoning_effort" | "effort":
            return value in EFFORTS
        case "service_tier":
            return value in TIERS
        case "verbosity":
            return value in ("low", "medium", "high")
        case "top_k" | "topK" | "k":
            return isinstance(value, int)
    return True


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
    if key == "functions" and isinstance(value, list):  # the old way; not read where the new one is used too
        names = {tool.name for tool in spec.tools}
        return all(isinstance(item, Mapping) and item.get("name") in names for item in value)
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
        if isinstance(tool, Mapping) and (kind := _own_kind(tool, names)):
            losses.append(
                ExcludedItem(f"tools[{t}]", f"{kind} is run by {source.provider}; {target.name} does not have it")
            )
    return losses


def _own_kind(tool: Mapping[str, Any], names: set[str]) -> str | None:
    """Name what its provider runs of a tool; None for a function. Gemini's may be both in one."""
    beside = sorted(str(key) for key, value in tool.items() if key not in DECLARED and value is not None)
    if any(tool.get(key) for key in DECLARED):
        return ", ".join(beside) or None
    inner = tool.get("function")
    name = inner.get("name") if isinstance(inner, Mapping) else tool.get("name")
    if isinstance(name, str) and name in names:
        return None
    told = tool.get("type") or tool.get("name")
    return told if isinstance(told, str) else ", ".join(beside) or "an empty tool"


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


def _unsaid_choice(spec: RunSpec, choice: Any, target: Dialect) -> list[ExcludedItem]:
    """List what a choice of tools says and its crossing does not; what all providers do unasked is no loss."""
    given = spec.tool_choice
    if given is None:
        return []
    needless = ("auto",) if spec.tools else ("auto", "none")
    kind, name = _meaning(given) or ("", None)
    if choice is None and (name or kind not in needless):
        return [ExcludedItem("tool_choice", f"{_shown(given)} cannot be said to {target.name}")]
    if not isinstance(given, Mapping):
        return []
    config = given.get("functionCallingConfig") or given.get("function_calling_config")
    beside = [(key, given[key]) for key in given if key not in CHOOSING]
    if isinstance(config, Mapping):
        beside += [(key, config[key]) for key in config if key != "mode" and not (name and key in ALLOWED)]
    return [
        ExcludedItem(f"tool_choice.{key}", f"{_shown(value)} cannot be said to {target.name}")
        for key, value in beside
        if value
    ]


def _meaning(choice: Any) -> tuple[str, str | None] | None:
    """Read a tool choice of any dialect: auto, required, none, or one tool by name."""
    words = {"auto": "auto", "any": "required", "required": "required", "none": "none", "validated": "auto"}
    match choice:
        case str():
            kind = words.get(choice.lower())
            return (kind, None) if kind else None
        case {"type": "function", "function": {"name": str(name)}} | {"type": "function", "name": str(name)}:
            return "required", name
        case {"type": "tool", "name": str(name)} | {"tool": {"name": str(name)}}:
            return "required", name
        case {"functionCallingConfig": config} | {"function_calling_config": config} if isinstance(config, Mapping):
            meaning = _meaning(config.get("mode") or "auto")
            names: Any = next((config[key] for key in ALLOWED if config.get(key)), ())
            if isinstance(names, (list, tuple)) and len(names) == 1 and meaning == ("required", None):
                return "required", str(names[0])
            return meaning
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
