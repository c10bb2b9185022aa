"""LangChain's messages: what `messages_to_dict` gives, and its serialised constructors (`dumpd`).

Content is text, or a list of its content blocks; tool calls stand beside it, and are put where a block of theirs says,
else after the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Message,
    Opening,
    Part,
    Piece,
    Role,
    Transcript,
    Usage,
    output_text,
    read_arguments,
    thaw,
)
from weft.formats.foreign import (
    base64_of,
    counted,
    is_failed,
    listed,
    media,
    need_object,
    objects,
    rest,
    signature_of,
    signed_thinking,
    text,
    unknown,
)
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "langchain"
_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "tool",
}
_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
_TYPES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
_SAID = ("content", "type", "id", "tool_calls", "usage_metadata", "tool_call_id", "status")
_EMPTY: Mapping[str, Any] = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "invalid_tool_calls": []}
_FINISHED = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length", "STOP": "stop"}
_COUNTS = (("input_tokens",), ("output_tokens",), ("total_tokens",))


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation: an array of messages, or a line each."""
    shelf = Shelf()
    yield Opening()
    before: tuple[str, ...] = ()
    for number, (place, said) in enumerate(objects(source), 1):
        entry = _entry(said, number, before, shelf, place)
        before = (entry.id,)
        yield entry
    yield Closing()


def _entry(said: dict[str, Any], number: int, before: tuple[str, ...], shelf: Shelf, place: str) -> Entry:
    kind, data = _opened(said, place)
    role = _ROLES.get(kind) or _ROLES.get(str(data.get("role")), "user")
    about = data.get("response_metadata")
    about = about if isinstance(about, dict) else {}
    provider = text(about.get("model_provider"))
    parts = _parts(data, provider, shelf)
    if role == "tool":
        parts = [_result(data)]
    kept = {key: value for key, value in rest(data, *_SAID).items() if _EMPTY.get(key, data) != value}
    if kind not in _TYPES.values() or _ROLES[kind] != role:
        kept["type"] = kind
    if role == "tool":
        kept.pop("name", None)
    reason = text(about.get("finish_reason")) or text(about.get("stop_reason"))
    return Entry(
        str(number),
        Message(role, parts, text(data.get("id")), provider, None, UNTIMED),
        before,
        text(about.get("model_name")) or text(about.get("model")),
        _FINISHED.get(reason, reason) if reason else None,
        counted(data.get("usage_metadata"), *_COUNTS),
        {NAME: kept} if kept else {},
        shelf.taken(),
    )


def _opened(said: dict[str, Any], place: str) -> tuple[str, dict[str, Any]]:
    """Give a message's type and fields, however it was written."""
    match said:
        case {"lc": _, "kwargs": dict(fields), "id": [*_, str(name)]}:
            return text(fields.get("type")) or _CLASSES.get(name, name), fields
        case {"type": str(kind), "data": dict(fields)}:
            return kind, fields
    return str(said.get("type")), need_object(said, place)


def _parts(data: dict[str, Any], provider: str | None, shelf: Shelf) -> list[Part]:
    content = data.get("content")
    blocks = content if isinstance(content, list) else [content] if content else []
    calls = [each for each in listed(data.get("tool_calls")) if isinstance(each, dict)]
    known = {text(call.get("id")) for call in calls}
    parts = []
    for block in blocks:
        is_call = isinstance(block, dict) and block.get("type") in ("tool_use", "tool_call", "function_call")
        if not (is_call and (text(block.get("id")) in known or text(block.get("call_id")) in known)):
            parts.append(_part(block, provider, shelf))
    for call in calls:
        arguments = read_arguments(call.get("args"))
        name = text(call.get("name")) or ""
        parts.append(Part("tool_call", tool_call_id=text(call.get("id")), tool_name=name, tool_args=arguments))
    return parts


def _part(block: Any, provider: str | None, shelf: Shelf) -> Part:
    match block:
        case str():
            return Part("text", block)
        case {"type": "text", "text": str(words)}:
            kept = rest(block, "type", "text")
            return Part("text", words, provider_raw={NAME: kept} if kept else None)
        case {"type": "reasoning", "reasoning": str(words)}:
            extras = block.get("extras")
            signature = block.get("signature") or (extras.get("signature") if isinstance(extras, dict) else None)
            return signed_thinking(words, provider, signature, NAME)
        case {"type": "thinking", "thinking": str(words)}:
            return signed_thinking(words, provider or "anthropic", block.get("signature"), NAME)
        case {"type": "image" | "audio" | "video" | "file", "base64": str(data)}:
            return media(shelf, data, block.get("mime_type"), unknown(NAME, block))
        case {"type": "image" | "audio" | "video" | "file" as kind, "url": str(url)}:
            return Part(kind, json={"url": url})
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return Part("image", json={"url": url})
    return unknown(NAME, block)


def _result(data: Mapping[str, Any]) -> Part:
    return Part(
        "tool_result",
        json={"is_error": True} if data.get("status") == "error" else None,
        tool_call_id=text(data.get("tool_call_id")),
        tool_name=text(data.get("name")),
        tool_output=data.get("content"),
    )


def _encode(transcript: Transcript) -> bytes:
    said: list[dict[str, Any]] = []
    told = transcript.session.instructions
    if told is not None:
        said += (_message("system", {"content": words}) for words in (told.system, told.developer) if words)
    for entry in transcript.linear():
        said += _messages(entry)
    return jsontext.dumps(said)


def _messages(entry: Entry) -> Iterator[dict[str, Any]]:
    message = entry.message
    ours = dict(thaw(entry.extras.get(NAME, {})))
    kind = ours.pop("type", _TYPES[message.role])
    if message.role == "tool":
        for part in message.parts:
            if part.type == "tool_result":
                output = part.tool_output
                content = thaw(output) if _is_content(output) else output_text(output)
                fields = {"content": content, "tool_call_id": part.tool_call_id or "", "name": part.tool_name}
                status = "error" if is_failed(part) else "success"
                yield _message(kind, {**fields, "id": message.id, "artifact": None, "status": status, **ours})
        return
    fields = {"content": _content(entry), "id": message.id}
    if message.role == "assistant":
        calls = [part for part in message.parts if part.type == "tool_call"]
        fields["tool_calls"] = [
            {"name": part.tool_name, "args": thaw(part.tool_args or {}), "id": part.tool_call_id, "type": "tool_call"}
            for part in calls
        ]
        fields["invalid_tool_calls"] = []
        fields["usage_metadata"] = _usage(entry.usage)
        about = {"model_name": entry.model, "finish_reason": entry.finish_reason, "model_provider": message.provider}
        # Without the version, blocks are taken for the provider's own.
        about["output_version"] = "v1" if isinstance(fields["content"], list) else None
        fields["response_metadata"] = {key: value for key, value in about.items() if value is not None}
    yield _message(kind, {**fields, **ours})


def _message(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    empty = rest(dict(_EMPTY), *(() if kind == "ai" else ("invalid_tool_calls",)))
    return {"type": kind, "data": {**empty, **fields, "type": kind}}


def _is_content(output: Any) -> bool:
    return isinstance(output, (list, tuple)) and all(isinstance(each, (str, Mapping)) for each in output)


def _content(entry: Entry) -> Any:
    said = []
    parts = entry.message.parts
    for part in parts:
        raw = part.provider_raw or {}
        kept = dict(thaw(raw.get(NAME, {}))) if isinstance(raw.get(NAME), Mapping) else {}
        match part.type:
            case "text" | "refusal":
                said.append({"type": "text", "text": part.text or "", **kept})
            case "thinking":
                signature = signature_of(part)
                sealed = {} if signature is None else {"extras": {"signature": signature}}
                said.append({"type": "reasoning", "reasoning": part.text or "", **sealed})
            case "image" | "audio" | "video" | "file":
                if (given := base64_of(part, entry.blobs)) is not None:
                    said.append({"type": part.type, "base64": given[1], "mime_type": given[0]})
                elif isinstance(url := (part.json or {}).get("url"), str):
                    said.append({"type": part.type, "url": url})
            case "provider" if (part.json or {}).get("dialect") == NAME:
                said.append(thaw(raw))
    if len(said) == 1 and said[0].keys() == {"type", "text"}:
        return said[0]["text"]
    return said or ""


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    if {"input_tokens", "output_tokens", "total_tokens"} <= usage.provider_usage.keys():
        return dict(thaw(usage.provider_usage))
    received, sent = usage.input_tokens or 0, usage.output_tokens or 0
    return {"input_tokens": received, "output_tokens": sent, "total_tokens": usage.total_tokens or received + sent}


def _sniff(head: Head) -> float:
    first = head.first
    if "lc" in first and "kwargs" in first:
        return 0.95
    return 0.95 if "data" in first and first.get("type") in ("human", "ai", "system", "tool", "chat") else 0.0


FORMAT = Format(
    name=NAME,
    about="LangChain's messages (messages_to_dict, dumpd)",
    carries=carrying(yes="model usage finish thinking calls images files extras", partial="system signatures"),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    notes={"system": "as messages", "signatures": "Anthropic's"},
)
