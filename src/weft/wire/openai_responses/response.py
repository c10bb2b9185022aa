"""Responses API responses: a list of items that are one message of ours, with a status and what it cost.

The envelope keeps the layout of the items (see layout.py) where `output` was. Of a compaction's output only the
compaction is a part: the rest is the conversation said back, and stays in the envelope.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, Reply, Usage, thaw
from weft.wire.body import as_body, blobs_or_new, mapping_at
from weft.wire.codec import FAITHFUL, Encoded, Json, Policy
from weft.wire.openai_responses.item import PROVIDER, Speech, decode_item, made_by
from weft.wire.openai_responses.layout import Items, read_message

__all__ = ["complete_item", "decode_item_parts", "decode_response", "encode_response", "envelope", "is_own_envelope"]

DONE = frozenset({"completed", "complete", None})
INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}
WHY = {"length": "max_output_tokens", "content_filter": "content_filter"}
COUNTS = ("input_tokens", "output_tokens", "total_tokens")
PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
    "image_generation_call": "ig",
    "compaction": "cmp",
}


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_response(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Reply:
    """Read a response body; an error body is a reply without messages, kept whole in `raw`."""
    body = as_body(body, "response")
    output = body.get("output")
    if not isinstance(output, (list, tuple)):
        return Reply(raw=body, finished=False)
    blobs = blobs_or_new(blobs)
    provider = provider or PROVIDER
    made = made_by(provider, body.get("model"))
    compacts = body.get("object") == "response.compaction"
    parts: list[Part] = []
    heads: list[Mapping[str, Any]] = []
    for i, value in enumerate(output):
        item = mapping_at(value, f"output[{i}]")
        if compacts and item.get("type") != "compaction":
            heads.append({"at": len(parts), "parts": 0, "whole": item})
            continue
        found, head = decode_item_parts(item, len(parts), blobs, f"output[{i}]", made)
        parts += found
        if head is not None:
            heads.append(head)
    finish, stop = _finish(body, parts)
    reply_id = body.get("id") if isinstance(body.get("id"), str) else None
    return Reply(
        messages=(Message("assistant", tuple(parts), id=reply_id, provider=provider),) if parts else (),
        id=reply_id,
        model=made.get("model"),
        finish_reason=finish,
        stop_reason=stop,
        usage=_usage(body.get("usage")),
        raw={**body, "output": {"of": len(parts), "items": heads}},
        finished=finish is not None,
    )


def decode_item_parts(
    item: Mapping[str, Any], at: int, blobs: BlobStore, where: str, made: Any
) -> tuple[list[Part], Mapping[str, Any] | None]:
    """Read one item of an answer: its parts, and its head if it is a message."""
    if item.get("type") != "message":
        return [decode_item(item, blobs, where, made)], None
    if item.get("role", "assistant") != "assistant":
        return [], {"at": at, "parts": 0, "whole": item}  # not said by the model
    return read_message(item, "assistant", at, blobs, where)


def _finish(body: Mapping[str, Any], parts: list[Part]) -> tuple[str | None, str | None]:
    """Say why an answer stopped: in our words, and in the provider's. One still under way has not."""
    status = body.get("status")
    if status is not None and not isinstance(status, str):
        return None, None
    if status in DONE:
        calls = any(part.type == "tool_call" for part in parts)
        return "tool_calls" if calls else "stop", status
    if status == "incomplete":
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else None
        reason = reason if isinstance(reason, str) else None
        return INCOMPLETE.get(reason or "", "stop"), reason or "incomplete"
    return None, status if status in ("failed", "cancelled") else None


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    count, sent, total = (_count(value.get(name)) for name in COUNTS)
    return Usage(count, sent, total, value or EMPTY)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_response(reply: Reply, blobs: BlobStore | None = None, policy: Policy = FAITHFUL) -> Encoded:
    """Write a reply as a response body: in its own envelope if it has one of this dialect, else in a new one."""
    out = Encoded()
    own = is_own_envelope(reply.raw)
    if own or (not reply.messages and "error" in reply.raw):
        out.body.update(thaw(reply.raw))
        layout = out.body.get("output")
        if not isinstance(layout, Mapping):
            return out
    else:
        out.body.update(envelope(reply))
        layout = EMPTY
    speech = Speech(blobs_or_new(blobs), policy, answering=True)
    written = Items(speech, out)
    message = reply.message or Message("assistant", ())
    if reply.message is not None or own:
        written.add(0, message, layout)
    out.body["output"] = written.items if own else [complete_item(i, n) for n, i in enumerate(written.items)]
    return out


def is_own_envelope(raw: Mapping[str, Any]) -> bool:
    """Tell whether an envelope is one of this dialect's; Bedrock's has an `output` too, with a message in it."""
    output = raw.get("output")
    is_ours = isinstance(output, Mapping) and "message" not in output
    return is_ours or raw.get("object") in ("response", "response.compaction")


def envelope(reply: Reply) -> Json:
    """Make a response around an answer that came from elsewhere."""
    usage = reply.usage or Usage()
    why = WHY.get(reply.finish_reason or "")
    total = usage.total_tokens
    if total is None:
        total = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    return {
        "id": reply.id or "resp_weft",
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if why else "completed" if reply.finish_reason else "in_progress",
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "model": reply.model or "",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": usage.input_tokens or 0,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage.output_tokens or 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total,
        },
    }


def complete_item(item: Json, n: int) -> Json:
    """Give an item made here what every item of an answer has: an id, a status, lists that are there though empty."""
    kind = item.get("type")
    if not isinstance(kind, str) or kind not in PREFIXES:
        return item
    filled: Json = {"id": f"{PREFIXES[kind]}_weft_{n}", **item}
    if kind in ("message", "function_call", "image_generation_call"):
        filled.setdefault("status", "completed")
    for block in filled["content"] if kind == "message" else ():
        if block.get("type") == "output_text":
            block.setdefault("annotations", [])
    return filled
