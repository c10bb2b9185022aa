"""The parts of UIMessages under the names of now: versions 3 and 4 of the AI SDK had others, and said some beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.formats.foreign import text

__all__ = ["BESIDE_PARTS", "parts_of"]

# What older versions said of a message beside its parts, and is among them here.
BESIDE_PARTS = ("content", "toolInvocations", "experimental_attachments", "reasoning")


def parts_of(said: Mapping[str, Any]) -> list[Any]:
    """Give the parts of a message as they are called now."""
    given = said.get("parts")
    if isinstance(given, list) and given:
        parts = [_renamed(part) for part in given]
    else:
        calls = said.get("toolInvocations")
        thought, content = said.get("reasoning"), said.get("content")
        parts = [{"type": "reasoning", "text": thought}] if isinstance(thought, str) and thought else []
        parts += [_invoked(call) for call in (calls if isinstance(calls, list) else ()) if isinstance(call, dict)]
        parts += [{"type": "text", "text": content}] if isinstance(content, str) and (content or not parts) else []
    attached = said.get("experimental_attachments")
    for each in attached if isinstance(attached, list) else ():
        if isinstance(each, dict):
            kind = text(each.get("contentType")) or "application/octet-stream"
            parts.append({"type": "file", "mediaType": kind, **_as(each, name="filename", url="url")})
    return parts


def _as(given: Mapping[str, Any], **names: str) -> dict[str, Any]:
    return {name: given[key] for key, name in names.items() if given.get(key) is not None}


def _renamed(part: Any) -> Any:
    match part:
        case {"type": "tool-invocation", "toolInvocation": dict(call)}:
            return _invoked(call)
        case {"type": "reasoning", "reasoning": str(words)}:
            made: dict[str, Any] = {"type": "reasoning", "text": words}
            match part.get("details"):
                case [{"type": "text", "signature": str(seal)}]:
                    made["providerMetadata"] = {"anthropic": {"signature": seal}}
            return made
        case {"type": "file", "mimeType": str(kind), "data": str(data)}:
            return {"type": "file", "mediaType": kind, "url": f"data:{kind};base64,{data}"}
        case {"type": "source", "source": {"sourceType": "url"} as found}:
            return {"type": "source-url", **_as(found, id="sourceId", url="url", title="title")}
    return part


def _invoked(call: Mapping[str, Any]) -> dict[str, Any]:
    """Give a call as versions 3 and 4 had it as one of now."""
    made = {"type": f"tool-{call.get('toolName')}", "toolCallId": call.get("toolCallId")}
    made |= {"state": "output-available" if "result" in call else "input-available", "input": call.get("args")}
    return made | ({"output": call["result"]} if "result" in call else {})
