"""ConverseStream: events named by their frame's header, over numbered blocks.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html. Blocks of text and of
reasoning open with their first delta; only tools and images have a start. A text that is given citations ends up
as a `citationsContent` block. What it cost comes after the stop, in `metadata`. Every event carries a padding `p`.
Writing is in `streamwriter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import (
    Reply,
)
from weft.errors import WireError
from weft.jsontext import loads
from weft.wire.bedrock.block import MEMBERS, SERVER_TOOL, decode_block, made_by
from weft.wire.bedrock.response import decode_response
from weft.wire.body import from_base64, listed, mapping_at, optional_text, to_base64
from weft.wire.codec import Json
from weft.wire.stream import AssemblingDecoder

__all__ = ["StreamDecoder"]

PADDING = "p"


class _Block:
    """A block that is still open: the object it was opened with, and pieces to be joined at the end."""

    __slots__ = ("call", "items", "opened", "pieces")

    def __init__(self, opened: Json, call: int | None = None) -> None:
        self.opened = opened
        self.call = call
        self.pieces: dict[str, list[str]] = {}  # text, thought, signature, sealed, input
        self.items: dict[str, list[Any]] = {}  # citations, and the content of a server tool's result

    def whole(self) -> Json:
        """Give the block as a whole response has it."""
        joined = {key: "".join(pieces) for key, pieces in self.pieces.items() if key != "sealed"}
        if "toolUse" in self.opened:
            return {**self.opened, "toolUse": {**self.opened["toolUse"], "input": _arguments(joined.get("input", ""))}}
        if "toolResult" in self.opened:
            content = _joined_texts(self.items.get("result", []))
            return {**self.opened, "toolResult": {**self.opened["toolResult"], "content": content}}
        if self.opened:
            return self.opened
        if "sealed" in self.pieces:
            return {"reasoningContent": {"redactedContent": _sealed(self.pieces["sealed"])}}
        if "thought" in joined or "signature" in joined:
            said = {"text": joined.get("thought", "")}
            if "signature" in joined:
                said["signature"] = joined["signature"]
            return {"reasoningContent": {"reasoningText": said}}
        if "citations" in self.items:
            cited: Json = {"citations": self.items["citations"]}
            if "text" in joined:
                cited["content"] = [{"text": joined["text"]}]
            return {"citationsContent": cited}
        return {"text": joined.get("text", "")}


class StreamDecoder(AssemblingDecoder):
    """Follows one streamed answer."""

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin before messageStart."""
        super().__init__(blobs, provider=provider)
        self._message: Json = {}
        self._envelope: Json = {}
        self._blocks: dict[int, _Block] = {}
        self._unended: dict[int, None] = {}  # blocks other than calls, in the order they came
        self._calls = 0
        self._made = made_by(provider, None)

    def open(self, frame: Any) -> Any:
        """Give the native event: the payload under the name its header has."""
        return {frame.event: loads(frame.data)}

    def growing(self) -> Iterable[list[str]]:
        """Give what is open of every block; what is sealed is base64, and its pieces are joined in their own way."""
        kinds = [item for block in self._blocks.values() for item in block.pieces.items()]
        return [pieces for kind, pieces in kinds if kind != "sealed"]

    def take(self, event: Json) -> None:
        """Follow one event."""
        for kind, payload in event.items():
            match kind:
                case "contentBlockDelta":
                    self._extend(payload["contentBlockIndex"], payload["delta"])
                case "contentBlockStart":
                    self._open_block(payload["contentBlockIndex"], payload["start"])
                case "contentBlockStop":
                    self._close_block(payload["contentBlockIndex"])
                case "messageStart":
                    self._message = {key: value for key, value in payload.items() if key != PADDING}
                    self.say.start()
                    self.say.role(str(payload.get("role") or ""))
                case "messageStop":
                    self.complete = True
                    self._amend(payload)
                case "metadata":
                    self._amend(payload)
                case _ if kind.endswith(("Exception", "Error")) or kind == "error":
                    said = payload.get("message") if isinstance(payload, Mapping) else None
                    self.fail(f"{kind}: {said}" if said else kind)
                    self.say.native(event)
                case _:
                    self.say.native(event)

    def _amend(self, payload: Json) -> None:
        self._envelope.update((key, value) for key, value in payload.items() if key != PADDING)

    def _open_block(self, index: int, start: Mapping[str, Any]) -> None:
        if index in self._blocks:
            self.notes.append(f"content block {index} was opened twice; the second is kept after the others")
            index = max(self._blocks) + 1
        call = None
        opened = {member: dict(mapping_at(value, f"start.{member}")) for member, value in start.items()}
        tool = opened.get("toolUse")
        for named in (tool, opened.get("toolResult")):
            if named is not None and not isinstance(named.setdefault("toolUseId", ""), str):
                raise WireError("must be a string", where="toolUseId")
        if tool is not None and not isinstance(tool.setdefault("name", ""), str):
            raise WireError("must be a string", where="toolUse.name")
        if tool is not None and tool.get("type") != SERVER_TOOL:
            call, self._calls = self._calls, self._calls + 1
            self.say.start()
            self.say.call(call, tool["name"], tool["toolUseId"], start)
        else:
            self._unended[index] = None
        self._blocks[index] = _Block(opened, call)

    def _extend(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block({})
            self._unended[index] = None
            if "toolUse" in delta or "toolResult" in delta:
                self.notes.append(f"a delta came for content block {index}, which was not open")
                member = "toolUse" if "toolUse" in delta else "toolResult"
                block.opened[member] = {"toolUseId": "", **({"name": ""} if member == "toolUse" else {})}
        for member, value in delta.items():
            if value is not None:
                self._add(block, index, member, value)

    def _add(self, block: _Block, index: int, member: str, value: Any) -> None:
        pieces = block.pieces
        match member:
            case "text" if value.__class__ is str:
                self.say.content(value)
                pieces.setdefault("text", []).append(value)
            case "toolUse":
                piece = optional_text(value.get("input"), "delta.toolUse.input") or ""
                pieces.setdefault("input", []).append(piece)
                if block.call is not None:
                    self.say.arguments(block.call, piece)
            case "reasoningContent":
                self._add_thought(block, value)
            case "citation":
                block.items.setdefault("citations", []).append(value)
            case "toolResult":
                block.items.setdefault("result", []).extend(listed(value, "delta.toolResult"))
            case "image":
                block.opened.setdefault("image", {}).update(value)
            case _ if member == "text" or member in MEMBERS:
                raise WireError(f"a delta has no such {member}", where=f"contentBlock {index}")
            case _:  # a kind that is new: the last of it stands
                self.notes.append(f"delta {member} is unknown; it is kept in content block {index}")
                block.opened[member] = value

    def _add_thought(self, block: _Block, value: Mapping[str, Any]) -> None:
        sealed = value.get("redactedContent")
        if isinstance(sealed, bytes):
            sealed = to_base64(sealed)
        given = {"thought": value.get("text"), "signature": value.get("signature"), "sealed": sealed}
        for key, piece in given.items():
            if (text := optional_text(piece, f"delta.reasoningContent ({key})")) is not None:
                block.pieces.setdefault(key, []).append(text)
        self.say.reasoning(given["thought"] or "")

    def _close_block(self, index: int) -> None:
        block = self._blocks.get(index)
        if block is not None and block.call is None and next(iter(self._unended), None) == index:
            del self._unended[index]  # parts end in order: one that ends before its turn waits for close()
            self.end_part(decode_block(block.whole(), self.blobs, f"content[{index}]", self._made))

    def assembled(self) -> Json:
        """Put the blocks, in the order they came, back into the message."""
        if not self._message and not self._blocks:
            return self._envelope
        content = [block.whole() for block in self._blocks.values()]
        return {**self._envelope, "output": {"message": {**self._message, "content": content}}}

    def decode(self, body: Json) -> Reply:
        """Read the assembled response."""
        return decode_response(body, self.blobs, provider=self.provider)


def _arguments(text: str) -> Any:
    """Read the joined argument text; text that was cut off stays text [J-07]."""
    if not text:
        return {}
    try:
        value = loads(text)
    except ValueError:
        return {"_raw": text}
    return value if isinstance(value, dict) else {"_raw": text}


def _sealed(pieces: list[str]) -> str:
    """Join sealed reasoning; each piece is base64 of its own."""
    if len(pieces) == 1:
        return pieces[0]
    read = [from_base64(piece) for piece in pieces]
    return "".join(pieces) if None in read else to_base64(b"".join(data or b"" for data in read))


def _joined_texts(items: list[Any]) -> list[Any]:
    """Join the texts of a result that came in pieces and follow each other."""
    runs: list[tuple[list[str] | None, Any]] = []
    for item in items:
        text = item.get("text") if isinstance(item, Mapping) and len(item) == 1 else None
        if not isinstance(text, str):
            runs.append((None, item))
        elif runs and (pieces := runs[-1][0]) is not None:
            pieces.append(text)
        else:
            runs.append(([text], None))
    return [item if pieces is None else {"text": "".join(pieces)} for pieces, item in runs]
