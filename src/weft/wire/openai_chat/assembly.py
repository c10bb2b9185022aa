"""A choice while it streams in: pieces are collected by field and put together once, at the end.

https://platform.openai.com/docs/api-reference/chat-streaming, and what the many servers who copied it do: calls
without an index or with the same one, names told again with every piece, content that is blocks (Mistral),
reasoning in three fields (OpenRouter).
"""

from __future__ import annotations

from typing import Any

from weft.jsontext import dumps_text
from weft.wire.codec import Json

__all__ = ["Block", "Call", "Choice"]

PIECED = ("text", "summary", "data")  # of a reasoning detail: the fields that come in pieces
AUDIO_PIECES = ("data", "transcript")


class Block:
    """A content block, where content comes as blocks and not as a string."""

    __slots__ = ("fields", "items", "kind", "pieces")

    def __init__(self, kind: Any) -> None:
        """Begin with nothing in it."""
        self.kind = kind
        self.fields: Json = {}
        self.pieces: list[str] = []
        self.items: list[Any] = []  # of a thinking block: what is not text

    def add(self, block: Json) -> str:
        """Take one more piece of the block; give the text that came with it."""
        told = ""
        for key, value in block.items():
            if key == "thinking" and self.kind == "thinking" and isinstance(value, list):
                told += "".join(self._add_item(item) for item in value)
            elif key == self.kind and isinstance(value, str):
                self.pieces.append(value)
                told += value
            elif key != "type" and value is not None:
                self.fields[key] = value
        return told

    def _add_item(self, item: Any) -> str:
        match item:
            case {"type": "text", "text": str(text)} if len(item) == 2:
                self.pieces.append(text)
                return text
        self.items.append(item)
        return ""

    def whole(self) -> Json:
        """Put the block together."""
        text = "".join(self.pieces)
        if self.kind == "text":
            return {"type": "text", "text": text, **self.fields}
        if self.kind == "thinking":
            said = [{"type": "text", "text": text}] if self.pieces else []
            return {"type": "thinking", "thinking": [*said, *self.items], **self.fields}
        return {"type": self.kind, **self.fields} if self.kind is not None else dict(self.fields)


class Call:
    """A tool call. `number` is its place among the calls; `old` says that it is a `function_call`."""

    __slots__ = ("fields", "id", "inner", "kind", "name", "number", "old", "pieces", "value")

    def __init__(self, number: int, *, old: bool = False) -> None:
        """Begin with nothing known."""
        self.number = number
        self.old = old
        self.id = ""
        self.name = ""
        self.kind = "function"  # the field that holds name and arguments
        self.pieces: list[str] = []
        self.value: Any = None  # arguments that came as an object
        self.fields: Json = {}
        self.inner: Json = {}

    def add(self, piece: Json, held: Json) -> str:
        """Take one more piece; give the argument text that came with it."""
        if isinstance(piece.get("id"), str) and piece["id"]:
            self.id = piece["id"]
        for key, value in piece.items():
            if key not in ("id", "index", "function", "custom") and value is not None:
                self.fields[key] = value
        name = held.get("name")
        if isinstance(name, str) and name != self.name:  # some tell the name again with every piece [S-09]
            self.name += name
        told = ""
        for key, value in held.items():
            if key in ("arguments", "input") and value is not None:
                told = value if isinstance(value, str) else dumps_text(value)
                if not isinstance(value, str):
                    self.value = value
                self.pieces.append(told)
            elif key != "name" and value is not None:
                self.inner[key] = value
        return told

    def whole(self) -> Json:
        """Put the call together."""
        inner: Json = {"name": self.name, **self.inner}
        if self.pieces:
            said = "".join(self.pieces)
            inner["input" if self.kind == "custom" else "arguments"] = (
                said if self.value is None or len(self.pieces) > 1 else self.value
            )
        if self.old:
            return inner
        return {**({"id": self.id} if self.id else {}), **self.fields, self.kind: inner}


class Choice:
    """One choice: its message by fields, and what else is said of it."""

    __slots__ = (
        "audio",
        "blocks",
        "calls",
        "content",
        "details",
        "extra",
        "fields",
        "latest",
        "logprobs",
        "texts",
        "told",
    )

    def __init__(self, *, told: bool) -> None:
        """Begin with nothing heard; `told` says that this is the choice events are told of."""
        self.told = told
        self.content: list[str] = []
        self.blocks: list[Block] | None = None
        self.texts: dict[str, list[str]] = {}  # reasoning and refusal, by field
        self.details: list[tuple[Json, dict[str, list[str]]]] = []
        self.audio: dict[str, list[str]] = {}
        self.calls: dict[int, Call] = {}
        self.latest: dict[int | None, Call] = {}  # by the index of the wire; None for the last of all
        self.extra: Json = {}  # other fields of the message
        self.fields: Json = {}  # fields of the choice
        self.logprobs: dict[str, list[Any]] = {}

    # -- taking

    def call_for(self, piece: Json, held: Json) -> tuple[Call, str | None]:
        """Find the call a piece belongs to, or begin one; with a note if that had to be guessed."""
        index, call_id, name = piece.get("index"), piece.get("id"), held.get("name")
        if not isinstance(index, int) or isinstance(index, bool):
            index = None
        call = self.latest.get(index)
        note = None
        if index is None:
            if call_id:
                call = next((each for each in self.calls.values() if each.id == call_id), None)
            elif name and call is not None and call.name:
                call = None
        elif call is not None and call_id and call.id and name and call.id != call_id:
            note = f"two tool calls have the index {index}; they are kept apart"
            call = None
        if call is None:
            number = index if index is not None and index not in self.calls else max(self.calls, default=-1) + 1
            call = self.calls[number] = Call(number)
            if "custom" in piece:
                call.kind = "custom"
        self.latest[index] = self.latest[None] = call
        return call, note

    def old_call(self) -> Call:
        """Give the one `function_call` of the choice."""
        return self.calls.setdefault(0, Call(0, old=True))

    def add_detail(self, detail: Any) -> None:
        """Take one more reasoning detail: a piece of the last one, if it has the same type and place."""
        if self.details:
            held, pieces = self.details[-1]
            same = all(detail.get(key) == held.get(key) for key in ("type", "index")) and (
                detail.get("type") != "reasoning.encrypted" or detail.get("id") == held.get("id")
            )
            if same and ("index" in detail or "data" not in detail):
                _add_pieces(held, pieces, detail)
                return
        held, pieces = {}, {}
        _add_pieces(held, pieces, detail)
        self.details.append((held, pieces))

    def add_audio(self, audio: Json) -> None:
        """Take one more piece of what the model says aloud."""
        _add_pieces(self.extra.setdefault("audio", {}), self.audio, audio, AUDIO_PIECES)

    def add_logprobs(self, logprobs: Json) -> None:
        """Take more log probabilities: they come in lists, token by token."""
        for key, value in logprobs.items():
            if isinstance(value, list):
                self.logprobs.setdefault(key, []).extend(value)

    # -- putting together

    def whole(self, index: int) -> Json:
        """Put the choice together as a whole response has it."""
        message = dict(self.extra)
        if self.blocks is not None:
            message["content"] = [block.whole() for block in self.blocks]
        elif self.content:
            message["content"] = "".join(self.content)
        for key, pieces in self.texts.items():
            message[key] = "".join(pieces)
        if self.details:
            message["reasoning_details"] = [_joined(held, pieces) for held, pieces in self.details]
        if "audio" in message and self.audio:
            message["audio"] = _joined(message["audio"], self.audio)
        calls = [self.calls[number] for number in sorted(self.calls)]
        if calls and calls[0].old:
            message["function_call"] = calls.pop(0).whole()
        if calls:
            message["tool_calls"] = [call.whole() for call in calls]
        choice = {"index": index, "message": message, **self.fields}
        if self.logprobs:
            choice["logprobs"] = self.logprobs
        return choice


def _add_pieces(held: Json, pieces: dict[str, list[str]], piece: Json, pieced: tuple[str, ...] = PIECED) -> None:
    for key, value in piece.items():
        if key in pieced and isinstance(value, str):
            pieces.setdefault(key, []).append(value)
        elif value is not None or key not in held:
            held[key] = value


def _joined(held: Json, pieces: dict[str, list[str]]) -> Json:
    return {**held, **{key: "".join(texts) for key, texts in pieces.items()}}
