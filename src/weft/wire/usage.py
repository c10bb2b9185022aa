"""What a recorded answer says it used, read without decoding the answer: of a stream, only the lines that count.

Names are those of all who report usage: OpenAI's two, Anthropic's, Gemini's, Bedrock's, Cohere's, Ollama's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from weft.jsontext import loads

__all__ = ["TokenCounts", "as_if_cached", "stop_reason_of", "token_counts", "usage_of"]


class TokenCounts(NamedTuple):
    """Tokens of one call; `input` is all of the prompt, whether it was in a cache or not. None: not said."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


# Where each count is, first that is there. A path through nested objects is written with dots.
_INPUT = (
    "input_tokens",
    "prompt_tokens",
    "promptTokenCount",
    "inputTokens",
    "tokens.input_tokens",
    "billed_units.input_tokens",
    "prompt_eval_count",
)
_CACHED = (
    "cache_read_input_tokens",
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "cachedContentTokenCount",
    "cacheReadInputTokens",
    "prompt_cache_hit_tokens",
    "cached_tokens",
)
_WRITTEN = ("cache_creation_input_tokens", "cacheWriteInputTokens")
# Anthropic and Bedrock count what was read from a cache and what was written to one apart from the rest of a prompt.
_APART = (
    ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens"),
    ("cacheReadInputTokens", "cacheWriteInputTokens", "inputTokens"),
)
_OUTPUT = (
    "output_tokens",
    "completion_tokens",
    "candidatesTokenCount",
    "outputTokens",
    "tokens.output_tokens",
    "billed_units.output_tokens",
    "eval_count",
)
_REASONING = (
    "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
    "thoughtsTokenCount",
)
_STOPS = ("stop_reason", "finish_reason", "finishReason", "stopReason", "done_reason")


def token_counts(usage: Mapping[str, Any], *, excludes_cached: bool | None = None) -> TokenCounts:
    """Read a provider's own account of a call.

    Anthropic and Bedrock count a prompt without what was read from or written to a cache; `excludes_cached` says so of
    an account whose names do not tell, and None goes by them.
    """
    given, cached, written = _first(usage, _INPUT), _first(usage, _CACHED), _first(usage, _WRITTEN)
    made, thought = _first(usage, _OUTPUT), _first(usage, _REASONING)
    if excludes_cached is None:
        excludes_cached = "cache_read_input_tokens" in usage or "cacheReadInputTokens" in usage
    if excludes_cached and given is not None:
        given += (cached or 0) + (written or 0)
    if "thoughtsTokenCount" in usage and made is not None:
        made += thought or 0  # Gemini counts its thinking beside its answer
    return TokenCounts(given, cached, written, made, thought)


def as_if_cached(account: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """Write a provider's account as if so many more tokens had come from its cache."""
    usage = dict(account)
    apart = next((names for names in _APART if names[0] in usage or names[1] in usage), None)
    if apart is not None:
        read, write, fresh = apart
        written = min(tokens, _first(usage, (write,)) or 0)
        usage[write] = (_first(usage, (write,)) or 0) - written
        usage.pop("cache_creation", None)  # Anthropic's, the same by how long it is kept
        usage[fresh] = max(0, (_first(usage, (fresh,)) or 0) - (tokens - written))
        usage[read] = (_first(usage, (read,)) or 0) + tokens
    elif "promptTokenCount" in usage:
        usage["cachedContentTokenCount"] = (_first(usage, ("cachedContentTokenCount",)) or 0) + tokens
    elif "prompt_tokens" in usage:
        usage["prompt_tokens_details"] = _more_cached(usage.get("prompt_tokens_details"), tokens)
    elif "input_tokens_details" in usage or "input_tokens" in usage:
        usage["input_tokens_details"] = _more_cached(usage.get("input_tokens_details"), tokens)
    return usage


def _more_cached(details: Any, tokens: int) -> dict[str, Any]:
    known = details if isinstance(details, Mapping) else {}
    return {**known, "cached_tokens": (_first(known, ("cached_tokens",)) or 0) + tokens}


def usage_of(response: Any) -> dict[str, Any] | None:
    """Find the account in a recorded response; None if it has none. Of a stream, first and last are laid together."""
    if not isinstance(response, Mapping):
        return None
    if response.get("stream") is not True:
        return _account(response)
    found: dict[str, Any] = {}
    for event in _ends(_events(response, ("sage", "eval_count"))):
        account = _account(event)
        found |= {key: value for key, value in (account or {}).items() if value is not None}
    return found or None


def stop_reason_of(response: Any) -> str | None:
    """Find why an answer ended, in its provider's word."""
    if not isinstance(response, Mapping):
        return None
    events = [response] if response.get("stream") is not True else [*_events(response, _STOPS)]
    for event in reversed(events):
        for place in _places(event):
            for name in _STOPS:
                if isinstance(reason := place.get(name), str):
                    return reason
    return None


def _places(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield event
    for key in ("delta", "response", "message", "messageStop"):
        if isinstance(inner := event.get(key), Mapping):
            yield inner
    for key in ("choices", "candidates"):
        if isinstance(inner := event.get(key), list) and inner and isinstance(inner[0], Mapping):
            yield inner[0]


def _account(event: Mapping[str, Any]) -> dict[str, Any] | None:
    for place in (event, event.get("message"), event.get("response"), event.get("metadata"), event.get("delta")):
        if isinstance(place, Mapping):
            for key in ("usage", "usageMetadata", "usage_metadata"):
                if isinstance(account := place.get(key), Mapping):
                    return dict(account)
    if "prompt_eval_count" in event or "eval_count" in event:
        return {key: event[key] for key in ("prompt_eval_count", "eval_count") if key in event}
    return None


def _events(response: Mapping[str, Any], words: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Read the events of a recorded stream that may have one of these words; the others are not looked at."""
    lines = response.get("sse_lines")
    for line in lines if isinstance(lines, list) else ():
        if not isinstance(line, str) or not line.startswith("data:") or not any(word in line for word in words):
            continue
        if '"usage":null' in line and words[0] == "sage":
            continue  # OpenAI's chat says so in every chunk but the last
        try:
            event = loads(line[5:])
        except ValueError:
            continue
        if isinstance(event, Mapping):
            yield event
    events = response.get("events")
    for event in events if isinstance(events, list) else ():
        if isinstance(event, Mapping):
            yield event


def _ends(events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    first = last = None
    for event in events:
        if _account(event) is not None:
            first, last = first if first is not None else event, event
    if first is not None:
        yield first
    if last is not None and last is not first:
        yield last


def _first(usage: Mapping[str, Any], paths: Sequence[str]) -> int | None:
    for path in paths:
        value: Any = usage
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, float) and value.is_integer():  # Cohere counts in floats
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
