"""Anthropic's Messages. The same function reads what was sent and what came back [C-30]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.trace.extract.draft import (
    Draft,
    ToolDraft,
    call,
    digest_of,
    json_of,
    mappings,
    server_tool,
    text_of,
    tool_uses,
)

__all__ = ["element", "response", "system", "tools"]


def system(request: Mapping[str, Any]) -> list[Draft]:
    """Read the instructions: a message for each block, or one."""
    given = request.get("system")
    if given is None:
        return []
    if not isinstance(given, list):
        return [Draft("system", text_of(given))]
    return [Draft("system", _text(block)) for block in given]


def _text(block: Any) -> str:
    if isinstance(block, dict) and block.get("type") == "text":
        return text_of(block.get("text"))
    return text_of(block) if not isinstance(block, dict) else _json(block)


def _json(block: Mapping[str, Any]) -> str:
    # The cache mark moves from block to block with every request; it is no part of what is said.
    return json_of({key: value for key, value in block.items() if key != "cache_control"})


def element(message: Any) -> list[Draft]:
    """Read one message, block by block in order; all its calls are one message at the end [C-29]."""
    if not isinstance(message, dict):
        return [Draft("user", text_of(message))]
    role = message.get("role")
    return _content(message.get("content"), role if role in ("assistant", "system") else "user")


def _content(content: Any, role: str) -> list[Draft]:
    if not isinstance(content, list):
        return [Draft(role, text_of(content))]
    drafts: list[Draft] = []
    calls = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use":
            calls.append(call(block.get("name"), _input(block.get("input")), block.get("id")))
        elif kind == "tool_result":
            drafts.append(_result(block))
        elif kind == "text":
            drafts.append(Draft(role, text_of(block.get("text"))))
        elif kind == "thinking":
            if text := text_of(block.get("thinking")):
                drafts.append(Draft("thinking", text))
        elif kind == "redacted_thinking":
            drafts.append(Draft("thinking", "[redacted]", hidden=digest_of(block.get("data"))))
        elif kind == "image":
            drafts.append(Draft(role, "[image]", hidden=digest_of(block.get("source"))))
        else:
            drafts.append(Draft(role, _text(block)))
    return drafts + tool_uses(calls)


def _input(given: Any) -> Any:
    match given:
        case {"_raw": str(text)} if len(given) == 1:  # how the stream decoder keeps arguments that were cut off
            return {"raw": text}
    return given


def _result(block: Mapping[str, Any]) -> Draft:
    content = block.get("content")
    hidden = b""
    if isinstance(content, list):
        texts = []
        for item in content:
            if isinstance(item, dict) and item.get("type") == "image":
                texts.append("[image]")
                hidden += digest_of(item.get("source"))
            else:
                texts.append(_text(item))
        text = "\n".join(texts)
    else:
        text = text_of(content)
    use_id = block.get("tool_use_id")
    return Draft(
        "tool_result",
        text,
        None,
        None if use_id is None else text_of(use_id),
        is_error=block.get("is_error") is True,
        hidden=hidden,
    )


def response(body: Mapping[str, Any]) -> list[Draft]:
    """Read a whole response [C-30, C-31]."""
    content = body.get("content")
    return _content(content, "assistant") if content else []


def tools(request: Mapping[str, Any]) -> list[ToolDraft]:
    """Read the tools a request offers; one with a type and no schema is Anthropic's own [C-40]."""
    drafts = []
    for tool in mappings(request.get("tools")):
        if "input_schema" not in tool and tool.get("type") not in (None, "custom"):
            drafts.append(server_tool(tool, ("cache_control",)))
        else:
            drafts.append(
                ToolDraft(text_of(tool.get("name")), text_of(tool.get("description")), tool.get("input_schema"))
            )
    return drafts
