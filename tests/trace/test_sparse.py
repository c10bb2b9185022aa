from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.jsontext import loads
from weft.trace.sparse import Parsed, Reader

LONG = "x" * 600  # long enough to be remembered
TOOLS = [{"name": "dig", "description": LONG}]


def line(record: Any, **options: Any) -> bytes:
    return json.dumps(record, ensure_ascii=False, **options).encode() + b"\n"


def read_all(lines: list[bytes]) -> list[tuple[Any, tuple[int, int] | None, Parsed]]:
    """Read lines; give the record of each, what was left out put back in, and how much was shared and new."""
    reader = Reader()
    found = []
    for each in lines:
        parsed = reader.read(each)
        kept = parsed.list_of
        counts = None
        if kept is not None:
            known = kept.base.ends[kept.shared - 1] if kept.base is not None else 1
            size = kept.ends[-1] if kept.ends else known
            parsed.record["request"][parsed.list_key] = loads(each[kept.start : kept.start + size] + b"]")
            counts = (kept.shared, len(kept.values))
            kept.cuts = list(range(kept.shared + 1, kept.shared + 1 + len(kept.values)))
            kept.ids = ["m"] * len(kept.values)
            kept.hints = [0] * len(kept.values)
            reader.keep(kept)
        found.append((parsed.record, counts, parsed))
    return found


def test_only_what_is_new_is_read() -> None:
    history = [{"role": "user", "content": LONG}, {"role": "assistant", "content": "Größe"}]
    lines = [
        line({"id": at, "request": {"tools": TOOLS, "messages": history[:at], "system": LONG}, "response": None})
        for at in (1, 1, 2, 0)
    ]
    found = read_all(lines)

    assert [counts for _, counts, _ in found] == [(0, 1), (1, 0), (1, 1), (0, 0)]
    assert found[1][2].statics["tools"] is found[0][2].statics["tools"]
    assert set(found[2][2].statics) == {"tools", "system"}


messages = st.lists(
    st.one_of(
        st.sampled_from(["a", "", 'say "messages": [', "日本語", "back\\slash\n"]).map(
            lambda t: {"role": "user", "content": t}
        ),
        st.just({"role": "user", "content": [{"type": "text", "text": "b"}], "n": 1.5}),
        st.just({"messages": ["inner"], "tools": [], "content": LONG}),
        st.just("text"),
        st.just([]),
        st.integers(-3, 10**20),
        st.none(),
    ),
    max_size=5,
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "meta": st.sampled_from([{"messages": [1]}, {"tools": LONG}, '"messages": []', None]),
        "messages": messages,
        "input": messages,
        "contents": st.one_of(messages, st.none()),
        "tools": st.sampled_from([TOOLS, [], LONG, None]),
        "system": st.sampled_from([LONG, "short", [{"type": "text", "text": LONG}]]),
    },
)
records = st.fixed_dictionaries(
    {"request": st.one_of(requests, requests, requests, st.none(), st.just([1]))},
    optional={
        "response": st.sampled_from([None, {"messages": [1], "tools": TOOLS}, {"raw": LONG}]),
        "id": st.text(max_size=3),
    },
)


@given(st.lists(st.tuples(records, st.booleans(), st.booleans()), max_size=8))
def test_reading_sparsely_gives_what_reading_whole_gives(given_records: list[tuple[Any, bool, bool]]) -> None:
    """Whatever is where: lists inside lists, keys in texts, numbers among messages, keys in any order."""
    lines = []
    for record, spaced, turned in given_records:
        held = dict(reversed(record.items())) if turned else record
        lines.append(line(held, separators=(", ", ": ") if spaced else (",", ":")))

    assert [record for record, _, _ in read_all(lines)] == [loads(each) for each in lines]


@pytest.mark.parametrize(
    "odd",
    [
        b'{"request":{"messages":[{"a":1}],"messages":[{"b":2}]}}',
        b'{"request":{"x\\"messages":[{"a":1}],"messages":[{"b":2}]}}',
        b'{"request":{"messages":[{"a":1}]},"request":{"messages":[{"b":2}]}}',
        b'{"request":{"tools":"' + LONG.encode() + b'","messages":[{"a":1}],"tools":[]}}',
        b'{"request":{"messages":[{"a":123456789012345678901234567890}],"n":98765432109876543210}}',
        b'{"request":{"messages":[{"a":"\\ud800"}]}}',
        b' \t{ "request" : {\t"messages" : [ { "a" : 1 } , [ ] ] } }',
        b'{"messages":[{"a":1}],"request":{"messages":[{"b":2}]}}',
        b'{"request":{"messages":{"a":[]},"input":[{"b":1}]}}',
    ],
)
def test_odd_texts_are_read_as_they_are(odd: bytes) -> None:
    plain = b'{"request":{"messages":[{"a":1}],"tools":' + json.dumps(TOOLS).encode() + b"}}"

    lines = [plain, odd, odd, plain]

    assert [record for record, _, _ in read_all(lines)] == [loads(each) for each in lines]


@pytest.mark.parametrize(
    "bad",
    [
        b'{"request":{"messages":[{"a":NaN}]}}',
        b'{"request":{"messages":[{"a":1e999}]}}',
        b'{"request":{"messages":[{"a":1} {"b":2}]}}',
        b'{"request":{"messages":[{"a":1},]}}',
        b'{"request":{"messages":[{"a":1}]',
        b'{"request":{"messages":[{"a":1}]}} x',
        b'{"request":{"messages":[{"a":"\xff"}]}}',
        b'{"request":{"messages":[{"a":"\n"}]}}',
        b'{"request":{"messages":[' + b"[" * 5_000,
    ],
)
def test_what_is_not_json_is_refused_as_ever(bad: bytes) -> None:
    """Also after a line that is the same up to there."""
    reader = Reader()
    kept = reader.read(b'{"request":{"messages":[{"a":1}]}}').list_of
    assert kept is not None
    reader.keep(kept)

    with pytest.raises(ValueError, match=r"."):
        loads(bad)
    with pytest.raises(ValueError, match=r"."):
        reader.read(bad)
