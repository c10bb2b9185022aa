"""ConverseStream: events in, a reply out; and frames back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import assistant, text, thinking, tool_call
from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import (
    ContentDelta,
    Event,
    NativeEvent,
    Part,
    PartEnd,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    RoleChange,
    StreamEnd,
    StreamError,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
    fold,
    replay,
)
from weft.jsontext import dumps
from weft.wire.bedrock import DIALECT
from weft.wire.eventstream import EventStreamParser, Frame, encode_frame
from weft.wire.stream import StreamReader

USAGE = {"inputTokens": 9, "outputTokens": 4, "totalTokens": 13}
CITATION = {"title": "t", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 3}}}


def delta(index: int, **member: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": member, "p": "abc"}}


def start(index: int, **member: Any) -> dict[str, Any]:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": member}}


def stop(index: int) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


BEGIN = {"messageStart": {"role": "assistant", "p": "ab"}}
END: list[dict[str, Any]] = [
    {"messageStop": {"stopReason": "tool_use", "p": "a"}},
    {"metadata": {"usage": USAGE, "metrics": {}, "p": "x"}},
]
SERVER = {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use"}

STREAM: list[dict[str, Any]] = [
    BEGIN,
    delta(0, reasoningContent={"text": "Ask the "}),
    delta(0, reasoningContent={"text": "sonar."}),
    delta(0, reasoningContent={"signature": "c2ln"}),
    stop(0),
    delta(1, reasoningContent={"redactedContent": "YQ=="}),
    delta(1, reasoningContent={"redactedContent": "Yg=="}),
    stop(1),
    start(2, toolUse=SERVER),
    delta(2, toolUse={"input": '{"query":"tide"}'}),
    stop(2),
    start(3, toolResult={"toolUseId": "s1", "status": "success", "type": "nova_grounding_result"}),
    delta(3, toolResult=[{"text": "[HID"}]),
    delta(3, toolResult=[{"text": "DEN]"}, {"json": {}}, {"text": "."}]),
    stop(3),
    delta(4, text="One "),
    delta(4, text=""),
    delta(4, text="moment."),
    stop(4),
    delta(5, citation=CITATION),
    delta(5, text="6.2 m"),
    stop(5),
    delta(6, citation=CITATION),
    stop(6),
    start(7, image={"format": "png"}),
    delta(7, image={"source": {"bytes": "iVBORw0K"}}),
    stop(7),
    start(8, toolUse={"toolUseId": "t1", "name": "sonar"}),
    delta(8, toolUse={"input": ""}),
    delta(8, toolUse={"input": '{"pier"'}),
    delta(8, toolUse={"input": ":4}"}),
    stop(8),
    start(9, toolUse={"toolUseId": "t2", "name": "radar", "type": "tool_use"}),
    stop(9),
    *END,
]
WHOLE: dict[str, Any] = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Ask the sonar.", "signature": "c2ln"}}},
                {"reasoningContent": {"redactedContent": "YWI="}},
                {"toolUse": {**SERVER, "input": {"query": "tide"}}},
                {
                    "toolResult": {
                        "toolUseId": "s1",
                        "status": "success",
                        "type": "nova_grounding_result",
                        "content": [{"text": "[HIDDEN]"}, {"json": {}}, {"text": "."}],
                    }
                },
                {"text": "One moment."},
                {"citationsContent": {"citations": [CITATION], "content": [{"text": "6.2 m"}]}},
                {"citationsContent": {"citations": [CITATION]}},
                {"image": {"format": "png", "source": {"bytes": "iVBORw0K"}}},
                {"toolUse": {"toolUseId": "t1", "name": "sonar", "input": {"pier": 4}}},
                {"toolUse": {"toolUseId": "t2", "name": "radar", "type": "tool_use", "input": {}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": USAGE,
    "metrics": {},
}


def read(events: list[dict[str, Any]], blobs: BlobStore | None = None) -> tuple[list[Event], Reply]:
    decoder = DIALECT.StreamDecoder(blobs)
    told = [event for native in events for event in decoder.feed(native)]
    told += decoder.close()
    reply: Reply | None = decoder.reply  # type: ignore[attr-defined]  # every decoder has one
    assert reply is not None
    return told, reply


def frames(events: list[dict[str, Any]]) -> bytes:
    return b"".join(
        encode_frame(Frame({":event-type": kind, ":message-type": "event"}, dumps(payload)))
        for event in events
        for kind, payload in event.items()
    )


def kept(reply: Reply) -> Any:
    """What a reply says, without the ids that a blob store gives anew each time."""
    parts = [
        (part.type, part.text, part.tool_call_id, part.tool_name, part.tool_args, part.provider_raw, part.json)
        for message in reply.messages
        for part in message.parts
    ]
    return parts, reply.finish_reason, reply.stop_reason, reply.usage, reply.raw


def rewritten(events: list[Event], blobs: BlobStore | None = None) -> tuple[bytes, Reply]:
    encoder = DIALECT.StreamEncoder(blobs)
    written = b"".join(encoder.feed(event) for event in events) + encoder.close()
    reader = StreamReader(DIALECT.StreamDecoder(), "aws_eventstream")
    reader.feed(written)
    reader.close()
    assert reader.reply is not None
    return written, reader.reply


def native(written: bytes) -> list[dict[str, Any]]:
    from weft.jsontext import loads

    return [{frame.event: loads(frame.data)} for frame in EventStreamParser().feed(written)]


def test_a_stream_is_the_answer_it_tells() -> None:
    """R-4: a stream and a whole response cannot be read differently."""
    events, reply = read(STREAM)

    assert kept(reply) == kept(DIALECT.decode_response(WHOLE, InMemoryBlobStore()))
    assert fold(events) == reply
    assert (reply.finished, reply.notes) == (True, ())


def test_deltas_are_told_as_they_come() -> None:
    events, _ = read([BEGIN, delta(0, text="Hi"), stop(0), *STREAM[27:31], *END])

    assert [event for event in events if not isinstance(event, (StreamEnd, UsageUpdate, ToolCallEnd))] == [
        StreamStart(),
        RoleChange("assistant"),
        ContentDelta("Hi"),
        PartEnd(text("Hi")),
        ToolCallStart(0, "sonar", "t1", {"toolUse": {"toolUseId": "t1", "name": "sonar"}}),
        ToolCallDelta(0, '{"pier"'),
        ToolCallDelta(0, ":4}"),
    ]


@given(st.lists(st.integers(1, 200), min_size=1, max_size=40))
def test_cut_anywhere_the_same_events_come_out(sizes: list[int]) -> None:
    """S-02: how bytes were cut is not to be seen."""
    data = frames(STREAM)
    reader = StreamReader(DIALECT.StreamDecoder(InMemoryBlobStore()), "aws_eventstream")
    told: list[Event] = []
    at = 0
    for size in sizes:
        told += reader.feed(data[at : at + size])
        at += size
    told += reader.feed(data[at:])
    told += reader.close()

    assert [event.type for event in told] == [event.type for event in read(STREAM)[0]]
    assert reader.reply is not None
    assert kept(reader.reply) == kept(read(STREAM)[1])


def test_written_again_it_says_the_same() -> None:
    """L3: what the encoder makes of the events is read as the same answer."""
    blobs = InMemoryBlobStore()
    events, reply = read(STREAM, blobs)

    written, again = rewritten(events, blobs)

    assert kept(again) == kept(reply)
    assert {kind for event in native(written) for kind in event} == {kind for event in STREAM for kind in event}


def test_frames_have_the_headers_of_aws() -> None:
    (frame,) = EventStreamParser().feed(DIALECT.StreamEncoder().feed(StreamStart()))

    assert frame.headers == {
        ":event-type": "messageStart",
        ":content-type": "application/json",
        ":message-type": "event",
    }


def test_a_cut_stream_keeps_what_arrived() -> None:
    """W-34, J-07: no finish is invented, arguments that were cut off stay text."""
    _, reply = read(STREAM[:30])

    assert (reply.finish_reason, reply.stop_reason, reply.finished) == (None, None, False)
    assert reply.message is not None
    assert reply.message.parts[-1].tool_args == {"_raw": '{"pier"'}


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"throttlingException": {"message": "slow down"}}, "throttlingException: slow down"),
        ({"internalServerException": {}}, "internalServerException"),
        ({"validationException": "odd"}, "validationException"),
    ],
)
def test_an_exception_ends_the_answer_with_an_error(event: dict[str, Any], error: str) -> None:
    events, reply = read([BEGIN, delta(0, text="Hi"), event])

    assert (reply.finished, reply.finish_reason, reply.notes) == (False, None, (error,))
    assert NativeEvent(event) in events
    assert StreamError(error) in events
    written, _ = rewritten(events)
    assert native(written) == [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"modelStreamErrorException": {"message": error}},
    ]


def test_an_exception_frame_is_known_by_its_header() -> None:
    headers = {":message-type": "exception", ":exception-type": "throttlingException"}
    reader = StreamReader(DIALECT.StreamDecoder(), "aws_eventstream")

    events = reader.feed(encode_frame(Frame(headers, b'{"message":"slow down"}'))) + reader.close()

    assert StreamError("throttlingException: slow down") in events


@pytest.mark.parametrize(
    ("events", "note"),
    [
        ([delta(3, toolUse={"input": "{}"})], "a delta came for content block 3, which was not open"),
        ([delta(3, toolResult=[{"text": "x"}])], "a delta came for content block 3, which was not open"),
        ([STREAM[27], STREAM[27]], "content block 8 was opened twice; the second is kept after the others"),
        ([delta(0, smell="salt")], "delta smell is unknown; it is kept in content block 0"),
        ([{"contentBlockDelta": {}}], "an event could not be read: 'contentBlockIndex'"),
        ([{"contentBlockStart": {"contentBlockIndex": 0, "start": 5}}], "an event could not be read"),
        ([start(0, toolUse={"toolUseId": 5})], "an event could not be read"),
        ([start(0, toolUse={"toolUseId": "t", "name": 5})], "an event could not be read"),
        ([start(0, toolResult=5)], "an event could not be read"),
        ([delta(0, text=["x"])], "an event could not be read"),
        ([delta(0, document="x")], "an event could not be read"),
        ([delta(0, toolUse={"input": 5})], "an event could not be read"),
        ([delta(0, toolResult="x")], "an event could not be read"),
        ([delta(0, reasoningContent={"signature": 5})], "an event could not be read"),
    ],
)
def test_odd_events_are_noted_and_never_fatal(events: list[dict[str, Any]], note: str) -> None:
    """S-08, S-09: the answer goes on; the oddity is noted."""
    _, reply = read([BEGIN, *events, delta(7, text="on"), *END])

    assert any(note in each for each in reply.notes)
    assert reply.message is not None
    assert text("on") in reply.message.parts


def test_events_that_are_new_pass() -> None:
    """S-08: kept verbatim."""
    events, reply = read([BEGIN, {"tideWarning": {"level": 3}}, delta(0, text="Hi"), *END])

    assert NativeEvent({"tideWarning": {"level": 3}}) in events
    assert reply.finished


def test_a_block_that_ends_before_its_turn_waits() -> None:
    """S-09: parts end in the order they began, whatever the stops do."""
    events, reply = read([BEGIN, delta(0, text="a"), delta(1, text="b"), stop(1), stop(0), stop(5), *END])

    assert [event.part.text for event in events if isinstance(event, PartEnd)] == ["a", "b"]
    assert reply.finished


def test_an_empty_stream_is_an_empty_answer() -> None:
    _, reply = read([])

    assert (reply.messages, reply.finished) == ((), False)


def test_sealed_reasoning_that_is_not_base64_is_joined_as_it_came() -> None:
    _, reply = read([BEGIN, *(delta(0, reasoningContent={"redactedContent": piece}) for piece in ("a!", "b!"))])
    _, once = read([BEGIN, delta(0, reasoningContent={"redactedContent": b"ab"})])

    assert reply.message is not None
    assert reply.message.parts[0].provider_raw == {"reasoningContent": {"redactedContent": "a!b!"}}
    assert once.message is not None
    assert once.message.parts[0].provider_raw == {"reasoningContent": {"redactedContent": "YWI="}}


# -- replies of other providers ------------------------------------------------------------------------------------


def test_a_reply_of_another_provider_is_streamed_whole() -> None:
    reply = Reply(
        messages=(assistant(thinking("hm"), "Hello.", tool_call("sonar", {"pier": 4}), provider="openai"),),
        finish_reason="tool_calls",
        usage=Usage(1, 2, 3),
    )

    written, again = rewritten(list(replay(reply)))

    assert native(written) == [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "Hello."}}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "sonar"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"pier":4}'}}}},
        {"contentBlockStop": {"contentBlockIndex": 2}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}, "metrics": {"latencyMs": 0}}},
    ]
    assert again.finish_reason == "tool_calls"


def test_calls_that_tell_their_arguments_only_at_the_end_have_them() -> None:
    """Some providers send calls whole; the deltas of two others may come mixed."""
    one, two = tool_call("sonar", {"pier": 4}), tool_call("radar", {"on": True}, call_id="t2")
    three = tool_call("log", call_id="t3")

    _, reply = rewritten(
        [
            StreamStart(),
            ToolCallStart(0, "sonar", "t1"),
            ToolCallStart(1, "radar", "t2"),
            ToolCallStart(2, "log", "t3"),
            ToolCallDelta(0, '{"pier":'),
            ToolCallDelta(0, "4}"),
            ToolCallEnd(0, one),
            ToolCallEnd(1, two),
            ToolCallEnd(2, three),
            StreamEnd("tool_calls"),
        ]
    )

    assert reply.message is not None
    assert [(part.tool_name, part.tool_args) for part in reply.message.parts] == [
        ("sonar", {"pier": 4}),
        ("radar", {"on": True}),
        ("log", {}),
    ]
    assert reply.notes == ()


def test_a_part_whose_deltas_were_told_before_is_not_told_twice() -> None:
    """Protocols without blocks end their parts at the end of the stream."""
    _, reply = rewritten(
        [
            ReasoningDelta("hm"),
            ContentDelta("Hel"),
            ContentDelta("lo."),
            PartEnd(thinking("hm")),
            PartEnd(text("Hello.")),
            NativeEvent({}),
            StreamEnd("stop"),
        ]
    )

    assert reply.message is not None
    assert [part.text for part in reply.message.parts] == ["hm", "Hello."]


def test_refusals_parts_and_what_cannot_be_said() -> None:
    """A refusal is text here; parts come whole; foreign blocks have no form and are left out."""
    picture = Part("text", text="whole")
    _, reply = rewritten(
        [
            RefusalDelta("No."),
            PartEnd(Part("refusal", text="No.")),
            ContentDelta((picture,)),
            PartEnd(Part("provider", provider_raw={"a": 1})),
            StreamEnd("content_filter"),
        ]
    )

    assert reply.message is not None
    assert [part.text for part in reply.message.parts] == ["No.", "whole"]
    assert reply.stop_reason == "content_filtered"


def test_an_own_block_that_is_new_is_streamed_in_its_start() -> None:
    part = Part("provider", json={"dialect": "bedrock"}, provider_raw={"tideWarning": {"level": 3}})
    odd = Part("tool_call", tool_call_id="t", tool_name="n", tool_args={"_raw": "5"}, provider_raw=None)

    _, reply = rewritten([PartEnd(part), ContentDelta((odd,)), StreamEnd("stop", raw=None)])

    assert reply.message is not None
    assert reply.message.parts[0].provider_raw == {"tideWarning": {"level": 3}}
    assert reply.message.parts[1].tool_args == {"_raw": "5"}


def test_fields_of_the_models_own_are_given_with_the_stop() -> None:
    stops = {"messageStop": {"stopReason": "end_turn", "additionalModelResponseFields": {"stop_sequence": "."}}}
    events, reply = read([BEGIN, delta(0, text="x"), stop(0), stops, END[1]])

    written, again = rewritten(events)

    assert stops in native(written)
    assert kept(again) == kept(reply)
