"""Writing a Responses API stream: events of ours as response.created to response.completed, each as it comes.

A text or a thought is opened by its first piece and closed by its `part.end`, each as an item of its own; calls
stay open until they are complete. The last event repeats the whole response, as the API's own does.
"""

from __future__ import annotations

from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, Reply, StreamEnd, StreamStart, ToolCallStart, thaw
from weft.errors import WireError
from weft.jsontext import dumps
from weft.wire.codec import FAITHFUL, Encoded, Json
from weft.wire.openai_responses.item import CALLS, Speech
from weft.wire.openai_responses.layout import Items
from weft.wire.openai_responses.response import complete_item, encode_response, envelope, is_own_envelope
from weft.wire.sse import encode_sse
from weft.wire.streamwriter import TellingEncoder

__all__ = ["StreamEncoder"]

# What is told by pieces: the kind of part, and the events and block that say it here.
TOLD: dict[str, tuple[str, str, str, Json, str, str]] = {
    #            item       part events                        place            block              key      text events
    "text": (
        "message",
        "response.content_part",
        "content_index",
        {"type": "output_text", "text": "", "annotations": []},
        "text",
        "response.output_text",
    ),
    "refusal": (
        "message",
        "response.content_part",
        "content_index",
        {"type": "refusal", "refusal": ""},
        "refusal",
        "response.refusal",
    ),
    "thinking": (
        "reasoning",
        "response.reasoning_summary_part",
        "summary_index",
        {"type": "summary_text", "text": ""},
        "text",
        "response.reasoning_summary_text",
    ),
}
OPENED: dict[str, Json] = {
    "message": {"type": "message", "role": "assistant", "status": "in_progress", "content": []},
    "reasoning": {"type": "reasoning", "summary": []},
}
TERMINAL = {"incomplete": "response.incomplete", "failed": "response.failed", "cancelled": "response.cancelled"}


class _Open:
    """An item that is being told."""

    __slots__ = ("index", "item", "kind", "pieces")

    def __init__(self, index: int, kind: str, item: Json) -> None:
        self.index = index
        self.kind = kind  # of the part it will be
        self.item = item
        self.pieces: list[str] = []


class StreamEncoder(TellingEncoder):
    """Writes events as response.created to response.completed."""

    __slots__ = ("_calls", "_count", "_number", "_open", "_output", "_said", "_start")

    def __init__(self, blobs: BlobStore | None = None) -> None:
        """Begin with nothing written."""
        super().__init__(blobs)
        self._number = 0  # of the next event
        self._count = 0  # of items
        self._output: dict[int, Json] = {}  # items as they were closed
        self._start: Json | None = None
        self._open: _Open | None = None
        self._said: list[str] = []  # kinds of texts closed by the next one, whose part.end is still to come
        self._calls: dict[int, _Open] = {}

    def _event(self, kind: str, **fields: Any) -> bytes:
        try:
            data = dumps({"type": kind, "sequence_number": self._number, **fields})
        except ValueError as problem:  # nested past what JSON writers take
            raise WireError(str(problem), where=kind) from problem
        self._number += 1
        return encode_sse(data, event=kind)

    def begin(self, start: StreamStart | None = None) -> bytes:
        """Say that a response is made, and that it is under way."""
        if self._start is not None:
            return b""
        if start is not None and start.raw is not None and is_own_envelope(start.raw):
            self._start = {**thaw(start.raw), "status": "in_progress", "output": []}
        else:
            reply = Reply(id=start.id if start else None, model=start.model if start else None)
            self._start = {**envelope(reply), "usage": None}
        created = self._event("response.created", response=self._start)
        return created + self._event("response.in_progress", response=self._start)

    # -- texts and thoughts ------------------------------------------------------------------------------------

    def text(self, piece: str) -> bytes:
        """Tell a piece of text."""
        return self._piece("text", piece)

    def refusal(self, piece: str) -> bytes:
        """Tell a piece of a refusal, which is no text here."""
        return self._piece("refusal", piece)

    def thought(self, piece: str) -> bytes:
        """Tell a piece of thinking, as a summary."""
        return self._piece("thinking", piece)

    def _piece(self, kind: str, text: str) -> bytes:
        written = b""
        item_kind, part_events, place, block, _, text_events = TOLD[kind]
        if self._open is None or self._open.kind != kind:
            written = self.begin() + self._leave()
            self._open = self._new(kind, dict(OPENED[item_kind]))
            written += self._added(self._open)
            written += self._event(f"{part_events}.added", **self._at(self._open, place), part=block)
        self._open.pieces.append(text)
        return written + self._event(f"{text_events}.delta", **self._at(self._open, place), delta=text)

    def _at(self, item: _Open, place: str | None = None) -> Json:
        at: Json = {"item_id": item.item.get("id"), "output_index": item.index}
        return at if place is None else {**at, place: 0}

    def _new(self, kind: str, item: Json) -> _Open:
        opened = _Open(self._count, kind, complete_item(item, self._count))
        self._count += 1
        return opened

    def _added(self, item: _Open) -> bytes:
        return self._event("response.output_item.added", output_index=item.index, item=item.item)

    def _leave(self) -> bytes:
        """Close the text that is open because something else begins; its part may still come."""
        if self._open is None:
            return b""
        opened = self._open
        self._said.append(opened.kind)
        return self._close_text(opened, self._item_of(Part(opened.kind, "".join(opened.pieces))))

    def _close_text(self, opened: _Open, item: Json | None) -> bytes:
        _, part_events, place, block, key, text_events = TOLD[opened.kind]
        said = "".join(opened.pieces)
        at = self._at(opened, place)
        written = self._event(f"{text_events}.done", **at, **{key: said})
        written += self._event(f"{part_events}.done", **at, part={**block, key: said})
        self._open = None
        return written + self._done(opened, item or opened.item)

    def _done(self, opened: _Open, item: Json) -> bytes:
        if item.get("id") is None:
            item = {**item, "id": opened.item.get("id")}
        item = complete_item(item, opened.index)
        self._output[opened.index] = item
        return self._event("response.output_item.done", output_index=opened.index, item=item)

    def end_part(self, part: Part) -> bytes:
        """Close the part's item; or tell it whole, if none of it was told."""
        if self._open is not None and part.type == self._open.kind:
            return self._close_text(self._open, self._item_of(part))
        if part.type in self._said:  # its pieces have been told, and the next item has closed it since
            self._said.remove(part.type)
            return b""
        return self.whole(part)

    def whole(self, part: Part) -> bytes:
        """Tell a part that came in one piece: opened and closed at once."""
        item = self._item_of(part)
        if item is None:
            return b""
        written = self.begin() + self._leave()
        opened = self._new(part.type, item)
        return written + self._added(opened) + self._done(opened, opened.item)

    def _item_of(self, part: Part) -> Json | None:
        items = Items(Speech(self.blobs, FAITHFUL, answering=True), Encoded())
        items.add(0, Message("assistant", (part,)))
        return items.items[0] if items.items else None

    # -- calls -------------------------------------------------------------------------------------------------

    def open_call(self, start: ToolCallStart) -> bytes:
        """Add the call's item, without its arguments."""
        raw: Json = thaw(start.raw) if start.raw is not None and start.raw.get("type") in CALLS else {}
        kind = raw.get("type", "function_call")
        key = "input" if kind == "custom_tool_call" else "arguments"
        item = {**raw, "type": kind, "call_id": start.id or "", "name": start.name, key: "", "status": "in_progress"}
        written = self.begin() + self._leave()
        opened = self._calls[start.index] = self._new("tool_call", item)
        return written + self._added(opened)

    def arguments(self, call: int, piece: str) -> bytes:
        """Tell a piece of arguments, of a call that is open."""
        return self._extend_call(self._calls[call], piece) if call in self._calls else b""

    def _extend_call(self, opened: _Open, text: str) -> bytes:
        opened.pieces.append(text)
        return self._event(f"{_call_events(opened.item)}.delta", **self._at(opened), delta=text)

    def end_call(self, call: int, part: Part) -> bytes:
        """Tell the whole call; before it, whatever of it was not told."""
        written = b""
        opened = self._calls.pop(call, None)
        if opened is None:
            written = self.open_call(ToolCallStart(call, part.tool_name or "", part.tool_call_id, part.provider_raw))
            opened = self._calls.pop(call)
        item = self._item_of(part) or {**opened.item, "arguments": "".join(opened.pieces)}
        key = "input" if item["type"] == "custom_tool_call" else "arguments"
        if not opened.pieces and item.get(key):
            written += self._extend_call(opened, item[key])
        written += self._event(f"{_call_events(item)}.done", **self._at(opened), **{key: item.get(key)})
        return written + self._done(opened, item)

    # -- the end -----------------------------------------------------------------------------------------------

    def failed(self, error: str) -> bytes:
        """Tell an error as an event of its own."""
        return self.begin() + self._event("error", code="server_error", message=error, param=None)

    def end(self, end: StreamEnd) -> bytes:
        """Tell the whole response once more."""
        written = self.begin() + self._leave()
        if end.finish_reason is None and end.stop_reason is None:
            return written  # cut short: no end is invented
        response = self._response(end)
        status = response.get("status")
        kind = TERMINAL.get(status, "response.completed") if isinstance(status, str) else "response.completed"
        return written + self._event(kind, response=response)

    def _response(self, end: StreamEnd) -> Json:
        """Give the whole response: the provider's own if it was one of this dialect, else what has been told."""
        if end.reply is not None and is_own_envelope(end.reply.raw):
            return encode_response(end.reply, self.blobs).body
        reply = end.reply or Reply(usage=self.usage, finish_reason=end.finish_reason, stop_reason=end.stop_reason)
        start = self._start or EMPTY
        made = {**envelope(reply), "id": start.get("id"), "model": start.get("model") or reply.model or ""}
        return {**made, "output": [self._output[index] for index in sorted(self._output)]}


def _call_events(item: Json) -> str:
    custom = item.get("type") == "custom_tool_call"
    return "response.custom_tool_call_input" if custom else "response.function_call_arguments"
