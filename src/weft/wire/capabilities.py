"""What each endpoint can do: one table, for the adapters, the docs and anyone who asks."""

from __future__ import annotations

from weft.canon import AdapterCapabilities, AdapterId

__all__ = ["CAPABILITIES", "ENDPOINTS"]

ENDPOINTS: dict[str, AdapterId] = {
    "openai_responses": AdapterId("openai", "responses.create"),
    "openai_responses_compact": AdapterId("openai", "responses.compact"),
    "openai_chat": AdapterId("openai", "chat.completions"),
    "openai_images": AdapterId("openai", "images.generate"),
    "anthropic": AdapterId("anthropic", "messages.create"),
    "gemini": AdapterId("google", "models.generate_content"),
    "bedrock": AdapterId("bedrock", "converse"),
}

_COLUMNS = tuple(ENDPOINTS)
_LEVELS = {"y": "yes", "p": "partial", "-": "no"}
# One letter an endpoint, in the order of ENDPOINTS: (y)es, (p)artial, - no.
_TABLE = {
    "instructions": "y y y p y y y",
    "max_output_tokens": "y - y - y y y",
    "temperature": "y - y - y y y",
    "top_p": "y - y - y y y",
    "seed": "- - y - - y -",
    "tools": "y - y - y y y",
    "tool_choice": "y - y - y y p",
    "response_schema": "y - y - y y y",
    "response_modalities": "y - y p - y -",
    "extra_body": "y y y y y y y",
    "extra_headers": "y y y y y y -",
    "extra_query": "y y y y y - -",
    "cursor_chaining": "y y - - - - -",
}
_NOTES = {
    "openai_images": {
        "instructions": "put in front of the prompt",
        "response_modalities": "the first one chooses url or b64_json, for models that take response_format",
    },
    "bedrock": {"tool_choice": "none cannot be said"},
}


def _fields(column: int) -> dict[str, str]:
    return {name: _LEVELS[row.split()[column]] for name, row in _TABLE.items()}


CAPABILITIES: dict[str, AdapterCapabilities] = {
    name: AdapterCapabilities(ENDPOINTS[name], _fields(column), _NOTES.get(name, {}))  # type: ignore[arg-type]
    for column, name in enumerate(_COLUMNS)
}
