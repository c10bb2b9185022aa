"""An agent for recordings: real requests, through the real proxy, to the simulator. Made to be looked at."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx2

__all__ = ["SCRIPT", "SECRET", "Agent", "client_of", "play"]

CLAUDE = "claude-sonnet-4-6"
SECRET = "sk-proj-Zx81kQmT0aVbN7cYr2LdPw5uHs9eJfGt4iOqXBAM"
SYSTEM = """You are the harbour master's assistant. You answer from the harbour's own instruments.

# Rules

- Measure before you answer.
- Say how sure you are.
- **Never** let a ship moor where less than half a metre stays below her keel.
- Ask for the ship's draught if it was not given.
- Tides are in metres above chart datum.
- Times are local.

# Handbook

""" + "\n".join(
    f"{n}. Pier {n % 9 + 1}, berth {n}: {what}. Lines are doubled when the wind is above force {n % 5 + 4}; "
    f"the harbour's own boat stands by on channel {10 + n}."
    for n, what in enumerate(("fishing boats", "ferries", "yachts", "pilots", "tugs", "the lifeboat") * 6, start=1)
)
TOOLS: list[dict[str, Any]] = [
    {
        "name": "depth",
        "description": "Measure how deep the water is at a pier, with the sonar that hangs there.",
        "input_schema": {
            "type": "object",
            "properties": {
                "pier": {"type": "integer", "description": "Which pier, 1 to 9."},
                "samples": {"type": "integer", "description": "How many pings to take the median of.", "default": 5},
            },
            "required": ["pier"],
        },
    },
    {
        "name": "tide_table",
        "description": "\n".join(
            ["Give the tide table of a day.", "", *(f"- line {n} of what it says about tides" for n in range(1, 14))]
        ),
        "input_schema": {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}},
    },
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
]
REPORT = """Yes, the *Kittiwake* may moor at **pier 4**.

```python
def clearance(depth: float, draught: float) -> float:
    # what stays below the keel
    return depth - draught
```

| pier | depth | clearance |
|---|---:|---:|
| 4 | 6.2 m | 0.7 m |
| 5 | 5.8 m | 0.3 m |

1. Measured at 14:05.
2. The tide is falling; see [the table](https://harbour.example/tides).

> Pier 5 would be too shallow by 0.2 m.

![chart](https://harbour.example/chart.png)"""
TABLE_CALL = {
    "day": "2026-03-01",
    "columns": ["time", "height", "kind"],
    "from": {"hour": 0, "minute": 0},
    "to": {"hour": 23, "minute": 59},
    "harbour": {"name": "Oban", "lat": 56.41, "lon": -5.47, "gauges": ["north", "south"]},
    "options": {
        "unit": "m",
        "round": 2,
        "smooth": False,
        "fill": None,
        "datum": "chart",
        "zone": "local",
        "order": "asc",
    },
    "notes": ["springs", "neaps", "storm surge", "ice"],
}
# How the simulator plays the model. Tokens are cached from a few hundred on, so that there is something to miss.
SCRIPT: dict[str, Any] = {
    "cache_minimum": 256,
    "rules": [
        {
            "when": {"text": "how deep is it at pier 4"},
            "steps": [
                {
                    "think": "The sonar at pier 4 knows. I should take many pings, as there is swell.",
                    "tools": [{"name": "depth", "arguments": {"pier": 4, "samples": 12345678901234567890}}],
                },
                {"tools": [{"name": "tide_table", "arguments": TABLE_CALL}]},
                {"say": "At pier 4 it is **6.2 m** deep, and the tide is falling."},
            ],
        },
        {"when": {"text": "may the kittiwake"}, "reply": {"say": REPORT}},
        {"when": {"text": "the gannet, 7 m, tonight"}, "reply": {"error": 529, "message": "Overloaded"}},
        {
            "when": {"text": "the gannet, 7 m, at pier 9"},
            "steps": [
                {"tools": [{"name": "depth", "arguments": {"pier": 9}}]},
                {"say": "No: the sonar at pier 9 is broken, so I cannot say."},
            ],
        },
        {"when": {"text": "low water"}, "reply": {"say": "Low water is at 19:40."}},
        {"when": {"text": "high water"}, "reply": {"say": "High water is at 13:25, of 5.1 m."}},
        {"when": {"text": "good morning"}, "reply": {"say": "Guten Morgen."}},
        {"when": {"text": "ping"}, "reply": {"say": "pong"}},
        {
            "when": {"text": "tell me slowly"},
            "reply": {"say": "The " + "tide comes in and goes out again, " * 9 + "for ever.", "slow_ms": 45},
        },
        {
            "when": {"text": "measure it again"},
            "steps": [
                {"tools": [{"name": "harbour___depth", "arguments": {"pier": 4}}]},
                {"tools": [{"name": "harbour___depth", "arguments": {"pier": 3}}]},
                {"say": "Measured again: {results}"},
            ],
        },
    ],
}


@dataclass
class Agent:
    """A client of a provider's API: it resends its whole history with every request, as all of them do."""

    client: httpx2.Client
    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=lambda: list(TOOLS))

    def ask(self, text: str, *, stream: bool = False) -> list[dict[str, Any]]:
        """Say something, and keep the answer."""
        self.messages.append({"role": "user", "content": text})
        return self.send(stream=stream)

    def send(self, *, stream: bool = False) -> list[dict[str, Any]]:
        body = {
            "model": CLAUDE,
            "max_tokens": 4096,
            "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            "tools": self.tools,
            "messages": self.messages,
        }
        if stream:
            content = self._streamed(body)
        else:
            content = self.client.post("/v1/messages", json=body).json().get("content", [])
        if content:
            self.messages.append({"role": "assistant", "content": content})
        return content

    def _streamed(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        with self.client.stream("POST", "/v1/messages", json={**body, "stream": True}) as answer:
            events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]
        text = "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")
        return [{"type": "text", "text": text}]

    def answer_calls(
        self, content: list[dict[str, Any]], result: str, *, is_error: bool = False
    ) -> list[dict[str, Any]]:
        """Give what the tools said, and have the model go on."""
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": result, "is_error": is_error}
            for block in content
            if block["type"] == "tool_use"
        ]
        self.messages.append({"role": "user", "content": results})
        return self.send()

    def fork(self, length: int) -> Agent:
        """Begin again from an earlier point."""
        return Agent(self.client, list(self.messages[:length]), list(self.tools))


def client_of(url: str) -> httpx2.Client:
    headers = {"x-api-key": "sk-ant-not-a-key", "anthropic-version": "2023-06-01"}
    return httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=30)


def play(url: str) -> None:
    """Play a day at the harbour: thinking, tool calls, an error, a branch, other dialects, a failure."""
    with client_of(url) as client:
        agent = Agent(client)
        asked = agent.ask("How deep is it at pier 4?")
        sonar = {"pier": 4, "depth_m": 6.2, "pings": [6.1, 6.2, 6.2, 6.3], "sonar": {"id": "S4", "key": SECRET}}
        asked = agent.answer_calls(asked, json.dumps(sonar))
        agent.answer_calls(asked, "\n".join(_tide(hour) for hour in range(24)))
        agent.ask("Then may the Kittiwake, 5.5 m, moor there?", stream=True)
        before = len(agent.messages) - 2
        other = agent.fork(before)
        other.tools = TOOLS[:2]
        asked = other.ask("And the Gannet, 7 m, at pier 9?")
        other.answer_calls(asked, "Error: no sonar at pier 9", is_error=True)
        agent.fork(before).ask("And the Gannet, 7 m, tonight?")
        agent.ask("When is low water?")
        del agent.messages[3:5]  # what is long ago is left out, as agents do when their history grows
        agent.ask("And when is high water?")
        openai = {"model": "gpt-5.2", "messages": [{"role": "user", "content": "ping"}]}
        client.post("/v1/chat/completions", json=openai, headers={"authorization": "Bearer not-a-key"})
        gemini = {
            "contents": [{"role": "user", "parts": [{"text": "Good morning"}]}],
            "tools": [{"googleSearch": {}}],
        }
        path = "/v1beta/models/gemini-3-pro-preview:generateContent"
        client.post(path, json=gemini, headers={"x-goog-api-key": "not-a-key"})


def _tide(hour: int) -> str:
    return f"{hour:02d}:00  {3 + (hour * 7 % 11) / 5:.1f} m  {'rising' if hour % 12 < 6 else 'falling'}"
