"""Cohere messages: canon to wire and back. Each tool result is a message of its own; the roles are four."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Message, Part, freeze, frozen_part, output_text, thaw
from weft.wire.body import annotation_of, is_failed, listed, maker, residue
from weft.wire.codec import Encoded, Json, Policy
from weft.wire.cohere.block import NAME, decode_call, decode_content, decode_plan, encode_block, encode_call

__all__ = ["MessageWriter", "decode_parts", "decode_result"]

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
BESIDE_CONTENT = frozenset({"tool_result", "annotation"})


# -- canon to wire ---------------------------------------------------------------------------------------------


class MessageWriter:
    """Writes messages under one policy, keeping account in `out`."""

    __slots__ = ("_blobs", "_out", "_policy")

    def __init__(self, out: Encoded, blobs: BlobStore, policy: Policy) -> None:
        """Write nothing yet."""
        self._out = out
        self._blobs = blobs
        self._policy = policy

    def write(self, m: int, message: Message) -> list[Json]:
        """Write one message as none, one or several."""
        if message.role == "tool" or (
            self._policy.texts_first and any(part.type == "tool_result" for part in message.parts)
        ):
            return self._results(m, message)
        role = ROLES.get(message.role)
        if role is None:
            self._out.lose(f"context.messages[{m}]", f"role {message.role} has no place in cohere chat")
            return []
        if role == "assistant":
            said = self.assistant(m, message)
            return self._unless_empty(m, role, message, {"role": role, "content": None, **said}, bool(said))
        content = self._content(m, role, message)
        turn = {"role": role} if content is None else {"role": role, "content": content}
        return self._unless_empty(m, role, message, turn, content is not None)

    def _unless_empty(self, m: int, role: str, message: Message, turn: Json, has_content: bool) -> list[Json]:
        """Write a message, unless nothing is left in it where such are refused."""
        if has_content or not self._policy.tidy:
            return [self._marked(message, turn)]
        self._out.lose(f"context.messages[{m}]", f"{role} message has nothing that cohere chat takes")
        return []

    def _marked(self, message: Message, turn: Json) -> Json:
        """Add the fields that the annotation carries."""
        extra = annotation_of(message).get("extra")
        own = extra.get(NAME) if isinstance(extra, Mapping) else None
        if isinstance(own, Mapping):
            turn |= {key: value for key, value in thaw(own).items() if turn.get(key) is None}
        return turn

    def _content(self, m: int, role: str, message: Message) -> Any:
        blocks: list[Json] = []
        for p, part in enumerate(message.parts):
            if part.type not in BESIDE_CONTENT:
                self._block(m, p, part, role, message.provider, blocks)
            elif part.type == "tool_result" and not self._policy.texts_first:
                self._out.lose_part(m, p, f"part type tool_result is not supported for role {role}")
        return self._joined(blocks, "" if self._policy.texts_first else None)

    def _block(self, m: int, p: int, part: Part, role: str, provider: str | None, blocks: list[Json]) -> None:
        block = encode_block(part, role, provider, self._blobs, self._policy)
        if isinstance(block, str):
            self._out.lose_part(m, p, block)
        else:
            blocks.append(block)
            if part.type == "provider":
                self._out.returned(m, p)

    def _joined(self, blocks: list[Json], joiner: str | None) -> Any:
        if len(blocks) == 1 and len(blocks[0]) == 2 and blocks[0].get("type") == "text":
            return blocks[0]["text"]
        if joiner is not None and blocks and all(block.get("type") == "text" for block in blocks):
            return joiner.join(block["text"] for block in blocks)
        if self._policy.texts_first:
            blocks.sort(key=lambda block: block.get("type") != "text")  # stable: each group keeps its order
        return blocks or None

    def assistant(self, m: int, message: Message) -> Json:
        """Write the fields of an assistant's message that have something in them."""
        blocks: list[Json] = []
        calls: list[Json] = []
        fields: Json = {}
        for p, part in enumerate(message.parts):
            if part.type == "tool_call":
                call = encode_call(part, message.provider, self._policy)
                if isinstance(call, str):
                    self._out.lose_part(m, p, call)
                else:
                    calls.append(call)
            elif part.type == "thinking":
                self._thinking(m, p, part, fields, blocks)
            elif part.type != "annotation":
                self._block(m, p, part, "assistant", message.provider, blocks)
        if calls:
            fields["tool_calls"] = calls
        content = self._joined(blocks, self._policy.text_joiner)
        return fields if content is None else {"content": content, **fields}

    def _thinking(self, m: int, p: int, part: Part, fields: Json, blocks: list[Json]) -> None:
        policy = self._policy
        raw = part.provider_raw or EMPTY
        made = maker(part)
        if made.get("dialect", NAME) != NAME:
            if policy.foreign_thinking == "text" and part.text:
                blocks.append({"type": "text", "text": part.text})
            else:
                whose = made.get("provider") or made["dialect"]
                self._out.lose_part(m, p, f"thinking of {whose} has no place in cohere chat")
        elif isinstance(raw.get("tool_plan"), str) and "tool_plan" not in fields:
            fields["tool_plan"] = raw["tool_plan"]
            self._out.returned(m, p)
        elif made and raw.get("type") == "thinking":
            blocks.append(thaw(raw))
            self._out.returned(m, p)
        elif not part.text:
            self._out.lose_part(m, p, "thinking without provider block or text")
        elif policy.texts_first or policy.unsigned_thinking == "drop":
            self._out.lose_part(m, p, "thinking of unknown origin is not sent to cohere chat")
        else:
            blocks.append({"type": "thinking", "thinking": part.text})

    def _results(self, m: int, message: Message) -> list[Json]:
        """Write each tool result as a message; what else is there follows in the role it was said in [T: 15]."""
        turns: list[Json] = []
        for p, part in enumerate(message.parts):
            if part.type == "tool_result":
                turn = self._result(m, p, part, message)
                if turn is not None:
                    turns.append(turn)
            elif part.type != "annotation" and not self._policy.texts_first:
                self._out.lose_part(m, p, f"part type {part.type} is not supported for role tool")
        if self._policy.texts_first and any(part.type not in BESIDE_CONTENT for part in message.parts):
            role = "user" if message.role == "tool" else ROLES.get(message.role, "user")
            turns.append({"role": role, "content": self._content(m, role, message)})
        return turns

    def _result(self, m: int, p: int, part: Part, message: Message) -> Json | None:
        call_id = part.tool_call_id
        if not call_id and self._policy.missing_ids == "empty":
            call_id = message.id or ""
        elif call_id is None:
            self._out.lose_part(m, p, "tool_result without id")
            return None
        turn: Json = {"role": "tool", "tool_call_id": call_id}
        if part.tool_output is not None or self._policy.result_texts:
            turn["content"] = self._output(part, message.provider)
        if is_failed(part):
            place = f"context.messages[{m}].parts[{p}]"
            self._out.warnings.append(f"{place}: cohere chat has no mark for a failed tool; the output is sent")
        return self._marked(message, turn)

    def _output(self, part: Part, provider: str | None) -> Any:
        output, raw = part.tool_output, part.provider_raw
        is_own = raw is not None and raw.get("role") == "tool" and provider in (None, NAME)
        if is_own and raw is not None and raw.get("content") == output:
            return thaw(output)  # blocks, as they came
        is_blocks = isinstance(output, (list, tuple)) and all(
            isinstance(item, Mapping) and "type" in item for item in output
        )
        if self._policy.result_texts and is_blocks:
            return "".join(text for item in output if isinstance(text := item.get("text"), str))
        return "" if output is None else output_text(output)


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_parts(message: Mapping[str, Any], blobs: BlobStore, at: str, made: Frozen) -> tuple[list[Part], Json]:
    """Read a message that is not a tool's: its parts (content, plan, calls), and the fields that are in none."""
    parts = decode_content(message.get("content"), blobs, f"{at}.content", made)
    taken = ["role", "content"] if parts else ["role"]
    if isinstance(plan := message.get("tool_plan"), str) and plan:
        parts.append(decode_plan(plan, made))
        taken.append("tool_plan")
    calls = listed(message.get("tool_calls"), f"{at}.tool_calls")
    if calls:
        parts += [decode_call(call, f"{at}.tool_calls[{c}]") for c, call in enumerate(calls)]
        taken.append("tool_calls")
    return parts, residue(message, *taken)


def decode_result(message: Mapping[str, Any], call_id: str | None) -> tuple[Part, Json]:
    """Read a tool's message: its result, and the fields that are not in it."""
    content = message.get("content")
    raw: Frozen | None = None
    match content:
        case str() | None:
            pass
        case [{"type": "text", "text": str(text), **more}] if not any(more.values()):
            content = text
        case _:
            raw = freeze({"role": "tool", "content": content})
    part = frozen_part("tool_result", tool_call_id=call_id, tool_output=freeze(content), provider_raw=raw)
    return part, residue(message, "role", "content", "tool_call_id")
