"""Chat Completions responses: choices, each a message with why it stopped, and what it all cost.

What a message has beside its content (annotations, log probabilities, a provider's own fields) stays in the
envelope, `Reply.raw`, in the place where it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Message, Reply, Usage, thaw
from weft.wire.body import as_body, blobs_or_new
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy
from weft.wire.openai_chat.block import PROVIDER, made_by
from weft.wire.openai_chat.message import MessageWriter, decode_parts

__all__ = ["FINISH", "decode_response", "encode_response", "is_own_envelope", "read_usage", "written_usage"]

FINISH = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "function_call": "tool_calls",
    "model_length": "length",  # Mistral
}


def decode_response(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply:
    """Read a response body; one without choices, such as an error, is a reply without messages."""
    body = as_body(body, "response")
    blobs = blobs_or_new(blobs)
    provider = provider or PROVIDER
    choices = body.get("choices")
    made = made_by(provider, body.get("model"))
    reply_id = body.get("id") if isinstance(body.get("id"), str) else None
    usage = read_usage(body)
    if not isinstance(choices, (list, tuple)) or not choices:
        return Reply(id=reply_id, model=made.get("model"), usage=usage, raw=body, finished=False)
    messages: list[Message] = []
    kept: list[Any] = []
    for c, choice in enumerate(choices):
        if not isinstance(choice, Mapping) or not isinstance(choice.get("message"), Mapping):
            kept.append(choice)
            continue
        message, rest = _decode_message(choice["message"], blobs, f"choices[{c}].message", made, reply_id, provider)
        messages.append(message)
        kept.append({**choice, "message": rest})
    stop = choices[0].get("finish_reason") if isinstance(choices[0], Mapping) else None
    return Reply(
        messages=tuple(messages),
        id=reply_id,
        model=made.get("model"),
        finish_reason=FINISH.get(stop, "stop") if isinstance(stop, str) else None,
        stop_reason=stop if isinstance(stop, str) else None,
        usage=usage,
        raw={**body, "choices": kept},
        finished=isinstance(stop, str),
    )


def _decode_message(
    message: Mapping[str, Any], blobs: BlobStore, at: str, made: Frozen, reply_id: str | None, provider: str
) -> tuple[Message, Json]:
    parts, rest = decode_parts(message, blobs, at, made, "assistant")
    if message.get("role") is not None:
        rest["role"] = message["role"]
    return Message("assistant", tuple(parts), id=reply_id, provider=provider), rest


def encode_response(reply: Reply, blobs: BlobStore | None = None, policy: Policy = FAITHFUL) -> Encoded:
    """Write a reply as a response body: in its own envelope if it has one of this dialect, else in a new one."""
    out = Encoded()
    body: Json = thaw(reply.raw) if is_own_envelope(reply) else _envelope(reply)
    out.body = body
    writer = MessageWriter(out, blobs_or_new(blobs), policy, "", in_response=True)
    held_choices = body.get("choices")
    choices: list[Any] = held_choices if isinstance(held_choices, list) else []
    places = [choice for choice in choices if isinstance(choice, dict) and isinstance(choice.get("message"), dict)]
    for m, message in enumerate(reply.messages):
        if m >= len(places):
            places.append({"index": m, "message": {"role": "assistant"}, "finish_reason": reply.finish_reason})
            choices.append(places[-1])
            body["choices"] = choices
        held = places[m]["message"]
        held.update(writer.assistant(m, message))
        if not is_own_envelope(reply):
            held.setdefault("content", None)
    return out


def is_own_envelope(reply: Reply) -> bool:
    """Tell whether a reply's envelope is one of this dialect's: it has choices, or is all there is."""
    raw = reply.raw
    return isinstance(raw.get("choices"), (list, tuple)) or (bool(raw) and not reply.messages)


def _envelope(reply: Reply) -> Json:
    body: Json = {
        "id": reply.id or "chatcmpl-weft",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model or "",
        "choices": [
            {
                "index": m,
                "message": {"role": "assistant", "content": None, "refusal": None},
                "logprobs": None,
                "finish_reason": reply.finish_reason,
            }
            for m in range(len(reply.messages))
        ],
    }
    if reply.usage is not None:
        body["usage"] = written_usage(reply.usage)
    return body


def read_usage(body: Mapping[str, Any]) -> Usage | None:
    """Read the account of tokens; Groq once had it in a corner of its own."""
    usage = body.get("usage")
    if usage is None and isinstance(body.get("x_groq"), Mapping):
        usage = body["x_groq"].get("usage")
    if not isinstance(usage, Mapping):
        return None
    said, heard, total = (_count(usage.get(key)) for key in ("prompt_tokens", "completion_tokens", "total_tokens"))
    return Usage(said, heard, total, usage or EMPTY)


def written_usage(usage: Usage) -> Json:
    """Write the account of tokens: as it came if it is one of ours, else in numbers alone."""
    if "prompt_tokens" in usage.provider_usage or "completion_tokens" in usage.provider_usage:
        kept: Json = thaw(usage.provider_usage)
        return kept
    said, heard = usage.input_tokens or 0, usage.output_tokens or 0
    total = said + heard if usage.total_tokens is None else usage.total_tokens
    return {"prompt_tokens": said, "completion_tokens": heard, "total_tokens": total}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
