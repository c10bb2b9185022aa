"""generateContent streams: every chunk is a response with the next few parts.

https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent, as server-sent events (`alt=sse`)
or as one JSON array. Neighbouring texts of equal `thought` are one part. A part that says more than its text (a
signature, which may come with an empty text) ends the one it is in, so that nothing after it is put under it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weft.blobs import BlobStore
from weft.canon import Reply
from weft.errors import WireError
from weft.jsontext import dumps_text
from weft.wire.codec import Json
from weft.wire.gemini.calls import Calls
from weft.wire.gemini.part import KINDS, NAME, decode_part, made_by
from weft.wire.gemini.partial import PartialCall
from weft.wire.gemini.response import decode_response, is_own_envelope
from weft.wire.gemini.spelling import find, get
from weft.wire.gemini.streamwriter import StreamEncoder
from weft.wire.stream import AssemblingDecoder

__all__ = ["StreamDecoder", "StreamEncoder"]


class _Run:
    """Texts of one part, still to be joined, and what else the part says."""

    __slots__ = ("fields", "pieces", "thought")

    def __init__(self, thought: bool) -> None:
        self.thought = thought
        self.pieces: list[str] = []
        self.fields: Json = {}

    def whole(self) -> Json:
        return {"text": "".join(self.pieces), **({"thought": True} if self.thought else {}), **self.fields}


class _Candidate:
    """One candidate as far as it came."""

    __slots__ = ("fields", "partial", "parts", "role", "run")

    def __init__(self) -> None:
        self.fields: Json = {}
        self.role: Json = {}
        self.parts: list[Json | _Run | PartialCall] = []
        self.run: _Run | None = None  # the text part that is still open: the last one, if any
        self.partial: PartialCall | None = None

    def whole(self) -> Json:
        parts = [part if part.__class__ is dict else part.whole() for part in self.parts]  # type: ignore[union-attr]
        return {**self.fields, "content": {**self.role, **({"parts": parts} if parts else {})}}


class StreamDecoder(AssemblingDecoder):
    """Reads chunks until one says why the answer ended."""

    __slots__ = ("_calls", "_candidates", "_envelope", "_first", "_ids", "_made")
    dialect = NAME

    def __init__(self, blobs: BlobStore | None = None, *, provider: str | None = None) -> None:
        """Begin with no candidates."""
        super().__init__(blobs, provider=provider)
        self._envelope: Json = {}
        self._candidates: dict[int, _Candidate] = {}
        self._first: _Candidate | None = None  # the one whose deltas are told
        self._calls = 0
        self._ids = Calls()
        self._made = made_by(provider, None)

    def growing(self) -> Iterable[list[str]]:
        """Give the text that is open in every candidate."""
        return [candidate.run.pieces for candidate in self._candidates.values() if candidate.run is not None]

    def take(self, event: Json) -> None:
        """Follow one chunk."""
        key = "candidates"
        candidates = event.get(key)
        envelope = self._envelope
        envelope.update(event)
        if candidates is not None:
            del envelope[key]
        if not self.say.started:
            self._made = made_by(self.provider, get(event, "modelVersion"))
            self.say.start(get(event, "responseId"), get(event, "modelVersion"), dict(envelope))
        if candidates is None:
            self._take_other(event)
            return
        for position, candidate in enumerate(candidates):
            index = candidate.get("index")
            self._take_candidate(index if index.__class__ is int else position, candidate)

    def _take_other(self, event: Json) -> None:
        """Follow a chunk without candidates: a refused prompt, an error, or only the account."""
        error = event.get("error")
        if error is not None:
            self.fail(str(error.get("message") or error) if isinstance(error, Mapping) else str(error))
            self.say.native(event)
            return
        feedback = get(event, "promptFeedback")
        if isinstance(feedback, Mapping) and get(feedback, "blockReason") is not None:
            self.complete = True
        elif not is_own_envelope(event):
            self.say.native(event)

    def _take_candidate(self, index: int, given: Json) -> None:
        candidate = self._candidates.get(index)
        if candidate is None:
            candidate = self._candidates[index] = _Candidate()
            if self._first is None:
                self._first = candidate
        content = given.get("content")
        for name, value in given.items():
            if name != "content" and value is not None:
                candidate.fields[name] = value
        if content is not None:
            parts = content.get("parts")
            for name, value in content.items():
                if name != "parts":
                    candidate.role[name] = value
            if candidate is self._first:
                self.say.role("assistant")
            for part in parts or ():
                try:
                    self._take_part(candidate, part)
                except (WireError, AttributeError, TypeError) as problem:  # one bad part does not cost the others
                    self.notes.append(f"a part could not be read: {problem}")
                    self.say.native(part if isinstance(part, Mapping) else {"value": part})
        if get(given, "finishReason"):
            self.complete = True

    def _take_part(self, candidate: _Candidate, part: Json) -> None:
        text = part.get("text")
        if text.__class__ is not str or any(key in KINDS for key in part if part[key] is not None):
            self._take_data(candidate, part)
            return
        thought = part.get("thought") is True
        run = candidate.run
        more = len(part) > 1 and {k: v for k, v in part.items() if k not in ("text", "thought") and v is not None}
        if run is None or run.thought is not thought:
            if not text and not more:
                return  # says nothing; many streams end so
            self._close_run(candidate)
            run = candidate.run = _Run(thought)
            candidate.parts.append(run)
        run.pieces.append(text)
        if candidate is self._first:
            if thought:
                self.say.reasoning(text)
            else:
                self.say.content(text)
        if more:
            run.fields.update(more)
            self._close_run(candidate)

    def _close_run(self, candidate: _Candidate) -> None:
        run, candidate.run = candidate.run, None
        if run is not None and candidate is self._first:
            self.end_part(decode_part(run.whole(), self.blobs, "parts", self._made, self._ids))

    def _take_call(self, candidate: _Candidate, part: Json, key: str) -> None:
        """Add a call, or a piece of one."""
        call = part[key]
        if candidate.partial is not None and not call.get("name"):
            if not candidate.partial.add(part, call):
                self._end_partial(candidate)
            return
        self._end_partial(candidate)
        if get(call, "willContinue") is True and isinstance(call.get("name"), str):
            self._close_run(candidate)
            candidate.partial = PartialCall(part, key)
            candidate.parts.append(candidate.partial)
            return
        self._tell_call(candidate, part)
        candidate.parts.append(part)

    def _end_partial(self, candidate: _Candidate) -> None:
        partial, candidate.partial = candidate.partial, None
        if partial is not None:
            self._tell_call(candidate, partial.whole())

    def _take_data(self, candidate: _Candidate, part: Json) -> None:
        """Add a part that is not text: once it has been read, so that one bad part does not cost the answer."""
        key = find(part, "functionCall")
        if key is not None:
            self._take_call(candidate, part, key)
            return
        read = decode_part(part, self.blobs, "parts", self._made, self._ids)
        self._close_run(candidate)
        candidate.parts.append(part)
        if candidate is self._first:
            self.end_part(read)

    def _tell_call(self, candidate: _Candidate, part: Json) -> None:
        ids = self._ids if candidate is self._first else Calls()
        read = decode_part(part, self.blobs, "parts", self._made, ids)
        self._close_run(candidate)
        if candidate is self._first:
            index, self._calls = self._calls, self._calls + 1
            self.say.call(index, read.tool_name, read.tool_call_id, part)
            self.say.arguments(index, dumps_text(read.tool_args))

    def assembled(self) -> Json:
        """Put the candidates back together."""
        if not self._candidates:
            return self._envelope
        candidates = [candidate.whole() for _, candidate in sorted(self._candidates.items())]
        return {**self._envelope, "candidates": candidates}

    def decode(self, body: Json) -> Reply:
        """Read the assembled response."""
        return decode_response(body, self.blobs, provider=self.provider)
