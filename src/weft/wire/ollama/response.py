"""Ollama responses: one message, `done`, and counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import Message, Reply, Usage, thaw
from weft.wire.body import as_body, blobs_or_new
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy
from weft.wire.ollama.message import NAME, MessageWriter, decode_parts, made_by

__all__ = ["BEGINNING", "STOP", "decode_response", "encode_response", "is_own_envelope", "read_usage", "written_usage"]

COUNTS = ("prompt_eval_count", "eval_count")
DURATIONS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
FINISH = {"stop": "stop", "length": "length"}
STOP = {"stop": "stop", "length": "length", "tool_calls": "stop", "content_filter": "stop"}
BEGINNING = "1970-01-01T00:00:00Z"  # codecs have no clock


def decode_response(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply:
    """Read a response body; an error is a reply without messages, kept whole in `raw`."""
    body = as_body(body, "response")
    message = body.get("message")
    if not isinstance(message, Mapping):
        return Reply(raw=body, finished=False)
    provider = provider or NAME
    made = made_by(provider, body.get("model"))
    parts, rest = decode_parts(message, blobs_or_new(blobs), "message", made, "assistant")
    if message.get("role") is not None:
        rest["role"] = message["role"]
    reason = body.get("done_reason")
    finished = body.get("done") is True
    return Reply(
        messages=(Message("assistant", tuple(parts), provider=provider),),
        model=made.get("model"),
        finish_reason=_finish(reason, parts) if finished else None,
        stop_reason=reason if isinstance(reason, str) else None,
        usage=read_usage(body),
        raw={**body, "message": rest},
        finished=finished,
    )


def _finish(reason: Any, parts: list[Any]) -> str:
    """Say why it stopped in our words: Ollama stops all the same when a tool is called."""
    if any(part.type == "tool_call" for part in parts):
        return "tool_calls"
    return FINISH.get(reason, "stop") if isinstance(reason, str) else "stop"


def encode_response(reply: Reply, blobs: BlobStore | None = None, policy: Policy = FAITHFUL) -> Encoded:
    """Write a reply as a response body: in its own envelope if it has one of this dialect, else in a new one."""
    out = Encoded()
    own = is_own_envelope(reply)
    out.body = thaw(reply.raw) if own else _envelope(reply)
    if reply.message is not None:
        fields = MessageWriter(out, blobs_or_new(blobs), policy).fields(0, reply.message)
        out.body["message"] = {**({} if own else {"content": ""}), **out.body["message"], **fields}
    return out


def is_own_envelope(reply: Reply) -> bool:
    """Tell whether a reply's envelope is one of this dialect's: it has a message, and says whether it is done."""
    raw = reply.raw
    own = isinstance(raw.get("message"), Mapping) and ("done" in raw or "created_at" in raw)
    return own or (bool(raw) and not reply.messages)


def _envelope(reply: Reply) -> Json:
    """Make a new envelope for a reply of another dialect."""
    body: Json = {
        "model": reply.model or "",
        "created_at": BEGINNING,
        "message": {"role": "assistant"},
        "done": reply.finished,
    }
    if reply.finish_reason is not None:
        body["done_reason"] = STOP.get(reply.finish_reason, "stop")
    return body | (written_usage(reply.usage) if reply.usage is not None else {})


def read_usage(body: Mapping[str, Any]) -> Usage | None:
    """Read the counts; with the durations they are the whole account."""
    account = {key: body[key] for key in (*COUNTS, *DURATIONS) if body.get(key) is not None}
    if not any(key in account for key in COUNTS):
        return None
    said, heard = (_count(body.get(key)) for key in COUNTS)
    return Usage(said, heard, None if said is None or heard is None else said + heard, account)


def written_usage(usage: Usage) -> Json:
    """Write the counts, and the durations if they are Ollama's own."""
    account = usage.provider_usage
    if any(key in account for key in COUNTS):
        kept: Json = thaw(account)
        return kept
    counts = zip(COUNTS, (usage.input_tokens, usage.output_tokens), strict=True)
    return {key: count for key, count in counts if count is not None}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
