"""Who answers whom: Gemini may leave out the ids of calls and results, and canon links by id.

A call without one gets a made-up id, the same wherever the same call is read: in the answer that made it, and in
every later request that repeats it. A result without one takes that of the earliest unanswered call of its name
[T-90]. Made-up ids are recognised by their prefix and never sent to Gemini.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from weft.canon import thaw

__all__ = ["Calls", "is_made_up"]

PREFIX = "weft_call_"
_URL_SAFE = str.maketrans("-_", "+/", "=")  # the SDK re-spells signatures; they are the same bytes


def is_made_up(call_id: str | None) -> bool:
    """Tell whether an id was never on the wire."""
    return call_id is None or call_id.startswith(PREFIX)


class Calls:
    """The calls of one body, in order, and which of them are still to be answered."""

    __slots__ = ("_made", "_open")

    def __init__(self) -> None:
        """Begin with no calls."""
        self._made: dict[str, int] = {}
        self._open: dict[str, list[str]] = {}

    def asked(self, name: str, call_id: Any, arguments: Mapping[str, Any], signature: Any) -> str:
        """Take the next call; give its id, or a made-up one."""
        known = call_id if isinstance(call_id, str) and call_id else self._make_up(name, arguments, signature)
        self._open.setdefault(name, []).append(known)
        return known

    def answered(self, name: str, call_id: Any) -> str | None:
        """Take the next result; give the id of the call it answers, or None for one that nobody asked for."""
        unanswered = self._open.get(name, [])
        if not isinstance(call_id, str) or not call_id:
            return unanswered.pop(0) if unanswered else None
        if call_id in unanswered:
            unanswered.remove(call_id)
        return call_id

    def _make_up(self, name: str, arguments: Mapping[str, Any], signature: Any) -> str:
        # A signature is unique; without one, the same call made twice is told apart by counting.
        if isinstance(signature, str) and signature:
            said = signature.translate(_URL_SAFE)
        else:
            try:
                said = json.dumps([name, thaw(arguments)], sort_keys=True, default=repr)
            except (RecursionError, ValueError):
                said = name
        made = PREFIX + hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        count = self._made[made] = self._made.get(made, 0) + 1
        return made if count == 1 else f"{made}_{count}"
