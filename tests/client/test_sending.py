from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from tests.support.calls import REPLY, SPEAKERS, a_call, events_of, one_shot, row_at, streamed, text_of, whole
from tests.support.upstream import Answer, sse
from weft.canon import ContentDelta, StreamEnd, StreamError, fold
from weft.client import Call, Client, Timeouts, call_to
from weft.errors import ProviderError
from weft.providers import PROVIDERS, Secret, Target

KEY = Secret("sk-made-up-key-0001")
WHERE = {
    "anthropic": ("/v1/messages", "/v1/messages", "x-api-key"),
    "openai": ("/v1/chat/completions", "/v1/chat/completions", "authorization"),
    "openai-responses": ("/v1/responses", "/v1/responses", "authorization"),
    "gemini": (
        "/v1beta/models/mint-1:generateContent",
        "/v1beta/models/mint-1:streamGenerateContent?alt=sse",
        "x-goog-api-key",
    ),
    "cohere": ("/v2/chat", "/v2/chat", "authorization"),
    "bedrock": ("/model/mint-1/converse", "/model/mint-1/converse-stream", "authorization"),
    "ollama": ("/api/chat", "/api/chat", "authorization"),
    "azure": (
        "/openai/deployments/mint-1/chat/completions?api-version=2024-10-21",
        "/openai/deployments/mint-1/chat/completions?api-version=2024-10-21",
        "api-key",
    ),
    "mistral": ("/chat/completions", "/chat/completions", "authorization"),
}


@pytest.mark.parametrize("name", SPEAKERS)
def test_every_provider_is_asked_at_its_address_with_its_header_and_answers_whole(name: str) -> None:
    async def scene() -> None:
        async with one_shot(whole(name)) as (far, client):
            reply = await client.send(a_call(name, far.url, KEY))

        [asked] = far.asked
        path, _, header = WHERE[name]
        assert text_of(reply) == "Six metres at pier four."
        assert (reply.finish_reason, reply.finished) == ("stop", True)
        assert (asked.method, asked.path) == ("POST", path)
        assert asked.headers[header] in (KEY.reveal(), f"Bearer {KEY.reveal()}")
        assert asked.json().get("stream", False) is False
        assert "stream_options" not in asked.json()

    asyncio.run(scene())


@pytest.mark.parametrize("name", SPEAKERS)
def test_every_provider_streams_and_the_events_fold_to_the_reply(name: str) -> None:
    async def scene() -> None:
        async with one_shot(streamed(name)) as (far, client), client.stream(a_call(name, far.url, KEY)) as stream:
            events = [event async for event in stream]

        [asked] = far.asked
        assert asked.path == WHERE[name][1]
        assert text_of(fold(events)) == "Six metres at pier four."
        assert stream.reply is not None
        assert stream.reply.finished
        assert [event for event in events if isinstance(event, StreamError)] == []
        assert isinstance(events[-1], StreamEnd)
        says_so = name not in ("gemini", "bedrock")
        assert asked.json().get("stream") is (True if says_so else None)
        assert ("model" in asked.json()) is says_so

    asyncio.run(scene())


def test_usage_is_asked_for_in_chat_streams_except_where_the_provider_refuses_it() -> None:
    async def scene() -> list[Any]:
        async with one_shot(streamed("openai"), streamed("mistral")) as (far, client):
            await events_of(client, a_call("openai", far.url))
            await events_of(client, a_call("mistral", far.url))
        return [asked.json().get("stream_options") for asked in far.asked]

    assert asyncio.run(scene()) == [{"include_usage": True}, None]


def test_a_token_goes_into_another_header_than_a_key() -> None:
    async def scene() -> list[dict[str, str]]:
        async with one_shot(whole("anthropic")) as (far, client):
            await client.send(a_call("anthropic", far.url, Secret("tok-1234", is_token=True)))
            await client.send(replace(a_call("anthropic", far.url), key=None))
        return [asked.headers for asked in far.asked]

    token, nothing = asyncio.run(scene())
    assert token["authorization"] == "Bearer tok-1234"
    assert "x-api-key" not in token
    assert "authorization" not in nothing
    assert "x-api-key" not in nothing
    assert (token["anthropic-version"], token["user-agent"][:5]) == ("2023-06-01", "weft/")


def test_events_come_as_soon_as_their_bytes_do() -> None:
    """Streams from the first byte: nothing waits for more."""
    first, *rest = sse(
        {"id": "r1", "model": "m", "choices": [{"index": 0, "delta": {"content": "Six"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        done=True,
    )

    async def scene() -> tuple[float, float]:
        started = time.monotonic()
        seen = 0.0
        async with one_shot(Answer([first, 0.5, *rest], content_type="text/event-stream")) as (far, client):
            async for event in client.stream(a_call("openai", far.url)):
                if isinstance(event, ContentDelta):
                    seen = time.monotonic() - started
        return seen, time.monotonic() - started

    first_s, all_s = asyncio.run(scene())
    assert first_s < 0.45 <= all_s


def test_a_server_that_cannot_stream_and_sends_the_whole_is_heard_all_the_same() -> None:
    async def scene() -> None:
        async with one_shot(whole("openai")) as (far, client):
            events = await events_of(client, a_call("openai", far.url))

        assert text_of(fold(events)) == "Six metres at pier four."
        assert fold(events).finished

    asyncio.run(scene())


def test_a_stream_without_a_content_type_is_read_as_the_dialect_has_it() -> None:
    async def scene() -> None:
        answer = replace(streamed("openai"), content_type="text/plain")
        async with one_shot(answer) as (far, client):
            events = await events_of(client, a_call("openai", far.url))

        assert fold(events).finished

    asyncio.run(scene())


def test_cancelling_hangs_up() -> None:
    """The provider must not go on writing, and billing, for nobody."""

    async def scene() -> None:
        answer = replace(streamed("anthropic"), pieces=[*streamed("anthropic").pieces[:3], None])
        async with one_shot(answer) as (far, client):
            begun = asyncio.Event()

            async def listen() -> None:
                async for _ in client.stream(a_call("anthropic", far.url)):
                    begun.set()

            task = asyncio.create_task(listen())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(far.hung_up.wait(), 2)

    asyncio.run(scene())


def test_leaving_a_stream_early_hangs_up_and_what_arrived_can_be_kept() -> None:
    async def scene() -> None:
        answer = replace(streamed("anthropic"), pieces=[*streamed("anthropic").pieces[:4], None])
        async with one_shot(answer) as (far, client):
            async with client.stream(a_call("anthropic", far.url)) as stream:
                async for event in stream:
                    if isinstance(event, ContentDelta):
                        break
                last = stream.cut("stopped by the user")
                again = stream.cut("and again")
            await asyncio.wait_for(far.hung_up.wait(), 2)

        assert [type(event).__name__ for event in last if "Error" in type(event).__name__] == ["StreamError"]
        assert isinstance(last[-1], StreamEnd)
        assert last[-1].finish_reason is None
        assert text_of(stream.reply).startswith("Six")
        assert again == []

    asyncio.run(scene())


def test_a_stream_that_was_never_begun_has_nothing_to_cut() -> None:
    async def scene() -> None:
        async with Client() as client, client.stream(a_call("openai", "http://127.0.0.1:9")) as stream:
            assert stream.cut("never mind") == []

    asyncio.run(scene())


def test_connections_are_kept_between_calls() -> None:
    async def scene() -> int:
        async with one_shot(whole("openai")) as (far, client):
            for _ in range(3):
                await client.send(a_call("openai", far.url))
        return far.connections

    assert asyncio.run(scene()) == 1


def test_calls_run_side_by_side() -> None:
    async def scene() -> list[str]:
        answer = replace(streamed("openai"), pieces=[0.2, *streamed("openai").pieces])
        async with one_shot(answer) as (far, client):
            started = time.monotonic()
            replies = await asyncio.gather(*(events_of(client, a_call("openai", far.url)) for _ in range(8)))
            assert time.monotonic() - started < 1.2
        return [text_of(fold(events)) for events in replies]

    assert asyncio.run(scene()) == ["Six metres at pier four."] * 8


def test_a_silent_provider_is_given_up_on() -> None:
    async def scene() -> None:
        async with one_shot(Answer([None]), timeouts=Timeouts(idle_s=0.2)) as (far, client):
            with pytest.raises(ProviderError, match=r"openai: 127\.0\.0\.1:\d+ went silent"):
                await client.send(a_call("openai", far.url))

    asyncio.run(scene())


def test_a_call_is_made_from_what_the_registry_gives() -> None:
    target = Target(PROVIDERS["openai"], "mint-1", KEY, "file")

    call = call_to(target, {"messages": []}, speaks="openai_responses")

    assert (call.provider.name, call.model, call.key) == ("openai", "mint-1", KEY)
    assert call.endpoint(stream=True).url == "https://api.openai.com/v1/responses"
    assert KEY.reveal() not in repr(call)


def test_the_word_on_the_model_is_where_the_dialect_has_it() -> None:
    body = {"model": "other", "messages": [], "stream": True}

    assert Call(PROVIDERS["openai"], "mint-1", body).written(stream=False) == {"model": "other", "messages": []}
    assert "model" not in Call(PROVIDERS["gemini"], "mint-1", body).written(stream=True)
    assert Call(PROVIDERS["ollama"], "m", {}).written(stream=False) == {"stream": False, "model": "m"}


def test_a_body_without_end_is_not_read_to_its_end() -> None:
    async def scene() -> None:
        async with one_shot(Answer([b" " * 10_000] * 300), largest_bytes=1_000_000) as (far, client):
            with pytest.raises(ProviderError, match="longer than 1,000,000 bytes"):
                await client.send(a_call("openai", far.url))

    asyncio.run(scene())


def test_models_are_listed_over_all_pages_newest_first() -> None:
    pages = [
        Answer.json(
            {
                "data": [{"id": "a", "created_at": "2026-01-01T00:00:00Z"}, {"id": "x"}],
                "has_more": True,
                "last_id": "x",
            }
        ),
        Answer.json({"data": [{"id": "b", "created_at": "2026-06-01T00:00:00Z"}], "has_more": False}),
    ]

    async def scene() -> None:
        async with one_shot(*pages) as (far, client):
            models = await client.models(row_at("anthropic", far.url), KEY)

        assert [model.id for model in models] == ["b", "a", "x"]
        assert [asked.path for asked in far.asked] == ["/v1/models?limit=1000", "/v1/models?limit=1000&after_id=x"]
        assert far.asked[0].method == "GET"
        assert far.asked[0].headers["x-api-key"] == KEY.reveal()

    asyncio.run(scene())


def test_the_reply_of_a_whole_answer_is_what_the_provider_sent() -> None:
    async def scene() -> None:
        async with one_shot(whole("cohere")) as (far, client):
            reply = await client.send(a_call("cohere", far.url))

        assert reply.usage is not None
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 4)
        assert reply.message is not None
        assert reply.message.provider == "cohere"
        assert text_of(reply) == text_of(REPLY)

    asyncio.run(scene())
