"""Cohere's face: POST /v2/chat, GET /v1/models.

https://docs.cohere.com/reference/errors gives the statuses. Thinking is neither signed nor checked. The words for
tool results without a call are ours: Cohere's are nowhere published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from weft.sim.face import Ask, Book, Face, Json, Made, at, sse
from weft.sim.fields import COHERE
from weft.sim.limits import Limits
from weft.sim.refusal import RefusedError, listed, refuse
from weft.sim.tokens import Segment

__all__ = ["Cohere"]

ROLES = ("user", "assistant", "system", "tool")
USAGE = "For proper usage, please refer to https://docs.cohere.com/reference/chat"

USUAL = {
    400: "invalid request",
    401: "invalid api token",
    403: "forbidden",
    404: "404 page not found",
    413: "request body too large",
    422: "invalid request",
    429: "You are using a Trial key, which is limited to 20 API calls / minute. You can continue to use the Trial "
    "key for free or upgrade to a Production key with higher rate limits at "
    "'https://dashboard.cohere.com/api-keys'. Contact us on 'https://discord.gg/XW44jPfYJu' or email us at "
    "support@cohere.com with any questions",
    498: "invalid token",
    500: "internal server error, this has been reported to our developers",
    503: "service unavailable",
}


class Cohere(Face):
    """Chat, version 2."""

    provider = "cohere"
    dialect = "cohere"
    family = "cohere"
    stream_type = "text/event-stream"
    usual: ClassVar[Mapping[int, str]] = USUAL

    def no_key(self) -> RefusedError:
        """Say that a key is missing."""
        return RefusedError(401, "no api key supplied")

    def bad_key(self) -> RefusedError:
        """Say that a key is wrong."""
        return RefusedError(401, "invalid api token")

    def no_model(self, ask: Ask) -> RefusedError:
        """Say that there is no such model."""
        words = "not found, make sure the correct model ID was used and that you have access to the model."
        return RefusedError(404, f"model '{ask.model}' {words}")

    def check(self, ask: Ask, book: Book) -> None:  # noqa: ARG002 - the face's signature
        """Refuse what the Chat API refuses."""
        body = ask.body
        for key in body:
            if key not in COHERE:
                refuse(f"unknown field: parameter '{key}' is not a valid field. {USAGE}", 422)
        if not body.get("model"):
            refuse("invalid request: model is required")
        messages = listed(body.get("messages"))
        if not messages:
            refuse("invalid request: messages must be at least 1 message long")
        self._check_messages(messages)

    def _check_messages(self, messages: list[Mapping[str, Any]]) -> None:
        open_calls: dict[str, None] = {}
        known: set[str] = set()
        for m, message in enumerate(messages):
            role = message.get("role")
            if role not in ROLES:
                refuse(f"invalid role in message at index {m}: must be one of {', '.join(ROLES)}. {USAGE}", 422)
            if role == "tool":
                call = str(message.get("tool_call_id"))
                if call not in known:
                    refuse(f"invalid request: tool message at index {m} has no tool call with id '{call}' before it")
                open_calls.pop(call, None)
                continue
            if open_calls:
                refuse(f"invalid request: no tool message for the tool calls {', '.join(open_calls)}")
            calls = [str(call.get("id")) for call in listed(message.get("tool_calls"))]
            known = set(calls)
            open_calls = dict.fromkeys(calls)
            if role != "assistant" and not message.get("content"):
                refuse(f"invalid request: message at index {m} must have content")
        if open_calls:
            refuse(f"invalid request: no tool message for the tool calls {', '.join(open_calls)}")

    def thinks(self, ask: Ask) -> bool:
        """Tell whether thinking is on: for the models that can, unless switched off."""
        kind = at(ask.body, "thinking", "type")
        return kind == "enabled" or (kind is None and "reasoning" in ask.model)

    def forced(self, body: Json) -> str | None:
        """Read tool_choice."""
        return "*" if body.get("tool_choice") == "REQUIRED" else None

    def segments(self, body: Json) -> Iterator[Segment]:
        """Tools, then messages."""
        for value in (*listed(body.get("tools")), *listed(body.get("messages"))):
            yield Segment(value)

    def dress(self, body: Json, ask: Ask, made: Made, book: Book) -> None:  # noqa: ARG002 - the face's signature
        """Add the id, the plan and the account."""
        counts = made.counts
        body["id"] = _uuid(ask.mark)
        message = body["message"]
        if message.get("tool_calls"):
            blocks = message.pop("content", [])
            said = " ".join(block["text"] for block in blocks if block["type"] == "text")
            message["tool_plan"] = said or f"I will use {message['tool_calls'][0]['function']['name']}."
            if thoughts := [block for block in blocks if block["type"] == "thinking"]:
                message["content"] = thoughts
        if made.stop_sequence is not None:
            body["finish_reason"] = "STOP_SEQUENCE"
        elif made.finish == "content_filter":
            body["finish_reason"] = "COMPLETE"  # it refuses in prose
        body["usage"] = {
            "billed_units": {"input_tokens": counts.input - counts.cached, "output_tokens": counts.output},
            "tokens": {"input_tokens": counts.input, "output_tokens": counts.output},
            "cached_tokens": counts.cached,
        }

    def headers(self, mark: str, limits: Limits) -> dict[str, str]:
        """Give what is left of a trial key's calls."""
        return {
            "x-debug-trace-id": mark[:32],
            "x-trial-endpoint-call-limit": str(limits.limit),
            "x-trial-endpoint-call-remaining": str(limits.remaining),
        }

    def error_body(self, refused: RefusedError, request_id: str) -> Json:
        """Write an error."""
        return {"id": _uuid(request_id.removeprefix("req_").ljust(32, "0")), "message": refused.message}

    def broken(self, refused: RefusedError, ask: Ask) -> bytes:  # noqa: ARG002 - the face's signature
        """Write the end of a stream that failed."""
        words = refused.message or self.usual.get(refused.status) or self.usual[500]
        event = {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": words}}
        return sse(event, "message-end")

    def model_list(self, names: tuple[str, ...]) -> Json:
        """Write the list of models."""
        return {"models": [self.model_card(name) for name in names]}

    def model_card(self, name: str) -> Json:
        """Write what is known of one model."""
        return {
            "name": name,
            "is_deprecated": False,
            "endpoints": ["chat"],
            "finetuned": False,
            "context_length": 256_000,
            "features": ["tools", "strict_tools", "json_schema"],
        }


def _uuid(mark: str) -> str:
    return "-".join((mark[:8], mark[8:12], f"4{mark[13:16]}", f"8{mark[17:20]}", mark[20:32]))
