"""What an answer cost, from genai-prices' data: offline, dated, never refreshed behind anyone's back [K-10].

The extra `prices`. A provider or model that is not in the data has no price; that is no error.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

from weft.canon import Usage, thaw
from weft.errors import UsageError
from weft.providers.table import PROVIDERS

__all__ = ["have_prices", "price_of"]

# Where genai-prices has another name for the same provider.
_NAMES = {
    "gemini": "google",
    "bedrock": "aws",
    "xai": "x-ai",
    "openai-responses": "openai",
    "ollama": None,  # one's own machine has no price list
    "ollama-v1": None,
    "vllm": None,
}
_FLAVORS = {
    "openai_chat": ("chat", "default"),
    "openai_responses": ("responses", "default"),
    "openai_images": ("images",),
}


def have_prices() -> bool:
    """Tell whether the extra is installed."""
    return find_spec("genai_prices") is not None


def price_of(provider: str, model: str, usage: Usage, *, at: datetime, dialect: str | None = None) -> Decimal | None:
    """Give the price of a call in US dollars, at the rates of its day; None where no price is known.

    Cached, cache-writing and reasoning tokens are told apart by the provider's own account of the usage; without one
    the plain counts are taken.
    """
    if not have_prices():
        raise UsageError("prices need an extra\n  install it: pip install 'weft[prices]'")
    name = _NAMES.get(provider, provider)
    if name is None:
        return None
    import genai_prices  # noqa: PLC0415  # an extra, and slow to load

    spoken = dialect or (PROVIDERS[provider].dialect if provider in PROVIDERS else "openai_chat")
    counted = _counted(name, model, thaw(usage.provider_usage), spoken) or _plain(usage)
    if counted is None:
        return None
    try:
        priced = genai_prices.calc_price(counted, model, provider_id=name, genai_request_timestamp=at)
    except LookupError:  # not in the data
        return None
    total: Decimal = priced.total_price
    return total


def _counted(name: str, model: str, account: Mapping[str, Any], dialect: str) -> Any:
    """Read the provider's own account, in whichever of its forms fits; None if none does."""
    if not account:
        return None
    from genai_prices import extract_usage  # noqa: PLC0415

    answer = (
        {"usageMetadata": account, "modelVersion": model} if dialect == "gemini" else {"usage": account, "model": model}
    )
    for flavor in _FLAVORS.get(dialect, ("default",)):
        try:
            return extract_usage(answer, provider_id=name, api_flavor=flavor).usage
        except (LookupError, ValueError, TypeError):
            continue
    return None


def _plain(usage: Usage) -> Any:
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    from genai_prices import Usage as Counted  # noqa: PLC0415

    return Counted(input_tokens=usage.input_tokens or 0, output_tokens=usage.output_tokens or 0)
