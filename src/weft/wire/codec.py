"""What every dialect has in common: the shape of a codec, what goes in and comes out, and how it may be asked.

A dialect is a folder with `request.py`, `response.py` and `stream.py`, and the same six names in each. It knows
one wire format and nothing of who speaks it; it never fetches, saves, logs or sleeps. `Policy` is how the entry
points differ that share a codec: a joiner here, a default there, never a second encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, Protocol

from weft.blobs import BlobStore
from weft.canon import Event, ExcludedItem, Message, Reply, RunSpec

__all__ = [
    "ADAPTER",
    "CROSSING",
    "FAITHFUL",
    "STEP",
    "TURN",
    "Decoded",
    "Dialect",
    "Encoded",
    "Json",
    "Policy",
    "StreamDecoder",
    "StreamEncoder",
    "bare_spec",
]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Policy:
    """How an entry point wants a dialect spoken. The defaults say back exactly what was heard."""

    name: str = "faithful"
    joiner: str | None = None  # puts system texts together; None keeps them apart, as blocks
    merge: bool = False  # neighbours that share a wire role become one message
    results_first: bool = False  # inside a merged user message, tool results come before the rest
    default_max_tokens: int | None = None  # where the provider insists on a number and the spec gives none
    unsigned_thinking: Literal["send", "drop"] = "send"  # reasoning its provider would want signed
    foreign_thinking: Literal["drop", "text"] = "drop"  # reasoning that another provider produced
    close_schemas: bool = False  # object nodes of a response schema get additionalProperties: false
    sdk_arguments: bool = False  # headers and query ride in the request, as the provider's SDK takes them
    casing: Literal["camel", "snake"] = "camel"  # of Gemini's keys
    text_documents: Literal["refuse", "inline", "send"] = "send"  # text files for providers without a place for them
    reasoning_field: str | None = None  # where an OpenAI-compatible server takes reasoning back
    typed: bool = False  # with the fields that OpenAI's published types require, though its Responses API does not
    raw_bytes: bool = False  # Bedrock's media as bytes, as boto3 takes them, not as base64
    text_joiner: str | None = None  # puts an assistant's texts together; None keeps them apart, as blocks
    texts_first: bool = False  # one string of all texts; beside media, texts come first; results apart (threads.md, 15)
    tidy: bool = False  # what the provider would refuse is left out or completed, not said back as it was
    missing_ids: Literal["lose", "empty", "generate"] = "lose"  # of tool calls and results, where the wire needs them
    result_texts: bool = False  # a tool's output given as blocks is sent as their texts, not as JSON
    plain_text: bool = False  # Anthropic's messages of exactly one text as a string, not as a block
    bare_base64: bool = False  # OpenAI's file data as base64 alone, not as a data URL


FAITHFUL = Policy()
"""Same dialect in and out: what was read is written back as it was."""

ADAPTER = Policy(
    name="adapter",
    joiner="\n\n",
    merge=True,
    results_first=True,
    default_max_tokens=4096,
    close_schemas=True,
    sdk_arguments=True,
    casing="snake",
    raw_bytes=True,
    text_joiner=" ",
    tidy=True,
    bare_base64=True,
)
"""plan() and ingest() (model.md, section 8 on)."""

CROSSING = replace(ADAPTER, typed=True, bare_base64=False)
"""A request taken from one dialect to another: as an adapter plans it, and in full, as published types have it."""

STEP = Policy(
    name="step",
    joiner="\n\n",
    merge=True,
    results_first=True,
    default_max_tokens=8192,
    unsigned_thinking="drop",
    missing_ids="empty",
    result_texts=True,
    bare_base64=True,
    plain_text=True,
)
"""The step codecs (message-codecs.md)."""

TURN = Policy(
    name="turn",
    joiner="\n\n----\n\n",
    default_max_tokens=8192,
    text_documents="refuse",
    text_joiner="",
    texts_first=True,
    missing_ids="generate",
    result_texts=True,
)
"""prepare_request (threads.md, section 15)."""


@dataclass(slots=True)
class Encoded:
    """A body, and the account of what is not in it as it was given."""

    body: Json = field(default_factory=dict)
    losses: list[ExcludedItem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    roundtrip: list[str] = field(default_factory=list)  # places whose provider block went back untouched

    def lose(self, place: str, reason: str) -> None:
        """Note something that could not be said."""
        self.losses.append(ExcludedItem(place, reason))

    def lose_part(self, m: int, p: int, reason: str) -> None:
        """Note a part that could not be said."""
        self.losses.append(ExcludedItem(f"context.messages[{m}].parts[{p}]", reason))

    def returned(self, m: int, p: int) -> None:
        """Note a part whose provider block went back untouched."""
        self.roundtrip.append(f"context.messages[{m}].parts[{p}]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A request as canon: the conversation, and everything else in the spec."""

    messages: tuple[Message, ...]
    spec: RunSpec


@cache
def bare_spec(provider: str, endpoint: str) -> RunSpec:
    """Give the spec of a request that says nothing but its messages; files of agents are read as such by the line."""
    return RunSpec(provider, endpoint, "")


class StreamDecoder(Protocol):
    """Frames in, events out. Cut anywhere, it keeps what arrived."""

    def feed(self, frame: Any) -> list[Event]:
        """Take one frame (of a framing parser, or already parsed); give the events it tells."""
        ...

    def close(self) -> list[Event]:
        """Say that nothing more comes; give the last events, `stream.end` the very last."""
        ...


class StreamEncoder(Protocol):
    """Events in, bytes of the dialect's stream out."""

    def feed(self, event: Event) -> bytes:
        """Take one event; give the bytes that tell it, or none."""
        ...

    def close(self) -> bytes:
        """Give what ends the stream."""
        ...


class RequestEncoder(Protocol):
    """The signature of every `encode_request`."""

    def __call__(
        self, messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None = None, policy: Policy = FAITHFUL
    ) -> Encoded: ...


class RequestDecoder(Protocol):
    """The signature of every `decode_request`; `provider` is who speaks, where it is not the dialect's own."""

    def __call__(self, body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Decoded: ...


class ResponseEncoder(Protocol):
    """The signature of every `encode_response`."""

    def __call__(self, reply: Reply, blobs: BlobStore | None = None, policy: Policy = FAITHFUL) -> Encoded: ...


class ResponseDecoder(Protocol):
    """The signature of every `decode_response`."""

    def __call__(self, body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """One wire format with its six verbs."""

    name: str
    provider: str  # who speaks it first; the others are rows in `providers`
    endpoint: str
    framing: str  # of its streams
    encode_request: RequestEncoder
    decode_request: RequestDecoder
    encode_response: ResponseEncoder
    decode_response: ResponseDecoder
    StreamEncoder: Callable[..., StreamEncoder]
    StreamDecoder: Callable[..., StreamDecoder]
    aliases: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Show the name alone."""
        return f"<dialect {self.name}>"
