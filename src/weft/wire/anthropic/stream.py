"""Messages API streams: named events that open, extend and close numbered blocks.

https://docs.claude.com/en/docs/build-with-claude/streaming. Bedrock's invoke streams carry the same events inside
`chunk.bytes`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from weft.blobs import BlobStore
from weft.canon import ContentDelta, Frozen, Part, Reply, thaw
from weft.errors import WireError
from weft.jsontext import loads
from weft.wire.anthropic.block import NAME, decode_block, made_by
from weft.wire.anthropic.response import decode_response
from weft.wire.anthropic.streamwriter import StreamEncoder
from weft.wire.body import deep_merge, unknown
from weft.wire.codec import Json
from weft.wire.stream import AssemblingDecoder

__all__ = ["StreamDecoder", "StreamEncoder"]

# Deltas that extend a text: the key that holds the piece, and the key of the block it belongs to.
TEXTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
    "compaction_delta": ("content", "content"),
}


class _Block:
    """A block that is still open: the object it was opened with, and pieces of text to be joined at the end."""

    __slots__ = ("call", "closed", "opened", "pieces", "texts")

    def __init__(self, opened: Json, call: int | None = None) -> None:
        self.opened = opened
        self.call = call
        self.closed = False
        self.texts: list[str] = []
        self.pieces: dict[str, list[str]] = {"text": self.texts}

    def whole(self) -> Json:
        block = dict(self.opened)
        for key, pieces in self.pieces.items():
            text = "".join(pieces)
            if not pieces:
                continue
            if key == "input":
                block[key] = _arguments(text, block.get(key))
            else:
                held = block.get(key)
                block[key] = held + text if isinstance(held, str) else text
        return block


class StreamDecoder(AssemblingDecoder):
    """Reads message_start to message_stop."""

    __slots__ = ("_blocks", "_calls", "_latest", "_made", "_message")
    dialect = NAME

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin before message_start."""
        super().__init__(blobs, provider=provider)
        self._message: Json = {}
        self._blocks: dict[int, _Block] = {}
        self._latest = -1  # the index of the block opened last
        self._calls = 0
        self._made = made_by(provider, None)

    def growing(self) -> Iterable[list[str]]:
        """Give what is open of every block."""
        return [pieces for block in self._blocks.values() for pieces in block.pieces.values()]

    def take(self, event: Json) -> None:
        """Follow one event."""
        match event.get("type"):
            case "content_block_delta":
                delta = event["delta"]
                block = self._blocks.get(event.get("index", -1))
                if block is not None and delta.get("type") == "text_delta" and delta.get("text").__class__ is str:
                    # Nearly all events of nearly all streams: one look, one piece, one event.
                    block.texts.append(delta["text"])
                    if delta["text"]:
                        self.say.out.append(ContentDelta(delta["text"]))
                    return
                self._extend(self._index(event), delta)
            case "content_block_start":
                self._open_block(self._index(event, opening=True), dict(event["content_block"]))
            case "content_block_stop":
                self._close_block(self._index(event))
            case "message_start":
                self._start(event)
            case "message_delta":
                self._amend(event)
            case "message_stop":
                self.complete = True
                if more := {key: value for key, value in event.items() if key != "type"}:
                    self._message.setdefault("message_stop", {}).update(more)
            case "ping":
                pass
            case "error":
                error = event.get("error")
                self.fail(str(error.get("message") or error) if isinstance(error, Mapping) else str(error))
                self.say.native(event)
            case None if (inner := _unwrapped(event)) is not None:
                self.take(inner)
            case _:
                self.say.native(event)

    def _index(self, event: Json, *, opening: bool = False) -> int:
        """Give the number of the block an event is about; without one, it is the latest, or the next [S-09]."""
        index = event.get("index")
        if index.__class__ is int:
            return index
        if index is not None:
            raise WireError(f"must be a whole number, not {type(index).__name__}", where="index")
        note = f"a {event['type']} has no index; it is taken for the {'next' if opening else 'latest'} block"
        if note not in self.notes:
            self.notes.append(note)
        return self._latest + 1 if opening else max(self._latest, 0)

    def _start(self, event: Json) -> None:
        if self._message:
            self.notes.append("message_start came twice; the second is kept")
        self._message = dict(event["message"])
        self._made = made_by(self.provider, self._message.get("model"))
        envelope = {key: value for key, value in self._message.items() if key != "content"}
        self.say.start(self._message.get("id"), self._message.get("model"), envelope)
        role = self._message.get("role")
        self.say.role(role if isinstance(role, str) else "")

    def _open_block(self, index: int, block: Json) -> None:
        kind = block.get("type")
        if index in self._blocks:
            self.notes.append(f"content block {index} was opened twice; the second is kept after the others")
            index = max(self._blocks) + 1
        call = None
        if kind == "tool_use":
            call, self._calls = self._calls, self._calls + 1
            self.say.start()
            self.say.call(call, _text(block.get("name")), _text(block.get("id")), block)
        elif kind == "fallback" and isinstance(block.get("to"), Mapping):
            self._serve(block["to"].get("model"))
        self._blocks[index] = _Block(block, call)
        self._latest = index
        if kind == "text":
            self.say.content(_text(block.get("text")))
        elif kind == "thinking":
            self.say.reasoning(_text(block.get("thinking")))

    def _serve(self, model: Any) -> None:
        """Note that another model took over: the whole answer is told under its name."""
        if isinstance(model, str):
            self._message["model"] = model
            self._made = made_by(self.provider, model)

    def _extend(self, index: int, delta: Json) -> None:
        block = self._blocks.get(index)
        kind = delta["type"]
        if block is None:
            self.notes.append(f"a {kind} came for content block {index}, which was not open")
            self._open_block(index, _opened_by(delta))
            block = self._blocks[index]
        if kind in TEXTS:
            source, target = TEXTS[kind]
            piece = delta.get(source)
            if kind == "compaction_delta" and isinstance(sealed := delta.get("encrypted_content"), str):
                block.pieces.setdefault("encrypted_content", []).append(sealed)
            if piece is None:
                return
            if piece.__class__ is not str:
                raise WireError(f"must be a string, not {type(piece).__name__}", where=f"delta.{source}")
            block.pieces.setdefault(target, []).append(piece)
            if kind == "text_delta":
                self.say.content(piece)
            elif kind == "thinking_delta":
                self.say.reasoning(piece)
            elif kind == "input_json_delta" and block.call is not None:
                self.say.arguments(block.call, piece)
        elif kind == "citations_delta":
            held = block.opened.get("citations")
            if held.__class__ is not list:
                held = block.opened["citations"] = []
            held.append(delta.get("citation"))
        else:  # a kind that is new: texts are added to, anything else replaces
            self.notes.append(f"delta type {kind} is unknown; its fields are kept in content block {index}")
            for key, value in delta.items():
                if key != "type" and isinstance(value, str):
                    block.pieces.setdefault(key, []).append(value)
                elif key != "type":
                    block.opened[key] = value

    def _close_block(self, index: int) -> None:
        block = self._blocks.get(index)
        if block is None or block.closed:
            self.notes.append(f"content block {index} was closed, but is not open")
            return
        block.closed = True
        if block.call is None:
            self.end_part(_decoded(block.whole(), self.blobs, f"content[{index}]", self._made))

    def _amend(self, event: Json) -> None:
        """Lay the last word over the first; null says nothing about what was said before."""
        delta, usage, held = event.get("delta"), event.get("usage"), self._message.get("usage")
        said = {**event, **delta} if isinstance(delta, Mapping) else {**event}
        del said["type"]
        if isinstance(delta, Mapping):
            del said["delta"]
        if isinstance(usage, Mapping) and isinstance(held, Mapping):
            said["usage"] = deep_merge(thaw(held), _set(usage))
        self._message |= {key: value for key, value in said.items() if value is not None or key not in self._message}

    def assembled(self) -> Json:
        """Put the blocks, in their order, back into the message."""
        if not self._message and not self._blocks:
            return {"type": "message"}
        content = [self._blocks[index].whole() for index in sorted(self._blocks)]
        return {**self._message, "content": content}

    def decode(self, body: Json) -> Reply:
        """Read the assembled message; a block that does not fit the protocol does not cost the others."""
        try:
            return decode_response(body, self.blobs, provider=self.provider)
        except WireError as problem:
            self.notes.append(str(problem))
        whole = decode_response({**body, "content": []}, self.blobs, provider=self.provider)
        parts = [_decoded(block, self.blobs, f"content[{b}]", self._made) for b, block in enumerate(body["content"])]
        return replace(whole, messages=tuple(replace(message, parts=tuple(parts)) for message in whole.messages))


def _decoded(block: Json, blobs: BlobStore, where: str, made: Frozen) -> Part:
    """Read a block of a stream; one that does not fit the protocol is kept whole."""
    try:
        return decode_block(block, blobs, where, made)
    except WireError:
        return unknown(block, dialect=NAME)


def _unwrapped(event: Mapping[str, Any]) -> Json | None:
    """Take an event out of Bedrock's `{"chunk": {"bytes": ...}}`, with the bytes decoded or not."""
    inner: Any = event.get("chunk", event)
    inner = inner.get("bytes", inner) if isinstance(inner, Mapping) else inner
    if isinstance(inner, str):
        inner = loads(base64.b64decode(inner))
    return inner if isinstance(inner, dict) and isinstance(inner.get("type"), str) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(text: str, opened: Any) -> Any:
    """Read the joined argument text; text that was cut off stays text [J-07]."""
    if not text:
        return {} if opened is None else opened
    try:
        value = loads(text)
    except ValueError:
        return {"_raw": text}
    return value if isinstance(value, dict) else {"_raw": text}


def _opened_by(delta: Json) -> Json:
    """Guess the block that a delta without an opening belongs to."""
    match delta.get("type"):
        case "thinking_delta" | "signature_delta":
            return {"type": "thinking", "thinking": ""}
        case "input_json_delta":
            return {"type": "tool_use", "id": "", "name": "", "input": {}}
        case _:
            return {"type": "text", "text": ""}


def _set(counts: Mapping[str, Any]) -> Json:
    """Leave out what an update does not know: null says nothing about a count that came before."""
    return {key: value for key, value in counts.items() if value is not None}
