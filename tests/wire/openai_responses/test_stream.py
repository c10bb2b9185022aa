"""Responses API streams, heard and told."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
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
from weft.errors import WireError
from weft.jsontext import dumps
from weft.wire.openai_responses import DIALECT
from weft.wire.sse import encode_sse
from weft.wire.stream import StreamReader

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
BEGUN = {"id": "resp_1", "object": "response", "status": "in_progress", "model": "m", "output": []}
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Ask."}, {"type": "summary_text", "text": "Now."}],
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "One moment."}],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "arguments": '{"a":1}',
    "call_id": "c1",
    "name": "dig",
}
CUSTOM = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c2", "name": "run", "input": "1+1"}
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed"}
WHOLE = {**BEGUN, "status": "completed", "output": [REASONING, SAID, CALL, CUSTOM, SEARCH], "usage": USAGE}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def added(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return event("output_item.added", output_index=index, item=item)


def done(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return event("output_item.done", output_index=index, item=item)


def extended(index: int, piece: str) -> dict[str, Any]:
    return event("output_text.delta", output_index=index, content_index=0, item_id="msg_1", delta=piece, logprobs=[])


STREAM = [
    event("created", response=BEGUN),
    event("in_progress", response=BEGUN),
    added(0, {"id": "rs_1", "type": "reasoning", "summary": []}),
    event("reasoning_summary_part.added", output_index=0, summary_index=0, part={"type": "summary_text", "text": ""}),
    event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="As"),
    event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="k."),
    event("reasoning_summary_text.done", output_index=0, summary_index=0, text="Ask."),
    event("reasoning_summary_part.done", output_index=0, summary_index=0, part=REASONING["summary"][0]),
    event("reasoning_summary_text.delta", output_index=0, summary_index=1, delta="Now."),
    done(0, REASONING),
    added(1, {**SAID, "status": "in_progress", "content": []}),
    event(
        "content_part.added",
        output_index=1,
        content_index=0,
        part={"type": "output_text", "text": "", "annotations": []},
    ),
    extended(1, "One "),
    extended(1, "moment."),
    event("output_text.done", output_index=1, content_index=0, text="One moment."),
    event("content_part.done", output_index=1, content_index=0, part=SAID["content"][0]),
    done(1, SAID),
    added(2, {**CALL, "arguments": ""}),
    event("function_call_arguments.delta", output_index=2, item_id="fc_1", delta='{"a"'),
    event("function_call_arguments.delta", output_index=2, item_id="fc_1", delta=":1}"),
    event("function_call_arguments.done", output_index=2, item_id="fc_1", arguments='{"a":1}'),
    done(2, CALL),
    added(3, {**CUSTOM, "input": ""}),
    event("custom_tool_call_input.delta", output_index=3, delta="1+1"),
    event("custom_tool_call_input.done", output_index=3, input="1+1"),
    done(3, CUSTOM),
    added(4, SEARCH),
    event("web_search_call.searching", output_index=4, item_id="ws_1"),
    done(4, SEARCH),
    event("completed", response=WHOLE),
]


def hear(events: list[Any], **options: Any) -> tuple[Reply, list[Event]]:
    decoder = DIALECT.StreamDecoder(InMemoryBlobStore(), **options)
    told = [heard for given in events for heard in decoder.feed(given)]
    told += decoder.close()
    return decoder.reply, told  # type: ignore[attr-defined]


def tell(events: list[Event], blobs: InMemoryBlobStore | None = None) -> bytes:
    encoder = DIALECT.StreamEncoder(blobs)
    return b"".join(encoder.feed(each) for each in events) + encoder.close()


def read(data: bytes) -> Reply:
    reader = StreamReader(DIALECT.StreamDecoder(), "sse")
    reader.feed(data)
    reader.close()
    assert reader.reply is not None
    return reader.reply


def parts(reply: Reply) -> tuple[Part, ...]:
    return reply.message.parts if reply.message else ()


def without_reply(events: list[Event]) -> list[Event]:
    return [replace(each, reply=None) if isinstance(each, StreamEnd) else each for each in events]


def test_a_stream_is_told_in_the_order_the_codecs_promise() -> None:
    """W-29 to W-33."""
    whole = DIALECT.decode_response(WHOLE)
    thought, said, call, custom, search = parts(whole)

    reply, told = hear(STREAM)

    assert told == [
        StreamStart("resp_1", "m", {key: value for key, value in BEGUN.items() if key != "output"}),
        RoleChange("assistant"),
        ReasoningDelta("As"),
        ReasoningDelta("k."),
        ReasoningDelta("\n"),
        ReasoningDelta("Now."),
        PartEnd(thought),
        ContentDelta("One "),
        ContentDelta("moment."),
        PartEnd(said),
        ToolCallStart(0, "dig", "c1", {**CALL, "arguments": ""}),
        ToolCallDelta(0, '{"a"'),
        ToolCallDelta(0, ":1}"),
        ToolCallStart(1, "run", "c2", {**CUSTOM, "input": ""}),
        ToolCallDelta(1, "1+1"),
        NativeEvent(STREAM[-3]),
        PartEnd(search),
        ToolCallEnd(0, call),
        ToolCallEnd(1, custom),
        UsageUpdate(Usage(3, 2, 5, USAGE)),
        StreamEnd("tool_calls", "completed", reply=reply),
    ]
    assert (parts(reply), reply.raw, reply.finished) == (parts(whole), whole.raw, True)


def test_folding_the_events_gives_the_answer() -> None:
    """L3: a stream folds to the same reply as the whole response."""
    reply, told = hear(STREAM)

    assert parts(fold(without_reply(told))) == parts(reply)


def test_a_stream_cut_before_its_end_is_put_together_from_its_items() -> None:
    """X-05: what arrived is kept, and no end is made up."""
    reply, told = hear(STREAM[:-1])

    assert parts(reply) == parts(DIALECT.decode_response({**WHOLE, "model": "m"}))
    assert (reply.finish_reason, reply.finished, reply.usage) == (None, False, None)
    assert isinstance(told[-1], StreamEnd)
    assert told[-1].finish_reason is None


@given(st.integers(0, len(STREAM) - 1))
def test_cut_anywhere_the_same_is_heard_when_it_is_told_again(length: int) -> None:
    """L3 and S-02: told again and heard again, a stream says the same, however short."""
    reply, told = hear(STREAM[:length])

    again = read(tell(told))

    assert [(part.type, part.text, part.tool_args) for part in parts(again)] == [
        (part.type, part.text, part.tool_args) for part in parts(reply)
    ]
    assert (again.finish_reason, again.finished) == (None, False)


def test_told_again_a_whole_stream_is_the_same_answer() -> None:
    reply, told = hear(STREAM)

    again = read(tell(told))

    assert (parts(again), again.usage, again.finish_reason) == (parts(reply), reply.usage, reply.finish_reason)


@given(st.integers(1, 400))
def test_split_anywhere_the_same_events_come_out(size: int) -> None:
    """S-02."""
    data = b"".join(encode_sse(dumps(each), event=each["type"]) for each in STREAM)
    reader = StreamReader(DIALECT.StreamDecoder(), "sse")
    told: list[Event] = []
    for start in range(0, len(data), size):
        told += reader.feed(data[start : start + size])
    told += reader.close()

    assert without_reply(told) == without_reply(hear(STREAM)[1])


def test_a_cut_text_keeps_its_pieces_and_what_was_noted_on_it() -> None:
    citation = {"type": "url_citation", "url": "u"}
    reply, _ = hear(
        [
            event("created", response=BEGUN),
            added(0, {**SAID, "content": []}),
            event(
                "content_part.added",
                output_index=0,
                content_index=0,
                part={"type": "output_text", "text": "", "annotations": []},
            ),
            {**extended(0, "One "), "logprobs": [{"token": "One"}]},
            event("output_text.annotation.added", output_index=0, content_index=0, annotation=citation),
            {**extended(0, "mo"), "logprobs": [{"token": "mo"}]},
        ]
    )

    (part,) = parts(reply)
    assert part.text == "One mo"
    assert thaw(part.provider_raw) == {
        "type": "output_text",
        "text": "One mo",
        "annotations": [citation],
        "logprobs": [{"token": "One"}, {"token": "mo"}],
    }


def test_a_server_without_deltas_is_heard_all_the_same() -> None:
    reply, told = hear(
        [
            event("created", response=BEGUN),
            added(0, {**SAID, "content": []}),
            event("output_text.done", output_index=0, content_index=0, text="One moment."),
            added(1, {**CALL, "name": "", "arguments": ""}),
            event("function_call_arguments.done", output_index=1, arguments='{"a":1}', name="dig"),
            added(2, {**CALL, "id": "fc_2", "call_id": "c9", "arguments": ""}),
            done(2, {**CALL, "id": "fc_2", "call_id": "c9"}),
            done(3, {**SAID, "id": "msg_2"}),
        ]
    )

    assert [each for each in told if not isinstance(each, (PartEnd, ToolCallEnd, StreamEnd))][2:] == [
        ContentDelta("One moment."),
        ToolCallStart(0, "dig", "c1"),
        ToolCallDelta(0, '{"a":1}'),
        ToolCallStart(1, "dig", "c9", {**CALL, "id": "fc_2", "call_id": "c9", "arguments": ""}),
        ToolCallDelta(1, '{"a":1}'),
    ]
    assert [part.type for part in parts(reply)] == ["text", "tool_call", "tool_call", "text"]


def test_an_end_without_output_leaves_what_was_streamed() -> None:
    reply, _ = hear([*STREAM[:-1], event("completed", response={**WHOLE, "output": []})])

    assert [part.type for part in parts(reply)] == ["thinking", "text", "tool_call", "tool_call", "provider"]
    assert (reply.finish_reason, reply.usage) == ("tool_calls", Usage(3, 2, 5, USAGE))


def test_deltas_of_items_that_were_never_opened_are_kept_and_noted() -> None:
    """S-09: out of order, without an opening, without an index."""
    reply, told = hear(
        [
            extended(0, "Hel"),
            event("reasoning_text.delta", item_id="rs_9", content_index=0, delta="Hm."),
            event("refusal.delta", output_index=2, content_index=0, delta="No."),
            event("function_call_arguments.delta", output_index=3, delta="{}"),
            event("mcp_call_arguments.delta", output_index=4, delta="{}"),
            event("code_interpreter_call_code.delta", output_index=5, delta="1"),
            extended(0, "lo"),
        ]
    )

    assert isinstance(told[0], StreamStart)
    assert RefusalDelta("No.") in told
    assert [(part.type, part.text) for part in parts(reply)] == [
        ("text", "Hello"),
        ("thinking", "Hm."),
        ("refusal", "No."),
        ("tool_call", None),
        ("provider", None),
        ("provider", None),
    ]
    assert len(reply.notes) == 6


def test_an_index_used_twice_is_two_items() -> None:
    """S-09: calls are not merged."""
    reply, _ = hear(
        [
            event("created", response=BEGUN),
            added(0, {**CALL, "arguments": ""}),
            added(0, {**CALL, "id": "fc_2", "call_id": "c2", "arguments": ""}),
            event("function_call_arguments.delta", output_index=0, delta="{}"),
            done(0, {**CALL, "id": "fc_2", "call_id": "c2", "arguments": "{}"}),
        ]
    )

    assert [part.tool_call_id for part in parts(reply)] == ["c1", "c2"]
    assert reply.notes == ("output item 0 was opened twice; the second is kept after the others",)


def test_servers_without_indices_are_followed_by_id() -> None:
    reply, _ = hear(
        [
            {"type": "response.output_item.added", "item": {**SAID, "content": []}},
            {"type": "response.output_text.delta", "item_id": "msg_1", "delta": "One moment."},
            {"type": "response.output_item.done", "item": SAID},
        ]
    )

    assert parts(reply) == (Part("text", "One moment."),)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ({"type": "error", "code": "x", "message": "overloaded", "param": None}, "overloaded"),
        ({"error": {"message": "no credit"}}, "no credit"),
        ({"error": "plain"}, "plain"),
        (event("failed", response={**BEGUN, "status": "failed", "error": {"code": "x", "message": "broke"}}), "broke"),
    ],
)
def test_an_error_ends_the_answer_and_keeps_what_arrived(last: dict[str, Any], message: str) -> None:
    """W-34."""
    reply, told = hear([*STREAM[:14], last])

    assert StreamError(message) in told
    assert [(part.type, part.text) for part in parts(reply)] == [("thinking", "Ask.\nNow."), ("text", "One moment.")]
    assert (reply.finished, message in reply.notes) == (False, True)


def test_odd_events_are_noted_and_pass() -> None:
    """S-08, S-09: nothing is fatal."""
    odd = [
        extended(0, None),  # type: ignore[arg-type]
        {"type": "response.output_item.added", "output_index": 1},
        event("function_call_arguments.delta", output_index=2),
        event("content_part.added", output_index=1, content_index=0, part=None),
        {"type": ["x"]},
        {"type": "keepalive"},
    ]
    reply, told = hear([*odd, *STREAM])

    assert sum(isinstance(each, NativeEvent) for each in told) == len(odd) + 1
    assert reply.finish_reason == "tool_calls"
    assert len(parts(reply)) == 5


def test_what_comes_for_a_closed_item_changes_nothing() -> None:
    late = [
        extended(1, "!"),
        event("output_text.done", output_index=1, content_index=0, text="!"),
        event("output_text.annotation.added", output_index=1, content_index=0, annotation={}),
        event("function_call_arguments.delta", output_index=2, delta="!"),
    ]
    reply, told = hear([*STREAM[:-1], *late])

    assert parts(reply)[1].text == "One moment."
    assert ContentDelta("!") not in told


def test_items_that_end_out_of_order_are_told_in_theirs() -> None:
    reply, told = hear(
        [
            event("created", response=BEGUN),
            added(0, {**SEARCH, "status": "in_progress"}),
            added(1, {**SAID, "content": []}),
            done(1, SAID),
            done(0, SEARCH),
        ]
    )

    assert [each.part for each in told if isinstance(each, PartEnd)] == list(parts(reply))


# -- telling -----------------------------------------------------------------------------------------------------


def test_events_are_told_as_the_api_tells_them() -> None:
    """Numbers, indices and ids are there on every event, and the last one repeats the whole."""
    blobs = InMemoryBlobStore()
    said = [
        StreamStart("msg_1", "claude"),
        ReasoningDelta("Hm."),
        PartEnd(thinking("Hm.")),
        ContentDelta("Hi"),
        ContentDelta("."),
        ToolCallStart(0, "dig", "c1"),
        ToolCallDelta(0, "{}"),
        PartEnd(text("Hi.")),
        ToolCallEnd(0, tool_call("dig", {}, call_id="c1")),
        UsageUpdate(Usage(3, 2, 5)),
        StreamEnd("tool_calls"),
    ]

    frames = tell(said, blobs).decode().strip().split("\n\n")

    kinds = [frame.split("\n")[0].removeprefix("event: response.") for frame in frames]
    assert kinds == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert all(f'"sequence_number":{n}' in frame for n, frame in zip(count(), frames, strict=False))
    assert '"item_id":"msg_weft_1","output_index":1,"content_index":0,"delta":"Hi"' in frames[10]
    reply = read(tell(said, blobs))
    assert [(part.type, part.text, part.tool_call_id) for part in parts(reply)] == [
        ("thinking", "Hm.", None),
        ("text", "Hi.", None),
        ("tool_call", None, "c1"),
    ]
    assert (reply.finish_reason, reply.id, reply.model) == ("tool_calls", "msg_1", "claude")
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.total_tokens) == (3, 2, 5)


def test_a_reply_from_elsewhere_can_be_told_as_a_stream() -> None:
    """W-35: replayed, told and heard again, the answer is the same."""
    blobs = InMemoryBlobStore()
    drawn = Part("image", blob=blobs.put_blob(b"A", media_type="image/png"))
    said = assistant(
        thinking("Hm."),
        text("Hi."),
        Part("refusal", "No."),
        tool_call("dig", {"a": 1}, call_id="c1"),
        drawn,
        text("Bye."),
    )
    reply = Reply((said,), id="x", model="gemini", finish_reason="length", usage=Usage(1, 2, 3))

    reader = StreamReader(DIALECT.StreamDecoder(blobs), "sse")
    reader.feed(tell(list(replay(reply)), blobs))
    reader.close()

    assert reader.reply is not None
    assert [(part.type, part.text, part.tool_args) for part in parts(reader.reply)] == [
        (part.type, part.text, part.tool_args) for part in said.parts
    ]
    assert reader.reply.finish_reason == "length"


def test_parts_and_calls_that_come_whole_are_opened_and_closed_at_once() -> None:
    said: list[Event] = [
        ContentDelta((text("a"),)),
        ContentDelta("b"),
        RefusalDelta("c"),
        PartEnd(text("b")),
        ToolCallDelta(7, "x"),
        ToolCallEnd(0, tool_call("dig", {"a": 1}, call_id="c1")),
        ToolCallEnd(1, tool_call("", {}, call_id="")),
        PartEnd(Part("video")),
        RoleChange("assistant"),
        NativeEvent({}),
        StreamEnd("stop"),
    ]

    reply = read(tell(said))

    assert [(part.type, part.text, part.tool_name) for part in parts(reply)] == [
        ("text", "a", None),
        ("text", "b", None),
        ("refusal", "c", None),
        ("tool_call", None, "dig"),
        ("tool_call", None, ""),
    ]


def test_an_error_is_told_and_no_end_is_made_up() -> None:
    told = tell([ContentDelta("Hel"), StreamError("cut"), StreamEnd()]).decode()

    assert '"message":"cut"' in told
    assert "response.completed" not in told


def test_what_json_cannot_hold_is_an_error_with_its_place() -> None:
    deep: Any = 1
    for _ in range(20_000):
        deep = {"a": deep}
    part = Part("provider", json={"dialect": "openai_responses"}, provider_raw={"type": "x", "deep": deep})

    with pytest.raises(WireError, match=r"response\.output_item\.added"):
        tell([PartEnd(part)])
