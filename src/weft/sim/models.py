"""The models the simulator says it has. Any other name works too, unless a script lists its own."""

from __future__ import annotations

__all__ = ["MISSING", "MODELS"]

MISSING = "missing-"  # a model whose name begins so is never found

MODELS: dict[str, tuple[str, ...]] = {
    "openai": ("gpt-5.2", "gpt-5-mini", "o4-mini"),
    "anthropic": ("claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"),
    "gemini": ("gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-2.5-flash"),
    "bedrock": ("anthropic.claude-sonnet-4-6-v1:0", "amazon.nova-pro-v1:0"),
    "cohere": ("command-a-03-2025", "command-a-reasoning-08-2025"),
}
