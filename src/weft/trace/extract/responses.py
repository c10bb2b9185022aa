"""OpenAI's Responses: items instead of messages, read one by one, alike in a request and in a response.

Each item is its own message, parallel calls too, so that an answer's items are found again when they are sent back.
Reasoning is loose: most clients leave it out, or the server keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.trace.extract.draft import (
    Draft,
    ToolDraft,
    call,
    image_text,
    json_of,
    mappings,
    server_tool,
    text_of,
    tool_uses,
)

__all__ = ["element", "prompt", "response", "system", "tools"]

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def system(request: Mapping[str, Any]) -> list[Draft]:
    """Read the instructions."""
    given = request.get("instructions")
    return [] if given is None else [Draft("system", text_of(given))]


def prompt(request: Mapping[str, Any]) -> list[Draft]:
    """Read an input that is not a list."""
    given = request.get("input")
    return [] if given is None else [Draft("user", text_of(given))]


def element(item: Any) -> list[Draft]:
    """Read one item."""
    if not isinstance(item, dict):
        return [Draft("user", text_of(item))]
    kind = item.get("type")
    if kind in (None, "message") and ("role" in item or "content" in item):
        return _message(item)
    if kind == "function_call":
        return tool_uses([call(item.get("name"), item.get("arguments"), item.get("call_id"))])
    if kind == "custom_tool_call":
        return tool_uses([call(item.get("name"), {"raw": text_of(item.get("input"))}, item.get("call_id"))])
    if kind == "reasoning":
        return _reasoning(item)
    if isinstance(kind, str) and kind.endswith("_output") and "call_id" in item:
        return [_result(item)]
    return [Draft("assistant", json_of(item))]


def _message(item: Mapping[str, Any]) -> list[Draft]:
    role = _ROLES.get(item.get("role") or "", "user")
    content = item.get("content")
    if not isinstance(content, list):
        return [Draft(role, text_of(content))]
    return [_block(block, role) for block in content]


def _block(block: Any, role: str) -> Draft:
    match block:
        case str():
            return Draft(role, block)
        case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
            return Draft(role, text)
        case {"type": "refusal", "refusal": str(text)}:
            return Draft(role, text)
        case {"type": "input_image", "image_url": str(url)}:
            shown, hidden = image_text(url)
            return Draft(role, shown, hidden=hidden)
    return Draft(role, json_of(block))


def _reasoning(item: Mapping[str, Any]) -> list[Draft]:
    texts = [_block(block, "").content for key in ("summary", "content") for block in mappings(item.get(key))]
    return [Draft("thinking", "\n\n".join(texts), loose=True)] if any(texts) else []


def _result(item: Mapping[str, Any]) -> Draft:
    output = item.get("output")
    hidden = b""
    if isinstance(output, list):
        blocks = [_block(block, "tool_result") for block in output]
        text = "\n".join(block.content for block in blocks)
        hidden = b"".join(block.hidden for block in blocks)
    else:
        text = text_of(output)
    return Draft("tool_result", text, None, text_of(item["call_id"]), is_error=False, hidden=hidden)


def response(body: Mapping[str, Any]) -> list[Draft]:
    """Read the output of a whole response."""
    output = body.get("output")
    return [draft for item in output for draft in element(item)] if isinstance(output, list) else []


def tools(request: Mapping[str, Any]) -> list[ToolDraft]:
    """Read the tools a request offers: functions and free-text tools are the client's, all others OpenAI's."""
    drafts = []
    for tool in mappings(request.get("tools")):
        if tool.get("type") == "function":
            drafts.append(
                ToolDraft(text_of(tool.get("name")), text_of(tool.get("description")), tool.get("parameters"))
            )
        elif tool.get("type") == "custom":
            drafts.append(server_tool(tool)._replace(is_server_side=False))
        else:
            drafts.append(server_tool(tool))
    return drafts
