"""generateContent requests: canon to body and body to canon.

Unlike canon: the model is usually in the URL; instructions travel outside the contents; tool results come back in
user contents, so one user content may be two of ours (it is marked, and becomes one again). A body has REST's
shape, or that of the SDK's arguments (`{model, contents, config}`), and may spell its keys either way: what is not
spelled as is usual in its shape leaves a null in `extra_body`, which tells the encoder to spell it so again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.blobs import BlobStore
from weft.canon import EMPTY, Frozen, Message, Part, RunSpec, frozen_part, thaw
from weft.wire.body import (
    annotation,
    annotation_of,
    as_body,
    blobs_or_new,
    is_failed,
    listed,
    mapping_at,
    need,
    optional_text,
    residue,
)
from weft.wire.codec import FAITHFUL, Decoded, Encoded, Json, Policy
from weft.wire.gemini.calls import Calls
from weft.wire.gemini.keeping import signature_of
from weft.wire.gemini.part import (
    KINDS,
    MARKS,
    NAME,
    PROVIDER,
    decode_part,
    encode_part,
    is_own_part,
    made_by,
    new_call,
    new_result,
)
from weft.wire.gemini.settings import decode_spec, encode_settings, find_shape
from weft.wire.gemini.spelling import get
from weft.wire.gemini.unsigned import excuse_unsigned_calls
from weft.wire.gemini.way import Way, way_of

__all__ = ["decode_request", "encode_request"]

INSTRUCTING = ("system", "developer")
ROLES = {"user": "user", "model": "assistant"}
TALKING = frozenset({"user", "assistant", "tool"})
# How a message was given, where that is not a content with a list of parts: in `extra.gemini.form` of its annotation.
NO_PARTS, ONE_PART, BARE_TEXT, BARE_PART = "no parts", "one part", "bare text", "bare part"

System = list[tuple[Message, list[Json]]]


# -- canon to wire ---------------------------------------------------------------------------------------------


def encode_request(
    messages: Sequence[Message], spec: RunSpec, blobs: BlobStore | None = None, policy: Policy = FAITHFUL
) -> Encoded:
    """Write a conversation and its settings as a request body."""
    out = Encoded()
    way = way_of(policy)
    system, contents = _encode_messages(messages, blobs_or_new(blobs), way, out)
    if spec.model:
        out.body["model"] = spec.model
    out.body["contents"] = contents
    if policy.tidy and not contents:
        out.errors.append("google/models.generate_content needs contents, and there are none")
    if not way.as_given:
        excuse_unsigned_calls(contents, spec.model, way.spell("thoughtSignature"), out)
    shape = find_shape(spec, way)
    if (instruction := _system_instruction(system, spec, policy, way)) is not None:
        shape.home.put("systemInstruction", instruction)
    encode_settings(spec, shape, policy, way, out)
    return out


def _encode_messages(messages: Sequence[Message], blobs: BlobStore, way: Way, out: Encoded) -> tuple[System, Any]:
    system: System = []
    contents: list[Any] = []
    names: dict[str, str] = {}
    before = ""  # the canonical role of the message before, if it went into `contents`
    alone = False
    for m, message in enumerate(messages):
        parts = _encode_parts(m, message, blobs, way, out, names)
        role = message.role
        if role in INSTRUCTING:
            system.append((message, parts))
            continue
        if role not in TALKING and not way.as_given:
            out.lose(f"context.messages[{m}]", f"role {role} has no place in models.generate_content")
            continue
        marks = annotation_of(message)
        if not parts and way.merge != "marked":
            out.lose(f"context.messages[{m}]", "nothing in it can be sent")
            continue
        if before and (
            (role == "assistant") is (before == "assistant")
            if way.merge == "all"
            else _is_joined(role, marks, before, contents[-1], way)
        ):
            contents[-1]["parts"] += parts
        else:
            content: Any = {"role": "model" if role == "assistant" else "user", "parts": parts}
            if marks is not EMPTY and way.as_given:
                content = _as_given(content, _own(marks))
                alone = alone or bool(_own(marks).get("alone"))
            contents.append(content)
        before = role
    return system, contents[0] if alone and len(contents) == 1 else contents


def _encode_parts(
    m: int, message: Message, blobs: BlobStore, way: Way, out: Encoded, names: dict[str, str]
) -> list[Json]:
    written: list[Json] = []
    for p, part in enumerate(message.parts):
        kind = part.type
        if part.provider_raw is None:  # nearly all parts are one of these three
            if kind == "text" and part.text:
                written.append({"text": part.text})
                continue
            if kind == "tool_call" and message.role == "assistant" and part.tool_name:
                names[part.tool_call_id or ""] = part.tool_name
                written.append(new_call(part, way))
                continue
            if kind == "tool_result" and part.tool_name:
                written.append(new_result(part, part.tool_name, way))
                continue
        elif kind == "tool_call" and part.tool_name:
            names[part.tool_call_id or ""] = part.tool_name
            if message.role == "assistant" and not is_own_part(part, message.provider):  # another provider's call
                written.append(new_call(part, way))
                continue
        block = _encode_odd(m, p, message, blobs, way, out, names)
        if block is not None:
            written.append(block)
    return written


def _encode_odd(
    m: int, p: int, message: Message, blobs: BlobStore, way: Way, out: Encoded, names: dict[str, str]
) -> Json | None:
    """Write a part of the less usual kind, and report what there is to report about it."""
    part = message.parts[p]
    block = encode_part(part, message.role, message.provider, blobs, way, names)
    if message.role in INSTRUCTING and way.system != "content" and block is not None and "text" not in block:
        block = f"part type {part.type} is not supported for role {message.role}"
    if isinstance(block, str):
        out.lose_part(m, p, block)
        return None
    if part.type == "text" and not part.text and way.empty_text == "drop" and _is_beside_calls(message, part):
        return None
    if part.provider_raw is None or block is None:
        return block
    if part.type == "tool_result" and is_failed(part):
        place = f"context.messages[{m}].parts[{p}]"
        out.warnings.append(f"{place}: models.generate_content has no field for a failed tool; the output is sent")
    if part.type == "provider" or "thought" in block or signature_of(block) is not None:
        out.returned(m, p)
    return block


def _is_joined(role: str, marks: Mapping[str, Any], before: str, content: Any, way: Way) -> bool:
    """Tell whether a message goes on with the content before it, where not all of equal role do."""
    if way.merge == "results":
        return role == "tool" == before
    return bool(marks.get("joins")) and before != "assistant" and isinstance(content, dict) and "parts" in content


def _is_beside_calls(message: Message, part: Part) -> bool:
    return signature_of(part.provider_raw) is None and any(other.type == "tool_call" for other in message.parts)


def _own(marks: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read what a decoded request left about the form of a message."""
    extra = marks.get("extra")
    own = extra.get(NAME) if isinstance(extra, Mapping) else None
    return own if isinstance(own, Mapping) else EMPTY


def _as_given(content: Json, own: Mapping[str, Any]) -> Any:
    """Give a content the form it had, as far as it still fits."""
    if not own:
        return content
    parts, form = content["parts"], own.get("form")
    if form in (BARE_TEXT, BARE_PART) and len(parts) == 1:
        return parts[0]["text"] if form == BARE_TEXT and parts[0].keys() == {"text"} else parts[0]
    if form == NO_PARTS and not parts:
        del content["parts"]
    elif form == ONE_PART and len(parts) == 1:
        content["parts"] = parts[0]
    if "role" in own:
        content["role"] = own["role"]
        if own["role"] is None:
            del content["role"]
    if isinstance(fields := own.get("fields"), Mapping):
        content.update(thaw(fields))
    return content


def _system_instruction(system: System, spec: RunSpec, policy: Policy, way: Way) -> Any:
    given = spec.instructions
    texts = [text for text in (given.system, given.developer) if text] if given else []
    if way.system != "content":
        texts += [part["text"] for _, parts in system for part in parts if part.get("text")]
        if way.system == "texts":
            return texts or None
        return (policy.joiner or "\n\n").join(texts) or None
    if not system and not texts:
        return None
    if way.as_given and not texts:
        marks = [_own(annotation_of(message)) for message, _ in system]
        if len(system) == 1 or all(own.get("listed") for own in marks):
            items = [
                _as_given({"parts": parts}, own) if own else {"parts": parts}
                for (_, parts), own in zip(system, marks, strict=True)
            ]
            return items if marks[0].get("listed") else items[0]
    return {"parts": [*({"text": text} for text in texts), *(part for _, parts in system for part in parts)]}


# -- wire to canon ---------------------------------------------------------------------------------------------


def decode_request(body: Any, blobs: BlobStore | None = None, *, provider: str | None = None) -> Decoded:
    """Read a request body; what canon has no field for goes to `extra_body`, to be written back as it was."""
    body = as_body(body, "request")
    provider = provider or PROVIDER
    reader = _Reader(blobs_or_new(blobs), provider, made_by(provider, body.get("model")))
    config = body.get("config")
    instruction = get(config if isinstance(config, Mapping) else body, "systemInstruction")
    messages = reader.instructions(instruction)
    messages += reader.contents(need(residue(body), "contents"))
    return Decoded(tuple(messages), decode_spec(body, provider))


class _Reader:
    """Reads the contents of one body: what all of them share is who speaks and which calls are open."""

    __slots__ = ("_blobs", "_calls", "_made", "_provider")

    def __init__(self, blobs: BlobStore, provider: str, made: Frozen) -> None:
        self._blobs = blobs
        self._provider = provider
        self._made = made
        self._calls = Calls()

    def instructions(self, value: Any) -> list[Message]:
        """Read the system instruction: a content, a text, a part, or a list of texts and parts."""
        if value is None:
            return []
        if isinstance(value, (list, tuple)):
            return [
                self._item(item, f"systemInstruction[{i}]", {"listed": True}, system=True)[0]
                for i, item in enumerate(value)
            ]
        return self._item(value, "systemInstruction", {}, system=True)

    def contents(self, value: Any) -> list[Message]:
        """Read the contents: a list, or what the SDK takes for one: a content, a part or a text."""
        if isinstance(value, (str, Mapping)):
            return self._item(value, "contents", {"alone": True})
        items = listed(value, "contents")
        return [message for c, item in enumerate(items) for message in self._item(item, f"contents[{c}]", {})]

    def _item(self, value: Any, at: str, own: Json, *, system: bool = False) -> list[Message]:
        if isinstance(value, str):
            parts = [frozen_part("text", value)]
            return [self._message("system" if system else "user", parts, {**own, "form": BARE_TEXT})]
        item = mapping_at(value, at)
        if "parts" not in item and any(key in KINDS or key in MARKS or key == "text" for key in item):
            parts = [self._part(item, at)]
            return [self._message(_role_of("system" if system else "user", parts), parts, {**own, "form": BARE_PART})]
        return self._content(item, at, own, system=system)

    def _content(self, content: Mapping[str, Any], at: str, own: Json, *, system: bool) -> list[Message]:
        given = content.get("parts")
        if given is None:
            own["form"] = NO_PARTS
        elif isinstance(given, Mapping):
            own["form"], given = ONE_PART, (given,)
        parts = [self._part(part, f"{at}.parts[{p}]") for p, part in enumerate(listed(given, f"{at}.parts"))]
        wire_role = optional_text(content.get("role"), f"{at}.role")
        if rest := residue(content, "role", "parts"):
            own["fields"] = rest
        if system:
            if wire_role is not None:
                own["role"] = wire_role
            return [self._message("system", parts, own)]
        role = ROLES.get(wire_role or "", "user")
        if wire_role not in ROLES:
            own["role"] = wire_role
        if role != "user":
            return [self._message(role, parts, own)]
        return [
            self._message(_role_of("user", run), run, {} if r else own, joins=r > 0)
            for r, run in enumerate(_runs(parts))
        ]

    def _part(self, value: Any, at: str) -> Part:
        return decode_part(value, self._blobs, at, self._made, self._calls)

    def _message(self, role: Any, parts: list[Part], own: Json, *, joins: bool = False) -> Message:
        marks: Json = {"extra": {NAME: own}} if own else {}
        if joins:
            marks["joins"] = True
        return Message(role, (*parts, *annotation(marks)) if marks else tuple(parts), provider=self._provider)


def _role_of(role: str, parts: list[Part]) -> str:
    return "tool" if role == "user" and parts and parts[0].type == "tool_result" else role


def _runs(parts: list[Part]) -> list[list[Part]]:
    """Cut a user content where tool results and other parts meet: they are different roles in canon [R-7]."""
    runs: list[list[Part]] = [[]]
    for part in parts:
        if runs[-1] and (runs[-1][-1].type == "tool_result") != (part.type == "tool_result"):
            runs.append([])
        runs[-1].append(part)
    return runs
