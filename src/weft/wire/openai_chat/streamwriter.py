"""Chat Completions streams, written: each event as a chunk, at once.

Reasoning has no field of its own in this dialect. Where the stream that is told was one of ours, its first chunk
with reasoning says which field it used, and the same is used again; else it is `reasoning_content`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, StreamEnd, StreamStart, ToolCallStart, thaw, write_arguments
from weft.jsontext import dumps
from weft.wire.codec import FAITHFUL, Encoded, Json
from weft.wire.openai_chat.block import REASONING
from weft.wire.openai_chat.message import MessageWriter
from weft.wire.openai_chat.response import is_own_envelope, written_usage
from weft.wire.sse import encode_sse
from weft.wire.streamwriter import TellingEncoder

__all__ = ["StreamEncoder"]

DONE = encode_sse(b"[DONE]")
OF_ANY_CHUNK = ("choices", "usage", "object")
OF_ANY_CALL = ("id", "type", "function", "custom", "index")


class _Told:
    """What has been written of a call."""

    __slots__ = ("kind", "name", "opened", "pieces", "whole")

    def __init__(self, name: str, kind: str, opened: Json) -> None:
        self.name = name
        self.kind = kind
        self.opened = opened
        self.pieces = False
        self.whole = False  # its arguments are an object, and were told with the opening


class StreamEncoder(TellingEncoder):
    """Writes events as chat.completion.chunk events."""

    __slots__ = ("_calls", "_envelope", "_reasoning", "_said")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        super().__init__(blobs)
        self._envelope: Json = {"id": "chatcmpl-weft", "object": "chat.completion.chunk", "created": 0, "model": ""}
        self._reasoning = "reasoning_content"  # the field it is written in; "content" for thinking blocks
        self._said: set[str] = set()  # part types whose deltas have been told and whose end is still to come
        self._calls: dict[int, _Told] = {}

    def _chunk(self, delta: Json, index: int = 0, **fields: Any) -> bytes:
        choice = {"index": index, "delta": delta, "finish_reason": None, **fields}
        return encode_sse(dumps({**self._envelope, "choices": [choice]}))

    def begin(self, start: StreamStart | None = None) -> bytes:
        """Keep what every chunk repeats; a stream has no opening mark."""
        if start is None:
            return b""
        raw = start.raw or EMPTY
        if raw.get("object") == "chat.completion.chunk":
            self._envelope |= {key: value for key, value in raw.items() if key not in OF_ANY_CHUNK}
        for key, value in (("id", start.id), ("model", start.model)):
            if value is not None:
                self._envelope[key] = value
        return b""

    def role(self, role: str) -> bytes:
        """Tell who speaks."""
        return self._chunk({"role": role})

    def text(self, piece: str) -> bytes:
        """Tell a piece of text."""
        self._said.add("text")
        return self._chunk({"content": piece})

    def refusal(self, piece: str) -> bytes:
        """Tell a piece of a refusal, in its own field."""
        self._said.add("refusal")
        return self._chunk({"refusal": piece})

    # -- reasoning

    def learn(self, raw: Mapping[str, Any]) -> None:
        """See in a chunk of this dialect where reasoning is said."""
        match raw:
            case {"choices": [{"delta": Mapping() as delta}, *_]}:
                if isinstance(delta.get("content"), (list, tuple)):
                    self._reasoning = "content"
                else:
                    self._reasoning = next((key for key in REASONING if delta.get(key)), self._reasoning)

    def thought(self, piece: str) -> bytes:
        """Tell a piece of thinking, in the field this stream has for it."""
        self._said.add("thinking")
        if self._reasoning == "content":
            return self._chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]})
        if self._reasoning == "reasoning_details":
            return self._chunk({})  # they are told whole at the end
        return self._chunk({self._reasoning: piece})

    # -- parts

    def end_part(self, part: Part) -> bytes:
        """Tell what a part has beside its text, or all of it if none was told."""
        if part.type not in self._said:
            return self.whole(part)
        self._said.discard(part.type)
        raw = part.provider_raw or EMPTY
        if part.type == "thinking":
            return self._rest_of_thought(raw)
        if part.type == "text" and raw.get("type") == "text" and (more := _besides(raw, "type", "text")):
            return self._chunk({"content": [{"type": "text", "text": "", **more}]})
        return b""

    def _rest_of_thought(self, raw: Mapping[str, Any]) -> bytes:
        if self._reasoning == "content":
            more = _besides(raw, "type", "thinking")
            items = [item for item in thaw(raw.get("thinking") or ()) if item.get("type") != "text"]
            return self._chunk({"content": [{"type": "thinking", "thinking": items, **more}]}) if more or items else b""
        rest = {key: thaw(raw[key]) for key in REASONING if raw.get(key) is not None and key != self._reasoning}
        if self._reasoning == "reasoning_details":
            rest = {key: thaw(raw[key]) for key in REASONING if raw.get(key) is not None}
        return self._chunk(rest) if rest else b""

    def whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas, in the field it belongs to."""
        delta = self._fields(Message("assistant", (part,)))
        if isinstance(delta.get("content"), str) and part.type != "text":
            delta = {"content": [{"type": "text", "text": delta["content"]}]}
        return self._chunk(delta) if delta else b""

    def _fields(self, message: Message) -> Json:
        writer = MessageWriter(Encoded(), self.blobs, FAITHFUL, "", in_response=True)
        return writer.assistant(0, message)

    # -- calls

    def open_call(self, start: ToolCallStart) -> bytes:
        """Open a call; arguments that are an object, not text, are told at once."""
        index, name, call_id, raw = start.index, start.name, start.id, start.raw or EMPTY
        kind = next((key for key in ("function", "custom", "function_call") if isinstance(raw.get(key), Mapping)), "")
        opened: Json = _besides(raw, "index", "id", kind) if kind in ("function", "custom") else {"type": "function"}
        self._calls[index] = _Told(name, kind or "function", opened)
        inner = {"name": name, **(_besides(raw[kind], "name", "arguments", "input") if kind else {})}
        given = raw[kind].get("arguments") if kind else ""
        if isinstance(given, str):
            inner["arguments"] = ""
        elif given is not None:
            inner["arguments"] = thaw(given)
            self._calls[index].whole = True
        if kind == "function_call":
            return self._chunk({"function_call": inner})
        call = {"index": index, **({"id": call_id} if call_id is not None else {}), **opened, kind or "function": inner}
        return self._chunk({"tool_calls": [call]})

    def arguments(self, call: int, piece: str) -> bytes:
        """Tell a piece of a call's arguments."""
        told = self._calls.get(call)
        if told is None or told.whole:
            return b""
        told.pieces = True
        if told.kind == "function_call":
            return self._chunk({"function_call": {"arguments": piece}})
        key = "input" if told.kind == "custom" else "arguments"
        return self._chunk({"tool_calls": [{"index": call, told.kind: {key: piece}}]})

    def end_call(self, call: int, part: Part) -> bytes:
        """Tell what was not told of a call while it came; a call without arguments takes an empty object."""
        told = self._calls.get(call)
        fields = self._fields(Message("assistant", (part,))) if told is None or part.provider_raw is not None else {}
        if told is None:
            calls = [{"index": call, **one} for one in fields.get("tool_calls", ())]
            return self._chunk({**fields, "tool_calls": calls} if calls else fields) if fields else b""
        written = b""
        whole = (fields.get("tool_calls") or [{}])[0]
        if not told.pieces and told.kind == "function" and not isinstance(whole.get("function"), dict):
            written += self.arguments(call, write_arguments(part.tool_args))
        more = {key: value for key, value in whole.items() if key not in told.opened and key not in OF_ANY_CALL}
        name = (part.tool_name or "").removeprefix(told.name)
        if name and name != part.tool_name:
            more[told.kind] = {"name": name}
        return written + (self._chunk({"tool_calls": [{"index": call, **more}]}) if more else b"")

    # -- the end

    def failed(self, error: str) -> bytes:
        """Tell an error as a chunk of its own."""
        return encode_sse(dumps({"error": {"message": error, "type": "api_error"}}))

    def end(self, end: StreamEnd) -> bytes:
        """Tell the other choices, why it stopped, what it used, and `[DONE]`."""
        reply = end.reply
        own = reply is not None and is_own_envelope(reply)
        choices = reply.raw.get("choices") or () if reply is not None and own else ()
        written = b"".join(self._other_choice(c, end, choices) for c in range(1, len(reply.messages) if reply else 0))
        stop = (end.stop_reason if own else None) or end.finish_reason or None
        if stop is not None:
            first = choices[0] if choices and isinstance(choices[0], Mapping) else EMPTY
            more = _besides(first, "index", "message", "delta", "finish_reason")
            written += self._chunk({}, finish_reason=stop, **more)
        if self.usage is not None:
            written += encode_sse(dumps({**self._envelope, "choices": [], "usage": written_usage(self.usage)}))
        if stop is not None or (reply is not None and reply.finished):
            written += DONE
        return written

    def _other_choice(self, c: int, end: StreamEnd, choices: Any) -> bytes:
        """Tell a choice that events do not: whole, in one chunk."""
        if end.reply is None:
            return b""
        raw = choices[c] if c < len(choices) and isinstance(choices[c], Mapping) else EMPTY
        delta = {"role": "assistant", **self._fields(end.reply.messages[c])}
        for number, call in enumerate(delta.get("tool_calls", ())):
            call["index"] = number
        stop = raw.get("finish_reason") or end.finish_reason
        return self._chunk(delta, index=c) + self._chunk({}, index=c, finish_reason=stop)


def _besides(raw: Mapping[str, Any], *known: str) -> Json:
    more: Json = thaw({key: value for key, value in raw.items() if key not in known and value is not None})
    return more
