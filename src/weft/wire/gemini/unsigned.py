"""Calls that Gemini did not make, sent to a Gemini that wants its calls signed.

From Gemini 3 on, the first call of every step of the running turn must carry a thought signature, or the request is
refused. A thread begun elsewhere has none. For that case the API documents a value that says so, and switches the
check off for the call (https://ai.google.dev/gemini-api/docs/thought-signatures).
"""

from __future__ import annotations

import base64
import re
from typing import Any

from weft.wire.codec import Encoded, Json
from weft.wire.gemini.spelling import get

__all__ = ["excuse_unsigned_calls"]

EXCUSE = base64.b64encode(b"skip_thought_signature_validator").decode("ascii")
_MAJOR = re.compile(r"(?:^|/)gemini-(\d+)")
FIRST_TO_INSIST = 3


def excuse_unsigned_calls(contents: Any, model: str, key: str, out: Encoded) -> None:
    """Mark the first call of each step of the running turn, where it has no signature and the model insists."""
    version = _MAJOR.search(model)
    if version is None or int(version[1]) < FIRST_TO_INSIST or not isinstance(contents, list):
        return
    for c in range(_running_turn(contents), len(contents)):
        call = next((part for part in contents[c]["parts"] if get(part, "functionCall") is not None), None)
        if call is not None and get(call, "thoughtSignature") is None:
            call[key] = EXCUSE
            out.warnings.append(
                f"contents[{c}]: its call was not made by Gemini; it is marked as one without a signature"
            )


def _running_turn(contents: list[Json]) -> int:
    """Find where the turn that is still running begins: after the last thing a user said that is no result."""
    for c in range(len(contents) - 1, -1, -1):
        content = contents[c]
        if content.get("role") == "user" and any(get(part, "functionResponse") is None for part in content["parts"]):
            return c
    return 0
