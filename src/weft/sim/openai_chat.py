"""OpenAI's face: POST /v1/chat/completions. Other providers who speak it are served too, under their own prefix.

OpenAI's own models keep their reasoning to themselves and are strict about fields; under any other prefix reasoning
is shown in `reasoning_content` and unknown fields pass, since each of those providers has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from weft.sim.face import CREATED, Ask, Book, Json, Made, at
from weft.sim.fields import OPENAI_CHAT
from weft.sim.openai import OpenAI, forced_function, invalid, missing
from weft.sim.refusal import listed, refuse
from weft.sim.tokens import Segment

__all__ = ["OpenAIChat"]

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
ORPHAN = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."  # sic
)
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
    "following tool_call_ids did not have response messages: {}"
)


class OpenAIChat(OpenAI):
    """Chat Completions."""

    dialect = "openai_chat"
    stop_path: ClassVar[tuple[str, ...]] = ("stop",)

    def check(self, ask: Ask, book: Book) -> None:  # noqa: ARG002 - the face's signature
        """Refuse what Chat Completions refuses."""
        body = ask.body
        if not body.get("model"):
            refuse("you must provide a model parameter")
        if ask.provider == self.provider:
            for key in body:
                if key not in OPENAI_CHAT:
                    refuse(f"Unrecognized request argument supplied: {key}")
        if "messages" not in body:
            missing("messages")
        if not isinstance(body["messages"], list):
            refuse(
                f"Invalid type for 'messages': expected an array of objects, but got "
                f"{'a string' if isinstance(body['messages'], str) else 'another type'} instead.",
                code="invalid_type",
                param="messages",
            )
        messages = listed(body["messages"])
        if not messages:
            refuse(
                "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array "
                "instead.",
                code="empty_array",
                param="messages",
            )
        self._check_messages(messages)

    def _check_messages(self, messages: list[Mapping[str, Any]]) -> None:
        open_calls: dict[str, None] = {}
        answerable = False
        for m, message in enumerate(messages):
            role = message.get("role")
            if role not in ROLES:
                invalid(f"messages[{m}].role", role, ROLES)
            if role == "tool":
                if not answerable:
                    refuse(ORPHAN, param=f"messages.[{m}].role")
                if "tool_call_id" not in message:
                    missing(f"messages[{m}].tool_call_id")
                open_calls.pop(str(message["tool_call_id"]), None)
                continue
            if open_calls:
                refuse(UNANSWERED.format(", ".join(open_calls)), param=f"messages.[{m}].role")
            calls = listed(message.get("tool_calls"))
            answerable = bool(calls)
            open_calls = {str(call.get("id")): None for call in calls}
            if role == "user" and message.get("content") is None:
                refuse(
                    "Invalid value for 'content': expected a string, got null.",
                    param=f"messages.[{m}].content",
                )
        if open_calls:
            refuse(UNANSWERED.format(", ".join(open_calls)), param=f"messages.[{len(messages)}].role")

    def thinks(self, ask: Ask) -> bool:
        """Tell whether reasoning is asked for; OpenAI counts it, the others show it."""
        return ask.body.get("reasoning_effort") not in (None, "none") or "reasoner" in ask.model

    def forced(self, body: Json) -> str | None:
        """Read tool_choice."""
        return forced_function(body.get("tool_choice"))

    def segments(self, body: Json) -> Iterator[Segment]:
        """Tools, then messages."""
        for value in (*listed(body.get("tools")), *listed(body.get("messages"))):
            yield Segment(value)

    def dress(self, body: Json, ask: Ask, made: Made, book: Book) -> None:  # noqa: ARG002 - the face's signature
        """Add ids and the account; OpenAI's reasoning stays inside."""
        counts = made.counts
        choice = body["choices"][0]
        own = ask.provider == self.provider
        if own:
            choice["message"].pop("reasoning_content", None)
            choice["message"].setdefault("annotations", [])
        if choice["message"].get("refusal"):
            choice["finish_reason"] = "stop"  # a refusal is an answer; content_filter is for one that was cut off
        body |= {"id": ask.id("chatcmpl-"), "created": CREATED, "model": ask.model}
        body["usage"] = {
            "prompt_tokens": counts.input,
            "completion_tokens": counts.output,
            "total_tokens": counts.input + counts.output,
            "prompt_tokens_details": {"cached_tokens": counts.cached, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": counts.thinking,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }
        body |= {"service_tier": "default", "system_fingerprint": "fp_weftsim"} if own else {}

    @staticmethod
    def tells_usage(body: Json) -> bool:
        """Tell whether a stream ends with the account: only if asked for."""
        return at(body, "stream_options", "include_usage") is True
