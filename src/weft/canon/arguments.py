"""Tool arguments: a mapping in canon, often a text on the wire.

Text that is not a JSON object is never guessed at, mended or dropped: it rides as `{"_raw": text}` and comes back
out as that text [M-47, T-61].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.canon.freezing import EMPTY, freeze
from weft.jsontext import dumps_text, loads

__all__ = ["output_text", "read_arguments", "write_arguments"]


def read_arguments(value: Any) -> Mapping[str, Any]:
    """Read arguments as they came: a mapping, the JSON text of one, nothing, or something else kept whole."""
    if value is None or value == "":
        return EMPTY
    if isinstance(value, str):
        try:
            parsed = loads(value)
        except ValueError:
            parsed = None
        value = parsed if isinstance(parsed, dict) else {"_raw": value}
    elif not isinstance(value, Mapping):
        value = {"_raw": dumps_text(value)}
    frozen: Mapping[str, Any] = freeze(value)
    return frozen


def write_arguments(arguments: Mapping[str, Any] | None) -> str:
    """Write arguments as JSON text; what could not be read is given back as it came."""
    if not arguments:
        return "{}"
    if len(arguments) == 1 and isinstance(raw := arguments.get("_raw"), str):
        return raw
    return dumps_text(arguments)


def output_text(output: Any) -> str:
    """Write a tool's output as text: a string as it is, anything else as JSON [M-47]."""
    return output if isinstance(output, str) else dumps_text(output)
