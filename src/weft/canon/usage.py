"""What a call cost in tokens, where a conversation stands on the far side, and what tools look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.canon.freezing import BuiltAnew, empty, freeze_mapping
from weft.closed import closed

__all__ = ["Cursor", "ToolSpecification", "Usage"]


@closed
@dataclass(frozen=True, slots=True)
class ToolSpecification(BuiltAnew):
    """A tool a model may call: a name, what it does, and the JSON Schema of its input."""

    name: str
    description: str
    input_schema: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Freeze the schema."""
        schema = freeze_mapping(self.input_schema, "ToolSpecification.input_schema")
        object.__setattr__(self, "input_schema", schema)


@closed
@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the provider's own memory of the conversation stands."""

    last_response_id: str | None = None
    conversation_id: str | None = None
    session_id: str | None = None


@closed
@dataclass(frozen=True, slots=True)
class Usage(BuiltAnew):
    """The tokens of one call; `provider_usage` is the provider's whole account of it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    provider_usage: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        """Freeze the provider's account."""
        object.__setattr__(self, "provider_usage", freeze_mapping(self.provider_usage, "Usage.provider_usage"))
