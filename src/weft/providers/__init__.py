"""Who can be called: addresses, dialects, keys, quirks, names and prices. Mostly a table.

The front door of the room. Nothing here opens a socket; who asks is `client`.
"""

from __future__ import annotations

from weft.providers.adapter import OVER_HTTP, ProviderAdapter, adjust, provider
from weft.providers.custom import merged_table
from weft.providers.endpoint import (
    Endpoint,
    auth_header,
    chat_endpoint,
    located,
    models_endpoint,
    needs_key,
    said_whether_streamed,
)
from weft.providers.keyfile import KeyFile
from weft.providers.keys import FoundKey, KeyPlaces, find_key, found_keys, resolve_key
from weft.providers.models import Model, newest_first, read_models, write_model, write_models
from weft.providers.pointers import (
    PROVIDER_TOPIC,
    PTRS_TOPIC,
    SIZES,
    Pointer,
    is_disabled,
    latest_frames,
    pointer_table,
    read_reference,
    with_pointer,
    without_pointer,
)
from weft.providers.prices import Rates, Spent, have_prices, price_of, rates_of, spent_on
from weft.providers.registry import Registry, Target
from weft.providers.secret import MASK, Redactor, Secret, fingerprint
from weft.providers.sigv4 import AwsKey, sign
from weft.providers.table import PROVIDERS, Provider, Quirks

__all__ = [
    "MASK",
    "OVER_HTTP",
    "PROVIDERS",
    "PROVIDER_TOPIC",
    "PTRS_TOPIC",
    "SIZES",
    "AwsKey",
    "Endpoint",
    "FoundKey",
    "KeyFile",
    "KeyPlaces",
    "Model",
    "Pointer",
    "Provider",
    "ProviderAdapter",
    "Quirks",
    "Rates",
    "Redactor",
    "Registry",
    "Secret",
    "Spent",
    "Target",
    "adjust",
    "auth_header",
    "chat_endpoint",
    "find_key",
    "fingerprint",
    "found_keys",
    "have_prices",
    "is_disabled",
    "latest_frames",
    "located",
    "merged_table",
    "models_endpoint",
    "needs_key",
    "newest_first",
    "pointer_table",
    "price_of",
    "provider",
    "rates_of",
    "read_models",
    "read_reference",
    "resolve_key",
    "said_whether_streamed",
    "sign",
    "spent_on",
    "with_pointer",
    "without_pointer",
    "write_model",
    "write_models",
]
