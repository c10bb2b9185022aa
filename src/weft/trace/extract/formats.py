"""Which format a record is in, and what each format gives.

The first match wins, in this order: Gemini, Bedrock, Responses, Cohere, Ollama, Claude, and OpenAI for everything else.
Gemini, Claude and OpenAI are told apart as published [C-17, C-18]. The four between them are weft's: each asks for
something that none of the three has, such as a Converse block or an `input` in place of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

from weft.errors import UsageError
from weft.trace.extract import bedrock, claude, gemini, openai, responses
from weft.trace.extract.draft import Draft, ToolDraft, mappings

__all__ = ["CLAUDE_BLOCKS", "FORMATS", "Format", "detect", "format_called", "hints_of", "model_of"]

Body = Mapping[str, Any]

# What single messages say about the format of their request, as bits.
CLAUDE_BLOCKS, BEDROCK_BLOCKS, COHERE_PLAN, OLLAMA_FIELDS = 1, 2, 4, 8

_CLAUDE_KINDS = frozenset({"tool_use", "tool_result", "thinking"})
_CLAUDE_EVENTS = frozenset(
    {"message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"}
)
_CONVERSE_KEYS = frozenset({"toolUse", "toolResult", "text", "image", "document", "video", "reasoningContent"})
_CONVERSE_EVENTS = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "messageStop", "metadata"})


def _none(_request: Body) -> list[Draft]:
    return []


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is read. `list_key` holds the messages, each read by `element` without a look at the others."""

    name: str
    dialect: str  # of weft.wire, for streams
    list_key: str
    system: Callable[[Body], list[Draft]]
    element: Callable[[Any], list[Draft]]
    response: Callable[[Body], list[Draft]]
    tools: Callable[[Body], list[ToolDraft]]
    prompt: Callable[[Body], list[Draft]] = field(default=_none)  # what there is in place of a list


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format(
            "openai",
            "openai_chat",
            "messages",
            openai.system,
            openai.element,
            openai.response,
            openai.tools,
            openai.prompt,
        ),
        Format("claude", "anthropic", "messages", claude.system, claude.element, claude.response, claude.tools),
        Format("gemini", "gemini", "contents", gemini.system, gemini.element, gemini.response, gemini.tools),
        Format(
            "responses",
            "openai_responses",
            "input",
            responses.system,
            responses.element,
            responses.response,
            responses.tools,
            responses.prompt,
        ),
        Format("bedrock", "bedrock", "messages", bedrock.system, bedrock.element, bedrock.response, bedrock.tools),
        Format("cohere", "cohere", "messages", openai.system, openai.element, openai.response, openai.tools),
        Format("ollama", "ollama", "messages", openai.system, openai.element, openai.response, openai.tools),
    )
}


def format_called(name: str) -> Format:
    """Give a format by its name [C-19]."""
    found = FORMATS.get(name)
    if found is None:
        raise UsageError(f"no format is called {name!r}\n  known: auto, {', '.join(FORMATS)}")
    return found


def hints_of(message: Any) -> int:
    """Tell what one message says about the format of its request."""
    if not isinstance(message, dict):
        return 0
    hints = 0
    content = message.get("content")
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict):
                kind = block.get("type")
                if kind is None:
                    hints |= BEDROCK_BLOCKS if not _CONVERSE_KEYS.isdisjoint(block) else 0
                elif kind in _CLAUDE_KINDS if isinstance(kind, str) else False:
                    hints |= CLAUDE_BLOCKS
    if "tool_plan" in message:
        hints |= COHERE_PLAN
    if "images" in message or "tool_name" in message:
        hints |= OLLAMA_FIELDS
    return hints


def detect(record: Body, request: Body, response: Any, hints: int, events: Iterable[Any]) -> Format:
    """Tell the format of a record. `hints` are those of all its messages, `events` the data of its stream."""
    body = response if isinstance(response, dict) else {}
    first_event = _decisive(events)
    if _is_gemini(request, body, first_event):
        return FORMATS["gemini"]
    path = record.get("path")
    path = path.partition("?")[0] if isinstance(path, str) else ""
    if _is_bedrock(request, body, first_event, hints, path):
        return FORMATS["bedrock"]
    if _is_responses(request, body, first_event, path):
        return FORMATS["responses"]
    if _is_cohere(request, body, first_event, hints, path):
        return FORMATS["cohere"]
    if _is_ollama(body, first_event, hints, path):
        return FORMATS["ollama"]
    if _is_claude(request, body, first_event, hints):
        return FORMATS["claude"]
    return FORMATS["openai"]


def _decisive(events: Iterable[Any]) -> Body:
    """Give the first event of a stream that says whose it is [C-17]."""
    for event in events:
        if not isinstance(event, dict):
            continue
        inner: Any = event.get("chunk", event)  # Bedrock wraps what its models stream
        inner = inner.get("bytes", inner) if isinstance(inner, dict) else inner
        if not isinstance(inner, dict):
            continue
        kind = inner.get("type")
        if any(key in inner for key in ("candidates", "choices", "done")) or (isinstance(kind, str) and kind != "ping"):
            return inner
        if not _CONVERSE_EVENTS.isdisjoint(inner):
            return inner
    return {}


def _first_tool(request: Body) -> Body:
    tools = request.get("tools")
    if isinstance(tools, dict):
        return tools
    first = tools[0] if isinstance(tools, list) and tools else None
    return first if isinstance(first, dict) else {}


def _is_gemini(request: Body, body: Body, event: Body) -> bool:
    if any(key in request for key in ("contents", "system_instruction", "systemInstruction")):
        return True
    tool = _first_tool(request)
    if "function_declarations" in tool or "functionDeclarations" in tool:
        return True
    candidates = mappings(body.get("candidates"))
    content = candidates[0].get("content") if candidates else None
    has_parts = isinstance(content, dict) and "parts" in content and "role" in content
    return has_parts or "modelVersion" in body or "candidates" in event


def _is_bedrock(request: Body, body: Body, event: Body, hints: int, path: str) -> bool:
    if path.endswith(("/converse", "/converse-stream")) or hints & BEDROCK_BLOCKS or "toolConfig" in request:
        return True
    if not _CONVERSE_EVENTS.isdisjoint(event):
        return True
    output = body.get("output")
    return isinstance(output, dict) and "message" in output


def _is_responses(request: Body, body: Body, event: Body, path: str) -> bool:
    if "messages" not in request and ("input" in request or "previous_response_id" in request):
        return True
    kind = event.get("type")
    if isinstance(kind, str) and kind.startswith("response."):
        return True
    is_response = body.get("object") in ("response", "response.compaction") or isinstance(body.get("output"), list)
    return is_response or path.endswith(("/responses", "/responses/compact"))


def _is_cohere(request: Body, body: Body, event: Body, hints: int, path: str) -> bool:
    kind = event.get("type")
    if path.endswith("/v2/chat") or hints & COHERE_PLAN or kind in ("message-start", "content-start", "content-delta"):
        return True
    if any(key in request for key in ("citation_options", "safety_mode")):
        return True
    return isinstance(body.get("message"), dict) and "finish_reason" in body


def _is_ollama(body: Body, event: Body, hints: int, path: str) -> bool:
    if path.endswith("/api/chat") or hints & OLLAMA_FIELDS:
        return True
    return any("done" in each and isinstance(each.get("message"), dict) for each in (body, event))


def _is_claude(request: Body, body: Body, event: Body, hints: int) -> bool:
    if event.get("type") in _CLAUDE_EVENTS and "choices" not in event:
        return True
    if isinstance(request.get("system"), (list, str)) or "input_schema" in _first_tool(request):
        return True
    if hints & CLAUDE_BLOCKS:
        return True
    return isinstance(body.get("content"), list) and "choices" not in body


def model_of(format: Format, record: Body, request: Body, body: Body) -> str:
    """Give the model that was asked for; the one that answered where none was named [C-35, C-46]."""
    asked = [request.get("model"), request.get("modelId")]
    answered = [body.get("model")]
    if format.name == "gemini":
        names = [body.get("modelVersion"), *asked, _model_in(record.get("path"))]
    else:
        names = [*asked, _model_in(record.get("path")) if format.name == "bedrock" else None, *answered]
    return next((name for name in names if isinstance(name, str) and name), "")


def _model_in(path: Any) -> str | None:
    """Find the model in a path such as `/v1beta/models/gemini-2.5-pro:generateContent` or `/model/NAME/converse`."""
    parts = path.partition("?")[0].split("/") if isinstance(path, str) else []
    for before, name in pairwise(parts):
        if before in ("models", "model"):
            return unquote(name).rpartition(":")[0] if before == "models" and ":" in name else unquote(name)
    return None
