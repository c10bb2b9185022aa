"""Which dialect a recorded call is in: its path tells, else its bodies.

The paths are the providers' own; a gateway may put others before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from weft.wire.registry import detect

__all__ = ["dialect_of"]

_PATHS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"/chat/completions(?:$|\?)"), "openai_chat"),
    (re.compile(r"/responses/compact(?:$|\?)"), "openai_responses_compact"),
    (re.compile(r"/responses(?:$|\?)"), "openai_responses"),
    (re.compile(r"/v1/messages(?:$|\?)"), "anthropic"),
    (re.compile(r":(?:streamG|g)enerateContent(?:$|\?)"), "gemini"),
    (re.compile(r"/converse(?:-stream)?(?:$|\?)"), "bedrock"),
    (re.compile(r"/v2/chat(?:$|\?)"), "cohere"),
    (re.compile(r"/api/chat(?:$|\?)"), "ollama"),
    (re.compile(r"/images/generations(?:$|\?)"), "openai_images"),
)


def dialect_of(record: Mapping[str, Any]) -> str | None:
    """Tell the dialect of a record: by its path, else by its bodies."""
    path = record.get("path")
    if isinstance(path, str):
        for pattern, name in _PATHS:
            if pattern.search(path):
                return name
    body = record.get("request")
    found = detect(body) if isinstance(body, Mapping) else None
    if found in (None, "openai_chat"):
        # A bare question may be several dialects'; who answered tells.
        answered = _dialect_of_response(record.get("response"))
        return answered if answered in ("anthropic", "cohere", "ollama", "bedrock") else found
    return found


def _dialect_of_response(response: Any) -> str | None:
    if not isinstance(response, Mapping):
        return None
    if response.get("stream") is not True:
        return detect(response)
    for line in response.get("sse_lines") or ():
        if isinstance(line, str) and line.startswith("data:"):
            text = line[5:]
            if '"message_start"' in text or '"content_block_' in text:
                return "anthropic"
            if '"message-start"' in text or '"content-delta"' in text:
                return "cohere"
            if '"choices"' in text:
                return "openai_chat"
    return None
