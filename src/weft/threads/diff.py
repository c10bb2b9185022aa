"""What differs between two threads: their turns, their options, the tools they use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from weft.store import TurnRow
from weft.threads.blocks import blocks_of

__all__ = ["ThreadDiff", "diff_turns"]


@dataclass(frozen=True, slots=True)
class ThreadDiff:
    """How to get from one thread to another.

    `steps` are (what, left records, right records) in order, what being `same`, `changed`, `removed` or `added`.
    Turns are the same if their role and content are, whatever their ids. `options` and `tools` have what differs only:
    (left, right) by key, and the names on one side.
    """

    steps: tuple[tuple[str, tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]], ...]
    options: dict[str, tuple[Any, Any]]
    tools: dict[str, str]

    @property
    def is_empty(self) -> bool:
        """Whether both say the same."""
        return not self.options and not self.tools and all(what == "same" for what, _, _ in self.steps)

    @property
    def common(self) -> int:
        """How many turns both begin with."""
        first = self.steps[0] if self.steps else None
        return len(first[1]) if first is not None and first[0] == "same" else 0

    def to_dict(self) -> dict[str, Any]:
        """Give the difference as plain JSON data."""
        return {
            "steps": [{"what": what, "left": list(left), "right": list(right)} for what, left, right in self.steps],
            "options": {key: {"left": left, "right": right} for key, (left, right) in self.options.items()},
            "tools": self.tools,
        }


_WORDS = {"equal": "same", "replace": "changed", "delete": "removed", "insert": "added"}


def diff_turns(
    left: Sequence[TurnRow],
    right: Sequence[TurnRow],
    left_options: Mapping[str, Any],
    right_options: Mapping[str, Any],
) -> ThreadDiff:
    """Compare two walked threads."""
    common = 0
    for mine, other in zip(left, right, strict=False):
        if _key(mine) != _key(other):
            break
        common += 1
    # Threads nearly always share their beginning; only what comes after is compared with care.
    matcher = SequenceMatcher(None, [_key(t) for t in left[common:]], [_key(t) for t in right[common:]], autojunk=False)
    steps = [("same", _records(left[:common]), _records(right[:common]))] if common else []
    for tag, a, b, c, d in matcher.get_opcodes():
        steps.append((_WORDS[tag], _records(left[common + a : common + b]), _records(right[common + c : common + d])))
    keys = dict.fromkeys([*left_options, *right_options])
    options = {
        key: (left_options.get(key), right_options.get(key))
        for key in keys
        if left_options.get(key) != right_options.get(key) or (key in left_options) != (key in right_options)
    }
    used, wanted = _tools(left), _tools(right)
    tools = dict.fromkeys(sorted(used - wanted), "removed") | dict.fromkeys(sorted(wanted - used), "added")
    return ThreadDiff(tuple(steps), options, tools)


def _key(turn: TurnRow) -> tuple[str, bytes | None, int]:
    return turn.role, turn.hash, turn.flags & 1


def _records(turns: Sequence[TurnRow]) -> tuple[dict[str, Any], ...]:
    return tuple({"id": turn.id, "role": turn.role, "content": blocks_of(turn) or []} for turn in turns)


def _tools(turns: Sequence[TurnRow]) -> set[str]:
    # Whoever wrote a frame by hand may have listed something else.
    blocks: list[Any] = [block for turn in turns for block in blocks_of(turn) or ()]
    return {str(block.get("name")) for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"}
