"""What a call cost in tokens, where a conversation stands on the far side, and what tools look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from weft.canon.freezing import empty, freeze_mapping, thaw
from weft.jsontext import dumps

__all__ = ["Cursor", "ToolSpecification", "Usage"]


class _Remembers:
    """A place, outside the fields, for the JSON text of a schema."""

    __slots__ = ("_schema_text",)
    _schema_text: bytes | None


@dataclass(frozen=True, slots=True)
class ToolSpecification(_Remembers):
    """A tool a model may call: a name, what it does, and the JSON Schema of its input."""

    name: str
    description: str
    input_schema: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Freeze the schema."""
        schema = freeze_mapping(self.input_schema, "ToolSpecification.input_schema")
        object.__setattr__(self, "input_schema", schema)

    def plain_schema(self) -> Any:
        """Give the schema as plain containers of the caller's own.

        Every request carries every tool, so the schema's text is kept: reading it is twice as fast as copying the
        frozen value. A schema that does not come back from JSON exactly is copied.
        """
        try:
            text = self._schema_text
        except AttributeError:
            text = _exact_text(self.input_schema)
            object.__setattr__(self, "_schema_text", text)
        return thaw(self.input_schema) if text is None else orjson.loads(text)


def _exact_text(schema: Mapping[str, Any]) -> bytes | None:
    try:
        text = dumps(schema)
        return text if orjson.loads(text) == thaw(schema) else None
    except (ValueError, TypeError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the provider's own memory of the conversation stands."""

    last_response_id: str | None = None
    conversation_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call; `provider_usage` is the provider's whole account of it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    provider_usage: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        """Freeze the provider's account."""
        object.__setattr__(self, "provider_usage", freeze_mapping(self.provider_usage, "Usage.provider_usage"))
