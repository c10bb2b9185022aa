"""ChatGPT's export: conversations.json, every conversation as a tree.

A node is an entry if it has a message; the others stand for their parents. A message to anyone but `all` is a tool
call, and what a tool answers is taken for the result of the last call before it. The current path is the one that
ChatGPT shows; all others are branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft.canon import UNTIMED, Closing, Entry, Message, Opening, Part, Piece, Session, read_arguments
from weft.formats.foreign import Tree, as_role, in_order, moment, need_object, objects, rest, text, unknown
from weft.formats.format import Format, carrying
from weft.formats.source import Head, Source

__all__ = ["FORMAT"]

NAME = "chatgpt"
_SAID = ("mapping", "title", "create_time", "update_time", "current_node", "conversation_id", "id")
# Where contents that are no list of parts have their text; of instructions, there are two.
_WORDS = ("text", "result", "summary", "model_set_context")
_CONTEXT = ("user_profile", "user_instructions")
_TO_ALL = (None, "all", "assistant")  # those that a message to is no call of a tool


def read(source: Source) -> Iterator[Piece]:
    """Read conversations, one at a time."""
    for place, said in objects(source):
        yield from _conversation(said, place)


def _conversation(said: dict[str, Any], place: str) -> Iterator[Piece]:
    mapping = need_object(said.get("mapping", {}), f"{place}.mapping")
    yield Opening(
        Session(
            id=text(said.get("conversation_id")) or text(said.get("id")),
            title=text(said.get("title")),
            created=moment(said.get("create_time")),
            updated=moment(said.get("update_time")),
            provider="openai",
            model=text(said.get("default_model_slug")),
            extras={NAME: rest(said, *_SAID)},
        )
    )
    tree = Tree()
    ids: set[str] = set()
    calls: dict[str, str | None] = {}
    for name in in_order(_children(mapping)):
        node = need_object(mapping[name], f"{place}.mapping[{name!r}]")
        parent = text(node.get("parent"))
        message = node.get("message")
        above = tree.above(parent)
        if above and above[0] in mapping and above[0] not in ids:  # they go in a circle, which begins here
            above = ()
        if not isinstance(message, dict):
            tree.passed(name, parent)
            continue
        call = calls.get(above[0]) if above else None
        entry = _entry(name, message, above, call)
        # A tool's answer may be several nodes, all for the one call; hidden notes of the system may stand between.
        calls[name] = _call_of(entry) or (call if entry.message.role in ("tool", "system") else None)
        ids.add(name)
        yield entry
    current = text(said.get("current_node"))
    found = tree.above(current)
    yield Closing({}, found[0] if found and found[0] in ids else None)


def _children(mapping: Mapping[str, Any]) -> dict[str | None, list[str]]:
    """Give the children of each node as the nodes themselves name their parents; lists of children only order them."""
    children: dict[str | None, list[str]] = {}
    for name, node in mapping.items():
        parent = node.get("parent") if isinstance(node, dict) else None
        children.setdefault(parent if isinstance(parent, str) and parent in mapping else None, []).append(name)
    for above, under in children.items():
        node = None if above is None else mapping.get(above)
        listed = node.get("children") if isinstance(node, dict) else None
        if isinstance(listed, list):
            order = {child: number for number, child in enumerate(listed) if isinstance(child, str)}
            under.sort(key=lambda child: order.get(child, len(order)))
    return children


def _entry(name: str, message: dict[str, Any], above: tuple[str, ...], call: str | None) -> Entry:
    author, metadata, content = (message.get(key) for key in ("author", "metadata", "content"))
    author = author if isinstance(author, dict) else {}
    metadata = metadata if isinstance(metadata, dict) else {}
    content = content if isinstance(content, dict) else {"content_type": "text", "parts": [content]}
    role = as_role(author.get("role"))
    recipient = text(message.get("recipient"))
    parts = _parts(content)
    if role == "tool":
        parts = [_result(parts, call, text(author.get("name")))]
    elif role == "assistant" and recipient not in _TO_ALL:
        parts = [_call(name, parts, recipient or ""), *(part for part in parts if part.type != "text")]
    return Entry(
        name,
        Message(role, parts, text(message.get("id")), "openai", None, moment(message.get("create_time")) or UNTIMED),
        above,
        text(metadata.get("model_slug")) if role == "assistant" else None,
        _finish(message, metadata),
        extras={NAME: _beside(message, content)},
    )


def _beside(message: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Give what is said of a message that its parts do not say."""
    kept = rest(message, "id", "content", "create_time")
    kept["content_type"] = content.get("content_type")
    said = ("parts", "text", "thoughts", *_CONTEXT)
    return kept | {key: value for key, value in content.items() if key not in said}


def _parts(content: dict[str, Any]) -> list[Part]:
    match content:
        case {"content_type": "thoughts", "thoughts": list(thoughts)}:
            return [_thought(each) for each in thoughts]
        case {"content_type": "reasoning_recap", "content": str(words)}:
            return [Part("thinking", words, json={"provider": "openai", "dialect": NAME})]
        case {"content_type": "user_editable_context"}:
            return [Part("text", told) for key in _CONTEXT if isinstance(told := content.get(key), str) and told]
        case {"parts": list(parts)}:
            return [_part(each) for each in parts]
    for key in _WORDS:
        if isinstance(found := content.get(key), str):
            return [Part("text", found)]
    return [unknown(NAME, content)]


def _part(part: Any) -> Part:
    match part:
        case str():
            return Part("text", part)
        case {"content_type": "audio_transcription" | "text", "text": str(words)}:  # what was said aloud
            return Part("text", words, provider_raw={NAME: rest(part, "text")})
    return unknown(NAME, part)


def _thought(thought: Any) -> Part:
    if not isinstance(thought, dict):
        return unknown(NAME, thought)
    words = [each for each in (text(thought.get("summary")), text(thought.get("content"))) if each]
    return Part(
        "thinking", "\n\n".join(words), json={"provider": "openai", "dialect": NAME}, provider_raw={"thought": thought}
    )


def _call(name: str, parts: list[Part], recipient: str) -> Part:
    words = "".join(part.text or "" for part in parts)
    return Part("tool_call", tool_call_id=name, tool_name=recipient, tool_args=read_arguments(words))


def _call_of(entry: Entry) -> str | None:
    return next((part.tool_call_id for part in entry.message.parts if part.type == "tool_call"), None)


def _result(parts: list[Part], call: str | None, name: str | None) -> Part:
    if all(part.type == "text" for part in parts):
        output: Any = "\n".join(part.text or "" for part in parts)
    else:
        output = [{"type": "text", "text": part.text} if part.type == "text" else part.provider_raw for part in parts]
    return Part("tool_result", tool_call_id=call, tool_name=name, tool_output=output)


def _finish(message: dict[str, Any], metadata: dict[str, Any]) -> str | None:
    details = metadata.get("finish_details")
    kind = details.get("type") if isinstance(details, dict) else None
    known = {"stop": "stop", "max_tokens": "length", "interrupted": "interrupted"}
    return known.get(str(kind), "stop" if message.get("end_turn") is True else None)


def _sniff(head: Head) -> float:
    first = head.first
    if "mapping" not in first:
        return 0.0
    if "current_node" in first or "create_time" in first:
        return 0.97
    return 0.9 if b'"children"' in head.data and b'"parent"' in head.data else 0.0  # they may come after the mapping


FORMAT = Format(
    name=NAME,
    about="ChatGPT's export (conversations.json), with every branch",
    carries=carrying(
        yes="many branches ids timestamps model title thinking calls extras", partial="finish system images"
    ),
    read=read,
    sniff=_sniff,
    aliases=("openai-export", "chatgpt-export"),
    extensions=("conversations.json",),
    notes={"images": "as pointers: the export has the files beside it", "system": "as messages"},
)
