"""Cohere streams: named events that open, extend and close blocks, calls and citations of one message.

https://docs.cohere.com/docs/streaming. Contents, calls and citations are numbered apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import (
    EMPTY,
    ContentDelta,
    Event,
    Message,
    NativeEvent,
    Part,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
    thaw,
)
from weft.jsontext import dumps, loads
from weft.wire.body import blobs_or_new
from weft.wire.codec import FAITHFUL, Encoded, Json
from weft.wire.cohere.block import NAME, decode_block, made_by
from weft.wire.cohere.message import MessageWriter
from weft.wire.cohere.response import STOP, decode_response, is_own_envelope, written_usage
from weft.wire.sse import encode_sse
from weft.wire.stream import AssemblingDecoder

__all__ = ["StreamDecoder", "StreamEncoder"]

PIECED = ("text", "thinking")  # of a content block: the fields that come in pieces


class _Open:
    """A block or a call that is still open: what it was opened with, and pieces to be joined at the end."""

    __slots__ = ("ended", "opened", "pieces")

    def __init__(self, opened: Json) -> None:
        self.opened = opened
        self.pieces: dict[str, list[str]] = {}
        self.ended = False

    def add(self, key: str, piece: Any) -> None:
        if isinstance(piece, str):
            self.pieces.setdefault(key, []).append(piece)

    def whole(self) -> Json:
        return {**self.opened, **{key: "".join(pieces) for key, pieces in self.pieces.items()}}


class StreamDecoder(AssemblingDecoder):
    """Reads message-start to message-end."""

    __slots__ = ("_blocks", "_body", "_calls", "_citations", "_message", "_plan", "_planning")
    dialect = NAME

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin before message-start."""
        super().__init__(blobs, provider=provider)
        self._body: Json = {}
        self._message: Json = {}
        self._blocks: dict[int, _Open] = {}
        self._calls: dict[int, _Open] = {}
        self._citations: list[Any] = []
        self._plan: list[str] = []
        self._planning = False  # whether reasoning was last told from the plan, or from a thinking block

    def growing(self) -> Iterable[list[str]]:
        """Give what is open of every block and call."""
        return [pieces for one in (*self._blocks.values(), *self._calls.values()) for pieces in one.pieces.values()]

    def open(self, frame: Any) -> Any:
        """Give the native event; the last one may be the text `[DONE]`."""
        event = loads(frame.data)
        return {"type": "done"} if event == "[DONE]" else event

    def take(self, event: Json) -> None:
        """Follow one event."""
        kind = event.get("type")
        if kind == "content-delta":
            self._extend(_index(event), event["delta"]["message"]["content"])
            return
        message = _message_of(event)
        match kind:
            case "message-start":
                self._body = {key: value for key, value in event.items() if key not in ("type", "delta")}
                self._message = {key: value for key, value in message.items() if value or key == "role"}
                self.say.start(event.get("id"), None, {**self._body, "message": dict(self._message)})
                self.say.role(role if isinstance(role := message.get("role"), str) else "")
            case "content-start":
                if message["content"].get("type") == "thinking":
                    self._reasons(event, planning=False)
                self._open_block(_index(event), dict(message["content"]))
            case "content-end":
                self._end_block(_index(event))
            case "tool-plan-delta":
                if isinstance(piece := message.get("tool_plan"), str):
                    self._plan.append(piece)
                    self._reasons(event, planning=True)
                    self.say.reasoning(piece)
            case "tool-call-start":
                self._open_call(_index(event), dict(message["tool_calls"]))
            case "tool-call-delta":
                self._extend_call(_index(event), message["tool_calls"])
            case "citation-start":
                self._citations.append(message["citations"])
            case "message-end":
                self._end(event.get("delta") or {})
            case "tool-call-end" | "citation-end" | "done":
                pass
            case _:
                self.say.native(event)

    def _reasons(self, event: Json, *, planning: bool) -> None:
        """Show the event with which reasoning goes from one place to another, as it alone says where."""
        if planning != self._planning:
            self._planning = planning
            self.say.native(event)

    # -- content

    def _open_block(self, index: int, block: Json) -> None:
        if index in self._blocks:
            self.notes.append(f"content {index} was opened twice; the second is kept after the others")
            index = max(self._blocks) + 1
        opened = {key: value for key, value in block.items() if key not in PIECED}
        self._blocks[index] = _Open(opened)
        self._extend(index, {key: value for key, value in block.items() if key in PIECED})

    def _extend(self, index: int, content: Json) -> None:
        block = self._blocks.get(index)
        if block is None:
            self.notes.append(f"a piece came for content {index}, which was not open")
            block = self._blocks[index] = _Open({"type": "thinking" if "thinking" in content else "text"})
        for key, piece in content.items():
            if key in PIECED:
                block.add(key, piece)
            elif piece is not None:
                block.opened[key] = piece
        if isinstance(piece := content.get("text"), str):
            self.say.content(piece)
        if isinstance(piece := content.get("thinking"), str):
            self.say.reasoning(piece)

    def _end_block(self, index: int) -> None:
        block = self._blocks.get(index)
        before = [self._blocks[each].ended for each in sorted(self._blocks) if each < index]
        if block is not None and not block.ended and all(before):  # parts are ended in order, or at the end
            block.ended = True
            made = made_by(self.provider, None)
            self.end_part(decode_block(block.whole(), self.blobs, f"content[{index}]", made))

    # -- calls

    def _open_call(self, index: int, call: Json) -> None:
        if index in self._calls:
            self.notes.append(f"tool call {index} was opened twice; the second is kept after the others")
            index = max(self._calls) + 1
        function = dict(call.get("function") or {})
        arguments = function.pop("arguments", None)
        opened = self._calls[index] = _Open({**call, "function": function})
        opened.add("arguments", arguments)
        self.say.call(index, function.get("name"), call.get("id"), call)
        if isinstance(arguments, str):
            self.say.arguments(index, arguments)

    def _extend_call(self, index: int, call: Json) -> None:
        function = call.get("function") or {}
        if index not in self._calls:
            self.notes.append(f"a piece came for tool call {index}, which was not open")
            self._calls[index] = _Open({"type": "function", "function": {"name": ""}})
        if isinstance(piece := function.get("arguments"), str):
            self._calls[index].add("arguments", piece)
            self.say.arguments(index, piece)

    def call_number(self, position: int) -> int:
        """Give the number a call was told under."""
        return sorted(self._calls)[position]

    # -- the end

    def _end(self, delta: Json) -> None:
        self.complete = True
        self._body.update({key: value for key, value in delta.items() if value is not None})
        if delta.get("error") is not None:
            self.fail(str(delta["error"]))

    def assembled(self) -> Json:
        """Put the blocks, the plan, the calls and the citations into the message."""
        if not (self.complete or self._blocks or self._calls or self._plan):
            return self._body  # cut before a word was said
        message = dict(self._message)
        if self._blocks:
            message["content"] = [self._blocks[index].whole() for index in sorted(self._blocks)]
        if self._plan:
            message["tool_plan"] = str(message.get("tool_plan") or "") + "".join(self._plan)
        if self._calls:
            message["tool_calls"] = [_whole_call(self._calls[index]) for index in sorted(self._calls)]
        if self._citations:
            message["citations"] = self._citations
        return {**self._body, "message": message}

    def decode(self, body: Json) -> Reply:
        """Read the assembled response."""
        return decode_response(body, self.blobs, provider=self.provider)


def _index(event: Json) -> int:
    index = event.get("index")
    return index if index.__class__ is int else 0


def _message_of(event: Json) -> Json:
    delta = event.get("delta")
    message = delta.get("message") if isinstance(delta, dict) else None
    return message if isinstance(message, dict) else {}


def _whole_call(call: _Open) -> Json:
    whole = call.whole()
    arguments = whole.pop("arguments", None)
    if arguments is not None:
        whole["function"] = {**whole["function"], "arguments": arguments}
    return whole


class StreamEncoder:
    """Writes events as message-start to message-end, each as it comes."""

    __slots__ = ("_blobs", "_calls", "_index", "_open", "_planned", "_planning", "_said", "_started", "_usage")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        self._blobs = blobs_or_new(blobs)
        self._started = False
        self._index = -1
        self._open = ""  # the type of the content block that is open
        self._said: list[str] = []  # types of blocks closed by the next one, whose part.end is still to come
        self._calls: set[int] = set()
        self._planning = False  # whether reasoning is written as the plan, or as thinking blocks
        self._planned = False
        self._usage: Usage | None = None

    def feed(self, event: Event) -> bytes:
        """Write one event."""
        match event:
            case ContentDelta(delta=str(text)) | RefusalDelta(delta=text):
                return self._delta("text", text)
            case ContentDelta(delta=parts):
                return b"".join(self._whole(part) for part in parts if isinstance(part, Part))
            case ReasoningDelta(delta=text):
                return self._tell_plan(text) if self._planning else self._delta("thinking", text)
            case NativeEvent(raw=raw):
                self._planning = raw.get("type") == "tool-plan-delta"
            case ToolCallStart(index=index, name=name, id=call_id, raw=raw):
                opening: Json = thaw(raw) if raw is not None and isinstance(raw.get("function"), Mapping) else {}
                inner = opening.get("function", {})
                given = {"arguments": ""} if not opening or isinstance(inner.get("arguments"), str) else {}
                opening |= {"id": call_id or "", "type": "function", "function": {**inner, "name": name, **given}}
                return self._open_call(index, opening)
            case ToolCallDelta(index=index, delta=text):
                return self._event("tool-call-delta", index, {"tool_calls": {"function": {"arguments": text}}})
            case ToolCallEnd(index=index, tool_call=part):
                return self._end_call(index, part)
            case PartEnd(part=part):
                return self._end_part(part)
            case StreamStart():
                return self._begin(event)
            case UsageUpdate(usage=usage):
                self._usage = usage
            case StreamError(error=error):
                return self._begin() + self._close_block() + _line({"type": "message-end", "delta": {"error": error}})
            case StreamEnd():
                return self._end(event)
            case _:
                pass
        return b""

    def close(self) -> bytes:
        """End; message-end was written with the end of the stream, or never, if there was none."""
        return b""

    def _event(self, kind: str, index: int | None, message: Json | None = None) -> bytes:
        event: Json = {"type": kind}
        if index is not None:
            event["index"] = index
        if message is not None:
            event["delta"] = {"message": message}
        return _line(event)

    def _begin(self, start: StreamStart | None = None) -> bytes:
        if self._started:
            return b""
        self._started = True
        message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        reply_id = (start.id if start else None) or "weft"
        return _line({"id": reply_id, "type": "message-start", "delta": {"message": message}})

    # -- content

    def _delta(self, kind: str, text: str) -> bytes:
        opened = b"" if self._open == kind else self._open_block({"type": kind, kind: ""})
        return opened + self._event("content-delta", self._index, {"content": {kind: text}})

    def _open_block(self, block: Json) -> bytes:
        closing = self._begin() + self._close_block()
        self._index += 1
        self._open = str(block.get("type"))
        return closing + self._event("content-start", self._index, {"content": block})

    def _close_block(self) -> bytes:
        if not self._open:
            return b""
        self._said.append(self._open)
        self._open = ""
        return self._event("content-end", self._index)

    def _end_part(self, part: Part) -> bytes:
        kind = "text" if part.type == "refusal" else part.type
        if self._planned and "tool_plan" in (part.provider_raw or EMPTY):
            return b""
        if kind == self._open:
            closed = self._close_block()
            self._said.pop()
            return closed
        if kind in self._said:  # its deltas have been told, and the next block has closed it since
            self._said.remove(kind)
            return b""
        return self._whole(part)

    def _whole(self, part: Part) -> bytes:
        """Tell a part that had no deltas: a plan as it is, a block that opens with all it has."""
        fields = self._fields(part)
        if "tool_plan" in fields:
            return self._tell_plan(fields["tool_plan"])
        content = fields.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        written = b"".join(self._open_block(block) + self._close_block() for block in blocks)
        del self._said[len(self._said) - len(blocks) :]
        return written

    def _tell_plan(self, text: str) -> bytes:
        self._planned = True
        return self._begin() + self._close_block() + self._event("tool-plan-delta", None, {"tool_plan": text})

    def _fields(self, part: Part) -> Json:
        return MessageWriter(Encoded(), self._blobs, FAITHFUL).assistant(0, Message("assistant", (part,)))

    # -- calls

    def _open_call(self, index: int, call: Json) -> bytes:
        self._calls.add(index)
        return self._begin() + self._close_block() + self._event("tool-call-start", index, {"tool_calls": call})

    def _end_call(self, index: int, part: Part) -> bytes:
        written = b""
        if index not in self._calls:
            for call in self._fields(part).get("tool_calls", ()):
                written += self._open_call(index, call)
        return written + self._event("tool-call-end", index)

    # -- the end

    def _end(self, end: StreamEnd) -> bytes:
        written = self._begin() + self._close_block()
        own = end.reply is not None and is_own_envelope(end.reply)
        raw = end.reply.raw if end.reply is not None and own else EMPTY
        citations = raw["message"].get("citations") if isinstance(raw.get("message"), Mapping) else None
        for number, citation in enumerate(citations if isinstance(citations, tuple) else ()):
            written += self._event("citation-start", number, {"citations": thaw(citation)})
            written += self._event("citation-end", number)
        stop = raw.get("finish_reason") or (STOP.get(end.finish_reason) if end.finish_reason else None)
        if stop is None:
            return written  # cut short: no stop is invented
        delta: Json = {"finish_reason": stop}
        if self._usage is not None:
            delta["usage"] = written_usage(self._usage)
        return written + _line({"type": "message-end", "delta": delta})


def _line(event: Json) -> bytes:
    return encode_sse(dumps(event), event=event["type"])
