"""A recorded request on its way in: the turns its messages will be, and what it said besides them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft import jsontext
from weft.canon import Message, thaw
from weft.errors import UsageError
from weft.store import address_of
from weft.threads import TurnDraft, turns_from_messages
from weft.trace.opened import Opened, open_record
from weft.wire import FAITHFUL, forms_of, message_from_reply, note_parts, take_off

__all__ = ["Asked", "Memory", "Said", "digest_of", "hash_of", "read_asked"]

UNNAMED = "?"  # stands for a model that the request leaves to its address
_CHAINED = "previous_response_id"
_IMPORTED = ("request", "response", "provider", "path")


@dataclass(slots=True)
class Said:
    """One message as its turn will be."""

    role: str
    payload: bytes
    digest: bytes
    means: bytes  # equal for messages that say the same, however they are written
    extra: Mapping[str, Any]
    cache: bool


@dataclass(slots=True)
class Asked:
    """One record on its way in."""

    line: int
    id: str
    turns: list[Said]
    answer: Said | None
    options: dict[str, Any]
    spec: bytes
    follows: str | None  # the response it continues, by the provider's memory
    answer_id: str | None
    digest: bytes


def digest_of(record: Mapping[str, Any]) -> bytes:
    """Hash what a request is imported by: if it is the same, there is nothing to do."""
    return hashlib.sha256(jsontext.dumps([record.get(key) for key in _IMPORTED])).digest()


class Memory:
    """Messages met so far, each once; and how clients echo answers, by everything before and what it means."""

    def __init__(self) -> None:
        self._said: dict[tuple[Any, ...], Said] = {}
        self.echoes: dict[bytes, Said] = {}

    def said(self, draft: TurnDraft) -> Said:
        payload = jsontext.dumps(draft.blocks)
        digest = hashlib.sha256(payload).digest()
        extra = {key: value for key, value in draft.extra.items() if key != "message"}
        provider = (draft.extra.get("message") or {}).get("provider")
        if provider is not None:
            extra["message"] = {"provider": provider}
        key = draft.role, digest, draft.cache, jsontext.dumps(extra)
        found = self._said.get(key)
        if found is None:
            means = _meaning(draft) if draft.role == "assistant" else digest
            found = self._said[key] = Said(draft.role, payload, digest, means, extra, draft.cache)
        return found

    def listen(self, turns: Sequence[Said]) -> None:
        """Note how the answers in a request are written."""
        so_far = b""
        for said in turns:
            so_far = hash_of(so_far, said)
            if said.role == "assistant":
                self.echoes.setdefault(so_far, said)


def hash_of(before: bytes, said: Said) -> bytes:
    """Hash a message together with everything before it, by what they mean."""
    return hashlib.blake2b(before + said.role.encode() + said.means, digest_size=16).digest()


def _meaning(draft: TurnDraft) -> bytes:
    """Hash what an answer says: its texts, and its calls; not its thinking, which few clients send back."""
    told: list[Any] = []
    for block in draft.blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                if text:
                    told.append(text)
            case {"type": "tool_use"}:
                told.append([block.get("id"), block.get("name"), block.get("input")])
            case {"type": "thinking" | "redacted_thinking"}:
                pass
            case _:
                told.append({key: value for key, value in block.items() if key not in ("provider_raw", "origin")})
    return hashlib.sha256(jsontext.dumps(told)).digest()


def read_asked(line: int, name: str, record: Mapping[str, Any], memory: Memory, digest: bytes) -> Asked:
    """Read a record; UsageError or WireError if it is no conversation."""
    body = record.get("request")
    if not isinstance(body, Mapping):
        raise UsageError("the request is no JSON object")
    clean, marks = take_off(body)
    opened = open_record({**record, "request": clean})
    drafts, lost = turns_from_messages(note_parts(opened.messages), opened.blobs)
    if lost:
        raise UsageError(f"{lost[0].description}: {lost[0].reason}")
    written = opened.dialect.encode_request(opened.messages, opened.spec, opened.blobs, FAITHFUL).body
    turns = [memory.said(draft) for draft in drafts]
    memory.listen(turns)
    answer, answer_id = _answer(opened, memory)
    if not turns and answer is None:
        raise UsageError("the request has no messages")
    follows = opened.spec.extra_body.get(_CHAINED)
    spec = opened.spec.to_dict()
    spec["model"] = spec["model"] or UNNAMED
    if isinstance(follows, str):
        spec["extra_body"].pop(_CHAINED)
    about = {"dialect": opened.dialect.name, "provider": record.get("provider"), "spec": spec}
    said = jsontext.dumps({key: value for key, value in about.items() if value is not None})
    options: dict[str, Any] = {"request": address_of(hashlib.sha256(said).digest())}
    options["marks"] = marks
    # As pairs: lists are replaced by later ones, objects would be merged with them [T-43].
    options["forms"] = [[key, value] for key, value in forms_of(clean, thaw(written)).items()]
    chained = follows if isinstance(follows, str) else None
    return Asked(line, name, turns, answer, options, said, chained, answer_id, digest)


def _answer(opened: Opened, memory: Memory) -> tuple[Said | None, str | None]:
    """Give the answer as a turn, with what its provider said about it."""
    reply = opened.reply
    if reply is None or reply.message is None:
        return None, None
    heard = reply.message
    said = Message(
        heard.role, heard.parts, provider=opened.messages[-1].provider if opened.messages else heard.provider
    )
    drafts, lost = turns_from_messages([said], opened.blobs)
    if lost or len(drafts) != 1:
        return None, reply.id
    told = memory.said(drafts[0])
    about = message_from_reply(opened.dialect.name, reply, opened.blobs, model=opened.spec.model)
    about.pop("content", None)
    if reply.id is not None:
        about.setdefault("id", reply.id)
    extra = {**told.extra, "message": {**about, **told.extra.get("message", {})}}
    if not reply.finished:
        extra |= {"unfinished": True, "error": reply.notes[-1] if reply.notes else "the answer was cut short"}
    return Said("assistant", told.payload, told.digest, told.means, extra, told.cache), reply.id
