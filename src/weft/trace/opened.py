"""A record opened: its request as messages and a RunSpec, its response as a reply [R-13].

Through the wire formats' own readers, so what is opened can be written again in its dialect, equal as JSON, or planned
for any other. Which dialect a record is in, its path and its provider tell first, then its body.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import Context, Message, Reply, RunSpec
from weft.errors import UsageError, WeftError, WireError
from weft.jsontext import dumps
from weft.wire import ODDITIES, Decoded, Dialect, dialect, dialect_of, recorded_reply

__all__ = ["Opened", "dialect_of", "error_of", "open_record", "path_model"]

_MODEL_IN_PATH = re.compile(r"/models?/([^/:?]+)(?::\w+|/converse(?:-stream)?)")


@dataclass(frozen=True)
class Opened:
    """One record in canon's words. The response is read when it is asked for."""

    record: Mapping[str, Any]
    dialect: Dialect
    request: Decoded
    blobs: BlobStore

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that were sent."""
        return self.request.messages

    @property
    def spec(self) -> RunSpec:
        """Everything else that was sent."""
        return self.request.spec

    @property
    def context(self) -> Context:
        """The messages as a Context."""
        return Context(self.messages, blob_store=self.blobs)

    @cached_property
    def reply(self) -> Reply | None:
        """What came back, as far as it came; None if it was nothing, or nothing a model said."""
        response = self.record.get("response")
        if not isinstance(response, Mapping) or "raw" in response:
            return None
        try:
            reply = recorded_reply(response, self.dialect, self.blobs, provider=_provider(self.record, self.dialect))
        except (WeftError, *ODDITIES):
            return None
        return reply if reply is not None and reply.messages else None


def open_record(record: Mapping[str, Any], *, speaks: str | None = None) -> Opened:
    """Open a record; UsageError if its request is no conversation, WireError if it does not fit its dialect."""
    body = record.get("request")
    if not isinstance(body, Mapping):
        raise UsageError("the request is no JSON object")
    name = speaks or dialect_of(record)
    if name is None:
        raise UsageError("the request is no conversation of a known dialect")
    spoken, blobs = dialect(name), InMemoryBlobStore()
    try:
        decoded = spoken.decode_request(body, blobs, provider=_provider(record, spoken))
    except WeftError:
        raise
    except ODDITIES as error:
        raise WireError(f"{type(error).__name__}: {error}", where="request") from error
    if not decoded.spec.model and (model := path_model(record)):
        decoded = replace(decoded, spec=replace(decoded.spec, model=model))
    return Opened(record, spoken, decoded, blobs)


def path_model(record: Mapping[str, Any]) -> str:
    """Give the model in a record's path, as Gemini and Bedrock have it [C-35]."""
    path = record.get("path")
    found = _MODEL_IN_PATH.search(path) if isinstance(path, str) else None
    return found[1] if found else ""


def error_of(record: Mapping[str, Any]) -> str | None:
    """Say what went wrong: the transport's error, or the one in the response's body."""
    if isinstance(error := record.get("error"), str) and error:
        return error
    response = record.get("response")
    if isinstance(response, list) and response and isinstance(response[0], Mapping):
        response = response[0]  # Gemini's errors come in a list
    match response:
        case {"error": {"message": str(text)}} | {"error": str(text)} | {"type": "error", "message": str(text)}:
            return text
        case {"error": Mapping() as error}:
            return dumps(error).decode()
    status = record.get("status")
    if isinstance(status, int) and status >= 400:
        return f"status {status}"
    if record.get("state") == "incomplete":
        return f"incomplete: {record.get('reason') or 'error'}"
    return None


def _provider(record: Mapping[str, Any], spoken: Dialect) -> str | None:
    """Say who spoke, where it was not the dialect's own provider."""
    name = record.get("provider")
    return name if isinstance(name, str) and name and name != spoken.provider else None
