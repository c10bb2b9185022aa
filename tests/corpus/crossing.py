"""L5: a request of one dialect, planned for another, is one that its provider accepts and from which nothing vanished.

The accounting knows nothing of the encoders: it looks for every text, call, result and media part of the
conversation in the native request, and what is not there must be among the plan's `excluded`.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from tests.corpus.laws import NotApplicableError
from tests.corpus.types import TARGETS, check
from weft.blobs import InMemoryBlobStore
from weft.canon import output_text, thaw
from weft.wire.translate import plan_request, read_request

if TYPE_CHECKING:
    from tests.corpus.load import Exchange
    from weft.blobs import BlobStore
    from weft.canon import Message, Part, RequestPlan, RunSpec

__all__ = ["crossing_law", "crossings"]

Json = dict[str, Any]
PLACE = re.compile(r"context\.messages\[(\d+)\](?:\.parts\[(\d+)\])?")
MEDIA = frozenset({"image", "file", "audio", "video"})
SETTINGS = ("max_output_tokens", "temperature", "top_p", "seed")
STREAMING = frozenset({"stream", "stream_options"})
STOPS = frozenset({"stop", "stop_sequences", "stopSequences"})
# Where in `extra_body` a dialect keeps how a field of canon was spelt; the field itself is looked for.
SPELT = (
    ("tools",),
    ("functions",),
    ("toolConfig", "tools"),
    ("tool_choice",),
    ("max_completion_tokens",),
)
SPELT_SCHEMAS = (
    ("response_format",),
    ("text", "format"),
    ("format",),
    ("output_config", "format"),
    ("outputConfig", "textFormat"),
    ("generationConfig", "responseMimeType"),
    ("generationConfig", "responseSchema"),
    ("generationConfig", "responseJsonSchema"),
)
WRAPPING = frozenset({"name", "description", "strict", "schema", "json_schema"})  # around a schema, for some
PLAIN_TEXT = ("text", "text/plain")  # a format that asks for nothing


def crossings(exchange: Exchange) -> list[str]:
    """Name the dialects a request can be taken to."""
    return [target for target in TARGETS if target != exchange.dialect.name]


def crossing_law(exchange: Exchange, target: str) -> str | None:
    """L5 for one request and one target."""
    if not isinstance(exchange.request, dict):
        raise NotApplicableError
    plan = plan_request(exchange.request, target, source=exchange.recorded_as, model="some.model-1")
    request = thaw(plan.request)
    if refused := check(target, request):
        return f"refused by the types: {refused}"
    blobs = InMemoryBlobStore()
    _, decoded = read_request(exchange.request, exchange.recorded_as, blobs)
    lost = _Account(request, plan, target).missing(decoded.messages, decoded.spec, blobs)
    return f"lost in silence: {lost}" if lost else None


# -- what is in a native request -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Native:
    """Everything in a request that could be a part of the conversation, found without knowing its dialect."""

    texts: str = ""
    keys: set[str] = field(default_factory=set)
    numbers: list[float] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)
    calls: Counter[tuple[str, bytes]] = field(default_factory=Counter)
    results: int = 0


def _survey(request: Json) -> _Native:
    native = _Native()
    texts: list[str] = []
    todo: list[Any] = [request]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            native.keys.update(value)
            todo.extend(value.values())
            _note_call(value, native)
            native.results += _is_result(value)
        elif isinstance(value, list):
            todo.extend(value)
        elif isinstance(value, str):
            texts.append(value)
        elif isinstance(value, bytes):
            native.payloads.append(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            native.numbers.append(value)
    native.texts = "\0".join(texts)
    return native


def _note_call(value: Json, native: _Native) -> None:
    """Count a tool call in any provider's form; the shapes do not overlap."""
    match value:
        case {"function": {"name": str(name), "arguments": arguments}}:  # chat, Cohere, Ollama
            pass
        case {"type": "function_call", "name": str(name), "arguments": arguments}:  # Responses
            pass
        case {"type": "tool_use", "name": str(name), "input": arguments}:  # Anthropic
            pass
        case {"function_call": {"name": str(name)} as call}:  # Gemini
            arguments = call.get("args")
        case {"toolUse": {"name": str(name), "input": arguments}}:  # Bedrock
            pass
        case _:
            return
    native.calls[name, _canonical(arguments)] += 1


def _canonical(arguments: Any) -> bytes:
    """Write arguments in one form: the JSON of an object, or whatever text there was."""
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments)
        except ValueError:
            return str(arguments).encode()
    if isinstance(arguments, dict) and len(arguments) == 1 and isinstance(arguments.get("_raw"), str):
        return _canonical(arguments["_raw"])
    written: bytes = orjson.dumps(arguments or {}, option=orjson.OPT_SORT_KEYS)
    return written


def _is_result(value: Json) -> bool:
    return (
        value.get("role") == "tool"
        or value.get("type") in ("function_call_output", "tool_result")
        or "function_response" in value
        or "toolResult" in value
    )


# -- what has to be in it ----------------------------------------------------------------------------------------------


class _Account:
    """The native request on one side, the conversation on the other."""

    def __init__(self, request: Json, plan: RequestPlan, target: str) -> None:
        self._native = _survey(request)
        self._target = target
        self._plan = plan
        self._excluded = {item.description for item in plan.excluded}
        self._warnings = "\n".join(plan.warnings)

    def missing(self, messages: tuple[Message, ...], spec: RunSpec, blobs: BlobStore) -> str | None:
        """Tell the first thing that is neither in the request nor in the plan's account."""
        for m, message in enumerate(messages):
            for p, part in enumerate(message.parts):
                if not self._is_excluded(m, p) and not self._is_there(part, blobs):
                    return f"messages[{m}].parts[{p}], {part.type} of {message.role}"
        return self._miscounted(messages) or self._unset(spec)

    def _is_excluded(self, m: int, p: int) -> bool:
        return f"context.messages[{m}].parts[{p}]" in self._excluded or f"context.messages[{m}]" in self._excluded

    def _is_there(self, part: Part, blobs: BlobStore) -> bool:
        match part.type:
            case "annotation":
                return True  # an attribute of the message, never content
            case "text" | "refusal" | "thinking" | "compaction":
                return bool(part.text is not None and self._has_text(part.text)) or (
                    part.type == "text" and not part.text
                )
            case "json":
                return self._has_text(output_text(part.json))
            case "tool_call":
                return self._takes_call(part)
            case "tool_result":
                return self._has_value(thaw(part.tool_output))
            case kind if kind in MEDIA:
                return self._has_media(part, blobs)
        return False  # a provider's own block is never sent elsewhere: it has to be excluded

    def _has_text(self, text: str) -> bool:
        return text in self._native.texts

    def _takes_call(self, part: Part) -> bool:
        call = (part.tool_name or "", _canonical(thaw(part.tool_args)))
        if self._native.calls[call] > 0:
            self._native.calls[call] -= 1
            return True
        return False

    def _has_value(self, value: Any) -> bool:
        """Look for a tool's output: as text, as JSON text, or each of its texts wherever they went."""
        if value is None or self._has_text(output_text(value)):
            return True
        leaves = list(_leaves(value))
        return all(self._has_text(leaf) or self._has_text(_escaped(leaf)) or self._has_payload(leaf) for leaf in leaves)

    def _has_payload(self, text: str) -> bool:
        try:
            data = base64.b64decode(text.rpartition("base64,")[2], validate=True)
        except ValueError:
            return False
        return data in self._native.payloads or base64.b64encode(data).decode() in self._native.texts

    def _has_media(self, part: Part, blobs: BlobStore) -> bool:
        if part.blob is not None:
            data = blobs.get_blob(part.blob)
            if data in self._native.payloads or base64.b64encode(data).decode() in self._native.texts:
                return True
            return self._has_text(data.decode("utf-8", "replace"))  # text files go as text where there is no other way
        facts = {**(thaw(part.provider_raw) or {}), **(thaw(part.json) or {})}
        places = [facts[key] for key in ("url", "file_id", "s3_uri", "file_uri") if isinstance(facts.get(key), str)]
        return any(self._has_text(place) for place in places)

    def _miscounted(self, messages: tuple[Message, ...]) -> str | None:
        """Compare the number of tool results, with the mends that the plan tells of."""
        wanted = sum(
            part.type == "tool_result" and not self._is_excluded(m, p)
            for m, message in enumerate(messages)
            for p, part in enumerate(message.parts)
        )
        wanted += self._warnings.count("has no result") - self._warnings.count("answers no call")
        return (
            f"{wanted} tool results, of which {self._native.results} are sent"
            if self._native.results < wanted
            else None
        )

    def _unset(self, spec: RunSpec) -> str | None:
        """Look for the tools and settings."""
        for tool in spec.tools:
            if not self._has_text(tool.name) and "tools" not in self._excluded:
                return "a tool"
        for name in SETTINGS:
            value = getattr(spec, name)
            if value is not None and value not in self._native.numbers and not self._is_told(name):
                return name
        if spec.response_schema is not None and not self._is_told("response_schema"):
            words = {key for key in _keys(thaw(spec.response_schema)) if len(key) > 1} - WRAPPING
            if not any(key in self._native.keys or key in self._native.texts for key in words or {""}):
                return "response_schema"
        return self._untold_tools(spec) or self._untold_extra(spec)

    def _untold_tools(self, spec: RunSpec) -> str | None:
        """Count the tools that the source's provider runs itself: none of them can be taken along."""
        extra = thaw(spec.extra_body)
        config = extra.get("toolConfig")
        listed = extra.get("tools") or (config.get("tools") if isinstance(config, dict) else None) or []
        names = {tool.name for tool in spec.tools}
        own = sum(not names & set(_names(tool)) for tool in listed if isinstance(tool, dict) and tool)
        told = sum(description.startswith("tools[") for description in self._excluded)
        return f"{own} tools of the provider's own, of which {told} are told" if told < own else None

    def _untold_extra(self, spec: RunSpec) -> str | None:
        """Look for every setting that canon has no field for: carried under another name, or told."""
        spelt = SPELT + (SPELT_SCHEMAS if spec.response_schema is not None else ())
        if spec.tool_choice is not None:
            spelt += (("toolConfig", "toolChoice"),)
        for path, value in _settings(thaw(spec.extra_body)):
            if path[0] in STREAMING or any(path[: len(known)] == known for known in spelt):
                continue
            if value in PLAIN_TEXT and path[-1] in ("type", "responseMimeType", "format"):
                continue
            if any(self._is_told("stop" if key in STOPS else key) for key in path) or self._is_carried(value):
                continue
            if isinstance(value, bool) and path[-1] in self._native.keys:
                continue
            return f"extra_body.{'.'.join(path)}"
        return None

    def _is_carried(self, value: Any) -> bool:
        if isinstance(value, str):
            return self._has_text(value)
        if isinstance(value, list):
            return all(self._is_carried(item) for item in value)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value is None or (is_number and value in self._native.numbers)

    def _is_told(self, name: str) -> bool:
        return any(name in description for description in self._excluded) or name in self._warnings


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)


def _settings(value: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, item in value.items():
        if isinstance(item, dict):
            yield from _settings(item, (*path, key))
        else:
            yield (*path, key), item


def _names(tool: Json) -> Iterator[str]:
    """The functions that one entry of a list of tools declares, in any provider's form."""
    for value in (tool, tool.get("function"), tool.get("toolSpec")):
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            yield value["name"]
    for declared in tool.get("functionDeclarations") or tool.get("function_declarations") or ():
        yield from _names(declared)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys(item)


def _escaped(text: str) -> str:
    return orjson.dumps(text).decode()[1:-1]
