"""Cohere responses: one message, with why it stopped and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Reply, Usage, thaw
from weft.wire.body import as_body, blobs_or_new
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy
from weft.wire.cohere.block import NAME, made_by
from weft.wire.cohere.message import MessageWriter, decode_parts

__all__ = ["STOP", "decode_response", "encode_response", "is_own_envelope", "read_usage", "written_usage"]

FINISH = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR_TOXIC": "content_filter",
}
STOP = {"stop": "COMPLETE", "length": "MAX_TOKENS", "tool_calls": "TOOL_CALL", "content_filter": "ERROR_TOXIC"}


def decode_response(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply:
    """Read a response body; an error, whose `message` is a text, is a reply without messages."""
    body = as_body(body, "response")
    message = body.get("message")
    if not isinstance(message, Mapping):
        return Reply(raw=body, finished=False)
    provider = provider or NAME
    made = made_by(provider, body.get("model"))
    parts, rest = decode_parts(message, blobs_or_new(blobs), "message", made)
    if message.get("role") is not None:
        rest["role"] = message["role"]
    reply_id = body.get("id") if isinstance(body.get("id"), str) else None
    stop = body.get("finish_reason")
    return Reply(
        messages=(Message("assistant", tuple(parts), id=reply_id, provider=provider),),
        id=reply_id,
        model=made.get("model"),
        finish_reason=FINISH.get(stop, "stop") if isinstance(stop, str) else None,
        stop_reason=stop if isinstance(stop, str) else None,
        usage=read_usage(body),
        raw={**body, "message": rest},
        finished=isinstance(stop, str),
    )


def encode_response(reply: Reply, blobs: BlobStore | None = None, policy: Policy = FAITHFUL) -> Encoded:
    """Write a reply as a response body: in its own envelope if it has one of this dialect, else in a new one."""
    out = Encoded()
    own = is_own_envelope(reply)
    out.body = thaw(reply.raw) if own else _envelope(reply)
    if reply.message is not None:
        fields = MessageWriter(out, blobs_or_new(blobs), policy).assistant(0, reply.message)
        if isinstance(fields.get("content"), str):
            fields["content"] = [{"type": "text", "text": fields["content"]}]  # in answers it is always a list
        out.body["message"] = {**out.body["message"], **fields}
    return out


def is_own_envelope(reply: Reply) -> bool:
    """Tell whether a reply's envelope is one of this dialect's: it has a message beside why it stopped."""
    raw = reply.raw
    return (isinstance(raw.get("message"), Mapping) and "done" not in raw) or (bool(raw) and not reply.messages)


def _envelope(reply: Reply) -> Json:
    body: Json = {
        "id": reply.id or "weft",
        "finish_reason": STOP.get(reply.finish_reason or ""),
        "message": {"role": "assistant"},
    }
    if reply.usage is not None:
        body["usage"] = written_usage(reply.usage)
    return body


def read_usage(body: Mapping[str, Any]) -> Usage | None:
    """Read the account of tokens, as billed; older answers have it in `meta`."""
    usage = body.get("usage") if isinstance(body.get("usage"), Mapping) else body.get("meta")
    if not isinstance(usage, Mapping):
        return None
    counts = next((usage[key] for key in ("billed_units", "tokens") if isinstance(usage.get(key), Mapping)), None)
    if counts is None:
        return None
    said, heard = _count(counts.get("input_tokens")), _count(counts.get("output_tokens"))
    total = None if said is None or heard is None else said + heard
    return Usage(said, heard, total, usage or EMPTY)


def written_usage(usage: Usage) -> Json:
    """Write the account of tokens: as it came if it is Cohere's, else in numbers alone."""
    if "billed_units" in usage.provider_usage or isinstance(usage.provider_usage.get("tokens"), Mapping):
        kept: Json = thaw(usage.provider_usage)
        return kept
    counts = {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}
    return {"billed_units": counts, "tokens": dict(counts)}


def _count(value: Any) -> int | None:
    """Read a count, which Cohere's types say is a float."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
