"""A recorded exchange as a span, in the words of OpenTelemetry's GenAI conventions.

The conventions still move, so their names are written out here and not taken from a package. A span's ids are made of
the exchange's: exporting a recording twice gives the same spans.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from weft import jsontext
from weft.canon import Entry, Transcript, Usage, gather
from weft.formats import instructions_attribute, messages_attribute, read_record, tools_attribute
from weft.secrets import redact_text
from weft.trace import token_counts

__all__ = ["GenAiSpan", "span_of"]

_PROVIDERS = {"google": "gcp.gemini", "bedrock": "aws.bedrock", "azure": "azure.ai.openai", "xai": "x_ai"}
_FAILED = 400  # from this status on, an answer is a refusal
_PARAMETERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
}


@dataclass(frozen=True, slots=True)
class GenAiSpan:
    """A span as it will be sent: times in nanoseconds, ids as numbers."""

    name: str
    trace_id: int
    span_id: int
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    link: tuple[int, int] | None = None  # trace and span of the request that this one continues


def span_of(
    record: Mapping[str, Any],
    *,
    root_id: str | None = None,
    parent_id: str | None = None,
    content: bool = True,
    redact: bool = True,
) -> GenAiSpan:
    """Make a span of a trace record.

    `root_id` is the first request of its conversation, whose trace it belongs to; `parent_id` the request it continues.
    `content` puts the messages in; `redact` masks the secrets in them.
    """
    name = str(record.get("id") or "")
    transcript = next(gather(read_record(record, 1)), Transcript())
    begun = _nanoseconds(record.get("timestamp"))
    taken = record.get("duration_ms")
    attributes = _facts(record, transcript)
    error = _error(record)
    if error is not None:
        attributes["error.type"] = str(record.get("status") or "transport")
    if content:
        attributes |= _content(transcript, redact=redact)
    model = attributes.get("gen_ai.request.model", "")
    return GenAiSpan(
        f"{attributes['gen_ai.operation.name']} {model}".strip(),
        _number(root_id or name, 16),
        _number(name, 8),
        begun,
        begun + int(taken) * 1_000_000 if isinstance(taken, (int, float)) else begun,
        attributes,
        redact_text(error) if error is not None and redact else error,
        None if parent_id is None else (_number(root_id or name, 16), _number(parent_id, 8)),
    )


def _facts(record: Mapping[str, Any], transcript: Transcript) -> dict[str, Any]:
    """Give what is known of a call without what was said in it."""
    session = transcript.session
    answer = _answer(transcript)
    provider = str(record.get("provider") or session.provider or "")
    facts: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider) or None,
        "gen_ai.request.model": session.model,
        "weft.exchange.id": record.get("id"),
        "http.response.status_code": record.get("status"),
    }
    facts |= {name: session.parameters.get(key) for key, name in _PARAMETERS.items()}
    if answer is not None:
        facts |= {
            "gen_ai.response.model": answer.model,
            "gen_ai.response.id": answer.message.id,
            "gen_ai.response.finish_reasons": [answer.finish_reason] if answer.finish_reason else None,
            **_usage(answer.usage),
        }
    return {key: value for key, value in facts.items() if isinstance(value, (str, int, float, list))}


def _usage(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    counts = token_counts(usage.provider_usage)
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": counts.cached or None,
        "gen_ai.usage.cache_creation.input_tokens": counts.cache_write or None,
    }


def _content(transcript: Transcript, *, redact: bool) -> dict[str, str]:
    """Give what was said, each attribute as the text of its JSON: attributes hold no objects."""
    answer = _answer(transcript)
    asked = list(transcript.entries if answer is None else transcript.entries[:-1])
    told = list(takewhile(lambda entry: entry.message.role in ("system", "developer"), asked))
    parts = [part for message in messages_attribute(told) for part in message["parts"]]
    asked = asked[len(told) :]
    said: dict[str, list[Any]] = {
        "gen_ai.system_instructions": [*instructions_attribute(transcript.session.instructions), *parts],
        "gen_ai.tool.definitions": tools_attribute(transcript.session.tools),
        "gen_ai.input.messages": messages_attribute(asked),
        "gen_ai.output.messages": [] if answer is None else messages_attribute([answer], answers=True),
    }
    texts = {key: jsontext.dumps_text(value) for key, value in said.items() if value}
    return {key: redact_text(text) for key, text in texts.items()} if redact else texts


def _answer(transcript: Transcript) -> Entry | None:
    last = transcript.entries[-1] if transcript.entries else None
    return last if last is not None and "trace" in last.extras and last.message.role == "assistant" else None


def _error(record: Mapping[str, Any]) -> str | None:
    if record.get("error"):
        return str(record["error"])
    status = record.get("status")
    if not isinstance(status, int) or status < _FAILED:
        return None
    match record.get("response"):
        case {"error": {"message": str(words)}} | {"message": str(words)} | {"error": str(words)}:
            return words
    return f"status {status}"


def _number(name: str, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=size).digest()) or 1


def _nanoseconds(timestamp: Any) -> int:
    try:
        at = datetime.fromisoformat(str(timestamp))
    except ValueError:
        return 0
    since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime.fromtimestamp(0, UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
