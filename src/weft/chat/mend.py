"""A thread made fit to be sent: what an interrupted or refused round left open is closed, and said so.

The store keeps what happened. A provider refuses a call that nobody answered, reasoning that was cut before its
signature came, and kinds of blocks it does not know; here they are answered or left out, of the request alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from weft.canon import ExcludedItem

__all__ = ["NOT_RUN", "Mended", "mend"]

Json = dict[str, Any]

NOT_RUN = "This call was not run."
# What Gemini is told of a turn; blocks of another provider's own tools would be refused [T-85].
_GEMINI_TAKES = frozenset(
    {"text", "document", "image", "tool_use", "tool_result", "thinking", "redacted_thinking", "refusal", "provider"}
)


class Mended(NamedTuple):
    """Messages a provider will take, what was left out of them, and what was put in."""

    messages: list[Json]
    excluded: list[ExcludedItem]
    warnings: list[str]


def mend(messages: Sequence[Mapping[str, Any]], dialect: str) -> Mended:
    """Give messages the dialect's provider will take."""
    account: list[ExcludedItem] = []
    kept: list[Json] = []
    for m, message in enumerate(messages):
        blocks = message.get("content")
        if not isinstance(blocks, list):
            kept.append(dict(message))
            continue
        stay = []
        for b, block in enumerate(blocks):
            if why := _unfit(block, dialect):
                account.append(ExcludedItem(f"context.messages[{m}].parts[{b}]", why))
            else:
                stay.append(block)
        if stay:
            kept.append({**message, "content": stay})
        elif not blocks:
            account.append(ExcludedItem(f"context.messages[{m}]", "it has no content"))
    warnings: list[str] = []
    return Mended(_answered(kept, warnings), account, warnings)


def _unfit(block: Any, dialect: str) -> str | None:
    match block:
        case {"type": "thinking", "origin": _}:
            return None  # whose it is, is said: the dialect decides
        case {"type": "thinking"} if not block.get("signature"):
            return "thinking that was cut before its signature cannot be sent back"
        case {"type": "text", "text": ""}:
            return "an empty text is refused"
        case {"type": str(kind)} if dialect == "gemini" and kind not in _GEMINI_TAKES and "origin" not in block:
            return f"a {kind} block is another provider's own"
    return None


def _answered(messages: list[Json], warnings: list[str]) -> list[Json]:
    """Give every call a result, in the message after it."""
    whole: list[Json] = []
    for m, message in enumerate(messages):
        whole.append(message)
        if message.get("role") != "assistant":
            continue
        open_calls = _calls(message)
        for later in messages[m + 1 :]:
            if later.get("role") == "assistant":
                break
            open_calls = _less(open_calls, later)
        if not open_calls:
            continue
        results = [_not_run(call) for call in open_calls]
        names = ", ".join(str(call.get("name")) for call in open_calls)
        warnings.append(f"calls that nobody answered are said not to have run: {names}")
        follower = messages[m + 1] if m + 1 < len(messages) else None
        if follower is not None and follower.get("role") == "user" and isinstance(follower.get("content"), list):
            # In a message of their own: Gemini takes text beside results for more of the same round.
            results = [*_results(follower), *results]
            messages[m + 1] = {**follower, "content": _others(follower)}
        whole.append({"role": "user", "content": results})
    return [message for message in whole if message.get("content") != []]


def _calls(message: Json) -> list[Json]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [dict(block) for block in blocks if isinstance(block, Mapping) and block.get("type") == "tool_use"]


def _results(message: Json) -> list[Any]:
    return [block for block in message["content"] if isinstance(block, Mapping) and block.get("type") == "tool_result"]


def _others(message: Json) -> list[Any]:
    return [
        block for block in message["content"] if not (isinstance(block, Mapping) and block.get("type") == "tool_result")
    ]


def _less(calls: list[Json], message: Json) -> list[Json]:
    """Take away the calls that a message answers: by id, or without one by name."""
    if not isinstance(message.get("content"), list):
        return calls
    left = list(calls)
    for result in _results(message):
        call_id, name = result.get("tool_use_id"), result.get("name")
        found = next((call for call in left if call_id is not None and call.get("id") == call_id), None)
        if found is None and call_id is None:
            found = next((call for call in left if call.get("name") == name), None)
        if found is not None:
            left.remove(found)
    return left


def _not_run(call: Json) -> Json:
    block: Json = {"type": "tool_result", "name": call.get("name", ""), "is_error": True}
    if call.get("id") is not None:
        block["tool_use_id"] = call["id"]
    return {**block, "content": [{"type": "text", "text": NOT_RUN}]}
