"""OpenAI's face: POST /v1/responses. Answers are kept unless `store` is false, so they can be continued by id.

Reasoning items come with `encrypted_content` where the request includes it; without, they are known by their id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft.sim.face import CREATED, Ask, Book, Json, Made, at, sse
from weft.sim.fields import OPENAI_RESPONSES
from weft.sim.openai import OpenAI, forced_function, invalid, missing
from weft.sim.refusal import RefusedError, listed, refuse
from weft.sim.tokens import Segment

__all__ = ["OpenAIResponses"]

ROLES = ("assistant", "system", "developer", "user")
CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
OUTPUTS = {output: call for call, output in CALLS.items()}
NAMES = {"function_call": "function call", "custom_tool_call": "custom tool call"}
ECHOED = ("instructions", "metadata", "temperature", "top_p", "truncation", "previous_response_id", "user")
INCLUDED = "reasoning.encrypted_content"
KEPT_RESPONSES = 1_000  # then the oldest is forgotten, so that a long session does not grow for ever


class OpenAIResponses(OpenAI):
    """Responses."""

    dialect = "openai_responses"

    def check(self, ask: Ask, book: Book) -> None:
        """Refuse what the Responses API refuses; then put the stored items before the new ones."""
        body = ask.body
        for key in body:
            if key not in OPENAI_RESPONSES:
                refuse(f"Unknown parameter: '{key}'.", code="unknown_parameter", param=key)
        if not body.get("model"):
            missing("model")
        if "input" not in body and "previous_response_id" not in body:
            refuse(
                "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' or 'context_management' "
                "must be provided.",
                code="missing_required_parameter",
                param="input",
            )
        given = body.get("input", [])
        items = [{"role": "user", "content": given}] if isinstance(given, str) else listed(given)
        previous = body.get("previous_response_id")
        if previous is not None:
            if previous not in book.stored:
                refuse(
                    f"Previous response with id '{previous}' not found.",
                    code="previous_response_not_found",
                    param="previous_response_id",
                )
            items = [*book.stored[previous], *items]
        self._check_items(items, book)
        body["input"] = items

    def _check_items(self, items: list[Any], book: Book) -> None:
        calls: dict[str, str] = {}
        for n, item in enumerate(items):
            kind = item.get("type", "message")
            if kind == "message" and item.get("role") not in ROLES:
                invalid(f"input[{n}]", item.get("role"), ROLES)
            if kind in CALLS:
                calls[str(item.get("call_id"))] = kind
            elif kind in OUTPUTS:
                call = str(item.get("call_id"))
                if calls.pop(call, None) is None:
                    refuse(f"No tool call found for {NAMES[OUTPUTS[kind]]} output with call_id {call}.", param="input")
            elif kind == "reasoning":
                self._check_thought(item, n + 1 < len(items), book)
        for call, kind in calls.items():
            refuse(f"No tool output found for {NAMES[kind]} {call}.", param="input")

    def _check_thought(self, item: Mapping[str, Any], followed: bool, book: Book) -> None:
        sealed, item_id = item.get("encrypted_content"), item.get("id")
        if sealed is not None:
            if not book.signer(self.family).is_signed(sealed, _thought(item)):
                shown = f"{str(sealed)[:4]}...{str(sealed)[-4:]}"
                refuse(f"The encrypted content {shown} could not be verified.", code="invalid_encrypted_content")
        elif item_id not in book.items:
            refuse(
                f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. Try again "
                "with `store` set to true, or remove this item from your input.",
                404,
                param="input",
            )
        if not followed:
            refuse(
                f"Item '{item_id}' of type 'reasoning' was provided without its required following item.", param="input"
            )

    def thinks(self, ask: Ask) -> bool:
        """Tell whether reasoning is asked for."""
        reasoning = ask.body.get("reasoning")
        return isinstance(reasoning, Mapping) and reasoning.get("effort") != "none"

    def forced(self, body: Json) -> str | None:
        """Read tool_choice."""
        return forced_function(body.get("tool_choice"))

    def stops(self, body: Json) -> list[str]:  # noqa: ARG002 - the face's signature
        """Give none: this API has no stop sequences."""
        return []

    def segments(self, body: Json) -> Iterator[Segment]:
        """Tools, then instructions, then items."""
        for value in (*listed(body.get("tools")), body.get("instructions") or "", *listed(body.get("input"))):
            yield Segment(value)

    def dress(self, body: Json, ask: Ask, made: Made, book: Book) -> None:
        """Add ids, sealed reasoning, the settings said back and the account; and keep the answer."""
        counts, asked = made.counts, ask.body
        kept = asked.get("store") is not False
        for n, item in enumerate(body["output"]):
            prefix = str(item["id"]).partition("_")[0]
            item["id"] = _item_id(ask, prefix, n)
            if item["type"] == "reasoning" and INCLUDED in (asked.get("include") or ()):
                item["encrypted_content"] = book.signer(self.family).sign(_thought(item))
        body |= {"id": ask.id("resp_", length=48), "created_at": CREATED, "model": ask.model}
        body |= {key: asked.get(key) for key in ECHOED}
        body |= {
            "background": False,
            "max_output_tokens": asked.get("max_output_tokens"),
            "parallel_tool_calls": asked.get("parallel_tool_calls", True),
            "reasoning": {"effort": at(asked, "reasoning", "effort"), "summary": at(asked, "reasoning", "summary")},
            "service_tier": "default",
            "store": kept,
            "temperature": asked.get("temperature", 1.0),
            "text": asked.get("text") or {"format": {"type": "text"}},
            "tool_choice": asked.get("tool_choice", "auto"),
            "tools": asked.get("tools") or [],
            "top_p": asked.get("top_p", 1.0),
            "truncation": asked.get("truncation", "disabled"),
            "metadata": asked.get("metadata") or {},
            "usage": {
                "input_tokens": counts.input,
                "input_tokens_details": {"cached_tokens": counts.cached, "cache_write_tokens": 0},
                "output_tokens": counts.output,
                "output_tokens_details": {"reasoning_tokens": counts.thinking},
                "total_tokens": counts.input + counts.output,
            },
        }
        if kept:
            book.stored[body["id"]] = [*asked["input"], *body["output"]]
            book.items.update(item["id"] for item in body["output"])
            if len(book.stored) > KEPT_RESPONSES:
                del book.stored[next(iter(book.stored))]

    def frames(self, frames: Iterator[bytes], ask: Ask) -> Iterator[bytes]:
        """Give items the ids they have in the whole answer, from their first event on."""
        names = {f'"{p}_weft_{n}"'.encode(): f'"{_item_id(ask, p, n)}"'.encode() for p in PREFIXES for n in range(64)}
        for frame in frames:
            if b"_weft_" in frame:
                for old, new in names.items():
                    frame = frame.replace(old, new)  # noqa: PLW2901 - one frame, renamed
            yield frame

    def broken(self, refused: RefusedError, ask: Ask) -> bytes:
        """Write an error event."""
        refused.message = refused.message or self.usual.get(refused.status) or self.usual[500]
        error = self.error_body(refused, ask.id("req_"))["error"]
        code = error["code"] or "server_error"
        event = {"type": "error", "sequence_number": 0, "code": code, "message": error["message"], "param": None}
        return sse(event, "error")


PREFIXES = ("msg", "rs", "fc")


def _item_id(ask: Ask, prefix: str, n: int) -> str:
    return ask.id(f"{prefix}_", n, length=48)


def _thought(item: Mapping[str, Any]) -> str:
    return "\n".join(str(part.get("text")) for part in listed(item.get("summary")))
