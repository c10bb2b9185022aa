"""Who can be called: addresses, dialects, keys and quirks. Mostly a table."""

from __future__ import annotations

from weft.providers.adapter import ProviderAdapter, provider
from weft.providers.table import PROVIDERS, Provider, Quirks

__all__ = ["PROVIDERS", "Provider", "ProviderAdapter", "Quirks", "provider"]
