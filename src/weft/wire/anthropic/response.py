"""Messages API responses: one message, with why it stopped and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Message, Part, Reply, Usage, thaw
from weft.wire.anthropic.block import NAME, decode_block, decode_content, encode_part, made_by
from weft.wire.body import as_body, blobs_or_new
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy

__all__ = ["FINISH", "STOP", "decode_response", "encode_response", "is_own_envelope", "read_usage"]

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


def decode_response(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply:
    """Read a response body; an error body is a reply without messages, kept whole in `raw`."""
    body = as_body(body, "response")
    blobs = blobs_or_new(blobs)
    provider = provider or NAME
    raw = {key: value for key, value in body.items() if key != "content"}
    if not isinstance(body.get("content"), (list, tuple, str)):
        return Reply(raw=body, finished=False)
    made = made_by(provider, body.get("model"))
    parts = _parts(body["content"], blobs, made, provider)
    stop = body.get("stop_reason")
    reply_id = body.get("id") if isinstance(body.get("id"), str) else None
    return Reply(
        messages=(Message("assistant", tuple(parts), id=reply_id, provider=provider),),
        id=reply_id,
        model=made.get("model"),
        finish_reason=FINISH.get(stop, "stop") if isinstance(stop, str) else None,
        stop_reason=stop if isinstance(stop, str) else None,
        usage=read_usage(body.get("usage")),
        raw=raw,
        finished=isinstance(stop, str),
    )


def _parts(content: Any, blobs: BlobStore, made: Frozen, provider: str) -> list[Part]:
    """Read the content; what comes before a `fallback` block was made by the model that gave up there."""
    if isinstance(content, str):
        return decode_content(content, blobs, "content", made)
    makers: list[Frozen] = []
    for b, block in enumerate(content):
        match block:
            case {"type": "fallback", "from": {"model": str(earlier)}}:
                makers += [made_by(provider, earlier)] * (b - len(makers))
    makers += [made] * (len(content) - len(makers))
    return [decode_block(block, blobs, f"content[{b}]", makers[b]) for b, block in enumerate(content)]


def encode_response(reply: Reply, blobs: BlobStore | None = None, policy: Policy = FAITHFUL) -> Encoded:
    """Write a reply as a response body: in its own envelope if it has one of this dialect, else in a new one."""
    out = Encoded()
    if reply.message is None and reply.raw:  # an error, or nothing we can read: it goes back as it came
        out.body.update(thaw(reply.raw))
        return out
    out.body.update(thaw(reply.raw) if is_own_envelope(reply.raw) else _envelope(reply))
    for m in range(1, len(reply.messages)):
        out.lose(f"messages[{m}]", "messages.create gives one answer, not several choices")
    if reply.message is None:
        return out
    blobs = blobs_or_new(blobs)
    content: list[Json] = []
    for p, part in enumerate(reply.message.parts):
        block = encode_part(part, "assistant", reply.message.provider, blobs, policy)
        if isinstance(block, str):
            out.lose_part(0, p, block)
        elif block is not None:
            content.append(block)
    out.body["content"] = content
    return out


def is_own_envelope(raw: Mapping[str, Any]) -> bool:
    """Tell whether an envelope is one of this dialect's."""
    return raw.get("type") in ("message", "error")


def _envelope(reply: Reply) -> Json:
    usage = reply.usage or Usage()
    return {
        "id": reply.id or "msg_weft",
        "type": "message",
        "role": "assistant",
        "model": reply.model or "",
        "content": [],
        "stop_reason": STOP.get(reply.finish_reason or ""),
        "stop_sequence": None,
        "usage": {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0},
    }


def read_usage(value: Any) -> Usage | None:
    """Read the account of tokens; counts that are missing are summed over the iterations of a long run."""
    if not isinstance(value, Mapping):
        return None
    counts = {}
    for name in ("input_tokens", "output_tokens"):
        count = _count(value.get(name))
        rounds = value.get("iterations")
        if not count and isinstance(rounds, (list, tuple)) and rounds:
            count = sum(_count(each.get(name)) or 0 for each in rounds if isinstance(each, Mapping))
        counts[name] = count
    total = _count(value.get("total_tokens"))
    if total is None and None not in counts.values():
        total = sum(count or 0 for count in counts.values())
    return Usage(counts["input_tokens"], counts["output_tokens"], total, value or EMPTY)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
