"""What recorded answers say they used, in every provider's words."""

from __future__ import annotations

from typing import Any

import pytest

from weft.trace import TokenCounts, as_if_cached, stop_reason_of, token_counts, usage_of

CASES: list[tuple[str, dict[str, Any], TokenCounts]] = [
    (
        "OpenAI chat",
        {
            "prompt_tokens": 100,
            "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 64},
            "completion_tokens_details": {"reasoning_tokens": 4},
        },
        TokenCounts(100, 64, None, 9, 4),
    ),
    (
        "OpenAI Responses",
        {
            "input_tokens": 100,
            "output_tokens": 9,
            "input_tokens_details": {"cached_tokens": 64},
            "output_tokens_details": {"reasoning_tokens": 4},
        },
        TokenCounts(100, 64, None, 9, 4),
    ),
    (
        "Anthropic counts a prompt without its cached part",
        {"input_tokens": 6, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 4, "output_tokens": 9},
        TokenCounts(100, 90, 4, 9, None),
    ),
    (
        "Gemini counts thinking beside the answer",
        {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 64,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 4,
        },
        TokenCounts(100, 64, None, 9, 4),
    ),
    (
        "Bedrock",
        {"inputTokens": 6, "outputTokens": 9, "cacheReadInputTokens": 90, "cacheWriteInputTokens": 4},
        TokenCounts(100, 90, 4, 9, None),
    ),
    ("Cohere counts in floats", {"tokens": {"input_tokens": 100.0, "output_tokens": 9.0}}, TokenCounts(100, output=9)),
    ("Ollama", {"prompt_eval_count": 100, "eval_count": 9}, TokenCounts(100, output=9)),
    ("nothing", {}, TokenCounts()),
    ("nonsense", {"input_tokens": "many", "output_tokens": True, "tokens": 3}, TokenCounts()),
]


@pytest.mark.parametrize(("usage", "counts"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_every_account_is_read(usage: dict[str, Any], counts: TokenCounts) -> None:
    assert token_counts(usage) == counts


def streamed(*events: str) -> dict[str, Any]:
    return {"stream": True, "sse_lines": [f"data: {event}" for event in events]}


@pytest.mark.parametrize(
    ("response", "usage", "stop"),
    [
        ({"usage": {"input_tokens": 1}, "stop_reason": "end_turn"}, {"input_tokens": 1}, "end_turn"),
        ({"usageMetadata": {"a": 1}, "candidates": [{"finishReason": "STOP"}]}, {"a": 1}, "STOP"),
        ({"message": {}, "done_reason": "stop", "eval_count": 3}, {"eval_count": 3}, "stop"),
        (
            streamed(
                '{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}',
                '{"type":"content_block_delta","delta":{"text":"the usage of words"}}',
                '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}',
            ),
            {"input_tokens": 5, "output_tokens": 7},
            "end_turn",
        ),
        (
            streamed(
                '{"choices":[{"delta":{},"finish_reason":null}],"usage":null}',
                '{"choices":[{"delta":{},"finish_reason":"length"}],"usage":null}',
                '{"choices":[],"usage":{"prompt_tokens":4}}',
                "[DONE]",
                '{"usage" broken',
            ),
            {"prompt_tokens": 4},
            "length",
        ),
        (
            {
                "stream": True,
                "framing": "aws_eventstream",
                "events": [{"messageStop": {"stopReason": "end_turn"}}, {"metadata": {"usage": {"inputTokens": 3}}}],
            },
            {"inputTokens": 3},
            "end_turn",
        ),
        ({"raw": "<html>"}, None, None),
        ({"stream": True, "sse_lines": [1, "event: x", "data: [1]"]}, None, None),
        (None, None, None),
    ],
)
def test_an_account_is_found_wherever_it_is(response: Any, usage: Any, stop: Any) -> None:
    assert usage_of(response) == usage
    assert stop_reason_of(response) == stop


@pytest.mark.parametrize(
    ("usage", "counts"),
    [case[1:] for case in CASES if case[2].cached is not None],
    ids=[case[0] for case in CASES if case[2].cached is not None],
)
def test_an_account_as_if_more_were_cached_is_of_the_same_prompt(usage: dict[str, Any], counts: TokenCounts) -> None:
    """What a cache miss cost: only where the tokens came from differs, in every provider's words."""
    before = dict(usage)

    found = token_counts(as_if_cached(usage, 5))

    written = counts.cache_write and max(0, counts.cache_write - 5)
    assert found == counts._replace(cached=(counts.cached or 0) + 5, cache_write=written)
    assert usage == before


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": "5", "cache_read_input_tokens": "x", "cache_creation_input_tokens": [1]},
        {"prompt_tokens": 5, "prompt_tokens_details": [1]},
        {"input_tokens": 5, "input_tokens_details": "none"},
        {"promptTokenCount": 5, "cachedContentTokenCount": {}},
    ],
)
def test_an_account_of_odd_types_is_read_as_far_as_it_goes(usage: dict[str, Any]) -> None:
    """L6: what is no number counts for none."""
    assert token_counts(as_if_cached(usage, 3)).cached == 3
