"""Tool arguments: a mapping in canon, often a text on the wire.

Text that is not a JSON object is never guessed at, mended or dropped: it rides as `{"_raw": text}` and comes back
out as that text [M-47, T-61].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from weft.canon.freezing import EMPTY, freeze, thaw
from weft.canon.part import Part, remembered
from weft.jsontext import dumps_text, loads

__all__ = ["call_arguments", "call_text", "output_text", "read_arguments", "write_arguments"]


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


class _Call:
    """What is known of a call's arguments: their text, and which other texts say the same."""

    __slots__ = ("is_exact", "says", "text")

    def __init__(self, part: Part) -> None:
        self.text = write_arguments(part.tool_args)
        self.says: dict[str, bool] = {}
        try:
            self.is_exact = bool(orjson.loads(self.text) == thaw(part.tool_args or EMPTY))
        except (ValueError, RecursionError):
            self.is_exact = False


def call_text(part: Part, given: str | None = None) -> str:
    """Write a call's arguments as JSON text: as it was `given`, if that still says them.

    The answer is kept with the part, since every later request says it again.
    """
    call = remembered(part, _Call)
    if given is None or given == call.text:
        return call.text
    if given not in call.says:
        call.says[given] = _is_same(read_arguments(given), part.tool_args or EMPTY)
    return given if call.says[given] else call.text


def call_arguments(part: Part) -> Any:
    """Give a call's arguments as plain containers of the caller's own; reading their text is cheaper than copying."""
    call = remembered(part, _Call)
    return orjson.loads(call.text) if call.is_exact else thaw(part.tool_args or EMPTY)


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    try:
        return one == other
    except RecursionError:  # too deep to be compared: it is kept as it came
        return True


def output_text(output: Any) -> str:
    """Write a tool's output as text: a string as it is, anything else as JSON [M-47]."""
    return output if isinstance(output, str) else dumps_text(output)
