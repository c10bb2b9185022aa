"""About how many tokens a request is: four characters to a token, as in English prose and code.

No tokenizer is asked: most providers publish none, and the ones that do disagree. The figure is for warnings and
for choosing a model, not for billing.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from weft.canon import Message, RunSpec
from weft.jsontext import dumps

__all__ = ["estimate_tokens"]

CHARACTERS_PER_TOKEN = 4
MESSAGE_CHARACTERS = 16  # role and separators, some four tokens
FIELD_CHARACTERS = 16  # an argument's name, quotes and a short value
TOOL_FIELD_CHARACTERS = 80  # a property of a tool's schema: name, type, a line of description
MEDIA_CHARACTERS = 4_000  # a picture of usual size is billed as about a thousand tokens


def estimate_tokens(messages: Sequence[Message], spec: RunSpec) -> int:
    """Estimate the input tokens of a call."""
    characters = MESSAGE_CHARACTERS * len(messages)
    for message in messages:
        for part in message.parts:
            if part.text is not None:
                characters += len(part.text)
            elif part.tool_args is not None:
                characters += FIELD_CHARACTERS * len(part.tool_args)
                for value in part.tool_args.values():
                    if value.__class__ is str:
                        characters += len(value)
            elif part.tool_output is not None:
                output = part.tool_output
                characters += len(output) if output.__class__ is str else _size(output)
            elif part.blob is not None:
                characters += MEDIA_CHARACTERS
    for tool in spec.tools:
        properties = tool.input_schema.get("properties")
        fields = len(properties) if properties.__class__ is MappingProxyType else 1
        characters += len(tool.name) + len(tool.description) + TOOL_FIELD_CHARACTERS * fields
    if spec.instructions is not None:
        characters += len(spec.instructions.system or "") + len(spec.instructions.developer or "")
    return max(1, characters // CHARACTERS_PER_TOKEN)


def _size(output: Any) -> int:
    try:
        return len(dumps(output))
    except (TypeError, ValueError):  # it has no JSON form; the dialect has said so, if it needed one
        return MEDIA_CHARACTERS
