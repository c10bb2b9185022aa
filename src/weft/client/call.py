"""Call: one question to one provider, as it will be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.blobs import BlobStore
from weft.providers import (
    Endpoint,
    Provider,
    Redactor,
    Secret,
    Target,
    auth_header,
    chat_endpoint,
    said_whether_streamed,
)
from weft.wire import Dialect, dialect

__all__ = ["Call", "call_to"]


@dataclass(frozen=True, slots=True)
class Call:
    """A provider, a model, and a request body in the provider's dialect.

    `speaks` is the dialect's name where it is not the provider's usual one. Media in the answer go to `blobs`.
    """

    provider: Provider
    model: str
    body: Mapping[str, Any] = field(repr=False)
    key: Secret | None = None
    speaks: str = ""
    blobs: BlobStore | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def dialect(self) -> Dialect:
        """The dialect it is spoken in."""
        return dialect(self.speaks or self.provider.dialect)

    @property
    def redact(self) -> Redactor:
        """What takes this call's key out of a text."""
        return Redactor([self.key])

    def endpoint(self, *, stream: bool) -> Endpoint:
        """Where it goes."""
        return chat_endpoint(self.provider, self.dialect.name, self.model, stream=stream)

    def written(self, *, stream: bool) -> dict[str, Any]:
        """The body as it will be sent: with its model, and its word on streaming, where the dialect has them there."""
        name = self.dialect.name
        body = said_whether_streamed(self.provider, name, self.body, stream=stream)
        if name not in ("gemini", "bedrock"):  # which have it in the address
            body.setdefault("model", self.model)
        else:
            body.pop("model", None)
            body.pop("modelId", None)
        return body

    def auth(self) -> tuple[str, str]:
        """The header that the key goes into, and what stands before it."""
        return auth_header(self.provider, is_token=self.key is not None and self.key.is_token)


def call_to(
    target: Target,
    body: Mapping[str, Any],
    *,
    blobs: BlobStore | None = None,
    speaks: str = "",
    headers: Mapping[str, str] | None = None,
) -> Call:
    """Make the call of a target that a Registry gave."""
    return Call(target.provider, target.model, body, target.key, speaks, blobs, headers or {})
