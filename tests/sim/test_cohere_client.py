"""Cohere's own client against the simulator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import cohere
import httpx
import pytest
from cohere.core.api_error import ApiError

from tests.sim.clients import cohere_client
from tests.support.sim import running_simulator
from weft.sim import Simulator


@pytest.fixture
def client(sim: Simulator) -> Iterator[Any]:
    with cohere_client(sim) as made:
        yield made


MODEL = "command-a-03-2025"
TOOLS: list[Any] = [{"type": "function", "function": {"name": "depth", "parameters": {"type": "object"}}}]
CALLS = '[[say I will ask the tool.]] [[tool depth {"pier": 4}]] [[tool depth {"pier": 5}]] How deep is it?'
ONCE: Any = {"request_options": {"max_retries": 0}}


def ask(client: Any, text: str, **more: Any) -> Any:
    return client.chat(**{"model": MODEL, "messages": [{"role": "user", "content": text}], **ONCE, **more})


def streamed(client: Any, text: str, **more: Any) -> list[Any]:
    settings = {"model": MODEL, "messages": [{"role": "user", "content": text}], **ONCE, **more}
    return list(client.chat_stream(**settings))


def test_an_answer_is_the_same_whole_and_streamed(client: Any) -> None:
    whole = ask(client, "Good morning")
    events = streamed(client, "Good morning")

    assert whole.message.content[0].text == "You said: Good morning"
    pieces = [event.delta.message.content.text for event in events if event.type == "content-delta"]
    assert "".join(pieces) == "You said: Good morning"
    assert [event.type for event in events][:2] == ["message-start", "content-start"]
    assert (whole.finish_reason, events[-1].delta.finish_reason) == ("COMPLETE", "COMPLETE")
    assert whole.usage == events[-1].delta.usage
    assert not whole.model_extra


def test_tools_go_round_with_their_plan(client: Any) -> None:
    message = ask(client, CALLS, tools=TOOLS).message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "9 m"} for call in message.tool_calls]
    history = [{"role": "user", "content": CALLS}, message, *results]
    answer = ask(client, "", messages=history, tools=TOOLS)

    assert message.tool_plan == "I will ask the tool."
    assert [call.function.arguments for call in message.tool_calls] == ['{"pier":4}', '{"pier":5}']
    assert answer.message.content[0].text == "depth says: 9 m. depth says: 9 m."


def test_a_stream_tells_plan_and_calls(client: Any) -> None:
    events = streamed(client, CALLS, tools=TOOLS)

    plan = [event.delta.message.tool_plan for event in events if event.type == "tool-plan-delta"]
    names = [event.delta.message.tool_calls.function.name for event in events if event.type == "tool-call-start"]
    pieces = [event.delta.message.tool_calls.function.arguments for event in events if event.type == "tool-call-delta"]
    assert ("".join(plan), names) == ("I will ask the tool.", ["depth", "depth"])
    assert "".join(pieces) == '{"pier":4}{"pier":5}'


def test_thinking_is_a_block_of_its_own(client: Any) -> None:
    answer = ask(client, "[[think Hm.]] Why?", thinking={"type": "enabled"})

    assert [(block.type, getattr(block, block.type)) for block in answer.message.content] == [
        ("thinking", "Hm."),
        ("text", "You said: Why?"),
    ]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, cohere.BadRequestError),
        (401, cohere.UnauthorizedError),
        (403, cohere.ForbiddenError),
        (404, cohere.NotFoundError),
        (422, cohere.UnprocessableEntityError),
        (429, cohere.TooManyRequestsError),
        (498, cohere.InvalidTokenError),
        (500, cohere.InternalServerError),
        (503, cohere.ServiceUnavailableError),
        (529, ApiError),
    ],
)
@pytest.mark.parametrize("get", [ask, streamed])
def test_every_status_is_the_exception_it_should_be(
    client: Any, get: Any, status: int, expected: type[Exception]
) -> None:
    with pytest.raises(expected) as caught:
        get(client, f"[[error {status}]]")

    error: Any = caught.value
    assert error.status_code == status
    assert error.body.keys() == {"id", "message"}


def test_a_retry_waits_as_long_as_it_is_told(sim: Simulator, client: Any) -> None:
    begun = time.monotonic()
    answer = ask(
        client,
        "[[error 429 times=1 retry-after=150ms]] [[say At last.]]",
        request_options={"max_retries": 2},
    )

    assert answer.message.content[0].text == "At last."
    assert [seen.status for seen in sim.seen] == [429, 200]
    assert 0.15 <= time.monotonic() - begun < 2


def test_a_stream_breaks_off(client: Any) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        streamed(client, "[[cut 3]] [[say one two three]]")
    events = streamed(client, "[[error 500 after=3]] [[say one two three]]")

    assert (events[-1].delta.finish_reason, events[-1].delta.error) == (
        "ERROR",
        "internal server error, this has been reported to our developers",
    )


def test_bad_requests_are_refused_as_cohere_does(client: Any) -> None:
    with pytest.raises(cohere.UnprocessableEntityError) as unknown:
        ask(client, "hi", request_options={"additional_body_parameters": {"preamble": "x"}, "max_retries": 0})
    with pytest.raises(cohere.BadRequestError) as orphan:
        ask(
            client,
            "",
            messages=[{"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "x", "content": "1"}],
        )
    with pytest.raises(cohere.NotFoundError) as missing:
        ask(client, "hi", model="missing-model")

    assert "parameter 'preamble' is not a valid field" in str(unknown.value.body)
    assert "no tool call with id 'x'" in str(orphan.value.body)
    assert "model 'missing-model' not found" in str(missing.value.body)


def test_a_wrong_key_is_refused() -> None:
    with (
        running_simulator({"keys": ["right"]}) as sim,
        cohere_client(sim, key="wrong") as client,
        pytest.raises(cohere.UnauthorizedError) as caught,
    ):
        ask(client, "hello")

    assert caught.value.body["message"] == "invalid api token"


def test_models_are_listed_and_described(client: Any) -> None:
    names = [model.name for model in client.models.list().models]

    assert client.models.get(names[0]).name == names[0]
    assert "command-a-03-2025" in names
