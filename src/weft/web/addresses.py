"""Where recorded requests went: who is meant where a record does not say, and an address to paste.

No key is recorded, so the name of its variable stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.web.answers import RefusedError
from weft.web.copying import Request

__all__ = ["provider_of", "request_to"]

_SERVERS = {  # by dialect: who is meant where a record does not say, the address, and how the key is sent
    "anthropic": ("anthropic", "https://api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY", ("x-api-key", "")),
    "gemini": (
        "gemini",
        "https://generativelanguage.googleapis.com",
        "/v1beta/models/{model}:generateContent",
        "GEMINI_API_KEY",
        ("x-goog-api-key", ""),
    ),
    "cohere": ("cohere", "https://api.cohere.com", "/v2/chat", "CO_API_KEY", ("authorization", "Bearer ")),
    "openai_responses": (
        "openai",
        "https://api.openai.com",
        "/v1/responses",
        "OPENAI_API_KEY",
        ("authorization", "Bearer "),
    ),
    "openai_chat": (
        "openai",
        "https://api.openai.com",
        "/v1/chat/completions",
        "OPENAI_API_KEY",
        ("authorization", "Bearer "),
    ),
    "bedrock": ("bedrock", "", "", "", ("authorization", "Bearer ")),
    "ollama": ("ollama", "http://127.0.0.1:11434", "/api/chat", "", ("authorization", "Bearer ")),
}


def provider_of(dialect: str) -> str:
    """Name the provider a dialect is of; an empty text for one that nobody's is."""
    return _SERVERS[dialect][0] if dialect in _SERVERS else ""


def request_to(dialect: str, model: str, record: Mapping[str, Any]) -> Request:
    """Give a recorded request as it could be sent again."""
    _, base, path, key, header = _SERVERS.get(dialect, _SERVERS["openai_chat"])
    recorded = record.get("path")
    if isinstance(recorded, str) and recorded.startswith("/"):
        path = recorded
    if not base:
        raise RefusedError(409, "no_address", "requests of this provider are signed, and cannot be pasted")
    headers = {"anthropic-version": "2023-06-01"} if dialect == "anthropic" else {}
    return Request(f"{base}{path.replace('{model}', model)}", headers, record.get("request"), key or None, header)
