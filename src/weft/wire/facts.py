"""What planning asks of every message, found once and kept with it.

An agent resends its whole history with every request. What was looked through for the last request need not be
looked through for this one: a message cannot change.
"""

from __future__ import annotations

from typing import NamedTuple

from weft.canon import Message, remembered
from weft.jsontext import dumps

__all__ = ["Facts", "facts_of"]

MESSAGE_CHARACTERS = 16  # role and separators, some four tokens
FIELD_CHARACTERS = 16  # an argument's name, quotes and a short value
MEDIA_CHARACTERS = 4_000  # a picture of usual size is billed as about a thousand tokens


class Facts(NamedTuple):
    """About how long a message is, and which calls it makes and answers."""

    characters: int
    calls: tuple[str | None, ...]
    results: tuple[str | None, ...]


def facts_of(message: Message) -> Facts:
    """Give the facts of a message."""
    return remembered(message, _facts)


def _facts(message: Message) -> Facts:
    characters = MESSAGE_CHARACTERS
    calls: list[str | None] = []
    results: list[str | None] = []
    for part in message.parts:
        if part.type == "tool_call":
            calls.append(part.tool_call_id)
        elif part.type == "tool_result":
            results.append(part.tool_call_id)
        if part.text is not None:
            characters += len(part.text)
        elif part.tool_args is not None:
            texts = [value for value in part.tool_args.values() if isinstance(value, str)]
            characters += FIELD_CHARACTERS * len(part.tool_args) + sum(map(len, texts))
        elif part.tool_output is not None:
            output = part.tool_output
            characters += len(output) if isinstance(output, str) else _length(output)
        elif part.blob is not None:
            characters += MEDIA_CHARACTERS
    return Facts(characters, tuple(calls), tuple(results))


def _length(output: object) -> int:
    try:
        return len(dumps(output))
    except (ValueError, TypeError):  # not JSON, or nested past reason: an estimate may be wrong, not absent
        return MEDIA_CHARACTERS
