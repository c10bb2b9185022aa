"""Cohere streams: named events that open, extend and close blocks, calls and citations of one message.

https://docs.cohere.com/docs/streaming. Contents, calls and citations are numbered apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Reply
from weft.jsontext import loads
from weft.wire.codec import Json
from weft.wire.cohere.block import NAME, decode_block, made_by
from weft.wire.cohere.response import decode_response
from weft.wire.stream import AssemblingDecoder

__all__ = ["StreamDecoder"]

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
