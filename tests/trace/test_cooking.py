from __future__ import annotations

import json
import random
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import SPACED, agent_records, answer, as_lines, claude, gemini, messages_of, openai
from weft.errors import CodecError, UsageError
from weft.trace import Cooked, CookedMessage, Cooker, Place, cook, message_key, tool_key
from weft.trace.clock import milliseconds


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def calling(arguments: str) -> dict[str, Any]:
    return openai({"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": arguments}}]})


def test_ids_count_in_input_order_and_requests_are_sorted_by_time() -> None:
    """C-20, C-48; section 12, case 7."""
    records = [openai(user(text), at=at, response=answer(text * 2)) for text, at in (("c", 3), ("a", 1), ("b", 1))]
    cooked = cook(records)

    assert [(message.id, message.content) for message in cooked.messages] == [
        ("m0", "c"),
        ("m1", "cc"),
        ("m2", "a"),
        ("m3", "aa"),
        ("m4", "b"),
        ("m5", "bb"),
    ]
    assert [request.request_messages for request in cooked.requests] == [["m2"], ["m4"], ["m0"]]


def test_the_cooked_file_has_exactly_the_published_keys() -> None:
    """Section 4, C-14."""
    tool = {"type": "function", "function": {"name": "dig"}}
    cooked = cook([openai(user("Größe?"), tools=[tool], response=answer("ok"), duration_ms=12)])
    written = cooked.to_json().decode()
    data = json.loads(written)

    assert data == {
        "messages": [
            {
                "id": "m0",
                "role": "user",
                "content": "Größe?",
                "tool_calls": None,
                "tool_use_id": None,
                "is_error": None,
            },
            {
                "id": "m1",
                "role": "assistant",
                "content": "ok",
                "tool_calls": None,
                "tool_use_id": None,
                "is_error": None,
            },
        ],
        "tools": [{"id": "t0", "name": "dig", "description": "", "parameters": {}, "is_server_side": False}],
        "requests": [
            {
                "id": "q0",
                "parent_id": None,
                "timestamp": 10**12,
                "request_messages": ["m0"],
                "response_messages": ["m1"],
                "model": "mint-1",
                "tools": ["t0"],
                "duration_ms": 12,
            }
        ],
    }
    assert "\n  " in written
    assert "Größe" in written
    assert Cooked.from_dict(data) == cooked


@pytest.mark.parametrize(
    ("given_time", "expected"),
    [
        ("2026-01-05T08:00:00+00:00", 1_767_600_000_000),
        ("2026-01-05T09:00:00.123456+01:00", 1_767_600_000_123),
        ("2026-01-05T08:00:00", 1_767_600_000_000),
        ("2026-01-05T08:00:00Z", 1_767_600_000_000),
        (1_767_600_000, 1_767_600_000_000),
        (1_767_600_000.5, 1_767_600_000_500),
        (1_767_600_000_000, 1_767_600_000_000),
        ("soon", 0),
        (None, 0),
        (True, 0),
        (float("inf"), 0),
        ({}, 0),
    ],
)
def test_a_time_is_read_in_every_form_it_comes_in(given_time: Any, expected: int) -> None:
    """C-16."""
    assert milliseconds(given_time) == expected


def test_missing_fields_have_their_defaults() -> None:
    """C-16: an id is made of the number of the record."""
    cooked = cook([{"request": None, "response": None}, {"request": {}, "id": ""}])

    assert [(r.id, r.timestamp, r.model, r.duration_ms) for r in cooked.requests] == [
        ("r0", 0, "", 0),
        ("r1", 0, "", 0),
    ]


def test_what_is_cooked_already_is_not_cooked_again() -> None:
    """C-15."""
    with pytest.raises(UsageError, match="cooked already"):
        cook([cook([openai(user("x"))]).to_dict()])


def test_equal_messages_share_an_id_across_formats() -> None:
    """C-41, C-42, C-43: key order and signatures do not matter."""
    thinking = {"type": "thinking", "thinking": "Hm."}
    cooked = cook(
        [
            openai(user("hi")),
            claude(user([{"type": "text", "text": "hi", "cache_control": {}}])),
            gemini({"parts": [{"text": "hi"}]}),
            claude({"role": "assistant", "content": [{**thinking, "signature": "a"}]}),
            claude({"role": "assistant", "content": [{**thinking, "signature": "b"}]}),
        ]
    )

    assert [request.request_messages for request in cooked.requests] == [["m0"], ["m0"], ["m0"], ["m2"], ["m2"]]


def test_tools_that_differ_in_key_order_are_one() -> None:
    """C-42; section 12, case 5. The order of a list matters."""

    def tool(schema: dict[str, Any]) -> dict[str, Any]:
        return {"type": "function", "function": {"name": "dig", "parameters": schema}}

    one, same, other = (
        {"a": {"x": 1, "y": 2}, "b": [1, 2]},
        {"b": [1, 2], "a": {"y": 2, "x": 1}},
        {"a": {}, "b": [2, 1]},
    )
    cooked = cook([openai(tools=[tool(one)]), openai(tools=[tool(same)]), openai(tools=[tool(other)])])

    assert [request.tools for request in cooked.requests] == [["t0"], ["t0"], ["t1"]]


def test_the_published_keys_are_sixteen_digits_of_a_hash() -> None:
    """C-41, C-44: ids do not depend on them."""
    call = {"name": "dig", "arguments": {"b": 1, "a": 2}}
    message = CookedMessage("m0", "tool_use", "", [call])
    turned = CookedMessage("m9", "tool_use", "", [{"arguments": {"a": 2, "b": 1}, "name": "dig"}])
    cooked = cook([gemini(tools=[{"googleSearch": {}}, {"functionDeclarations": [{"name": "googleSearch"}]}])])

    assert message_key(message) == message_key(turned) != message_key(CookedMessage("m0", "tool_use", "x", [call]))
    assert len({message_key(message), *map(tool_key, cooked.tools)}) == 3
    assert all(len(tool_key(tool)) == 16 for tool in cooked.tools)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        [openai(user([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}])) for data in "AB"],
        [claude(user([{"type": "image", "source": {"data": data}}])) for data in "AB"],
        [claude(user([{"type": "tool_result", "content": [{"type": "image", "source": data}]}])) for data in "AB"],
        [gemini({"parts": [{"inlineData": {"mimeType": "image/png", "data": data}}]}) for data in "AB"],
        [claude({"role": "assistant", "content": [{"type": "redacted_thinking", "data": data}]}) for data in "AB"],
        [openai({"role": "tool", "tool_call_id": data, "content": "x"}) for data in "AB"],
        [
            openai({"role": "assistant", "tool_calls": [{"function": {"arguments": f'{{"n": {n}}}'}}]})
            for n in ("1", "1.0")
        ],
        [
            openai({"role": "assistant", "tool_calls": [{"function": {"arguments": f'{{"n": {n}}}'}}]})
            for n in ("1", "true")
        ],
        [claude(user([{"type": "tool_result", "content": "x", "is_error": flag}])) for flag in (True, False)],
    ],
)
def test_messages_that_differ_are_never_merged(one: dict[str, Any], other: dict[str, Any]) -> None:
    """G-10: though two images look the same in the cooked text."""
    cooked = cook([one, other, one])
    first, second, again = (request.request_messages[-1] for request in cooked.requests)

    assert (first != second, first == again) == (True, True)


def test_cooking_is_deterministic() -> None:
    """C-22, G-09: twice the same bytes."""
    lines = as_lines(agent_records(60, 5))

    assert cook(lines).to_json() == cook(lines).to_json()


def test_shuffled_and_split_input_gives_the_same_forest() -> None:
    """G-09: ids of messages count in input order, so it is their contents that are compared [C-20]."""
    records = [{**record, "timestamp": at} for at, record in enumerate(agent_records(80, 6))]
    shuffled = records[:]
    random.Random(1).shuffle(shuffled)
    whole, other = cook(as_lines(records)), cook(as_lines(shuffled))

    assert [(r.id, r.parent_id) for r in other.requests] == [(r.id, r.parent_id) for r in whole.requests]
    for number in range(len(records)):
        assert [m.content for m in messages_of(other, number)] == [m.content for m in messages_of(whole, number)]
    assert len(other.messages) == len(whole.messages)


def test_bad_records_are_listed_and_good_ones_cooked() -> None:
    """G-08."""
    good = as_lines([openai(user("a"), at=0), openai(user("b"), at=1)])
    bad = [b"{torn", b"[1]", b'"x"', b"7", b"null", b'{"id": "x"}', b"\xff", b'{"request": {"n": NaN}}', b"[" * 3_000]
    cooker = Cooker()
    for number, line in enumerate([good[0], *bad, good[1]], 1):
        cooker.add(line, Place("trace.jsonl", number))

    assert [request.id for request in cooker.cooked().requests] == ["q0", "q1"]
    assert [problem.place.line for problem in cooker.problems] == list(range(2, 2 + len(bad)))
    assert str(cooker.problems[0]).startswith("trace.jsonl:2: not JSON: ")


@pytest.mark.parametrize("seed", range(2))
def test_what_lines_share_with_earlier_ones_is_not_read_again_and_nothing_is_different(seed: int) -> None:
    """Records as bytes and as values give the same; spaces between tokens and key order too."""
    records = agent_records(80, seed)
    turned = [dict(reversed(record.items())) for record in records]

    expected = cook(records).to_json()
    assert cook(as_lines(records)).to_json() == expected
    assert cook(as_lines(records, SPACED)).to_json() == expected
    assert cook(as_lines(turned)).to_json() == expected


@given(st.lists(st.integers(0, 39), min_size=1, max_size=20), st.integers(0, 3))
def test_a_snapshot_at_any_time_is_what_cooking_all_gives(order: list[int], seed: int) -> None:
    """Live: a record that comes late with an early timestamp is put in its place, and its children with it."""
    records = agent_records(40, seed)
    lines = as_lines([records[at] for at in order])
    cooker = Cooker()
    for number, line in enumerate(lines):
        cooker.add(line)
        if number % 7 == 3:
            assert cooker.cooked() == cook(lines[: number + 1])

    assert cooker.cooked() == cooker.cooked() == cook(lines)
    assert (len(cooker), cooker.message_count) == (len(lines), len(cooker.cooked().messages))


def test_links_are_told_and_decide_only_when_asked() -> None:
    """Response ids and conversations say what continues what; section 8 sees the content alone."""

    def asked(at: int, text: str, **fields: Any) -> dict[str, Any]:
        request = {"model": "x", "input": text, **fields}
        return {"id": f"q{at}", "timestamp": at, "request": request, "response": {"id": f"resp_{at}", "output": []}}

    records = [
        asked(1, "a"),
        asked(2, "b", conversation={"id": "conv_1"}),
        asked(3, "c", previous_response_id="resp_1"),
        asked(4, "d", conversation="conv_1"),
        asked(5, "e", previous_response_id="resp_unknown", metadata={"session_id": "s"}),
    ]
    plain, linked = cook(records), cook(records, links=True)

    assert [request.parent_id for request in plain.requests] == [None] * 5
    assert [request.parent_id for request in linked.requests] == [None, None, "q1", "q2", None]
    links = [[(link.kind, link.value, link.parent_id) for link in request.links] for request in plain.requests]
    assert links == [
        [],
        [("conversation", "conv_1", None)],
        [("response", "resp_1", "q1")],
        [("conversation", "conv_1", "q2")],
        [("response", "resp_unknown", None), ("session", "s", None)],
    ]


def test_with_links_a_session_keeps_to_itself() -> None:
    def asked(at: int, session: str, *texts: str) -> dict[str, Any]:
        record = openai(*(user(text) for text in texts), at=at)
        record["request"]["metadata"] = {"session_id": session}
        return record

    records = [asked(1, "a", "hi"), asked(2, "b", "hi"), asked(3, "a", "hi", "more")]

    assert cook(records).requests[2].parent_id == "q2"
    assert cook(records, links=True).requests[2].parent_id == "q1"
    late = Cooker(links=True)
    for record in (records[2], records[1], records[0]):
        late.add(record)
        late.cooked()
    assert late.cooked().requests[2].parent_id == "q1"


def test_a_websocket_session_is_as_many_requests_as_were_made() -> None:
    def frame(side: str, ms: int, **said: Any) -> dict[str, Any]:
        return {"from": side, "ms": ms, "text": json.dumps(said)}

    def done(text: str) -> dict[str, Any]:
        output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
        return {"type": "response.completed", "response": {"id": text, "object": "response", "output": output}}

    frames = [
        frame("client", 0, type="response.create", model="x", input=[user("a")]),
        frame("server", 10, **done("A")),
        {"from": "client", "ms": 11, "text": "not JSON"},
        frame("client", 20, type="response.create", model="x", input=[user("b")], previous_response_id="A"),
        frame("server", 35, **done("B")),
    ]
    record = {"id": "ws", "timestamp": 10**12, "request": {"input": []}, "response": None, "frames": frames}
    cooked = cook([record], links=True)

    assert [(r.id, r.timestamp, r.duration_ms) for r in cooked.requests] == [
        ("ws", 10**12, 10),
        ("ws.2", 10**12 + 20, 15),
    ]
    assert [messages_of(cooked, at)[0].content for at in (0, 1)] == ["a", "b"]
    assert [messages_of(cooked, at, response=True)[0].content for at in (0, 1)] == ["A", "B"]
    assert cooked.requests[1].parent_id == "ws"


def test_a_cooked_file_that_is_none_says_where() -> None:
    with pytest.raises(CodecError, match="requests: a cooked file has a list here"):
        Cooked.from_dict({"messages": [], "tools": []})
    with pytest.raises(CodecError, match=r"messages\[0\]: lacks role, content"):
        Cooked.from_dict({"messages": [{"id": "m0"}], "tools": [], "requests": []})
    with pytest.raises(CodecError, match=r"tools\[0\]: not an object"):
        Cooked.from_dict({"messages": [], "tools": [1], "requests": []})


def test_odd_values_are_written_all_the_same() -> None:
    """Large numbers, half characters, deep nesting."""
    deep: Any = []
    for _ in range(2_000):
        deep = [deep]
    arguments = '{"n": 123456789012345678901234567890, "s": "\\ud800"}'
    cooked = cook(
        [openai({"role": "assistant", "content": "\ud800", "tool_calls": [{"function": {"arguments": arguments}}]})]
    )

    assert (
        json.loads(cooked.to_json())["messages"][0]["tool_calls"][0]["arguments"]["n"] == 123456789012345678901234567890
    )
    assert cook([openai(user([{"type": "x", "deep": deep}]))]).to_json()


def _growing(count: int) -> list[bytes]:
    history: list[Any] = [{"role": "system", "content": "You are careful. " * 300}]
    lines = []
    for number in range(count):
        history.append(user(f"question {number} " * 4))
        response = answer(f"answer {number} " * 4)
        lines += as_lines([openai(*history, at=number, response=response)])
        history.append({"role": "assistant", "content": f"answer {number} " * 4})
    return lines


@pytest.mark.soak
def test_a_thread_of_a_thousand_requests_is_cooked_in_near_linear_time() -> None:
    """G-07: under 5 s, doubling at most 2.5 times; the lines themselves grow with the square."""
    lines = _growing(1_000)

    def seconds(count: int) -> float:
        begun = process_time()
        cooked = cook(lines[:count])
        assert [request.parent_id for request in cooked.requests] == [None, *(f"q{at}" for at in range(count - 1))]
        return process_time() - begun

    seconds(100)
    half, whole = min(seconds(500) for _ in range(3)), min(seconds(1_000) for _ in range(3))
    assert whole < 5
    assert whole < 2.5 * half
