"""Traces for tests: records with only what matters, and agent sessions of any seed in three formats."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from weft.trace import Cooked, CookedMessage

__all__ = ["SPACED", "agent_records", "answer", "as_lines", "claude", "gemini", "messages_of", "openai", "write_trace"]

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
WORDS = ["tide", "harbour", "naïve", "größe", "日本語", "buffer", '"quoted"', "back\\slash", "new\nline", "tab\t"]
SPACED = (", ", ": ")


def openai(*messages: Any, response: Any = None, at: int = 0, **fields: Any) -> dict[str, Any]:
    """Give an OpenAI record; `fields` go into the record, but `model` and `tools` into the request."""
    return _record({"messages": list(messages)}, response, at, fields)


def claude(*messages: Any, response: Any = None, at: int = 0, system: Any = None, **fields: Any) -> dict[str, Any]:
    """Give a Claude record."""
    request: dict[str, Any] = {"messages": list(messages), "system": [] if system is None else system}
    return _record(request, response, at, fields)


def gemini(*contents: Any, response: Any = None, at: int = 0, **fields: Any) -> dict[str, Any]:
    """Give a Gemini record."""
    return _record({"contents": list(contents)}, response, at, fields)


def _record(request: dict[str, Any], response: Any, at: int, fields: dict[str, Any]) -> dict[str, Any]:
    request = {"model": fields.pop("model", "mint-1"), **request}
    if "tools" in fields:
        request["tools"] = fields.pop("tools")
    record = {"id": f"q{at}", "timestamp": at * 1_000 + 10**12, "request": request, "response": response}
    return {**record, "error": None, **fields}


def answer(text: str | None, **fields: Any) -> dict[str, Any]:
    """Give a whole OpenAI response."""
    return {"choices": [{"message": {"role": "assistant", "content": text, **fields}}]}


def messages_of(cooked: Cooked, number: int = 0, *, response: bool = False) -> list[CookedMessage]:
    """Give the messages of one request."""
    known = {message.id: message for message in cooked.messages}
    request = cooked.requests[number]
    return [known[each] for each in (request.response_messages if response else request.request_messages)]


def as_lines(records: Sequence[Any], separators: tuple[str, str] = (",", ":")) -> list[bytes]:
    """Write records as lines."""
    return [json.dumps(each, ensure_ascii=False, separators=separators).encode() + b"\n" for each in records]


def write_trace(path: Path, records: Sequence[Any]) -> Path:
    """Write records as a file."""
    path.write_bytes(b"".join(as_lines(records)))
    return path


def agent_records(count: int, seed: int = 1, *, rewinds: float = 0.08, errors: float = 0.05) -> list[dict[str, Any]]:
    """Give interleaved agent sessions: history sent again and again, retries, rewinds, errors, streams."""
    rng = random.Random(seed)
    sessions: list[Iterator[dict[str, Any]]] = []
    records: list[dict[str, Any]] = []
    moment = START
    while len(records) < count:
        while len(sessions) < 3:
            sessions.append(_session(rng, rewinds, errors))
        session = rng.choice(sessions)
        moment += timedelta(milliseconds=rng.randrange(0, 900))
        try:
            record = next(session)
        except StopIteration:
            sessions.remove(session)
            continue
        records.append({"id": f"q{len(records)}", "timestamp": moment.isoformat(), "duration_ms": 5, **record})
    return records


def _text(rng: random.Random, most: int = 12) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, most))) + str(rng.randrange(10**6))


def _session(rng: random.Random, rewinds: float, errors: float) -> Iterator[dict[str, Any]]:
    kind = rng.choice(["openai", "claude", "gemini"])
    model = rng.choice(["mint-1", "mint-2"])
    tools = [{"name": f"tool{n}", "description": "x" * 300} for n in range(rng.choice([0, 2, 4]))]
    system = "You are careful. " * 60 + rng.choice(["", "Project B."])
    turns: list[tuple[str, str, list[tuple[str, str]]]] = [("user", _text(rng), [])]
    for _ in range(rng.randrange(2, 25)):
        request = _request(kind, model, system, tools, turns)
        if rng.random() < errors:
            yield {"request": request, "response": None, "error": "timed out"}
            continue
        calls = [(f"call{rng.randrange(10**9)}", _text(rng, 4)) for _ in range(rng.choice([0, 1, 1, 2]))]
        said = ("assistant", _text(rng) if rng.random() < 0.7 or not calls else "", calls)
        yield {"request": request, "response": _response(kind, said, stream=rng.random() < 0.5), "error": None}
        if rng.random() < 0.06:
            continue  # the client drops the answer and asks again
        turns.append(said)
        turns += [("tool", _text(rng, 40), [call]) for call in calls] or [("user", _text(rng), [])]
        users = [at for at, turn in enumerate(turns) if turn[0] == "user"]
        if rng.random() < rewinds and len(users) > 1:
            turns = [*turns[: rng.choice(users)], ("user", _text(rng), [])]


def _request(
    kind: str, model: str, system: str, tools: Sequence[dict[str, Any]], turns: Sequence[Any]
) -> dict[str, Any]:
    if kind == "openai":
        messages: list[Any] = [{"role": "system", "content": system}, *(_openai(*turn) for turn in turns)]
        offered = [{"type": "function", "function": tool} for tool in tools]
        return {"model": model, "messages": messages, **({"tools": offered} if tools else {})}
    if kind == "claude":
        messages = [_claude(*turn) for turn in turns]
        last = messages[-1]["content"]
        last[-1] = {**last[-1], "cache_control": {"type": "ephemeral"}}  # the mark moves with every request
        offered = [{**tool, "input_schema": {"type": "object"}} for tool in tools]
        return {"model": model, "system": [{"type": "text", "text": system}], "messages": messages, "tools": offered}
    declared: list[Any] = [{"functionDeclarations": list(tools)}] if tools else []
    contents = [_gemini(*turn) for turn in turns]
    return {"model": model, "systemInstruction": {"parts": [{"text": system}]}, "contents": contents, "tools": declared}


def _openai(role: str, text: str, calls: list[tuple[str, str]]) -> dict[str, Any]:
    if role == "tool":
        return {"role": "tool", "tool_call_id": calls[0][0], "content": text}
    asked = [{"id": i, "type": "function", "function": {"name": "tool0", "arguments": _arguments(a)}} for i, a in calls]
    return {"role": role, "content": text or None, **({"tool_calls": asked} if asked else {})}


def _arguments(text: str) -> str:
    return json.dumps({"path": text}, ensure_ascii=False)


def _claude(role: str, text: str, calls: list[tuple[str, str]]) -> dict[str, Any]:
    if role == "tool":
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": calls[0][0], "content": text}]}
    blocks: list[Any] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": i, "name": "tool0", "input": {"path": a}} for i, a in calls]
    return {"role": role, "content": blocks}


def _gemini(role: str, text: str, calls: list[tuple[str, str]]) -> dict[str, Any]:
    if role == "tool":
        return {"role": "user", "parts": [{"functionResponse": {"name": "tool0", "response": {"content": text}}}]}
    parts: list[Any] = [{"text": text}] if text else []
    parts += [{"functionCall": {"name": "tool0", "args": {"path": a}}} for _, a in calls]
    return {"role": "model" if role == "assistant" else "user", "parts": parts}


def _response(kind: str, said: tuple[str, str, list[tuple[str, str]]], *, stream: bool) -> dict[str, Any]:
    if kind == "openai":
        message = _openai(*said)
        if not stream:
            return {"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        deltas: list[Any] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in _pieces(said[1]))]
        for index, call in enumerate(message.get("tool_calls", ())):
            deltas.append({"tool_calls": [{"index": index, **call, "function": {"name": "tool0", "arguments": ""}}]})
            pieces = _pieces(call["function"]["arguments"])
            deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
        return _stream([{"id": "c1", "choices": [{"index": 0, "delta": delta}]} for delta in deltas], "[DONE]")
    if kind == "claude":
        content = _claude(*said)["content"]
        if not stream:
            return {"id": "m1", "type": "message", "role": "assistant", "content": content}
        events: list[Any] = [{"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": []}}]
        for index, block in enumerate(content):
            is_text = block["type"] == "text"
            opened = {**block, "text": ""} if is_text else {**block, "input": {}}
            pieces = _pieces(block["text"] if is_text else json.dumps(block["input"]))
            name, key = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
            events.append({"type": "content_block_start", "index": index, "content_block": opened})
            events += [
                {"type": "content_block_delta", "index": index, "delta": {"type": name, key: piece}} for piece in pieces
            ]
            events.append({"type": "content_block_stop", "index": index})
        return _stream([*events, {"type": "message_stop"}])
    content = _gemini(*said)
    if not stream:
        return {"candidates": [{"content": content}], "modelVersion": "mint-1"}
    chunks = [{"text": piece} for piece in _pieces(said[1])] + [each for each in content["parts"] if "text" not in each]
    return _stream([{"candidates": [{"content": {"role": "model", "parts": [chunk]}}]} for chunk in chunks])


def _pieces(text: str) -> list[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]


def _stream(events: Sequence[Any], *more: str) -> dict[str, Any]:
    lines = [f"data: {json.dumps(event, ensure_ascii=False)}" for event in events]
    return {"stream": True, "sse_lines": [*lines, *(f"data: {line}" for line in more)]}
