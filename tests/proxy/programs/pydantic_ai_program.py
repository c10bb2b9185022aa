"""An agent written with pydantic-ai: three of its models, a tool, whole and streamed; each run asks twice."""

# ruff: noqa: T201 - a program that prints
from __future__ import annotations

import asyncio

from pydantic_ai import Agent

DEPTH = 'How deep is it? [[tool depth {"pier": 4}]] [[then]] [[say {results}]]'
MODELS = ("openai-chat:gpt-5.2", "openai-responses:gpt-5.3", "anthropic:claude-sonnet-4-6")


def depth(pier: int) -> str:
    """Measure how deep the water is at a pier."""
    return f"6.2 m at pier {pier}"


async def main() -> None:
    """Ask each model: once whole, once streamed, and once more in the conversation that was streamed."""
    for model in MODELS:
        agent = Agent(model, instructions="You are a sailor.", tools=[depth])
        print((await agent.run(f"Whole. {DEPTH}")).output)
        async with agent.run_stream(f"Streamed. {DEPTH}") as streamed:
            print(await streamed.get_output())
            history = streamed.all_messages()
        print((await agent.run("And there?", message_history=history)).output)


if __name__ == "__main__":
    asyncio.run(main())
