"""Counting tokens, and remembering which prompts were seen: a model of the providers' prompt caches.

Four characters are a token, everywhere. A prompt is a row of segments (tools, instructions, messages); a cache
knows the beginnings it has seen. OpenAI and Gemini look by themselves, Anthropic and Bedrock up to a mark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.jsontext import dumps

__all__ = ["CHARACTERS", "Counts", "PromptCache", "Segment", "count", "size_of"]

CHARACTERS = 4
BLOCK_TOKENS = 128  # OpenAI counts cached tokens in blocks of so many
MARKS = ("cache_control", "cachePoint")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the prompt that is cached whole or not at all; `marked` if the caller asked to cache up to here."""

    value: Any
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """What a call used. `input` is the whole prompt; `cached` and `written` are parts of it."""

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    thinking: int = 0


def count(text: str) -> int:
    """Count the tokens of a text."""
    return -(-len(text) // CHARACTERS)


def size_of(value: Any) -> int:
    """Count the tokens of anything: of its texts and numbers, not of the JSON around them."""
    characters = 0
    todo = [value]
    for item in todo:  # grows while it is walked
        if isinstance(item, str):
            characters += len(item)
        elif isinstance(item, Mapping):
            todo.extend(item.values())
        elif isinstance(item, list | tuple):
            todo.extend(item)
        elif item is not None:
            characters += len(str(item))
    return -(-characters // CHARACTERS)


class PromptCache:
    """The beginnings of prompts that were seen, each as a hash."""

    __slots__ = ("_minimum", "_seen")

    def __init__(self, minimum: int) -> None:
        """Begin empty; shorter beginnings than `minimum` tokens are not kept."""
        self._minimum = minimum
        self._seen: set[bytes] = set()

    def look(self, scope: str, segments: Iterable[Segment], *, marked_only: bool) -> Counts:
        """Count a prompt: what of it was seen before, and what is kept from now on."""
        chain = hashlib.sha256(scope.encode())
        total = cached = last = 0
        fresh: list[bytes] = []
        for segment in segments:
            total += size_of(_unmarked(segment.value))
            chain.update(dumps(_unmarked(segment.value)) + b"\0")
            if total < self._minimum or (marked_only and not segment.marked):
                continue
            here = chain.digest()
            last = total
            if here in self._seen:
                cached = total
            else:
                fresh.append(here)
        self._seen.update(fresh)
        if marked_only:
            return Counts(input=total, cached=cached, written=last - cached)
        if self._minimum >= BLOCK_TOKENS:
            cached -= cached % BLOCK_TOKENS
        return Counts(input=total, cached=cached)


def _unmarked(value: Any) -> Any:
    """Take the marks out: they move from request to request, the content they stand on does not."""
    if isinstance(value, Mapping):
        return {key: _unmarked(item) for key, item in value.items() if key not in MARKS}
    return [_unmarked(item) for item in value] if isinstance(value, list | tuple) else value
