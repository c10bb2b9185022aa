"""A 50-message, 135 KB tool-using conversation, planned for three providers; the same code for weft and lmctx.

With orjson as the library, the same three names read and write the finished bodies instead: what any program that
sends a request pays for its JSON.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 16  # of user, assistant with a call, tool: 48 messages, then an answer and a last question
TOOLS = 20
NAMES = ("read", "tide", "harbour", "return", "self", "depth_m", "for", "pier", "in", "mooring", "log", "def", "if")


def prose(seed: int, size: int) -> str:
    """Return text like what agents read: source and logs, with short lines, quotes and now and then a ✓ or a —."""
    chance = random.Random(seed)
    lines: list[str] = []
    while sum(map(len, lines)) < size:
        words = " ".join(chance.choice(NAMES) for _ in range(chance.randint(2, 9)))
        lines.append(
            "    " * chance.randint(0, 3) + words + chance.choice(["", ' = "x"', ":", " # 'ok'", " ✓", " — é"]) + "\n"
        )
    return "".join(lines)[:size]


def rounds() -> list[tuple[str, str, str, dict[str, Any], str]]:
    """Return question, remark, call id, arguments and result of every round."""
    return [
        (
            prose(n, 800),
            prose(n + 100, 300),
            f"toolu_{n:06}",
            {
                "path": f"src/pier_{n}.py",
                "pattern": prose(n + 200, 80),
                "limit": n,
                "options": {"deep": True, "in": [1, 2]},
            },
            prose(n + 300, 6_600),
        )
        for n in range(ROUNDS)
    ]


def tools() -> list[dict[str, Any]]:
    """Return tool definitions of the usual size."""
    field = {"type": "string", "description": "Where to look, as a path below the root."}
    schema = {"type": "object", "properties": {f"field_{n}": field for n in range(4)}, "required": ["field_0"]}
    return [{"name": f"tool_{n}", "description": prose(n + 500, 120), "input_schema": schema} for n in range(TOOLS)]


def functions(library: Any) -> dict[str, Callable[[], object]]:
    """Return what can be timed."""
    if library.__name__ == "orjson":
        written = {name: library.dumps(body) for name, body in bodies().items()}

        def round_trip(body: bytes) -> Callable[[], object]:
            return lambda: library.dumps(library.loads(body))

        return {name: round_trip(body) for name, body in written.items()}
    adapters = library.adapters if library.__name__ == "lmctx" else library
    context = conversation(library)
    specs = [library.ToolSpecification(**tool) for tool in tools()]

    def planning(adapter: Any, provider: str, endpoint: str) -> Callable[[], object]:
        spec = library.RunSpec(provider, endpoint, "mint-1", max_output_tokens=1000, tools=tuple(specs))
        planned = adapter()
        return lambda: planned.plan(context, spec)

    planners: dict[str, Callable[[], Any]] = {
        "openai": planning(adapters.OpenAIChatCompletionsAdapter, "openai", "chat.completions"),
        "anthropic": planning(adapters.AnthropicMessagesAdapter, "anthropic", "messages.create"),
        "gemini": planning(adapters.GoogleGenAIAdapter, "google", "models.generate_content"),
    }

    def same_answer() -> str:
        sizes = {name: len(json.dumps(plan().request)) // 1000 for name, plan in planners.items()}
        return json.dumps([sizes, [plan().errors for plan in planners.values()]])

    return {**planners, "same_answer": same_answer}


def conversation(library: Any) -> Any:
    """Build the conversation as a Context."""
    message, part = library.Message, library.Part
    messages = []
    for question, remark, call, arguments, result in rounds():
        calling = part("tool_call", tool_call_id=call, tool_name="grep", tool_args=arguments)
        answered = part("tool_result", tool_call_id=call, tool_name="grep", tool_output=result)
        messages += [
            message("user", (part("text", text=question),)),
            message("assistant", (part("text", text=remark), calling)),
            message("tool", (answered,)),
        ]
    messages += [message("assistant", (part("text", text="Found."),)), message("user", (part("text", text="Go on."),))]
    return library.Context(messages=tuple(messages))


def bodies() -> dict[str, Any]:
    """Write the three requests by hand."""
    chat: list[Any] = []
    claude: list[Any] = []
    contents: list[Any] = []
    for question, remark, call, arguments, result in rounds():
        function = {"name": "grep", "arguments": json.dumps(arguments, ensure_ascii=False)}
        chat += [
            {"role": "user", "content": question},
            {
                "role": "assistant",
                "content": remark,
                "tool_calls": [{"id": call, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call, "content": result},
        ]
        claude += [
            {"role": "user", "content": [{"type": "text", "text": question}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": remark},
                    {"type": "tool_use", "id": call, "name": "grep", "input": arguments},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": result}]},
        ]
        contents += [
            {"role": "user", "parts": [{"text": question}]},
            {
                "role": "model",
                "parts": [{"text": remark}, {"function_call": {"name": "grep", "args": arguments, "id": call}}],
            },
            {
                "role": "user",
                "parts": [{"function_response": {"name": "grep", "id": call, "response": {"result": result}}}],
            },
        ]
    declared = [
        {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
        for tool in tools()
    ]
    return {
        "openai": {
            "model": "mint-1",
            "messages": chat,
            "max_tokens": 1000,
            "tools": [{"type": "function", "function": function} for function in declared],
        },
        "anthropic": {"model": "mint-1", "messages": claude, "max_tokens": 1000, "tools": tools()},
        "gemini": {
            "model": "mint-1",
            "contents": contents,
            "config": {"max_output_tokens": 1000, "tools": [{"function_declarations": declared}]},
        },
    }
