"""Claude.ai's export: conversations.json with `chat_messages`, and dumps of its web API, which have branches.

A message names its parent in dumps; in the bulk export their order is the chain. An answer there holds its tools'
results between its own blocks, so it is several entries here, the last of them under its own name. Blocks are those of
Anthropic's wire with notes of the export on them, which are kept beside: no one could send them. Calls may lack their
ids, and are paired with their results in order then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft import jsontext
from weft.canon import Closing, Entry, Message, Opening, Part, Piece, Session
from weft.formats.foreign import heard, listed, moment, need_list, need_object, objects, renewed, rest, text, unknown
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "claude-ai"
_SAID = ("uuid", "name", "created_at", "updated_at", "chat_messages", "current_leaf_message_uuid", "model")
_ROOT = "00000000-0000-4000-8000-000000000000"  # what the web API gives as the parent of the first message
_SENDERS = {"human": "user", "user": "user", "assistant": "assistant"}
# What Anthropic's wire has of each kind of block; the rest are notes.
_WIRE = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id", "content", "is_error"),
}
_CLOCK = ("start_timestamp", "stop_timestamp")


def read(source: Source) -> Iterator[Piece]:
    """Read conversations, one at a time."""
    shelf = Shelf()
    for place, said in objects(source):
        yield Opening(
            Session(
                id=text(said.get("uuid")) or text(said.get("id")),
                title=text(said.get("name")) or None,
                created=moment(said.get("created_at")),
                updated=moment(said.get("updated_at")),
                provider="anthropic",
                model=text(said.get("model")),
                extras={NAME: rest(said, *_SAID)},
            )
        )
        before: str | None = None
        names = set()
        messages = need_list(said.get("chat_messages", []), f"{place}.chat_messages")
        for number, each in enumerate(messages):
            where = f"{place}.chat_messages[{number}]"
            message = need_object(each, where)
            parent = message.get("parent_message_uuid", before)
            above = parent if isinstance(parent, str) and parent != _ROOT else None
            for entry in _entries(message, number, above, text(said.get("model")), shelf, where):
                before = entry.id
                names.add(before)
                yield entry
        leaf = text(said.get("current_leaf_message_uuid"))
        yield Closing({}, leaf if leaf in names else None)


def _entries(
    message: dict[str, Any], number: int, above: str | None, model: str | None, shelf: Shelf, where: str
) -> Iterator[Entry]:
    name = text(message.get("uuid")) or text(message.get("id")) or str(number + 1)
    at = moment(message.get("created_at"))
    role = _SENDERS.get(str(message.get("sender") or message.get("role")), "user")
    blocks = _Blocks(name)
    spans = list(_spans(message, role, blocks, shelf, where))
    blobs = shelf.taken()
    for span, said in enumerate(spans):
        is_last = span == len(spans) - 1
        own = name if is_last else f"{name}/{span + 1}"
        kept = rest(message, "uuid", "sender", "content", "created_at", "parent_message_uuid")
        if blocks.notes:
            kept["notes"] = blocks.notes
        yield Entry(
            own,
            renewed(said, at, id=name),
            () if above is None else (above,),
            model if said.role == "assistant" else None,
            extras={NAME: kept} if is_last else {},
            blobs=blobs,
        )
        above = own


class _Blocks:
    """The blocks of one message as Anthropic's wire has them, and what the export notes on them, by their places."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.notes: dict[str, Any] = {}
        self.calls: list[tuple[str, Any]] = []  # those without a result so far, with the names of their tools
        self.count = 0

    def plain(self, block: Any) -> Any:
        """Give the next block."""
        self.count += 1
        if not isinstance(block, dict):
            return block
        match block:
            case {"type": "voice_note", "text": str(words)}:
                block = {**block, "type": "text", "text": words, "kind": "voice_note"}
            case {"type": "tool_use"}:
                called = text(block.get("id")) or f"{self.name}/call{self.count}"
                given = block.get("input")
                block = {**block, "id": called, "input": given if isinstance(given, dict) else {}}
                self.calls.append((called, block.get("name")))
            case {"type": "tool_result"}:
                content = block.get("content")
                block = {**block, "tool_use_id": self._answered(block), "content": _shown(content)}
                if isinstance(content, list) and not all(map(_is_wire, content)):
                    block["shown"] = content
        wire = _WIRE.get(str(block.get("type")))
        if wire is None:
            return block
        said = {key: block[key] for key in ("type", *wire) if block.get(key) is not None}
        if notes := {key: each for key, each in rest(block, "type", *wire, *_CLOCK).items() if each not in (None, [])}:
            self.notes[str(self.count - 1)] = notes
        return said

    def _answered(self, block: dict[str, Any]) -> str:
        """Give the call that a result is of: the one it names, else the first of its tool that has none."""
        named = text(block.get("tool_use_id"))
        found = [call for call in self.calls if call[0] == named or (named is None and call[1] == block.get("name"))]
        call = found[0] if found else None
        if call is not None:
            self.calls.remove(call)
        return named or (call[0] if call else f"{self.name}/call")


def _is_wire(item: Any) -> bool:
    """Tell whether Anthropic's wire knows an item of a result."""
    match item:
        case {"type": "text", "text": str()} | {"type": "image" | "document", "source": dict()}:
            return True
    return False


def _shown(content: Any) -> Any:
    """Give what a result shows; texts without their names in the export, and what only the export knows as text."""
    if content is None:
        return []
    if not isinstance(content, list):
        return content
    return [_item(item) for item in content]


def _item(item: Any) -> Any:
    if _is_wire(item) and item["type"] != "text":
        return item
    words = text(item.get("text")) if isinstance(item, dict) else None
    return {"type": "text", "text": jsontext.dumps_text(item) if words is None else words}


def _spans(message: dict[str, Any], role: str, reader: _Blocks, shelf: Shelf, where: str) -> Iterator[Message]:
    """Give the messages that an exported one is made of: what is said, and the results between."""
    blocks = message.get("content")
    if not isinstance(blocks, list) or not blocks:
        words = text(message.get("text"))
        blocks = [{"type": "text", "text": words}] if words else []
    span: list[Any] = []
    spans: list[tuple[str, list[Any]]] = []
    for block in blocks:
        side = "user" if isinstance(block, dict) and block.get("type") == "tool_result" else role
        if not spans or spans[-1][0] != side:
            span = []
            spans.append((side, span))
        span.append(reader.plain(block))
    files = _attachments(message, shelf)
    for number, (side, given) in enumerate(spans or [(role, [])]):
        found = heard("anthropic", [{"role": side, "content": given}], shelf.store, where) if given else ()
        said = found[0] if found else Message("assistant" if side == "assistant" else "user", (), None, "anthropic")
        parts = [*(part for each in found for part in each.parts), *(files if number == 0 else [])]
        # What the wire does not know is the export's alone.
        yield renewed(
            said, parts=[unknown(NAME, part.provider_raw) if part.type == "provider" else part for part in parts]
        )


def _attachments(message: dict[str, Any], shelf: Shelf) -> list[Part]:
    """Give the files whose text the export has."""
    found = []
    for each in listed(message.get("attachments")):
        if isinstance(each, dict) and isinstance(words := each.get("extracted_content"), str):
            kind = text(each.get("file_type")) or ""
            media_type = kind if "/" in kind else "text/plain"
            blob = shelf.store.put_blob(words.encode("utf-8", "surrogatepass"), media_type=media_type, kind="file")
            found.append(Part("file", json={"filename": each.get("file_name")}, blob=blob))
        else:
            found.append(unknown(NAME, each))
    return found


def _sniff(head: Head) -> float:
    return 0.97 if "chat_messages" in head.first else 0.0


FORMAT = Format(
    name=NAME,
    about="Claude.ai's export (conversations.json), and dumps of its web API with their branches",
    carries=carrying(yes="many branches ids timestamps title thinking calls extras", partial="model files"),
    read=read,
    sniff=_sniff,
    aliases=("claude-export",),
    extensions=("conversations.json",),
    notes={"model": "where the dump has it", "files": "those whose text the export has"},
)
