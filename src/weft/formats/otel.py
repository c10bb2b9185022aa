"""OpenTelemetry's GenAI messages: `[{role, parts}]`, and the attributes of a span or event that hold them.

Attributes may be JSON, or texts of JSON, as backends differ. Every part but `blob` may have further keys, so seals of
reasoning ride along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.blobs import BlobStore
from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Instructions,
    Message,
    Opening,
    Part,
    Piece,
    Session,
    ToolSpecification,
    Transcript,
    Usage,
    read_arguments,
    thaw,
)
from weft.formats.beside import kept_beside, own_block
from weft.formats.foreign import (
    as_role,
    base64_of,
    failure,
    is_failed,
    listed,
    media,
    objects,
    rest,
    signature_of,
    signed_thinking,
    text,
    tools_as_functions,
    tools_from,
    unknown,
)
from weft.formats.format import Format, carrying
from weft.formats.otlp import INPUT, OUTPUT, began, is_otlp, opened, recorded
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT", "instructions_attribute", "messages_attribute", "tools_attribute"]

NAME = "otel"
_SYSTEM, _TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
_SAID = (
    INPUT,
    OUTPUT,
    _SYSTEM,
    _TOOLS,
    "gen_ai.conversation.id",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.provider.name",
    "gen_ai.response.id",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
)
_OPERATION = "gen_ai.operation.name"
_REASONS = {"tool_call": "tool_calls"}
_MODALITIES = ("image", "audio", "video")


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation of an array of messages, or one of each object with attributes."""
    first = source.head.first
    if source.head.is_array and "parts" in first:
        yield Opening()
        before: tuple[str, ...] = ()
        for number, (_, said) in enumerate(objects(source), 1):
            yield _entry(said, str(number), before)
            before = (str(number),)
        yield Closing()
        return
    for _, said in objects(source):
        for attributes in recorded(said):
            yield from _span(attributes)


def _span(given: dict[str, Any]) -> Iterator[Piece]:
    said = {key: opened(value) for key, value in given.items()}
    system = said.get(_SYSTEM)
    words = [text(part.get("content")) for part in listed(system) if isinstance(part, dict)]
    told = "\n\n".join(each for each in words if each)
    kept = rest(given, *_SAID)
    if kept.get(_OPERATION) == "chat":  # as it is written of every one
        del kept[_OPERATION]
    yield Opening(
        Session(
            id=text(said.get("gen_ai.conversation.id")),
            provider=text(said.get("gen_ai.provider.name")),
            model=text(said.get("gen_ai.request.model")),
            instructions=Instructions(told) if told else None,
            tools=tools_from(said.get(_TOOLS)),
            created=began(given.get("span")),
            extras={NAME: kept} if kept else {},
        )
    )
    before: tuple[str, ...] = ()
    count = 0
    for key in (INPUT, OUTPUT):
        for each in listed(said.get(key)):
            count += 1
            yield _entry(each if isinstance(each, dict) else {}, str(count), before, said if key == OUTPUT else {})
            before = (str(count),)
    yield Closing()


def _entry(said: dict[str, Any], name: str, before: tuple[str, ...], span: Mapping[str, Any] | None = None) -> Entry:
    shelf = Shelf()
    about = span or {}
    provider = text(about.get("gen_ai.provider.name"))
    role = as_role(said.get("role"))
    parts = [_part(part, provider, shelf) for part in listed(said.get("parts"))]
    reason = text(said.get("finish_reason"))
    kept = rest(said, "role", "parts", "finish_reason")
    prefix = "gen_ai.usage."
    counts = {key.removeprefix(prefix): value for key, value in about.items() if key.startswith(prefix)}
    if said.get("role") != role:
        kept["role"] = said.get("role")
    return Entry(
        name,
        Message(role, parts, text(about.get("gen_ai.response.id")), provider, None, UNTIMED),
        before,
        text(about.get("gen_ai.response.model")),
        _REASONS.get(reason, reason) if reason else None,
        Usage(_number(counts.get("input_tokens")), _number(counts.get("output_tokens"))) if counts else None,
        {NAME: kept} if kept else {},
        shelf.taken(),
    )


def _number(value: Any) -> int | None:
    """Give a count; some backends keep numbers as texts, or with a fraction that is none."""
    try:
        return None if value is None or isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _part(part: Any, provider: str | None, shelf: Shelf) -> Part:
    match part:
        case {"type": "text", "content": str(words)}:
            kept = rest(part, "type", "content")
            return Part("text", words, provider_raw={NAME: kept} if kept else None)
        case {"type": "reasoning", "content": str(words)}:
            return signed_thinking(words, text(part.get("provider")) or provider, part.get("signature"), NAME)
        case {"type": "tool_call", "name": str(name)}:
            return Part(
                "tool_call",
                tool_call_id=text(part.get("id")),
                tool_name=name,
                tool_args=read_arguments(part.get("arguments")),
            )
        case {"type": "tool_call_response"}:
            return Part(
                "tool_result",
                tool_call_id=text(part.get("id")),
                tool_name=text(part.get("name")),
                tool_output=part.get("response", part.get("result")),
                provider_raw=failure(part.get("is_error") is True),
            )
        case {"type": "blob", "content": str(data)}:
            return media(shelf, data, part.get("mime_type"), unknown(NAME, part))
        case {"type": "uri", "uri": str(url)}:
            modality = part.get("modality")
            return Part(modality if modality in _MODALITIES else "file", json={"url": url})
        case {"type": "file", "file_id": str(name)}:
            modality = part.get("modality")
            return Part(modality if modality in _MODALITIES else "file", json={"file_id": name})
    return unknown(NAME, part)


def _encode(transcript: Transcript) -> bytes:
    session = transcript.session
    entries = transcript.linear()
    last = entries[-1] if entries and entries[-1].message.role == "assistant" else None
    said: dict[str, Any] = {_OPERATION: "chat"}
    facts: dict[str, Any] = {
        "gen_ai.conversation.id": session.id,
        "gen_ai.provider.name": (last.message.provider if last else None) or session.provider,
        "gen_ai.request.model": session.model,
        _SYSTEM: instructions_attribute(session.instructions) or None,
        _TOOLS: tools_attribute(session.tools) or None,
    }
    before = entries[:-1] if last else entries
    facts[INPUT] = messages_attribute(before)
    if last is not None:
        facts[OUTPUT] = messages_attribute([last], answers=True)
        facts |= {"gen_ai.response.model": last.model, "gen_ai.response.id": last.message.id}
        if last.usage is not None:
            facts["gen_ai.usage.input_tokens"] = last.usage.input_tokens
            facts["gen_ai.usage.output_tokens"] = last.usage.output_tokens
    said |= {key: value for key, value in facts.items() if value is not None}
    return jsontext.dumps(said | thaw(session.noted(NAME))) + b"\n"


def instructions_attribute(told: Instructions | None) -> list[dict[str, Any]]:
    """Write instructions as `gen_ai.system_instructions` has them."""
    words = () if told is None else (told.system, told.developer)
    return [{"type": "text", "content": each} for each in words if each]


def tools_attribute(tools: Iterable[ToolSpecification]) -> list[dict[str, Any]]:
    """Write definitions of tools as `gen_ai.tool.definitions` has them."""
    return [{"type": "function", **tool["function"]} for tool in tools_as_functions(tools)]


def messages_attribute(entries: Iterable[Entry], *, answers: bool = False) -> list[dict[str, Any]]:
    """Write messages as `gen_ai.input.messages` has them, or as `gen_ai.output.messages` does: with their ends."""
    said = []
    for entry in entries:
        ours = dict(thaw(entry.noted(NAME)))
        role = ours.pop("role", entry.message.role)
        parts = [each for part in entry.message.parts if (each := _said(part, entry.blobs)) is not None]
        message = {"role": role, "parts": parts, **ours}
        if answers or entry.finish_reason:
            reason = entry.finish_reason or "stop"
            message["finish_reason"] = "tool_call" if reason == "tool_calls" else reason
        said.append(message)
    return said


def _said(part: Part, blobs: BlobStore) -> dict[str, Any] | None:
    kept = kept_beside(part, NAME)
    named = {} if part.tool_call_id is None else {"id": part.tool_call_id}
    match part.type:
        case "text" | "refusal":
            return {"type": "text", "content": part.text or "", **kept}
        case "thinking":
            signature, maker = signature_of(part), text((part.json or {}).get("provider"))
            sealed = {} if signature is None else {"signature": signature}
            return {"type": "reasoning", "content": part.text or "", **sealed, **({"provider": maker} if maker else {})}
        case "tool_call":
            return {"type": "tool_call", **named, "name": part.tool_name or "", "arguments": thaw(part.tool_args or {})}
        case "tool_result":
            said = {"type": "tool_call_response", **named, "response": thaw(part.tool_output)}
            said |= {"name": part.tool_name} if part.tool_name else {}
            return said | ({"is_error": True} if is_failed(part) else {})
        case "image" | "audio" | "video" | "file":
            facts = part.json or {}
            modality = {"modality": part.type if part.type in _MODALITIES else "file"}
            if (given := base64_of(part, blobs)) is not None:
                return {"type": "blob", **modality, "mime_type": given[0], "content": given[1]}
            if isinstance(url := facts.get("url"), str):
                return {"type": "uri", **modality, "uri": url}
            if isinstance(name := facts.get("file_id"), str):
                return {"type": "file", **modality, "file_id": name}
        case "provider":
            return own_block(part, NAME)
    return None


def _sniff(head: Head) -> float:
    first = head.first
    if is_otlp(first):
        return 0.95 if b"gen_ai." in head.data else 0.4
    inner = first.get("attributes")
    if any(key.startswith("gen_ai.") for key in (inner if isinstance(inner, dict) else first)):
        return 0.95
    parts = first.get("parts")
    part = parts[0] if isinstance(parts, list) and parts else None
    is_ours = isinstance(part, dict) and part.get("type") in ("text", "reasoning", "tool_call", "tool_call_response")
    return 0.9 if "role" in first and is_ours and isinstance(part, dict) and "text" not in part else 0.0


FORMAT = Format(
    name=NAME,
    about="OpenTelemetry's GenAI messages, and attributes that hold them",
    carries=carrying(
        yes="many system tools thinking signatures calls images files",
        partial="title model usage finish extras",
    ),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    aliases=("opentelemetry", "genai", "otel-genai"),
    notes={
        "title": "the conversation's id",
        "model": "of the last answer",
        "usage": "of the last answer",
        "finish": "of answers",
        "extras": "further attributes, and keys of messages",
    },
)
