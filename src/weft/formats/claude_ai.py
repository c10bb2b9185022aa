"""Claude.ai's export: conversations.json with `chat_messages`, and dumps of its web API, which have branches.

A message names its parent in dumps; in the bulk export their order is the chain. An answer there holds its tools'
results between its own blocks, so it is several entries here, the last of them under its own name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.canon import Closing, Entry, Message, Opening, Part, Piece, Session
from weft.formats.foreign import heard, listed, moment, need_list, need_object, objects, renewed, rest, text, unknown
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "claude-ai"
_SAID = ("uuid", "name", "created_at", "updated_at", "chat_messages", "current_leaf_message_uuid", "model")
_ROOT = "00000000-0000-4000-8000-000000000000"  # what the web API gives as the parent of the first message
_SENDERS = {"human": "user", "assistant": "assistant"}


def read(source: Source) -> Iterator[Piece]:
    """Read conversations, one at a time."""
    shelf = Shelf()
    for place, said in objects(source):
        yield Opening(
            Session(
                id=text(said.get("uuid")),
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
    name = text(message.get("uuid")) or str(number + 1)
    at = moment(message.get("created_at"))
    role = _SENDERS.get(str(message.get("sender")), "user")
    spans = list(_spans(message, role, shelf, where))
    blobs = shelf.taken()
    for span, said in enumerate(spans):
        is_last = span == len(spans) - 1
        own = name if is_last else f"{name}/{span + 1}"
        kept = rest(message, "uuid", "sender", "content", "created_at", "parent_message_uuid")
        yield Entry(
            own,
            renewed(said, at, id=name),
            () if above is None else (above,),
            model if said.role == "assistant" else None,
            extras={NAME: kept} if is_last else {},
            blobs=blobs,
        )
        above = own


def _spans(message: dict[str, Any], role: str, shelf: Shelf, where: str) -> Iterator[Message]:
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
        span.append(_plain(block))
    files = _attachments(message, shelf)
    for number, (side, given) in enumerate(spans or [(role, [])]):
        found = heard("anthropic", [{"role": side, "content": given}], shelf.store, where) if given else ()
        said = found[0] if found else Message("assistant" if side == "assistant" else "user", (), None, "anthropic")
        extra = [part for each in found[1:] for part in each.parts] + (files if number == 0 else [])
        yield renewed(said, parts=(*said.parts, *extra)) if extra else said


def _plain(block: Any) -> Any:
    """Give a block as Anthropic's wire has it, without the export's own notes, where nothing is lost by that."""
    match block:
        case {"type": "text", "text": str(words)}:
            return {"type": "text", "text": words} | rest(block, "type", "text", "start_timestamp", "stop_timestamp")
        case {"type": "tool_result", "content": content} if content is None:
            return {**block, "content": []}
    return block


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
