"""A small agent for the demo to record: a loop with one tool, a title from another provider, and a second try.

It knows nothing of weft, and needs nothing but Python: any program that takes its addresses from the environment is
recorded in the same way.
"""

# ruff: noqa: T201 - a program that prints
from __future__ import annotations

import json
import os
import urllib.request
from typing import Any

__all__ = ["main"]

DEPTHS = {1: 3.4, 2: 4.8, 3: 5.5, 4: 6.2}
TOOL = {
    "name": "depth",
    "description": "Measure how deep the water is at a pier.",
    "input_schema": {"type": "object", "properties": {"pier": {"type": "integer"}}, "required": ["pier"]},
}


def main() -> None:
    """Find a berth, in two tries from the same point."""
    said: list[Any] = [{"role": "user", "content": "Find a berth for a ship of 5 m draught."}]
    answer = claude(said)
    print("title:", title("Give a title for: a berth for a ship of 5 m draught"))
    while calls := [block for block in answer["content"] if block["type"] == "tool_use"]:
        print("tool:", ", ".join(f"depth(pier={call['input']['pier']})" for call in calls))
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": f"{DEPTHS[call['input']['pier']]} m"}
            for call in calls
        ]
        said += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": results}]
        answer = claude(said)
    print(text(answer))
    said.append({"role": "assistant", "content": answer["content"]})
    for prompt in ("Book it.", "Book it, but leave a metre to spare."):  # the second try forgets the first
        print(text(claude([*said, {"role": "user", "content": prompt}])))


def claude(messages: list[Any]) -> Any:
    """Ask Anthropic's API."""
    body = {"model": "claude-sonnet-4-6", "max_tokens": 500, "messages": messages, "tools": [TOOL]}
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    return post(f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages", body, headers)


def title(prompt: str) -> Any:
    """Ask OpenAI's API."""
    body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": prompt}]}
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    answer = post(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, headers)
    return answer["choices"][0]["message"]["content"]


def text(answer: Any) -> str:
    """Give what an answer says."""
    return "".join(block["text"] for block in answer["content"] if block["type"] == "text")


def post(url: str, body: Any, headers: dict[str, str]) -> Any:
    """Send JSON and give the JSON that comes back."""
    given = {"content-type": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), given)  # noqa: S310 - of the environment
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


if __name__ == "__main__":
    main()
