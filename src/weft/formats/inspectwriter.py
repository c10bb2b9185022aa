"""Writes inspect-ai's log as JSON: conversations become the samples of one evaluation that went well.

What was read from such a log is written as it was, around the messages. Others get what inspect-ai needs: a task, a
model, and for each answer the event that says what it took. The account is proven, sample by sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count, groupby
from typing import Any

from weft import jsontext
from weft.canon import Closing, Entry, Part, Piece, Session, ToolSpecification, Transcript, Usage, gather, thaw
from weft.formats.foreign import iso, listed, moment, rest, sound_json, text_of
from weft.formats.format import Sink, Writer
from weft.formats.inspectcontent import NAME, Attachments, content_of, key_of, tool_call, tool_result
from weft.formats.ledger import Ledger
from weft.formats.proof import account

__all__ = ["writer"]

VERSION = 2
_ROLES = {"developer": "system"}
_REASONS = {"length": "max_tokens", "stop": "stop", "tool_calls": "tool_calls", "content_filter": "content_filter"}
_NOT_FINITE = re.compile(rb'\{"inspect:float":"(NaN|-?Infinity)"\}')
_COUNTS = ("input_tokens", "output_tokens", "total_tokens")
_MORE_COUNTS = ("input_tokens_cache_write", "input_tokens_cache_read", "reasoning_tokens", "total_cost")

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("format", "description", "pattern"), str),
    **dict.fromkeys(("enum", "examples"), list),
    **dict.fromkeys(("minLength", "maxLength"), int),
    **dict.fromkeys(("minimum", "maximum"), (int, float)),
}

Conversation = Callable[..., Iterator[Piece]]
Json = dict[str, Any]


def writer(conversation: Conversation) -> Writer:
    """Make a writer; `conversation` reads a sample back, to prove the account."""

    def write(pieces: Iterator[Piece], sink: Sink, ledger: Ledger) -> None:
        log: Json = {}
        late: Json = {}
        taken: set[tuple[str, int]] = set()
        for number, transcript in enumerate(gather(pieces)):
            if not number:
                log = _written(_log(transcript))
                sink.write(_dumps(log)[:-1] + b',"samples":[')
            sample = _sample(transcript, number, log["eval"]["model"], taken)
            sink.write((b"," if number else b"") + b"\n" + _dumps(sample))
            pieces_back = conversation(_written(sample), log, number, is_first=not number)
            account(NAME, replace(transcript, strays=()), next(gather([*pieces_back, Closing()])), ledger)
            _late(transcript, late, log.keys() | {"samples"}, ledger)
        if not log:
            sink.write(_dumps(_log(Transcript()))[:-1] + b',"samples":[')
        sink.write(b"\n]" + (b"," + _dumps(late)[1:] if late else b"}") + b"\n")

    return write


def _dumps(value: Json) -> bytes:
    return _NOT_FINITE.sub(rb"\1", sound_json(value))


def _written(value: Json) -> Any:
    """Give a value as it is read again."""
    return jsontext.loads(sound_json(value))


def _late(transcript: Transcript, late: Json, taken: set[str], ledger: Ledger) -> None:
    """Take what a log said after its samples, to be said there again; note what cannot be."""
    for number, stray in enumerate(transcript.strays):
        try:
            members = jsontext.loads(stray.text) if stray.format == NAME else None
        except ValueError:
            members = None
        if isinstance(members, dict) and not members.keys() & (taken | late.keys()):
            late |= members
        else:
            why = f"only {stray.format} understands it" if stray.format != NAME else "another log said the same"
            ledger.lost_of_whole(f"strays[{number}]", "an unknown line", why)


# -- the log -------------------------------------------------------------------------------------------------------


def _ours(session: Session, key: str) -> Json:
    found = session.noted(NAME).get(key)
    return dict(thaw(found)) if isinstance(found, Mapping) else {}


def _log(first: Transcript) -> Json:
    """Give what is said of the evaluation, as the first conversation knows it."""
    log = _ours(first.session, "log")
    if isinstance(about := log.get("eval"), dict) and isinstance(about.get("model"), str):
        return log
    times = (first.session.created, *(entry.timestamp for entry in first.entries))
    created = iso(next((at for at in times if at is not None), moment(0)))
    needed = {
        "version": VERSION,
        "status": "success",
        "eval": {"created": created, "task": "conversations", "dataset": {}, "model": _model(first), "config": {}},
        "plan": {"name": "plan", "steps": [], "config": {}},
        "stats": {"started_at": "", "completed_at": "", "model_usage": {}},
    }
    return needed | rest(log, "eval")


def _model(first: Transcript) -> str:
    """Name the model as inspect-ai does, with who answers before it."""
    answers = [entry for entry in first.entries if entry.message.role == "assistant"]
    provider = first.session.provider or next(
        (each.message.provider for each in answers if each.message.provider), None
    )
    model = first.session.model or next((each.model for each in answers if each.model), None)
    if provider is None:
        return model or "none/none"
    return f"{provider}/{model or ''}"


# -- a sample ------------------------------------------------------------------------------------------------------


def _sample(transcript: Transcript, number: int, model: str, taken: set[tuple[str, int]]) -> Json:
    session = transcript.session
    kept = _ours(session, "sample")
    attachments = Attachments(kept.get("attachments"), is_open=not kept)
    messages: list[Json] = []
    answers: list[tuple[int, Entry]] = []
    told = () if session.instructions is None else (session.instructions.system, session.instructions.developer)
    messages += ({"content": words, "role": "system"} for words in told if words)
    for entry in transcript.linear():
        for message in _messages(entry, attachments):
            if message["role"] == "assistant":
                answers.append((len(messages), entry))
            messages.append(message)
    sample: Json = {**_name(session, kept, number, taken), "input": _input(transcript), "target": ""}
    facts = {"description": session.title, "started_at": iso(session.created), "completed_at": iso(session.updated)}
    sample |= {key: value for key, value in facts.items() if value is not None}
    sample |= {key: value for key, value in kept.items() if key not in ("id", "epoch")} | {"messages": messages}
    _add_events(sample, answers, model, session.tools)
    if answers and not kept:
        at, entry = answers[-1]
        sample["output"] = _output(messages[at], entry, model)
    if attachments.kept:
        sample["attachments"] = attachments.kept
    return sample


def _name(session: Session, kept: Json, number: int, taken: set[tuple[str, int]]) -> Json:
    """Give the id and epoch that a sample had, or its session's id; two of one name are epochs of one sample."""
    name, epoch = kept.get("id"), kept.get("epoch")
    is_own = isinstance(name, (str, int)) and isinstance(epoch, int)
    if not is_own or session.id not in (str(name), f"{name}_epoch_{epoch}"):
        name, epoch = number + 1 if session.id is None else session.id, 1
    epoch = next(each for each in count(epoch or 1) if (str(name), each) not in taken)
    taken.add((str(name), epoch))
    return {"id": name, "epoch": epoch}


def _input(transcript: Transcript) -> str:
    asked = (entry.message for entry in transcript.entries if entry.message.role == "user")
    return next((words for message in asked if (words := text_of(message))), "")


def _messages(entry: Entry, attachments: Attachments) -> Iterator[Json]:
    """Give an entry as messages: each result of a tool is one of its own, and what it says beside them is another."""
    kept = dict(thaw(entry.noted(NAME)))
    named = {} if entry.message.id is None else {"id": entry.message.id}
    parts = entry.message.parts
    has_results = any(part.type == "tool_result" for part in parts)
    for is_result, group in groupby(parts, lambda part: part.type == "tool_result"):
        if is_result:
            found = [{"role": "tool", **tool_result(part, attachments)} for part in group]
        else:
            said = _message(entry, list(group), attachments)
            found = [said] if said["content"] or "tool_calls" in said or not has_results else []
        for message in found:
            yield {**named, **message, **kept}
            named = {}
    if not parts:
        yield {**named, **_message(entry, [], attachments), **kept}


def _message(entry: Entry, parts: list[Part], attachments: Attachments) -> Json:
    role = entry.message.role
    said: Json = {"content": content_of(parts, entry.blobs, attachments)}
    said["role"] = "user" if role == "tool" else _ROLES.get(role, role)
    if role == "assistant":
        calls = [part for part in parts if part.type == "tool_call"]
        if calls:
            said["tool_calls"] = [tool_call(part, number) for number, part in enumerate(calls, 1)]
        if entry.model is not None:
            said["model"] = entry.model
    return said


# -- events --------------------------------------------------------------------------------------------------------


def _add_events(
    sample: Json, answers: list[tuple[int, Entry]], model: str, tools: tuple[ToolSpecification, ...]
) -> None:
    """Say of each answer what it took and why it ended, unless the sample says so itself."""
    messages = sample["messages"]
    events = list(listed(sample.get("events")))
    known = {key_of(message) for each in (*events, sample) for message in _answered(each)}
    new = [
        (at, entry)
        for at, entry in answers
        if key_of(messages[at]) not in known and (tools or entry.usage or entry.finish_reason or entry.timestamp)
    ]
    if new:
        shared = sample.get("events_data")
        pools = dict(shared) if isinstance(shared, dict) else {"messages": [], "calls": []}
        before = listed(pools.get("messages"))
        functions = [_tool(tool) for tool in tools]
        events += [_event(messages, at, len(before), entry, model, functions) for at, entry in new]
        sample |= {"events": events, "events_data": {**pools, "messages": [*before, *messages]}}


def _answered(event: Any) -> list[Json]:
    """Give the answers that an event, or a sample, has as its output."""
    match event:
        case {"output": {"choices": list(choices)}}:
            return [
                each["message"] for each in choices if isinstance(each, dict) and isinstance(each.get("message"), dict)
            ]
    return []


def _event(messages: list[Json], at: int, begin: int, entry: Entry, model: str, tools: list[Json]) -> Json:
    """Say that the model was called with the messages before its answer; they lie where all events share them."""
    event: Json = {"event": "model", "model": entry.model or model, "input": [], "tools": tools}
    if at:
        event["input_refs"] = [[begin, begin + at]]
    event |= {"tool_choice": "auto", "config": {}, "output": _output(messages[at], entry, model)}
    when = iso(entry.timestamp)
    return event if when is None else {**event, "timestamp": when, "completed": when}


def _output(message: Json, entry: Entry, model: str) -> Json:
    reason = _REASONS.get(entry.finish_reason or "", "unknown")
    said: Json = {"model": entry.model or model, "choices": [{"message": message, "stop_reason": reason}]}
    return said if entry.usage is None else {**said, "usage": _usage(entry.usage)}


def _usage(usage: Usage) -> Json:
    """Give the account as it came if it is one of inspect-ai's, else what is the same in all of them."""
    given = usage.provider_usage
    is_own = all(type(given.get(name)) is int for name in _COUNTS)
    if is_own and all(isinstance(given.get(name), (int, float, type(None))) for name in _MORE_COUNTS):
        return dict(thaw(given))
    counts = {name: getattr(usage, name) for name in _COUNTS}
    return {name: number for name, number in counts.items() if number is not None}


def _tool(tool: ToolSpecification) -> Json:
    schema = thaw(tool.input_schema)
    is_object = schema.get("type", "object") == "object" and schema.get("required", ()) is not None
    fitting = schema if is_object and _fits(schema) else {"type": "object", "properties": {}}
    return {"name": tool.name, "description": tool.description, "parameters": fitting}


def _fits(schema: Any) -> bool:
    """Tell whether inspect-ai reads a schema: it knows a part of JSON Schema, and refuses a log with anything else."""
    if not isinstance(schema, dict):
        return False
    for key, value in schema.items():
        match key:
            case "type":
                good = all(each in _TYPES for each in (value if isinstance(value, list) else [value]))
            case "properties":
                good = isinstance(value, dict) and all(map(_fits, value.values()))
            case "anyOf":
                good = isinstance(value, list) and all(map(_fits, value))
            case "items" | "additionalProperties":
                good = _fits(value) or (key != "items" and isinstance(value, bool))
            case "required":
                good = isinstance(value, list) and all(isinstance(each, str) for each in value)
            case _:
                good = isinstance(value, _KINDS.get(key, object))
        if not good:
            return False
    return True
