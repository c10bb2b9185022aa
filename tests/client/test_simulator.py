"""The client against the simulator, which speaks as the providers do and refuses what they refuse."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from tests.support.calls import events_of, text_of
from weft.canon import Context, Event, RunSpec, StreamEnd, StreamError, ToolSpecification, fold, thaw
from weft.client import Call, Client, RetryPolicy, call_to
from weft.errors import ProviderError
from weft.providers import KeyPlaces, ProviderAdapter, Registry, Secret
from weft.sim import Script, Simulator
from weft.wire import dialect

NAMES = ("anthropic", "openai", "openai-responses", "gemini", "bedrock", "cohere")
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-5-mini",
    "openai-responses": "gpt-5-mini",
    "gemini": "gemini-2.5-flash",
    "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "command-a-03-2025",
}
TOOL = ToolSpecification("depth", "Sounds the depth.", {"type": "object", "properties": {"pier": {"type": "integer"}}})


def a_call(sim: Simulator, name: str, prompt: str, *, tools: bool = False) -> Call:
    environ = sim.environment()
    registry = Registry(KeyPlaces(environ, use_keyring=False), environ)
    target = registry.target(f"{name}/{MODELS[name]}")
    spec = RunSpec(
        name,
        dialect(target.provider.dialect).endpoint,
        target.model,
        max_output_tokens=2000,
        tools=(TOOL,) if tools else (),
    )
    plan = ProviderAdapter(target.provider).plan_call(Context().user(prompt), spec)
    return call_to(target, plan.request)


async def _nap(_seconds: float) -> None: ...


@pytest.mark.parametrize("name", NAMES)
def test_a_question_is_answered_the_same_whole_and_streamed(name: str) -> None:
    async def scene() -> None:
        async with Simulator() as sim, Client() as client:
            whole = await client.send(a_call(sim, name, "[[say Six metres at pier four.]]"))
            events = await events_of(client, a_call(sim, name, "[[say Six metres at pier four.]]"))

        assert text_of(whole) == text_of(fold(events)) == "Six metres at pier four."
        assert fold(events).finished
        assert fold(events).usage is not None

    asyncio.run(scene())


@pytest.mark.parametrize("name", NAMES)
def test_tool_calls_come_through_whole_and_streamed(name: str) -> None:
    async def scene() -> None:
        async with Simulator() as sim, Client() as client:
            prompt = 'Depth? [[tool depth {"pier": 4}]]'
            whole = await client.send(a_call(sim, name, prompt, tools=True))
            told = fold(await events_of(client, a_call(sim, name, prompt, tools=True)))

        for reply in (whole, told):
            assert reply.message is not None
            [call] = [part for part in reply.message.parts if part.type == "tool_call"]
            assert (call.tool_name, thaw(call.tool_args)) == ("depth", {"pier": 4})
            assert reply.finish_reason == "tool_calls"

    asyncio.run(scene())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503, 529])
@pytest.mark.parametrize("name", NAMES)
def test_every_refusal_is_told_in_one_line(name: str, status: int) -> None:
    async def scene() -> ProviderError:
        async with Simulator() as sim, Client(retries=RetryPolicy(attempts=1)) as client:
            with pytest.raises(ProviderError) as caught:
                await events_of(client, a_call(sim, name, f"[[error {status}]]"))
        return caught.value

    error = asyncio.run(scene())
    line, _, advice = str(error).partition("\n")
    assert line.startswith(f"{name}: ")
    assert f"({error.status})" in line
    assert "\n" not in advice.strip()
    assert error.body


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_that_recovers_is_waited_for(name: str) -> None:
    waits: list[str] = []

    async def scene() -> list[Event]:
        async with Simulator() as sim, Client(sleep=_nap, on_wait=waits.append) as client:
            return await events_of(client, a_call(sim, name, "[[error 503 times=2]] [[say Here I am.]]"))

    assert text_of(fold(asyncio.run(scene()))) == "Here I am."
    assert len(waits) == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_stream_keeps_what_arrived(name: str) -> None:
    words = "Six metres at pier four, and seven at pier five, if the tide is in."
    dice = random.Random(name)

    async def scene(after: int) -> list[Event]:
        async with Simulator() as sim, Client() as client:
            return await events_of(client, a_call(sim, name, f"[[cut {after}]] [[say {words}]]"))

    for after in sorted(dice.sample(range(1, 6), 3)):
        events = asyncio.run(scene(after))

        end = events[-1]
        assert isinstance(end, StreamEnd)
        assert end.finish_reason is None
        assert len([event for event in events if isinstance(event, StreamError)]) == 1
        assert words.startswith(text_of(fold(events)))


@pytest.mark.parametrize("name", NAMES)
def test_models_are_listed_and_a_wrong_key_is_refused(name: str) -> None:
    async def scene() -> list[Any]:
        script = Script(keys=("sk-good-key-1",))
        async with Simulator(script) as sim, Client(retries=RetryPolicy(attempts=1)) as client:
            environ = sim.environment()
            row = Registry(KeyPlaces(environ, use_keyring=False), environ).row(name)
            with pytest.raises(ProviderError) as caught:
                await client.models(row, Secret("sk-wrong-key-9"))
            assert caught.value.status in (400, 401, 403)
            assert "sk-wrong-key-9" not in str(caught.value)
            return await client.models(row, Secret("sk-good-key-1"))

    models = asyncio.run(scene())
    assert models
    assert all(model.id and not model.id.startswith("models/") for model in models)
