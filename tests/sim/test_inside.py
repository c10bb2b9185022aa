"""The small parts the simulator is made of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.sim import Simulator
from weft.sim.examples import example_of
from weft.sim.limits import Limiter, Limits
from weft.sim.signing import Signer
from weft.sim.tokens import PromptCache, Segment, count, size_of


@given(st.text(), st.text())
def test_a_signature_holds_for_its_content_alone(content: str, other: str) -> None:
    signer = Signer("seed", "family")
    signature = signer.sign(content)

    assert signer.is_signed(signature, content)
    assert signer.is_signed(signature.replace("+", "-").replace("/", "_"), content)
    assert signer.is_ours(signature)
    assert signer.is_signed(signature, other) == (content == other)
    assert not Signer("other seed", "family").is_ours(signature)
    assert not Signer("seed", "other family").is_ours(signature)


@pytest.mark.parametrize("signature", [None, 7, "", "not base64!", "QUJD", "ünï"])
def test_what_is_no_signature_is_not_one(signature: Any) -> None:
    signer = Signer("seed", "family")

    assert not signer.is_ours(signature)
    assert not signer.is_signed(signature, "content")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}, {"a": 1}),
        ({"properties": {"when": {"type": "string", "format": "date"}}}, {"when": "2026-01-01"}),
        ({"type": "ARRAY", "items": {"type": "NUMBER", "minimum": 2.5}, "minItems": 2}, [2.5, 2.5]),
        ({"enum": ["red", "green"]}, "red"),
        ({"const": None}, None),
        ({"type": ["boolean", "null"]}, True),
        ({"type": "null"}, None),
        ({"anyOf": [{"type": "string", "minLength": 6}]}, "text.."),
        ({"$ref": "#/$defs/pier", "$defs": {"pier": {"default": 4}}}, 4),
        ({"$ref": "#/nowhere"}, None),
        (True, None),
    ],
)
def test_an_example_fits_its_schema(schema: Any, expected: Any) -> None:
    assert example_of(schema) == expected


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}

    assert isinstance(example_of(schema), dict)


def test_tokens_are_four_characters() -> None:
    assert (count(""), count("abc"), count("abcde")) == (0, 1, 2)
    assert size_of({"a": ["abcd", 12], "b": None, "c": True}) == 3


def test_a_cache_knows_the_beginnings_it_has_seen() -> None:
    cache = PromptCache(0)
    first = cache.look("m", [Segment("a" * 40), Segment("b" * 40)], marked_only=False)
    longer = cache.look("m", [Segment("a" * 40), Segment("b" * 40), Segment("c" * 40)], marked_only=False)
    other = cache.look("m", [Segment("x" * 40), Segment("b" * 40)], marked_only=False)
    elsewhere = cache.look("n", [Segment("a" * 40)], marked_only=False)

    assert (first.input, first.cached) == (20, 0)
    assert (longer.input, longer.cached) == (30, 20)
    assert (other.cached, elsewhere.cached) == (0, 0)


def test_marks_may_move_without_losing_the_cache() -> None:
    cache = PromptCache(0)
    mark = {"cache_control": {"type": "ephemeral"}}
    cache.look("m", [Segment({"t": "a" * 40, **mark}, marked=True)], marked_only=True)
    second = cache.look(
        "m", [Segment({"t": "a" * 40}, marked=True), Segment({"t": "b" * 40, **mark}, marked=True)], marked_only=True
    )

    assert (second.cached, second.written, second.input) == (10, 10, 20)


def test_a_limit_is_for_any_minute() -> None:
    now = [0.0]
    limiter = Limiter(2, lambda: now[0])
    taken = [limiter.take() for _ in range(2)]
    now[0] = 45.0
    waiting = limiter.take()
    now[0] = 60.0

    assert taken == [Limits(2, 1, 60.0), Limits(2, 0, 60.0)]
    assert waiting == 15.0
    assert isinstance(limiter.take(), Limits)


def test_a_simulator_leads_every_client_to_itself() -> None:
    async def ask() -> tuple[str, dict[str, str], str]:
        async with Simulator() as sim:
            return sim.url, sim.environment(), sim.address("groq")

    url, variables, groq = asyncio.run(ask())
    assert variables["OPENAI_BASE_URL"] == f"{url}/v1"
    assert variables["ANTHROPIC_BASE_URL"] == variables["AWS_BEDROCK_BASE_URL"] == url
    assert variables["COHERE_API_KEY"] == "weft-sim"
    assert groq == f"{url}/groq/v1"
