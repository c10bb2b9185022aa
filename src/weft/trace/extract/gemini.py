"""Google's generateContent, in either spelling of its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.trace.extract.draft import Draft, ToolDraft, call, digest_of, json_of, mappings, text_of, tool_uses

__all__ = ["element", "response", "system", "tools"]

_DECLARATIONS = ("functionDeclarations", "function_declarations")
_KNOWN = {
    "googleSearch": "Google Search, run by the provider",
    "googleSearchRetrieval": "Google Search retrieval, run by the provider",
    "codeExecution": "Code execution, run by the provider",
}
_SILENT = frozenset({"thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata"})


def get(held: Mapping[str, Any], camel: str, snake: str) -> Any:
    """Give a field by either name."""
    value = held.get(camel)
    return held.get(snake) if value is None else value


def system(request: Mapping[str, Any]) -> list[Draft]:
    """Read the system instruction: a message for each text that is not empty."""
    given = get(request, "systemInstruction", "system_instruction")
    parts = given.get("parts") if isinstance(given, dict) else given
    if isinstance(parts, (str, dict)):
        parts = [parts]
    texts = [each if isinstance(each, str) else _plain(each) for each in parts or ()] if isinstance(parts, list) else []
    return [Draft("system", text) for text in texts if text]


def _plain(part: Any) -> str:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    return json_of(part) if part else ""


def element(content: Any) -> list[Draft]:
    """Read one content entry: results, then thinking, then all texts as one, then all calls [C-32 to C-34]."""
    if not isinstance(content, dict):
        return [Draft("user", text_of(content))]
    role = "assistant" if content.get("role") == "model" else "user"
    parts = content.get("parts")
    if isinstance(parts, (str, dict)):
        parts = [parts]
    results: list[Draft] = []
    thoughts: list[Draft] = []
    texts: list[str] = []
    calls = []
    hidden = b""
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            texts.append(text_of(part))
            continue
        if isinstance(answer := get(part, "functionResponse", "function_response"), dict):
            results.append(_result(answer))
        elif isinstance(asked := get(part, "functionCall", "function_call"), dict):
            calls.append(call(asked.get("name"), asked.get("args"), asked.get("id")))
        elif isinstance(text := part.get("text"), str):
            if part.get("thought") is True:
                thoughts += [Draft("thinking", text)] if text else []
            else:
                texts.append(text)
        elif (shown := _shown(part)) is not None:
            texts.append(shown[0])
            hidden += shown[1]
    said = "".join(texts)
    return [*results, *thoughts, *([Draft(role, said, hidden=hidden)] if said else []), *tool_uses(calls)]


def _shown(part: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Give what stands for a part without text, and what tells it apart; None for one that says nothing."""
    data = get(part, "inlineData", "inline_data")
    if data is None:
        data = get(part, "fileData", "file_data")
    if isinstance(data, dict):
        kind = text_of(get(data, "mimeType", "mime_type"))
        return ("[image]" if kind.startswith("image/") or not kind else f"[{kind}]"), digest_of(data)
    if any(key not in _SILENT and value is not None for key, value in part.items()):
        return json_of(part), b""
    return None


def _result(answer: Mapping[str, Any]) -> Draft:
    given = answer.get("response")
    is_error = False
    if isinstance(given, dict) and "content" in given:
        content = text_of(given["content"])
    else:
        content = text_of(given)
        is_error = isinstance(given, dict) and "error" in given
    use_id = answer.get("id")
    if use_id is None:
        use_id = answer.get("name")
    return Draft("tool_result", content, None, None if use_id is None else text_of(use_id), is_error=is_error)


def response(body: Mapping[str, Any]) -> list[Draft]:
    """Read a whole response: its first candidate [C-35]."""
    candidates = mappings(body.get("candidates"))
    content = candidates[0].get("content") if candidates else None
    return element({**content, "role": "model"}) if isinstance(content, dict) else []


def tools(request: Mapping[str, Any]) -> list[ToolDraft]:
    """Read the tools a request offers; every key beside the declarations is a tool of Google's [C-40]."""
    given = request.get("tools")
    drafts = []
    for tool in mappings([given] if isinstance(given, dict) else given):
        for key, value in tool.items():
            if key in _DECLARATIONS:
                drafts += [_declared(each) for each in mappings(value)]
            elif value is not None:
                parameters = value if isinstance(value, dict) else {}
                drafts.append(ToolDraft(key, _description(key), parameters, is_server_side=True))
    return drafts


def _description(key: str) -> str:
    first, *more = key.split("_")
    return _KNOWN.get(first + "".join(word.capitalize() for word in more), f"{key}, run by the provider")


def _declared(held: Mapping[str, Any]) -> ToolDraft:
    parameters = held.get("parameters")
    if parameters is None:
        parameters = get(held, "parametersJsonSchema", "parameters_json_schema")
    return ToolDraft(text_of(held.get("name")), text_of(held.get("description")), parameters)
