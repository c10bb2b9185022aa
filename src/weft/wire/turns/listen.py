"""What is shown while an answer comes in: a provider's own events as `{type?, name?, id?, content?}` [T-58].

This is for the eye. What the answer *is* comes from the dialect's decoder (`answer.py`); an event that shows nothing
gives nothing here, and one that is new to us is noted and passed over.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weft.canon import EMPTY, thaw
from weft.jsontext import dumps_text, loads
from weft.wire.codec import Json
from weft.wire.sse import SseParser
from weft.wire.turns.provider import provider_named

__all__ = ["Display", "Streamer", "show_events", "sse_events", "stream_event"]


def stream_event(provider: str, native: Mapping[str, Any]) -> list[Json]:
    """Give what one native event shows. A `Streamer` remembers, and so also tells interleaved calls apart."""
    return Streamer(provider).feed(native)


def sse_events(chunks: Iterable[bytes]) -> Iterable[Json]:
    """Read a provider's event stream: the JSON of each event; `[DONE]` and what carries no data is skipped [T-57]."""
    parser = SseParser()
    for chunk in chunks:
        yield from _opened(parser.feed(chunk))
    yield from _opened(parser.close())


def _opened(frames: Iterable[Any]) -> Iterable[Json]:
    for frame in frames:
        if not frame.data or frame.data == b"[DONE]" or frame.truncated or frame.oversize:
            continue
        try:
            event = loads(frame.data)
        except ValueError:
            event = None
        yield event if isinstance(event, dict) else {"data": frame.text}  # which every listener notes as unknown


class Streamer:
    """Follows one answer. `notes` says which native events were not understood."""

    __slots__ = ("_calls", "_current", "_listen", "notes")

    def __init__(self, provider: str) -> None:
        """Listen to a provider."""
        self._listen: Callable[[Streamer, Mapping[str, Any]], list[Json]] = _EARS[provider_named(provider).dialect]
        self._calls: dict[Any, Json] = {}  # of an OpenAI-style answer, by index: what opened each call
        self._current: Any = None  # the index of the call that is open
        self.notes: list[str] = []

    def feed(self, native: Any) -> list[Json]:
        """Take one native event; give what it shows."""
        if not isinstance(native, Mapping):
            return self.pass_over(f"an event that is no object but {type(native).__name__}")
        return self._listen(self, native)

    def pass_over(self, what: str) -> list[Json]:
        """Note something that is not understood."""
        self.notes.append(f"ignored: {what}")
        return []

    def call(self, index: Any, name: Any, call_id: Any, arguments: Any) -> list[Json]:
        """Tell of an OpenAI-style call: it opens with its name, then more of its arguments comes."""
        told: list[Json] = []
        if isinstance(name, str) and name:
            opening: Json = {"type": "tool_use", "name": name}
            if isinstance(call_id, str) and call_id:
                opening["id"] = call_id
            if index != self._current or opening != self._calls[index]:  # some servers say the name every time
                self._calls[index] = opening
                self._current = index
                told.append(dict(opening))
        if isinstance(arguments, str) and arguments:
            if index != self._current and index in self._calls:  # calls that come in turns: say which one this is
                self._current = index
                told.append(dict(self._calls[index]))
            told.append({"content": arguments})
        return told


# -- anthropic -------------------------------------------------------------------------------------------------

SILENT = frozenset({"message_start", "message_delta", "message_stop", "content_block_stop", "ping", "error"})


def _anthropic(ear: Streamer, event: Mapping[str, Any]) -> list[Json]:
    match event:
        case {"type": "content_block_delta", "delta": Mapping() as delta}:
            return _anthropic_delta(ear, delta)
        case {"type": "content_block_start", "content_block": Mapping() as block}:
            return _anthropic_block(block)
        case {"type": str(kind)} if kind in SILENT:
            return []
    return ear.pass_over(f"event {event.get('type')}")


def _anthropic_block(block: Mapping[str, Any]) -> list[Json]:
    match block:
        case {"type": "text"}:
            return [{"type": "text", "content": block.get("text") or ""}]
        case {"type": "thinking"}:
            return [{"type": "thinking", "content": block.get("thinking") or ""}]
        case {"type": "redacted_thinking"}:
            return []
        case {"type": "web_search_tool_result"}:
            return [{"type": "web_search_tool_result", "content": _as_csv(block.get("content"))}]
        case {"type": str(kind), "name": str(name)}:
            return [{"type": kind, "name": name}]
    return [{"type": str(block.get("type"))}]  # new to us, but what follows is its content and not the last block's


def _anthropic_delta(ear: Streamer, delta: Mapping[str, Any]) -> list[Json]:
    match delta:
        case {"type": "text_delta", "text": text} | {"type": "input_json_delta", "partial_json": text}:
            return [{"content": text}]
        case {"type": "thinking_delta", "thinking": text}:
            return [{"type": "thinking", "content": text}]
        case {"type": "citations_delta"}:
            return [{}]
        case {"type": "signature_delta"}:
            return []
    return ear.pass_over(f"delta {delta.get('type')}")


def _as_csv(results: Any) -> str:
    """Write search results as a table, without the text that only the provider can read."""
    if not isinstance(results, (list, tuple)) or not all(isinstance(row, Mapping) for row in results):
        return dumps_text(thaw(results))  # an error, and not results
    columns = list(dict.fromkeys(key for row in results for key in row if key != "encrypted_content"))
    written = io.StringIO()
    table = csv.DictWriter(written, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(results)
    return written.getvalue()


# -- OpenAI and Cerebras ---------------------------------------------------------------------------------------

REASONING = ("reasoning_content", "reasoning")  # where servers that speak this dialect put it


def _chat(ear: Streamer, chunk: Mapping[str, Any]) -> list[Json]:
    choices = chunk.get("choices")
    if not isinstance(choices, (list, tuple)):
        return ear.pass_over(f"a chunk with {sorted(map(str, chunk))}")
    delta = _first(choices).get("delta")
    if not isinstance(delta, Mapping):
        return []  # the chunk that tells the usage, or one of another choice
    told: list[Json] = []
    thought = next((delta[key] for key in REASONING if isinstance(delta.get(key), str) and delta[key]), None)
    if thought is not None:
        told.append({"type": "thinking", "content": thought})
    content = delta.get("content")
    for piece in content if isinstance(content, (list, tuple)) else (content,):  # blocks, where Mistral speaks it
        told += _chat_piece(piece)
    if isinstance(refusal := delta.get("refusal"), str) and refusal:
        told.append({"type": "refusal", "content": refusal})
    calls = delta.get("tool_calls")
    for c, call in enumerate(calls if isinstance(calls, (list, tuple)) else ()):
        if isinstance(call, Mapping):
            told += _chat_call(ear, call.get("index", c), call)
    return told


def _chat_piece(piece: Any) -> list[Json]:
    match piece:
        case str(text) | {"type": "text", "text": str(text)} if text:
            return [{"type": "text", "content": text}]
        case {"type": "thinking", "thinking": [*thoughts]}:
            texts = [thought.get("text") for thought in thoughts if isinstance(thought, Mapping)]
            return [{"type": "thinking", "content": text} for text in texts if isinstance(text, str)]
    return []


def _first(choices: Iterable[Any]) -> Mapping[str, Any]:
    """Give what is said of the first choice: with several, their chunks come in any order."""
    return next((one for one in choices if isinstance(one, Mapping) and one.get("index", 0) == 0), EMPTY)


def _chat_call(ear: Streamer, index: Any, call: Mapping[str, Any]) -> list[Json]:
    function = call.get("function")
    if not isinstance(function, Mapping):
        return []
    key = index if isinstance(index, (int, str)) else 0
    return ear.call(key, function.get("name"), call.get("id"), function.get("arguments"))


# -- Cohere ----------------------------------------------------------------------------------------------------

COHERE_SILENT = frozenset(
    {"message-start", "message-end", "content-start", "content-end", "tool-call-end", "citation-start"}
    | {"citation-end", "debug"}
)


def _cohere(ear: Streamer, event: Mapping[str, Any]) -> list[Json]:
    delta = event.get("delta")
    said = delta.get("message") if isinstance(delta, Mapping) else None
    match event.get("type"), said:
        case "content-delta", {"content": {"text": str(text)}} if text:
            return [{"type": "text", "content": text}]
        case "content-delta", {"content": {"thinking": str(text)}} if text:
            return [{"type": "thinking", "content": text}]
        case "content-delta", _:
            return []
        case "tool-plan-delta", {"tool_plan": str(text)}:
            return [{"type": "thinking", "content": text}]
        case (("tool-call-start" | "tool-call-delta"), {"tool_calls": Mapping() as call}):
            return _chat_call(ear, event.get("index", 0), call)
        case str(kind), _ if kind in COHERE_SILENT:
            return []
    return ear.pass_over(f"event {event.get('type')}")


# -- Gemini ----------------------------------------------------------------------------------------------------


def _gemini(ear: Streamer, chunk: Mapping[str, Any]) -> list[Json]:
    match chunk:
        case {"candidates": [*candidates]}:
            content = _first(candidates).get("content")
            parts = content.get("parts") if isinstance(content, Mapping) else None
            parts = parts if isinstance(parts, (list, tuple)) else ()
            return [event for part in parts for event in _gemini_part(ear, part)]
        case {"usageMetadata": _} | {"promptFeedback": _}:
            return []
    return ear.pass_over(f"a chunk with {sorted(map(str, chunk))}")


def _gemini_part(ear: Streamer, part: Any) -> list[Json]:
    match part:
        case {"functionCall": Mapping() as call} | {"function_call": Mapping() as call}:
            told: Json = {"type": "tool_use", "name": call.get("name"), "content": thaw(call.get("args") or {})}
            return [{**told, "id": call["id"]} if isinstance(call.get("id"), str) else told]
        case {"text": str(text), "thought": True}:
            return [{"type": "thinking", "content": text}]
        case {"text": str(text)}:
            return [{"type": "text", "content": text}]
    return ear.pass_over(f"a part with {sorted(map(str, part)) if isinstance(part, Mapping) else part!r}")


_EARS: dict[str, Callable[[Streamer, Mapping[str, Any]], list[Json]]] = {
    "anthropic": _anthropic,
    "openai_chat": _chat,
    "cohere": _cohere,
    "gemini": _gemini,
}


# -- display ---------------------------------------------------------------------------------------------------


class Display:
    """Turns normalised events into text as they come [T-59]."""

    __slots__ = ("_block",)

    def __init__(self) -> None:
        """Begin with no block open."""
        self._block: tuple[Any, Any, Any] | None = None

    def feed(self, event: Mapping[str, Any]) -> str:
        """Give the text that one event adds."""
        content = event.get("content")
        shown = "" if content is None else content if isinstance(content, str) else dumps_text(content)
        kind = event.get("type")
        if kind is None:
            return shown
        name = event.get("name")
        block = (kind, name, event.get("id"))
        if block == self._block:
            return shown
        gap = "" if self._block is None else "\n\n"
        self._block = block
        head = "" if kind == "text" else f"{kind}({name}):" if name else f"{kind}:"
        return gap + head + shown


def show_events(events: Iterable[Mapping[str, Any]]) -> str:
    """Show a whole run of normalised events as text."""
    display = Display()
    return "".join(display.feed(event) for event in events)
