"""OpenAI's Chat Completions, and the many who speak it; Ollama's and Cohere's chats, which differ in a few fields.

Beyond the published rules: Ollama's `images` and `thinking` beside the content, Cohere's `tool_plan` and thinking
blocks, and the old completions, whose prompt is one message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.trace.extract.draft import (
    Draft,
    ToolDraft,
    digest_of,
    image_text,
    json_of,
    mappings,
    server_tool,
    text_of,
    tool_calls,
)

__all__ = ["element", "prompt", "response", "system", "tools"]

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool_result",
    "function": "tool_result",
}
_REASONING = ("reasoning_content", "reasoning", "thinking")


def system(_request: Mapping[str, Any]) -> list[Draft]:
    """Give what stands outside the messages: nothing."""
    return []


def prompt(request: Mapping[str, Any]) -> list[Draft]:
    """Give the messages of a request that has no list of them: an old completion's prompt."""
    given = request.get("prompt")
    if isinstance(given, str):
        return [Draft("user", given)]
    if isinstance(given, list):
        return [Draft("user", text_of(each)) for each in given]
    return []


def element(message: Any) -> list[Draft]:
    """Read one message, of a request or of a response [C-23 to C-28]."""
    if not isinstance(message, dict):
        return [Draft("user", text_of(message))]
    role = _ROLES.get(message.get("role") or "", "user")
    content = message.get("content")
    if role == "tool_result":
        return [_result(message, content)]
    calls = tool_calls(message) if role == "assistant" else []
    drafts = [Draft("thinking", text, loose=True) for text in _reasoning(message)] if role == "assistant" else []
    if isinstance(content, list):
        drafts += [_item(item, role) for item in content]
        if calls:
            drafts.append(Draft("tool_use", "", calls))
    else:
        text = text_of(content)
        if not text and calls and isinstance(message.get("tool_plan"), str):
            text = message["tool_plan"]
        drafts.append(Draft("tool_use", text, calls) if calls else Draft(role, text))
    images = message.get("images")
    if isinstance(images, list):
        drafts += [Draft(role, "[image]", hidden=digest_of(image)) for image in images]
    return drafts


def _reasoning(message: Mapping[str, Any]) -> list[str]:
    """Give the reasoning told beside the content; the same text under two names is one."""
    for name in _REASONING:
        text = message.get(name)
        if isinstance(text, str) and text:
            return [text]
    return []


def _item(item: Any, role: str) -> Draft:
    match item:
        case str():
            return Draft(role, item)
        case {"type": "text", "text": str(text)}:
            return Draft(role, text)
        case {"type": "text"}:
            return Draft(role, text_of(item.get("text")))
        case {"type": "thinking", "thinking": str(text)}:  # Cohere
            return Draft("thinking", text, loose=True)
        case {"type": "thinking", "thinking": list(inner)}:  # Mistral
            said = "".join(text_of(each.get("text")) for each in mappings(inner))
            return Draft("thinking", said, loose=True)
        case {"type": "image_url", "image_url": given}:
            shown, hidden = image_text(given.get("url") if isinstance(given, dict) else given)
            return Draft(role, shown, hidden=hidden)
    return Draft(role, json_of(item))


def _result(message: Mapping[str, Any], content: Any) -> Draft:
    hidden = b""
    if isinstance(content, list):
        items = [_item(item, "tool_result") for item in content]
        text = "\n".join(item.content for item in items)
        hidden = b"".join(item.hidden for item in items)
    else:
        text = text_of(content)
    call_id = message.get("tool_call_id")
    if call_id is None:
        call_id = message.get("tool_name")  # Ollama's
    return Draft(
        "tool_result", text, None, None if call_id is None else text_of(call_id), is_error=False, hidden=hidden
    )


def response(body: Mapping[str, Any]) -> list[Draft]:
    """Read a whole response: its first choice, or the one message that Ollama and Cohere give [C-27]."""
    choices = mappings(body.get("choices"))
    if choices:
        message = choices[0].get("message")
        if isinstance(message, dict):
            return element({**message, "role": "assistant"})
        text = choices[0].get("text")
        return [Draft("assistant", text)] if isinstance(text, str) else []
    message = body.get("message")
    return element({**message, "role": "assistant"}) if isinstance(message, dict) else []


def tools(request: Mapping[str, Any]) -> list[ToolDraft]:
    """Read the tools a request offers, old `functions` too [C-39, C-40]."""
    drafts = []
    for tool in mappings(request.get("tools")):
        held = tool.get("function")
        if tool.get("type", "function") == "function" and isinstance(held, dict):
            drafts.append(_function(held))
        elif tool.get("type") == "function":
            drafts.append(_function(tool))
        else:
            drafts.append(server_tool(tool))
    return drafts + [_function(held) for held in mappings(request.get("functions"))]


def _function(held: Mapping[str, Any]) -> ToolDraft:
    return ToolDraft(text_of(held.get("name")), text_of(held.get("description")), held.get("parameters"))
