"""Gemini streams: chunks in, events out, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import assistant, text, thinking, tool_call
from weft.blobs import InMemoryBlobStore
from weft.canon import (
    ContentDelta,
    Event,
    NativeEvent,
    Part,
    PartEnd,
    ReasoningDelta,
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
from weft.errors import WireError
from weft.jsontext import dumps
from weft.wire.gemini import DIALECT
from weft.wire.gemini.response import decode_response
from weft.wire.stream import StreamReader

BLOBS = InMemoryBlobStore()
USAGE = {"promptTokenCount": 4, "candidatesTokenCount": 2, "totalTokenCount": 6}


def chunk(*parts: Any, index: int = 0, **fields: Any) -> dict[str, Any]:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": index, **fields}
    return {"candidates": [candidate], "modelVersion": "gemini-x", "responseId": "r1"}


def told(chunks: Iterable[Any]) -> tuple[list[Event], Reply]:
    decoder = DIALECT.StreamDecoder(BLOBS)
    events = [event for each in chunks for event in decoder.feed(each)]
    events += decoder.close()
    last = events[-1]
    assert isinstance(last, StreamEnd)
    assert last.reply is not None
    return events, last.reply


def content(reply: Reply) -> Any:
    shown = [
        [(p.type, p.text, p.tool_name, p.tool_args, p.tool_call_id, p.provider_raw) for p in m.parts]
        for m in reply.messages
    ]
    return shown, reply.finish_reason, reply.usage, reply.finished


def told_again(events: Iterable[Event]) -> Reply:
    encoder = DIALECT.StreamEncoder(BLOBS)
    written = b"".join(encoder.feed(event) for event in events) + encoder.close()
    reader = StreamReader(DIALECT.StreamDecoder(BLOBS), "sse")
    reader.feed(written)
    reader.close()
    assert reader.reply is not None
    return reader.reply


ANSWER = [
    chunk({"text": "Look it ", "thought": True}),
    chunk({"text": "up.", "thought": True}),
    chunk({"text": "Let "}),
    chunk({"text": "me look."}),
    chunk({"text": "", "thoughtSignature": "c2lnMQ=="}),
    chunk(
        {"text": "Now."}, {"functionCall": {"name": "tide", "args": {"port": "Oban"}}, "thoughtSignature": "c2lnMg=="}
    ),
    chunk({"executableCode": {"code": "1"}}, {"text": ""}),
    {**chunk({"text": ""}, finishReason="STOP", groundingMetadata={"a": 1}), "usageMetadata": USAGE},
]
WHOLE = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Look it up.", "thought": True},
                    {"text": "Let me look.", "thoughtSignature": "c2lnMQ=="},
                    {"text": "Now."},
                    {"functionCall": {"name": "tide", "args": {"port": "Oban"}}, "thoughtSignature": "c2lnMg=="},
                    {"executableCode": {"code": "1"}},
                ],
            },
            "index": 0,
            "finishReason": "STOP",
            "groundingMetadata": {"a": 1},
        }
    ],
    "modelVersion": "gemini-x",
    "responseId": "r1",
    "usageMetadata": USAGE,
}


def test_a_stream_is_the_whole_response_it_describes() -> None:
    """L3: neighbouring texts of equal thought are one part, and signatures stay on their part."""
    events, reply = told(ANSWER)
    whole = decode_response(WHOLE)

    assert content(reply) == content(whole)
    assert reply.raw == whole.raw
    assert content(fold(events)) == content(whole)
    assert content(fold([e for e in events if not isinstance(e, StreamEnd)]))[0] == content(whole)[0]


def test_events_come_in_order_as_they_arrive() -> None:
    """W-29 to W-33."""
    events, reply = told(ANSWER)
    thought, said, now, call, code = reply.messages[0].parts

    assert events == [
        StreamStart("r1", "gemini-x", {"modelVersion": "gemini-x", "responseId": "r1"}),
        RoleChange("assistant"),
        ReasoningDelta("Look it "),
        ReasoningDelta("up."),
        PartEnd(thought),
        ContentDelta("Let "),
        ContentDelta("me look."),
        PartEnd(said),
        ContentDelta("Now."),
        PartEnd(now),
        ToolCallStart(0, "tide", call.tool_call_id, ANSWER[5]["candidates"][0]["content"]["parts"][1]),
        ToolCallDelta(0, '{"port":"Oban"}'),
        PartEnd(code),
        ToolCallEnd(0, call),
        UsageUpdate(Usage(4, 2, 6, USAGE)),
        StreamEnd("tool_calls", "STOP", reply=reply),
    ]


def test_a_stream_written_again_says_the_same() -> None:
    """L3."""
    events, reply = told(ANSWER)

    assert content(told_again(events)) == content(reply)


pieces = st.one_of(
    st.fixed_dictionaries(
        {"text": st.text(max_size=3)},
        optional={"thought": st.just(True), "thoughtSignature": st.sampled_from(["YQ==", "Yg=="])},
    ),
    st.builds(lambda name: {"functionCall": {"name": name, "args": {"a": name}}}, st.sampled_from("fg")),
    st.just({"inlineData": {"mimeType": "image/png", "data": "YQ=="}}),
    st.just({"newKind": {"a": 1}}),
)


@given(st.lists(st.lists(pieces, max_size=3), max_size=5), st.booleans())
def test_any_stream_written_again_says_the_same(chunks: list[list[Any]], ends: bool) -> None:
    """L3 as a property, ended or cut short."""
    stream = [chunk(*each) for each in chunks]
    if ends:
        stream.append({**chunk(finishReason="STOP"), "usageMetadata": USAGE})

    events, reply = told(stream)
    again = told_again(events)

    shown = content(reply)
    assert content(again) == shown


@given(st.data())
def test_a_stream_split_anywhere_tells_the_same(data: st.DataObject) -> None:
    """L3: at any byte, as server-sent events or as one JSON array."""
    framing = data.draw(st.sampled_from(["sse", "json_array"]))
    bodies = [dumps(each) for each in ANSWER]
    stream = (
        b"".join(b"data: " + body + b"\r\n\r\n" for body in bodies)
        if framing == "sse"
        else b"[" + b",\r\n".join(bodies) + b"]"
    )
    cut = data.draw(st.integers(0, len(stream)))
    reader = StreamReader(DIALECT.StreamDecoder(), framing)

    events = reader.feed(stream[:cut]) + reader.feed(stream[cut:]) + reader.close()

    assert events[:-1] == told(ANSWER)[0][:-1]


def test_a_stream_cut_short_keeps_what_came() -> None:
    """C-45, W-34: no reason is made up."""
    events, reply = told([{**chunk({"text": "Hel"}), "usageMetadata": USAGE}])

    assert content(reply) == ([[("text", "Hel", None, None, None, None)]], None, Usage(4, 2, 6, USAGE), False)
    assert events[-1] == StreamEnd(None, None, reply=reply)
    assert content(told_again(events)) == content(reply)


def test_several_candidates_are_kept_apart_and_only_the_first_is_told() -> None:
    stream = [
        chunk({"text": "a"}),
        chunk({"text": "x"}, {"functionCall": {"name": "f"}}, {"newKind": 1}, index=1),
        chunk({"text": "b"}, finishReason="STOP"),
        chunk({"text": "y"}, index=1, finishReason="STOP"),
    ]

    events, reply = told(stream)

    assert [event.delta for event in events if isinstance(event, ContentDelta)] == ["a", "b"]
    assert [[part.text for part in message.parts] for message in reply.messages] == [["ab"], ["x", None, None, "y"]]
    assert content(told_again(events)) == content(reply)


def test_arguments_that_stream_in_pieces_are_put_together() -> None:
    """Vertex's streamFunctionCallArguments: values at JSON paths, texts to be joined."""

    def piece(call: dict[str, Any]) -> dict[str, Any]:
        return chunk({"functionCall": call})

    stream = [
        chunk({"text": "Hm."}, {"functionCall": {"name": "move", "willContinue": True}, "thoughtSignature": "c2ln"}),
        piece(
            {
                "partialArgs": [{"jsonPath": "$.to[1].name", "stringValue": "Ob", "willContinue": True}],
                "willContinue": True,
            }
        ),
        piece({"partialArgs": [{"jsonPath": "$.to[1].name", "stringValue": "an"}], "willContinue": True}),
        piece(
            {
                "partialArgs": [{"jsonPath": "$['fast']", "boolValue": True}, {"jsonPath": "$.n", "numberValue": 2}],
                "willContinue": True,
            }
        ),
        piece(
            {"partialArgs": [{"jsonPath": "$.why", "nullValue": "NULL_VALUE"}], "args": {"k": 1}, "willContinue": True}
        ),
        piece(
            {
                "partialArgs": [{"jsonPath": "$.n.deep", "numberValue": 1}, {"jsonPath": "$.to.x", "boolValue": True}],
                "willContinue": True,
            }
        ),
        piece({}),
        piece({"name": "stay", "willContinue": True}),
        chunk({"functionCall": {"name": "wait", "args": {}}}, finishReason="STOP"),
    ]

    events, reply = told(stream)

    move, stay, wait = (part for part in reply.messages[0].parts if part.type == "tool_call")
    assert move.tool_args == {
        "to": (None, {"name": "Oban"}),
        "fast": True,
        "n": {"deep": 1},
        "why": None,
        "k": 1,
    }
    assert move.provider_raw is not None
    assert move.provider_raw["thoughtSignature"] == "c2ln"
    assert [(stay.tool_name, stay.tool_args), (wait.tool_name, wait.tool_args)] == [("stay", {}), ("wait", {})]
    assert [event.name for event in events if isinstance(event, ToolCallStart)] == ["move", "stay", "wait"]
    assert content(told_again(events)) == content(reply)


def test_a_call_that_never_ends_is_kept_as_far_as_it_came() -> None:
    stream = [chunk({"functionCall": {"name": "f", "willContinue": True}})]

    events, reply = told(stream)

    assert [(part.type, part.tool_name) for part in reply.messages[0].parts] == [("tool_call", "f")]
    assert content(told_again(events)) == content(reply)


def test_one_bad_part_does_not_cost_the_answer() -> None:
    """S-08, S-09: noted and kept, never fatal."""
    stream: list[Any] = [
        chunk({"text": "a"}, 3, {"text": 4}, {"functionCall": {}}, {"functionCall": 5}, {"text": "b"}),
        {"candidates": 3},
        {"candidates": [3]},
        {"unknown": 1},
        chunk(finishReason="STOP"),
    ]

    events, reply = told(stream)

    assert [part.text for part in reply.messages[0].parts] == ["ab"]
    assert reply.finished
    assert len(reply.notes) == 6
    assert [event.raw for event in events if isinstance(event, NativeEvent)] == [
        {"value": 3},
        {"text": 4},
        {"functionCall": {}},
        {"functionCall": 5},
        {"candidates": 3},
        {"candidates": [3]},
        {"unknown": 1},
    ]


@pytest.mark.parametrize("error", [{"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}, "overloaded"])
def test_an_error_in_the_stream_ends_it_unfinished(error: Any) -> None:
    """W-34."""
    events, reply = told([chunk({"text": "Hel"}), {"error": error}])

    assert StreamError("overloaded") in events
    assert (reply.messages[0].parts[0].text, reply.finished, reply.notes) == ("Hel", False, ("overloaded",))
    assert content(told_again(events)) == content(reply)


def test_a_stream_of_nothing_but_an_error_is_an_error() -> None:
    reply = told([{"error": {"message": "no"}}])[1]

    assert (reply.messages, reply.raw, reply.finished) == ((), {"error": {"message": "no"}}, False)


def test_a_refused_prompt_ends_the_stream() -> None:
    """A chunk without candidates still gives usage and starts the stream."""
    events, reply = told([{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE, "responseId": "r1"}])

    assert (reply.finish_reason, reply.finished, reply.usage) == ("content_filter", True, Usage(4, 2, 6, USAGE))
    assert events[0] == StreamStart(
        "r1", None, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE, "responseId": "r1"}
    )
    assert content(told_again(events)) == content(reply)


def test_a_foreign_reply_is_told_as_a_gemini_stream() -> None:
    """W-35: events of another dialect, whose parts end late and whose calls come in pieces."""
    message = assistant(
        thinking("hm"), text("Look."), tool_call("tide", {"a": 1}, call_id="k1"), Part("refusal", text="No.")
    )
    reply = Reply((message,), "x", "m", "tool_calls", "tool_calls", Usage(1, 2, 3), {"object": "chat.completion"})

    again = told_again(replay(reply))

    assert [(part.type, part.text, part.tool_call_id) for part in again.messages[0].parts] == [
        ("thinking", "hm", None),
        ("text", "Look.No.", None),
        ("tool_call", None, "k1"),
    ]
    assert (again.finish_reason, again.id, again.model) == ("tool_calls", "x", "m")
    assert again.usage is not None
    assert again.usage.total_tokens == 3


def test_parts_that_end_late_or_come_whole_are_written_once() -> None:
    events: list[Event] = [
        ContentDelta("a"),
        ReasoningDelta("b"),
        PartEnd(text("a")),
        ContentDelta((Part("json", json={"c": 1}), Part("compaction"))),
        PartEnd(thinking("b")),
        PartEnd(thinking("d")),
        RoleChange("assistant"),
        StreamEnd("length", "length"),
    ]

    again = told_again(events)

    assert [(part.type, part.text) for part in again.messages[0].parts] == [
        ("text", "a"),
        ("thinking", "b"),
        ("text", '{"c":1}'),
        ("thinking", "d"),
    ]
    assert again.finish_reason == "length"


def test_what_is_nested_past_writing_is_an_error_with_a_place() -> None:
    """L6: never a RecursionError."""
    deep: dict[str, Any] = {}
    for _ in range(20_000):
        deep = {"a": deep}

    with pytest.raises(WireError, match="nested too deeply"):
        DIALECT.StreamEncoder(BLOBS).feed(ToolCallStart(0, "f", raw={"functionCall": {"name": "f", "args": deep}}))
