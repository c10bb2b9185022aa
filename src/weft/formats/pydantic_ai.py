"""pydantic-ai's message history: what `ModelMessagesTypeAdapter.dump_json` gives.

A `request` holds what the user and the tools said, a `response` what the model did; one request may be several of our
messages, of several roles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Instructions,
    Message,
    Opening,
    Part,
    Piece,
    Role,
    Session,
    Transcript,
    Usage,
    read_arguments,
    thaw,
)
from weft.formats.beside import kept_beside, own_block
from weft.formats.foreign import (
    base64_of,
    counted,
    failure,
    is_failed,
    iso,
    media,
    moment,
    need_list,
    objects,
    rest,
    signature_of,
    signed_thinking,
    sound_json,
    text,
    unknown,
    unread_arguments,
)
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "pydantic-ai"
_SIDES: dict[str, Role] = {
    "system-prompt": "system",
    "user-prompt": "user",
    "instruction": "system",
    "tool-return": "tool",
    "retry-prompt": "tool",
}
_REQUEST = ("parts", "kind", "instructions", "conversation_id")
_RESPONSE = ("parts", "kind", "timestamp", "usage", "model_name", "provider_name", "finish_reason")
_REASONS = {"tool_call": "tool_calls"}
_URLS = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "file"}
_COUNTS = (("input_tokens", "request_tokens"), ("output_tokens", "response_tokens"))
_RETRY = {"part_kind": "retry-prompt"}


def read(source: Source) -> Iterator[Piece]:
    """Read one history."""
    reader = _Reader()
    opened = False
    for place, said in objects(source):
        if not opened:
            opened = True
            told = text(said.get("instructions"))
            yield Opening(
                Session(id=text(said.get("conversation_id")), instructions=None if told is None else Instructions(told))
            )
        parts = need_list(said.get("parts", []), f"{place}.parts")
        yield from reader.response(said, parts) if said.get("kind") == "response" else reader.request(said, parts)
    if not opened:
        yield Opening()
    yield Closing()


class _Reader:
    """Numbers entries in the order of the file."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.count = 0

    def response(self, said: dict[str, Any], parts: list[Any]) -> Iterator[Entry]:
        provider = text(said.get("provider_name"))
        reason = text(said.get("finish_reason"))
        message = Message(
            "assistant",
            [_said(part, provider, self.shelf) for part in parts],
            text(said.get("provider_response_id")),
            provider,
            None,
            moment(said.get("timestamp")) or UNTIMED,
        )
        kept = _told(said, *_RESPONSE, "provider_response_id")
        yield self._entry(
            message,
            model=text(said.get("model_name")),
            finish_reason=_REASONS.get(reason, reason) if reason else None,
            usage=counted(said.get("usage"), *_COUNTS),
            extras={NAME: kept} if kept else {},
        )

    def request(self, said: dict[str, Any], parts: list[Any]) -> Iterator[Entry]:
        kept = _told(said, *_REQUEST)
        batch: list[Any] = []
        role: Role | None = None
        for part in (*parts, None):
            side = _side(part) if part is not None else None
            if batch and side != role and role is not None:
                yield self._asked(role, batch, kept)
                batch, kept = [], {"same_request": True}
            batch.append(part)
            role = side
        if not parts:
            yield self._asked("user", [], kept)

    def _asked(self, role: Role, parts: list[Any], kept: dict[str, Any]) -> Entry:
        found = [each for part in parts for each in _heard(part, self.shelf)]
        first = parts[0] if parts and isinstance(parts[0], dict) else {}
        at = moment(first.get("timestamp")) or UNTIMED
        return self._entry(Message(role, found, timestamp=at), extras={NAME: kept} if kept else {})

    def _entry(self, message: Message, **facts: Any) -> Entry:
        self.count += 1
        above = () if self.count == 1 else (str(self.count - 1),)
        return Entry(str(self.count), message, above, blobs=self.shelf.taken(), **facts)


def _told(said: dict[str, Any], *known: str) -> dict[str, Any]:
    """Give what is said beside the rest, without what only fills its place."""
    empty = (None, "complete") if "state" in said else (None,)
    return {key: value for key, value in rest(said, *known).items() if value not in empty}


def _side(part: Any) -> Role:
    kind = part.get("part_kind") if isinstance(part, dict) else None
    if kind == "retry-prompt" and not part.get("tool_name"):
        return "user"
    return _SIDES.get(str(kind), "user")


def _said(part: Any, provider: str | None, shelf: Shelf) -> Part:
    match part:
        case {"part_kind": "text", "content": str(words)}:
            kept = _told(part, "part_kind", "content")
            return Part("text", words, provider_raw={NAME: kept} if kept else None)
        case {"part_kind": "thinking", "content": str(words)}:
            return _thought(words, part, text(part.get("provider_name")) or provider)
        case {"part_kind": "tool-call", "tool_name": str(name)}:
            kept = _told(part, "part_kind", "tool_name", "args", "tool_call_id")
            return Part(
                "tool_call",
                tool_call_id=text(part.get("tool_call_id")),
                tool_name=name,
                tool_args=read_arguments(part.get("args")),
                provider_raw={NAME: kept} if kept else None,
            )
        case {"part_kind": "file", "content": {"kind": "binary", "data": str(data)} as content}:
            kept = _told(part, "part_kind", "content") | {"content": _told(content, "kind", "data", "media_type")}
            found = media(shelf, data, content.get("media_type"), unknown(NAME, part))
            return _with(found, {key: value for key, value in kept.items() if value})
    return unknown(NAME, part)


def _thought(words: str, part: dict[str, Any], maker: str | None) -> Part:
    """Give reasoning as its maker's own block where that is sure, so that it can go back there."""
    signature = part.get("signature")
    kept = _told(part, "part_kind", "content", "signature", "provider_name")
    match maker, signature, kept:
        case "anthropic", str(), {"id": "redacted_thinking", **more} if not (words or more):
            block = {"type": "redacted_thinking", "data": signature}
            return Part("thinking", json={"provider": maker, "dialect": maker}, provider_raw=block)
        case "openai", str(), {"id": str(item), **more} if not more:
            summary = [{"type": "summary_text", "text": words}] if words else []
            sealed: dict[str, Any] = {"type": "reasoning", "id": item, "summary": summary}
            sealed["encrypted_content"] = signature
            made = {"provider": maker, "dialect": "openai_responses"}
            return Part("thinking", words or None, json=made, provider_raw=sealed)
    if not kept:
        return signed_thinking(words, maker, signature, NAME)
    raw = {NAME: kept} | ({} if signature is None else {"signature": signature})
    return Part("thinking", words, json={"provider": maker, "dialect": NAME}, provider_raw=raw)


def _heard(part: Any, shelf: Shelf) -> Iterator[Part]:
    match part:
        case {"part_kind": "system-prompt" | "user-prompt" | "instruction", "content": str(words)}:
            yield Part("text", words)
        case {"part_kind": "user-prompt", "content": list(items)}:
            yield from (_item(item, shelf) for item in items)
        case {"part_kind": "retry-prompt" | "retry-feedback", "content": str(words)} if part.get("tool_name") is None:
            yield Part("text", words, provider_raw={NAME: _told(part, "content", "timestamp")})
        case {"part_kind": "tool-return" | "retry-prompt" as kind, "tool_name": str(name)}:
            is_again = kind == "retry-prompt"
            failed = is_again or part.get("outcome") in ("failed", "denied", "retried")
            known = ("tool_name", "content", "tool_call_id", "timestamp")
            is_usual = part.get("outcome") in ("success", "failed")
            kept = _told(part, *known, "" if is_again else "part_kind", "outcome" if is_usual else "")
            yield Part(
                "tool_result",
                tool_call_id=text(part.get("tool_call_id")),
                tool_name=name,
                tool_output=part.get("content"),
                provider_raw=failure(failed, {NAME: kept} if kept else None),
            )
        case _:
            yield unknown(NAME, part)


def _item(item: Any, shelf: Shelf) -> Part:
    match item:
        case str():
            return Part("text", item)
        case {"kind": "text", "content": str(words)}:
            return Part("text", words)
        case {"kind": str(kind), "url": str(url)} if kind in _URLS:
            return _with(Part(_URLS[kind], json={"url": url}), _told(item, "kind", "url"))
        case {"kind": "binary", "data": str(data)}:
            part = media(shelf, data, item.get("media_type"), unknown(NAME, item))
            return _with(part, _told(item, "kind", "data", "media_type"))
    return unknown(NAME, item)


def _with(part: Part, kept: dict[str, Any]) -> Part:
    """Give a part with bytes, or an address, with what is said beside them."""
    kept = {key: value for key, value in kept.items() if value is not False}
    if not kept or part.type == "provider":
        return part
    return Part(part.type, json=part.json, blob=part.blob, provider_raw={NAME: kept})


def _encode(transcript: Transcript) -> bytes:
    history: list[dict[str, Any]] = []
    told = transcript.session.instructions
    instructions = None if told is None else "\n\n".join(each for each in (told.system, told.developer) if each)
    for entry in transcript.linear():
        ours = thaw(rest(entry.noted(NAME), "parts", "kind"))
        if entry.message.role == "assistant":
            history.append(_response(entry) | ours)
            continue
        parts = list(_asked(entry))
        if ours.pop("same_request", False) and history and history[-1]["kind"] == "request":
            history[-1]["parts"] += parts
            continue
        history.append({"parts": parts, "instructions": instructions, "kind": "request", **ours})
    if transcript.session.id is not None:
        for number, each in enumerate(history):
            if number == 0 or each["kind"] == "request":
                each["conversation_id"] = transcript.session.id
    return sound_json(history)


def _response(entry: Entry) -> dict[str, Any]:
    message = entry.message
    said: dict[str, Any] = {"parts": [each for part in message.parts for each in _spoken(part, entry)]}
    said["usage"] = _usage(entry.usage)
    said |= {"model_name": entry.model, "timestamp": iso(message.timestamp) or iso(moment(0)), "kind": "response"}
    said |= {"provider_name": message.provider, "provider_response_id": message.id}
    reasons = {"stop", "length", "content_filter", "error"}
    reason = "tool_call" if entry.finish_reason == "tool_calls" else entry.finish_reason
    said["finish_reason"] = reason if reason in reasons | {"tool_call"} else None
    return said


def _spoken(part: Part, entry: Entry) -> Iterator[dict[str, Any]]:
    kept = kept_beside(part, NAME)
    match part.type:
        case "text" | "refusal":
            yield {"content": part.text or "", "part_kind": "text", **kept}
        case "thinking":
            said = {**kept, "content": part.text or "", "part_kind": "thinking"}
            said["provider_name"] = text((part.json or {}).get("provider"))
            match part.provider_raw:
                case {"type": "redacted_thinking", "data": str(data)}:
                    yield {**said, "id": "redacted_thinking", "signature": data}
                case {"type": "reasoning", "id": str(item), "encrypted_content": str(sealed)}:
                    yield {**said, "id": item, "signature": sealed}
                case _:
                    yield {**said, "signature": signature_of(part)}
        case "tool_call":
            call = {"tool_name": part.tool_name or "", "args": unread_arguments(part), "part_kind": "tool-call"}
            yield {**call, **({} if part.tool_call_id is None else {"tool_call_id": part.tool_call_id}), **kept}
        case "image" | "audio" | "video" | "file" if (given := base64_of(part, entry.blobs)) is not None:
            inner = kept.pop("content", None)
            more = inner if isinstance(inner, dict) else {}
            said = {"data": given[1], "media_type": given[0], "kind": "binary", **more}
            yield {"content": said, "part_kind": "file", **kept}
        case "provider" if (block := own_block(part, NAME)) is not None:
            yield block


def _asked(entry: Entry) -> Iterator[dict[str, Any]]:
    message = entry.message
    at = {} if entry.timestamp is None else {"timestamp": iso(entry.timestamp)}
    if message.role in ("system", "developer"):
        for part in message.parts:
            if part.type == "text":
                yield {"content": part.text or "", "part_kind": "system-prompt", **at}
            elif (block := own_block(part, NAME)) is not None:
                yield block
        return
    items: list[Any] = []
    for part in message.parts:
        if part.type == "tool_result":
            said = {"tool_name": part.tool_name or "", "content": thaw(part.tool_output), "part_kind": "tool-return"}
            said |= {"tool_call_id": part.tool_call_id or ""}
            kept = kept_beside(part, NAME)
            ended = {"outcome": kept.get("outcome", "failed") if is_failed(part) else "success"}
            yield {**kept, **said, **at, **(_RETRY if kept.get("part_kind") == "retry-prompt" else ended)}
        elif part.type == "text" and "part_kind" in (kept := kept_beside(part, NAME)):
            yield {**kept, "content": part.text or "", **at}
        elif "part_kind" in (block := own_block(part, NAME) or {}):  # newer than what is known here
            yield from _prompt(items, at)
            items = []
            yield block
        elif (item := _as_item(part, entry)) is not None:
            items.append(item)
    yield from _prompt(items, at)


def _prompt(items: list[Any], at: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if items:
        is_text = len(items) == 1 and isinstance(items[0], str)
        yield {"content": items[0] if is_text else items, "part_kind": "user-prompt", **at}


def _as_item(part: Part, entry: Entry) -> Any:
    match part.type:
        case "text":
            return part.text or ""
        case "image" | "audio" | "video" | "file":
            if (given := base64_of(part, entry.blobs)) is not None:
                return {"data": given[1], "media_type": given[0], "kind": "binary", **kept_beside(part, NAME)}
            if isinstance(url := (part.json or {}).get("url"), str):
                kind = next(kind for kind, name in _URLS.items() if name == part.type)
                return {"url": url, "kind": kind, **kept_beside(part, NAME)}
        case "provider":
            return own_block(part, NAME)
    return None


def _usage(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    if "input_tokens" in usage.provider_usage and "details" in usage.provider_usage:
        return dict(thaw(usage.provider_usage))
    return {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}


def _sniff(head: Head) -> float:
    first = head.first
    return 0.95 if first.get("kind") in ("request", "response") and "parts" in first else 0.0


FORMAT = Format(
    name=NAME,
    about="pydantic-ai's message history",
    carries=carrying(
        yes="timestamps model usage finish system thinking calls images files extras", partial="signatures title"
    ),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    notes={"signatures": "those that are one text", "title": "the conversation's id"},
)
