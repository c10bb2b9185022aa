"""Responses API streams: numbered items that are opened, extended and closed, and at the end the whole response.

https://platform.openai.com/docs/api-reference/responses-streaming. The last event repeats everything, so a stream
that ends well is read from it; one that was cut is put together from its items. Servers differ in the middle:
some send no deltas, some no indices, some end with an empty `output`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import ContentDelta, Reply
from weft.wire.codec import Json
from weft.wire.openai_responses.assembly import Item, Text
from weft.wire.openai_responses.content import NAME
from weft.wire.openai_responses.item import CALLS, made_by
from weft.wire.openai_responses.response import decode_item_parts, decode_response
from weft.wire.stream import AssemblingDecoder

__all__ = ["StreamDecoder"]

# Deltas of a text inside an item: the list it is in, the key of its place there, the type and key of its block.
TEXTS = {
    "response.output_text.delta": ("content", "content_index", "output_text", "text"),
    "response.refusal.delta": ("content", "content_index", "refusal", "refusal"),
    "response.reasoning_text.delta": ("content", "content_index", "reasoning_text", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", "summary_text", "text"),
}
# The same when the text is complete: where the whole of it is.
TEXTS_DONE = {
    "response.output_text.done": ("response.output_text.delta", "text"),
    "response.refusal.done": ("response.refusal.delta", "refusal"),
    "response.reasoning_text.done": ("response.reasoning_text.delta", "text"),
    "response.reasoning_summary_text.done": ("response.reasoning_summary_text.delta", "text"),
}
# Blocks opened and closed inside an item: the list, and the key of the place in it.
BLOCKS = {
    "response.content_part": ("content", "content_index"),
    "response.reasoning_part": ("content", "content_index"),
    "response.reasoning_summary_part": ("summary", "summary_index"),
}
# Deltas of a field of the item itself, and the field; the item it is when its opening was not seen.
FIELDS = {
    "response.function_call_arguments": ("arguments", "function_call"),
    "response.custom_tool_call_input": ("input", "custom_tool_call"),
    "response.mcp_call_arguments": ("arguments", "mcp_call"),
    "response.code_interpreter_call_code": ("code", "code_interpreter_call"),
}
ANNOTATIONS = ("response.output_text.annotation.added", "response.output_text_annotation.added")
UNDER_WAY = ("response.created", "response.in_progress", "response.queued")
ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done")


class StreamDecoder(AssemblingDecoder):
    """Reads response.created to response.completed."""

    __slots__ = ("_calls", "_final", "_items", "_last", "_made", "_moved", "_next", "_response", "_thought")
    dialect = NAME

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin before response.created."""
        super().__init__(blobs, provider=provider)
        self._response: Json = {}
        self._final: Json | None = None
        self._items: dict[int, Item] = {}
        self._moved: dict[int, int] = {}  # where items went that were opened at a place already taken
        self._next = 0  # the first item whose parts have not been told
        self._calls = 0
        self._last: tuple[Any, Any, Text] | None = None  # the text that was extended last
        self._thought: tuple[int, str, int] | None = None  # the block of thinking that was told last
        self._made = made_by(provider, None)

    def growing(self) -> Iterable[list[str]]:
        """Give the texts of every item."""
        return [text.pieces for item in self._items.values() for text in item.texts.values()]

    def take(self, event: Json) -> None:
        """Follow one event."""
        kind = event.get("type")
        if kind == "response.output_text.delta":
            last = self._last
            if last is not None and last[0] == event.get("output_index") and last[1] == event.get("content_index"):
                piece = event["delta"]
                if piece.__class__ is str and piece and not event.get("logprobs"):  # most events of most streams
                    last[2].pieces.append(piece)
                    self.say.out.append(ContentDelta(piece))
                    return
        if kind in TEXTS:
            self._extend_text(kind, event)
        elif kind == "response.output_item.added":
            self._open_item(event)
        elif kind == "response.output_item.done":
            self._close_item(event)
        elif kind in UNDER_WAY:
            self._begin(event)
        elif kind in ENDS:
            self._end(kind, event)
        elif kind in TEXTS_DONE:
            self._close_text(kind, event)
        elif kind in ANNOTATIONS:
            self._annotate(event)
        elif kind == "error" or (kind is None and "error" in event):
            self._fail(event)
        else:
            self._other(kind, event)

    # -- the response ------------------------------------------------------------------------------------------

    def _begin(self, event: Json) -> None:
        response = event["response"]
        self._response = dict(response)
        self._made = made_by(self.provider, self._response.get("model"))
        if not self.say.started:
            envelope = {key: value for key, value in self._response.items() if key != "output"}
            self.say.start(self._response.get("id"), self._response.get("model"), envelope)
            self.say.role("assistant")

    def _end(self, kind: str, event: Json) -> None:
        response = event.get("response")
        if isinstance(response, Mapping):
            self._final = dict(response)
            self._begin({"response": response})
        self.complete = True
        if kind == "response.failed":
            self._fail(self._final or {})

    def _fail(self, event: Mapping[str, Any]) -> None:
        error = event.get("error") or event
        message = error.get("message") if isinstance(error, Mapping) else error
        self.fail(str(message or error))
        if event is not self._final:
            self.say.native(event)

    # -- items -------------------------------------------------------------------------------------------------

    def _open_item(self, event: Json) -> Item:
        self.say.start()
        index = event.get("output_index")
        opened = dict(event["item"])
        if not isinstance(index, int):
            index = self._place_of(opened.get("id"))
        if index in self._items:
            self.notes.append(f"output item {index} was opened twice; the second is kept after the others")
            self._moved[index] = index = max(self._items) + 1
        return self._put(index, opened)

    def _put(self, index: int, opened: Json) -> Item:
        call = None
        if opened.get("type") in CALLS:
            call, self._calls = self._calls, self._calls + 1
            self.say.call(call, opened.get("name"), opened.get("call_id"), opened)
        item = self._items[index] = Item(opened, call)
        return item

    def _place_of(self, item_id: Any) -> int:
        """Find an item by its id, for servers that send no index; a new one goes after the others."""
        for index, item in self._items.items():
            if item_id is not None and item.opened.get("id") == item_id:
                return index
        return max(self._items, default=-1) + 1

    def _item(self, event: Json, kind: str) -> tuple[int, Item]:
        """Find the item an event extends; one whose opening was not seen is opened now."""
        index = event.get("output_index")
        if not isinstance(index, int):
            index = self._place_of(event.get("item_id"))
        index = self._moved.get(index, index)
        item = self._items.get(index)
        if item is None:
            self.notes.append(f"a {event.get('type')} came for output item {index}, which was not open")
            self.say.start()
            opened: Json = {"id": event.get("item_id"), "type": kind}
            if kind == "message":
                opened["role"] = "assistant"
            elif kind in CALLS:
                opened |= {"call_id": event.get("call_id") or "", "name": event.get("name") or ""}
            elif kind == "reasoning":
                opened["summary"] = []
            item = self._put(index, opened)
        return index, item

    def _close_item(self, event: Json) -> None:
        whole = dict(event["item"])
        index = event.get("output_index")
        if not isinstance(index, int):
            index = self._place_of(whole.get("id"))
        index = self._moved.get(index, index)
        item = self._items.get(index)
        if item is None:
            item = self._open_item({"output_index": index, "item": whole})
        elif item.call is not None:
            self.say.call(item.call, whole.get("name"), whole.get("call_id"), whole)
            key = "input" if "input" in whole else "arguments"
            if key not in item.fields and isinstance(whole.get(key), str):
                self.say.arguments(item.call, whole[key])
        item.opened, item.closed = whole, True
        item.texts, item.fields = {}, {}
        self._last = None
        self._tell_parts()

    def _tell_parts(self) -> None:
        """Tell the parts of items that are whole, in the order they have in the answer."""
        while (item := self._items.get(self._next)) is not None and item.closed:
            parts, _ = decode_item_parts(item.opened, 0, self.blobs, f"output[{self._next}]", self._made)
            self._next += 1
            for part in parts:
                if part.type != "tool_call":
                    self.end_part(part)

    # -- what is inside them -----------------------------------------------------------------------------------

    def _text(self, kind: str, event: Json) -> tuple[Item, int, Text]:
        name, key, block_type, field = TEXTS[kind]
        index, item = self._item(
            event, "message" if kind.startswith(("response.output", "response.ref")) else "reasoning"
        )
        place = event.get(key)
        place = place if isinstance(place, int) else 0
        text = item.texts.get((name, place))
        if text is None:
            text = item.texts[name, place] = Text({"type": block_type, field: ""}, field)
        return item, index, text

    def _extend_text(self, kind: str, event: Json) -> None:
        item, index, text = self._text(kind, event)
        piece = event["delta"]
        if not isinstance(piece, str):
            raise TypeError(f"a delta must be a string, not {type(piece).__name__}")
        if item.closed:
            self.notes.append(f"a {kind} came for output item {index}, which was closed")
            return
        text.pieces.append(piece)
        if kind == "response.output_text.delta":
            self._last = (event.get("output_index"), event.get("content_index"), text)
            if event.get("logprobs"):
                text.lists.setdefault("logprobs", []).extend(event["logprobs"])
            self.say.content(piece)
        elif kind == "response.refusal.delta":
            self.say.refusal(piece)
        else:
            name, key, _, _ = TEXTS[kind]
            self._tell_thought((index, name, event.get(key) or 0), piece)

    def _tell_thought(self, block: tuple[int, str, int], piece: str) -> None:
        """Tell a piece of thinking; blocks of one item are lines of one text."""
        if self._thought is not None and self._thought != block and self._thought[0] == block[0]:
            self.say.reasoning("\n")
        self._thought = block
        self.say.reasoning(piece)

    def _close_text(self, kind: str, event: Json) -> None:
        delta, key = TEXTS_DONE[kind]
        item, _, text = self._text(delta, event)
        whole = event.get(key)
        if item.closed or not isinstance(whole, str):
            return
        if not text.pieces:  # a server that sends no deltas
            self._extend_text(delta, {**event, "delta": whole})
        text.block, text.pieces = {**text.block, text.key: whole}, []
        self._last = None

    def _annotate(self, event: Json) -> None:
        item, _, text = self._text("response.output_text.delta", event)
        if not item.closed:
            text.lists.setdefault("annotations", []).append(event.get("annotation"))

    def _other(self, kind: Any, event: Json) -> None:
        stem, _, what = kind.rpartition(".") if isinstance(kind, str) else ("", "", "")
        if stem in BLOCKS and isinstance(event.get("part"), dict):
            self._put_block(stem, event, done=what == "done")
        elif stem in FIELDS:
            self._extend_field(stem, event)
        else:
            self.say.native(event)

    def _put_block(self, stem: str, event: Json, *, done: bool) -> None:
        name, key = BLOCKS[stem]
        block = dict(event["part"])
        _, item = self._item(event, "reasoning" if "reasoning" in stem else "message")
        place = event.get(key)
        place = place if isinstance(place, int) else 0
        held = item.texts.get((name, place))
        if held is None or done:
            item.texts[name, place] = Text(block, "refusal" if block.get("type") == "refusal" else "text")
            self._last = None

    def _extend_field(self, stem: str, event: Json) -> None:
        key, kind = FIELDS[stem]
        index, item = self._item(event, kind)
        if item.closed:
            return
        piece, whole = event.get("delta"), event.get(key)
        if isinstance(piece, str):
            item.fields.setdefault(key, []).append(piece)
            if item.call is not None:
                self.say.arguments(item.call, piece)
        elif isinstance(whole, str):  # it is complete; what has been told need not be told again
            if item.call is not None:
                self.say.call(item.call, event.get("name"), item.opened.get("call_id"))
                if key not in item.fields:
                    self.say.arguments(item.call, whole)
            item.opened[key] = ""
            item.fields[key] = [whole]
        else:
            raise TypeError(f"output item {index}: neither delta nor {key} is a string")

    # -- the whole ---------------------------------------------------------------------------------------------

    def assembled(self) -> Json:
        """Give the response the stream ended with; without one, put the items back into the one it began with."""
        final = self._final
        if final is not None and (final.get("output") or not self._items):
            return final
        output = [self._items[index].whole() for index in sorted(self._items)]
        return {"object": "response", "status": "in_progress", **self._response, "output": output}

    def decode(self, body: Json) -> Reply:
        """Read the assembled response."""
        return decode_response(body, self.blobs, provider=self.provider)
