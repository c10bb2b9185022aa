"""ATIF trajectories (v1.8): what an agent did, step by step.

A step of the agent holds its calls and what came of them, so it is two entries here if it has both. Keys that ATIF does
not know are forbidden; what is more rides in `extra`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

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
    iso,
    media,
    moment,
    need_list,
    need_object,
    objects,
    rest,
    sound_json,
    text,
    tools_as_functions,
    tools_from,
    unknown,
)
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "atif"
VERSION = "ATIF-v1.8"
_SOURCES: dict[str, Role] = {"system": "system", "user": "user", "agent": "assistant"}
_STEP = ("step_id", "source", "message", "timestamp", "model_name", "reasoning_content", "tool_calls", "observation")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_SOUNDS = tuple(f"audio/{kind}" for kind in ("wav", "mpeg", "mp4", "aac", "ogg", "flac", "webm", "aiff"))
_COUNTS = (("prompt_tokens",), ("completion_tokens",))
_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


def read(source: Source) -> Iterator[Piece]:
    """Read trajectories, one object each; those of sub-agents come after the one that they are in."""
    for place, said in objects(source):
        yield from _trajectory(said, place)


def _trajectory(said: dict[str, Any], place: str) -> Iterator[Piece]:
    agent = said.get("agent")
    agent = agent if isinstance(agent, dict) else {}
    kept = rest(said, "steps", "session_id", "subagent_trajectories")
    yield Opening(
        Session(
            id=text(said.get("session_id")),
            model=text(agent.get("model_name")),
            tools=tools_from(agent.get("tool_definitions")),
            extras={NAME: kept},
        )
    )
    shelf = Shelf()
    count = 0
    for number, each in enumerate(need_list(said.get("steps", []), f"{place}.steps")):
        for message, facts in _messages(need_object(each, f"{place}.steps[{number}]"), shelf):
            count += 1
            above = () if count == 1 else (str(count - 1),)
            yield Entry(str(count), message, above, blobs=shelf.taken(), **facts)
    yield Closing()
    inner = said.get("subagent_trajectories")
    for number, each in enumerate(inner if isinstance(inner, list) else ()):
        where = f"{place}.subagent_trajectories[{number}]"
        yield from _trajectory(need_object(each, where), where)


def _messages(step: dict[str, Any], shelf: Shelf) -> Iterator[tuple[Message, dict[str, Any]]]:
    role = _SOURCES.get(str(step.get("source")), "user")
    at = moment(step.get("timestamp")) or UNTIMED
    parts: list[Part] = []
    if isinstance(thought := step.get("reasoning_content"), str):
        parts.append(Part("thinking", thought, json={"provider": None, "dialect": NAME}))
    parts += _content(step.get("message"), shelf)
    calls = step.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        parts.append(_call(call))
    kept = rest(step, *_STEP)
    metrics = kept.pop("metrics", None)
    if isinstance(metrics, dict):
        kept["metrics"] = metrics
    yield (
        Message(role, parts, timestamp=at),
        {
            "model": text(step.get("model_name")),
            "usage": counted(metrics, *_COUNTS),
            "extras": {NAME: kept} if kept else {},
        },
    )
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    if isinstance(results, list) and results:
        yield Message("tool", [_result(each) for each in results], timestamp=at), {}


def _content(content: Any, shelf: Shelf) -> list[Part]:
    if isinstance(content, str):
        return [Part("text", content)] if content else []
    return [_part(each, shelf) for each in content] if isinstance(content, list) else []


def _part(part: Any, shelf: Shelf) -> Part:
    match part:
        case {"type": "text", "text": str(words)}:
            return Part("text", words)
        case {"type": "image" | "audio" as kind, "source": {"path": str(path), "media_type": media_type}}:
            if found := _DATA_URL.fullmatch(path):
                return media(shelf, found[2], media_type, unknown(NAME, part))
            return Part(kind, json={"url": path, "media_type": media_type})
    return unknown(NAME, part)


def _call(call: Any) -> Part:
    if not isinstance(call, dict):
        return unknown(NAME, call)
    extra = call.get("extra")
    return Part(
        "tool_call",
        tool_call_id=text(call.get("tool_call_id")),
        tool_name=text(call.get("function_name")) or "",
        tool_args=read_arguments(call.get("arguments")),
        provider_raw={NAME: {"extra": extra}} if extra is not None else None,
    )


def _result(result: Any) -> Part:
    if not isinstance(result, dict):
        return unknown(NAME, result)
    content = result.get("content")
    kept = rest(result, "source_call_id", "content")
    return Part(
        "tool_result",
        tool_call_id=text(result.get("source_call_id")),
        tool_output=content,
        provider_raw={NAME: kept} if kept else None,
    )


def _encode(transcript: Transcript) -> bytes:
    session = transcript.session
    ours = dict(thaw(session.noted(NAME)))
    agent = ours.pop("agent", None)
    agent = agent if isinstance(agent, dict) and agent else {"name": "weft", "version": "1"}
    if session.model is not None:
        agent["model_name"] = session.model
    if session.tools and "tool_definitions" not in agent:
        agent["tool_definitions"] = tools_as_functions(session.tools)
    said: dict[str, Any] = {"schema_version": ours.pop("schema_version", VERSION)}
    if session.id is not None:
        said["session_id"] = session.id
    told = () if session.instructions is None else (session.instructions.system, session.instructions.developer)
    steps: list[dict[str, Any]] = [{"source": "system", "message": words} for words in told if words]
    for entry in transcript.linear():
        _add(steps, entry)
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return sound_json({**said, "agent": agent, "steps": numbered, **rest(ours, "steps")}) + b"\n"


def _add(steps: list[dict[str, Any]], entry: Entry) -> None:
    message = entry.message
    results = [_observed(part) for part in message.parts if part.type == "tool_result"]
    if results and steps:
        # What came of calls belongs to the step that made them; only calls of that step may be named.
        step = steps[-1]
        known = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        for result in results:
            if result.get("source_call_id") not in known:
                result.pop("source_call_id", None)
        step.setdefault("observation", {"results": []})["results"] += results
    rest_of_it = [part for part in message.parts if part.type != "tool_result"]
    if rest_of_it or not results or not steps:
        steps.append(_step(entry, rest_of_it))


def _step(entry: Entry, parts: list[Part]) -> dict[str, Any]:
    role = entry.message.role
    source = {"assistant": "agent", "user": "user", "tool": "user"}.get(role, "system")
    step: dict[str, Any] = {"source": source}
    if (at := iso(entry.timestamp)) is not None:
        step["timestamp"] = at
    step["message"] = _said([part for part in parts if part.type not in ("thinking", "tool_call")], entry)
    ours = dict(thaw(entry.noted(NAME)))
    if source == "agent":
        thoughts = [part.text for part in parts if part.type == "thinking" and part.text is not None]
        if thoughts:
            step["reasoning_content"] = "\n\n".join(thoughts)
        if entry.model is not None:
            step["model_name"] = entry.model
        calls = [_called(part, number) for number, part in enumerate(parts) if part.type == "tool_call"]
        if calls:
            step["tool_calls"] = calls
        if entry.usage is not None and "metrics" not in ours:
            step["metrics"] = _metrics(entry.usage)
    else:
        ours = rest(ours, "metrics", "reasoning_effort", "llm_call_count")
    return step | rest(ours, "source", "message", "tool_calls", "observation")


def _called(part: Part, number: int) -> dict[str, Any]:
    kept = kept_beside(part, NAME)
    return {
        "tool_call_id": part.tool_call_id or f"call_{number}",
        "function_name": part.tool_name or "",
        "arguments": thaw(part.tool_args or {}),
        **kept,
    }


def _observed(part: Part) -> dict[str, Any]:
    kept = kept_beside(part, NAME)
    output = thaw(part.tool_output)
    named = {} if part.tool_call_id is None else {"source_call_id": part.tool_call_id}
    is_parts = isinstance(output, list) and all(_is_part(each) for each in output)
    content = {"content": output if is_parts else output_text(part.tool_output)} if output is not None else {}
    return {**named, **content, **kept}


def _is_part(value: Any) -> bool:
    match value:
        case {"type": "text", "text": str()}:
            return len(value) == len(("type", "text"))
        case {"type": "image" | "audio", "source": {"path": str(), "media_type": str()}}:
            return True
    return False


def _said(parts: list[Part], entry: Entry) -> Any:
    said: list[dict[str, Any]] = []
    for part in parts:
        kind = part.type
        if kind in ("text", "refusal"):
            said.append({"type": "text", "text": part.text or ""})
        elif kind in ("image", "audio"):
            given = base64_of(part, entry.blobs)
            facts = part.json or {}
            path = f"data:{given[0]};base64,{given[1]}" if given else facts.get("url")
            media_type = given[0] if given else facts.get("media_type")
            if isinstance(path, str) and media_type in (_IMAGES if kind == "image" else _SOUNDS):
                said.append({"type": kind, "source": {"media_type": media_type, "path": path}})
        elif (block := own_block(part, NAME)) is not None:
            said.append(block)
    if not said:
        return ""
    return said[0].get("text", said) if len(said) == 1 and said[0].get("type") == "text" else said


def _metrics(usage: Usage) -> dict[str, Any]:
    counts = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    return {key: value for key, value in counts.items() if value is not None}


def _sniff(head: Head) -> float:
    version = head.first.get("schema_version")
    if isinstance(version, str) and version.startswith("ATIF"):
        return 1.0
    return 0.7 if "steps" in head.first and "agent" in head.first else 0.0


FORMAT = Format(
    name=NAME,
    about="ATIF trajectories of agents",
    carries=carrying(
        yes="many timestamps model tools thinking calls extras",
        partial="usage system images title",
    ),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    notes={
        "usage": "tokens in and out",
        "system": "as steps",
        "images": "pictures and sound of the kinds it names",
        "title": "the session's id",
    },
)
