"""open-webui's chats as it exports them: a tree by `parentId`, and `currentId`, the end that is shown.

An answer holds its reasoning, its calls and their results: in `output`, as items, or (in older versions) as HTML in the
middle of its text. So it is several entries here, the last of them under its own name.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from weft import jsontext
from weft.canon import (
    UNTIMED,
    Closing,
    Entry,
    Instructions,
    Message,
    Opening,
    Part,
    Piece,
    Role,
    Session,
    read_arguments,
)
from weft.formats.foreign import (
    as_role,
    counted,
    in_order,
    listed,
    media,
    moment,
    need_object,
    objects,
    rest,
    text,
    unknown,
)
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Shelf, Source

__all__ = ["FORMAT"]

NAME = "open-webui"
_COUNTS = (
    ("prompt_tokens", "input_tokens", "prompt_eval_count"),
    ("completion_tokens", "output_tokens", "eval_count"),
    ("total_tokens",),
)
_KEPT = ("id", "parentId", "role", "content", "timestamp", "model", "usage", "output", "files")
_DETAILS = re.compile(
    r'<details type="(reasoning|tool_calls)"([^>]*)>\s*(?:<summary>.*?</summary>)?+(.*?)</details>\n?', re.DOTALL
)
_END = "</details>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


def read(source: Source) -> Iterator[Piece]:
    """Read chats, one at a time."""
    for place, said in objects(source):
        inner = said.get("chat")
        chat = inner if isinstance(inner, dict) else said
        history = need_object(chat.get("history") or {}, f"{place}.chat.history")
        messages = need_object(history.get("messages") or _chained(chat), f"{place}.chat.history.messages")
        models = chat.get("models")
        settings = chat.get("params")
        told = text(chat.get("system")) or (text(settings.get("system")) if isinstance(settings, dict) else None)
        yield Opening(
            Session(
                id=text(said.get("id")) or text(chat.get("id")),
                title=text(said.get("title")) or text(chat.get("title")),
                created=moment(said.get("created_at")) or moment(chat.get("timestamp")),
                updated=moment(said.get("updated_at")),
                model=text(models[0]) if isinstance(models, list) and models else None,
                instructions=Instructions(told) if told else None,
                extras={NAME: _beside(said, chat)},
            )
        )
        names = set()
        for name in in_order(_children(messages)):
            node = need_object(messages[name], f"{place}.chat.history.messages[{name!r}]")
            parent = text(node.get("parentId"))
            is_circle = parent in messages and parent not in names
            names.add(name)
            yield from _entries(name, node, None if is_circle else parent)
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


def _chained(chat: Mapping[str, Any]) -> dict[str, Any]:
    """Give the messages of a chat that has only the list of them, each after the one before it."""
    found: dict[str, Any] = {}
    before = None
    for number, each in enumerate(listed(chat.get("messages")), 1):
        if isinstance(each, dict):
            name = text(each.get("id")) or str(number)
            found[name] = {"parentId": before, **each}
            before = name
    return found


def _entries(name: str, node: dict[str, Any], above: str | None) -> Iterator[Entry]:
    role = as_role(node.get("role"))
    shelf = Shelf()
    kept = rest(node, *_KEPT)
    pictures, files = _pictures(node, shelf)
    if files:
        kept["files"] = files
    spans = list(_spans(role, node))
    spans[0] = (spans[0][0], [*spans[0][1], *pictures])
    answered = max(number for number, (who, _) in enumerate(spans, 1) if who == role)
    at = moment(node.get("timestamp")) or UNTIMED
    for number, (who, parts) in enumerate(spans, 1):
        is_last = number == len(spans)
        own = name if is_last else f"{name}/{number}"
        yield Entry(
            own,
            Message(who, parts, None, None, None, at),
            (above,) if above is not None else (),
            text(node.get("model")) if who == role else None,
            usage=counted(node.get("usage"), *_COUNTS) if number == answered else None,
            extras={NAME: kept} if is_last else {},
            blobs=shelf.taken(),
        )
        above = own


def _spans(role: Role, node: Mapping[str, Any]) -> Iterator[tuple[Role, list[Part]]]:
    """Give what one message is made of: what is said up to a call, the results, what is said after."""
    content = node.get("content")
    if role != "assistant":
        found = [Part("text", content)] if isinstance(content, str) else _blocks(content)
        yield role, found
        return
    items = node.get("output")
    said = list(_items(items) if isinstance(items, list) and items else _pieces(content))
    span: list[Part] = []
    results: list[Part] = []
    for part in said:
        if part.type == "tool_result":
            results.append(part)
            continue
        if results and part.type != "tool_call":
            yield role, span
            yield "tool", results
            span, results = [], []
        span.append(part)
    yield role, span
    if results:
        yield "tool", results


def _blocks(content: Any) -> list[Part]:
    found = []
    for block in content if isinstance(content, list) else [content] if content else []:
        match block:
            case {"type": "text", "text": str(words)}:
                found.append(Part("text", words))
            case _:
                found.append(unknown(NAME, block))
    return found


def _pieces(content: Any) -> Iterator[Part]:
    """Give the parts of a text with HTML for what is no text."""
    if not isinstance(content, str):
        yield from _blocks(content)
        return
    at = 0
    ended = content.rfind(_END) + len(_END) + 1  # what begins after that never ends, and is text
    for found in _DETAILS.finditer(content, 0, ended):
        if words := content[at : found.start()].strip("\n"):
            yield Part("text", words)
        at = found.end()
        about = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(found[2])}
        body = html.unescape(found[3].strip())
        if found[1] == "reasoning":
            yield _thinking(_QUOTED.sub("", body))
            continue
        call, name = about.get("id") or None, about.get("name", "")
        arguments = _parsed(about.get("arguments", ""))
        yield Part("tool_call", tool_call_id=call, tool_name=name, tool_args=read_arguments(arguments))
        if result := about.get("result") or body:
            yield Part("tool_result", tool_call_id=call, tool_name=name, tool_output=_parsed(result))
    if (words := content[at:]) or not at:
        yield Part("text", words)


def _items(items: list[Any]) -> Iterator[Part]:
    """Give the parts of an answer that is kept as items, as the Responses API has them."""
    names: dict[Any, str | None] = {}
    for item in items:
        match item:
            case {"type": "message", "content": list(blocks)}:
                for block in blocks:
                    words = text(block.get("text")) if isinstance(block, dict) else None
                    yield unknown(NAME, block) if words is None else Part("text", words)
            case {"type": "reasoning"}:
                blocks = listed(item.get("content")) or listed(item.get("summary"))
                words = "\n\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))
                yield _thinking(words, item)
            case {"type": "function_call", "name": str(name)}:
                call = text(item.get("call_id")) or text(item.get("id"))
                names[call] = name
                arguments = read_arguments(item.get("arguments"))
                yield Part("tool_call", tool_call_id=call, tool_name=name, tool_args=arguments)
            case {"type": "function_call_output"}:
                call, output = text(item.get("call_id")), item.get("output")
                if isinstance(output, list) and all(isinstance(each, dict) and "text" in each for each in output):
                    output = "".join(str(each["text"]) for each in output)
                kept = rest(item, "type", "id", "call_id", "output", "status")
                raw = {NAME: kept} if kept else None
                tool = names.get(call)
                yield Part("tool_result", tool_call_id=call, tool_name=tool, tool_output=output, provider_raw=raw)
            case _:
                yield unknown(NAME, item)


def _thinking(words: str, raw: dict[str, Any] | None = None) -> Part:
    return Part("thinking", words, json={"provider": None, "dialect": NAME}, provider_raw=raw)


def _parsed(value: str) -> Any:
    """Give what an attribute holds: JSON, which may be a text of JSON itself."""
    try:
        found = jsontext.loads(value)
    except ValueError:
        return value
    return found


def _pictures(node: Mapping[str, Any], shelf: Shelf) -> tuple[list[Part], list[Any]]:
    """Give the pictures of a message that are in the export or on the web, and the files that are elsewhere."""
    pictures, files = [], []
    for each in listed(node.get("files")):
        url = text(each.get("url")) if isinstance(each, dict) and each.get("type") == "image" else None
        if url is not None and (found := _DATA_URL.fullmatch(url)):
            pictures.append(media(shelf, found[2], found[1], unknown(NAME, each)))
        elif url is not None and url.startswith(("http://", "https://")):
            pictures.append(Part("image", json={"url": url}))
        else:
            files.append(each)
    return pictures, files


def _sniff(head: Head) -> float:
    first = head.first
    if "chat" in first and ("user_id" in first or b'"currentId"' in head.data or b'"history"' in head.data):
        return 0.95
    is_chat = "models" in first or b'"currentId"' in head.data or b'"childrenIds"' in head.data
    return 0.9 if "history" in first and is_chat else 0.0


FORMAT = Format(
    name=NAME,
    about="open-webui's chats, with every branch",
    carries=carrying(
        yes="many branches ids timestamps model usage title system thinking calls extras", partial="images"
    ),
    read=read,
    sniff=_sniff,
    notes={"images": "those that are in the export; of others, where they are"},
)
