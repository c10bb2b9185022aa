"""Lists of models that a translating proxy gives: the one that answers, as the client's library reads it.

Whatever model a client names, one and the same answers; so that one is the list, and asked about any other by name the
proxy says that it is there. Nobody else is asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from weft.errors import WeftError
from weft.providers import provider, write_model, write_models
from weft.proxy.routes import Headers, guess_provider

__all__ = ["listed_models", "spoken_to"]

# Where models are listed, after what a gateway puts before it: Ollama's, Bedrock's, and everyone else's.
_LISTS = re.compile(r"/(?:api/tags|(?P<bedrock>foundation-)?models)(?:/(?P<model>.+))?$")
_PREFIX = re.compile(rb"/(?P<name>[a-z0-9][a-z0-9-]*)(?=/)")


def listed_models(target: bytes, headers: Headers, models: Sequence[str]) -> dict[str, Any] | None:
    """Answer a request for a list of models, or for one of them; None if it is no such request."""
    path = target.partition(b"?")[0].decode("utf-8", "replace")
    asked = _LISTS.search(path)
    if asked is None:
        return None
    dialect = "bedrock" if asked["bedrock"] else spoken_to(target, headers) or "openai_chat"
    one = asked["model"]
    return write_models(dialect, models) if one is None else write_model(dialect, unquote(one))


def spoken_to(target: bytes, headers: Headers) -> str | None:
    """Tell which dialect a client speaks whose path alone does not: by a provider's name before it, else by a guess."""
    named = _PREFIX.match(target)
    for name in (named["name"].decode() if named else None, guess_provider(target, headers)):
        if name is not None:
            try:
                return provider(name).dialect
            except WeftError:
                continue
    return None
