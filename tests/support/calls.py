"""Calls and answers for tests of the client: one provider per dialect, pointed at a scripted upstream."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from tests.support.upstream import Answer, Upstream, upstream
from weft.canon import Event, Message, Part, Reply, Usage, replay
from weft.client import Call, Client, RetryPolicy
from weft.providers import PROVIDERS, Provider, Secret
from weft.wire import dialect

__all__ = ["CANARY", "SPEAKERS", "a_call", "events_of", "one_shot", "row_at", "streamed", "text_of", "whole"]

# With every character that some encoding changes.
CANARY = 'sk-canary/+_&=%"\\9f3b7c21d4e8'
SPEAKERS = ("anthropic", "openai", "openai-responses", "gemini", "cohere", "bedrock", "ollama", "azure", "mistral")
TYPES = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "aws_eventstream": "application/vnd.amazon.eventstream",
}
REPLY = Reply(
    (Message("assistant", (Part("text", "Six metres at pier four."),)),),
    id="r1",
    model="mint-1",
    finish_reason="stop",
    usage=Usage(3, 4, 7),
)


def row_at(name: str, url: str) -> Provider:
    return replace(PROVIDERS[name], base_url=url + ("/v1" if name.startswith("openai") else ""))


def a_call(name: str, url: str, key: Secret | None = None, **body: Any) -> Call:
    return Call(row_at(name, url), "mint-1", body or {"messages": []}, key or Secret(CANARY))


def streamed(name: str, reply: Reply = REPLY, **rest: Any) -> Answer:
    spoken = dialect(PROVIDERS[name].dialect)
    encoder = spoken.StreamEncoder()
    pieces = [*(encoder.feed(event) for event in replay(reply)), encoder.close()]
    return Answer([piece for piece in pieces if piece], content_type=TYPES[spoken.framing], **rest)


def whole(name: str, reply: Reply = REPLY) -> Answer:
    return Answer([json.dumps(dialect(PROVIDERS[name].dialect).encode_response(reply).body).encode()])


@asynccontextmanager
async def one_shot(*answers: Answer, **settings: Any) -> AsyncIterator[tuple[Upstream, Client]]:
    """Give an upstream and a client that does not try twice unless asked to."""
    settings.setdefault("retries", RetryPolicy(attempts=1))
    async with upstream(*answers) as far, Client(**settings) as client:
        yield far, client


async def events_of(client: Client, call: Call) -> list[Event]:
    async with client.stream(call) as events:
        return [event async for event in events]


def text_of(reply: Reply | None) -> str:
    if reply is None or reply.message is None:
        return ""
    return "".join(part.text or "" for part in reply.message.parts)
