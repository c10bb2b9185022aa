"""Texts for the page: one line of a long text, pieces of it, and where words were found in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from weft.jsontext import loads

__all__ = ["GIST", "Terms", "cut", "gist_of", "read_terms", "result_text", "snippet_of"]

GIST = 200  # characters [spec 11]
_AROUND = 60
_WRAPPED_MOST = 1 << 20  # characters of a result that is looked into for its one line


def gist_of(text: str, width: int = GIST) -> str:
    """Give the beginning of a text on one line; a dash for nothing."""
    line = " ".join(text[: width * 4].split())
    return line[:width] or "-"


_WRAPPED = re.compile(r'\s*\{\s*"[^"\\]{1,40}"\s*:\s*"')


def result_text(text: str) -> str:
    """Give what a tool said where it is a text in an object of its own (`{"result": "6 m"}`), as Gemini wants it."""
    if not _WRAPPED.match(text) or len(text) > _WRAPPED_MOST:
        return text
    try:
        value = loads(text)
    except ValueError:
        return text
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    return inner if isinstance(inner, str) else text


def cut(text: str, most: int) -> tuple[str, bool]:
    """Give a text no longer than `most`, and whether it was."""
    return (text, False) if len(text) <= most else (text[:most], True)


@dataclass(frozen=True, slots=True)
class Terms:
    """What is searched for: all of these, wherever they are, upper and lower case alike."""

    words: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.words)

    def within(self, text: str) -> bool:
        """Tell whether a text has all of them."""
        folded = text.casefold()
        return all(word in folded for word in self.words)


def read_terms(query: str) -> Terms:
    """Read what people type: words, and "phrases" in quotes; an open quote is closed at the end."""
    try:
        pieces = shlex.split(query.replace("\\", "\\\\").replace("'", "\\'"))
    except ValueError:
        pieces = query.replace('"', " ").split()
    return Terms(tuple(piece.rstrip("*").casefold() for piece in pieces if piece.rstrip("*")))


def snippet_of(text: str, words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Give the words around the first find, and the places of all finds in them, in UTF-16 units."""
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    found = pattern.search(text) if words else None
    start = max(0, found.start() - _AROUND) if found is not None else 0
    end = min(len(text), (found.end() if found is not None else 0) + 2 * _AROUND)
    piece = " ".join(text[start:end].split())
    shown = f"{'…' if start else ''}{piece}{'…' if end < len(text) else ''}"
    marks = [(_units(shown[: m.start()]), _units(shown[: m.end()])) for m in pattern.finditer(shown)] if words else []
    return shown, [mark for mark in marks if mark[0] < mark[1]]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
