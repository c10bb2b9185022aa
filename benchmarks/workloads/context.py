"""A 50-message conversation with tools, built, written out and read back; the same code for weft and lmctx."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROUNDS = 12  # of user, assistant with a call, tool, assistant: 48 messages, after a system and a user message
WORDS = "The harbour office keeps a log of every pier, its depth, its moorings and the ships that lie there. "


def raw_messages() -> list[dict[str, Any]]:
    """Return the conversation as plain data, as a provider's SDK would hand it over."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "parts": [{"type": "text", "text": WORDS * 10}]},
        {"role": "user", "parts": [{"type": "text", "text": "Survey the piers, one after the other."}]},
    ]
    for n in range(ROUNDS):
        arguments = {"pier": n, "units": "m", "layers": ["mud", "sand", "rock"], "options": {"fast": n % 2 == 0}}
        soundings = [{"at": i, "depth_m": 6.2 + i / 10, "tags": ["ok", "calm"], "by": {"id": i}} for i in range(8)]
        call = f"call_{n:04}"
        raw = {"type": "tool_use", "id": call, "name": "depth", "input": arguments}
        messages += [
            {"role": "user", "parts": [{"type": "text", "text": f"Pier {n}? " + WORDS * 4}]},
            {
                "role": "assistant",
                "parts": [
                    {
                        "type": "thinking",
                        "text": WORDS * 2,
                        "provider_raw": {"type": "thinking", "signature": "c2ln" * 40},
                    },
                    {"type": "text", "text": WORDS},
                    {
                        "type": "tool_call",
                        "tool_call_id": call,
                        "tool_name": "depth",
                        "tool_args": arguments,
                        "provider_raw": raw,
                    },
                ],
            },
            {
                "role": "tool",
                "parts": [
                    {
                        "type": "tool_result",
                        "tool_call_id": call,
                        "tool_name": "depth",
                        "tool_output": {"soundings": soundings, "ok": True},
                    }
                ],
            },
            {"role": "assistant", "parts": [{"type": "text", "text": WORDS * 6}]},
        ]
    return messages


def functions(library: Any) -> dict[str, Callable[[], object]]:
    """Return what can be timed, and `same_answer`, which both libraries must answer alike."""
    context_type, message_type, part_type = library.Context, library.Message, library.Part
    raw = raw_messages()

    def build() -> Any:
        context = context_type()
        for message in raw:
            context = context.append(
                message_type(message["role"], tuple(part_type(**part) for part in message["parts"]))
            )
        return context

    def build_and_read() -> int:
        # Whatever building put off until it is needed is paid for here.
        return sum(
            _walk(value)
            for message in build()
            for part in message.parts
            for value in (part.json, part.tool_args, part.tool_output, part.provider_raw)
        )

    built = build()
    written = built.to_dict()

    def same_answer() -> str:
        fixed = {**written, "messages": [{**message, "timestamp": None} for message in written["messages"]]}
        again = context_type.from_dict(written).to_dict()
        return json.dumps([fixed, again == written, len(built), build_and_read()], sort_keys=True)

    return {
        "build": build,
        "build_and_read": build_and_read,
        "to_dict": built.to_dict,
        "from_dict": lambda: context_type.from_dict(written),
        "from_dict_and_read": lambda: sum(
            _walk(value)
            for message in context_type.from_dict(written)
            for part in message.parts
            for value in (part.json, part.tool_args, part.tool_output, part.provider_raw)
        ),
        "same_answer": same_answer,
    }


def _walk(value: Any) -> int:
    """Count the leaves of a frozen value."""
    if hasattr(value, "items"):
        return _count(value[key] for key in value)
    if isinstance(value, tuple):
        return _count(value)
    return 1


def _count(values: Iterable[Any]) -> int:
    return sum(_walk(value) for value in values)
