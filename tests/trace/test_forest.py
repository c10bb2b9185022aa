from __future__ import annotations

import gc
import random
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import agent_records, as_lines
from tests.trace.published import Asked, levenshtein, parents_of
from weft.trace import Cooker, forest, trie
from weft.trace.editing import distance
from weft.trace.entry import Entry
from weft.trace.forest import Forest

IDS = [f"m{number}" for number in range(6)]


def found(requests: list[Asked]) -> list[int | None]:
    """Give the parents that weft finds."""
    forests: dict[str, Forest] = {}
    parents: list[int | None] = [None] * len(requests)
    for number in sorted(range(len(requests)), key=lambda at: requests[at].timestamp):
        request = requests[number]
        trees = forests.setdefault(request.model, Forest())
        parent = trees.parent(request.ask, request.tools)
        parents[number] = None if parent is None else parent.number
        answer = () if request.synthetic else request.answer
        size = len(request.ask) + len(answer)
        loose = frozenset(at for at in request.loose if at < size)
        trees.push(Entry(number, request.ask, answer, request.tools, loose))
    return parents


@st.composite
def conversations(draw: Any) -> list[Asked]:
    """Requests that grow out of each other with all kinds of slips, few ids, equal times: as many ties as can be."""
    ids = st.sampled_from(IDS[: draw(st.sampled_from([2, 3, 6]))])
    requests: list[Asked] = []
    for number in range(draw(st.integers(1, 14))):
        ask: list[str] = []
        if requests and draw(st.booleans()):
            before = draw(st.sampled_from(requests))
            ask = [*before.ask, *before.answer]
            for _ in range(draw(st.integers(0, 2))):
                place = draw(st.integers(0, len(ask)))
                ask[place : place + draw(st.integers(0, 1))] = draw(st.lists(ids, max_size=1))
        ask += draw(st.lists(ids, max_size=4))
        answer = draw(st.lists(ids, max_size=2))
        requests.append(
            Asked(
                tuple(ask),
                tuple(answer),
                draw(st.frozensets(st.sampled_from("ab"))),
                draw(st.sampled_from(["mint-1", "mint-1", "mint-2"])),
                draw(st.sampled_from([0, 1, number])),
                draw(st.frozensets(st.integers(0, len(ask) + len(answer)), max_size=3)),
                draw(st.booleans()) and draw(st.booleans()),
            )
        )
    return requests


@given(conversations(), st.sampled_from([0, 1, 12]), st.sampled_from([1, 2, 24]))
def test_parents_are_those_of_the_published_algorithm(requests: list[Asked], common: int, wide: int) -> None:
    """Section 8, C-28, C-47 to C-49, G-11: also with limits so small that every way of the search is taken."""
    kept = forest._COMMON, trie._WIDE
    try:
        forest._COMMON, trie._WIDE = common, wide
        assert found(requests) == parents_of(requests)
    finally:
        forest._COMMON, trie._WIDE = kept


@pytest.mark.parametrize("seed", range(2))
def test_generated_traces_have_the_published_parents(seed: int) -> None:
    """Section 8: sessions with retries, rewinds, errors and streams, in three formats."""
    cooker = Cooker()
    handles: list[Any] = [cooker.add(line) for line in as_lines(agent_records(70, seed))]

    cooker.cooked()

    asked = [
        Asked(
            tuple(each.request_messages),
            tuple(each.response_messages),
            each.tool_set,
            each.model,
            each.timestamp,
            each.loose,
            each.synthetic,
        )
        for each in handles
    ]
    expected = [None if at is None else handles[at].id for at in parents_of(asked)]
    assert [each.parent_id for each in handles] == expected


@given(st.lists(st.sampled_from(IDS), max_size=70), st.lists(st.sampled_from(IDS), max_size=70))
def test_the_edit_distance_is_levenshteins(one: list[str], other: list[str]) -> None:
    assert distance(one, other) == levenshtein(one, other)
    assert (distance(one, other, 5) > 5) == (levenshtein(one, other) > 5)


def test_the_worked_example_of_the_specification() -> None:
    """Section 8, the table."""
    asked = [
        Asked(("m0",), ("m1",)),
        Asked(("m0", "m1", "m2"), ("m3",)),
        Asked(("m0", "m1", "m4"), ("m5",)),
        Asked(("m0", "m1", "m2"), ("m6",), model="mint-2"),
        Asked(("m7",), ("m8",)),
        Asked(("m0", "m1", "m4", "m5", "m9"), ("m10",)),
    ]
    requests = [Asked(**{**_fields(each), "timestamp": at}) for at, each in enumerate(asked)]

    assert found(requests) == parents_of(requests) == [None, 0, 0, None, None, 2]

    one_tool_more = [*requests[:5], Asked(**{**_fields(requests[5]), "tools": frozenset({"t0"})})]
    assert found(one_tool_more)[5] == 2


def _fields(request: Asked) -> dict[str, Any]:
    return {name: getattr(request, name) for name in Asked.__dataclass_fields__}


def test_equal_scores_go_to_the_most_recent() -> None:
    """G-11, C-48: and of equal times, to the later one in the input."""
    same = [Asked(("m0",), ("m1",), timestamp=5), Asked(("m0",), ("m1",), timestamp=5)]

    assert found([*same, Asked(("m0", "m1", "m2"), timestamp=9)])[2] == 1
    assert found([Asked(("m0", "m1", "m2"), timestamp=9), *same])[0] == 2


def test_a_score_at_the_threshold_keeps_the_parent_and_one_below_loses_it() -> None:
    requests = [Asked(("m0",), ("m1",)), Asked(("m0", "m1", "m2", "m3"), timestamp=1)]
    assert found(requests)[1] == 0
    assert found([requests[0], Asked(("m0", "m1", "m2", "m3", "m4"), timestamp=1)])[1] is None
    with_tool = Asked(("m0", "m1", "m2", "m3"), tools=frozenset("t"), timestamp=1)
    assert found([requests[0], with_tool])[1] is None


def test_taking_requests_back_leaves_the_forest_as_it_was() -> None:
    """A late record takes back all that was after it."""
    rng = random.Random(3)
    requests = [([rng.choice(IDS) for _ in range(rng.randrange(6))], [rng.choice(IDS)]) for _ in range(60)]
    twice, once = Forest(), Forest()
    for number, (ask, answer) in enumerate(requests[:30]):
        twice.push(Entry(number, ask, answer, frozenset()))
        once.push(Entry(number, ask, answer, frozenset()))
    for number, (ask, answer) in enumerate(requests[30:]):
        twice.push(Entry(number, ask, answer, frozenset(), frozenset({0})))
    for _ in requests[30:]:
        twice.pop()

    for ask, _ in requests:
        one, other = once.parent(ask, frozenset()), twice.parent(ask, frozenset())
        assert (one and one.number) == (other and other.number)


SHARED = ["system", *(f"shot{number}" for number in range(20))]


def _shape(name: str, number: int) -> tuple[list[str], list[str]]:
    one = f"u{number}"
    shapes = {
        "unrelated": ["system", one],
        "unrelated, near-equal lengths": ["system", *(f"{one}.{k}" for k in range(8 + number % 3))],
        "a batch after one prefix": [*SHARED, one],
        "a batch with the same words at its end": [*SHARED, one, "Summarise."],
        "a batch under two systems": [f"system{number % 2}", *SHARED[1:], one, "Summarise."],
        "the same again and again": SHARED,
    }
    return shapes[name], [f"r{number}"]


@pytest.mark.parametrize(
    "name",
    [
        "unrelated",
        "unrelated, near-equal lengths",
        "a batch after one prefix",
        "a batch with the same words at its end",
        "a batch under two systems",
        "the same again and again",
    ],
)
def test_many_requests_of_one_shape_cost_near_linear_time(name: str) -> None:
    """Four times as many cost four times the time, not sixteen."""

    def seconds(count: int) -> float:
        trees = Forest()
        begun = process_time()
        for number in range(count):
            ask, answer = _shape(name, number)
            trees.parent(ask, frozenset("t"))
            trees.push(Entry(number, ask, answer, frozenset("t")))
        return process_time() - begun

    seconds(50)
    assert min(seconds(1_200) for _ in range(2)) < 9 * min(seconds(300) for _ in range(3))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 20_000, 2_500))
def test_parents_agree_on_many_seeds(first: int) -> None:
    """Section 8: twenty thousand seeds."""
    for seed in range(first, first + 2_500):
        requests = _random(random.Random(seed))
        assert found(requests) == parents_of(requests), seed


def _random(rng: random.Random) -> list[Asked]:
    ids = [f"m{number}" for number in range(rng.choice([2, 3, 5, 12, 40]))]
    requests: list[Asked] = []
    for number in range(rng.randrange(2, 30)):
        before = rng.choice(requests) if requests and rng.random() < 0.75 else Asked(())
        ask = [*before.ask, *before.answer]
        for _ in range(rng.randrange(4)):
            place = rng.randrange(len(ask) + 1)
            ask[place : place + rng.choice([0, 0, 1])] = rng.sample(ids, rng.choice([0, 1, 1]))
        answer = tuple(rng.choices(ids, k=rng.choice([0, 1, 1, 2])))
        loose = frozenset(at for at in range(len(ask)) if rng.random() < 0.1)
        tools = frozenset(tool for tool in "ab" if rng.random() < 0.3)
        model = rng.choice(["x", "x", "y"])
        requests.append(Asked(tuple(ask), answer, tools, model, rng.choice([number, 0]), loose, rng.random() < 0.1))
    return requests


@pytest.mark.soak
def test_ten_thousand_unrelated_requests_stay_near_linear() -> None:
    """Twice as many, not four times the time, garbage collection included: many roots of near-equal lengths."""

    def seconds(count: int) -> float:
        gc.collect()  # of earlier forests
        trees = Forest()
        begun = process_time()
        for number in range(count):
            ask = ["system", *(f"u{number}.{k}" for k in range(8 + number % 3))]
            trees.parent(ask, frozenset())
            trees.push(Entry(number, ask, [f"r{number}"], frozenset()))
        return process_time() - begun

    seconds(500)
    half, whole = min(seconds(5_000) for _ in range(3)), min(seconds(10_000) for _ in range(3))
    assert whole < 2.75 * half
