"""What is tried again, how often and after how long. Nobody really sleeps here."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from tests.support.calls import a_call, events_of, one_shot, row_at, streamed, text_of, whole
from tests.support.upstream import Answer
from weft.canon import StreamError, fold
from weft.client import Client, RetryPolicy
from weft.client.retry import asked_wait, is_worth_repeating
from weft.errors import ProviderError

NOW = 1_790_000_000.0


class Nap:
    """A sleep that only remembers."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.reasons: list[str] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def settings(self, **policy: Any) -> dict[str, Any]:
        return {
            "sleep": self,
            "chance": lambda: 0.0,
            "now": lambda: NOW,
            "on_wait": self.reasons.append,
            "retries": RetryPolicy(**policy),
        }


def busy(status: int = 503, **headers: str) -> Answer:
    return Answer.json({"error": {"message": "later"}}, status, **headers)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_says_later_is_asked_again(status: int) -> None:
    nap = Nap()

    async def scene() -> None:
        async with one_shot(busy(status), busy(status), whole("openai"), **nap.settings()) as (far, client):
            assert (await client.send(a_call("openai", far.url))).finished
        assert len(far.asked) == 3
        assert far.asked[0].body == far.asked[2].body

    asyncio.run(scene())
    assert nap.seconds == [0.5, 1.0]
    assert "later; trying again in 0.5 s" in nap.reasons[0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_what_says_no_is_not_asked_again(status: int) -> None:
    nap = Nap()

    async def scene() -> int:
        async with one_shot(busy(status), **nap.settings()) as (far, client):
            with pytest.raises(ProviderError):
                await client.send(a_call("openai", far.url))
        return len(far.asked)

    assert (asyncio.run(scene()), nap.seconds) == (1, [])


def test_after_the_last_attempt_the_last_error_is_told() -> None:
    nap = Nap()

    async def scene() -> int:
        async with one_shot(busy(500), busy(500), busy(529), **nap.settings(attempts=3)) as (far, client):
            with pytest.raises(ProviderError, match="is overloaded") as caught:
                await client.send(a_call("openai", far.url))
        assert caught.value.status == 529
        return len(far.asked)

    assert asyncio.run(scene()) == 3


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after": formatdate(NOW + 12, usegmt=True)}, 12.0),
        ({"retry_after": formatdate(NOW - 12, usegmt=True)}, 0.0),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after": "soon"}, 0.5),
        ({"retry_after": "-3"}, 0.5),
        ({"retry_after": "nan"}, 0.5),
    ],
)
def test_retry_after_is_honoured_in_seconds_and_as_a_date(headers: dict[str, str], seconds: float) -> None:
    nap = Nap()

    async def scene() -> None:
        async with one_shot(busy(429, **headers), whole("openai"), **nap.settings()) as (far, client):
            await client.send(a_call("openai", far.url))

    asyncio.run(scene())
    assert nap.seconds == [seconds]


def test_being_asked_to_wait_too_long_fails_at_once_and_says_how_long() -> None:
    nap = Nap()

    async def scene() -> None:
        async with one_shot(busy(429, retry_after="3600"), **nap.settings()) as (far, client):
            with pytest.raises(ProviderError, match="it asks to wait 3600 s"):
                await client.send(a_call("openai", far.url))

    asyncio.run(scene())
    assert nap.seconds == []


def test_googles_delay_in_the_body_is_honoured() -> None:
    body = '{"error": {"code": 429, "details": [{"@type": "…RetryInfo", "retryDelay": "13.5s"}]}}'

    assert asked_wait({}, body, NOW) == 13.5
    assert asked_wait({}, "{}", NOW) is None


def test_a_quota_that_is_spent_is_not_waited_for() -> None:
    assert not is_worth_repeating(429, {}, '{"error": {"code": "insufficient_quota"}}')
    assert is_worth_repeating(429, {}, '{"error": {"code": "rate_limit_exceeded"}}')


@pytest.mark.parametrize(("said", "status", "again"), [("true", 400, True), ("false", 503, False), ("?", 503, True)])
def test_a_provider_that_says_whether_to_retry_is_believed(said: str, status: int, *, again: bool) -> None:
    assert is_worth_repeating(status, {"x-should-retry": said}, "") is again


def test_the_wait_doubles_to_a_limit_less_a_random_part() -> None:
    policy = RetryPolicy(attempts=9, first_wait_s=1, longest_wait_s=5)

    assert [policy.wait_s(attempt, None, lambda: 0.0) for attempt in (1, 2, 3, 4, 8, 9)] == [1, 2, 4, 5, 5, None]
    assert policy.wait_s(2, None, lambda: 1.0) == 1.0


def test_a_connection_dropped_before_any_byte_is_made_again() -> None:
    nap = Nap()

    async def scene() -> None:
        async with one_shot(Answer(drop=True), streamed("anthropic"), **nap.settings()) as (far, client):
            events = await events_of(client, a_call("anthropic", far.url))
        assert text_of(fold(events)) == "Six metres at pier four."
        assert len(far.asked) == 2

    asyncio.run(scene())
    assert nap.seconds == [0.5]


def test_a_refused_connection_is_tried_again() -> None:
    nap = Nap()

    async def scene() -> None:
        async with Client(**nap.settings()) as client:
            with pytest.raises(ProviderError, match="nothing listens"):
                await client.models(row_at("openai", "http://127.0.0.1:1"))

    asyncio.run(scene())
    assert len(nap.seconds) == 2


def test_nothing_is_repeated_once_the_answer_has_begun() -> None:
    """A second answer would be another answer: the half that was shown stands, with the error after it."""
    nap = Nap()
    pieces = streamed("anthropic").pieces[:4]

    async def scene() -> None:
        answer = replace(streamed("anthropic"), pieces=pieces, cut=True)
        async with one_shot(answer, streamed("anthropic"), **nap.settings()) as (far, client):
            events = await events_of(client, a_call("anthropic", far.url))
        assert [type(event) for event in events if isinstance(event, StreamError)] == [StreamError]
        assert len(far.asked) == 1

    asyncio.run(scene())
    assert nap.seconds == []


def test_waiting_can_be_cancelled() -> None:
    async def scene() -> None:
        async with one_shot(busy(429, retry_after="50"), retries=RetryPolicy()) as (far, client):
            task = asyncio.create_task(client.send(a_call("openai", far.url)))
            await far.was_asked.wait()
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(scene())
