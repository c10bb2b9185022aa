"""Events to a reply, and a reply to events (message-codecs.md section 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from tests.support.builders import assistant, text, thinking, tool_call
from tests.support.strategies import replies
from weft.canon import (
    ContentDelta,
    Event,
    Fold,
    Message,
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

if TYPE_CHECKING:
    from collections.abc import Iterable


def parts_of(*events: Event) -> tuple[Part, ...]:
    reply = fold(events)
    return reply.message.parts if reply.message else ()


def timeless(reply: Reply) -> Reply:
    """The reply with its messages at one moment: a fold dates them now."""
    return replace(reply, messages=tuple(replace(each, timestamp=assistant().timestamp) for each in reply.messages))


def told(events: Iterable[Event]) -> list[Event]:
    """The events without the whole reply that the last one carries."""
    return [replace(event, reply=None) if isinstance(event, StreamEnd) else event for event in events]


def test_a_stream_folds_to_the_reply_it_tells() -> None:
    reply = fold(
        [
            StreamStart("r1", "gpt", {"object": "chunk"}),
            RoleChange("assistant"),
            ReasoningDelta("h"),
            ReasoningDelta("m"),
            ContentDelta("Hel"),
            ContentDelta("lo"),
            UsageUpdate(Usage(1)),
            NativeEvent({"ping": 1}),
            ToolCallStart(0, "dig", "t1"),
            ToolCallDelta(0, '{"a":'),
            ToolCallDelta(0, "1}"),
            UsageUpdate(Usage(1, 2, 3)),
            StreamEnd("tool_calls", "tool_use", {"object": "end", "extra": True}),
        ]
    )

    assert timeless(reply) == Reply(
        messages=(assistant(thinking("hm"), text("Hello"), tool_call("dig", {"a": 1}), id="r1"),),
        id="r1",
        model="gpt",
        finish_reason="tool_calls",
        stop_reason="tool_use",
        usage=Usage(1, 2, 3),
        raw={"object": "end", "extra": True},
        finished=True,
    )


def test_w32_nothing_said_is_a_reply_without_messages() -> None:
    """W-32, W-33: an empty stream still has a start and an end."""
    assert fold([]) == Reply(finished=False)
    assert fold([StreamStart(), StreamEnd("stop")]) == Reply(finish_reason="stop")


def test_w30_the_last_role_counts_and_none_is_assistant() -> None:
    """W-30, W-32."""
    silent = fold([ContentDelta("a")])
    named = fold([RoleChange("assistant"), RoleChange("user"), ContentDelta("a")])

    assert [reply.message.role for reply in (silent, named) if reply.message] == ["assistant", "user"]


def test_w32_calls_are_attached_by_index_whatever_order_they_began_in() -> None:
    parts = parts_of(
        ToolCallStart(2, "c", "t2"),
        ToolCallStart(0, "a", "t0"),
        ToolCallDelta(2, '{"n":2}'),
        ToolCallStart(1, "b", "t1"),
        ToolCallDelta(0, '{"n":0}'),
    )

    assert parts == (
        tool_call("a", {"n": 0}, call_id="t0"),
        tool_call("b", call_id="t1"),
        tool_call("c", {"n": 2}, call_id="t2"),
    )


def test_parts_stand_in_the_order_they_began() -> None:
    """A whole response keeps a call before the text that follows it, so a stream does too."""
    parts = parts_of(
        ContentDelta("before"), ToolCallStart(0, "dig", "t1"), ToolCallDelta(0, "{}"), ContentDelta("after")
    )

    assert parts == (text("before"), tool_call(), text("after"))


def test_w31_argument_pieces_before_their_start_are_kept() -> None:
    parts = parts_of(ToolCallDelta(0, '{"a":'), ToolCallStart(0, "dig", "t1"), ToolCallDelta(0, "1}"))

    assert parts == (tool_call("dig", {"a": 1}),)


def test_two_calls_of_one_index_are_not_merged_and_none_is_lost() -> None:
    """S-09: a provider that counts wrongly."""
    parts = parts_of(
        ToolCallStart(0, "dig", "t1"),
        ToolCallDelta(0, '{"a":1}'),
        ToolCallStart(0, "fill", "t2"),
        ToolCallDelta(0, "{}"),
    )

    assert parts == (tool_call("dig", {"a": 1}), tool_call("fill", call_id="t2"))


def test_j07_a_call_that_was_cut_off_keeps_its_argument_text() -> None:
    """W-34, J-07: what arrived, as it arrived."""
    reply = fold([ToolCallStart(0, "dig", "t1"), ToolCallDelta(0, '{"a": "b'), StreamError("broken pipe"), StreamEnd()])

    assert timeless(reply) == Reply(
        messages=(assistant(tool_call("dig", {"_raw": '{"a": "b'})),), finished=False, notes=("broken pipe",)
    )


def test_the_part_of_a_finished_call_stands_for_its_pieces() -> None:
    signed = Part("tool_call", tool_call_id="t1", tool_name="dig", tool_args={}, provider_raw={"sig": "x"})

    assert parts_of(ToolCallStart(0, "dig", "t1"), ToolCallDelta(0, "{}"), ToolCallEnd(0, signed)) == (signed,)
    assert parts_of(ToolCallEnd(0, signed)) == (signed,)


def test_w34_an_error_leaves_what_arrived_and_makes_up_no_finish() -> None:
    reply = fold([StreamStart("r1"), ContentDelta("Hel"), StreamError("reset"), StreamError("again"), StreamEnd()])

    assert timeless(reply) == Reply(
        messages=(assistant("Hel", id="r1"),), id="r1", finished=False, notes=("reset", "again")
    )


def test_w34_a_reply_with_an_error_is_not_finished_even_with_a_reason() -> None:
    assert fold([StreamError("overloaded"), StreamEnd("stop")]) == Reply(
        finish_reason="stop", finished=False, notes=("overloaded",)
    )


@pytest.mark.parametrize(
    ("delta", "kind"), [(ContentDelta, "text"), (ReasoningDelta, "thinking"), (RefusalDelta, "refusal")]
)
def test_a_finished_part_stands_for_the_deltas_of_its_kind(delta: Any, kind: str) -> None:
    signed = Part(kind, "ab", provider_raw={"signature": "s"})

    parts = parts_of(delta("a"), delta("b"), PartEnd(signed), delta("c"))

    assert parts == (signed, Part(kind, "c"))


def test_a_finished_part_stands_where_its_deltas_began() -> None:
    """Deltas of two kinds may mix; a part that ends late must neither be doubled nor move behind."""
    signed = thinking("hmhm", raw={"signature": "s"})

    parts = parts_of(
        ReasoningDelta("hm"), ContentDelta("He"), ReasoningDelta("hm"), PartEnd(signed), ContentDelta("llo")
    )

    assert parts == (signed, text("He"), text("llo"))


def test_a_part_that_was_not_told_in_pieces_comes_after_what_was() -> None:
    picture = Part("image", provider_raw={"url": "x"})

    assert parts_of(ContentDelta("a"), PartEnd(picture), ContentDelta("b")) == (text("a"), picture, text("b"))
    assert parts_of(ContentDelta("a"), ContentDelta((picture, picture)), ContentDelta("b")) == (
        text("a"),
        picture,
        picture,
        text("b"),
    )


def test_a_fold_can_be_asked_at_any_moment() -> None:
    folding = Fold()
    seen = []
    for event in (ContentDelta("He"), ContentDelta("llo"), ToolCallStart(0, "dig", "t1")):
        folding.feed(event)
        seen.append(timeless(folding.reply()).messages)

    assert seen == [(assistant("He"),), (assistant("Hello"),), (assistant("Hello", tool_call()),)]


def test_a_reply_that_the_decoder_read_is_the_reply() -> None:
    reply = Reply(messages=(assistant("a"), assistant("b")), finish_reason="stop")

    assert fold([ContentDelta("a"), StreamEnd("stop", reply=reply)]) is reply


@given(replies())
def test_w35_folding_a_replay_gives_the_reply_back(reply: Reply) -> None:
    """W-35: whole, and from the events alone."""
    events = list(replay(reply))

    assert fold(events) == reply
    assert timeless(fold(told(events))) == timeless(reply)


@given(replies())
def test_w33_a_replay_keeps_the_order_of_a_stream(reply: Reply) -> None:
    """W-33: one start first, deltas, ends of calls in order of index, one end last; W-31: no delta before its start."""
    types = [event.type for event in replay(reply)]
    events = list(replay(reply))
    ends = [event.index for event in events if isinstance(event, ToolCallEnd)]
    starts = [event.index for event in events if isinstance(event, ToolCallStart)]
    deltas = [position for position, kind in enumerate(types) if kind.endswith(".delta") or kind == "tool_call.start"]

    assert [position for position, kind in enumerate(types) if kind == "stream.start"] == [0]
    assert [position for position, kind in enumerate(types) if kind == "stream.end"] == [len(types) - 1]
    assert ends == starts == list(range(len(starts)))
    assert not ends or max(deltas) < types.index("tool_call.end")
    assert all(event.delta for event in events if isinstance(event, (ContentDelta, ReasoningDelta, ToolCallDelta)))


def test_w35_a_replay_tells_every_kind_of_part() -> None:
    signed = thinking("hm", raw={"signature": "s"})
    reply = Reply(
        messages=(assistant(signed, "Hi", Part("refusal", "no"), tool_call("dig", {"a": 1}), id="r1"),),
        id="r1",
        model="gpt",
        finish_reason="stop",
        usage=Usage(1),
        notes=(),
    )

    assert list(replay(reply)) == [
        StreamStart("r1", "gpt", None),
        RoleChange("assistant"),
        ReasoningDelta("hm"),
        PartEnd(signed),
        ContentDelta("Hi"),
        PartEnd(text("Hi")),
        RefusalDelta("no"),
        PartEnd(Part("refusal", "no")),
        ToolCallStart(0, "dig", "t1"),
        ToolCallDelta(0, '{"a":1}'),
        ToolCallEnd(0, tool_call("dig", {"a": 1})),
        UsageUpdate(Usage(1)),
        StreamEnd("stop", reply=reply),
    ]


def test_w31_a_call_without_an_id_starts_without_one() -> None:
    reply = Reply(messages=(Message("assistant", [tool_call(call_id="")]),))

    assert next(event for event in replay(reply) if isinstance(event, ToolCallStart)).to_dict() == {
        "type": "tool_call.start",
        "index": 0,
        "name": "dig",
    }


@pytest.mark.parametrize(
    ("event", "written"),
    [
        (StreamStart(), {"type": "stream.start"}),
        (StreamStart("r1", None, {"a": 1}), {"type": "stream.start", "metadata": {"id": "r1"}}),
        (StreamStart(None, "gpt"), {"type": "stream.start", "metadata": {"model": "gpt"}}),
        (RoleChange("user"), {"type": "role", "role": "user"}),
        (ContentDelta("a"), {"type": "content.delta", "delta": "a"}),
        (ContentDelta((text("a"),)), {"type": "content.delta", "delta": [{"type": "text", "text": "a"}]}),
        (ReasoningDelta("a"), {"type": "reasoning.delta", "delta": "a"}),
        (RefusalDelta("a"), {"type": "refusal.delta", "delta": "a"}),
        (ToolCallStart(0, "dig", "t1"), {"type": "tool_call.start", "index": 0, "name": "dig", "id": "t1"}),
        (ToolCallStart(0, "dig"), {"type": "tool_call.start", "index": 0, "name": "dig"}),
        (ToolCallDelta(1, "{}"), {"type": "tool_call.delta", "index": 1, "delta": "{}"}),
        (
            ToolCallEnd(0, tool_call("dig", {"a": [1]})),
            {
                "type": "tool_call.end",
                "index": 0,
                "tool_call": {"type": "tool_call", "tool_call_id": "t1", "tool_name": "dig", "tool_args": {"a": [1]}},
            },
        ),
        (PartEnd(text("a")), {"type": "part.end", "part": {"type": "text", "text": "a"}}),
        (
            UsageUpdate(Usage(1, 2, None, {"a": 1})),
            {"type": "usage", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": None}},
        ),
        (NativeEvent({"a": (1,)}), {"type": "native", "raw": {"a": [1]}}),
        (StreamError("reset"), {"type": "stream.error", "error": "reset"}),
        (StreamEnd("stop", "end_turn", {"a": 1}, Reply()), {"type": "stream.end", "finish_reason": "stop"}),
        (StreamEnd(), {"type": "stream.end"}),
    ],
    ids=lambda case: type(case).__name__,
)
def test_events_are_written_with_the_fields_of_the_table(event: Event, written: dict[str, Any]) -> None:
    """The table of section 6: what is not set is left out."""
    assert event.to_dict() == written


def test_the_message_of_a_reply_is_its_first_choice() -> None:
    assert Reply(messages=[assistant("a"), assistant("b")]).message == assistant("a")  # type: ignore[arg-type]
    assert Reply().message is None
