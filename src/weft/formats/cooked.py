"""Cooked traces: `{messages, tools, requests}`, every message once and requests as lists of their ids.

Read, the requests of a file are branches of one conversation: messages they begin with alike are the same entries, and
each request is a head, named by its id. Written, every answer is a request of what was said before it
(trace-and-cook.md, sections 4 to 6).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from weft import jsontext
from weft.canon import (
    EMPTY,
    UNTIMED,
    Entry,
    Message,
    Part,
    Piece,
    Role,
    Session,
    ToolSpecification,
    Transcript,
    output_text,
    thaw,
)
from weft.errors import CodecError
from weft.formats.foreign import mappings
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Source

__all__ = ["FORMAT", "read"]

Json = dict[str, Any]
ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "thinking": "assistant",
    "tool_use": "assistant",
    "tool_result": "tool",
}
COOKED_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool_result",
}


# -- reading -----------------------------------------------------------------------------------------------------


def read(source: Source) -> Iterator[Piece]:
    """Read a cooked trace as one conversation with a branch for each request."""
    value = source.json()
    if not isinstance(value, dict):
        raise CodecError("a cooked trace is an object", where=source.name)
    messages = {item["id"]: item for item in _objects(value, "messages")}
    said = {name: _message(item, f"messages[{m}]") for m, (name, item) in enumerate(messages.items())}
    entries: list[Entry] = []
    found: dict[tuple[str | None, str], str] = {}
    uses: dict[str, int] = {}
    heads: dict[str, str] = {}
    kept: list[Json] = []
    for r, request in enumerate(_objects(value, "requests")):
        where = f"requests[{r}]"
        asked, answered = _ids(request, "request_messages", where), _ids(request, "response_messages", where)
        above: str | None = None
        for number, name in enumerate((*asked, *answered)):
            if name not in said:
                raise CodecError(f"no message has the id {name!r}", where=where)
            at = found.get((above, name))
            if at is None:
                uses[name] = uses.get(name, 0) + 1
                at = name if uses[name] == 1 else f"{name}.{uses[name]}"
                found[above, name] = at
                model = request.get("model") if number >= len(asked) else None
                extras = {"cooked": messages[name]} if _cooked(said[name]) != [_bare(messages[name])] else EMPTY
                entries.append(Entry(at, said[name], () if above is None else (above,), model or None, extras=extras))
            above = at
        others = {key: item for key, item in request.items() if key not in ("request_messages", "response_messages")}
        kept.append({**others, "end": above, "answer": len(answered)})
        if above is not None:
            heads[str(request["id"])] = above
    unused = [item for name, item in messages.items() if name not in uses]
    facts: Json = {"requests": kept, "tools": _objects(value, "tools"), **({"unused": unused} if unused else {})}
    session = Session(tools=tuple(_tools(_objects(value, "tools"))), extras={"cooked": facts})
    last = kept[-1]["end"] if kept else None
    try:
        yield from Transcript(tuple(entries), session, heads, last).pieces()
    except ValueError as problem:
        raise CodecError(str(problem), where="messages") from problem


def _objects(value: Json, key: str) -> list[Json]:
    found = value.get(key)
    if not isinstance(found, list):
        raise CodecError("a cooked trace has a list here", where=key)
    for number, item in enumerate(found):
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            raise CodecError("must be an object with an id", where=f"{key}[{number}]")
    return found


def _ids(request: Json, key: str, where: str) -> list[str]:
    found = request.get(key)
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise CodecError("must be a list of ids", where=f"{where}.{key}")
    return found


def _message(item: Json, where: str) -> Message:
    role, content = item.get("role"), item.get("content")
    if not isinstance(role, str) or role not in ROLES:
        raise CodecError(f"must be one of {', '.join(ROLES)}, not {role!r}", where=f"{where}.role")
    if not isinstance(content, str):
        raise CodecError("must be a string", where=f"{where}.content")
    parts: list[Part] = []
    if role == "thinking":
        parts.append(Part("thinking", content))
    elif role == "tool_result":
        raw = {"is_error": True} if item.get("is_error") is True else None
        parts.append(Part("tool_result", tool_call_id=item.get("tool_use_id"), tool_output=content, provider_raw=raw))
    else:
        if content or role != "tool_use":
            parts.append(Part("text", content))
        calls = item.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            raise CodecError("must be a list", where=f"{where}.tool_calls")
        for c, call in enumerate(calls or ()):
            match call:
                case {"name": str(name), "arguments": Mapping() as arguments}:
                    parts.append(Part("tool_call", tool_call_id=call.get("id"), tool_name=name, tool_args=arguments))
                case _:
                    raise CodecError("a call has a name and arguments", where=f"{where}.tool_calls[{c}]")
    return Message(ROLES[role], parts, timestamp=UNTIMED)


def _tools(tools: list[Json]) -> Iterator[ToolSpecification]:
    for tool in tools:
        match tool:
            case {"name": str(name), "parameters": Mapping() as parameters} if not tool.get("is_server_side"):
                yield ToolSpecification(name, str(tool.get("description") or ""), parameters)


# -- writing -----------------------------------------------------------------------------------------------------


def _bare(item: Mapping[str, Any]) -> Json:
    return {key: value for key, value in item.items() if key != "id"}


def _cooked(message: Message) -> list[Json]:
    """Write a message as cooked ones: a text, a thought or a result each, and all its calls in one [R-15]."""
    cooked: list[Json] = []
    calls: list[Json] = []
    role = COOKED_ROLES[message.role]
    for part in message.parts:
        match part.type:
            case "tool_call":
                call: Json = {"name": part.tool_name or "", "arguments": thaw(part.tool_args or EMPTY)}
                calls.append({**call, **({} if part.tool_call_id is None else {"id": part.tool_call_id})})
            case "tool_result":
                failed = (part.provider_raw or EMPTY).get("is_error") is True
                text = output_text(part.tool_output) if part.tool_output is not None else ""
                cooked.append(_made("tool_result", text, tool_use_id=part.tool_call_id, is_error=failed))
            case "thinking":
                cooked.append(_made("thinking", part.text or "[redacted]"))
            case "text" | "refusal":
                cooked.append(_made(role, part.text or ""))
            case "annotation":
                continue
            case "image":
                cooked.append(_made(role, "[image]"))
            case _:
                media = part.blob.media_type if part.blob is not None else None
                shown = f"[{media}]" if media else output_text(thaw(part.provider_raw or part.json or EMPTY))
                cooked.append(_made(role, shown))
    if calls:
        last = cooked[-1] if cooked and len(cooked) == 1 and cooked[0]["role"] == role else None
        if last is not None and message.provider is None:
            last |= {"role": "tool_use", "tool_calls": calls}  # as OpenAI's traces have them: text and calls together
        else:
            cooked.append(_made("tool_use", "", tool_calls=calls))
    return cooked


def _made(role: str, content: str, **fields: Any) -> Json:
    return {"role": role, "content": content, "tool_calls": None, "tool_use_id": None, "is_error": None, **fields}


def encode(transcript: Transcript) -> bytes:
    """Write a conversation: as the requests it was read from, or one for each answer."""
    kept = thaw(transcript.session.noted("cooked"))
    table = _Table()
    names: dict[str, list[str]] = {}
    for entry in transcript.entries:
        own = entry.extras.get("cooked")
        cooked = [_bare(thaw(own))] if isinstance(own, Mapping) else _cooked(entry.message)
        names[entry.id] = [table.name(message) for message in cooked]
    for message in mappings(kept.get("unused")):
        table.name(_bare(message))
    given = mappings(kept.get("tools"))
    tools = (
        [*given]
        if given and all("id" in tool for tool in given)
        else [
            {
                "id": f"t{t}",
                "name": tool.name,
                "description": tool.description,
                "parameters": thaw(tool.input_schema),
                "is_server_side": False,
            }
            for t, tool in enumerate(transcript.session.tools)
        ]
    )
    by_id = {entry.id: entry for entry in transcript.entries}
    past = mappings(kept.get("requests"))
    if past and all(each.get("end").__class__ is str and each["end"] in by_id for each in past):
        requests = [_again(each, transcript, names) for each in past]
    else:
        requests = list(_requests(transcript, names, [tool["id"] for tool in tools], table))
    try:
        return jsontext.dumps({"messages": table.messages, "tools": tools, "requests": requests})
    except ValueError as problem:
        raise CodecError(str(problem), where="messages") from problem


class _Table:
    """The distinct messages, numbered as they come [C-41]."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._known: dict[str, str] = {}

    def name(self, message: Json) -> str:
        key = hashlib.sha256(json.dumps(message, sort_keys=True, default=str).encode()).hexdigest()
        if key not in self._known:
            self._known[key] = f"m{len(self.messages)}"
            self.messages.append({"id": self._known[key], **message})
        return self._known[key]


def _again(request: Mapping[str, Any], transcript: Transcript, names: Mapping[str, list[str]]) -> Json:
    chain = [name for entry in transcript.linear(request["end"]) for name in names[entry.id]]
    answered = request.get("answer")
    split = len(chain) - (answered if isinstance(answered, int) else 0)
    said = {key: value for key, value in request.items() if key not in ("end", "answer")}
    return {**said, "request_messages": chain[:split], "response_messages": chain[split:]}


def _requests(
    transcript: Transcript, names: Mapping[str, list[str]], tools: list[str], table: _Table
) -> Iterator[Json]:
    """Make one request of each answer, and of each end that no one answered."""
    by_id = {entry.id: entry for entry in transcript.entries}
    answered = {parent for entry in transcript.entries for parent in entry.parent_ids if _is_answer(entry)}
    continued = {parent for entry in transcript.entries for parent in entry.parent_ids}
    owners: dict[str, str] = {}
    count = 0
    for entry in transcript.entries:
        ends = entry.id not in answered if _is_answer(entry) else entry.id not in continued
        if not ends:
            continue
        chain = list(transcript.linear(entry.id))
        start = len(chain)
        while start and _is_answer(chain[start - 1]):
            start -= 1
        name = f"r{count}"
        count += 1
        above = next((owners[each.id] for each in reversed(chain[:start]) if each.id in owners), None)
        owners |= {each.id: name for each in chain[start:]}
        moment = next((each.timestamp for each in reversed(chain) if each.timestamp is not None), None)
        yield {
            "id": name,
            "parent_id": above,
            "timestamp": 0 if moment is None else _milliseconds(moment),
            "request_messages": _flat(names[each.id] for each in chain[:start]),
            "response_messages": _flat(names[each.id] for each in chain[start:])
            or [table.name(_made("assistant", ""))],
            "model": by_id[entry.id].model or transcript.session.model or "",
            "tools": tools,
            "duration_ms": 0,
        }


def _is_answer(entry: Entry) -> bool:
    return entry.message.role == "assistant"


def _flat(lists: Iterable[list[str]]) -> list[str]:
    return [name for each in lists for name in each]


def _milliseconds(moment: datetime) -> int:
    return round((moment - datetime.fromtimestamp(0, UTC)).total_seconds() * 1000)


def sniff(head: Head) -> float:
    """An object with messages, tools and requests."""
    first = head.first
    if not head.is_object or "messages" not in first:
        return 0.0
    if {"messages", "tools", "requests"} <= first.keys():
        return 0.95
    # Cut off within the messages: their six keys tell.
    return 0.8 if b'"tool_use_id"' in head.data and b'"is_error"' in head.data and b'"m0"' in head.data else 0.0


FORMAT = Format(
    name="cooked",
    about="a cooked trace: every message once, requests as lists of them",
    extensions=(".cooked.json",),
    carries=carrying(
        "branches tools thinking", "heads model calls system timestamps options extras images files blocks"
    ),
    notes={
        "heads": "as ids of requests",
        "model": "of requests",
        "system": "as messages",
        "calls": "results without the name of their tool",
        "timestamps": "of requests",
        "options": "tools alone",
        "extras": "of requests, if the file was of this kind before",
        "images": "that there was one",
        "files": "of which type it was",
        "blocks": "as text",
    },
    read=read,
    write=proven("cooked", encode, read),
    sniff=sniff,
)
