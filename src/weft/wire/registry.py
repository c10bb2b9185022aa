"""Finding a dialect: by its name, or by the look of a body.

Dialects are loaded when they are asked for, so that a program that speaks to one provider does not pay for eight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from weft.errors import UsageError
from weft.plugins import added
from weft.wire.body import as_body
from weft.wire.codec import Dialect

__all__ = ["DIALECTS", "detect", "dialect", "dialects"]

# Name: where it is, and the other names it answers to.
DIALECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "openai_chat": ("weft.wire.openai_chat:DIALECT", ("openai.chat", "openai", "chat.completions")),
    "openai_responses": ("weft.wire.openai_responses:DIALECT", ("openai.responses", "responses", "responses.create")),
    "openai_responses_compact": (
        "weft.wire.openai_responses:COMPACT",
        ("openai.responses.compact", "responses.compact"),
    ),
    "openai_images": ("weft.wire.openai_images:DIALECT", ("openai.images", "images.generate")),
    "anthropic": ("weft.wire.anthropic:DIALECT", ("anthropic.messages", "claude", "messages.create")),
    "gemini": (
        "weft.wire.gemini:DIALECT",
        ("google.generate_content", "google.stream_generate_content", "google", "models.generate_content"),
    ),
    "bedrock": ("weft.wire.bedrock:DIALECT", ("bedrock.converse", "bedrock.converse_stream", "converse")),
    "cohere": ("weft.wire.cohere:DIALECT", ("cohere.chat",)),
    "ollama": ("weft.wire.ollama:DIALECT", ("ollama.chat",)),
}
Messages = list[Mapping[str, Any]]
_DATED = re.compile(r"_20\d{6}$")  # how Anthropic names the versions of its own tools
_NAMES = {alias: name for name, (_, aliases) in DIALECTS.items() for alias in (name, *aliases)}


def dialect(name: str) -> Dialect:
    """Give a dialect by its name or one of its other names; see `DIALECTS`."""
    known = _NAMES.get(name)
    if known is None and (plugged := _plugged().get(name)) is not None:
        return plugged
    if known is None:
        raise UsageError(f"no dialect is called {name!r}\n  known: {', '.join(DIALECTS)}")
    return _load(known)


def dialects() -> Iterator[Dialect]:
    """Give every dialect, those of plugins too."""
    yield from (_load(name) for name in DIALECTS)
    yield from dict.fromkeys(_plugged().values())


@cache
def _plugged() -> dict[str, Dialect]:
    """Give the dialects that plugins bring, by each of their names; a name that is taken stays with whom it has."""
    found: dict[str, Dialect] = {}
    for plugin, given in added("weft_dialects"):
        if not isinstance(given, Dialect):
            raise UsageError(f"plugin {plugin}: weft_dialects gives Dialect records, not {type(given).__name__}")
        found |= {name: given for name in (given.name, *given.aliases) if name not in _NAMES}
    return found


@cache
def _load(name: str) -> Dialect:
    module, _, attribute = DIALECTS[name][0].partition(":")
    found: Dialect = getattr(import_module(module), attribute)
    return found


def detect(body: Any) -> str | None:
    """Guess the dialect of a request or response body by the keys only that dialect has; None if nothing tells."""
    body = as_body(body)
    return _detect_request(body) or _detect_response(body)


def _detect_request(body: Mapping[str, Any]) -> str | None:
    if "contents" in body or "systemInstruction" in body or "system_instruction" in body:
        return "gemini"
    if any(key in body for key in ("inferenceConfig", "toolConfig", "modelId", "additionalModelRequestFields")):
        return "bedrock"
    if "previous_response_id" in body or ("input" in body and not isinstance(body["input"], Mapping)):
        return "openai_responses"
    if "prompt" in body and ("size" in body or _model(body).startswith(("dall-e", "gpt-image"))):
        return "openai_images"
    given = body.get("messages")
    if not isinstance(given, (list, tuple)):
        return "openai_responses" if isinstance(body.get("prompt"), Mapping) or "conversation" in body else None
    messages = [message for message in given if isinstance(message, Mapping)]
    blocks = [block for message in messages for block in _blocks(message)]
    if any("toolUse" in block or "toolResult" in block for block in blocks):
        return "bedrock"
    if blocks and all(len(block) == 1 and "type" not in block for block in blocks):
        return "bedrock"
    if _says_anthropic(body, messages, blocks):
        return "anthropic"
    if _says_cohere(body, messages):
        return "cohere"
    if "stop_sequences" in body:  # `stop` in chats
        return "anthropic" if "max_tokens" in body else "cohere"
    return "ollama" if _says_ollama(body, messages) else "openai_chat"


def _model(body: Mapping[str, Any]) -> str:
    model = body.get("model")
    return model if isinstance(model, str) else ""


def _says_anthropic(body: Mapping[str, Any], messages: Messages, blocks: Messages) -> bool:
    if "system" in body or "anthropic_version" in body or "output_config" in body:
        return True
    if any("input_schema" in tool for tool in _mappings(body.get("tools"))):
        return True
    if any(_DATED.search(str(tool.get("type"))) for tool in _mappings(body.get("tools"))) or "mcp_servers" in body:
        return True
    ours, sourced = (
        ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"),
        ("image", "document"),
    )
    if any(block.get("type") in ours or (block.get("type") in sourced and "source" in block) for block in blocks):
        return True
    # A bare question: only the model tells, if nothing speaks for a gateway that takes Claude's models in chat's way.
    roles = ("system", "developer", "tool")
    if any(message.get("role") in roles or "tool_calls" in message for message in messages):
        return False
    functions = any("function" in tool for tool in _mappings(body.get("tools")))
    return not functions and _model(body).startswith("claude") and "max_tokens" in body


def _says_cohere(body: Mapping[str, Any], messages: Messages) -> bool:
    if any(key in body for key in ("citation_options", "safety_mode", "strict_tools", "p", "k")):
        return True
    if any("tool_plan" in message for message in messages):
        return True
    return _model(body).startswith(("command-", "c4ai-")) and "stream_options" not in body


def _says_ollama(body: Mapping[str, Any], messages: Messages) -> bool:
    if any(key in body for key in ("keep_alive", "options", "format", "think")):
        return True
    for message in messages:
        if isinstance(message.get("images"), (list, tuple)) or "tool_name" in message:
            return True
        for call in _mappings(message.get("tool_calls")):
            match call:
                case {"function": {"arguments": Mapping()}}:  # a text, in all the others
                    return True
    return False


def _mappings(value: Any) -> Messages:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, (list, tuple)) else []


def _blocks(message: Mapping[str, Any]) -> Messages:
    return _mappings(message.get("content"))


def _detect_response(body: Mapping[str, Any]) -> str | None:
    match body:
        case {"candidates": _} | {"usageMetadata": _} | {"promptFeedback": _} | {"modelVersion": _}:
            return "gemini"
        case {"usage_metadata": _} | {"prompt_feedback": _} | {"model_version": _}:  # as the SDK has it
            return "gemini"
        case {"error": {"code": int(), "status": str()}}:
            return "gemini"
        case {"choices": _}:
            return "openai_chat"
        case {"object": "response.compaction"}:
            return "openai_responses_compact"
        case {"object": "response"} | {"output": [*_]}:
            return "openai_responses"
        case {"output": {"message": _}} | {"stopReason": _}:
            return "bedrock"
        case {"type": "message", "content": _} | {"type": "error", "error": _}:
            return "anthropic"
        case {"message": {"role": _}, "done": _}:
            return "ollama"
        case {"message": {"role": _}, "finish_reason": _}:
            return "cohere"
        case {"data": [{"b64_json": _} | {"url": _}, *_]}:
            return "openai_images"
    return None
