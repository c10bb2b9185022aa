"""A turn as a person edits it: plain text where that says it all, else its blocks as JSON; and back to blocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from weft import jsontext
from weft.errors import InvalidContentError, UsageError
from weft.threads.blocks import blocks_from
from weft.threads.turn import Turn

__all__ = ["TurnDraft", "draft_of", "edited_blocks", "with_text"]

Blocks = list[dict[str, Any]]


class TurnDraft(NamedTuple):
    """What is put before a person: the text, and whether it is JSON."""

    text: str
    is_json: bool


def draft_of(turn: Turn, *, as_json: bool = False) -> TurnDraft:
    """Give a turn in the form it is edited in; `as_json` asks for its blocks even where text would do."""
    if turn.meta.get("type") == "document":
        raise UsageError(f"turn {turn.id} is a file; give what is to stand in its place as a text or a file")
    blocks = turn.content
    if not blocks and not as_json:
        return TurnDraft("", is_json=False)
    if len(blocks) == 1 and _is_plain(blocks[0]) and not as_json:
        return TurnDraft(blocks[0]["text"], is_json=False)
    try:
        return TurnDraft(json.dumps(blocks, ensure_ascii=False, indent=2) + "\n", is_json=True)
    except RecursionError:
        raise UsageError(f"turn {turn.id} is nested too deeply to be edited") from None


def edited_blocks(turn: Turn, text: str, *, is_json: bool) -> Blocks | None:
    """Read back what a person made of a turn; None if nothing is different.

    An editor ends a file with a newline; that alone is no change, and is not taken into the turn.
    """
    if is_json:
        try:
            blocks = blocks_from(jsontext.loads(text), is_json=True)
        except ValueError as error:
            raise InvalidContentError(f"the edited blocks are not JSON: {error}") from error
    else:
        if text.endswith("\n") and not turn.text.endswith("\n"):
            text = text[:-1]
        blocks = with_text(turn, text)
    return None if blocks == turn.content else blocks


def with_text(turn: Turn, text: str) -> Blocks:
    """Put another text into a turn; calls, results and whatever else it holds stay as they are."""
    blocks: Sequence[dict[str, Any]] = () if turn.meta.get("type") == "document" else turn.content
    places = [index for index, block in enumerate(blocks) if block.get("type") == "text"]
    if len(places) > 1:
        raise UsageError(f"turn {turn.id} has {len(places)} texts; edit its blocks as JSON instead")
    if not places:
        return [{"type": "text", "text": text}, *blocks]
    return [{"type": "text", "text": text} if index == places[0] else block for index, block in enumerate(blocks)]


def _is_plain(block: Any) -> bool:
    return (
        isinstance(block, dict)
        and block.keys() == {"type", "text"}
        and block["type"] == "text"
        and isinstance(block["text"], str)
    )
