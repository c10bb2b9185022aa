"""About how many tokens a request is: four characters to a token, as in English prose and code.

No tokenizer is asked: most providers publish none, and the ones that do disagree. The figure is for warnings and
for choosing a model, not for billing.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from weft.canon import Message, RunSpec
from weft.wire.facts import facts_of

__all__ = ["estimate_tokens"]

CHARACTERS_PER_TOKEN = 4
TOOL_FIELD_CHARACTERS = 80  # a property of a tool's schema: name, type, a line of description


def estimate_tokens(messages: Sequence[Message], spec: RunSpec) -> int:
    """Estimate the input tokens of a call."""
    characters = 0
    for message in messages:
        characters += facts_of(message).characters
    for tool in spec.tools:
        properties = tool.input_schema.get("properties")
        fields = len(properties) if properties.__class__ is MappingProxyType else 1
        characters += len(tool.name) + len(tool.description) + TOOL_FIELD_CHARACTERS * fields
    if spec.instructions is not None:
        characters += len(spec.instructions.system or "") + len(spec.instructions.developer or "")
    return max(1, characters // CHARACTERS_PER_TOKEN)
