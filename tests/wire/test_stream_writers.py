"""What the stream writers of all dialects hold to, whoever's events they are given."""

from __future__ import annotations

from typing import Any

import pytest

from weft.canon import (
    ContentDelta,
    Event,
    Part,
    PartEnd,
    Reply,
    StreamEnd,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from weft.jsontext import loads
from weft.wire import StreamReader, dialect
from weft.wire.eventstream import EventStreamParser

SPOKEN = ["anthropic", "bedrock", "cohere", "gemini", "ollama", "openai_chat", "openai_responses"]
CALLS = [
    Part("tool_call", tool_call_id="c0", tool_name="sound", tool_args={"pier": 4}),
    Part("tool_call", tool_call_id="c1", tool_name="look", tool_args={}),
]


def written(name: str, events: list[Event]) -> bytes:
    encoder = dialect(name).StreamEncoder()
    whole = [StreamStart(id="x", model="m"), *events, StreamEnd(finish_reason="tool_calls")]
    return b"".join(map(encoder.feed, whole)) + encoder.close()


def heard(name: str, data: bytes) -> Reply:
    decoder: Any = dialect(name).StreamDecoder()
    reader = StreamReader(decoder, dialect(name).framing)
    reader.feed(data)
    reader.close()
    reply: Reply = decoder.reply
    return reply


@pytest.mark.parametrize("name", SPOKEN)
def test_a_call_that_is_only_ended_is_told_whole(name: str) -> None:
    """L3: a call comes in pieces and is ended, or is only ended; no dialect loses it."""
    events = [ContentDelta("Let me see."), PartEnd(Part("text", "Let me see.")), *map(ToolCallEnd, (0, 1), CALLS)]

    reply = heard(name, written(name, events))

    assert reply.message is not None
    assert [part.text for part in reply.message.parts if part.type == "text"] == ["Let me see."]
    calls = [(part.tool_name, dict(part.tool_args or {})) for part in reply.message.parts if part.type == "tool_call"]
    assert calls == [("sound", {"pier": 4}), ("look", {})]


@pytest.mark.parametrize("name", SPOKEN)
def test_calls_that_take_turns_are_told_each_in_its_place(name: str) -> None:
    """L3: pieces of two calls come by turns, as their numbers allow."""
    reply = heard(name, written(name, TAKING_TURNS))

    assert reply.message is not None
    calls = [(part.tool_name, dict(part.tool_args or {})) for part in reply.message.parts]
    assert calls == [("sound", {"pier": 4}), ("look", {})]


def test_every_block_that_bedrock_opens_is_closed_once() -> None:
    """L3: clients of ConverseStream take a call for complete when its block is closed, and not before."""
    only_ended: list[Event] = [*map(ToolCallEnd, (0, 1), CALLS)]
    for events in (TAKING_TURNS, ONE_BY_ONE, only_ended):
        told = [loads(frame.payload) for frame in EventStreamParser().feed(written("bedrock", events))]
        opened = [each["contentBlockIndex"] for each in told if "start" in each]
        closed = [each["contentBlockIndex"] for each in told if each.keys() == {"contentBlockIndex"}]
        assert (opened, sorted(closed)) == ([0, 1], [0, 1])


def test_a_custom_call_that_is_only_ended_is_a_custom_call_from_the_start() -> None:
    """L3: the Responses API names the kind of a call when it is added, and its pieces after that."""
    raw = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c0", "name": "patch", "input": "*** Begin"}
    call = Part("tool_call", tool_call_id="c0", tool_name="patch", tool_args={"_raw": "*** Begin"}, provider_raw=raw)

    data = written("openai_responses", [ToolCallEnd(0, call)])

    assert b"function_call" not in data
    assert data.count(b"event: response.custom_tool_call_input.delta") == 1


TAKING_TURNS: list[Event] = [
    ToolCallStart(0, "sound", "c0"),
    ToolCallStart(1, "look", "c1"),
    ToolCallDelta(0, '{"pier":'),
    ToolCallDelta(1, "{"),
    ToolCallDelta(0, " 4}"),
    ToolCallDelta(1, "}"),
    *map(ToolCallEnd, (0, 1), CALLS),
]
ONE_BY_ONE: list[Event] = [
    ToolCallStart(0, "sound", "c0"),
    ToolCallDelta(0, '{"pier": 4}'),
    ToolCallStart(1, "look", "c1"),
    *map(ToolCallEnd, (0, 1), CALLS),
]
