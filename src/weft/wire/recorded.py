"""Recorded calls: which dialect one is in, and what was answered, in canon's words.

A call's path tells its dialect, else its bodies do. The paths are the providers' own; a gateway may put others before
them. A stream is recorded as its lines (`sse_lines`), or as its events where its framing is not text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Reply
from weft.wire.codec import Dialect
from weft.wire.registry import detect
from weft.wire.stream import StreamReader

__all__ = ["dialect_of", "dialect_of_path", "recorded_frames", "recorded_reply"]

_PATHS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"/chat/completions(?:$|\?)"), "openai_chat"),
    (re.compile(r"/responses/compact(?:$|\?)"), "openai_responses_compact"),
    (re.compile(r"/responses(?:$|\?)"), "openai_responses"),
    (re.compile(r"/v1/messages(?:$|\?)"), "anthropic"),
    (re.compile(r":(?:streamG|g)enerateContent(?:$|\?)"), "gemini"),
    (re.compile(r"/converse(?:-stream)?(?:$|\?)"), "bedrock"),
    (re.compile(r"/v2/chat(?:$|\?)"), "cohere"),
    (re.compile(r"/api/chat(?:$|\?)"), "ollama"),
    (re.compile(r"/images/generations(?:$|\?)"), "openai_images"),
)


def dialect_of_path(path: str) -> str | None:
    """Tell the dialect of a question to a model by its path; None for any other path, counting tokens among them."""
    return next((name for pattern, name in _PATHS if pattern.search(path)), None)


def dialect_of(record: Mapping[str, Any]) -> str | None:
    """Tell the dialect of a record: by its path, else by its bodies."""
    path = record.get("path")
    if isinstance(path, str) and (named := dialect_of_path(path)) is not None:
        return named
    body = record.get("request")
    found = detect(body) if isinstance(body, Mapping) else None
    if found in (None, "openai_chat"):
        # A bare question may be several dialects'; who answered tells.
        answered = _dialect_of_response(record.get("response"))
        return answered if answered in ("anthropic", "cohere", "ollama", "bedrock") else found
    return found


def _dialect_of_response(response: Any) -> str | None:
    if not isinstance(response, Mapping):
        return None
    if response.get("stream") is not True:
        return detect(response)
    lines = response.get("sse_lines")
    for line in lines if isinstance(lines, list) else ():
        if isinstance(line, str) and line.startswith("data:"):
            text = line[5:]
            if '"message_start"' in text or '"content_block_' in text:
                return "anthropic"
            if '"message-start"' in text or '"content-delta"' in text:
                return "cohere"
            if '"choices"' in text:
                return "openai_chat"
    return None


def recorded_reply(
    response: Mapping[str, Any], spoken: Dialect, blobs: BlobStore, *, provider: str | None = None
) -> Reply | None:
    """Read a recorded response, whole or streamed; what does not fit its dialect raises one of ODDITIES.

    `provider` is who answered, where it was not the dialect's own.
    """
    if response.get("stream") is not True:
        return spoken.decode_response(response, blobs, provider=provider)
    decoder: Any = spoken.StreamDecoder(blobs, provider=provider)
    if isinstance(lines := response.get("sse_lines"), list):
        reader = StreamReader(decoder, "sse")
        for frame in recorded_frames(lines):
            reader.feed(frame)
        reader.close()
    else:
        for event in response.get("events") or ():
            decoder.feed(_native_event(event))
        decoder.close()
    reply: Reply | None = decoder.reply
    return reply


def recorded_frames(lines: Iterable[Any]) -> Iterator[bytes]:
    """Put recorded lines of an event stream together to events again: each is over with its data [C-1].

    Blank lines are not recorded. Nobody sends an event's data on two lines; two events without names are common.
    """
    event: list[str] = []
    for line in map(str, lines):
        event.append(line)
        if line.startswith("data:"):
            yield _ended(event)
            event = []
    if event:
        yield _ended(event)


def _ended(event: list[str]) -> bytes:
    return ("\n".join(event) + "\n\n").encode("utf-8", "surrogatepass")


def _native_event(event: Any) -> Any:
    """Give an event of a framing that is not text as its decoder reads it."""
    if isinstance(event, Mapping) and isinstance(event.get("base64"), str):
        return {**event, "data": base64.b64decode(event["base64"])}
    return dict(event) if isinstance(event, Mapping) else event
