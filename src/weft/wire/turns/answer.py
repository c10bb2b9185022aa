"""A provider's answer, streamed or whole, as the message a turn stores (threads.md, section 10).

The dialect reads it; what comes out is `{role, content, model, stop_reason, usage}` in one form for all providers.
Anthropic's own message has that form, so it passes through with all it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import EMPTY, Part, Reply, StreamEnd, StreamError, thaw, write_blocks
from weft.errors import ProviderError
from weft.jsontext import dumps_text
from weft.wire.codec import Json
from weft.wire.registry import dialect
from weft.wire.turns.provider import provider_named

__all__ = ["Aggregator", "aggregate", "message_from_reply", "normalise_response"]

NewId = Callable[[], str]

STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
# What native calls and media say that a turn's block says too; one with more to say is kept beside the block.
PLAIN = {
    "openai_chat": frozenset({"id", "type", "index", "function"}),
    "cohere": frozenset({"id", "type", "index", "function"}),
    "gemini": frozenset({"functionCall", "function_call", "inlineData", "inline_data"}),
}
# Where each dialect counts: input, output, and what was read from a cache.
COUNTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "openai_chat": (("prompt_tokens",), ("completion_tokens",), ("prompt_tokens_details", "cached_tokens")),
    "cohere": (("billed_units", "input_tokens"), ("billed_units", "output_tokens"), ("cached_tokens",)),
    "gemini": (("promptTokenCount",), ("candidatesTokenCount",), ("cachedContentTokenCount",)),
    "openai_responses": (("input_tokens",), ("output_tokens",), ("input_tokens_details", "cached_tokens")),
    "bedrock": (("inputTokens",), ("outputTokens",), ("cacheReadInputTokens",)),
    "ollama": (("prompt_eval_count",), ("eval_count",), ()),
}


def aggregate(
    provider: str, events: Iterable[Any], *, model: str | None = None, new_id: NewId | None = None
) -> dict[str, Json]:
    """Put a stream of native events together; one that says it failed is an error.

    `model` is the one that was asked for, for providers that do not name it; `new_id` makes the ids of calls that
    came without one [T-28].
    """
    heard = Aggregator(provider, model=model, new_id=new_id)
    for event in events:
        heard.feed(event)
    answer = heard.close()
    if heard.error is not None:
        raise ProviderError(f"{provider}: {heard.error}", provider=provider)
    return answer


def normalise_response(
    provider: str, body: Any, *, model: str | None = None, new_id: NewId | None = None
) -> dict[str, Json]:
    """Read a response that came in one piece."""
    heard = Aggregator(provider, model=model, new_id=new_id)
    return heard.read(body)


class Aggregator:
    """Takes one answer, event by event. After close(), `error` says whether it failed and `reply` is all that came."""

    __slots__ = ("_blobs", "_decoder", "_model", "_name", "_new_id", "_provider", "error", "reply")

    def __init__(self, provider: str, *, model: str | None = None, new_id: NewId | None = None) -> None:
        """Begin before the first event."""
        self._provider = provider
        self._name = provider_named(provider).dialect
        self._model = model
        self._new_id = new_id or _uuid
        self._blobs = InMemoryBlobStore()
        self._decoder = dialect(self._name).StreamDecoder(self._blobs)
        self.error: str | None = None
        self.reply = Reply()

    def feed(self, event: Any) -> None:
        """Take one native event, or a frame of the stream."""
        self._decoder.feed(dict(event) if isinstance(event, Mapping) else event)

    def close(self) -> dict[str, Json]:
        """End the stream; give the message as far as it came."""
        for event in self._decoder.close():
            if isinstance(event, StreamError):
                self.error = event.error
            elif isinstance(event, StreamEnd) and event.reply is not None:
                self.reply = event.reply
        return {"message": self._message()}

    def read(self, body: Any) -> dict[str, Json]:
        """Take a whole response instead."""
        self.reply = dialect(self._name).decode_response(body, self._blobs)
        if self.reply.message is None and isinstance(error := self.reply.raw.get("error"), (Mapping, str)):
            said = error.get("message") if isinstance(error, Mapping) else error
            raise ProviderError(f"{self._provider}: {said}", provider=self._provider, body=dumps_text(self.reply.raw))
        return {"message": self._message()}

    def _message(self) -> Json:
        return message_from_reply(self._name, self.reply, self._blobs, model=self._model, new_id=self._new_id)


def message_from_reply(
    speaks: str, reply: Reply, blobs: BlobStore, *, model: str | None = None, new_id: NewId | None = None
) -> Json:
    """Give a reply that was read in the dialect `speaks` as the message a turn stores."""
    return _Telling(speaks, reply, blobs, model, new_id or _uuid).message()


@dataclass(frozen=True, slots=True)
class _Telling:
    """One reply on its way to being a turn's message."""

    _name: str
    reply: Reply
    _blobs: BlobStore
    _model: str | None
    _new_id: NewId

    def message(self) -> Json:
        """Give the message."""
        reply = self.reply
        parts = reply.message.parts if reply.message is not None else ()
        content, _ = write_blocks(
            self._parts(parts), self._blobs, provider=reply.message.provider if reply.message else None
        )
        if self._name == "anthropic":
            return {"role": "assistant", **thaw(reply.raw), "content": content}
        has_calls = any(part.type == "tool_call" for part in parts)
        message: Json = {
            "role": "assistant",
            "content": content,
            "model": reply.model or self._model,
            "stop_reason": "tool_use" if has_calls else STOPS.get(reply.finish_reason or "", "end_turn"),
        }
        usage = self._usage()
        return message if usage is None else {**message, "usage": usage}

    def _parts(self, parts: Iterable[Part]) -> list[Part]:
        """Join the texts, give every call an id, and leave off provider blocks that say nothing more."""
        kept: list[Part] = []
        texts: list[str] = []
        text_at = 0
        for part in parts:
            if part.type == "tool_call":
                kept.append(self._call(part))
            elif part.type == "text" and part.provider_raw is None and self._name != "anthropic":
                if not texts:
                    text_at = len(kept)
                    kept.append(part)
                texts.append(part.text or "")
            elif part.blob is not None:
                kept.append(self._unless_plain(part))
            else:
                kept.append(part)
        if len(texts) > 1:
            kept[text_at] = replace(kept[text_at], text="".join(texts))
        return kept

    def _call(self, part: Part) -> Part:
        raw = part.provider_raw or EMPTY
        if self._name == "gemini":  # its dialect makes ids up from what a call says, so two turns may share one
            said = raw.get("functionCall") or raw.get("function_call") or EMPTY
            part = replace(part, tool_call_id=said.get("id"))
        if not part.tool_call_id:
            part = replace(part, tool_call_id=self._new_id())
        return self._unless_plain(part)

    def _unless_plain(self, part: Part) -> Part:
        is_plain = (part.provider_raw or EMPTY).keys() <= PLAIN.get(self._name, frozenset())
        return replace(part, provider_raw=None) if is_plain else part

    def _usage(self) -> Json | None:
        usage = self.reply.usage
        if usage is None and self._name != "openai_chat":
            return None
        told = usage.provider_usage if usage is not None else EMPTY
        given, made, cached = (_at(told, path) for path in COUNTS.get(self._name, ((), (), ())))
        if usage is not None and given is None and made is None:
            given, made = usage.input_tokens, usage.output_tokens
        return {
            "input_tokens": given or 0,
            "output_tokens": made or 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached or 0,
        }


def _at(told: Any, path: tuple[str, ...]) -> int | None:
    for key in path:
        told = told.get(key) if isinstance(told, Mapping) else None
    if isinstance(told, float) and told.is_integer():  # Cohere counts in floats
        told = int(told)
    return told if isinstance(told, int) and not isinstance(told, bool) else None


def _uuid() -> str:
    return str(uuid4())
