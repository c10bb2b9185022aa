"""Who can be called: one row each. A provider that speaks a known dialect is a row here, never a copy of a codec.

What a provider wants otherwise than its dialect says is a `Quirks` beside it: a setting by another name, one it
refuses, a role it does not know, the form of its call ids. Sources are the providers' own API references.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from weft.wire import IdRule

__all__ = ["PROVIDERS", "Provider", "Quirks"]


@dataclass(frozen=True, slots=True)
class Quirks:
    """How a provider differs from the dialect it speaks."""

    renames: tuple[tuple[str, str], ...] = ()  # settings under another name
    refuses: tuple[str, ...] = ()  # settings it answers 400 to
    roles: tuple[tuple[str, str], ...] = ()  # roles it does not know, and the ones that stand for them
    words: tuple[tuple[str, str, str], ...] = ()  # a setting, its usual word, and theirs
    call_ids: IdRule | None = None  # which tool call ids it takes
    reasoning_field: str | None = None  # where it takes its own reasoning back


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider is, what it speaks, and which variables hold its key and address."""

    name: str
    dialect: str
    base_url: str
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    quirks: Quirks = Quirks()
    account: str = ""  # whose stored key it uses, if not one of its own
    tokens: tuple[str, ...] = ()  # those of `keys` that hold a token, which goes into another header than a key
    auth: str = ""  # the header of the key, if not the dialect's own; "bearer" for Authorization
    path: str = ""  # where calls go, if not where the dialect says; {model} stands for the model
    models_path: str = ""
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    from_environment: tuple[tuple[str, str, str], ...] = ()  # "header", "query" or "region", its name, the variable


# The chat completions family knows `system`; `developer` is OpenAI's own.
_FAMILY = (("developer", "system"),)
_OPENAI_ACCOUNT = (
    ("header", "openai-organization", "OPENAI_ORG_ID"),
    ("header", "openai-project", "OPENAI_PROJECT_ID"),
)
_COMPLETION = (("max_tokens", "max_completion_tokens"),)

_ROWS = (
    Provider(
        "anthropic",
        "anthropic",
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        ("ANTHROPIC_BASE_URL",),
        tokens=("ANTHROPIC_AUTH_TOKEN",),
    ),
    Provider(
        "openai",
        "openai_chat",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL",),
        Quirks(renames=_COMPLETION),  # reasoning models refuse max_tokens; all take the newer name
        from_environment=_OPENAI_ACCOUNT,
    ),
    Provider(
        "openai-responses",
        "openai_responses",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL",),
        account="openai",
        from_environment=_OPENAI_ACCOUNT,
    ),
    Provider(
        "gemini",
        "gemini",
        "https://generativelanguage.googleapis.com",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("GOOGLE_GEMINI_BASE_URL",),
    ),
    Provider("cohere", "cohere", "https://api.cohere.com", ("COHERE_API_KEY", "CO_API_KEY"), ("CO_API_URL",)),
    Provider(
        "bedrock",
        "bedrock",
        "https://bedrock-runtime.{region}.amazonaws.com",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        ("AWS_BEDROCK_BASE_URL",),
        from_environment=(("region", "region", "AWS_REGION"), ("region", "region", "AWS_DEFAULT_REGION")),
    ),
    Provider("ollama", "ollama", "http://localhost:11434", (), ("OLLAMA_HOST",)),
    Provider(
        "azure",
        "openai_chat",
        "",
        ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
        ("AZURE_OPENAI_ENDPOINT",),
        Quirks(renames=_COMPLETION),
        tokens=("AZURE_OPENAI_AD_TOKEN",),
        auth="api-key",
        path="/openai/deployments/{model}/chat/completions",
        models_path="/openai/models",
        query=(("api-version", "2024-10-21"),),
        from_environment=(("query", "api-version", "OPENAI_API_VERSION"),),
    ),
    Provider(
        "cerebras",
        "openai_chat",
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        (),
        Quirks(renames=_COMPLETION, roles=_FAMILY),
    ),
    Provider(
        "groq",
        "openai_chat",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        (),
        Quirks(renames=_COMPLETION, roles=_FAMILY, refuses=("logprobs", "top_logprobs", "logit_bias")),
    ),
    Provider(
        "mistral",
        "openai_chat",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        (),
        Quirks(
            renames=(("seed", "random_seed"),),
            roles=_FAMILY,
            words=(("tool_choice", "required", "any"),),
            refuses=("stream_options", "logprobs", "top_logprobs", "logit_bias", "user"),
            call_ids=IdRule(re.compile(r"[a-zA-Z0-9]{9}"), 9),
        ),
    ),
    Provider(
        "openrouter",
        "openai_chat",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        (),
        Quirks(roles=_FAMILY, reasoning_field="reasoning"),
    ),
    Provider("xai", "openai_chat", "https://api.x.ai/v1", ("XAI_API_KEY",), (), Quirks(roles=_FAMILY)),
    Provider(
        "deepseek",
        "openai_chat",
        "https://api.deepseek.com",
        ("DEEPSEEK_API_KEY",),
        (),
        Quirks(roles=_FAMILY, refuses=("seed",), reasoning_field="reasoning_content"),
    ),
    Provider(
        "together", "openai_chat", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), (), Quirks(roles=_FAMILY)
    ),
    Provider(
        "fireworks",
        "openai_chat",
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY",),
        (),
        Quirks(roles=_FAMILY),
    ),
    Provider(
        "perplexity",
        "openai_chat",
        "https://api.perplexity.ai",
        ("PERPLEXITY_API_KEY",),
        (),
        Quirks(roles=_FAMILY, refuses=("tools", "tool_choice", "seed")),
    ),
    Provider(
        "huggingface", "openai_chat", "https://router.huggingface.co/v1", ("HF_TOKEN",), (), Quirks(roles=_FAMILY)
    ),
    Provider(
        "nvidia", "openai_chat", "https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",), (), Quirks(roles=_FAMILY)
    ),
    Provider("vllm", "openai_chat", "http://localhost:8000/v1", ("VLLM_API_KEY",), (), Quirks(roles=_FAMILY)),
    Provider("ollama-v1", "openai_chat", "http://localhost:11434/v1", (), (), Quirks(roles=_FAMILY)),
)

PROVIDERS: dict[str, Provider] = {row.name: row for row in _ROWS}
"""Every provider by its name."""
