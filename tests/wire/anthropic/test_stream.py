"""Messages API streams: events in, a reply out; and the stream back."""

from __future__ import annotations

import base64
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import assistant, text, thinking, tool_call
from tests.support.mutations import mutated, nested
from weft.blobs import InMemoryBlobStore
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
    thaw,
)
from weft.jsontext import dumps
from weft.wire import StreamReader
from weft.wire.anthropic import DIALECT
from weft.wire.sse import encode_sse

Json = dict[str, Any]
SIGNED: Json = {"type": "thinking", "thinking": "Ask the sonar.", "signature": "c2ln"}
MADE = {"provider": "anthropic", "dialect": "anthropic", "model": "claude-opus-4-5"}
ENVELOPE: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "stop_reason": None,
    "usage": {"input_tokens": 12, "output_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 4}},
}
START: Json = {"type": "message_start", "message": {**ENVELOPE, "content": []}}
STOP: Json = {"type": "message_stop"}


def opened(index: int, **block: Any) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closed(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def ended(reason: str | None = "end_turn", **usage: Any) -> Json:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


SPOKEN: list[Json] = [
    START,
    opened(0, type="thinking", thinking="", signature=""),
    {"type": "ping"},
    delta(0, "thinking_delta", thinking="Ask "),
    delta(0, "thinking_delta", thinking="the sonar."),
    delta(0, "signature_delta", signature="c2ln"),
    closed(0),
    opened(1, type="text", text=""),
    delta(1, "text_delta", text="One "),
    delta(1, "text_delta", text="moment."),
    closed(1),
    opened(2, type="tool_use", id="t1", name="depth", input={}),
    delta(2, "input_json_delta", partial_json=""),
    delta(2, "input_json_delta", partial_json='{"pier"'),
    delta(2, "input_json_delta", partial_json=": 4}"),
    closed(2),
    opened(3, type="tool_use", id="t2", name="tide", input={}),
    closed(3),
    ended("tool_use", output_tokens=9),
    STOP,
]
WHOLE: Json = {
    **ENVELOPE,
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {**ENVELOPE["usage"], "output_tokens": 9},
    "content": [
        SIGNED,
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "t1", "name": "depth", "input": {"pier": 4}},
        {"type": "tool_use", "id": "t2", "name": "tide", "input": {}},
    ],
}


def hear(*native: Any, provider: str | None = None) -> tuple[list[Event], Reply]:
    decoder = DIALECT.StreamDecoder(InMemoryBlobStore(), provider=provider)
    events = [event for each in native for event in decoder.feed(each)] + decoder.close()
    reply = decoder.reply  # type: ignore[attr-defined]  # every decoder here keeps it
    assert isinstance(reply, Reply)
    return events, reply


def same_time(reply: Reply) -> Reply:
    """Take the time of hearing out of a comparison."""
    return replace(reply, messages=tuple(assistant(*m.parts, id=m.id, provider=m.provider) for m in reply.messages))


def written(events: list[Event]) -> bytes:
    encoder = DIALECT.StreamEncoder(InMemoryBlobStore())
    return b"".join([encoder.feed(event) for event in events]) + encoder.close()


def read(data: bytes, *cuts: int) -> tuple[list[Event], Reply]:
    reader = StreamReader(DIALECT.StreamDecoder(InMemoryBlobStore()), "sse")
    events: list[Event] = []
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for begin, end in pairwise(places):
        events += reader.feed(data[begin:end])
    events += reader.close()
    assert reader.reply is not None
    return events, reader.reply


def as_sse(*events: Json) -> bytes:
    return b"".join(encode_sse(dumps(event), event=event["type"]) for event in events)


# -- hearing ---------------------------------------------------------------------------------------------------


def test_a_stream_is_told_as_it_comes() -> None:
    """W-29 to W-33: empty deltas are not told, parts end where the protocol closes them, calls at the end."""
    events, reply = hear(*SPOKEN)

    call = Part(
        "tool_call",
        tool_call_id="t1",
        tool_name="depth",
        tool_args={"pier": 4},
        provider_raw={"type": "tool_use", "id": "t1", "name": "depth", "input": {"pier": 4}},
    )
    bare = {"type": "tool_use", "id": "t2", "name": "tide", "input": {}}
    usage = Usage(12, 9, 21, WHOLE["usage"])
    assert events == [
        StreamStart("msg_1", "claude-opus-4-5", ENVELOPE),
        RoleChange("assistant"),
        ReasoningDelta("Ask "),
        ReasoningDelta("the sonar."),
        PartEnd(Part("thinking", "Ask the sonar.", json=MADE, provider_raw=SIGNED)),
        ContentDelta("One "),
        ContentDelta("moment."),
        PartEnd(text("One moment.")),
        ToolCallStart(0, "depth", "t1", {"type": "tool_use", "id": "t1", "name": "depth", "input": {}}),
        ToolCallDelta(0, '{"pier"'),
        ToolCallDelta(0, ": 4}"),
        ToolCallStart(1, "tide", "t2", bare),
        ToolCallEnd(0, call),
        ToolCallEnd(1, Part("tool_call", tool_call_id="t2", tool_name="tide", tool_args={}, provider_raw=bare)),
        UsageUpdate(usage),
        StreamEnd("tool_calls", "tool_use", reply=reply),
    ]


def test_a_stream_and_a_whole_answer_are_the_same_reply() -> None:
    """README case 2, R-4, L3."""
    events, reply = hear(*SPOKEN)

    assert same_time(reply) == same_time(DIALECT.decode_response(WHOLE))
    assert fold(events) == reply


def test_blocks_that_are_not_ours_are_kept_whole() -> None:
    """S-08: an unknown block or event is kept, and the answer is not lost."""
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]}
    native = {"type": "weather_report", "wind": 4}
    events, reply = hear(
        START,
        opened(0, type="server_tool_use", id="s1", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"query":"tides"}'),
        closed(0),
        opened(1, **result),
        closed(1),
        native,
        opened(2, type="text", text=""),
        delta(2, "citations_delta", citation={"cited_text": "a"}),
        delta(2, "text_delta", text="High."),
        delta(2, "citations_delta", citation={"cited_text": "b"}),
        delta(2, "sparkle_delta", sparkle="*", size=3),
        delta(2, "sparkle_delta", sparkle="*"),
        closed(2),
        opened(3, type="compaction"),
        delta(3, "compaction_delta", content="so far"),
        closed(3),
        ended(),
        STOP,
    )

    assert reply.message is not None
    assert [(part.type, part.text, part.provider_raw) for part in reply.message.parts] == [
        (
            "provider",
            None,
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tides"}},
        ),
        ("provider", None, {**result, "content": ({"url": "u"},)}),
        (
            "text",
            "High.",
            {
                "type": "text",
                "text": "High.",
                "citations": ({"cited_text": "a"}, {"cited_text": "b"}),
                "sparkle": "**",
                "size": 3,
            },
        ),
        ("compaction", None, {"type": "compaction", "content": "so far"}),
    ]
    assert NativeEvent(native) in events
    assert reply.finished
    assert len(reply.notes) == 2


def test_usage_that_is_not_known_yet_does_not_unsay_what_is() -> None:
    _, reply = hear(
        START, {**ended(), "usage": {"input_tokens": None, "output_tokens": 5, "server_tool_use": {"n": 1}}}
    )

    assert reply.usage == Usage(12, 5, 17, {**ENVELOPE["usage"], "output_tokens": 5, "server_tool_use": {"n": 1}})


def test_fields_beside_the_known_ones_become_the_envelopes() -> None:
    _, reply = hear(START, {**ended(), "context_management": {"applied_edits": []}}, {**STOP, "metrics": {"ms": 5}})

    assert reply.raw["context_management"] == {"applied_edits": ()}
    assert reply.raw["message_stop"] == {"metrics": {"ms": 5}}


def test_bedrock_wraps_each_event_once_more() -> None:
    chunks = [{"chunk": {"bytes": base64.b64encode(dumps(event)).decode()}} for event in SPOKEN]
    bare = [{"bytes": base64.b64encode(dumps(event)).decode()} for event in SPOKEN]
    opened_already = [{"chunk": event} for event in SPOKEN]

    whole = same_time(hear(*SPOKEN)[1])
    assert [same_time(hear(*each)[1]) for each in (chunks, bare, opened_already)] == [whole, whole, whole]


def test_who_answered_is_who_was_asked() -> None:
    _, reply = hear(*SPOKEN, provider="bedrock")

    assert reply.message is not None
    assert (reply.message.provider, dict(reply.message.parts[0].json or {})["provider"]) == ("bedrock", "bedrock")


# -- ending badly ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", range(len(SPOKEN)))
def test_cut_anywhere_it_keeps_what_arrived_and_makes_up_no_reason(cut: int) -> None:
    """W-34, X-05."""
    events, reply = hear(*SPOKEN[:cut])

    end = events[-1]
    assert isinstance(end, StreamEnd)
    assert (end.finish_reason, reply.finished) == (None, False)
    heard = "".join(event.delta for event in events if isinstance(event, ContentDelta) and isinstance(event.delta, str))
    told = [part.text for part in (reply.message.parts if reply.message else ()) if part.type == "text"]
    assert "".join(each or "" for each in told) == heard


def test_arguments_that_were_cut_off_stay_text() -> None:
    """J-07: never replaced by {}, never executed."""
    _, reply = hear(*SPOKEN[:14])

    assert reply.message is not None
    assert reply.message.parts[-1].tool_args == {"_raw": '{"pier"'}


@pytest.mark.parametrize("pieces", ["[1]", "5", '"x"', "{"])
def test_arguments_that_are_no_object_stay_text(pieces: str) -> None:
    """M-47, T-61."""
    _, reply = hear(START, SPOKEN[11], delta(2, "input_json_delta", partial_json=pieces), ended(), STOP)

    assert reply.message is not None
    assert reply.message.parts[0].tool_args == {"_raw": pieces}


def test_an_error_ends_the_stream_with_what_arrived() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    events, reply = hear(*SPOKEN[:10], error)

    assert StreamError("Overloaded") in events
    assert events[-1] == StreamEnd(reply=reply)
    assert NativeEvent(error) in events
    assert (reply.finished, reply.notes) == (False, ("Overloaded",))
    assert reply.message is not None
    assert reply.message.parts[1].text == "One moment."


@pytest.mark.parametrize(
    ("error", "said"), [({"error": "busy"}, "busy"), ({"error": {"x": 1}}, "{'x': 1}"), ({}, "None")]
)
def test_an_error_of_another_shape_is_still_one(error: Json, said: str) -> None:
    _, reply = hear({"type": "error", **error})

    assert reply.notes == (said,)


def test_a_stream_of_nothing_is_an_unfinished_reply() -> None:
    events, reply = hear()

    assert events == [StreamStart(), StreamEnd(reply=reply)]
    assert (reply.messages, reply.finished) == ((), False)


# -- oddities: S-09 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fields", "part"),
    [
        ("text_delta", {"text": "hi"}, Part("text", "hi")),
        ("thinking_delta", {"thinking": "hm"}, Part("thinking", "hm")),
        ("input_json_delta", {"partial_json": "{}"}, Part("tool_call", tool_call_id="", tool_name="", tool_args={})),
    ],
)
def test_a_delta_before_its_block_opens_one(kind: str, fields: Json, part: Part) -> None:
    """S-09: delta before start."""
    _, reply = hear(START, delta(0, kind, **fields), closed(0), ended(), STOP)

    assert reply.message is not None
    [got] = reply.message.parts
    assert (got.type, got.text, got.tool_name, got.tool_args) == (part.type, part.text, part.tool_name, part.tool_args)
    assert reply.notes == (f"a {kind} came for content block 0, which was not open",)


def test_a_number_used_twice_does_not_merge_calls() -> None:
    """S-09: duplicate index; calls are not merged and names not doubled."""
    _, reply = hear(
        START,
        opened(0, type="tool_use", id="t1", name="dig", input={}),
        opened(0, type="tool_use", id="t2", name="dig", input={}),
        ended("tool_use"),
        STOP,
    )

    assert reply.message is not None
    assert [(part.tool_call_id, part.tool_name) for part in reply.message.parts] == [("t1", "dig"), ("t2", "dig")]
    assert reply.notes == ("content block 0 was opened twice; the second is kept after the others",)


def test_without_numbers_blocks_follow_each_other() -> None:
    """S-09: missing index."""
    bare = [{key: value for key, value in event.items() if key != "index"} for event in SPOKEN]

    events, reply = hear(*bare)

    assert same_time(replace(reply, notes=())) == same_time(hear(*SPOKEN)[1])
    assert len(reply.notes) == 3
    assert fold(events) == reply


def test_closing_twice_tells_a_part_once() -> None:
    events, reply = hear(*SPOKEN[:11], closed(1), closed(9), opened(2, type="text", text="x"), closed(2), ended(), STOP)

    assert [event.part.text for event in events if isinstance(event, PartEnd)] == ["Ask the sonar.", "One moment.", "x"]
    assert reply.notes == (
        "content block 1 was closed, but is not open",
        "content block 9 was closed, but is not open",
    )


def test_blocks_in_another_order_come_back_in_theirs() -> None:
    _, reply = hear(START, opened(1, type="text", text="b"), opened(0, type="text", text="a"), ended(), STOP)

    assert reply.message is not None
    assert [part.text for part in reply.message.parts] == ["a", "b"]


def test_a_second_beginning_is_noted() -> None:
    _, reply = hear(START, START, ended(), STOP)

    assert reply.notes == ("message_start came twice; the second is kept",)


@pytest.mark.parametrize(
    "odd",
    [
        [],
        "text",
        5,
        None,
        {},
        {"type": ["x"]},
        {"type": "odd", "chunk": {"x": 1}},
        {"chunk": {"bytes": "%%%"}},
        {"chunk": 5},
        {"bytes": 5},
        {"type": "content_block_start", "index": "0", "content_block": {"type": "text"}},
        {"type": "content_block_start", "index": 0, "content_block": "text"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": 5}},
        {"type": "content_block_start", "index": [], "content_block": {}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}},
        {"type": "content_block_delta", "index": 0, "delta": {}},
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_stop"},
        {"type": "content_block_start", "index": 7, "content_block": {"type": "tool_use", "id": 5, "name": ["x"]}},
        {"type": "content_block_start", "index": 7, "content_block": {"type": "tool_use", "name": "dig"}},
        {"type": "content_block_start", "index": 7, "content_block": {"type": "image", "source": {"type": "base64"}}},
        {"type": "message_start", "message": "x"},
        {"type": "message_delta", "delta": "x", "usage": "y"},
        {"type": "message_delta", "usage": nested(1_000)},
        {"type": "message_stop", "amazon": nested(1_000)},
    ],
)
def test_an_odd_event_does_not_cost_the_answer(odd: Any) -> None:
    """S-08, S-09: no crash; what is readable before and after it is kept."""
    _, reply = hear(*SPOKEN[:11], odd, ended(), STOP)

    assert reply.message is not None
    assert [part.text for part in reply.message.parts if part.type in ("thinking", "text")][:2] == [
        "Ask the sonar.",
        "One moment.",
    ]


def test_a_block_that_cannot_be_read_is_kept_beside_the_others() -> None:
    broken = {"type": "tool_use", "id": 5, "name": "dig", "input": {}}

    _, reply = hear(*SPOKEN[:11], opened(2, **broken), ended(), STOP)

    assert reply.message is not None
    assert [(part.type, part.provider_raw) for part in reply.message.parts[1:]] == [
        ("text", None),
        ("provider", broken),
    ]
    assert reply.notes == (
        "content[2]: tool_use block lacks a field, or has one of another type: id, input, name, type",
    )


@given(events=mutated([SPOKEN]), data=st.data())
def test_whatever_is_streamed_is_told_to_its_end(events: Any, data: st.DataObject) -> None:
    """L6 for streams: mutated events, dropped and repeated ones."""
    if not isinstance(events, list):
        return
    order = data.draw(st.lists(st.sampled_from(range(len(events))), max_size=20)) if events else []

    for heard in (events, [events[number] for number in order]):
        told, reply = hear(*heard)
        assert isinstance(told[-1], StreamEnd)
        assert fold(told) == reply
        written(told)


# -- frames ----------------------------------------------------------------------------------------------------


@given(cuts=st.lists(st.integers(0, 10_000), max_size=12))
def test_split_anywhere_it_gives_the_same_events(cuts: list[int]) -> None:
    """S-02, L3."""
    data = as_sse(*SPOKEN)

    assert [_timeless(event) for event in read(data, *cuts)[0]] == [_timeless(event) for event in read(data)[0]]


def _timeless(event: Event) -> Event:
    if isinstance(event, StreamEnd) and event.reply is not None:
        return replace(event, reply=same_time(event.reply))
    return event


def test_frames_that_are_cut_or_no_json_are_noted() -> None:
    """S-06, S-08."""
    data = as_sse(*SPOKEN[:11]) + b"event: ping\ndata: {not json}\n\n" + as_sse(ended(), STOP) + b"data: {"

    events, reply = read(data)

    assert NativeEvent({"data": "{not json}"}) in events
    assert reply.finished
    assert len(reply.notes) == 2


# -- speaking --------------------------------------------------------------------------------------------------


def test_a_stream_is_written_live() -> None:
    """The bytes of each event are there as soon as the event is."""
    encoder = DIALECT.StreamEncoder()

    assert encoder.feed(StreamStart("m", "claude", None)).startswith(b"event: message_start\ndata: ")
    assert encoder.feed(ContentDelta("hi")) == as_sse(
        opened(0, type="text", text=""), delta(0, "text_delta", text="hi")
    )
    assert encoder.feed(ContentDelta("!")) == as_sse(delta(0, "text_delta", text="!"))
    assert encoder.feed(PartEnd(text("hi!"))) == as_sse(closed(0))
    assert encoder.feed(RefusalDelta("no")) == as_sse(
        opened(1, type="text", text=""), delta(1, "text_delta", text="no")
    )
    assert encoder.feed(UsageUpdate(Usage(3, 4))) == b""
    assert encoder.feed(StreamEnd("stop")) == as_sse(
        closed(1),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"input_tokens": 3, "output_tokens": 4},
        },
        STOP,
    )
    assert encoder.close() == b""


def test_a_stream_written_again_is_the_same_answer() -> None:
    """L3."""
    events, reply = hear(*SPOKEN)

    assert same_time(read(written(events))[1]) == same_time(reply)


def test_everything_a_stream_can_carry_comes_back() -> None:
    events, reply = hear(
        START,
        opened(0, type="redacted_thinking", data="EmQ="),
        closed(0),
        opened(1, type="text", text=""),
        delta(1, "text_delta", text="High."),
        delta(1, "citations_delta", citation={"cited_text": "a"}),
        closed(1),
        opened(2, type="server_tool_use", id="s1", name="web_search", input={"query": "q"}),
        closed(2),
        opened(3, type="text", text=""),
        closed(3),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "pause_turn", "stop_sequence": "x", "container": {"id": "c"}},
            "usage": {"output_tokens": 5},
            "context_management": {"applied_edits": []},
        },
        STOP,
    )

    assert same_time(read(written(events))[1]) == same_time(reply)


def test_a_cut_stream_is_written_as_a_cut_stream() -> None:
    """X-05: no stop is invented; what was said about stopping before the cut is said."""
    events, _ = hear(*SPOKEN[:10])
    late, reply = hear(*SPOKEN[:-1])

    assert b"message_delta" not in written(events)
    assert b"message_delta" in written(late)
    assert b"message_stop" not in written(late)
    assert same_time(read(written(late))[1]) == same_time(reply)


def test_an_error_is_written_as_one() -> None:
    out = written([StreamStart(), StreamError("Overloaded"), StreamEnd()])

    assert out.endswith(as_sse({"type": "error", "error": {"type": "api_error", "message": "Overloaded"}}))


def test_calls_that_take_turns_keep_their_arguments() -> None:
    """Chat Completions may interleave the arguments of parallel calls."""
    out = written(
        [
            ToolCallStart(0, "dig", "t1"),
            ToolCallStart(1, "tide", "t2"),
            ToolCallDelta(0, '{"a":'),
            ToolCallDelta(1, '{"b":'),
            ToolCallDelta(0, "1}"),
            ToolCallDelta(1, "2}"),
            StreamEnd("tool_calls"),
        ]
    )

    _, reply = read(out)
    assert reply.message is not None
    assert [(part.tool_call_id, part.tool_args) for part in reply.message.parts] == [("t1", {"a": 1}), ("t2", {"b": 2})]
    assert reply.finish_reason == "tool_calls"


def test_calls_that_came_whole_are_told_whole() -> None:
    """Gemini sends a call in one piece; some tell only that it began, some only that it ended."""
    first, second = tool_call("dig", {"n": 1}), tool_call("tide", {}, call_id="t2")
    out = written(
        [ToolCallStart(0, "dig", "t1"), ToolCallEnd(0, first), ToolCallEnd(1, second), StreamEnd("tool_calls")]
    )

    _, reply = read(out)
    assert reply.message is not None
    assert [(part.tool_call_id, part.tool_name, part.tool_args) for part in reply.message.parts] == [
        ("t1", "dig", {"n": 1}),
        ("t2", "tide", {}),
    ]


def test_parts_without_deltas_are_told_whole_and_those_of_others_left_out() -> None:
    store = InMemoryBlobStore()
    picture = Part("image", blob=store.put_blob(b"png", media_type="image/png", kind="image"))
    theirs = Part("provider", json={"dialect": "openai_responses"}, provider_raw={"type": "web_search_call"})
    encoder = DIALECT.StreamEncoder(store)

    out = encoder.feed(ContentDelta((picture,))) + encoder.feed(PartEnd(theirs)) + encoder.feed(StreamEnd("odd"))

    _, reply = read(out)
    assert reply.message is not None
    assert [part.type for part in reply.message.parts] == ["image"]
    assert reply.stop_reason == "end_turn"


def test_a_part_closed_by_the_next_one_is_not_told_twice() -> None:
    """Chat tells its parts' ends only when all is over."""
    reply = Reply((assistant(thinking("hm"), "Aye."),), finish_reason="stop")
    out = written(
        [
            StreamStart(),
            ReasoningDelta("hm"),
            ContentDelta("Aye."),
            PartEnd(thinking("hm")),
            PartEnd(text("Aye.")),
            StreamEnd("stop", reply=reply),
        ]
    )

    _, heard = read(out)
    assert heard.message is not None
    assert [(part.type, part.text) for part in heard.message.parts] == [("thinking", "hm"), ("text", "Aye.")]


def test_any_answer_can_be_told_as_a_stream() -> None:
    """W-35."""
    reply = DIALECT.decode_response(WHOLE)

    assert same_time(read(written(list(replay(reply))))[1]) == same_time(reply)


def test_a_compaction_keeps_what_is_sealed_in_it() -> None:
    """L3: `encrypted_content` has to come back as it was, and its delta may have no summary."""
    events, reply = hear(
        START,
        opened(0, type="compaction", content=None),
        delta(0, "compaction_delta", content="All went ", encrypted_content=None),
        delta(0, "compaction_delta", content="well.", encrypted_content="c2Vh"),
        delta(0, "compaction_delta", content=None, encrypted_content="bGVk"),
        closed(0),
        ended(),
        STOP,
    )
    sealed = {"type": "compaction", "content": "All went well.", "encrypted_content": "c2VhbGVk"}

    assert DIALECT.encode_response(reply).body["content"] == [sealed]
    assert DIALECT.encode_response(read(written(events))[1]).body["content"] == [sealed]


def test_where_another_model_takes_over_the_answer_has_its_name() -> None:
    """L3: a whole answer is told under the last model's name; each thought is its own model's."""
    hop = {"type": "fallback", "from": {"model": "claude-opus-4-5"}, "to": {"model": "claude-sonnet-5"}}
    events, reply = hear(
        START,
        opened(0, **SIGNED),
        closed(0),
        opened(1, **hop),
        closed(1),
        opened(2, **SIGNED),
        closed(2),
        ended(),
        STOP,
    )
    whole = {
        **ENVELOPE,
        "model": "claude-sonnet-5",
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "content": [SIGNED, hop, SIGNED],
    }

    assert same_time(reply) == same_time(DIALECT.decode_response(whole))
    assert reply.message is not None
    assert [(part.json or {}).get("model") for part in reply.message.parts] == [
        "claude-opus-4-5",
        None,
        "claude-sonnet-5",
    ]
    assert same_time(read(written(events))[1]) == same_time(reply)


def test_the_last_word_unsays_nothing_by_null() -> None:
    """L3: as the SDK has it: a container or transformations told at the start outlive a null at the end."""
    start = {**START, "message": {**START["message"], "container": {"id": "box"}, "input_transformations": []}}
    last = {**ended(), "input_transformations": None, "context_management": None}
    last["delta"] = {**last["delta"], "container": None}
    _, reply = hear(start, last, STOP)

    raw = thaw(reply.raw)
    assert (raw["container"], raw["input_transformations"], raw["context_management"]) == ({"id": "box"}, [], None)


def test_a_whole_answer_told_as_a_stream_keeps_who_may_make_a_call() -> None:
    """L3, W-35: what a call has beside its name and arguments is in its opening."""
    call = {"type": "tool_use", "id": "t1", "name": "depth", "input": {"pier": 4}, "caller": {"type": "direct"}}
    whole = {**WHOLE, "content": [call]}
    events = list(replay(DIALECT.decode_response(whole)))

    assert DIALECT.encode_response(read(written(events))[1]).body["content"] == [call]
