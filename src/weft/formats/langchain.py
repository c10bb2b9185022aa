"""LangChain's messages: what `messages_to_dict` gives, its serialised constructors (`dumpd`), and `model_dump`.

Content is text, or a list of its content blocks; tool calls stand beside it, and are put where a block of theirs says,
else after the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
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
    Session,
    Transcript,
    Usage,
    output_text,
    read_arguments,
    thaw,
)
from weft.formats.beside import kept_beside, own_block
from weft.formats.foreign import (
    base64_of,
    counted,
    failure,
    is_failed,
    listed,
    media,
    need_list,
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
    "RemoveMessage": "remove",
}
_TYPES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
_SAID = ("content", "type", "id", "tool_calls", "usage_metadata", "tool_call_id", "status")
_EMPTY: Mapping[str, Any] = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "invalid_tool_calls": []}
_FINISHED = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length", "STOP": "stop"}
_PLAIN_CALL = {"type", "id", "name", "args"}
_COUNTS = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"), ("total_tokens",))
_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation, an array of messages or a line each; or the states of graphs, each of which has one."""
    given = objects(source)
    first = next(given, None)
    if first is None or _inside(first[1]) is None:
        yield from _conversation(chain(() if first is None else (first,), given), Session())
        return
    for place, state in chain((first,), given):
        inner = need_list(_inside(state), f"{place}.messages")
        said = ((f"{place}.messages[{n}]", each) for n, each in enumerate(inner))
        yield from _conversation(
            ((where, need_object(each, where)) for where, each in said),
            Session(extras={NAME: rest(state, "messages")}),
        )


def _conversation(given: Iterator[tuple[str, dict[str, Any]]], session: Session) -> Iterator[Piece]:
    yield Opening(session)
    shelf = Shelf()
    before: tuple[str, ...] = ()
    for number, (place, said) in enumerate(given, 1):
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
    counts = data.get("usage_metadata") or about.get("token_usage") or about.get("usage")
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
        counted(counts, *_COUNTS),
        {NAME: kept} if kept else {},
        shelf.taken(),
    )


def _opened(said: dict[str, Any], place: str) -> tuple[str, dict[str, Any]]:
    """Give a message's type and fields, however it was written."""
    match said:
        case {"lc": _, "kwargs": dict(fields), "id": [*_, str(name)]}:
            return _kind(text(fields.get("type")) or name), fields
        case {"type": str(kind), "data": dict(fields)}:
            return _kind(kind), fields
    return _kind(said.get("type")), need_object(said, place)


def _inside(said: Mapping[str, Any]) -> list[Any] | None:
    """Give the messages of a graph's state; None of what is a message itself."""
    values = said.get("values")
    found = said.get("messages", values.get("messages") if isinstance(values, dict) else None)
    return found if isinstance(found, list) and not {"type", "kwargs", "content"} & said.keys() else None


def _kind(name: Any) -> str:
    """Give the type of a message by its name, or by that of its class; those that were streamed are the same."""
    bare = str(name).removesuffix("Chunk")
    return _CLASSES.get(bare, bare)


def _parts(data: dict[str, Any], provider: str | None, shelf: Shelf) -> list[Part]:
    content = data.get("content")
    blocks = content if isinstance(content, list) else [content] if content else []
    calls = [each for each in listed(data.get("tool_calls")) if isinstance(each, dict)]
    parts = []
    for block in blocks:
        is_call = isinstance(block, dict) and block.get("type") in ("tool_use", "tool_call", "function_call")
        names = {text(block.get("id")), text(block.get("call_id"))} if is_call else ()
        at = next((at for at, call in enumerate(calls) if text(call.get("id")) in names), None)
        parts.append(_part(block, provider, shelf) if at is None else _call(calls.pop(at), block))
    return parts + [_call(call) for call in calls]


def _call(call: dict[str, Any], block: Any = None) -> Part:
    """Read a call, with the block that said where it stands, unless that is as we would write it."""
    is_plain = block is None or block.keys() == _PLAIN_CALL
    return Part(
        "tool_call",
        tool_call_id=text(call.get("id")),
        tool_name=text(call.get("name")) or "",
        tool_args=read_arguments(call.get("args")),
        provider_raw=None if is_plain else {NAME: {"block": block}},
    )


def _part(block: Any, provider: str | None, shelf: Shelf) -> Part:
    match block:
        case str():
            return Part("text", block)
        case {"type": "text", "text": str(words)}:
            kept = rest(block, "type", "text")
            return Part("text", words, provider_raw={NAME: kept} if kept else None)
        case {"type": "reasoning", "reasoning": str(words)}:
            return _thought(words, block, provider)
        case {"type": "redacted_thinking", "data": str()}:
            return Part("thinking", json={"provider": "anthropic", "dialect": "anthropic"}, provider_raw=block)
        case {"type": "non_standard", "value": {"type": "redacted_thinking", "data": str()} as value}:
            return _part(value, provider, shelf)
        case {"type": "thinking", "thinking": str(words)}:
            return signed_thinking(words, provider or "anthropic", block.get("signature"), NAME)
        case {"type": "image" | "audio" | "video" | "file", "base64": str(data)}:
            part = media(shelf, data, block.get("mime_type"), unknown(NAME, block))
            return _with(part, rest(block, "type", "base64", "mime_type"))
        case {"type": "image" | "audio" | "video" | "file" as kind, "url": str(url)}:
            return _with(Part(kind, json={"url": url}), rest(block, "type", "url"))
        case {"type": "image" | "audio" | "file", "source_type": "base64", "data": str(data)}:
            return media(shelf, data, block.get("mime_type"), unknown(NAME, block))
        case {"type": "image" | "document", "source": {"type": "base64", "data": str(data), "media_type": str(kind)}}:
            return media(shelf, data, kind, unknown(NAME, block))
        case {"type": "media", "data": str(data), "mime_type": str(kind)}:
            return media(shelf, data, kind, unknown(NAME, block))
        case {"type": "image_url", "image_url": str(url) | {"url": str(url)}}:
            if found := _DATA_URL.fullmatch(url):
                return media(shelf, found[2], found[1], unknown(NAME, block))
            image = block["image_url"]
            return _with(Part("image", json={"url": url}), rest(image, "url") if isinstance(image, dict) else {})
    return unknown(NAME, block)


def _thought(words: str, block: dict[str, Any], provider: str | None) -> Part:
    """Give reasoning with its seal; what else the block says is kept with who made it."""
    kept = rest(block, "type", "reasoning", "signature")
    signature = block.get("signature")
    match kept.get("extras"):
        case {"signature": str(seal), **more}:
            signature = signature or seal
            kept = {**kept, "extras": more} if more else rest(kept, "extras")
    part = signed_thinking(words, provider, signature, NAME)
    made = {**(part.json or {}), NAME: kept} if kept else part.json
    return Part("thinking", words, json=made, provider_raw=part.provider_raw)


def _with(part: Part, kept: dict[str, Any]) -> Part:
    if not kept or part.type == "provider":
        return part
    return Part(part.type, json=part.json, blob=part.blob, provider_raw={NAME: kept})


def _result(data: Mapping[str, Any]) -> Part:
    return Part(
        "tool_result",
        tool_call_id=text(data.get("tool_call_id")),
        tool_name=text(data.get("name")),
        tool_output=data.get("content"),
        provider_raw=failure(data.get("status") == "error"),
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
    ours = dict(thaw(entry.noted(NAME)))
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
    fields = {"content": _content(entry, is_native=_is_native(ours.get("response_metadata"))), "id": message.id}
    if message.role == "assistant":
        calls = [part for part in message.parts if part.type == "tool_call"]
        fields["tool_calls"] = [
            {"name": part.tool_name, "args": thaw(part.tool_args or {}), "id": part.tool_call_id, "type": "tool_call"}
            for part in calls
        ]
        fields["invalid_tool_calls"] = []
        is_told = entry.usage is not None and entry.usage.provider_usage in _told(ours)
        fields["usage_metadata"] = None if is_told else _usage(entry.usage)
        about = {"model_name": entry.model, "finish_reason": entry.finish_reason, "model_provider": message.provider}
        # Without the version, blocks are taken for the provider's own.
        about["output_version"] = "v1" if isinstance(fields["content"], list) else None
        fields["response_metadata"] = {key: value for key, value in about.items() if value is not None}
    yield _message(kind, {**fields, **ours})


def _told(ours: Mapping[str, Any]) -> list[Any]:
    """Give the accounts of tokens that what is kept of a message has already."""
    about = ours.get("response_metadata")
    return [about.get("token_usage"), about.get("usage")] if isinstance(about, Mapping) else []


def _message(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    empty = rest(dict(_EMPTY), *(() if kind == "ai" else ("invalid_tool_calls",)))
    return {"type": kind, "data": {**empty, **fields, "type": kind}}


def _is_content(output: Any) -> bool:
    return isinstance(output, (list, tuple)) and all(isinstance(each, (str, Mapping)) for each in output)


def _is_native(about: Any) -> bool:
    """Tell whether LangChain takes the blocks of a message for Anthropic's own."""
    return (
        isinstance(about, dict) and about.get("model_provider") == "anthropic" and about.get("output_version") != "v1"
    )


def _content(entry: Entry, *, is_native: bool) -> Any:
    said: list[Any] = []
    parts = entry.message.parts
    last = max((at for at, part in enumerate(parts) if part.type not in ("tool_call", "annotation")), default=-1)
    for at, part in enumerate(parts):
        kept = kept_beside(part, NAME)
        match part.type:
            case "tool_call" if isinstance(kept.get("block"), dict):
                said.append(kept["block"])
            case "tool_call" if at < last and entry.message.role == "assistant":  # it has a place to keep
                arguments = thaw(part.tool_args or {})
                said.append(
                    {"type": "tool_call", "id": part.tool_call_id, "name": part.tool_name or "", "args": arguments}
                )
            case "thinking" if is_native and (part.provider_raw or {}).get("type") in ("thinking", "redacted_thinking"):
                said.append(thaw(part.provider_raw))
            case "text" | "refusal":
                said.append({"type": "text", "text": part.text or "", **kept})
            case "thinking" if (part.provider_raw or {}).get("type") == "redacted_thinking":
                said.append({"type": "non_standard", "value": thaw(part.provider_raw)})
            case "thinking":
                said.append(_reasoning(part))
            case "image" | "audio" | "video" | "file":
                if (given := base64_of(part, entry.blobs)) is not None:
                    said.append({"type": part.type, "base64": given[1], "mime_type": given[0], **kept})
                elif isinstance(url := (part.json or {}).get("url"), str):
                    said.append({"type": part.type, "url": url, **kept})
            case "provider" if (block := own_block(part, NAME)) is not None:
                said.append(block)
    if len(said) == 1 and said[0].keys() == {"type", "text"}:
        return said[0]["text"]
    return said or ""


def _reasoning(part: Part) -> dict[str, Any]:
    kept = (part.json or {}).get(NAME)
    said = {"type": "reasoning", "reasoning": part.text or "", **(thaw(kept) if isinstance(kept, Mapping) else {})}
    if (signature := signature_of(part)) is not None:
        extras = said.get("extras")
        said["extras"] = {**(extras if isinstance(extras, dict) else {}), "signature": signature}
    return said


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    if {"input_tokens", "output_tokens", "total_tokens"} <= usage.provider_usage.keys():
        return dict(thaw(usage.provider_usage))
    received, sent = usage.input_tokens or 0, usage.output_tokens or 0
    return {"input_tokens": received, "output_tokens": sent, "total_tokens": usage.total_tokens or received + sent}


def _sniff(head: Head) -> float:
    first = head.first
    for said in (first, *(_inside(first) or ())[:1]):
        if isinstance(said, dict) and _is_message(said):
            return 0.95
    return 0.0


def _is_message(said: Mapping[str, Any]) -> bool:
    if "lc" in said and "kwargs" in said:
        return True
    kind = _kind(said.get("type"))
    if "data" in said:
        return kind in ("human", "ai", "system", "tool", "chat")
    return kind in _ROLES and "content" in said and "additional_kwargs" in said


FORMAT = Format(
    name=NAME,
    about="LangChain's messages (messages_to_dict, dumpd)",
    carries=carrying(yes="model usage finish thinking calls images files extras", partial="system signatures"),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    notes={"system": "as messages", "signatures": "Anthropic's"},
)
