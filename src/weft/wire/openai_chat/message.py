"""Messages of Chat Completions: one of ours each, save that each tool result is a message of its own.

Unlike canon: an assistant's reasoning, refusal, audio and calls are fields beside its content; older requests
answer a call by name (`function`) and not by id. Roles canon does not know are kept in the annotation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.blobs import BlobStore
from weft.canon import (
    EMPTY,
    Frozen,
    Message,
    Part,
    call_text,
    freeze,
    frozen_part,
    output_text,
    read_arguments,
    thaw,
    write_arguments,
)
from weft.wire.body import annotation_of, from_base64, is_failed, listed, maker, residue, to_base64
from weft.wire.codec import Encoded, Json, Policy
from weft.wire.openai_chat.block import (
    FIELDS,
    NAME,
    REASONING,
    decode_call,
    decode_content,
    decode_old_call,
    decode_reasoning,
    encode_block,
    encode_call,
    is_same,
    own_raw,
)
from weft.wire.openai_chat.media import decode_url

__all__ = ["SPEAKING", "MessageWriter", "decode_parts", "decode_result"]

SPEAKING = frozenset({"system", "developer", "user", "assistant"})
BESIDE_CONTENT = frozenset({"tool_result", "annotation"})


# -- canon to wire ---------------------------------------------------------------------------------------------


class MessageWriter:
    """Writes messages under one policy, keeping account in `out`; `who` is the provider they are for."""

    __slots__ = ("_blobs", "_in_response", "_out", "_policy", "_who")

    def __init__(self, out: Encoded, blobs: BlobStore, policy: Policy, who: str, *, in_response: bool = False) -> None:
        """Write for `who`; `in_response` says that the model itself is speaking, and may say all it can."""
        self._out = out
        self._blobs = blobs
        self._policy = policy
        self._who = who
        self._in_response = in_response

    def write(self, m: int, message: Message) -> list[Json]:
        """Write one message as none, one or several."""
        role: str = message.role
        if role == "assistant":
            return self._written(m, message, {"role": role, "content": None, **self.assistant(m, message)})
        if role == "tool" or (self._policy.texts_first and any(part.type == "tool_result" for part in message.parts)):
            return self._results(m, message)
        if role not in SPEAKING:
            self._out.lose(f"context.messages[{m}]", f"role {role} has no place in chat.completions")
            return []
        content = self._content(m, role, message, message.parts)
        return self._written(m, message, {"role": role} if content is None else {"role": role, "content": content})

    def _written(self, m: int, message: Message, turn: Json) -> list[Json]:
        """Add what the annotation carries; a message with nothing in it is an error where such are refused."""
        if self._policy.tidy and len(turn) < 3 and turn.get("content") is None:
            self._nothing(m, message.role)
            return []
        marks = annotation_of(message)
        if not marks:
            return [turn]
        extra = marks.get("extra")
        own = extra.get(NAME) if isinstance(extra, Mapping) else None
        if isinstance(own, Mapping):
            turn = {**turn, **{key: value for key, value in thaw(own).items() if turn.get(key) is None}}
        if isinstance(marks.get("name"), str):
            turn["name"] = marks["name"]
        if isinstance(marks.get("role"), str) and message.role != "tool":
            turn["role"] = marks["role"]
        return [turn]

    def _nothing(self, m: int, role: str) -> None:
        place = f"context.messages[{m}]"
        self._out.lose(place, f"{role} message has nothing that chat.completions takes")
        self._out.errors.append(f"{place}: nothing in it can be sent to chat.completions")

    # -- content

    def _content(self, m: int, role: str, message: Message, parts: Sequence[Part]) -> Any:
        """Write the content of a message that is not the assistant's: a string, blocks, or None."""
        blocks: list[Json] = []
        for p, part in enumerate(parts):
            if part.type == "text" and part.provider_raw is None and part.text:
                blocks.append({"type": "text", "text": part.text})
            elif part.type not in BESIDE_CONTENT:
                self._block(m, p, part, role, message.provider, blocks)
            elif part.type == "tool_result" and not self._policy.texts_first:
                self._out.lose_part(m, p, f"part type tool_result is not supported for role {role}")
        return self._joined(blocks, "" if self._policy.texts_first else None)

    def _block(self, m: int, p: int, part: Part, role: str, provider: str | None, blocks: list[Json]) -> None:
        block = encode_block(part, role, own_raw(part, provider), self._blobs, self._policy, self._who)
        if isinstance(block, str):
            self._out.lose_part(m, p, block)
        else:
            blocks.append(block)
            if part.type == "provider":
                self._out.returned(m, p)

    def _joined(self, blocks: list[Json], joiner: str | None) -> Any:
        if len(blocks) == 1 and _is_plain_text(blocks[0]):
            return blocks[0]["text"]
        if joiner is not None and all(block.get("type") == "text" for block in blocks):
            return joiner.join(block["text"] for block in blocks)
        if self._policy.texts_first:
            blocks.sort(key=lambda block: block.get("type") != "text")  # stable: each group keeps its order
        return blocks or None

    # -- the assistant

    def assistant(self, m: int, message: Message) -> Json:
        """Write the fields of an assistant's message that have something in them."""
        blocks: list[Json] = []
        calls: list[Json] = []
        fields: Json = {}
        for p, part in enumerate(message.parts):
            kind = part.type
            if kind == "text" and part.provider_raw is None and part.text:
                blocks.append({"type": "text", "text": part.text})
            elif kind == "tool_call":
                if part.provider_raw is None and part.tool_call_id and part.tool_name:
                    function = {"name": part.tool_name, "arguments": call_text(part)}
                    calls.append({"id": part.tool_call_id, "type": "function", "function": function})
                else:
                    self._call(m, p, part, message.provider, calls, fields)
            elif kind == "thinking":
                self._thinking(m, p, part, fields, blocks)
            elif kind == "refusal" and own_raw(part, message.provider) is None:
                fields["refusal"] = fields.get("refusal", "") + (part.text or "")
            elif kind != "annotation" and not self._field(m, p, part, message.provider, fields, calls):
                self._block(m, p, part, "assistant", message.provider, blocks)
        if calls:
            fields["tool_calls"] = calls
        content = self._assistant_content(blocks, calls, m)
        return fields if content is None else {"content": content, **fields}

    def _assistant_content(self, blocks: list[Json], calls: list[Json], m: int) -> Any:
        joiner = self._policy.text_joiner
        if self._policy.texts_first:
            if calls and any(block.get("type") != "text" for block in blocks):
                self._out.lose(f"context.messages[{m}]", "documents beside tool calls are not taken")
                blocks = [block for block in blocks if block.get("type") == "text"]
            return self._joined(blocks, joiner)
        if joiner is not None and not blocks:
            return None
        return self._joined(blocks, joiner)

    def _call(self, m: int, p: int, part: Part, provider: str | None, calls: list[Json], fields: Json) -> None:
        raw = own_raw(part, provider)
        old = None if raw is None else raw.get("function_call")
        if old is not None and part.tool_call_id is None:
            arguments = old.get("arguments")
            if not is_same(read_arguments(arguments), part.tool_args or EMPTY):
                arguments = write_arguments(part.tool_args)
            fields["function_call"] = {**thaw(old), "name": part.tool_name, "arguments": arguments}
            return
        if raw is not None and "function" not in raw and "custom" not in raw:
            raw = None
        call = encode_call(part, raw, self._policy)
        if isinstance(call, str):
            self._out.lose_part(m, p, call)
        else:
            calls.append(call)

    def _thinking(self, m: int, p: int, part: Part, fields: Json, blocks: list[Json]) -> None:
        """Send reasoning back to who produced it, in the fields or the block it came in; else by the policy."""
        policy = self._policy
        raw = part.provider_raw or EMPTY
        made = maker(part)
        if made.get("dialect", NAME) != NAME:
            if policy.foreign_thinking == "text" and part.text:
                blocks.append({"type": "text", "text": part.text})
            else:
                whose = made.get("provider") or made["dialect"]
                self._out.lose_part(m, p, f"thinking of {whose} has no place in chat.completions")
        elif policy.unsigned_thinking == "drop" and policy.reasoning_field is None:
            self._out.lose_part(m, p, "reasoning has no field in chat.completions")
        elif raw.get("type") == "thinking" and (isinstance(raw.get("thinking"), tuple) or made):
            blocks.append(thaw(raw))
            self._out.returned(m, p)
        elif any(key in fields for key in (*REASONING, policy.reasoning_field)):
            self._out.lose_part(m, p, "only the first thinking part of a message is sent as its reasoning")
        elif any(key in raw for key in REASONING) and policy.reasoning_field is None:
            fields.update({key: thaw(raw[key]) for key in REASONING if raw.get(key) is not None})
            self._out.returned(m, p)
        elif not part.text:
            self._out.lose_part(m, p, "thinking without provider block or text")
        elif policy.texts_first and policy.reasoning_field is None:
            self._out.lose_part(m, p, "reasoning of unknown origin is not sent to chat.completions")
        else:
            fields[policy.reasoning_field or "reasoning_content"] = part.text

    def _field(self, m: int, p: int, part: Part, provider: str | None, fields: Json, calls: list[Json]) -> bool:
        """Put back a part that came from a field of the message; tell whether it was one."""
        raw = own_raw(part, provider)
        if raw is None or "type" in raw or not any(key in raw for key in FIELDS):
            return False
        if isinstance(raw.get("audio"), Mapping):
            held: Json = thaw(raw["audio"])
            if not self._in_response and "id" in held:
                held = {"id": held["id"]}  # all that a request may say of it
            elif part.blob is not None:
                held["data"] = to_base64(self._blobs.get_blob(part.blob))
            fields["audio"] = held
        elif isinstance(raw.get("images"), Mapping):
            block = encode_block(part, "assistant", raw["images"], self._blobs, self._policy, self._who)
            if isinstance(block, str):
                self._out.lose_part(m, p, block)
            else:
                fields.setdefault("images", []).append(block)
        elif "tool_calls" in raw:
            calls.append(thaw(raw["tool_calls"]))
        else:
            return False
        return True

    # -- results

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
            role = "user" if message.role == "tool" else message.role
            turns.append({"role": role, "content": self._content(m, role, message, message.parts)})
        if self._policy.tidy and not turns:
            self._nothing(m, message.role)
        return turns

    def _result(self, m: int, p: int, part: Part, message: Message) -> Json | None:
        marks = annotation_of(message)
        if marks.get("role") == "function" and not part.tool_call_id:
            turn: Json = {"role": "function", "name": part.tool_name}
        else:
            call_id = part.tool_call_id
            if not call_id and self._policy.missing_ids == "empty":
                call_id = message.id or ""
            elif call_id is None or (self._policy.tidy and not call_id):
                self._out.lose_part(m, p, "tool_result without id")
                return None
            turn = {"role": "tool", "tool_call_id": call_id}
        if part.tool_output is not None or self._policy.tidy or self._policy.result_texts:
            turn["content"] = self._output(part, message.provider)
        if is_failed(part):
            place = f"context.messages[{m}].parts[{p}]"
            self._out.warnings.append(f"{place}: chat.completions has no mark for a failed tool; the output is sent")
        return self._written(m, message, turn)[0] if marks else turn

    def _output(self, part: Part, provider: str | None) -> Any:
        output = part.tool_output
        if output.__class__ is str:
            return output
        raw = part.provider_raw if provider != "cohere" else None  # whose messages look the same, but for their blocks
        if raw is not None and raw.get("role") == "tool" and is_same(raw.get("content"), output):
            return thaw(output)  # blocks, as they came
        if self._policy.result_texts:
            return _texts_of(output)
        return output_text(output)


def _is_plain_text(block: Json) -> bool:
    return len(block) == 2 and block.get("type") == "text"


def _texts_of(output: Any) -> str:
    """Give a tool's output as text: the texts of its blocks, or JSON of anything else."""
    if output is None:
        return ""
    if not isinstance(output, (list, tuple)) or not all(
        isinstance(item, Mapping) and "type" in item for item in output
    ):
        return output_text(output)
    texts = [item.get("text") for item in output]
    return "".join(text for text in texts if isinstance(text, str))


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_parts(
    message: Mapping[str, Any], blobs: BlobStore, at: str, made: Frozen, role: str
) -> tuple[list[Part], Json]:
    """Read a message that is not a tool's: its parts, and the fields that are in none of them.

    Parts come in the order of model.md section 11: content, reasoning, calls.
    """
    parts = decode_content(message.get("content"), blobs, f"{at}.content", made, role)
    taken = ["role", "content"] if parts else ["role"]  # an empty list of blocks is a field like any other
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        parts.append(frozen_part("refusal", refusal))
        taken.append("refusal")
    thinking = decode_reasoning(message, made)
    if thinking is not None:
        parts.append(thinking)
        taken += REASONING
    parts += _media_fields(message, blobs, taken)
    calls = listed(message.get("tool_calls"), f"{at}.tool_calls")
    if calls:
        parts += [decode_call(call, f"{at}.tool_calls[{c}]") for c, call in enumerate(calls)]
        taken.append("tool_calls")
    old = message.get("function_call")
    if isinstance(old, Mapping) and old.get("name"):
        parts.append(decode_old_call(old, f"{at}.function_call"))
        taken.append("function_call")
    return parts, residue(message, *taken)


def _media_fields(message: Mapping[str, Any], blobs: BlobStore, taken: list[str]) -> list[Part]:
    """Read what a model says in sound and pictures: `audio` of OpenAI, `images` of OpenRouter."""
    parts: list[Part] = []
    audio = message.get("audio")
    if isinstance(audio, Mapping) and (audio.get("id") or audio.get("data")):
        payload = from_base64(audio.get("data"))
        held = audio if payload is None else {key: value for key, value in audio.items() if key != "data"}
        blob = None if payload is None else blobs.put_blob(payload, media_type=None, kind="audio")
        said = audio.get("transcript")
        text = said if isinstance(said, str) and said else None
        parts.append(frozen_part("audio", text, blob=blob, provider_raw=freeze({"audio": held})))
        taken.append("audio")
    images = message.get("images")
    if isinstance(images, (list, tuple)) and images:
        decoded = [_image(image, blobs) for image in images]
        if None not in decoded:
            parts += [part for part in decoded if part is not None]
            taken.append("images")
    return parts


def _image(image: Any, blobs: BlobStore) -> Part | None:
    if not isinstance(image, Mapping) or image.get("type") != "image_url" or "image_url" not in image:
        return None
    part = decode_url(image, "image_url", blobs, keep=True)
    if part is None:
        return None
    return replace(part, provider_raw={"images": part.provider_raw})


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
    name = message.get("name")
    part = frozen_part(
        "tool_result",
        tool_call_id=call_id,
        tool_name=name if isinstance(name, str) else None,
        tool_output=freeze(content),
        provider_raw=raw,
    )
    return part, residue(message, "role", "content", "tool_call_id", *(("name",) if isinstance(name, str) else ()))
