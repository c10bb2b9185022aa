"""Which content stood in which message item: the one thing about items that parts do not say.

An answer is several items on the wire and one message in canon. Parts keep their order; where one `message` item
ended and the next began, its id and status, and whether its content was a string, are its layout:

    {"of": 3, "items": [{"at": 1, "parts": 2, "item": {"id": "msg_1", "type": "message"}, "blocks": [...]}]}

`at` and `parts` count parts; `blocks` is what each block has beside what its part says; `whole` is an item that is
in no part at all. In a request the layout rides in the message's annotation, in a response in the envelope. A
message that has been edited since has another number of parts: then it is written as if it had no layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Message, Part, thaw
from weft.wire.body import annotation, annotation_of, is_failed, listed
from weft.wire.codec import Encoded, Json
from weft.wire.openai_responses.content import IMAGES, NAME, TEXT, decode_block, encode_block, is_content, phase_of
from weft.wire.openai_responses.item import Speech, encode_item

__all__ = ["Items", "kept_layout", "layout_of", "read_message"]

ROLES = ("user", "system", "developer", "assistant")
# What blocks have by their published types, and the API does without.
REQUIRED: dict[str, Json] = {"output_text": {"annotations": []}, "input_image": {"detail": "auto"}}
# Where items of one message stand in a request that is written anew [model.md, section 10].
ORDER = {"message": 0, "function_call": 1, "custom_tool_call": 1, "image_generation_call": 2, "compaction": 3}


# -- canon to wire ---------------------------------------------------------------------------------------------


def layout_of(message: Message) -> Mapping[str, Any]:
    """Read the layout from a message's annotation."""
    extra = annotation_of(message).get("extra")
    kept = extra.get(NAME) if isinstance(extra, Mapping) else None
    return kept if isinstance(kept, Mapping) else EMPTY


class Items:
    """Writes the items of one message after another, and accounts for what could not be written."""

    __slots__ = ("_exact", "_open", "_out", "_phase", "_plain", "_speech", "items")

    def __init__(self, speech: Speech, out: Encoded) -> None:
        """Begin with no items."""
        self.items: list[Json] = []
        self._speech = speech
        self._exact = speech.exact
        self._plain = not speech.exact and not speech.policy.typed  # a lone text or result needs no second look
        self._out = out
        self._open: Json | None = None  # a message item that more content may join
        self._phase: str | None = None

    def add(self, m: int, message: Message, layout: Mapping[str, Any] = EMPTY) -> None:
        """Write one message."""
        parts = message.parts
        if message.role not in ROLES and message.role != "tool" and not self._exact:
            self._out.lose(f"context.messages[{m}]", f"role {message.role} has no place in responses")
            return
        if len(parts) == 1 and self._plain and self._one(parts[0], message.role):
            return
        before = len(self.items)
        self._open = None
        if self._exact and (heads := _heads(layout, message)) is not None:
            self._laid_out(m, message, heads)
        else:
            for p, part in enumerate(message.parts):
                self._part(m, p, part, message)
        if not self._exact:
            if message.role == "assistant" and len(self.items) - before > 1:
                self.items[before:] = _in_order(self.items[before:])
            if len(self.items) == before:
                self._out.lose(f"context.messages[{m}]", "nothing in it can be sent")
                self._out.errors.append(f"context.messages[{m}] ({message.role}) produced no input item")

    def _one(self, part: Part, role: str) -> bool:
        """Write the message that nearly all messages are: one text, or one result, with nothing more to say."""
        if part.provider_raw is not None:
            return False
        if part.type == "text" and part.text and role != "tool":
            if role == "assistant":
                content = [{"type": "output_text", "text": part.text}]
                self.items.append({"type": "message", "role": role, "content": content})
            else:
                self.items.append({"role": role, "content": part.text})
            return True
        output = part.tool_output
        if part.type != "tool_result" or role != "tool" or output.__class__ is not str or not part.tool_call_id:
            return False
        if self._speech.customs:
            return False
        self.items.append({"type": "function_call_output", "call_id": part.tool_call_id, "output": output})
        return True

    def _laid_out(self, m: int, message: Message, heads: list[Mapping[str, Any]]) -> None:
        """Write a message as it came: each head says which parts were one message item."""
        p = 0
        for head in heads:
            while p < head["at"]:
                self._part(m, p, message.parts[p], message)
                p += 1
            self._open = None
            if "whole" in head:
                self.items.append(thaw(head["whole"]))
                continue
            item: Json = {"role": message.role, **thaw(head["item"])}
            if item["role"] is None:
                del item["role"]
            blocks = []
            rests = head.get("blocks") or ()
            for n in range(head["parts"]):
                block = self._block(m, p, message.parts[p], message.role)
                if block is not None:
                    rest = thaw(rests[n]) if n < len(rests) else {}
                    blocks.append(block["text"] if rest.get("string") else {**rest, **block})
                p += 1
            if head.get("form") == "string" and len(blocks) == 1:
                item["content"] = blocks[0]["text"]
            elif head.get("form") != "none" or blocks:
                item["content"] = blocks
            self.items.append(item)
        for q in range(p, len(message.parts)):
            self._part(m, q, message.parts[q], message)

    def _part(self, m: int, p: int, part: Part, message: Message) -> None:
        role = message.role
        if is_content(part) and not (self._speech.answering and _is_drawn(part)):
            if role == "tool":
                self._out.lose_part(m, p, f"part type {part.type} is not supported for role tool")
                return
            block = self._block(m, p, part, role)
            if block is not None:
                self._join(block, role, phase_of(part))
            return
        if part.type == "annotation":
            return
        self._open = None
        item = encode_item(part, role, message.provider, self._speech)
        if isinstance(item, str):
            self._out.lose_part(m, p, item)
        elif part.type == "thinking" and item is not None and item.get("type") == "message":
            self._said_aloud(item, role)
        elif item is not None:
            self.items.append(item)
            if part.type in ("thinking", "compaction", "provider") and part.provider_raw is not None:
                self._out.returned(m, p)
            elif part.type == "tool_call" and not self._exact:
                self._name_after_thought(item, part)
            elif part.type == "tool_result" and is_failed(part):
                place = f"context.messages[{m}].parts[{p}]"
                self._out.warnings.append(f"{place}: {self._speech.endpoint} has no way to say that a tool failed")

    def _said_aloud(self, item: Json, role: str) -> None:
        """Write another provider's reasoning as the text it is sent as."""
        for block in item["content"]:
            self._join({**REQUIRED["output_text"], **block} if self._speech.policy.typed else block, role, None)

    def _block(self, m: int, p: int, part: Part, role: str) -> Json | None:
        policy = self._speech.policy
        if part.type == "text" and part.provider_raw is None and part.text and not policy.typed:  # nearly all parts
            return {"type": TEXT.get(role, "input_text"), "text": part.text}
        block = encode_block(part, role, self._speech.blobs, policy)
        if isinstance(block, str):
            self._out.lose_part(m, p, block)
            return None
        if policy.typed and block.get("type") in REQUIRED:
            block = {**REQUIRED[block["type"]], **block}
        return block

    def _join(self, block: Json, role: str, phase: str | None) -> None:
        """Put a block into the message that is open, or open one for it."""
        if self._open is not None and phase == self._phase and (role in ("user", "assistant") or self._exact):
            content = self._open["content"]
            if isinstance(content, str):
                content = self._open["content"] = [{"type": TEXT.get(role, "input_text"), "text": content}]
            content.append(block)
            return
        self._phase = phase
        if role != "assistant":
            plain = len(block) == 2 and block.get("type") == "input_text"
            self._open = {"role": role, "content": block["text"] if plain else [block]}
        else:
            self._open = {"type": "message", "role": role, "content": [block]}
            if phase is not None:
                self._open["phase"] = phase
            if self._speech.policy.typed:
                self._open |= {"id": f"msg_weft_{len(self.items)}", "status": "completed"}
        self.items.append(self._open)

    def _name_after_thought(self, item: Json, part: Part) -> None:
        """Give a call its id back where the thought before it is one the server must find by id."""
        thought = self.items[-2] if len(self.items) > 1 else None
        if thought is not None and thought.get("type") == "reasoning" and not thought.get("encrypted_content"):
            call_id = (part.provider_raw or EMPTY).get("id")
            if isinstance(call_id, str):
                item["id"] = call_id


def _is_drawn(part: Part) -> bool:
    """Tell whether a part is an image another provider's model made: here that is an item of its own."""
    return part.type == "image" and part.blob is not None and (part.provider_raw or EMPTY).get("type") not in IMAGES


def _heads(layout: Mapping[str, Any], message: Message) -> list[Mapping[str, Any]] | None:
    """Give the heads of a layout that still fits its message; None if it has none, or has changed since."""
    heads = layout.get("items")
    count = len(message.parts) - (1 if message.parts and message.parts[-1].type == "annotation" else 0)
    if not isinstance(heads, (list, tuple)) or layout.get("of") != count:
        return None
    p = 0
    for head in heads:
        match head:
            case {"at": int(at), "parts": int(parts)} if p <= at and parts >= 0 and at + parts <= count:
                p = at + parts
                if not all(is_content(part) for part in message.parts[at:p]):
                    return None
                if "whole" not in head and not isinstance(head.get("item"), Mapping):
                    return None
            case _:
                return None
    return list(heads)


def _in_order(items: list[Json]) -> list[Json]:
    """Sort the items of one answer by kind, each thought (and each step of the server's) with the item after it."""
    groups: list[tuple[int, list[Json]]] = []
    leading: list[Json] = []
    for item in items:
        leading.append(item)
        kind = item.get("type")
        rank = ORDER.get(kind) if isinstance(kind, str) else None
        if rank is not None:
            groups.append((rank, leading))
            leading = []
    groups.sort(key=lambda group: group[0])  # stable: order is kept within a kind
    ordered: list[Json] = []
    for _, group in groups:
        last = ordered[-1] if ordered else None
        if len(group) == 1 and last is not None and _is_one_message(last, group[0]):
            last["content"] += group[0]["content"]
        else:
            ordered += group
    return ordered + leading


def _is_one_message(last: Json, item: Json) -> bool:
    """Tell whether two items say what one message would."""
    return last.get("type") == "message" == item["type"] and last.get("phase") == item.get("phase")


# -- wire to canon ---------------------------------------------------------------------------------------------


def read_message(
    item: Mapping[str, Any], role: str, at: int, blobs: BlobStore, where: str
) -> tuple[list[Part], Mapping[str, Any]]:
    """Read a message item: its parts, and its head for the layout of the message it goes into, at part `at`."""
    content = item.get("content")
    given = item.get("phase")
    phase = given if role == "assistant" and isinstance(given, str) else None
    head: Json = {"at": at, "item": {key: value for key, value in item.items() if key not in ("content", "role")}}
    if item.get("role") not in ROLES:  # none, or one of its own
        head["item"]["role"] = item.get("role")
    if isinstance(content, str):
        content, head["form"] = [{"type": TEXT.get(role, "input_text"), "text": content}], "string"
    elif content is None:
        head["form"] = "none"
    parts: list[Part] = []
    rests: list[Json] = []
    for b, block in enumerate(listed(content, f"{where}.content")):
        part, rest = decode_block(block, role, phase, blobs, f"{where}.content[{b}]")
        parts.append(part)
        rests.append(rest)
    head["parts"] = len(parts)
    if any(rests):
        head["blocks"] = rests
    return parts, head


def kept_layout(parts: Sequence[Part], heads: list[Mapping[str, Any]], role: str) -> tuple[Part, ...]:
    """Give the annotation that keeps a layout; none if the message would be written the same without it."""
    if len(heads) == 1 and role != "assistant":
        head = heads[0]
        string = len(parts) == 1 and parts[0].type == "text" and parts[0].provider_raw is None
        usual = not head["item"] and "blocks" not in head and len(head) - ("form" in head) == 3
        if usual and head.get("form") == ("string" if string else None) and parts:
            return ()
    if not heads:
        return ()
    return annotation({"extra": {NAME: {"of": len(parts), "items": heads}}})
