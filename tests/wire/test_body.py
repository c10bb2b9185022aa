"""Small questions asked of bodies and parts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import thinking
from tests.support.mutations import depth_of, nested
from weft.canon import Part, ToolSpecification, freeze
from weft.errors import WireError
from weft.wire.body import as_body, closed_schema, deep_merge, from_base64, maker, need, same


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (nested(1_000), nested(1_000), True),
        (freeze(nested(1_000)), nested(1_000), True),
        (nested(1_000), nested(999), False),
        ({"x": nested(1_000)}, {"y": nested(1_000)}, False),
        ([nested(1_000), 1], [nested(1_000)], False),
        ([nested(1_000), 1], [nested(1_000), 2], False),
        (
            (ToolSpecification("f", "", nested(1_000)),),
            (ToolSpecification("f", "", nested(1_000)),),
            True,
        ),
    ],
)
def test_values_are_compared_however_deep(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal


def test_merging_and_closing_need_no_stack() -> None:
    merged = deep_merge(nested(5_000), {"a": nested(4_999)})
    closed = closed_schema({"type": "object", "properties": {"a": nested(5_000)}})

    assert depth_of(merged) == depth_of(nested(5_000))
    assert closed["additionalProperties"] is False


def test_m44_only_mappings_are_merged() -> None:
    """M-44: all else is replaced, and what is put in is the target's own."""
    extra = freeze({"a": {"b": [2]}, "c": {"d": 1}, "e": 1})

    merged = deep_merge({"a": {"b": [1], "x": 1}, "c": 5, "e": {"f": 1}}, extra)

    assert merged == {"a": {"b": [2], "x": 1}, "c": {"d": 1}, "e": 1}
    merged["c"]["d"] = 2
    assert extra["c"]["d"] == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x" * 100, f"must be one of a, not '{'x' * 40}'"),
        (nested(2_000), "must be one of a, not a value of type dict"),
        (None, "must be one of a, not a value of type NoneType"),
    ],
)
def test_an_error_shows_what_it_found_in_a_few_words(value: Any, said: str) -> None:
    with pytest.raises(WireError) as problem:
        need({"role": value}, "role", "messages[0]", table={"a": "a"})

    assert str(problem.value) == f"messages[0].role: {said}"


def test_a_missing_field_is_named_with_what_is_there_instead() -> None:
    with pytest.raises(WireError, match=r"^messages: missing; found nothing$"):
        need({}, "messages")
    with pytest.raises(WireError, match=r"^messages: missing; found a, b$"):
        need({"b": 1, "a": 2}, "messages")


def test_an_object_whose_dump_is_no_mapping_is_refused() -> None:
    class Odd:
        def model_dump(self) -> list[int]:
            return []

    with pytest.raises(TypeError, match="body must be a mapping"):
        as_body(Odd())


@pytest.mark.parametrize("text", ["aGk", "aGk=\n", "aGl=", "a-k=", "%", 5, None])
def test_j06_base64_that_would_not_come_back_the_same_is_not_read(text: Any) -> None:
    assert from_base64(text) is None


def test_a_signed_block_of_a_stored_turn_is_anthropics() -> None:
    """Turns keep blocks in its shape and nothing beside them."""
    signed = thinking("hm", raw={"type": "thinking", "thinking": "hm", "signature": "s"})
    sealed = thinking(raw={"type": "redacted_thinking", "data": "s"})
    theirs = Part("thinking", "hm", json={"dialect": "cohere"}, provider_raw={"type": "thinking", "signature": "s"})

    assert [dict(maker(part)) for part in (signed, sealed)] == [{"provider": "anthropic", "dialect": "anthropic"}] * 2
    assert dict(maker(theirs)) == {"dialect": "cohere"}
    assert [dict(maker(part)) for part in (thinking("hm"), thinking("hm", raw={"type": "thinking"}))] == [{}, {}]
