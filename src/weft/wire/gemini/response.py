"""generateContent responses: candidates, each a message, with why it stopped and what it all cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Message, Reply, Usage, thaw
from weft.wire.body import as_body, blobs_or_new, listed, mapping_at
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy
from weft.wire.gemini.calls import Calls
from weft.wire.gemini.part import PROVIDER, decode_part, encode_part, made_by
from weft.wire.gemini.spelling import find, get
from weft.wire.gemini.way import Way, way_of

__all__ = ["STOP", "decode_response", "encode_response", "finish_of", "is_own_envelope", "read_usage", "usage_metadata"]

FINISH = {
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
}
STOP = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"}
# Clients that speak protobuf record the enumeration's numbers; past these the two APIs count differently.
NUMBERED = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
ENVELOPE = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId")


def decode_response(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply:
    """Read a response body; an error body is a reply without messages, kept whole in `raw`."""
    body = as_body(body, "response")
    blobs = blobs_or_new(blobs)
    model, reply_id = get(body, "modelVersion"), get(body, "responseId")
    usage = read_usage(get(body, "usageMetadata"))
    key = find(body, "candidates")
    candidates = listed(body[key], key) if key else ()
    if not candidates:
        blocked = _block_reason(body)
        return Reply(
            id=reply_id if isinstance(reply_id, str) else None,
            model=model if isinstance(model, str) else None,
            finish_reason="content_filter" if blocked else None,
            stop_reason=blocked,
            usage=usage,
            raw=body,
            finished=blocked is not None,
        )
    made = made_by(provider, model)
    messages: list[Message] = []
    envelopes: list[Json] = []
    calls = Calls()
    first: Message | None = None
    for c, value in enumerate(candidates):
        candidate = dict(mapping_at(value, f"{key}[{c}]"))
        message = _decode_content(candidate, blobs, f"{key}[{c}]", made, calls, provider or PROVIDER)
        envelopes.append(candidate)
        if message is not None:
            messages.append(message)
        if c == 0:
            first = message
    stop = _stop_reason(envelopes[0])
    return Reply(
        messages=tuple(messages),
        id=reply_id if isinstance(reply_id, str) else None,
        model=model if isinstance(model, str) else None,
        finish_reason=finish_of(stop, first),
        stop_reason=stop,
        usage=usage,
        raw={**body, str(key): envelopes},
        finished=stop is not None,
    )


def _decode_content(
    candidate: Json, blobs: BlobStore, at: str, made: Frozen, calls: Calls, provider: str
) -> Message | None:
    """Read a candidate's content, leaving a null in the candidate where its parts were."""
    if candidate.get("content") is None:
        return None
    content = dict(mapping_at(candidate["content"], f"{at}.content"))
    candidate["content"] = content
    given = listed(content.get("parts"), f"{at}.content.parts")
    if not given:
        if content.get("parts") is None:
            content.pop("parts", None)
        return None
    content["parts"] = None
    parts = [decode_part(part, blobs, f"{at}.content.parts[{p}]", made, calls) for p, part in enumerate(given)]
    return Message("assistant", tuple(parts), provider=provider)


def _block_reason(body: Mapping[str, Any]) -> str | None:
    """Say why the prompt was refused: then there are no candidates, and none will come."""
    feedback = get(body, "promptFeedback")
    reason = get(feedback, "blockReason") if isinstance(feedback, Mapping) else None
    return str(getattr(reason, "value", reason)) if reason is not None else None


def _stop_reason(candidate: Mapping[str, Any]) -> str | None:
    reason = get(candidate, "finishReason")
    if isinstance(reason, int) and not isinstance(reason, bool):
        return NUMBERED[reason] if 0 <= reason < len(NUMBERED) else f"FINISH_REASON_{reason}"
    reason = getattr(reason, "value", reason)  # the SDK's objects have enumerations
    return reason if isinstance(reason, str) and reason else None


def finish_of(stop: str | None, message: Message | None) -> str | None:
    """Say in our words why an answer ended: Gemini stops for a tool as it stops for anything."""
    if stop is None:
        return None
    if stop == "STOP" and message is not None and any(part.type == "tool_call" for part in message.parts):
        return "tool_calls"
    return FINISH.get(stop, "stop")


def encode_response(reply: Reply, blobs: BlobStore | None = None, policy: Policy = FAITHFUL) -> Encoded:
    """Write a reply as a response body: in its own envelope if it has one of this dialect, else in a new one."""
    out = Encoded()
    blobs = blobs_or_new(blobs)
    way = way_of(policy)
    if is_own_envelope(reply.raw) or (not reply.messages and not reply.finished):
        out.body.update(thaw(reply.raw))
    else:
        out.body.update(_envelope(reply))
    candidates = out.body.get(find(out.body, "candidates") or "") or []
    waiting = [candidate for candidate in candidates if _is_waiting(candidate)]
    for m, message in enumerate(reply.messages):
        if m < len(waiting):
            waiting[m]["content"]["parts"] = _encode_parts(m, message, blobs, way, out)
        else:
            out.lose(f"context.messages[{m}]", "the envelope of this response has no candidate for it")
    return out


def _is_waiting(candidate: Any) -> bool:
    """Tell whether a candidate's parts are in a message."""
    content = candidate.get("content") if isinstance(candidate, dict) else None
    return isinstance(content, dict) and "parts" in content and content["parts"] is None


def _encode_parts(m: int, message: Message, blobs: BlobStore, way: Way, out: Encoded) -> list[Json]:
    parts: list[Json] = []
    for p, part in enumerate(message.parts):
        block = encode_part(part, "assistant", message.provider, blobs, way)
        if isinstance(block, str):
            out.lose_part(m, p, block)
        elif block is not None:
            parts.append(block)
    return parts


def is_own_envelope(raw: Mapping[str, Any]) -> bool:
    """Tell whether an envelope is one of this dialect's."""
    return any(find(raw, name) for name in ENVELOPE)


def _envelope(reply: Reply) -> Json:
    finish = STOP.get(reply.finish_reason or "")
    candidates: list[Json] = []
    for m in range(len(reply.messages)):
        candidate: Json = {"content": {"role": "model", "parts": None}, "index": m}
        candidates.append({**candidate, "finishReason": finish} if finish else candidate)
    body: Json = {"candidates": candidates}
    if reply.usage is not None:
        body["usageMetadata"] = usage_metadata(reply.usage)
    if reply.model:
        body["modelVersion"] = reply.model
    if reply.id:
        body["responseId"] = reply.id
    return body


def usage_metadata(usage: Usage) -> Json:
    """Write an account of tokens."""
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": usage.total_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def read_usage(value: Any) -> Usage | None:
    """Read the account of tokens.

    Whether the tokens of thinking and of tool use are in the two main counts is nowhere said; the reported total
    tells: they are added if that brings the sum closer to it [model.md, section 11].
    """
    if not isinstance(value, Mapping):
        return None
    prompt, answer = _count(value, "promptTokenCount"), _count(value, "candidatesTokenCount")
    total = _count(value, "totalTokenCount")
    full_prompt = _added(prompt, _count(value, "toolUsePromptTokenCount"))
    full_answer = _added(answer, _count(value, "thoughtsTokenCount"))
    if total is None or _distance(full_prompt, full_answer, total) < _distance(prompt, answer, total):
        prompt, answer = full_prompt, full_answer
    if total is None:
        total = _added(prompt, answer)
    return Usage(prompt, answer, total, value or EMPTY)


def _count(value: Mapping[str, Any], name: str) -> int | None:
    count = get(value, name)
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def _added(left: int | None, right: int | None) -> int | None:
    return None if left is None and right is None else (left or 0) + (right or 0)


def _distance(prompt: int | None, answer: int | None, total: int) -> int:
    return abs((prompt or 0) + (answer or 0) - total)
