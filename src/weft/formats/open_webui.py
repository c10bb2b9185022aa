"""open-webui's chats as it exports them: a tree by `parentId`, and `currentId`, the end that is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft.canon import UNTIMED, Closing, Entry, Message, Opening, Part, Piece, Session
from weft.formats.foreign import as_role, counted, in_order, moment, need_object, objects, rest, text, unknown
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Source

__all__ = ["FORMAT"]

NAME = "open-webui"
_COUNTS = (
    ("prompt_tokens", "input_tokens", "prompt_eval_count"),
    ("completion_tokens", "output_tokens", "eval_count"),
    ("total_tokens",),
)
_KEPT = ("id", "parentId", "role", "content", "timestamp", "model", "usage")


def read(source: Source) -> Iterator[Piece]:
    """Read chats, one at a time."""
    for place, said in objects(source):
        inner = said.get("chat")
        chat = inner if isinstance(inner, dict) else said
        history = need_object(chat.get("history") or {}, f"{place}.chat.history")
        messages = need_object(history.get("messages") or {}, f"{place}.chat.history.messages")
        models = chat.get("models")
        yield Opening(
            Session(
                id=text(said.get("id")) or text(chat.get("id")),
                title=text(said.get("title")) or text(chat.get("title")),
                created=moment(said.get("created_at")) or moment(chat.get("timestamp")),
                updated=moment(said.get("updated_at")),
                model=text(models[0]) if isinstance(models, list) and models else None,
                extras={NAME: _beside(said, chat)},
            )
        )
        names = set()
        for name in in_order(_children(messages)):
            node = need_object(messages[name], f"{place}.chat.history.messages[{name!r}]")
            names.add(name)
            yield _entry(name, node)
        current = text(history.get("currentId"))
        yield Closing({}, current if current in names else None)


def _beside(said: Mapping[str, Any], chat: Mapping[str, Any]) -> dict[str, Any]:
    """Give what is said of a chat beside its messages; `messages` only repeats the current path."""
    kept = rest(said, "id", "title", "created_at", "updated_at", "chat")
    inner = rest(chat, "id", "title", "timestamp", "history", "messages")
    return kept if chat is said else {**kept, "chat": inner}


def _children(messages: Mapping[str, Any]) -> dict[str | None, list[str]]:
    children: dict[str | None, list[str]] = {}
    for name, node in messages.items():
        parent = node.get("parentId") if isinstance(node, dict) else None
        children.setdefault(parent if isinstance(parent, str) and parent in messages else None, []).append(name)
    return children


def _entry(name: str, node: dict[str, Any]) -> Entry:
    role = as_role(node.get("role"))
    content = node.get("content")
    parts = [Part("text", content)] if isinstance(content, str) else [unknown(NAME, content)] if content else []
    parent = text(node.get("parentId"))
    return Entry(
        name,
        Message(role, parts, None, None, None, moment(node.get("timestamp")) or UNTIMED),
        (parent,) if parent is not None else (),
        text(node.get("model")),
        usage=counted(node.get("usage"), *_COUNTS),
        extras={NAME: rest(node, *_KEPT)},
    )


def _sniff(head: Head) -> float:
    first = head.first
    if "chat" in first and ("user_id" in first or b'"currentId"' in head.data or b'"history"' in head.data):
        return 0.95
    return 0.9 if "history" in first and b'"currentId"' in head.data else 0.0


FORMAT = Format(
    name=NAME,
    about="open-webui's chats, with every branch",
    carries=carrying(yes="many branches ids timestamps model usage title extras", partial="images"),
    read=read,
    sniff=_sniff,
    aliases=("openwebui",),
    notes={"images": "kept beside the message, as open-webui has them"},
)
