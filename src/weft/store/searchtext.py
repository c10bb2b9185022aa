"""What of a turn can be searched, and how words are told apart; the same for every backend.

Text, tool arguments and tool results are searched; signatures, ids and documents' base64 are not. Words are runs of
letters and digits without case and accents; Chinese, Japanese and Korean characters are words of their own, so that
any run of them can be found.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from weft import jsontext
from weft.store.base import Flag, Query

__all__ = ["facet", "facets_of", "holds", "parse_query", "plain_words", "prepare", "text_of_blocks", "text_of_payload"]

_CJK = (
    r"([\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])"  # compiled when first needed
)
_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r'"([^"]*)"?|(\S+)')
_LARGEST_DOCUMENT = 4_000_000  # bytes of a text document that are searched; the rest of a longer one is not


def prepare(text: str) -> str:
    """Bring text into the form that is indexed: no case, no accents, one CJK character a word."""
    if text.isascii():
        return text.lower().replace("\0", " ")
    flat = unicodedata.normalize("NFKD", text).casefold()
    flat = "".join([c for c in flat if not unicodedata.combining(c)]) if not flat.isascii() else flat
    return re.sub(_CJK, r" \1 ", flat).encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def plain_words(text: str) -> list[str]:
    """Split text into its words."""
    return _WORD.findall(prepare(text))


@lru_cache(maxsize=1024)
def facet(kind: str, value: str) -> str:
    """Give the word that stands for a property of a turn (its role, model, bookmark) in the index.

    Such a word is unlikely in a conversation, and a hit is always checked against the turn itself.
    """
    return f"zqx{kind}{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def facets_of(role: str, head: str | None, model: str | None) -> str:
    """Give the property words of a turn."""
    words = [facet("r", role)]
    if head is not None:
        words.append(facet("h", head))
    if model is not None:
        words.append(facet("m", model))
    return " ".join(words)


def parse_query(text: str, **filters: str | None) -> Query:
    """Read a query as people type it: words, "phrases", and beginnings with a trailing *."""
    words: list[str] = []
    phrases: list[tuple[str, ...]] = []
    for quoted, bare in _PIECE.findall(text):
        found = plain_words(quoted or bare)
        if not found:
            continue
        if len(found) > 1:
            phrases.append(tuple(found))
        elif bare.endswith("*"):
            words.append(found[0] + "*")
        else:
            words.append(found[0])
    return Query(tuple(words), tuple(phrases), **filters)


def holds(query: Query, words: list[str]) -> bool:
    """Tell whether a text of these words fits the query."""
    there = set(words)
    for word in query.words:
        if word.endswith("*"):
            if not any(other.startswith(word[:-1]) for other in there):
                return False
        elif word not in there:
            return False
    if not query.phrases:
        return True
    line = f" {' '.join(words)} "
    return all(f" {' '.join(phrase)} " in line for phrase in query.phrases)


def text_of_payload(flags: int, extra: Mapping[str, Any], data: bytes | None) -> str:
    """Give the searchable text of a turn from its payload."""
    if not data:
        return ""
    if flags & Flag.DOCUMENT:
        name = str(extra.get("document_name") or "")
        media_type = str(extra.get("content_type") or "")
        if media_type.startswith("text/") or media_type == "application/json":
            return f"{name}\n{data[:_LARGEST_DOCUMENT].decode('utf-8', 'replace')}"
        return name
    if not flags & Flag.JSON:
        return data[:_LARGEST_DOCUMENT].decode("utf-8", "replace")
    try:
        blocks = jsontext.loads(data)
    except ValueError:
        return ""  # damaged: `check` says so, searching the others goes on
    return text_of_blocks(blocks)


def text_of_blocks(blocks: Any) -> str:
    """Give the searchable text of content blocks."""
    if not isinstance(blocks, list):
        return ""
    if len(blocks) == 1 and blocks[0].__class__ is dict and blocks[0].get("type") == "text":
        text = blocks[0].get("text")
        return text if isinstance(text, str) else ""
    return "\n".join(piece for block in blocks for piece in _pieces(block))


def _pieces(block: Any) -> Iterator[str]:
    if not isinstance(block, Mapping):
        return
    match block.get("type"):
        case "text":
            if isinstance(text := block.get("text"), str):
                yield text
        case "tool_use" | "server_tool_use":
            yield str(block.get("name") or "")
            yield from _texts(block.get("input"))
        case "tool_result":
            yield str(block.get("name") or "")
            content = block.get("content")
            if isinstance(content, str):
                yield content
            elif isinstance(content, list):
                for item in content:
                    yield from _pieces(item)
        case "document" | "image" | "audio" | "video" | "file":
            yield str(block.get("title") or block.get("name") or "")
        case "thinking":
            if isinstance(text := block.get("thinking"), str):
                yield text
        case "redacted_thinking":
            return
        case _:
            yield from _texts({key: value for key, value in block.items() if key not in _SEALED})


_SEALED = {"type", "id", "signature", "data", "encrypted_content", "encrypted_index", "thought_signature"}


def _texts(value: Any) -> Iterator[str]:
    """Give every text and number inside a JSON value, keys of objects included, without recursion."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            for key in reversed(item):
                todo.extend((item[key], str(key)))
        elif isinstance(item, list):
            todo.extend(reversed(item))
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield str(item)
