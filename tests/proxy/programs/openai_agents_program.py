"""An agent written with the OpenAI Agents SDK: both of its APIs, a tool, whole and streamed; each run asks twice."""

# ruff: noqa: T201 - a program that prints
from __future__ import annotations

import asyncio
import os
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

DEPTH = 'How deep is it? [[tool depth {"pier": 4}]] [[then]] [[say {results}]]'


@function_tool
def depth(pier: int) -> str:
    """Measure how deep the water is at a pier."""
    return f"6.2 m at pier {pier}"


async def main() -> None:
    """Ask over each API: once whole, once streamed, and once more in the conversation that was streamed."""
    set_tracing_disabled(disabled=True)  # it would go to another host
    client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"])
    for model in (OpenAIChatCompletionsModel("gpt-5.2", client), OpenAIResponsesModel("gpt-5.3", client)):
        agent = Agent(name="sailor", instructions="You are a sailor.", model=model, tools=[depth])
        print((await Runner.run(agent, f"Whole. {DEPTH}")).final_output)
        streamed = Runner.run_streamed(agent, f"Streamed. {DEPTH}")
        async for _ in streamed.stream_events():
            pass
        print(streamed.final_output)
        later: Any = [*streamed.to_input_list(), {"role": "user", "content": "And there?"}]
        print((await Runner.run(agent, later)).final_output)


if __name__ == "__main__":
    asyncio.run(main())
