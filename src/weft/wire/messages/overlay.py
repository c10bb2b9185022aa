"""What a wire thing says that its canonical form does not: kept beside it, and laid over what is written.

A part or message that was read is written again at once, and where that differs from what was given, the difference
is kept: in `json["wire"]` of a part, in the annotation of a message. That is what makes wire to canon to wire the
identity for every valid message, however odd [R-12].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.canon import EMPTY, Part, thaw
from weft.wire.codec import Json

__all__ = ["difference", "laid_over", "marks_of", "same"]


def difference(written: Mapping[str, Any], given: Mapping[str, Any]) -> Json:
    """Tell what turns `written` into `given`: the `fields` to set and the keys that must be `absent`."""
    if same(written, given):
        return {}
    fields = {key: value for key, value in given.items() if key not in written or not same(written[key], value)}
    absent = [key for key in written if key not in given]
    return ({"fields": fields} if fields else {}) | ({"absent": absent} if absent else {})


def laid_over(written: Json, marks: Mapping[str, Any]) -> Json:
    """Apply a difference."""
    absent, fields = marks.get("absent"), marks.get("fields")
    for key in absent if isinstance(absent, (list, tuple)) else ():
        written.pop(key, None)
    return written | thaw(fields) if isinstance(fields, Mapping) else written


def marks_of(part: Part) -> Mapping[str, Any]:
    """Give what is kept about the wire form of a part."""
    marks = part.json.get("wire") if part.json is not None else None
    return marks if isinstance(marks, Mapping) else EMPTY


def same(one: Any, other: Any) -> bool:
    """Compare two values; ones too deep to be compared count as different."""
    try:
        return bool(one == other)
    except RecursionError:
        return False
