"""What every provider's face has in common: a request as far as it is understood, and the questions asked of it.

A face is how one provider looks from outside: where the key is, what it refuses and in which words, how its bodies
are dressed. Content is written by the dialects in `wire`; a face adds what only a real server would know (ids,
signatures, counts).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from weft.jsontext import dumps
from weft.sim.limits import Limiter, Limits
from weft.sim.refusal import RefusedError
from weft.sim.script import Script
from weft.sim.signing import Signer
from weft.sim.tokens import Counts, PromptCache, Segment

__all__ = ["CREATED", "Ask", "Book", "Face", "Json", "Made", "Payload", "at", "sse"]

Json = dict[str, Any]
CREATED = 1_760_000_000  # every answer is made at the same moment, so that the same request gives the same bytes
GATEWAY = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"  # noqa: E501 - one body


@dataclass(slots=True)
class Book:
    """What the simulator remembers between requests."""

    script: Script
    limiter: Limiter
    cache: PromptCache
    tries: Counter[str] = field(default_factory=Counter)
    stored: dict[str, list[Any]] = field(default_factory=dict)  # Responses: by id, the items up to and with the answer
    items: set[str] = field(default_factory=set)  # Responses: ids of stored items
    signers: dict[str, Signer] = field(default_factory=dict)

    def signer(self, family: str) -> Signer:
        """Give the signer of a family of providers."""
        if family not in self.signers:
            self.signers[family] = Signer(self.script.seed, family)
        return self.signers[family]


@dataclass(slots=True)
class Ask:
    """One request for an answer."""

    provider: str
    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: Json
    model: str
    stream: bool
    mark: str  # the digest of path and body: every id is made from it

    def id(self, prefix: str, n: int = 0, length: int = 24) -> str:
        """Make an id: always the same for the same request."""
        return prefix + hashlib.sha256(f"{self.mark}{prefix}{n}".encode()).hexdigest()[:length]


@dataclass(frozen=True, slots=True)
class Made:
    """What a body is dressed with."""

    counts: Counts
    finish: str
    stop_sequence: str | None = None
    redacted: bool = False


@dataclass(slots=True)
class Payload:
    """A whole response."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


class Face(ABC):
    """One provider's API. The methods here are those of a plain one; each provider says where it differs."""

    provider: ClassVar[str]
    dialect: ClassVar[str]
    family: ClassVar[str]  # whose signatures it takes
    call_prefix: ClassVar[str] = "call_"
    stop_path: ClassVar[tuple[str, ...]] = ("stop_sequences",)
    marked_cache: ClassVar[bool] = False  # caches only up to the caller's marks
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    usual: ClassVar[Mapping[int, str]]  # the usual words for a status

    # -- who is asking

    def key_of(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:  # noqa: ARG002 - Gemini's has it
        """Give the key in a request, empty if there is none."""
        return headers.get("authorization", "").removeprefix("Bearer").strip()

    @abstractmethod
    def no_key(self) -> RefusedError:
        """Say that a key is missing."""

    @abstractmethod
    def bad_key(self) -> RefusedError:
        """Say that a key is wrong."""

    @abstractmethod
    def no_model(self, ask: Ask) -> RefusedError:
        """Say that there is no such model."""

    # -- what is asked

    @abstractmethod
    def check(self, ask: Ask, book: Book) -> None:
        """Refuse what the real API refuses."""

    @abstractmethod
    def thinks(self, ask: Ask) -> bool:
        """Tell whether the request asks for reasoning."""

    @abstractmethod
    def forced(self, body: Json) -> str | None:
        """Name the tool that must be called, "*" for any of them."""

    def stops(self, body: Json) -> list[str]:
        """Give the texts at which the answer must stop."""
        value = at(body, *self.stop_path)
        return [value] if isinstance(value, str) else [text for text in value or () if isinstance(text, str)]

    @abstractmethod
    def segments(self, body: Json) -> Iterator[Segment]:
        """Give the prompt piece by piece, in the order in which it is cached."""

    # -- what is answered

    @abstractmethod
    def dress(self, body: Json, ask: Ask, made: Made, book: Book) -> None:
        """Add to a body what only a server knows."""

    def frames(self, frames: Iterator[bytes], ask: Ask) -> Iterator[bytes]:  # noqa: ARG002 - for those that change them
        """Give the frames of a stream as this provider sends them."""
        return frames

    @abstractmethod
    def headers(self, mark: str, limits: Limits) -> dict[str, str]:
        """Give the headers of every response."""

    @abstractmethod
    def error_body(self, refused: RefusedError, request_id: str) -> Json:
        """Write a refusal."""

    def refusal(self, refused: RefusedError, mark: str, ask: Ask | None = None) -> Payload:  # noqa: ARG002 - Gemini's
        """Write a refusal as a response. A gateway's error is HTML, as it is in the wild."""
        body, kind = b"", "application/json"
        if refused.body is not None:
            body, kind = refused.body.encode(), "text/plain; charset=utf-8"
        elif refused.status == 502 and not refused.message:
            body, kind = GATEWAY, "text/html; charset=UTF-8"
        else:
            refused.message = refused.message or self.usual.get(refused.status) or self.usual[500]
            body = dumps(self.error_body(refused, f"req_{mark[:24]}"))
        headers = {**self.headers(mark, Limits()), **refused.headers, **_retrying(refused)}
        return Payload(refused.status, body, headers, kind)

    def broken(self, refused: RefusedError, ask: Ask) -> bytes:
        """Write an error inside a stream that has begun."""
        refused.message = refused.message or self.usual.get(refused.status) or self.usual[500]
        return sse(self.error_body(refused, ask.id("req_")))

    @abstractmethod
    def model_list(self, names: tuple[str, ...]) -> Json:
        """Write the list of models."""

    @abstractmethod
    def model_card(self, name: str) -> Json:
        """Write what is known of one model."""


def at(body: Any, *path: str) -> Any:
    """Look up a value along a path; None where there is none."""
    for key in path:
        body = body.get(key) if isinstance(body, Mapping) else None
    return body


def sse(data: Json, event: str | None = None) -> bytes:
    """Write one server-sent event."""
    return (f"event: {event}\n".encode() if event else b"") + b"data: " + dumps(data) + b"\n\n"


def _retrying(refused: RefusedError) -> dict[str, str]:
    if refused.retry_after is None:
        return {}
    headers = {"retry-after": f"{refused.retry_after:g}"}
    if refused.retry_after % 1:  # seconds are whole by the standard; those who wait for less say it so
        headers["retry-after-ms"] = f"{refused.retry_after * 1000:g}"
    return headers
