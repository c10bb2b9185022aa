"""pydantic-ai's message history: what `ModelMessagesTypeAdapter.dump_json` gives.

A `request` holds what the user and the tools said, a `response` what the model did; one request may be several of our
messages, of several roles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
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
from weft.formats.foreign import (
    base64_of,
    counted,
    is_failed,
    iso,
    media,
    moment,
    need_list,
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

NAME = "pydantic-ai"
_SIDES: dict[str, Role] = {
    "system-prompt": "system",
    "user-prompt": "user",
    "instruction": "system",
    "tool-return": "tool",
    "retry-prompt": "tool",
}
_REQUEST = ("parts", "kind", "timestamp", "instructions", "conversation_id")
_RESPONSE = ("parts", "kind", "timestamp", "usage", "model_name", "provider_name", "finish_reason")
_REASONS = {"tool_call": "tool_calls"}
_URLS = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "file"}
_COUNTS = (("input_tokens", "request_tokens"), ("output_tokens", "response_tokens"))


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
            maker = text(part.get("provider_name")) or provider
            return signed_thinking(words, maker, part.get("signature"), NAME)
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
            return media(shelf, data, content.get("media_type"), unknown(NAME, part))
    return unknown(NAME, part)


def _heard(part: Any, shelf: Shelf) -> Iterator[Part]:
    match part:
        case {"part_kind": "system-prompt" | "user-prompt" | "instruction", "content": str(words)}:
            yield Part("text", words)
        case {"part_kind": "user-prompt", "content": list(items)}:
            yield from (_item(item, shelf) for item in items)
        case {"part_kind": "tool-return", "tool_name": str(name)}:
            failed = part.get("outcome") in ("failed", "denied", "retried")
            yield Part(
                "tool_result",
                json={"is_error": True} if failed else None,
                tool_call_id=text(part.get("tool_call_id")),
                tool_name=name,
                tool_output=part.get("content"),
            )
        case {"part_kind": "retry-prompt", "tool_name": str(name)}:
            yield Part(
                "tool_result",
                json={"is_error": True},
                tool_call_id=text(part.get("tool_call_id")),
                tool_name=name,
                tool_output=part.get("content"),
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
            return Part(_URLS[kind], json={"url": url})
        case {"kind": "binary", "data": str(data)}:
            return media(shelf, data, item.get("media_type"), unknown(NAME, item))
    return unknown(NAME, item)


def _encode(transcript: Transcript) -> bytes:
    history: list[dict[str, Any]] = []
    told = transcript.session.instructions
    instructions = None if told is None else "\n\n".join(each for each in (told.system, told.developer) if each)
    for entry in transcript.linear():
        ours = dict(thaw(entry.extras.get(NAME, {})))
        if entry.message.role == "assistant":
            history.append(_response(entry) | ours)
            continue
        parts = list(_asked(entry))
        if ours.pop("same_request", False) and history and history[-1]["kind"] == "request":
            history[-1]["parts"] += parts
            continue
        history.append({"parts": parts, "instructions": instructions, "kind": "request", **ours})
    if history and transcript.session.id is not None:
        history[0]["conversation_id"] = transcript.session.id
    return jsontext.dumps(history)


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
    raw = part.provider_raw or {}
    kept = dict(thaw(raw.get(NAME, {}))) if isinstance(raw.get(NAME), Mapping) else {}
    match part.type:
        case "text" | "refusal":
            yield {"content": part.text or "", "part_kind": "text", **kept}
        case "thinking":
            maker = text((part.json or {}).get("provider"))
            signature = signature_of(part)
            yield {"content": part.text or "", "signature": signature, "provider_name": maker, "part_kind": "thinking"}
        case "tool_call":
            call = {"tool_name": part.tool_name or "", "args": thaw(part.tool_args or {}), "part_kind": "tool-call"}
            yield {**call, **({} if part.tool_call_id is None else {"tool_call_id": part.tool_call_id}), **kept}
        case "image" | "audio" | "video" | "file" if (given := base64_of(part, entry.blobs)) is not None:
            yield {"content": {"data": given[1], "media_type": given[0], "kind": "binary"}, "part_kind": "file"}
        case "provider" if (part.json or {}).get("dialect") == NAME:
            yield dict(thaw(raw))


def _asked(entry: Entry) -> Iterator[dict[str, Any]]:
    message = entry.message
    at = {} if entry.timestamp is None else {"timestamp": iso(entry.timestamp)}
    if message.role in ("system", "developer"):
        for part in message.parts:
            if part.type == "text":
                yield {"content": part.text or "", "part_kind": "system-prompt", **at}
        return
    items: list[Any] = []
    for part in message.parts:
        if part.type == "tool_result":
            said = {"tool_name": part.tool_name or "", "content": thaw(part.tool_output), "part_kind": "tool-return"}
            said |= {"tool_call_id": part.tool_call_id or "", "outcome": "failed" if is_failed(part) else "success"}
            yield {**said, **at}
        elif (item := _as_item(part, entry)) is not None:
            items.append(item)
    if items:
        is_text = len(items) == 1 and isinstance(items[0], str)
        yield {"content": items[0] if is_text else items, "part_kind": "user-prompt", **at}


def _as_item(part: Part, entry: Entry) -> Any:
    match part.type:
        case "text":
            return part.text or ""
        case "image" | "audio" | "video" | "file":
            if (given := base64_of(part, entry.blobs)) is not None:
                return {"data": given[1], "media_type": given[0], "kind": "binary"}
            if isinstance(url := (part.json or {}).get("url"), str):
                return {"url": url, "kind": next(kind for kind, name in _URLS.items() if name == part.type)}
        case "provider" if (part.json or {}).get("dialect") == NAME:
            return thaw(part.provider_raw)
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
    aliases=("pydanticai",),
    notes={"signatures": "those that are one text", "title": "the conversation's id"},
)
