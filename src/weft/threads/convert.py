"""Turns as canonical messages, and back (spec/README.md R-6 to R-9).

A block that has a part of its own kind becomes that part and stays whole in `provider_raw`, so that going back gives
the very block. What a message says and a block cannot (its provider's form of a part, a name, an unusual role) is kept
under `provider_raw` in the block or `annotation` in the meta, where only weft looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft.blobs import BlobStore, InMemoryBlobStore
from weft.canon import ExcludedItem, Message, Part, read_block, thaw, write_block
from weft.ids import id_time
from weft.store import Flag, TurnRow
from weft.threads.blocks import blocks_of, extra_of

__all__ = ["TurnDraft", "messages_from_turn", "turns_from_messages"]

_CACHE = "cache"
_ROLES_IN_TURNS = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "user"}


class TurnDraft:
    """A message on its way to being a turn: role, blocks, whether it is cached, and what else meta should say."""

    __slots__ = ("blocks", "cache", "extra", "role")

    def __init__(self, role: str) -> None:
        """Begin without content."""
        self.role = role
        self.blocks: list[dict[str, Any]] = []
        self.cache = False
        self.extra: dict[str, Any] = {}


# -- from turns ----------------------------------------------------------------------------------------------------


def messages_from_turn(turn: TurnRow, blobs: BlobStore) -> list[Message]:
    """Give the message of a turn; a user turn with results and other blocks gives two, the results first [R-7]."""
    meta = extra_of(turn)
    blocks = blocks_of(turn)
    if blocks is None:
        return []
    about = meta.get("message")
    about = about if isinstance(about, Mapping) else {}
    annotation = dict(meta["annotation"]) if isinstance(meta.get("annotation"), Mapping) else {}
    if turn.flags & Flag.CACHE:
        annotation[_CACHE] = True
    name = meta.get("document_name") if turn.flags & Flag.DOCUMENT else None
    results = [block for block in blocks if _type(block) == "tool_result"] if turn.role == "user" else []
    others = [block for block in blocks if _type(block) != "tool_result"] if results else blocks
    groups: list[tuple[str, list[Any]]] = []
    if results:
        groups.append(("tool", results))
    if others or not results:
        groups.append((turn.role, others))
    messages = []
    for index, (role, group) in enumerate(groups):
        parts = [_part(block, blobs, name) for block in group]
        if annotation and index == len(groups) - 1:
            said = dict(annotation)
            if role == "system" and said.get("role") == "developer":
                role = said.pop("role")  # noqa: PLW2901  # the role it had before it was stored as `system`
            if said:
                parts.append(Part("annotation", json=said))
        messages.append(
            Message(
                role if role in _ROLES_IN_TURNS else "user",  # type: ignore[arg-type]  # one of the canonical five
                tuple(parts),
                _text(about.get("id")),
                _text(about.get("provider")),
                turn.id,
                id_time(turn.id),
            )
        )
    return messages


def _type(block: Any) -> Any:
    return block.get("type") if isinstance(block, Mapping) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _part(block: Any, blobs: BlobStore, name: str | None) -> Part:
    """Read one stored block; what is none, which only an older store can hold, is kept as it is."""
    if _text(_type(block)) is None:
        return Part("json", json={"value": block})
    return read_block(block if name is None else {**block, "name": name}, blobs)


# -- to turns ------------------------------------------------------------------------------------------------------


def turns_from_messages(
    messages: Iterable[Message], blobs: BlobStore | None
) -> tuple[list[TurnDraft], list[ExcludedItem]]:
    """Give one turn a message; messages of one stored turn become one again [R-9]."""
    drafts: list[TurnDraft] = []
    excluded: list[ExcludedItem] = []
    last_turn: str | None = None
    for number, message in enumerate(messages):
        if not drafts or message.turn_id is None or message.turn_id != last_turn:
            drafts.append(TurnDraft(_ROLES_IN_TURNS.get(message.role, "user")))
        last_turn = message.turn_id
        draft = drafts[-1]
        if message.role == "developer":
            draft.extra.setdefault("annotation", {})["role"] = "developer"
        for place, part in enumerate(message.parts):
            if part.type == "annotation":
                _annotate(draft, part)
                continue
            block = _block(part, blobs, message.provider)
            if isinstance(block, str):
                excluded.append(ExcludedItem(f"messages[{number}].parts[{place}]", block))
            else:
                draft.blocks.append(block)
        about = {key: value for key, value in (("id", message.id), ("provider", message.provider)) if value is not None}
        if about:
            draft.extra["message"] = {**draft.extra.get("message", {}), **about}
    return drafts, excluded


def _annotate(draft: TurnDraft, part: Part) -> None:
    said: dict[str, Any] = thaw(part.json or {})
    if said.pop(_CACHE, None) is True:
        draft.cache = True
    if said:
        draft.extra["annotation"] = {**draft.extra.get("annotation", {}), **said}


def _block(part: Part, blobs: BlobStore | None, provider: str | None) -> dict[str, Any] | str:
    if part.blob is not None and blobs is None:
        return f"the bytes of this {part.type} are in a blob store that was not given"
    block = write_block(part, blobs or InMemoryBlobStore(), provider=provider)
    return f"part type {part.type} has no form in a turn" if block is None else block
