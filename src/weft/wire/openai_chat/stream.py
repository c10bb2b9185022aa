"""Chat Completions streams, read: chunks that each hold a little of the message, then `[DONE]`.

The first choice is told as it comes; the others are in the reply at the end. The stream is over when every choice
has said why it stopped, or at `[DONE]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft.blobs import BlobStore
from weft.canon import ContentDelta, Event, Reply
from weft.wire.codec import Json
from weft.wire.openai_chat.assembly import Block, Choice
from weft.wire.openai_chat.block import NAME, REASONING, decode_block, made_by, reasoning_text
from weft.wire.openai_chat.response import decode_response
from weft.wire.stream import AssemblingDecoder

__all__ = ["StreamDecoder"]

KNOWN = frozenset({"role", "content", "refusal", "tool_calls", "function_call", "audio", "images", *REASONING})
NOISE = ("choices", "obfuscation", "p")  # what pads a chunk says nothing of the answer


class StreamDecoder(AssemblingDecoder):
    """Reads chat.completion.chunk events."""

    __slots__ = ("_choices", "_done", "_envelope", "_first", "_named", "_reasoning", "_usage")
    dialect = NAME

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin before the first chunk."""
        super().__init__(blobs, provider=provider)
        self._envelope: Json = {}
        self._first: Json = {}  # id and model as they were first said: Azure's first chunk says ""
        self._named = False
        self._usage: Any = None
        self._choices: dict[int, Choice] = {}
        self._reasoning = ""  # the field reasoning is told from: some say the same in two
        self._done = False

    def growing(self) -> Iterable[list[str]]:
        """Give the text of every choice."""
        return [choice.content for choice in self._choices.values()]

    def take(self, event: Json) -> None:
        """Follow one chunk."""
        choices = event.get("choices")
        if "error" in event and event["error"] is not None:
            self._fail(event)
        if not choices:
            self._aside(event)
            return
        self._envelope.update(event)
        if not self._named or event.get("usage") is not None:
            self._keep(event)
        say = self.say
        if not say.started:
            self._start(event)
        for position, choice in enumerate(choices):
            index = choice.get("index")
            if index.__class__ is not int:
                index = position
            state = self._choices.get(index)
            if state is None:
                state = self._choices[index] = Choice(told=index == 0)
            delta = choice.get("delta")
            if delta is None:
                delta = choice.get("message") or {}  # the whole answer as one chunk
            content = delta.get("content")
            if content.__class__ is str and len(delta) == 1 and state.blocks is None:
                state.content.append(content)
                if content and state.told:
                    say.out.append(ContentDelta(content))
            elif delta:
                self._extend(state, delta, event)
            if len(choice) > 4 or choice.get("finish_reason") is not None or choice.get("logprobs") is not None:
                self._fields(state, choice)

    def _fields(self, state: Choice, choice: Json) -> None:
        for key, value in choice.items():
            if value is not None and key not in ("index", "delta", "message"):
                if key == "logprobs" and isinstance(value, dict):
                    state.add_logprobs(value)
                else:
                    state.fields[key] = value

    def _keep(self, event: Json) -> None:
        self._envelope.update(event)
        if event.get("usage") is not None:
            self._usage = event["usage"]
        if not self._named:
            self._first = {key: event[key] for key in ("id", "model") if event.get(key)}
            self._named = "id" in self._first

    def _start(self, event: Json) -> None:
        envelope = {key: value for key, value in self._envelope.items() if key not in NOISE}
        self.say.start(event.get("id"), event.get("model"), envelope)

    def _aside(self, event: Json) -> None:
        """Take a chunk without choices: usage at the end, Azure's filter results at the start, or something else."""
        if "choices" in event or event.get("usage") is not None:
            self._keep(event)
        elif event.get("error") is None:
            self.say.native(event)

    def _fail(self, event: Json) -> None:
        error = event["error"]
        self.fail(str(error.get("message") or error) if isinstance(error, Mapping) else str(error))
        self._envelope["error"] = error
        self.say.native(event)

    # -- one delta

    def _extend(self, state: Choice, delta: Json, event: Json) -> None:
        say = self.say
        role = delta.get("role")
        if isinstance(role, str) and role:
            state.extra["role"] = role
            if state.told:
                say.role(role)
        content = delta.get("content")
        if content is not None:
            self._content(state, content, event)
        self._reason(state, delta, event)
        refusal = delta.get("refusal")
        if isinstance(refusal, str):
            state.texts.setdefault("refusal", []).append(refusal)
            if state.told:
                say.refusal(refusal)
        for piece in delta.get("tool_calls") or ():
            self._call(state, piece)
        if isinstance(delta.get("function_call"), dict):
            call = state.old_call()
            told = call.add({}, delta["function_call"])
            self._tell_call(state, call.number, call.name, None, delta, told)
        if isinstance(delta.get("audio"), dict):
            state.add_audio(delta["audio"])
        if isinstance(delta.get("images"), list):
            state.extra.setdefault("images", []).extend(delta["images"])
        for key, value in delta.items():
            if key not in KNOWN and value is not None:
                self._other(state, key, value)

    def _other(self, state: Choice, key: str, value: Any) -> None:
        """Keep a field nobody here knows: texts are pieces, unless the same is said again and again."""
        if isinstance(value, str):
            pieces = state.texts.setdefault(key, [])
            if not pieces or pieces[-1] != value:
                pieces.append(value)
        else:
            state.extra[key] = value

    def _content(self, state: Choice, content: Any, event: Json) -> None:
        if isinstance(content, str) and state.blocks is None:
            state.content.append(content)
            if state.told:
                self.say.content(content)
            return
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if state.blocks is None:
            state.blocks = []
            before, state.content = "".join(state.content), []
            if before:
                state.blocks.append(Block("text"))
                state.blocks[0].add({"text": before})
        for block in blocks:
            kind = block.get("type")
            if not state.blocks or state.blocks[-1].kind != kind or kind not in ("text", "thinking"):
                if kind == "text" and not block.get("text") and len(block) == 2:
                    continue
                self._end_block(state)
                state.blocks.append(Block(kind))
            told = state.blocks[-1].add(block)
            if state.told and kind == "thinking" and told:
                self._tell_reasoning("content", told, event)
            elif state.told and kind == "text":
                self.say.content(told)

    def _end_block(self, state: Choice) -> None:
        """Tell a block that another follows."""
        if state.told and state.blocks:
            made = made_by(self.provider, self._first.get("model"))
            self.end_part(decode_block(state.blocks[-1].whole(), self.blobs, "content", made, "assistant"))

    def _reason(self, state: Choice, delta: Json, event: Json) -> None:
        for key in REASONING[:2]:
            piece = delta.get(key)
            if isinstance(piece, str):
                state.texts.setdefault(key, []).append(piece)
                if piece and state.told:
                    self._tell_reasoning(key, piece, event)
        details = delta.get("reasoning_details")
        if isinstance(details, list):
            for detail in details:
                state.add_detail(detail)
            if details and state.told:
                self._tell_reasoning("reasoning_details", reasoning_text(details), event)

    def _tell_reasoning(self, key: str, piece: str, event: Json) -> None:
        """Tell reasoning from one field only; the chunk it begins with is shown whole, as it says which."""
        if not self._reasoning:
            self._reasoning = key
            self.say.native(event)
        if key == self._reasoning:
            self.say.reasoning(piece)

    def _call(self, state: Choice, piece: Json) -> None:
        held = piece.get("function") or piece.get("custom") or {}
        call, note = state.call_for(piece, held)
        if note is not None:
            self.notes.append(note)
        told = call.add(piece, held)
        self._tell_call(state, call.number, call.name, call.id, piece, told)

    def _tell_call(self, state: Choice, number: int, name: str, call_id: str | None, raw: Json, told: str) -> None:
        if state.told:
            self.say.call(number, name, call_id, raw)
            self.say.arguments(number, told)

    # -- the end

    def done(self) -> None:
        """Hear `[DONE]`."""
        self._done = True

    def close(self) -> list[Event]:
        """End the stream: it is whole if it said so, or if every choice has said why it stopped."""
        stopped = [isinstance(state.fields.get("finish_reason"), str) for state in self._choices.values()]
        self.complete = self._done or (bool(stopped) and all(stopped))
        if not self.say.started:
            self._start(self._first)
        return super().close()

    def call_number(self, position: int) -> int:
        """Give the number a call was told under."""
        return sorted(self._choices[0].calls)[position] if 0 in self._choices else position

    def assembled(self) -> Json:
        """Put the choices, in their order, into the envelope of the chunks."""
        body = {key: value for key, value in self._envelope.items() if key not in NOISE}
        body |= self._first
        if body.get("object") == "chat.completion.chunk":
            body["object"] = "chat.completion"
        if self._usage is not None:
            body["usage"] = self._usage
        return {**body, "choices": [self._choices[index].whole(index) for index in sorted(self._choices)]}

    def decode(self, body: Json) -> Reply:
        """Read the assembled response."""
        return decode_response(body, self.blobs, provider=self.provider)
