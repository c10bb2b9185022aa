"""Mending calls and results: what every provider refuses, put right and told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import NOON, assistant, message, text, tool, tool_call, tool_result, user
from weft.canon import Message, Part, output_text
from weft.wire.adapters import ID_RULES
from weft.wire.repair import UNANSWERED, IdRule, repair

if TYPE_CHECKING:
    from collections.abc import Sequence

ANY = IdRule()
WORD = IdRule(re.compile(r"[a-zA-Z0-9_-]+"), 20)
OPTIONAL = IdRule(needed=False)


def shown(messages: Sequence[Message]) -> list[Any]:
    """Give a conversation as short as it can be told."""
    return [(each.role, *map(_part, each.parts)) for each in messages]


def _part(part: Part) -> str:
    match part.type:
        case "tool_call":
            return f"call {part.tool_call_id}"
        case "tool_result":
            failed = "!" if part.provider_raw and part.provider_raw.get("is_error") else ""
            return f"result {part.tool_call_id}{failed} {part.tool_output}"
        case _:
            return f"{part.text}"


def call(call_id: str | None = "t1", name: str = "dig") -> Part:
    return Part("tool_call", tool_call_id=call_id, tool_name=name, tool_args={})


def result(call_id: str | None = "t1", output: Any = "ok", name: str | None = None) -> Part:
    return Part("tool_result", tool_call_id=call_id, tool_name=name, tool_output=output)


SOUND = [
    [],
    [user("a"), assistant("b")],
    [user("a"), assistant(call()), tool(result()), assistant("b")],
    [user("a"), assistant("x", call("t1"), call("t2")), tool(result("t1"), result("t2")), user("b")],
    [assistant(call("t1"), call("t2")), tool(result("t1")), tool(result("t2")), tool("beside it")],
    [assistant(call("t1")), tool(result("t1")), assistant(call("t2")), tool(result("t2"))],
    [user(call("t1")), assistant("a call in a user message is not a call")],
]


@pytest.mark.parametrize("messages", SOUND)
def test_a_sound_conversation_is_given_back_itself(messages: list[Message]) -> None:
    repaired = repair(messages, WORD)

    assert repaired.messages is messages
    assert (repaired.mends, repaired.as_given("context.messages[9]")) == ([], "context.messages[9]")


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    """Issue 3, item 4: orphan tool calls."""
    messages = [user("a"), assistant("b", call()), user("never mind")]

    repaired = repair(messages, ANY)

    assert shown(repaired.messages) == [
        ("user", "a"),
        ("assistant", "b", "call t1"),
        ("tool", f"result t1! {UNANSWERED}"),
        ("user", "never mind"),
    ]
    assert repaired.mends == ["context.messages[1]: tool call 't1' has no result; one that says so is sent"]


def test_a_result_without_a_call_is_sent_as_text() -> None:
    """Issue 3, item 4: orphan tool results. Nothing is lost."""
    messages = [
        user("a"),
        tool(result("t9", {"depth": 6.2}, "sonar"), text("and a remark")),
        tool(Part("annotation", json={"n": 1}), result("t8")),
    ]

    repaired = repair(messages, ANY)

    assert shown(repaired.messages) == [
        ("user", "a"),
        ("user", 'Result of sonar (call t9): {"depth":6.2}', "and a remark"),
        ("user", "None", "Result (call t8): ok"),
    ]
    assert repaired.mends == [
        "context.messages[1]: tool result 't9' answers no call; it is sent as text",
        "context.messages[2]: tool result 't8' answers no call; it is sent as text",
    ]


def test_a_provider_that_remembers_the_calls_gets_their_results() -> None:
    """`previous_response_id`: the calls are on the provider's side."""
    messages = [tool(result("t9"))]
    mixed = [assistant(call("t1")), user("x"), tool(result("t9"), result("t1"))]

    assert repair(messages, ANY, keeps_orphans=True).messages is messages
    assert shown(repair(mixed, ANY, keeps_orphans=True).messages) == [
        ("assistant", "call t1"),
        ("tool", "result t1 ok"),
        ("user", "x"),
        ("tool", "result t9 ok"),
    ]


def test_results_far_from_their_calls_and_in_another_order_are_brought_back() -> None:
    messages = [
        assistant(call("t1"), call("t2"), call("t3")),
        user("meanwhile"),
        tool(result("t3", "three")),
        assistant("hm"),
        tool(result("t1", "one"), result("t2", "two"), Part("annotation", json={"cache": True})),
    ]

    repaired = repair(messages, ANY)

    assert shown(repaired.messages) == [
        ("assistant", "call t1", "call t2", "call t3"),
        ("tool", "result t1 one", "result t2 two", "result t3 three"),
        ("user", "meanwhile"),
        ("assistant", "hm"),
    ]
    assert repaired.mends == [
        "context.messages[0]: its tool results are sent right after it, in the order of the calls"
    ]


def test_the_marks_of_a_moved_message_move_along() -> None:
    messages = [assistant(call()), user("x"), tool(result(), Part("annotation", json={"cache": True}))]

    assert repair(messages, ANY).messages[1].parts == (result(), Part("annotation", json={"cache": True}))


def test_a_result_before_its_call_is_put_after_it() -> None:
    """Issue 3, item 4: results in the wrong order."""
    assert shown(repair([tool(result()), assistant(call())], ANY).messages) == [
        ("assistant", "call t1"),
        ("tool", "result t1 ok"),
    ]


def test_results_in_another_order_than_the_calls_are_sorted() -> None:
    messages = [assistant(call("t1"), call("t2")), tool(result("t2", "two"), result("t1", "one"))]

    assert shown(repair(messages, ANY).messages)[1] == ("tool", "result t1 one", "result t2 two")


def test_a_second_result_for_a_call_is_sent_as_text() -> None:
    messages = [assistant(call()), tool(result(output="first")), user("x"), tool(result(output="second"))]

    assert shown(repair(messages, ANY).messages) == [
        ("assistant", "call t1"),
        ("tool", "result t1 first"),
        ("user", "x"),
        ("user", "Result (call t1): second"),
    ]


def test_an_id_used_twice_is_renamed_with_its_result() -> None:
    """Issue 3, item 4: duplicate ids; each result stays with the call before it."""
    messages = [
        assistant(call("t1")),
        tool(result("t1", "first")),
        assistant(call("t1")),
        tool(result("t1", "second")),
    ]

    repaired = repair(messages, ANY)

    new = repaired.messages[2].parts[0].tool_call_id
    assert new not in (None, "t1")
    assert shown(repaired.messages) == [
        ("assistant", "call t1"),
        ("tool", "result t1 first"),
        ("assistant", f"call {new}"),
        ("tool", f"result {new} second"),
    ]
    assert repaired.mends == [f"context.messages[2]: tool call id 't1' is used twice; {new!r} is sent"]


def test_the_same_part_twice_is_two_calls() -> None:
    """Joined threads may share their very parts."""
    once, answer = call(), result()
    messages = [assistant(once, once), tool(answer, answer)]

    repaired = repair(messages, ANY)

    ids = [part.tool_call_id for part in repaired.messages[0].parts]
    assert len(set(ids)) == 2
    assert [part.tool_call_id for part in repaired.messages[1].parts] == ids


def test_an_unanswered_call_does_not_take_the_result_of_a_later_one_with_its_id() -> None:
    messages = [assistant(call("t1")), user("x"), assistant(call("t1")), tool(result("t1"))]

    roles = [(each.role, _part(each.parts[0]).endswith(UNANSWERED)) for each in repair(messages, ANY).messages]
    assert roles == [("assistant", False), ("tool", True), ("user", False), ("assistant", False), ("tool", False)]


@pytest.mark.parametrize("bad", ["call:1", "a" * 65, "ü", "a b", "\ud800", "|"])
def test_ids_the_target_would_refuse_are_replaced(bad: str) -> None:
    """Issue 3, item 4: ids illegal for the target, by length or by characters."""
    messages = [assistant(call(bad)), tool(result(bad))]

    repaired = repair(messages, WORD)

    new = repaired.messages[0].parts[0].tool_call_id
    assert new is not None
    assert WORD.takes(new)
    assert shown(repaired.messages) == [("assistant", f"call {new}"), ("tool", f"result {new} ok")]
    assert repaired.mends == [
        f"context.messages[0]: tool call id {bad!r} is not accepted by the target; {new!r} is sent"
    ]
    assert repair(messages, WORD).messages[0].parts[0].tool_call_id == new


@pytest.mark.parametrize(
    ("target", "longest"), [("anthropic", 200), ("bedrock", 64), ("openai_chat", 40), ("openai_responses", 64)]
)
def test_every_target_takes_what_it_is_given(target: str, longest: int) -> None:
    rule = ID_RULES[target]

    assert rule.takes("a" * longest)
    assert not rule.takes("a" * (longest + 1))
    assert rule.takes(rule.mend("x" * 300))


def test_the_pickiest_rule_is_met() -> None:
    """Mistral takes exactly nine letters and digits."""
    nine = IdRule(re.compile(r"[a-zA-Z0-9]{9}"), 9)

    assert nine.takes(nine.mend("toolu_01AbCd"))


def test_a_missing_id_is_made_up_where_a_result_is_there() -> None:
    """T-90: a result without an id answers the earliest unanswered call of its name."""
    messages = [
        assistant(call(None, "dig"), call("call_1", "tide"), call(None, "tide")),
        tool(result(None, "second", "tide"), result(None, "first", "dig"), result(None, "third", "tide")),
    ]

    repaired = repair(messages, ANY)

    ids = [part.tool_call_id for part in repaired.messages[0].parts]
    assert len(set(ids)) == 3
    assert ids[1] == "call_1"
    assert shown(repaired.messages)[1] == (
        "tool",
        f"result {ids[0]} first",
        "result call_1 second",
        f"result {ids[2]} third",
    )


def test_what_has_neither_id_nor_partner_is_left_for_the_dialect_to_report() -> None:
    """model.md section 10: tool_call without id, tool_result without id are reasons for leaving a part out."""
    messages = [
        user("a"),
        assistant(text("b"), call(None, "dig")),
        tool(result(None, name="else"), result("t9"), "and text"),
    ]

    repaired = repair(messages, ANY)

    assert shown(repaired.messages) == [
        ("user", "a"),
        ("assistant", "b", "call None"),
        ("tool", "result None ok"),
        ("user", "Result (call t9): ok", "and text"),
    ]


def test_where_ids_are_not_needed_none_are_made_up() -> None:
    """Gemini goes by name and order."""
    messages = [user("a"), assistant(call(None)), tool(result(None, name="dig"))]
    lonely = [user("a"), assistant(call(None)), user("b"), tool(result(None, name="else"))]

    assert repair(messages, OPTIONAL).messages is messages
    assert shown(repair(lonely, OPTIONAL).messages) == [
        ("user", "a"),
        ("assistant", "call None"),
        ("tool", f"result None! {UNANSWERED}"),
        ("user", "b"),
        ("user", "Result of else (call None): ok"),
    ]


def test_a_result_without_id_or_name_answers_the_earliest_call() -> None:
    messages = [assistant(call("t1")), tool(result(None))]

    assert shown(repair(messages, ANY).messages) == [("assistant", "call t1"), ("tool", "result t1 ok")]


def test_places_are_told_as_they_were_given() -> None:
    """The conversation that is planned may be longer than the one that was given; its owner knows only the latter."""
    messages = [user("a"), assistant("x", call("t1"), call("t2")), user("b"), tool("c", result("t2")), user("d")]

    repaired = repair(messages, ANY)

    assert shown(repaired.messages) == [
        ("user", "a"),
        ("assistant", "x", "call t1", "call t2"),
        ("tool", f"result t1! {UNANSWERED}", "result t2 ok"),
        ("user", "b"),
        ("user", "c"),
        ("user", "d"),
    ]
    assert [repaired.as_given(f"context.messages[{m}]") for m in range(6)] == [
        f"context.messages[{m}]" for m in (0, 1, 3, 2, 3, 4)
    ]
    assert repaired.as_given("see context.messages[2].parts[1] and context.messages[5].parts[0]") == (
        "see context.messages[3].parts[1] and context.messages[4].parts[0]"
    )


# -- any conversation ------------------------------------------------------------------------------------------

ids = st.sampled_from([None, "", "t1", "t2", "t3", "a:b", "x" * 30, "ü"])
names = st.sampled_from(["dig", "tide"])
some_parts = st.one_of(
    st.builds(text, st.sampled_from(["one", "two", ""])),
    st.builds(call, ids, names),
    st.builds(result, ids, st.sampled_from(["6.2 m", {"a": 1}, None]), st.none() | names),
)
conversations = st.lists(
    st.builds(
        lambda role, parts: message(role, *parts, at=NOON),
        st.sampled_from(["user", "assistant", "tool", "system"]),
        st.lists(some_parts, max_size=4),
    ),
    max_size=6,
)


def is_call(each: Message, part: Part) -> bool:
    return part.type == "tool_call" and each.role == "assistant"


@given(messages=conversations, rule=st.sampled_from([ANY, WORD, OPTIONAL]))
def test_afterwards_every_call_is_answered_once_and_at_once(messages: list[Message], rule: IdRule) -> None:
    repaired = repair(messages, rule).messages

    seen: set[str] = set()
    for m, each in enumerate(repaired):
        wanted = [
            part.tool_call_id or None
            for part in each.parts
            if is_call(each, part) and (part.tool_call_id or not rule.needed)
        ]
        following: list[str | None] = []
        for after in repaired[m + 1 :]:
            if after.role != "tool":
                break
            following += [
                part.tool_call_id or None
                for part in after.parts
                if part.type == "tool_result" and (part.tool_call_id or not rule.needed)
            ]
        if each.role != "tool":
            assert wanted == following
        for call_id in wanted:
            if call_id is not None:
                assert rule.takes(call_id)
                assert call_id not in seen
                seen.add(call_id)


@given(messages=conversations, rule=st.sampled_from([ANY, WORD, OPTIONAL]))
def test_nothing_that_was_said_is_lost(messages: list[Message], rule: IdRule) -> None:
    def everything(said: Sequence[Message]) -> list[str]:
        parts = [part for each in said for part in each.parts]
        return [part.text or "" for part in parts if part.type == "text"] + [
            output_text(part.tool_output) for part in parts if part.type == "tool_result"
        ]

    def calls(said: Sequence[Message]) -> int:
        return sum(part.type == "tool_call" for each in said for part in each.parts)

    repaired = repair(messages, rule).messages

    left = everything(repaired)
    for words in everything(messages):
        assert any(each.endswith(words) for each in left)
    assert calls(repaired) == calls(messages)
    assert len(left) >= len(everything(messages))


@given(messages=conversations, rule=st.sampled_from([ANY, WORD, OPTIONAL]))
def test_what_is_mended_needs_no_mending(messages: list[Message], rule: IdRule) -> None:
    once = repair(messages, rule)

    assert shown(repair(once.messages, rule).messages) == shown(once.messages)


@given(messages=conversations)
def test_every_place_of_the_mended_has_one_in_the_given(messages: list[Message]) -> None:
    repaired = repair(messages, WORD)

    for m, each in enumerate(repaired.messages):
        for p in range(len(each.parts)):
            told = repaired.as_given(f"context.messages[{m}].parts[{p}]")
            found = re.fullmatch(r"context\.messages\[(\d+)\]\.parts\[(\d+)\]", told)
            assert found is not None
            assert int(found[2]) < len(messages[int(found[1])].parts)


def test_the_time_and_turn_of_a_result_stay_its_own() -> None:
    moved = tool(result(), turn_id="turn-1", provider="anthropic")

    answer = repair([assistant(call()), user("x"), moved], ANY).messages[1]

    assert (answer.turn_id, answer.provider, answer.timestamp) == ("turn-1", "anthropic", NOON)


def test_builders_agree() -> None:
    """The calls and results of the other tests are sound too."""
    messages = [assistant(tool_call()), tool(tool_result("ok"))]

    assert repair(messages, ANY).messages is messages
