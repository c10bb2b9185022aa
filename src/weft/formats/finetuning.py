"""OpenAI's fine-tuning files: a conversation a line, in the words of chat completions.

Supervised lines have `messages`; those for preferences have one `input` and two ways it went on, which are branches
here, called `preferred` and `rejected`; those for reinforcement may hold anything else beside, which is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.canon import Closing, Entry, Opening, Piece, Session, Transcript, thaw
from weft.formats.foreign import heard, line, need_list, objects, rest, spoken, tools_as_functions, tools_from
from weft.formats.format import Format, carrying
from weft.formats.proof import proven
from weft.formats.source import Head, Shelf, Source
from weft.wire import CROSSING, FAITHFUL

__all__ = ["FORMAT"]

NAME = "openai-finetuning"
_WAYS = {"preferred_output": "preferred", "non_preferred_output": "rejected"}
_OLD_WAYS = {"preferred_completion": "preferred", "non_preferred_completion": "rejected"}


def read(source: Source) -> Iterator[Piece]:
    """Read conversations, one a line."""
    shelf = Shelf()
    for place, said in objects(source):
        given = said.get("input")
        is_asked = isinstance(given, dict) and "messages" not in said
        inner = given if isinstance(given, dict) and is_asked else said
        kept = rest(said, "messages", *(("input",) if is_asked else ()), *_WAYS, *_OLD_WAYS)
        if is_asked and (beside := rest(inner, "messages")):
            kept["input"] = beside
        tools = tools_from(inner.get("tools")) or tools_from(inner.get("functions"))
        session = Session(provider="openai", tools=tools, extras={NAME: kept} if kept else {})
        yield Opening(session)
        chain = _Chain(shelf)
        yield from chain.after(None, need_list(inner.get("messages", []), f"{place}.messages"), place)
        common, heads = chain.last, {}
        for key, name in (*_WAYS.items(), *_OLD_WAYS.items()):
            if key in said:
                yield from chain.after(common, need_list(said[key], f"{place}.{key}"), f"{place}.{key}")
                if chain.last is not None:
                    heads[name] = chain.last
        yield Closing(heads, heads.get("preferred"))


class _Chain:
    """Entries numbered in the order of the line."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.count = 0
        self.last: str | None = None

    def after(self, parent: str | None, messages: list[Any], where: str) -> Iterator[Entry]:
        self.last = parent
        said = heard("openai_chat", messages, self.shelf.store, where)
        blobs = self.shelf.taken()
        for message in said:
            self.count += 1
            above = () if self.last is None else (self.last,)
            self.last = str(self.count)
            yield Entry(self.last, message, above, blobs=blobs)


def _encode(transcript: Transcript) -> bytes:
    kept = thaw(transcript.session.noted(NAME))
    body: dict[str, Any] = {}
    is_asked = {"preferred", "rejected"} <= transcript.heads.keys()
    asked = kept.pop("input", None) if is_asked else None
    body |= asked if isinstance(asked, dict) else {}
    if (session_tools := transcript.session.tools) and not ({"tools", "functions"} & (kept.keys() | body.keys())):
        body["tools"] = tools_as_functions(session_tools)
    system = transcript.session.instructions
    told = [{"role": "system", "content": system.system}] if system and system.system else []
    if is_asked:
        ways = {name: transcript.linear(name) for name in ("preferred", "rejected")}
        common = 0
        for one, other in zip(*ways.values(), strict=False):
            if one.id != other.id:
                break
            common += 1
        before = ways["preferred"][:common]
        said = {"input": {"messages": [*told, *_messages(before)], **body}, **kept}
        said |= {key: _messages(ways[name][common:]) for key, name in _WAYS.items()}
        return line(said)
    return line({"messages": [*told, *_messages(transcript.linear())], **body, **kept})


def _messages(entries: tuple[Entry, ...]) -> list[Any]:
    found: list[Any] = []
    for entry in entries:
        policy = FAITHFUL if entry.message.provider in (None, "openai") else CROSSING
        found += spoken("openai_chat", [entry.message], entry.blobs, policy)
    return found


def _sniff(head: Head) -> float:
    first = head.first
    if first.keys() & {*_WAYS, *_OLD_WAYS}:
        return 0.95
    messages = first.get("messages")
    is_chat = isinstance(messages, list) and messages and isinstance(messages[0], dict) and "role" in messages[0]
    is_chat = is_chat or ("messages" in first and messages is None and head.is_lines)  # longer than a look at the file
    is_listed = head.is_lines or head.is_array
    return 0.6 if is_chat and is_listed and "options" not in first and "request" not in first else 0.0


FORMAT = Format(
    name=NAME,
    about="OpenAI's fine-tuning files, a conversation a line",
    carries=carrying(yes="many system tools calls", partial="branches heads images extras"),
    read=read,
    write=proven(NAME, _encode, read),
    sniff=_sniff,
    aliases=("finetuning",),
    notes={
        "branches": "two, called preferred and rejected",
        "heads": "preferred and rejected",
        "images": "in what a user says",
        "extras": "of the whole line",
    },
)
