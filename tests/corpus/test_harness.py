"""The judges are judged: each law's checker must see what it is there to see. These need no corpus."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.corpus import crossing
from tests.corpus.crossing import crossing_law
from tests.corpus.laws import difference, replay_law, request_law, response_law, stream_law
from tests.corpus.load import Exchange, dumps, wire_bytes
from tests.corpus.mutate import mutated
from tests.corpus.run import Tally
from tests.corpus.types import TARGETS, check
from weft.canon import ExcludedItem, RequestPlan, thaw
from weft.wire.framing import parser_for
from weft.wire.translate import plan_request

REQUEST: dict[str, Any] = {
    "model": "m",
    "max_tokens": 64,
    "temperature": 0.5,
    "system": "Be brief.",
    "tools": [{"name": "sonar", "description": "depth", "input_schema": {"type": "object"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "How deep is it?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "sonar", "input": {"pier": 4}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "six metres"}]},
    ],
}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "tool_use", "id": "t1", "name": "sonar", "input": {"pier": 4}}],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
EXCHANGE = Exchange("x1", "g", 1, "anthropic", "anthropic.messages", "m", REQUEST, ANSWER, 0, True)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"a": None}, {}, None),
        ({"content": "x"}, {"content": [{"type": "text", "text": "x"}]}, None),
        ({"content": [{"text": "x"}]}, {"content": "x"}, None),
        (
            {"content": "x"},
            {"content": [{"type": "text", "text": "x", "cache_control": {}}]},
            ".content: text against list",
        ),
        ({"content": "x"}, {"content": ["x"]}, ".content: text against list"),
        ({"a": 1}, {"a": 1.0}, ".a: int against float"),
        ({"a": 1}, {"a": True}, ".a: int against bool"),
        ({"a": [1, 2]}, {"a": [2, 1]}, ".a[0]: another int"),
        ({"a": [1]}, {"a": [1, None]}, ".a: 1 items against 2"),
        ({"a": {}}, {}, ".a: missing"),
        ({}, {"a": []}, ".a: added"),
    ],
)
def test_bodies_are_equal_by_the_words_of_the_law_and_no_others(one: Any, other: Any, found: str | None) -> None:
    assert difference(one, other) == found


def test_the_laws_hold_for_a_plain_exchange() -> None:
    assert request_law(EXCHANGE) is None
    assert response_law(EXCHANGE) is None
    assert replay_law(EXCHANGE, EXCHANGE) is None


@pytest.mark.parametrize("change", [{"name": "radar"}, {"id": "t2"}, {"input": {"pier": 5}}])
def test_an_answer_that_came_back_changed_is_seen(change: dict[str, Any]) -> None:
    answer = {**ANSWER, "content": [{"type": "tool_use", "id": "t1", "name": "sonar", "input": {"pier": 4}} | change]}

    assert replay_law(replace(EXCHANGE, response=answer), EXCHANGE) is not None


def test_a_signature_that_was_made_up_is_seen() -> None:
    def thinking(signature: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": "hm", "signature": signature}

    def saying(signature: str) -> Exchange:
        spoken = {"role": "assistant", "content": [thinking(signature), {"type": "text", "text": "six"}]}
        return replace(
            EXCHANGE,
            request={**REQUEST, "messages": [REQUEST["messages"][0], spoken]},
            response={**ANSWER, "content": spoken["content"]},
        )

    assert replay_law(saying("c2ln"), saying("c2ln")) is None
    assert replay_law(saying("c2ln"), saying("b3RoZXI=")) is not None


@pytest.mark.parametrize("framing", ["aws_eventstream", "ndjson", "json_array"])
def test_recorded_events_become_the_frames_they_were(framing: str) -> None:
    events = [{"one": {"text": "é"}}, {"two": {}}]
    parser = parser_for(framing)

    frames = [*parser.feed(wire_bytes({"framing": framing, "events": events})), *parser.close()]

    payloads = [{"text": "é"}, {}] if framing == "aws_eventstream" else events
    assert [frame.data for frame in frames] == [dumps(payload) for payload in payloads]


def test_a_stream_is_judged_by_its_bytes() -> None:
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "six"}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    response = {"stream": True, "framing": "aws_eventstream", "events": events}

    assert stream_law(replace(EXCHANGE, recorded_as="bedrock.converse", response=response)) is None


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "anthropic"])
def test_a_crossing_that_is_whole_is_accepted(target: str) -> None:
    plain = {**REQUEST, "messages": [{"role": "user", "content": "How deep is it?"}]}
    plain.pop("tools")

    assert crossing_law(replace(EXCHANGE, request=plain), target) is None


@pytest.mark.parametrize("target", [target for target in TARGETS if target not in ("anthropic", "ollama")])
@pytest.mark.parametrize("tampering", [lambda body: {**body, "tempo": 1}, lambda _: {"messages": 5, "contents": 5}])
def test_the_types_refuse_what_is_not_in_them(target: str, tampering: Any) -> None:
    body = thaw(plan_request(REQUEST, target, source="anthropic", model="some.model-1").request)

    assert check(target, tampering(body)) is not None


@pytest.mark.parametrize(
    ("kind", "gone"),
    [
        ("text of user", "How deep is it?"),
        ("text of system", "Be brief."),
        ("image of user", "iVBORw0K"),
        ("tool_call of assistant", "sonar"),
        ("tool_result of tool", "six metres"),
        ("temperature", 0.5),
    ],
)
def test_what_vanished_without_a_word_is_seen(kind: str, gone: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner is replaced by one that loses something; told or untold makes the difference."""

    def careless(*args: Any, excluded: tuple[ExcludedItem, ...] = (), **options: Any) -> RequestPlan:
        plan = plan_request(*args, **options)
        request = _without(thaw(plan.request), gone)
        return replace(plan, request=request, excluded=(*plan.excluded, *excluded))

    monkeypatch.setattr(crossing, "check", lambda *_: None)
    monkeypatch.setattr(crossing, "plan_request", careless)

    reason = crossing_law(EXCHANGE, "openai_chat")

    assert reason is not None
    assert reason.startswith("lost in silence")
    assert kind in reason


def _without(value: Any, gone: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, gone) for key, item in value.items() if item != gone}
    if isinstance(value, list):
        return [_without(item, gone) for item in value]
    return "" if isinstance(gone, str) and isinstance(value, str) and gone in value else value


def test_mutations_change_a_copy_and_are_the_same_each_time() -> None:
    before = dumps(REQUEST)

    changed = [mutated(REQUEST, random.Random(seed)) for seed in range(50)]

    assert dumps(REQUEST) == before
    assert sum(dumps(body) != before for body in changed) > 40
    assert [dumps(mutated(REQUEST, random.Random(seed))) for seed in range(50)] == [dumps(b) for b in changed]


def test_a_tally_holds_to_its_bar() -> None:
    tally = Tally("L4", "gemini", 100, [("a", "why")])
    strict = Tally("L3", "gemini", 100, [("a", "why")])

    assert (tally.holds, strict.holds) == (True, False)
    assert tally.told() == "L4 gemini: 99 of 100\n  a why"
