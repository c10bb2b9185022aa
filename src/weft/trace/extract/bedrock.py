"""Amazon's Converse: blocks named by their only key, otherwise read as Anthropic's are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.trace.extract.draft import Draft, ToolDraft, call, digest_of, json_of, mappings, text_of, tool_uses

__all__ = ["element", "response", "system", "tools"]


def system(request: Mapping[str, Any]) -> list[Draft]:
    """Read the instructions: a message for each block; cache marks say nothing."""
    return [
        Draft("system", text_of(block["text"]) if "text" in block else json_of(block))
        for block in mappings(request.get("system"))
        if "cachePoint" not in block
    ]


def element(message: Any) -> list[Draft]:
    """Read one message, block by block in order; all its calls are one message at the end."""
    if not isinstance(message, dict):
        return [Draft("user", text_of(message))]
    role = "assistant" if message.get("role") == "assistant" else "user"
    content = message.get("content")
    if not isinstance(content, list):
        return [Draft(role, text_of(content))]
    drafts: list[Draft] = []
    calls = []
    for block in content:
        match block:
            case {"text": text}:
                drafts.append(Draft(role, text_of(text)))
            case {"toolUse": {"name": name, **use}}:
                calls.append(call(name, _input(use.get("input")), use.get("toolUseId")))
            case {"toolResult": Mapping() as result}:
                drafts.append(_result(result))
            case {"reasoningContent": {"reasoningText": {"text": str(text)}}}:
                drafts += [Draft("thinking", text)] if text else []
            case {"reasoningContent": {"redactedContent": data}}:
                drafts.append(Draft("thinking", "[redacted]", hidden=digest_of(data)))
            case {"image": image}:
                drafts.append(Draft(role, "[image]", hidden=digest_of(image)))
            case {"cachePoint": _}:
                pass
            case _:
                drafts.append(Draft(role, text_of(block)))
    return drafts + tool_uses(calls)


def _input(given: Any) -> Any:
    match given:
        case {"_raw": str(text)} if len(given) == 1:  # how the stream decoder keeps arguments that were cut off
            return {"raw": text}
    return given


def _result(result: Mapping[str, Any]) -> Draft:
    texts = []
    hidden = b""
    content = result.get("content")
    for item in content if isinstance(content, list) else [content]:
        match item:
            case {"text": text}:
                texts.append(text_of(text))
            case {"json": value}:
                texts.append(json_of(value))
            case {"image": image}:
                texts.append("[image]")
                hidden += digest_of(image)
            case _:
                texts.append(text_of(item))
    use_id = result.get("toolUseId")
    return Draft(
        "tool_result",
        "\n".join(texts),
        None,
        None if use_id is None else text_of(use_id),
        is_error=result.get("status") == "error",
        hidden=hidden,
    )


def response(body: Mapping[str, Any]) -> list[Draft]:
    """Read a whole response."""
    match body:
        case {"output": {"message": Mapping() as message}}:
            return element({**message, "role": "assistant"})
    return []


def tools(request: Mapping[str, Any]) -> list[ToolDraft]:
    """Read the tools a request offers."""
    config = request.get("toolConfig")
    drafts = []
    for tool in mappings(config.get("tools")) if isinstance(config, dict) else ():
        match tool:
            case {"toolSpec": Mapping() as held}:
                schema = held.get("inputSchema")
                parameters = schema.get("json") if isinstance(schema, dict) else schema
                drafts.append(ToolDraft(text_of(held.get("name")), text_of(held.get("description")), parameters))
            case {"cachePoint": _}:
                pass
            case _:
                for name, config in tool.items():
                    named = config.get("name") if isinstance(config, dict) else None
                    drafts.append(ToolDraft(named or name, "", config, is_server_side=True))
    return drafts
