"""J-09: whatever arrives is read, or refused with its place, and soon."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.mutations import mutated
from weft.blobs import InMemoryBlobStore
from weft.canon import Message, Part, Reply, RunSpec, ToolSpecification, Usage, replay
from weft.errors import WireError
from weft.wire import ADAPTER, Dialect, StreamReader, dialect, parser_for

NAMES = ("openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "cohere", "ollama")
SECONDS = [0.3, pytest.param(600.0, marks=pytest.mark.soak)]
SLOW_SECONDS = 1.0


def seeds(spoken: Dialect) -> tuple[list[Any], list[Any], list[Any]]:
    """Give requests, responses and stream events of a dialect, for breaking."""
    blobs = InMemoryBlobStore()
    picture = blobs.put_blob(b"png", media_type="image/png", kind="image")
    call = Part("tool_call", tool_call_id="call_1", tool_name="depth", tool_args={"pier": 4, "in": ["m"]})
    thought = Part("thinking", "Ask.", json={"provider": spoken.provider, "dialect": spoken.name})
    messages = [
        Message("system", (Part("text", "Be brief."),)),
        Message("user", (Part("text", "Depth?"), Part("image", blob=picture))),
        Message("assistant", (thought, Part("text", "One moment."), call)),
        Message("tool", (Part("tool_result", tool_call_id="call_1", tool_name="depth", tool_output="6.2 m"),)),
    ]
    tool = ToolSpecification("depth", "Sounds.", {"type": "object", "properties": {"pier": {"type": "integer"}}})
    spec = RunSpec(spoken.provider, spoken.endpoint, "mint-1", max_output_tokens=9, tools=(tool,))
    request = spoken.encode_request(messages, spec, blobs).body
    reply = Reply((messages[2],), "r1", "mint-1", "tool_calls", None, Usage(3, 4, 7))
    response = spoken.encode_response(reply, blobs).body
    encoder = spoken.StreamEncoder(blobs)
    stream = b"".join(encoder.feed(event) for event in replay(reply)) + encoder.close()
    decoder = spoken.StreamDecoder(blobs)
    events = [decoder.open(frame) for frame in parser_for(spoken.framing).feed(stream) if frame.data != b"[DONE]"]  # type: ignore[attr-defined]
    return [request], [response], [events]


@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("name", NAMES)
def test_whatever_arrives_is_read_or_refused_and_soon(name: str, seconds: float) -> None:
    spoken = dialect(name)
    requests, responses, streams = seeds(spoken)

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(mutated(requests), mutated(responses), mutated(streams))
    def check(request: Any, response: Any, events: Any) -> None:
        for work, given_to in ((_request, request), (_response, response), (_stream, events)):
            begun = time.thread_time()  # what it works, not what it waits for a busy machine
            work(spoken, given_to)
            assert time.thread_time() - begun < SLOW_SECONDS

    deadline = time.monotonic() + seconds
    while True:
        check()
        if time.monotonic() > deadline:
            break


def _request(spoken: Dialect, body: Any) -> None:
    blobs = InMemoryBlobStore()
    try:
        decoded = spoken.decode_request(body, blobs)
        spoken.encode_request(decoded.messages, decoded.spec, blobs)
        spoken.encode_request(decoded.messages, decoded.spec, blobs, ADAPTER)
    except WireError:
        pass  # refused, with its place
    except TypeError:
        assert not isinstance(body, dict)  # M-42: what is no mapping is not a body


def _response(spoken: Dialect, body: Any) -> None:
    blobs = InMemoryBlobStore()
    try:
        spoken.encode_response(spoken.decode_response(body, blobs), blobs)
    except WireError:
        pass  # refused, with its place
    except TypeError:
        assert not isinstance(body, dict)


def _stream(spoken: Dialect, events: Any) -> None:
    decoder = spoken.StreamDecoder()
    for event in events if isinstance(events, list) else [events]:
        decoder.feed(event if isinstance(event, dict) else {"value": event})
    closing = decoder.close()
    assert closing[-1].type == "stream.end"


def test_bytes_that_are_no_stream_end_as_an_unfinished_reply() -> None:
    reader = StreamReader(dialect("anthropic").StreamDecoder(), "sse")

    told = reader.feed(b"\x00\xff garbage \n\n") + reader.close()

    assert told[-1].type == "stream.end"
    assert reader.reply is not None
    assert not reader.reply.finished
