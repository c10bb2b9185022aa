"""Who can be asked through turns, and what is fixed for each of them (threads.md, section 15)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.canon import EMPTY, freeze
from weft.errors import UsageError

__all__ = ["PROVIDERS", "Provider", "provider_named"]


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider: its name in messages, the dialect it speaks and the keys that each of its requests has."""

    title: str
    dialect: str
    fixed: Mapping[str, Any]
    no_tools: Mapping[str, Any]
    call: Mapping[str, Any]  # what the call adds, beside the model, to have the answer's cost told [T-60]


_STREAM = freeze({"stream": True})
_EMPTY_LIST = freeze({"tools": []})
_COUNTED = freeze({"stream_options": {"include_usage": True}})

PROVIDERS: dict[str, Provider] = {
    # max_tokens is the policy's default, since the dialect insists on one [TURN]
    "anthropic": Provider("Anthropic", "anthropic", _STREAM, _EMPTY_LIST, EMPTY),
    "gemini": Provider(
        "Gemini",
        "gemini",
        freeze({"generationConfig": {"temperature": 1, "topP": 0.95, "maxOutputTokens": 81920}}),
        EMPTY,
        EMPTY,
    ),
    "openai": Provider("OpenAI", "openai_chat", _STREAM, _EMPTY_LIST, _COUNTED),
    "cerebras": Provider("Cerebras", "openai_chat", _STREAM, _EMPTY_LIST, _COUNTED),
    "cohere": Provider("Cohere", "cohere", _STREAM, _EMPTY_LIST, EMPTY),
}


def provider_named(name: str) -> Provider:
    """Give a provider by its name."""
    known = PROVIDERS.get("gemini" if name == "google" else name)
    if known is None:
        raise UsageError(f"no provider is called {name!r}\n  known: {', '.join(PROVIDERS)}")
    return known
