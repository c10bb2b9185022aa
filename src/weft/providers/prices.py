"""What an answer cost, from genai-prices' data: offline, dated, never refreshed behind anyone's back [K-10].

The extra `prices`. A provider or model that is not in the data has no price; that is no error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from weft.canon import Usage, thaw
from weft.errors import UsageError
from weft.providers.table import PROVIDERS

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = ["Rates", "Spent", "have_prices", "price_of", "rates_of", "spent_on"]

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


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls took: tokens read (of which so many from the provider's cache) and written, and US dollars.

    `cost` is None where the price of any of them is not known.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None

    def __add__(self, other: Spent) -> Spent:
        """Sum up two accounts."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Spent(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            cost,
        )


@dataclass(frozen=True, slots=True)
class Rates:
    """What a million tokens cost in US dollars; the first step where the price goes by the length of a request."""

    input_mtok: Decimal | None
    output_mtok: Decimal | None


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
    return None if name is None else _priced(name, model, _count(name, provider, model, usage, dialect), at)


def spent_on(provider: str, model: str, usage: Usage, *, at: datetime, dialect: str | None = None) -> Spent:
    """Give what a call took; without the extra, or where a provider has no price list, its counts alone."""
    name = _NAMES.get(provider, provider)
    if name is None or not have_prices():
        return Spent(usage.input_tokens or 0, 0, usage.output_tokens or 0)
    counted = _count(name, provider, model, usage, dialect)
    if counted is None:
        return Spent()
    given, cached, made = (getattr(counted, f"{kind}_tokens", None) for kind in ("input", "cache_read", "output"))
    return Spent(int(given or 0), int(cached or 0), int(made or 0), _priced(name, model, counted, at))


def rates_of(provider: str, model: str, *, at: datetime) -> Rates | None:
    """Give what a model costs on a day; None where no price is known."""
    name = _NAMES.get(provider, provider)
    if name is None or not have_prices():
        return None
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  # an extra, and slow to load

    try:
        _, found = get_snapshot().find_provider_model(model, None, name, None)
    except LookupError:
        return None
    prices = found.get_prices(at)
    rates: list[Any] = [getattr(price, "base", price) for price in (prices.input_mtok, prices.output_mtok)]
    return None if rates == [None, None] else Rates(*rates)


def _count(name: str, provider: str, model: str, usage: Usage, dialect: str | None) -> Any:
    spoken = dialect or (PROVIDERS[provider].dialect if provider in PROVIDERS else "openai_chat")
    return _counted(name, model, thaw(usage.provider_usage), spoken) or _plain(usage)


def _priced(name: str, model: str, counted: Any, at: datetime) -> Decimal | None:
    if counted is None:
        return None
    import genai_prices  # noqa: PLC0415  # an extra, and slow to load

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
