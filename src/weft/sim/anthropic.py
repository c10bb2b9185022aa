"""Anthropic's face: POST /v1/messages, GET /v1/models.

https://docs.claude.com/en/api/errors gives the error types. Thinking blocks are signed and come back untouched or
not at all; a tool_use is answered in the very next message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from weft.sim.face import Ask, Book, Face, Json, Made, at, sse
from weft.sim.fields import ANTHROPIC, ANTHROPIC_BETA
from weft.sim.limits import Limits
from weft.sim.refusal import RefusedError, listed, refuse
from weft.sim.tokens import Segment

__all__ = ["Anthropic"]

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
THINKING = ("thinking", "redacted_thinking")
EMPTY = "messages.{}: all messages must have non-empty content except for the optional final assistant message"
UNANSWERED = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block "
    "must have a corresponding `tool_result` block in the next message."
)
ORPHAN = (
    "messages.{}.content.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must "
    "have a corresponding `tool_use` block in the previous message."
)
THOUGHTLESS = (
    "messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is "
    "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
    "and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
    "requirement, disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
REDACTED = "weft-sim-redacted"

USUAL = {
    400: "Bad request.",
    401: "invalid x-api-key",
    403: "Your API key does not have permission to use the specified resource.",
    404: "Not Found",
    413: "Request exceeds the maximum size",
    429: "This request would exceed your organization's rate limit of 50 requests per minute.",
    500: "Internal server error",
    503: "Service unavailable",
    504: "Request timed out",
    529: "Overloaded",
}


class Anthropic(Face):
    """The Messages API."""

    provider = "anthropic"
    dialect = "anthropic"
    family = "claude"
    call_prefix = "toolu_01"
    marked_cache = True
    usual: ClassVar[Mapping[int, str]] = USUAL

    def key_of(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Take x-api-key, or the bearer token that OAuth and gateways use."""
        return headers.get("x-api-key", "").strip() or super().key_of(headers, query)

    def no_key(self) -> RefusedError:
        """Say that a key is missing."""
        return RefusedError(401, "x-api-key header is required")

    def bad_key(self) -> RefusedError:
        """Say that a key is wrong."""
        return RefusedError(401, "invalid x-api-key")

    def no_model(self, ask: Ask) -> RefusedError:
        """Say that there is no such model."""
        return RefusedError(404, f"model: {ask.model}")

    # -- what is asked

    def check(self, ask: Ask, book: Book) -> None:
        """Refuse what the Messages API refuses, in the order in which it looks."""
        body = ask.body
        if "anthropic-version" not in ask.headers:
            refuse("anthropic-version: header is required")
        allowed = ANTHROPIC | ANTHROPIC_BETA if "anthropic-beta" in ask.headers else ANTHROPIC
        for key in body:
            if key not in allowed:
                refuse(f"{key}: Extra inputs are not permitted")
        for key in ("model", "messages", "max_tokens"):
            if body.get(key) is None:
                refuse(f"{key}: Field required")
        limit = body["max_tokens"]
        if not isinstance(limit, int) or isinstance(limit, bool):
            refuse("max_tokens: Input should be a valid integer")
        if limit < 1:
            refuse("max_tokens: Input should be greater than or equal to 1")
        self._check_budget(body, limit)
        if not isinstance(body["messages"], list):
            refuse("messages: Input should be a valid list")
        messages = listed(body["messages"])
        if not messages:
            refuse("messages: at least one message is required")
        self._check_messages(messages, body, book)
        marks = sum(segment.marked for segment in self.segments(body))
        if marks > 4:
            refuse(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")

    def _check_budget(self, body: Json, limit: int) -> None:
        budget = at(body, "thinking", "budget_tokens")
        if at(body, "thinking", "type") != "enabled":
            return
        if budget is None:
            refuse("thinking.enabled.budget_tokens: Field required")
        if not isinstance(budget, int):
            refuse("thinking.enabled.budget_tokens: Input should be a valid integer")
        if budget < 1024:
            refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if budget >= limit:
            refuse(
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
                "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
            )

    def _check_messages(self, messages: list[Mapping[str, Any]], body: Json, book: Book) -> None:
        waiting: list[str] = []  # ids of tool_use blocks of the message before
        for m, message in enumerate(messages):
            role = message.get("role")
            if role == "system":
                refuse(
                    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not '
                    '"system" as an input message role.'
                )
            if role not in ("user", "assistant"):
                refuse(f"messages.{m}.role: Input should be 'user' or 'assistant'")
            if not m and role != "user":
                refuse('messages: first message must use the "user" role')
            content = message.get("content")
            if not content and not (role == "assistant" and m == len(messages) - 1):
                refuse(EMPTY.format(m))
            blocks = listed(content)
            self._check_pairs(m, role, blocks, waiting)
            self._check_thoughts(m, role, blocks, book)
            waiting = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if waiting:
            refuse(UNANSWERED.format(len(messages) - 1, ", ".join(waiting)))
        self._check_last_thought(messages, body)

    def _check_pairs(self, m: int, role: Any, blocks: list[Mapping[str, Any]], waiting: list[str]) -> None:
        results = {str(block.get("tool_use_id")): b for b, block in enumerate(blocks) if _is(block, "tool_result")}
        if missing := [call for call in waiting if role != "user" or call not in results]:
            refuse(UNANSWERED.format(m - 1, ", ".join(missing)))
        for call, b in results.items():
            if call not in waiting:
                refuse(ORPHAN.format(m, b, call))
        for b, block in enumerate(blocks):
            if _is(block, "text") and not block.get("text"):
                refuse("messages: text content blocks must be non-empty")
            if not isinstance(block.get("type"), str):
                refuse(f"messages.{m}.content.{b}.type: Field required")

    def _check_thoughts(self, m: int, role: Any, blocks: list[Mapping[str, Any]], book: Book) -> None:
        signer = book.signer(self.family)
        for b, block in enumerate(blocks):
            if block.get("type") not in THINKING or role != "assistant":
                continue
            place = f"messages.{m}.content.{b}"
            if _is(block, "redacted_thinking"):
                if not signer.is_signed(block.get("data"), REDACTED):
                    refuse(f"{place}: Invalid `data` in `redacted_thinking` block")
            elif block.get("signature") is None:
                refuse(f"{place}.thinking.signature: Field required")
            elif not signer.is_signed(block["signature"], str(block.get("thinking"))):
                refuse(f"{place}: Invalid `signature` in `thinking` block")

    def _check_last_thought(self, messages: list[Mapping[str, Any]], body: Json) -> None:
        """While tools run, the thinking that led to them must be there."""
        if at(body, "thinking", "type") != "enabled" or len(messages) < 2:
            return
        blocks, results = listed(messages[-2].get("content")), listed(messages[-1].get("content"))
        answering = any(_is(block, "tool_result") for block in results)
        if answering and blocks and blocks[0].get("type") not in THINKING:
            refuse(THOUGHTLESS.format(len(messages) - 2, blocks[0].get("type")))

    def thinks(self, ask: Ask) -> bool:
        """Tell whether extended or adaptive thinking is on."""
        return at(ask.body, "thinking", "type") in ("enabled", "adaptive")

    def forced(self, body: Json) -> str | None:
        """Read tool_choice."""
        match body.get("tool_choice"):
            case {"type": "any"}:
                return "*"
            case {"type": "tool", "name": str(name)}:
                return name
        return None

    def segments(self, body: Json) -> Iterator[Segment]:
        """Tools, then system, then messages, block by block."""
        for tool in listed(body.get("tools")):
            yield Segment(tool, "cache_control" in tool)
        system = body.get("system")
        for block in listed(system) if isinstance(system, list) else [system] if system else []:
            yield Segment(block, "cache_control" in block)
        messages = listed(body.get("messages"))
        for message in messages:
            content = message.get("content")
            for block in listed(content) if isinstance(content, list) else [{"type": "text", "text": content}]:
                automatic = "cache_control" in body and message is messages[-1]
                yield Segment([message.get("role"), block], "cache_control" in block or automatic)

    # -- what is answered

    def dress(self, body: Json, ask: Ask, made: Made, book: Book) -> None:
        """Add ids, signatures and the account."""
        counts = made.counts
        signer = book.signer(self.family)
        for n, block in enumerate(body["content"]):
            if _is(block, "thinking"):
                block["signature"] = signer.sign(block["thinking"])
                if made.redacted:
                    body["content"][n] = {"type": "redacted_thinking", "data": signer.sign(REDACTED)}
        if made.stop_sequence is not None:
            body |= {"stop_reason": "stop_sequence", "stop_sequence": made.stop_sequence}
        body |= {"id": ask.id("msg_01", length=22), "model": ask.model, "container": None}
        hour = any(at(block.value, "cache_control", "ttl") == "1h" for block in self.segments(ask.body))
        body["usage"] = {
            "input_tokens": counts.input - counts.cached - counts.written,
            "cache_creation_input_tokens": counts.written,
            "cache_read_input_tokens": counts.cached,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 0 if hour else counts.written,
                "ephemeral_1h_input_tokens": counts.written if hour else 0,
            },
            "output_tokens": counts.output,
            "service_tier": "standard",
        }

    def frames(self, frames: Iterator[bytes], ask: Ask) -> Iterator[bytes]:  # noqa: ARG002 - the face's signature
        """Add the ping that comes with the first block."""
        waiting = True
        for frame in frames:
            yield frame
            if waiting and frame.startswith(b"event: content_block_start"):
                waiting = False
                yield sse({"type": "ping"}, "ping")

    def headers(self, mark: str, limits: Limits) -> dict[str, str]:
        """Give the request's id and what is left of the limits."""
        return {
            "request-id": f"req_{mark[:24]}",
            "anthropic-organization-id": "00000000-0000-4000-8000-000000000000",
            "anthropic-ratelimit-requests-limit": str(limits.limit),
            "anthropic-ratelimit-requests-remaining": str(limits.remaining),
            "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:00Z",
        }

    def error_body(self, refused: RefusedError, request_id: str) -> Json:
        """Write an error."""
        fallback = "api_error" if refused.status >= 500 else "invalid_request_error"
        kind = refused.kind or KINDS.get(refused.status, fallback)
        return {"type": "error", "error": {"type": kind, "message": refused.message}, "request_id": request_id}

    def broken(self, refused: RefusedError, ask: Ask) -> bytes:
        """Write an error event."""
        refused.message = refused.message or self.usual.get(refused.status) or self.usual[500]
        return sse(self.error_body(refused, ask.id("req_")), "error")

    def model_list(self, names: tuple[str, ...]) -> Json:
        """Write the list of models."""
        data = [self.model_card(name) for name in names]
        return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}

    def model_card(self, name: str) -> Json:
        """Write what is known of one model."""
        return {
            "type": "model",
            "id": name,
            "display_name": name.replace("-", " ").title(),
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": 200_000,
            "max_tokens": 64_000,
        }


def _is(block: Mapping[str, Any], kind: str) -> bool:
    return block.get("type") == kind
