"""What turns say beside their content: when they were written, how long they took, which tree they are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from weft.ids import is_turn_id
from weft.jsontext import loads
from weft.store import TurnRow
from weft.web import contract
from weft.web.blocks import attachment

__all__ = ["document_of", "duration_of", "extra_of", "message_in", "moment_of", "text_in", "time_of", "trees_of"]


def trees_of(parents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Name every turn's tree by its oldest turn: all that hang together, joins included."""
    root: dict[str, str] = {}

    def find(at: str) -> str:
        path = []
        while root.setdefault(at, at) != at:
            path.append(at)
            at = root[at]
        for each in path:
            root[each] = at
        return at

    for child, above in parents.items():
        for parent in above:
            one, other = find(child), find(parent)
            root[max(one, other)] = min(one, other)
    return {turn_id: find(turn_id) for turn_id in parents}


def time_of(turn_id: str) -> int:
    """Give the moment inside a turn's id, in milliseconds."""
    return int(turn_id, 36) >> 80


def moment_of(milliseconds: int | None) -> datetime | None:
    """Give milliseconds as a time."""
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def duration_of(turn_id: str, extra: Mapping[str, Any]) -> int:
    """Tell how long an answer took: from its call to its turn."""
    began = extra.get("frame_id")
    return max(0, time_of(turn_id) - time_of(began)) if isinstance(began, str) and is_turn_id(began) else 0


def extra_of(row: TurnRow) -> Mapping[str, Any]:
    """Read what a row's meta says beyond its columns; nothing of one that cannot be read."""
    try:
        found = loads(row.extra) if row.extra else {}
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}


def message_in(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give what a provider said about its answer."""
    said = extra.get("message")
    return said if isinstance(said, Mapping) else {}


def text_in(value: Any) -> str:
    """Give a text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def document_of(row: TurnRow) -> contract.Attachment:
    """Describe the file that a turn is."""
    extra = extra_of(row)
    name = extra.get("document_name")
    return attachment(
        f"d{row.id}",
        name if isinstance(name, str) else None,
        text_in(extra.get("content_type")) or "application/octet-stream",
        len(row.data or b""),
    )
