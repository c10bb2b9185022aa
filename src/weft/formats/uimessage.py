"""Vercel AI SDK's UIMessages, as `useChat` keeps them: an array of messages made of parts.

A tool's result lives in the same part as its call, so an answer with tools is several entries here: what was said up
to a call, the results, what was said after. The parts between two `step-start` are one step. Messages as versions 3
and 4 had them (`toolInvocations`, parts of other names) are read too, and written as they are now.
"""

from __future__ import annotations

import re
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
    Session,
    Transcript,
    output_text,
    read_arguments,
    thaw,
)
from weft.formats.beside import kept_beside, own_block
from weft.formats.foreign import (
    Names,
    as_role,
    base64_of,
    failure,
    is_failed,
    media,
    need_list,
    need_object,
    objects,
    rest,
    text,
    unknown,
    unread_arguments,
)
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source
from weft.formats.uiparts import BESIDE_PARTS, parts_of

__all__ = ["FORMAT"]

NAME = "uimessage"
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?;base64,(.*)", re.DOTALL)


def read(source: Source) -> Iterator[Piece]:
    """Read one conversation: an array of messages, or an object that has it in `messages`."""
    shelf = Shelf()
    session, messages = Session(), [said for _, said in objects(source)]
    if len(messages) == 1 and isinstance(messages[0].get("messages"), list) and "parts" not in messages[0]:
        whole = messages[0]
        session = Session(id=text(whole.get("id")), extras={NAME: rest(whole, "id", "messages")})
        messages = [need_object(each, f"messages[{n}]") for n, each in enumerate(need_list(whole["messages"], ""))]
    yield Opening(session)
    before: tuple[str, ...] = ()
    names = Names()
    for number, said in enumerate(messages):
        for entry in _entries(said, number, before, shelf, names):
            before = (entry.id,)
            yield entry
    yield Closing()


def _entries(said: dict[str, Any], number: int, before: tuple[str, ...], shelf: Shelf, names: Names) -> Iterator[Entry]:
    name = text(said.get("id")) or str(number + 1)
    role = as_role(said.get("role"))
    spans = list(_spans(parts_of(said), role, shelf))
    blobs = shelf.taken()  # of all steps: they were read at once
    kept = rest(said, "id", "role", "parts", *BESIDE_PARTS)
    if not isinstance(content := said.get("content", ""), str):
        kept["content"] = content
    for index, (who, found, is_step) in enumerate(spans):
        is_last = index == len(spans) - 1
        own = names.unique(name if is_last else f"{name}/{index + 1}")
        ours: dict[str, Any] = {} if is_step is None else {"step": is_step}
        if is_last:
            ours |= kept
        extras = {NAME: ours} if ours else {}
        yield Entry(own, Message(who, found, name, timestamp=UNTIMED), before, extras=extras, blobs=blobs)
        before = (own,)


def _spans(parts: list[Any], role: Role, shelf: Shelf) -> Iterator[tuple[Role, list[Part], bool | None]]:
    """Give what one message is made of: steps, each with the results of its calls after it.

    With each, whether its beginning is marked; None where there is nothing to mark.
    """
    said: list[Part] = []
    results: list[Part] = []
    is_step: bool | None = None
    given = False
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        is_call = isinstance(kind, str) and (kind.startswith("tool-") or kind == "dynamic-tool")
        if kind == "step-start" or (results and not is_call):
            if said or results:
                given = True
                yield role, said, is_step
                if results:
                    yield "tool", results, None
                said, results = [], []
            is_step = kind == "step-start"
            if is_step:
                continue
        if is_call:
            call, result = _call(part, str(kind))
            said.append(call)
            results += [] if result is None else [result]
        else:
            said.append(_part(part, shelf))
    if said or results or not given:
        yield role, said, is_step
        if results:
            yield "tool", results, None


def _part(part: Any, shelf: Shelf) -> Part:
    match part:
        case {"type": "text", "text": str(words)}:
            kept = rest(part, "type", "text")
            return Part("text", words, provider_raw={NAME: kept} if kept else None)
        case {"type": "reasoning", "text": str(words)}:
            return _thought(words, part)
        case {"type": "file", "url": str(url), "mediaType": str(kind)}:
            facts = {"filename": part["filename"]} if isinstance(part.get("filename"), str) else {}
            if found := _DATA_URL.fullmatch(url):
                return media(shelf, found[2], kind or found[1], unknown(NAME, part), **facts)
            return Part(
                "image" if kind.startswith("image/") else "file", json={"url": url, "media_type": kind, **facts}
            )
    return unknown(NAME, part)


def _thought(words: str, part: dict[str, Any]) -> Part:
    """Give reasoning; Anthropic's as its own block, so that it can go back there."""
    kept = rest(part, "type", "text")
    match part.get("providerMetadata"):
        case {"anthropic": {"signature": str(seal), **more}, **others} if not more and not others:
            block = {"type": "thinking", "thinking": words, "signature": seal}
        case {"anthropic": {"redactedData": str(data), **more}, **others} if not (words or more or others):
            block = {"type": "redacted_thinking", "data": data}
        case made:
            maker = next(iter(made), None) if isinstance(made, dict) else None
            return Part("thinking", words, json={"provider": maker, "dialect": NAME}, provider_raw={NAME: kept})
    del kept["providerMetadata"]
    facts = {"provider": "anthropic", "dialect": "anthropic"} | ({NAME: kept} if kept else {})
    return Part("thinking", words or None, json=facts, provider_raw=block)


def _reasoning(part: Part, ours: dict[str, Any]) -> dict[str, Any]:
    facts = part.json or {}
    kept = facts.get(NAME)
    said = {"type": "reasoning", "text": part.text or "", **(thaw(kept) if isinstance(kept, Mapping) else {}), **ours}
    match part.provider_raw:
        case {"type": "thinking", "signature": str(seal)}:
            return said | {"providerMetadata": {"anthropic": {"signature": seal}}}
        case {"type": "redacted_thinking", "data": str(data)}:
            return said | {"providerMetadata": {"anthropic": {"redactedData": data}}}
    return said


def _call(part: Mapping[str, Any], kind: str) -> tuple[Part, Part | None]:
    name = text(part.get("toolName")) if kind == "dynamic-tool" else kind.removeprefix("tool-")
    known = ("type", "toolName", "toolCallId", "input", "output", "errorText", "state")
    kept = rest(part, *known) | ({"dynamic": True} if kind == "dynamic-tool" else {})
    state = text(part.get("state"))
    usual = {"output": "output-available", "errorText": "output-error"}
    ended = next((key for key in usual if key in part), None)
    if state != (usual[ended] if ended else "input-available"):
        kept["state"] = state
    call_id = text(part.get("toolCallId"))
    call = Part(
        "tool_call",
        tool_call_id=call_id,
        tool_name=name,
        tool_args=read_arguments(part.get("input")),
        provider_raw={NAME: kept} if kept else None,
    )
    if ended is None:
        return call, None
    raw = failure(ended == "errorText")
    return call, Part("tool_result", tool_call_id=call_id, tool_name=name, tool_output=part[ended], provider_raw=raw)


def _encode(transcript: Transcript) -> bytes:
    messages: list[dict[str, Any]] = []
    calls: dict[str | None, dict[str, Any]] = {}
    for entry in transcript.linear():
        message = entry.message
        ours = thaw(rest(entry.noted(NAME), "id", "role", "parts"))
        is_step = ours.pop("step", None)
        if message.role == "tool" and messages and messages[-1]["role"] == "assistant":
            for part in message.parts:
                _answer(calls, part, messages[-1])
            messages[-1] |= {"id": entry.id.partition("/")[0], **ours}
            continue
        role = message.role if message.role in ("system", "user", "assistant") else "system"
        same = bool(messages) and messages[-1]["role"] == role == "assistant"
        name = message.id or entry.id
        if not (same and (messages[-1]["id"] == name.partition("/")[0] or is_step)):
            messages.append({"id": name.partition("/")[0], "role": role, "parts": []})
        parts: list[Any] = messages[-1]["parts"]
        if is_step or (is_step is None and same and parts):
            parts.append({"type": "step-start"})
        for part in message.parts:
            if (said := _said(part, entry)) is not None:
                parts.append(said)
                if part.type == "tool_call":
                    calls[part.tool_call_id] = said
                    said["toolCallId"] = part.tool_call_id or f"call_{len(parts)}"
        messages[-1] |= ours
    for each in messages:  # it takes none without parts
        each["parts"] = each["parts"] or [{"type": "text", "text": ""}]
    whole = transcript.session
    if whole.id is None and not whole.extras.get(NAME):
        return jsontext.dumps(messages)
    around = {} if whole.id is None else {"id": whole.id}
    return jsontext.dumps({**around, "messages": messages, **thaw(rest(whole.noted(NAME), "messages"))})


def _said(part: Part, entry: Entry) -> dict[str, Any] | None:
    ours = kept_beside(part, NAME)
    match part.type:
        case "text":
            return {"type": "text", "text": part.text or "", **ours}
        case "thinking":
            return _reasoning(part, ours)
        case "tool_call":
            dynamic = ours.pop("dynamic", False)
            tool = part.tool_name or ""
            named = {"type": "dynamic-tool", "toolName": tool} if dynamic else {"type": f"tool-{tool}"}
            call = {"toolCallId": part.tool_call_id, "state": "input-available", "input": unread_arguments(part)}
            return {**named, **call, **ours}
        case "image" | "file" | "audio" | "video":
            facts = part.json or {}
            name = {"filename": facts["filename"]} if text(facts.get("filename")) else {}
            if (data := base64_of(part, entry.blobs)) is not None:
                return {"type": "file", "mediaType": data[0], "url": f"data:{data[0]};base64,{data[1]}", **name}
            if url := text(facts.get("url")):  # one that is empty would be refused
                kind = facts.get("media_type") or ("image/*" if part.type == "image" else "application/octet-stream")
                return {"type": "file", "mediaType": kind, "url": url, **name}
        case "provider":
            return own_block(part, NAME)
        case "refusal":
            return {"type": "text", "text": part.text or ""}
    return None


def _answer(calls: dict[str | None, dict[str, Any]], part: Part, message: dict[str, Any]) -> None:
    call = calls.get(part.tool_call_id)
    if call is None:  # a result without its call: it needs one to live in
        name = part.tool_call_id or f"call_{len(message['parts'])}"
        call = {"type": "dynamic-tool", "toolName": part.tool_name or "unknown", "toolCallId": name}
        call |= {"state": "input-available", "input": {}}
        message["parts"].append(call)
    is_usual = call.get("state") == "input-available"
    if is_failed(part):
        call["errorText"] = output_text(part.tool_output)
    else:
        call["output"] = thaw(part.tool_output)
    if is_usual:
        call["state"] = "output-error" if is_failed(part) else "output-available"


def _sniff(head: Head) -> float:
    first = head.first
    messages = first.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[0], dict):
        first = messages[0]
    parts = first.get("parts")
    part = parts[0] if isinstance(parts, list) and parts else None
    if "parts" not in first and {"id", "role", "content"} <= first.keys() and b'"toolInvocations"' in head.data:
        return 0.8
    if first.get("role") not in ("system", "user", "assistant") or not isinstance(part, dict):
        return 0.0
    is_ours = part.get("type") == "step-start" or "text" in part or "toolCallId" in part or "mediaType" in part
    return 0.9 if is_ours and "id" in first and "content" not in part else 0.3 if is_ours else 0.0


FORMAT = Format(
    name=NAME,
    about="Vercel AI SDK's UIMessages",
    carries=carrying(yes="ids thinking calls images files extras", partial="system signatures title"),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    aliases=("vercel", "ai-sdk"),
    notes={"system": "as messages", "signatures": "Anthropic's, and its own", "title": "the conversation's id"},
)
