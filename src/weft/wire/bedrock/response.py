"""Converse responses: one message, with why it stopped and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Reply, Usage, thaw
from weft.jsontext import dumps_text
from weft.wire.bedrock.block import NAME, decode_content, encode_part, made_by
from weft.wire.body import as_body, blobs_or_new
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy

__all__ = ["STOP", "decode_response", "encode_response", "is_own_envelope", "read_usage", "write_usage"]

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "content_filtered"}
FOREIGN = ("type", "error", "object", "choices", "candidates")  # marks of other providers' errors


def decode_response(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply:
    """Read a response body; an error body is a reply without messages, kept whole in `raw`."""
    body = as_body(body, "response")
    provider = provider or NAME
    match body.get("output"):
        case {"message": {"content": list() | tuple() as content} as message, **others}:
            rest = {key: value for key, value in message.items() if key != "content"}
            raw = {**body, "output": {**others, "message": rest}}
        case _:
            return Reply(raw=body, finished=False)
    made = made_by(provider, _model(body))
    parts = decode_content(content, blobs_or_new(blobs), "output.message.content", made, "assistant")
    stop = body.get("stopReason")
    return Reply(
        messages=(Message("assistant", tuple(parts), provider=provider),),
        model=made.get("model"),
        finish_reason=FINISH.get(stop, "stop") if isinstance(stop, str) else None,
        stop_reason=stop if isinstance(stop, str) else None,
        usage=read_usage(body.get("usage")),
        raw=raw,
        finished=isinstance(stop, str),
    )


def _model(body: Mapping[str, Any]) -> Any:
    """Tell which model a prompt router chose; elsewhere only the request knows."""
    match body.get("trace"):
        case {"promptRouter": {"invokedModelId": str(model)}}:
            return model
    return None


def encode_response(reply: Reply, blobs: BlobStore | None = None, policy: Policy = FAITHFUL) -> Encoded:
    """Write a reply as a response body: in its own envelope if it has one of this dialect, else in a new one."""
    out = Encoded()
    own = is_own_envelope(reply.raw)
    if reply.message is None:
        failed = reply.raw and not own
        out.body.update(thaw(reply.raw) if own else _error(reply) if failed else _envelope(reply))
        return out
    blobs = blobs_or_new(blobs)
    content: list[Json] = []
    for p, part in enumerate(reply.message.parts):
        block = encode_part(part, "assistant", reply.message.provider, blobs, policy)
        if isinstance(block, str):
            out.lose_part(0, p, block)
        elif block is not None:
            content.append(block)
    body: Json = thaw(reply.raw) if own and isinstance(reply.raw.get("output"), Mapping) else _envelope(reply)
    message = body["output"].get("message")
    body["output"]["message"] = {**(message if isinstance(message, dict) else {}), "content": content}
    out.body.update(body)
    return out


def is_own_envelope(raw: Mapping[str, Any]) -> bool:
    """Tell whether an envelope is one of this dialect's: known by not being anyone else's, as its errors are."""
    has_output = "output" not in raw or isinstance(raw["output"], Mapping)
    return bool(raw) and has_output and not any(mark in raw for mark in FOREIGN)


def _envelope(reply: Reply) -> Json:
    return {
        "output": {"message": {"role": "assistant", "content": []}},
        "stopReason": STOP.get(reply.finish_reason or "", "end_turn"),
        "usage": write_usage(reply.usage),
        "metrics": {"latencyMs": 0},
    }


def _error(reply: Reply) -> Json:
    """Write another provider's error as AWS would: its message alone."""
    error = reply.raw.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    return {"message": message if isinstance(message, str) else dumps_text(reply.raw)}


def read_usage(value: Any) -> Usage | None:
    """Read the account of tokens; a missing total is the sum."""
    if not isinstance(value, Mapping):
        return None
    read, written, total = (_count(value.get(name)) for name in ("inputTokens", "outputTokens", "totalTokens"))
    if total is None and read is not None and written is not None:
        total = read + written
    return Usage(read, written, total, value or EMPTY)


def write_usage(usage: Usage | None) -> Json:
    """Write the counts under Converse's names, all of which it requires."""
    usage = usage or Usage()
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    total = read + written if usage.total_tokens is None else usage.total_tokens
    return {"inputTokens": read, "outputTokens": written, "totalTokens": total}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
