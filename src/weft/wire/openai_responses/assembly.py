"""Items of a stream while they arrive: as they were opened, and pieces to be joined once, at the end."""

from __future__ import annotations

from typing import Any

from weft.wire.codec import Json

__all__ = ["Item", "Text"]


class Text:
    """A block of an item: as it was opened, and what came since, to be joined at the end."""

    __slots__ = ("block", "key", "lists", "pieces")

    def __init__(self, block: Json, key: str) -> None:
        self.block = block
        self.key = key
        self.pieces: list[str] = []
        self.lists: dict[str, list[Any]] = {}  # annotations and logprobs

    def whole(self) -> Json:
        block = {**self.block, **{key: [*(self.block.get(key) or ()), *more] for key, more in self.lists.items()}}
        if self.pieces:
            held = block.get(self.key)
            block[self.key] = (held if isinstance(held, str) else "") + "".join(self.pieces)
        return block


class Item:
    """An item: as it was opened, or as it was closed if it has been."""

    __slots__ = ("call", "closed", "fields", "opened", "texts")

    def __init__(self, opened: Json, call: int | None) -> None:
        self.opened = opened
        self.call = call
        self.closed = False
        self.texts: dict[tuple[str, int], Text] = {}
        self.fields: dict[str, list[str]] = {}

    def whole(self) -> Json:
        if self.closed or not (self.texts or self.fields):
            return self.opened
        item = dict(self.opened)
        for key, pieces in self.fields.items():
            held = item.get(key)
            item[key] = (held if isinstance(held, str) else "") + "".join(pieces)
        for name in ("content", "summary"):
            blocks = [self.texts[place].whole() for place in sorted(self.texts) if place[0] == name]
            if blocks:
                item[name] = blocks
        return item
