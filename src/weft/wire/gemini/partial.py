"""Function calls that stream in piece by piece (Vertex, `streamFunctionCallArguments`).

The first piece has the name; each further one names no function and adds values at JSON paths; the last says no more
that it will continue. https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from weft.wire.codec import Json
from weft.wire.gemini.spelling import get

__all__ = ["PartialCall"]

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"]([^'\"]*)['\"]\]")
_MOST = 10_000  # an index beyond it is a mistake, not a list
VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


class PartialCall:
    """A call under construction."""

    __slots__ = ("_args", "_block", "_call", "_key", "_texts")

    def __init__(self, block: Mapping[str, Any], key: str) -> None:
        """Begin with the part that opened it."""
        self._block = dict(block)
        self._key = key
        self._call: Json = {}
        self._args: Json = {}
        self._texts: dict[str, list[str]] = {}
        self.add(block, block[key])

    def add(self, block: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
        """Take the next piece; tell whether more will come."""
        self._block |= {name: item for name, item in block.items() if name != self._key}
        for field, value in call.items():
            if field == "args" and isinstance(value, Mapping):
                self._args.update(value)
            elif field not in ("args", "partialArgs", "partial_args", "willContinue", "will_continue"):
                self._call[field] = value
        for piece in get(call, "partialArgs") or ():
            path = str(get(piece, "jsonPath") or "$")
            for kind in VALUES:
                if (value := get(piece, kind)) is not None:
                    self._put(path, kind, value)
        return get(call, "willContinue") is True

    def _put(self, path: str, kind: str, value: Any) -> None:
        if kind == "stringValue":
            if path not in self._texts:
                self._texts[path] = []
                _set(self._args, path, "")
            self._texts[path].append(str(value))
        else:
            _set(self._args, path, None if kind == "nullValue" else value)

    def whole(self) -> Json:
        """Give the part as it would have come in one piece."""
        for path, pieces in self._texts.items():
            _set(self._args, path, "".join(pieces))
        return {**self._block, self._key: {**self._call, "args": self._args}}


def _set(root: Json, path: str, value: Any) -> None:
    """Put a value at a JSON path, making what is missing on the way; a path that cannot be is passed over."""
    steps = [int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path)]
    here: Any = root
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int):
            if not isinstance(here, list) or step > _MOST:
                return
            here.extend([None] * (step + 1 - len(here)))
        elif not isinstance(here, dict):
            return
        if following is None:
            here[step] = value
            return
        held = here[step] if isinstance(step, int) else here.get(step)
        if not isinstance(held, (dict, list)):
            held = here[step] = [] if isinstance(following, int) else {}
        here = held
