"""What a tool server sees of the environment: a handful of harmless variables and what its owner listed [M-16].

`${NAME}` and `${NAME:-default}` in a server's settings are filled in here, as other MCP clients do; never with the
key of a model provider, which no tool needs from weft.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from weft.errors import UsageError

__all__ = ["BASE_VARIABLES", "PROVIDER_KEYS", "child_environment", "fill_in"]

# Enough to find programs, a home and a language; nothing that opens a door.
BASE_VARIABLES = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE",
    "SYSTEMROOT", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "TEMP", "TMP",
)  # fmt: skip

PROVIDER_KEYS = frozenset({
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_OPENAI_AD_TOKEN",
    "AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "CODEX_API_KEY", "COHERE_API_KEY", "CO_API_KEY", "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY", "HF_TOKEN", "MISTRAL_API_KEY",
    "NVIDIA_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "PERPLEXITY_API_KEY",
    "TOGETHER_API_KEY", "VLLM_API_KEY", "XAI_API_KEY",
})  # fmt: skip

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def child_environment(
    environ: Mapping[str, str],
    *,
    given: Mapping[str, str],
    passed: Iterable[str] = (),
    keys: frozenset[str] = PROVIDER_KEYS,
    where: str = "server",
) -> dict[str, str]:
    """Build a child's whole environment: the base, the variables `passed` by name, the values `given`."""
    listed = tuple(passed)
    for name in listed:
        _refuse_key(name, keys, where)
    # A value that begins like an exported shell function has been a way to run code.
    child = {
        name: environ[name]
        for name in (*BASE_VARIABLES, *listed)
        if name in environ and not environ[name].startswith("()")
    }
    child |= {name: fill_in(value, environ, keys=keys, where=f"{where}.env.{name}") for name, value in given.items()}
    return child


def fill_in(text: str, environ: Mapping[str, str], *, keys: frozenset[str] = PROVIDER_KEYS, where: str) -> str:
    """Replace `${NAME}` and `${NAME:-default}` by what the environment says."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        _refuse_key(name, keys, where)
        found = environ.get(name, default)
        if found is None:
            raise UsageError(
                f"{where}: the environment has no {name}\n  give it a value, or write ${{{name}:-default}}"
            )
        return found

    return _REFERENCE.sub(value, text)


def _refuse_key(name: str, keys: frozenset[str], where: str) -> None:
    if name in keys:
        raise UsageError(f"{where}: {name} is a model provider's key and is not passed to tool servers")
