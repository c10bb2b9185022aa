from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from weft.canon import Usage
from weft.errors import WireError
from weft.providers import (
    PROVIDERS,
    Model,
    Rates,
    Spent,
    have_prices,
    newest_first,
    price_of,
    rates_of,
    read_models,
    spent_on,
)

DAY = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "body", "models", "more"),
    [
        (
            "openai",
            {"data": [{"id": "a", "created": 1}, {"id": "b", "created": 3}, {"id": "c"}]},
            ["b", "a", "c"],
            None,
        ),
        ("together", [{"id": "a", "created": 1}, {"id": "b", "created": 3}], ["b", "a"], None),
        (
            "cohere",
            {
                "models": [{"name": "embed", "endpoints": ["embed"]}, {"name": "command", "endpoints": ["chat"]}],
                "next_page_token": "t",
            },
            ["command"],
            {"page_token": "t"},
        ),
        (
            "gemini",
            {
                "models": [
                    {"name": "models/gem", "supportedGenerationMethods": ["generateContent"]},
                    {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]},
                    {"name": "models/bare"},
                ],
                "nextPageToken": "t",
            },
            ["gem"],
            {"pageToken": "t"},
        ),
        (
            "ollama",
            {
                "models": [
                    {"name": "old", "modified_at": "2025-01-01T00:00:00+02:00"},
                    {"name": "new", "modified_at": "2026-01-01T00:00:00Z"},
                ]
            },
            ["new", "old"],
            None,
        ),
        ("bedrock", {"modelSummaries": [{"modelId": "a.b"}, 5]}, ["a.b"], None),
        ("anthropic", {"data": [{"id": "x", "created_at": "no date"}], "has_more": True}, ["x"], None),
    ],
)
def test_every_list_of_models_is_read_as_section_9_has_it(name: str, body: Any, models: list[str], more: Any) -> None:
    found, next_page = read_models(PROVIDERS[name], body)

    assert [model.id for model in newest_first(found)] == models
    assert next_page == more


@pytest.mark.parametrize("body", [{}, {"data": 5}, "text", None])
def test_a_list_of_models_that_is_none_is_refused(body: Any) -> None:
    with pytest.raises(WireError, match="openai's list of models has no"):
        read_models(PROVIDERS["openai"], body)


def test_a_model_is_shown_with_its_date_if_there_is_one() -> None:
    assert Model("a", DAY).to_dict() == {"id": "a", "created": "2026-10-01T00:00:00+00:00"}
    assert Model("a").to_dict() == {"id": "a"}


@pytest.mark.parametrize("odd", [-5, 1e30, True, "2026-13-45", [], "2026-01-02T03:04:05"])
def test_an_odd_date_is_none(odd: Any) -> None:
    [model], _ = read_models(PROVIDERS["openai"], {"data": [{"id": "a", "created": odd}]})

    assert model.created is None or model.created.tzinfo is UTC


# -- prices ----------------------------------------------------------------------------------------------------


def test_a_price_counts_cached_tokens_at_their_own_rate() -> None:
    plain = price_of("openai", "gpt-4o", Usage(1_000_000, 0, 1_000_000), at=DAY)
    cached = Usage(
        1_000_000,
        0,
        1_000_000,
        {"prompt_tokens": 1_000_000, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 1_000_000}},
    )

    cheaper = price_of("openai", "gpt-4o", cached, at=DAY)

    assert have_prices()
    assert plain == Decimal("2.5")
    assert cheaper == Decimal("1.25")


@pytest.mark.parametrize(
    ("name", "model", "account"),
    [
        ("anthropic", "claude-sonnet-4-5", {"input_tokens": 1000, "output_tokens": 1000}),
        ("gemini", "gemini-2.5-flash", {"promptTokenCount": 1000, "candidatesTokenCount": 1000}),
        ("openai-responses", "gpt-4o", {"input_tokens": 1000, "output_tokens": 1000}),
        ("cohere", "command-r-plus-08-2024", {"billed_units": {"input_tokens": 1000, "output_tokens": 1000}}),
        ("groq", "llama-3.3-70b-versatile", {"prompt_tokens": 1000, "completion_tokens": 1000}),
        ("bedrock", "anthropic.claude-3-5-sonnet-20241022-v2:0", {"inputTokens": 1000, "outputTokens": 1000}),
    ],
)
def test_the_provider_s_own_account_is_read_in_every_dialect(name: str, model: str, account: dict[str, Any]) -> None:
    by_account = price_of(name, model, Usage(None, None, None, account), at=DAY)
    by_counts = price_of(name, model, Usage(1000, 1000), at=DAY)

    assert by_account is not None
    assert by_account > 0
    assert by_account == by_counts


@pytest.mark.parametrize(
    ("name", "model", "usage"),
    [
        ("ollama", "llama3", Usage(1, 1)),
        ("nobody", "gpt-4o", Usage(1, 1)),
        ("openai", "no-such-model", Usage(1, 1)),
        ("openai", "gpt-4o", Usage()),
    ],
)
def test_what_has_no_price_has_none(name: str, model: str, usage: Usage) -> None:
    assert price_of(name, model, usage, at=DAY) is None


def test_an_account_that_cannot_be_read_falls_back_to_the_counts() -> None:
    odd = Usage(1000, 1000, 2000, {"prompt_tokens": "many"})

    assert price_of("openai", "gpt-4o", odd, at=DAY) == price_of("openai", "gpt-4o", Usage(1000, 1000), at=DAY)


def test_what_calls_took_is_counted_and_summed() -> None:
    """The provider's own account tells cached tokens apart; what has no price has none, and neither has its sum."""
    account = {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 50}
    one = spent_on("anthropic", "claude-sonnet-4-6", Usage(100, 50, 150, account), at=DAY)
    plain = spent_on("openai", "gpt-5.2", Usage(10, 5, 15), at=DAY)
    unknown = spent_on("openai", "nobody-1", Usage(10, 5, 15), at=DAY)
    own = spent_on("ollama", "mint", Usage(7, 3, 10), at=DAY)

    # 3 dollars a million read, a tenth of that from the cache, 15 written.
    assert one == Spent(1000, 900, 50, Decimal("0.00132"))
    assert one.cost is not None
    assert plain.cost is not None
    assert (one + plain) == Spent(1010, 900, 55, one.cost + plain.cost)
    assert (unknown, own) == (Spent(10, 0, 5), Spent(7, 0, 3))
    assert (one + unknown).cost is None
    assert spent_on("openai", "gpt-5.2", Usage(), at=DAY) == Spent()


def test_prices_are_given_a_million_tokens() -> None:
    assert rates_of("anthropic", "claude-sonnet-4-6", at=DAY) == Rates(Decimal(3), Decimal(15))
    assert rates_of("gemini", "gemini-3-pro-preview", at=DAY) == Rates(Decimal(2), Decimal(12))  # the first step
    assert rates_of("openai", "nobody-1", at=DAY) is None
    assert rates_of("ollama", "mint", at=DAY) is None
