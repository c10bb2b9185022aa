"""Gemini's keys are spelled two ways: `functionCall` and `function_call`. Both are read, everywhere.

What is written back goes as it came, because the block it came in is kept. What is written anew is spelled as the
entry point wants it: camelCase for REST, snake_case for the SDK's arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from weft.wire.codec import Json

__all__ = ["CAMEL", "SNAKE", "find", "get", "snaked"]

_KNOWN = """
    thoughtSignature functionCall functionResponse inlineData fileData executableCode codeExecutionResult toolCall
    toolResponse videoMetadata mediaResolution partMetadata mimeType fileUri displayName willContinue partialArgs
    jsonPath stringValue numberValue boolValue nullValue toolType startOffset endOffset
    systemInstruction generationConfig toolConfig functionDeclarations parametersJsonSchema
    maxOutputTokens topP responseModalities responseSchema responseJsonSchema responseMimeType httpOptions
    promptFeedback blockReason usageMetadata modelVersion responseId finishReason promptTokenCount
    candidatesTokenCount totalTokenCount thoughtsTokenCount toolUsePromptTokenCount
    text thought name args id response data tools temperature seed candidates content parts headers
"""
SNAKE = {name: re.sub("([A-Z])", r"_\1", name).lower() for name in _KNOWN.split()}
"""Every key this dialect asks for, and its other spelling."""
CAMEL = {snake: name for name, snake in SNAKE.items()}

_HOLDERS = frozenset(_KNOWN.split()[1:9]) | {"videoMetadata", "mediaResolution"}  # whose keys are Gemini's too


def get(block: Mapping[str, Any], name: str) -> Any:
    """Give what a block says under a name, in whichever spelling; null says nothing."""
    value = block.get(name)
    return block.get(SNAKE[name]) if value is None else value


def find(block: Mapping[str, Any], name: str) -> str | None:
    """Give the spelling under which a block says something, or None."""
    if block.get(name) is not None:
        return name
    snake = SNAKE[name]
    return snake if block.get(snake) is not None else None


def snaked(block: Mapping[str, Any]) -> Json:
    """Spell a part in snake_case: its own keys and those of what it holds, never those inside arguments."""
    return {
        SNAKE.get(key, key): {SNAKE.get(inner, inner): item for inner, item in value.items()}
        if value.__class__ is dict and key in _HOLDERS
        else value
        for key, value in block.items()
    }
